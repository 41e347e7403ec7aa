#!/bin/sh
# tools.sh SOURCE_ROOT: tests the scripts that report the results of tests.
# Prints TAP.
cd "$1" || exit 1
unset POINTSMAN_SWEEP POINTSMAN_SEED POINTSMAN_POINTS POINTSMAN_FROM POINTSMAN_STEP
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
count=0

# ok NAME: passes if the previous command succeeded
ok() {
    status=$?
    count=$((count + 1))
    if [ $status -eq 0 ]; then
        echo "ok $count - $1"
    else
        echo "not ok $count - $1"
        sed 's/^/# /' "$work/out"
    fi
}

echo 1..16

cat >"$work/program" <<'END'
#!/bin/sh
echo 1..3
echo "# because: no cgroup v2 here"
echo "not ok 1 # SKIP tasks_die_with_their_cgroup"
echo "not ok 2 - broken"
echo "ok 3 - fine"
exit 7
END
chmod +x "$work/program"
tests/support/tap.sh "$work/program" >"$work/out"
echo "status $?" >>"$work/out"
grep -qx 'ok 1 - tasks_die_with_their_cgroup # SKIP no cgroup v2 here' \
    "$work/out"
ok skips_of_cmocka_are_skips_with_a_reason
grep -qx 'not ok 2 - broken' "$work/out" && grep -qx 'status 7' "$work/out"
ok failures_stay_failures

mkdir -p "$work/build/meson-logs" "$work/build/meson-info" \
    "$work/build/reports"
cat >"$work/build/meson-info/intro-tests.json" <<'END'
[{"name": "good", "suite": ["pointsman:unit"]},
 {"name": "bad", "suite": ["pointsman:unit"]},
 {"name": "crash", "suite": ["pointsman:cli"]},
 {"name": "plain", "suite": ["pointsman:cli"]},
 {"name": "slow", "suite": ["pointsman:cli"]}]
END
cat >"$work/build/meson-logs/testlog.json" <<'END'
{"name": "pointsman:unit / good", "stdout": "1..3\nok 1 - a\nok 2 - b # SKIP why not\nok 3 - c\n", "result": "OK", "returncode": 0}
{"name": "pointsman:unit / bad", "stdout": "1..2\nok 1 - d\nnot ok 2 - e\n# it said 1\n", "result": "FAIL", "returncode": 1}
{"name": "pointsman:cli / crash", "stdout": "1..2\nok 1 - f\n", "result": "ERROR", "returncode": -11, "stderr": "boom\n"}
{"name": "pointsman:cli / plain", "result": "OK", "returncode": 0}
{"name": "pointsman:cli / slow", "stdout": "", "result": "TIMEOUT", "returncode": -9}
END
python3 tools/tally.py gcc "$work/build" "$work/tallies" >"$work/out"
grep -qx '5 3 1' "$work/tallies"
ok points_and_crashes_are_counted
grep -q 'it said 1' "$work/out" && grep -q 'boom' "$work/out"
ok logs_of_failed_tests_are_shown
grep -qx 'gcc: skipped: good: b: why not' "$work/out"
ok reasons_of_skips_are_shown
sed -i '/plain/d' "$work/build/meson-logs/testlog.json"
: >"$work/tallies"
python3 tools/tally.py gcc "$work/build" "$work/tallies" >"$work/out"
grep -qx '4 4 1' "$work/tallies" &&
    grep -qx 'gcc: no result for pointsman:cli / plain' "$work/out"
ok tests_without_a_result_are_failures

cat >"$work/build/meson-info/intro-tests.json" <<'END'
[{"name": "quick", "suite": ["pointsman:cli"]},
 {"name": "crash", "suite": ["pointsman:scenario"]}]
END
cat >"$work/build/meson-logs/testlog.json" <<'END'
{"name": "pointsman:cli / quick", "stdout": "ok 1 - a\nok 2 - b # SKIP why not\n1..2\n", "result": "OK", "returncode": 0, "duration": 1.0}
{"name": "pointsman:scenario / crash", "result": "OK", "returncode": 0, "duration": 99999.0}
END
: >"$work/tallies"
python3 tools/tally.py gcc "$work/build" "$work/tallies" >"$work/out"
grep -qx '2 0 1' "$work/tallies"
ok points_of_a_script_with_its_plan_last_are_counted
grep -q '^gcc: scenario  *99999.0  *100 % .*OVER BUDGET.*crash' \
    "$work/out" && grep -q '^gcc: cli  *1.0  *0 %  *[0-9]*$' "$work/out"
