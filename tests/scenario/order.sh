#!/bin/sh
# order.sh PROGRAM: what happens first, at every moment: rollbacks that wait,
# emergencies when a lane becomes free, jobs of a server that stops; triggers
# that are missing, and what submissions leave behind.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"

state_of() {
    pointsman status --json "$1" | jq -r "${2:-.state}"
}

submit_set() {
    make_set "$@"
    pointsman -q change submit "$made" >submitted
}

# ---- rollbacks ---------------------------------------------------------------

# A base whose target is a command that notes in `applied` for which set it was
# started; `landed` has landed, and `member`, which depends on it, is pending.
base_with_member() {
    make_base
    cat >base/conf.d/target.conf <<END
[target "made"]
command = sh '$here/apply' apply
revert = sh '$here/apply' revert
END
    echo "echo \"\$1 \$POINTSMAN_CSID\" >>'$here/applied'" >apply
    set_target=made
    submit_set landed DC a landed
    within pointsman daemon all --until-idle
    submit_set member DC b member '##dependencies' landed
    submit_set other EM c other '##dependencies' landed
    pointsman --quiet daemon prequeue --once
    pointsman --quiet daemon queue --once
    in_one_place member P
}

# drop_rollback ID MEMBER: a rollback in the drop directories
drop_rollback() {
    rm -rf packing
    mkdir -p packing sets
    made=$here/sets/$1_$(next_tai)_$$_host_RB
    printf '##movetype\nRB\n##target\nmade\n##dependencies\n%s\n' "$2" \
        >packing/meta
    tar -C packing -cf "$made" meta
    drop_set "$made"
}

assert_rolled_back() {
    same 'commands' "$(tr '\n' ' ' <applied)" 'apply landed revert landed '
    same 'state of member' "$(state_of member)" abandoned
    same 'state of other' "$(state_of other)" abandoned
    ends 0 pointsman fsck
}

rollback_before_start() {
    base_with_member
    case $1 in
    queued) pointsman -q rollback landed >rb ;;
    pending)
        pointsman -q rollback landed >rb
        pointsman --quiet daemon queue --once
        in_one_place "$(cat rb)" P
        ;;
    dropped) drop_rollback R1 landed ;;
    esac
    case $2 in
    serve)
        serve_begin
        [ "$1" != dropped ] || await '"id":"R1".*"to":"queued"'
        within pointsman wait "$(cat rb 2>/dev/null || echo R1)"
        serve_end
        ;;
    all) within pointsman daemon all --until-idle ;;
    exec)
        # The queue daemon does not run, and one job is all that may start.
        within pointsman daemon exec --jobs 1
        ;;
    esac
    assert_rolled_back
}
for how in queued pending dropped; do
    for daemon in serve all; do
        scenario "a rollback that is $how comes before its members ($daemon)" \
            rollback_before_start $how $daemon
    done
done
for how in queued pending; do
    scenario "a rollback that is $how is the job of daemon exec --jobs 1" \
        rollback_before_start $how exec
done

# ---- emergencies -------------------------------------------------------------

# A base with a check that waits for a line in the FIFO of its set.
base_with_gates() {
    make_base "$@"
    cat >base/conf.d/target.conf <<END
[target "main"]
blind = allow
check.gate = sh '$here/gate'
END
    cat >gate <<END
[ -p '$here/'\$POINTSMAN_CSID ] || exit 0
echo \$POINTSMAN_CSID >'$here/begun'
read -r _ <'$here/'\$POINTSMAN_CSID
END
    mkfifo begun running
}

emergency_first() {
    base_with_gates
    serve_begin
    submit_set running DC a one
    read -r _ <begun
    submit_set first DC b two
    submit_set second DC c three
    submit_set urgent EM a four
    await '"id":"urgent".*"to":"staged"'
    echo go >running
    for id in first second urgent; do
        within pointsman wait $id
    done
    same 'order of landing' "$(landed_order)" 'running urgent first second '
    serve_end
}
scenario 'an emergency gets the lane of the set that it waits for' \
    emergency_first

# ---- a server that stops -----------------------------------------------------

killed_sets_return() {
    base_with_gates 'drain = 0'
    serve_begin
    submit_set running DC a one
    read -r _ <begun
    pointsman submit --id job -- sleep 3600
    await '"id":"job".*"to":"executing"'
    serve_end
    in_one_place running P
    same 'reason' "$(state_of running .reason)" returned
    same 'state of job' "$(state_of job)" pending
    ends 0 pointsman cancel running job
    in_one_place running T
    same 'state of job' "$(state_of job)" terminated
    same 'commits' "$(times_landed running)" 0
    ends 0 pointsman fsck
}
scenario 'jobs that a stop kills are pending before the server ends' \
    killed_sets_return

# Everything is killed at once, so that only the next start can find out what
# became of the set.
cancelled_after_a_kill() {
    base_with_gates
    serve_begin
    submit_set running DC a one
    read -r _ <begun
    kill -KILL "$server"
    expect_exit "$server" 137
    ends 0 pointsman cancel running
    within pointsman daemon all --until-idle
    in_one_place running T
    same 'commits' "$(times_landed running)" 0
    ends 0 pointsman fsck
}
scenario 'a set whose server was killed can be cancelled' \
    cancelled_after_a_kill

# ---- triggers ----------------------------------------------------------------

fifos_return() {
    make_base 'poll = 1'
    serve_begin
    rm base/ctrl/*_fifo
    # shellcheck disable=SC2016
    for role in prequeue clock queue exec; do
        within sh -c 'until [ -p "$1" ]; do pointsman version >version; done' \
            sh "base/ctrl/${role}_fifo"
    done
    # From here on only a trigger makes the server look.
    pointsman set queue.poll 3600
    make_set C1 DC a one
    drop_set "$made"
    printf x >base/ctrl/prequeue_fifo
    await '"id":"C1".*"to":"done"'
    says 'ctrl/prequeue_fifo was missing and has been recreated' serve.log
    serve_end
}
scenario 'a FIFO that was removed is recreated, and the server listens to it' \
    fifos_return

# ---- leftovers ---------------------------------------------------------------

leftovers_are_named() {
    make_base
    chmod 700 base/conf.d
    make_set C1 DC a one
    cp "$made" base/data/
    echo half >base/tmp/drop.999999999.1
    echo half >base/tmp/drop.$$.1
    ends 0 pointsman fsck
    says "'$(basename "$made")' in data/ has no marker in prequeue/" out
    says "'drop.999999999.1' in tmp/ was left by a process that has ended" out
    says_not "drop.$$.1" out
    says '0 problems' err
    ends 0 pointsman fsck --json
    says '{"remark":"' out
    # Refused sets leave nothing there.
    rm base/data/* base/tmp/*
    make_set C2 DC a one '##dependencies' 'no/id'
    drop_set "$made"
    ends 100 pointsman change submit "$made"
    within pointsman daemon all --until-idle
    same 'files in data/ and tmp/' "$(ls -A base/data base/tmp | grep -v :)" ''
    ends 0 pointsman fsck
    same 'remarks' "$(cat out)" ''
}
scenario 'fsck names what submissions have left in tmp/ and data/' \
    leftovers_are_named

finish
