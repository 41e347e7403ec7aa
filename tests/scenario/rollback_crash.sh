#!/bin/sh
# rollback_crash.sh PROGRAM FAULTY: a rollback of a landed set, and of a
# running, a staged and a queued set that depend on it, is killed at its
# mutating system calls (tests/support/faulty.c) and started again, also after
# the registry was lost. In the end everything is reverted exactly once.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"
. "$(dirname "$0")/../support/crash.sh"
workload='pointsman daemon all --until-idle'
everything=undo
prepare=held_rollback

# ---- the base that every trial starts with -----------------------------------

# The check of `running` first has the rollback released and then waits. A check
# may not do that itself, so a process outside does it for each trial.
held_rollback() {
    make_base 'grace = 1' 'hup-grace = 5'
    cat >base/conf.d/target.conf <<EOF
[target "main"]
blind = allow
check.hold = sh '$here/check'
EOF
    mkfifo asked
    chmod 666 asked
    cat >check <<EOF
[ "\$POINTSMAN_CSID" = running ] || exit 0
echo release >'$here/asked'
exec sleep 60
EOF
    begin sh -c 'while read -r line <asked; do
        pointsman release undo 2>/dev/null
    done'
    make_set landed DC src/a landed
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    same 'commits of landed' "$(times_landed landed)" 1
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

# ---- checks after the recovery -----------------------------------------------

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
    same 'rollback of landed' "$(state_of landed .rolled_back_by)" undo
    same 'commits of landed' "$(times_landed landed)" 1
    same 'reverts of landed' "$(reverts landed)" 1
    for set in running staged queued; do
        same "state of $set" "$(state_of $set .state)" abandoned
        same "commits of $set" "$(times_landed $set)" 0
        [ -e "$(echo base/abandon/${set}_*)" ] || wrong "$set is not in abandon/"
    done
    same files "$(git -C project.git ls-tree --name-only main)" README
    ends 0 pointsman fsck
    same 'locks in the repository' "$(find project.git -name '*.lock')" ''
    git -C project.git fsck --strict --no-progress --no-dangling
}

# ---- scenarios ---------------------------------------------------------------

without_fault() {
    $prepare
    begin_trial
    run
    judge
}
scenario 'a landed, a running, a staged and a queued set are rolled back' \
    without_fault
scenario 'everything killed at once: the set is reverted once' \
    killed 12 --kill all
scenario 'only the daemon killed: the set is reverted once' \
    killed 6 --kill one --only 'pointsman daemon'
scenario 'only the process that reverts killed: the set is reverted once' \
    killed 6 --kill one --only 'exe revert '

# The logs may lack the release of the rollback.
lose_registry() {
    rm base/ctrl/registry.db*
    # 1: a log may lag behind. 99: the process outside has the base open.
    while :; do
        rebuilt=0
        within pointsman fsck --rebuild || rebuilt=$?
        [ "$rebuilt" -eq 99 ] || break
    done
    [ "$rebuilt" -le 1 ]
    pointsman release undo 2>/dev/null || :
}
before_recovery=lose_registry
scenario 'everything killed, and the registry lost: the set is reverted once' \
    killed 8 --kill all

finish
