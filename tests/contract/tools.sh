#!/bin/sh
# tools.sh SOURCE_ROOT: the scripts that say whether all is well must not be
# wrong about it. TAP on stdout.
cd "$1" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
count=0

# ok NAME: by the status of the command before it.
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

echo 1..9

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
ok points_are_counted_and_crashes_too
grep -q 'it said 1' "$work/out" && grep -q 'boom' "$work/out"
ok logs_of_what_failed_are_shown
grep -qx 'gcc: skipped: good: b: why not' "$work/out"
ok reasons_of_skips_are_shown
sed -i '/plain/d' "$work/build/meson-logs/testlog.json"
: >"$work/tallies"
python3 tools/tally.py gcc "$work/build" "$work/tallies" >"$work/out"
grep -qx '4 4 1' "$work/tallies" &&
    grep -qx 'gcc: no result of pointsman:cli / plain' "$work/out"
ok tests_that_left_no_result_are_failures
echo 'heap-use-after-free' >"$work/build/reports/san.1"
rm "$work/build/meson-logs/testlog.json"
echo '[]' >"$work/build/meson-info/intro-tests.json"
: >"$work/tallies"
python3 tools/tally.py asan "$work/build" "$work/tallies" >"$work/out"
grep -qx '0 1 0' "$work/tallies" && grep -q 'use-after-free' "$work/out"
ok sanitizer_report_of_any_process_is_a_failure

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
[ $? -eq 69 ] && grep -qx 'setup: not yet here: clang' "$work/out" &&
    grep -q 'apt-get install -y --no-install-recommends clang$' "$work/out"
ok missing_packages_are_named_with_what_to_type
PATH=$work/bin:$PATH tools/setup.sh --no-install build >"$work/out" 2>&1 &&
    [ ! -s "$work/out" ]
ok nothing_missing_is_silence
