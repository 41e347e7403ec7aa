# Shared by the crash sweeps. A trial runs a workload with a fault injected at a
# mutating system call (tests/support/faulty.c), recovers, and checks the base.
# A script that sources this sets $workload, a command, and $everything, the ids
# of its jobs, and creates master/, a copy of which is the start of every trial.
# $before_recovery is called after the fault. tests/support/points.sh chooses
# the calls.
faulty=$(CDPATH="" cd "$(dirname "$2")" && pwd)/$(basename "$2")
# shellcheck source=tests/support/points.sh
. "$(dirname "$0")/../support/points.sh"

begin_trial() {
    rm -rf base project.git ./*.ran
    cp -a master/. .
    : >said
}

run() {
    within pointsman daemon all --until-idle 2>>said
}

# run_faulty OPTION...: runs the workload; $came is 137 if the fault occurred
run_faulty() {
    came=0
    # shellcheck disable=SC2086
    within "$faulty" --log calls "$@" -- $workload >>said 2>&1 || came=$?
    [ "$came" -ne 124 ] || { show_trial "$@"; wrong "the program hangs: $*"; }
    [ "$came" -ne 125 ] || skip 'processes cannot be traced here'
}

unfinished() {
    pointsman list --json state:queued,staged,pending,executing | jq -r .id
}

# Also waits for jobs that are delayed until a certain time.
recover() {
    run
    [ -n "$(unfinished)" ] || return 0
    begin pointsman daemon all 2>>said
    within pointsman wait $everything || [ $? -lt 124 ]
    kill "$begun"
    wait "$begun" || [ $? -eq 143 ] # killed before it handled signals
}

# ---- checks after the recovery -----------------------------------------------

# One more set can land: nothing left over from the crash blocks it.
land_another() {
    make_set later DC src/later later
    drop_set "$made"
    everything="$everything later"
    recover
}

judge() {
    land_another
    for set in plain needy other later; do
        in_one_place $set D
        same "commits of $set" "$(times_landed $set)" 1
    done
    same 'state of often' "$(pointsman status --json often | jq -r .state)" done
    [ -s often.ran ] || wrong 'often did not run'
    once=$(pointsman status --json once | jq -r '.state + " " + .reason')
    ran=$(cat once.ran 2>/dev/null | wc -l)
    case "$once $ran" in
    'done ok 1' | 'failed at-most-once '[01]) ;;
    'failed exit-'?' '[01] | 'failed signal-9 '[01]) ;; # the fault hit the job itself
    *) wrong "once ran $ran times and is '$once'" ;;
    esac
    ends 0 pointsman fsck
    same 'files left in prequeue and reject' \
        "$(ls base/prequeue base/reject | sed '/:$/d; /^$/d')" ''
    same 'locks in the repository' \
        "$(find project.git -name '*.lock')" ''
    git -C project.git fsck --strict --no-progress --no-dangling
}

show_trial() {
    echo "--- $*"
    grep HERE calls | head -n 5
    echo '--- output:'
    cat said
    pointsman history 2>&1 | tail -n 60
    ls -R base/prequeue base/queue base/staging base/pending base/run \
        base/done base/fail base/reject base/tmp
}

# trial OPTION...: one fault, the recovery, and the checks
trial() {
    begin_trial
    run_faulty "$@"
    check_trial "$@"
}

# Recovers and checks in a subshell, so that a full sweep continues after a
# failure. The subshell is not part of a condition, because set -e has no effect
# there.
check_trial() {
    set +e
    (
        set -e
        ${before_recovery:-true}
        recover
        judge
    ) >judged 2>&1
    checked=$?
    set -e
    if [ $checked -eq 0 ]; then
        point_result ok
        return
    fi
    point_result FAILED
    cat judged
    show_trial "$@"
    [ "$sweep" = full ] || exit 1
}

# points COUNT OPTION...: at most COUNT trials, spread over the calls of a run
points() {
    count=$1
    shift
    begin_trial
    run_faulty "$@"
    calls=$(sed -n 's/^total //p' calls)
    [ "$calls" -gt 10 ] || wrong "the workload makes only $calls calls"
    points_begin "$calls" "$count"
    while points_next; do
        trial --at $at "$@"
    done
    points_end
}

killed() {
    $prepare
    points "$@"
}

# ---- killed twice ------------------------------------------------------------

# twice COUNT: the recovery after the first kill is killed too, at another call
twice() {
    $prepare
    begin_trial
    run_faulty --kill all
    calls=$(sed -n 's/^total //p' calls)
    points_begin "$calls" "$1"
    while points_next; do
        begin_trial
        run_faulty --at $at --kill all
        first=$came
        run_faulty --at $((7 + (at * 31 + seed) % 60)) --kill all
        check_trial "killed at $at, then again"
        came=$first
    done
    points_end
}
