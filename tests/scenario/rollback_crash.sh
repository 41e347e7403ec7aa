#!/bin/sh
# rollback_crash.sh PROGRAM FAULTY: a rollback of a landed set, with a running, a
# staged and a queued one that depend on it, killed at its mutating system calls
# (tests/support/faulty.c) and started again: in the end all was reverted once.
# A spread sample; with POINTSMAN_SWEEP=full every call there is.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"
faulty=$(CDPATH="" cd "$(dirname "$2")" && pwd)/$(basename "$2")
sweep=${POINTSMAN_SWEEP:-}
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

# ---- the base every trial begins with ----------------------------------------

# `running` waits in its check for ever; the first thing it does there is to
# let the rollback go.
prepare() {
    make_base 'grace = 1' 'hup-grace = 5'
    cat >base/conf.d/target.conf <<EOF
[target "main"]
blind = allow
check.hold = sh '$here/check'
EOF
    cat >check <<EOF
[ "\$POINTSMAN_CSID" = running ] || exit 0
'$program' --base '$here/base' release undo 2>/dev/null
exec sleep 60
EOF
    make_set landed DC src/a landed
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    same 'landed at first' "$(times_landed landed)" 1
    make_set running DC src/b running '##dependencies' landed
    pointsman change submit "$made"
    make_set staged DC src/b staged '##dependencies' landed
    pointsman change submit "$made"
    make_set queued DC src/c queued '##dependencies' staged
    pointsman change submit "$made"
    make_rollback
    pointsman change submit "$made"
    within pointsman daemon prequeue --until-idle
    pointsman hold queued undo
    mkdir master
    cp -a base project.git master
}

make_rollback() {
    made=undo_$(next_tai)_$$_host_RB
    mkdir -p packing.rb
    printf '##movetype\nRB\n##target\nmain\n##dependencies\nlanded\n' \
        >packing.rb/meta
    tar -C packing.rb -cf "$here/sets/$made" meta
    made=$here/sets/$made
}

begin_trial() {
    rm -rf base project.git
    cp -a master/. .
    : >said
}

# What only time lets go on (a landing that died) is waited for.
recover() {
    within pointsman daemon all --until-idle 2>>said
    [ -n "$(pointsman list --json state:queued,staged,pending,executing)" ] ||
        return 0
    begin pointsman daemon all 2>>said
    within pointsman wait undo || :
    kill "$begun"
    over "$begun" 0
}

run_faulty() {
    came=0
    within "$faulty" --log calls "$@" -- \
        pointsman daemon all --until-idle >>said 2>&1 || came=$?
    [ "$came" -ne 124 ] || { tell_trial "$@"; wrong "it hangs after $*"; }
    [ "$came" -ne 125 ] || skip 'no process can be traced here'
}

# ---- what must be true at the end --------------------------------------------

state_of() {
    pointsman status --json "$1" | jq -r "$2"
}

reverts() {
    git -C project.git log --format='%(trailers:key=Reverts-CS,valueonly)' \
        main | grep -cx -e "$1" || :
}

judge() {
    in_one_place undo D
    in_one_place landed D
    same 'mark of landed' "$(state_of landed .rolled_back_by)" undo
    same 'commits of landed' "$(times_landed landed)" 1
    same 'reverts of landed' "$(reverts landed)" 1
    for set in running staged queued; do
        same "state of $set" "$(state_of $set .state)" A
        same "commits of $set" "$(times_landed $set)" 0
        [ -e "$(echo base/abandon/${set}_*)" ] || wrong "$set is not in abandon/"
    done
    same files "$(git -C project.git ls-tree --name-only main)" README
    ends 0 pointsman fsck
    same 'locks in the repository' "$(find project.git -name '*.lock')" ''
    git -C project.git fsck --strict --no-progress --no-dangling
}

tell_trial() {
    echo "--- $*"
    grep HERE calls | head -n 5
    echo '--- what it said:'
    cat said
    pointsman history 2>&1 | tail -n 60
}

settle() {
    set +e
    (
        set -e
        recover
        judge
    ) >judged 2>&1
    settled=$?
    set -e
    [ $settled -eq 0 ] && return
    bad=$((bad + 1))
    cat judged
    tell_trial "$@"
    [ -n "$sweep" ] || exit 1
}

killed() {
    count=$1
    shift
    prepare
    bad=0
    begin_trial
    run_faulty "$@"
    total=$(sed -n 's/^total //p' calls)
    [ "$total" -gt 10 ] || wrong "only $total calls"
    echo "$total calls"
    at=0
    step=$(((total - 1) / count + 1))
    [ -n "$sweep" ] && step=${POINTSMAN_STEP:-1} || at=$(($$ % step))
    while [ $at -lt "$total" ]; do
        at=$((at + step))
        begin_trial
        run_faulty --at $at "$@"
        settle --at $at "$@"
    done
    [ -z "$sweep" ] || echo "$total calls, $bad bad" >&3
    [ $bad -eq 0 ]
}

# ---- scenarios ---------------------------------------------------------------

exec 3>&2
nothing_happens() {
    prepare
    begin_trial
    within pointsman daemon all --until-idle 2>>said
    judge
}
scenario 'a landed, a running, a staged and a queued set are taken back' \
    nothing_happens
scenario 'everything killed at once: all is reverted once' killed 12 --kill all
scenario 'the daemon killed alone: all is reverted once' \
    killed 6 --kill one --only 'pointsman daemon'
scenario 'the process that reverts killed alone: all is reverted once' \
    killed 6 --kill one --only 'revert --id'

finish