ok a_suite_over_its_budget_is_marked_but_does_not_fail
: >"$work/out"
for suite in $(sed -n "s/.*suite : '\([a-z]*\)'.*/\1/p" tests/meson.build \
    tests/*/meson.build | sort -u); do
    [ "$(grep -c "\"$suite\": [0-9]" tools/tally.py)" -ge 1 ] ||
        echo "no budget: $suite" >>"$work/out"
done
[ ! -s "$work/out" ]
ok every_suite_has_a_budget

# points TOTAL MOST [NAME=VALUE]...: prints the points that a sweep tries
points() {
    total=$1 most=$2
    shift 2
    env "$@" sh -c 'set -eu
        remark() { :; }
        . tests/support/points.sh
        points_begin "$0" "$1"
        while points_next; do echo $at; done
        points_end' "$total" "$most"
}
points 1000 8 POINT_MS=60000 >"$work/out"
points 1000 5 POINTSMAN_POINTS=8 POINT_MS=0 >"$work/again"
[ "$(sort -un "$work/out" | wc -l)" -eq 8 ] &&
    [ "$(awk '$1 > 500' "$work/out" | wc -l)" -eq 4 ] &&
    cmp "$work/out" "$work/again"
ok the_points_of_a_sweep_are_spread_and_reproducible
points 1000 8 POINT_MS=0 >"$work/out"
points 1000 8 POINTSMAN_SWEEP=once >"$work/again"
[ "$(wc -l <"$work/out")" -eq 1 ] && cmp "$work/out" "$work/again"
ok a_sweep_without_time_tries_one_point
points 9 2 POINTSMAN_SWEEP=full >"$work/out"
points 9 2 POINTSMAN_SWEEP=full POINTSMAN_FROM=4 POINTSMAN_STEP=3 \
    >>"$work/out"
[ "$(tr '\n' ' ' <"$work/out")" = '1 2 3 4 5 6 7 8 9 4 7 ' ]
ok a_full_sweep_tries_every_point_and_can_be_resumed

tools/campaign nothing >"$work/out" 2>&1
status=$?
tools/campaign --list >"$work/list" && for script in $(grep -l \
    -e 'support/crash.sh' -e 'support/points.sh' tests/scenario/*.sh); do
    name=$(basename "$script" .sh)
    grep -q "^$name " "$work/list" || echo "not in --list: $name"
done >"$work/out"
[ $status -eq 64 ] && [ ! -s "$work/out" ]
ok the_campaign_lists_every_sweep

echo 'heap-use-after-free' >"$work/build/reports/san.1"
rm "$work/build/meson-logs/testlog.json"
echo '[]' >"$work/build/meson-info/intro-tests.json"
: >"$work/tallies"
python3 tools/tally.py asan "$work/build" "$work/tallies" >"$work/out"
grep -qx '0 1 0' "$work/tallies" && grep -q 'use-after-free' "$work/out"
ok a_sanitizer_report_of_any_process_is_a_failure

mkdir "$work/bin"
cat >"$work/bin/dpkg-query" <<'END'
#!/bin/sh
case $* in
*clang) echo "dpkg-query: no packages found matching clang" >&2; exit 1 ;;
*) echo installed ;;
esac
END
chmod +x "$work/bin/dpkg-query"
PATH=$work/bin:$PATH tools/setup.sh --no-install check >"$work/out" 2>&1
[ $? -eq 69 ] && grep -qx 'setup: missing packages: clang' "$work/out" &&
    grep -q 'apt-get install -y --no-install-recommends clang$' "$work/out"
ok missing_packages_are_listed_with_the_command_to_install_them
PATH=$work/bin:$PATH tools/setup.sh --no-install build >"$work/out" 2>&1 &&
    [ ! -s "$work/out" ]
ok nothing_is_printed_if_nothing_is_missing
