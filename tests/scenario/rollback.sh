#!/bin/sh
# rollback.sh PROGRAM: rollbacks of running and waiting sets, and rollbacks
# whose registry is lost.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"

# ---- a base ------------------------------------------------------------------

# base_with_check [LINE]...: a base with a check that reports through the FIFO
# begun that it runs. Depending on the file `way`, it then waits for the FIFO go
# or ignores all signals.
base_with_check() {
    make_base 'grace = 1' 'hup-grace = 2' "$@"
    cat >base/conf.d/target.conf <<END
[target "main"]
blind = allow
check.look = sh '$here/check'
END
    cat >check <<END
[ "\$POINTSMAN_CSID" = running ] || exit 0
case \$(cat '$here/way') in
waits)
    echo begun >'$here/begun'
    read -r _ <'$here/go'
    ;;
deaf)
    trap '' HUP TERM INT
    echo begun >'$here/begun'
    sleep 3600 &
    wait \$!
    while :; do sleep 3600; done
    ;;
esac
END
    mkfifo begun go
    echo "${way:-waits}" >way
}

submit_set() {
    make_set "$@"
    pointsman -q change submit "$made"
}

state_of() {
    pointsman status --json "$1" | jq -r "${2:-.state}"
}

rolled_back_by() {
    state_of "$1" '.rolled_back_by // ""'
}

reverts() {
    git -C project.git log --format='%(trailers:key=Reverts-CS,valueonly)' \
        main | grep -cx -e "$1" || :
}

# ---- a member that ignores signals -------------------------------------------

hup_ignored() {
    way=deaf
    base_with_check
    submit_set landed DC a landed
    serve_begin
    within pointsman wait landed
    submit_set running DC b running '##dependencies' landed
    read -r _ <begun
    rb=$(pointsman -q rollback landed)
    within pointsman wait "$rb"
    same 'state of running' "$(state_of running)" abandoned
    same 'reason of running' "$(state_of running '.reason + " " + .detail')" \
        "rollback $rb"
    same 'signals sent to running' \
        "$(pointsman history --json running |
            jq -r 'select(.kind == "signal") | .reason + " " + .detail' |
            xargs)" "hup $rb kill $rb"
    same 'commits of running' "$(times_landed running)" 0
    same 'reverts of landed' "$(reverts landed)" 1
    serve_end
    ends 0 pointsman fsck
}
scenario 'a member that ignores HUP is killed, and the rollback continues' \
    hup_ignored

# ---- waiting for a member ----------------------------------------------------

# Waits until the rollback has abandoned the job.
await_abandoned() {
    await "\"id\":\"$1\".*\"from\":\"\(queued\|staged\|pending\)\".*\"to\":\"abandoned\""
}

abandoned_with() {
    way=$1
    base_with_check 'hup-grace = 600' 'grace = 600' # nothing else ends it
    submit_set landed DC a landed
    serve_begin
    within pointsman wait landed
    submit_set running DC b running '##dependencies' landed
    submit_set behind DC b behind '##dependencies' landed
    read -r _ <begun
    rb=$(pointsman -q rollback landed)
    await_abandoned behind
}

abandoned_in_the_end() {
    abandoned_with deaf
    same 'exit code while undecided' "$(state_of behind .exit_code)" null
    ends 124 pointsman wait --timeout 0s behind
    says "rollback '$rb' has abandoned it, but has not ended itself" err
    ends 0 pointsman why behind
    says "$rb has not ended" out
    # Both `why` show who waits for whom.
    ends 0 pointsman why "$rb"
    says "attempt 1: waits until running has stopped" out
    ends 0 pointsman why running
    says "attempt 1, stopped by rollback $rb" out
    submit_set newcomer DC c newcomer '##dependencies' landed
    await '"id":"newcomer".*"to":"staged"'
    ends 0 pointsman why newcomer
    says "dependency landed is rolled back by $rb, which has not ended" out
    ends 100 pointsman cancel behind
    says "was abandoned by rollback '$rb'" err
    begin pointsman wait behind
    waiter=$begun
    pointsman cancel --kill running
    within pointsman wait "$rb"
    expect_exit "$waiter" 125
    same 'exit code' "$(state_of behind .exit_code)" 125
    same 'state of running' "$(state_of running)" terminated
    # newcomer waited in the queue and fails like any later set.
    ends 1 pointsman wait newcomer
    same 'reason of newcomer' "$(state_of newcomer .reason)" dep-rolled-back
    serve_end
}
scenario 'wait for an abandoned set lasts until the end of the rollback' \
    abandoned_in_the_end

restored_in_the_end() {
    abandoned_with deaf
    begin pointsman wait behind
    waiter=$begun
    echo waits >way
    pointsman cancel "$rb"
    within pointsman wait "$rb" || same 'exit status of wait' $? 143
    same 'state of behind' "$(state_of behind .reason)" rb-undone
    pointsman cancel --kill running
    expect_exit "$waiter" 0
    same 'commits of behind' "$(times_landed behind)" 1
    same 'reverts of landed' "$(reverts landed)" 0
    serve_end
    ends 0 pointsman fsck
}
scenario 'if the rollback is cancelled, the set continues, and so does wait' \
    restored_in_the_end

# A command that depends on an abandoned set is abandoned too; `run` continues
# to wait and shows its output.
run_continues() {
    base_with_check 'hup-grace = 600' 'grace = 600' # nothing else ends it
    echo deaf >way
    submit_set landed DC a landed
    serve_begin
    within pointsman wait landed
    submit_set running DC b running '##dependencies' landed
    read -r _ <begun
    begin pointsman run --id later --after running -- echo hello >ran 2>&1
    runner=$begun
    await '"id":"later".*"to":"staged"'
    rb=$(pointsman -q rollback landed)
    await_abandoned later
    echo waits >way # for the next start of the check
    pointsman cancel "$rb"
    within pointsman wait "$rb" || :
    await '"id":"running".*"from":"executing".*"to":"pending"'
    read -r _ <begun
    echo go >go
    expect_exit "$runner" 0
    says hello ran
    serve_end
}
scenario 'run continues when its abandoned command is restored' run_continues

# ---- a lost registry ---------------------------------------------------------

describe() {
    for id in "$@"; do
        pointsman status --json "$id" |
            jq -c '{id, state, reason, detail, rolled_back_by, edges, touches,
                admitted, since, members: (.members // [] | sort_by(.id))}'
        pointsman history --json "$id" | jq -c '[.seq, .event, .from, .to,
            .reason, .detail]'
    done
}

lose_registry() {
    rm base/ctrl/registry.db*
    pointsman fsck --rebuild
}

rebuild_restores_rollbacks() {
    base_with_check
    for n in 1 2 3; do
        submit_set C$n DC f$n C$n
    done
    submit_set C4 DC f4 C4 '##dependencies' C1
    pointsman -q hold C4
    within pointsman daemon all --until-idle
    for what in C1 @last @last C2; do
        rb=$(pointsman -q rollback $what)
        rbs="${rbs:-} $rb"
        within pointsman daemon all --until-idle
        within pointsman wait "$rb"
    done
    # shellcheck disable=SC2086
    describe C1 C2 C3 C4 $rbs >before
    lose_registry
    # shellcheck disable=SC2086
    describe C1 C2 C3 C4 $rbs >after
    diff before after
    ends 0 pointsman fsck
    # The rollbacks themselves can still be rolled back.
    for rb in $(echo $rbs | tr ' ' '\n' | tac); do
        [ "$(rolled_back_by "$rb")" = '' ] || continue
        again=$(pointsman -q rollback "$rb")
        within pointsman daemon all --until-idle
        within pointsman wait "$again"
    done
    same 'rollback of C2' "$(rolled_back_by C2)" ''
    ends 0 pointsman fsck
}
scenario 'fsck --rebuild restores which rollback covers which set' \
    rebuild_restores_rollbacks

# cut ID...: removes the last line of the logs if it shows a rollback, as a
# power failure might
cut() {
    for id in "$@"; do
        tail -n 1 "base/log/$id" | grep -q rolled-back: || continue
        sed -i '$d' "base/log/$id"
        lines=$((lines + 1))
    done
}

show_rollbacks() {
    for id in "$@"; do
        echo "$id $(rolled_back_by "$id")"
    done
}

branch_restores_lines() {
    base_with_check
    submit_set C1 DC f1 C1
    submit_set C2 DC f2 C2
    within pointsman daemon all --until-idle
    all='C1 C2'
    # The first rollback removes C1, the second restores it, the third removes
    # it again.
    for what in C1 @last @last; do
        rb=$(pointsman -q rollback $what)
        all="$all $rb"
        within pointsman daemon all --until-idle
        within pointsman wait "$rb"
        # shellcheck disable=SC2086
        show_rollbacks $all >before
        lines=0
        # shellcheck disable=SC2086
        cut $all
        [ $lines -gt 0 ] || wrong 'no log shows a rollback'
        rm base/ctrl/registry.db*
        ends 1 pointsman fsck --rebuild
        same 'lines restored from the branch' \
            "$(grep -c 'the branch says so and takes precedence' out)" $lines
        # shellcheck disable=SC2086
        show_rollbacks $all >after
        diff before after
        within pointsman daemon all --until-idle
        ends 0 pointsman fsck
        # The logs have the lines again.
        rm base/ctrl/registry.db*
        ends 0 pointsman fsck --rebuild
        # shellcheck disable=SC2086
        show_rollbacks $all >after
        diff before after
    done
    submit_set C3 DC f3 C3 '##dependencies' C1
    within pointsman daemon all --until-idle
    same 'reason of C3' "$(state_of C3 .reason)" dep-rolled-back
    # Without the repository, only the logs count, and a message says so.
    mv project.git elsewhere.git
    rm base/ctrl/registry.db*
    ends 1 pointsman fsck --rebuild
    says "cannot read from target 'main' what was rolled back" out
    # shellcheck disable=SC2086
    show_rollbacks $all >after
    diff before after
}
scenario 'log lines lost after a rollback are restored from the branch' \
    branch_restores_lines

# ---- rollbacks that were restored --------------------------------------------

# roll_back ID...: prints the id of the rollback, which is over
roll_back() {
    rb=$(pointsman -q rollback "$@")
    within pointsman daemon all --until-idle
    within pointsman wait "$rb"
    echo "$rb"
}

# X landed before the rollback `second`, but has been restored since. So a
# rollback of both begins with X, and `first`, which is in effect again after
# it, has nothing to do with X any more.
restored_set_is_newer() {
    base_with_check
    submit_set X DC f1 X
    within pointsman daemon all --until-idle
    roll_back X >first
    roll_back "$(cat first)" >second
    roll_back X >third
    roll_back "$(cat third)" >fourth
    same 'X is out of effect by' "$(rolled_back_by X)" ''
    roll_back "$(cat second)" >fifth
    same 'first is out of effect by' "$(rolled_back_by "$(cat first)")" ''
    same 'X is out of effect by' "$(rolled_back_by X)" "$(cat fifth)"
    roll_back "$(cat first)" >sixth
    same 'X is out of effect by' "$(rolled_back_by X)" "$(cat fifth)"
    ends 128 git -C project.git cat-file -e main:f1
    roll_back "$(cat fifth)" >seventh
    same 'X is out of effect by' "$(rolled_back_by X)" ''
    git -C project.git cat-file -e main:f1
    ends 0 pointsman fsck
}
scenario 'a set that was restored is newer than a rollback made in between' \
    restored_set_is_newer

# ---- two bases on one branch -------------------------------------------------

# on BASE COMMAND...
on() (
    POINTSMAN_BASE=$here/$1
    export POINTSMAN_BASE
    shift
    "$@"
)

works() {
    pointsman -q change submit "$made"
    within pointsman daemon all --until-idle
}

# Each base lands X and then C1.
two_bases() {
    make_base
    pointsman --quiet init --target main=project.git "$here/other"
    mkdir -p other/conf.d
    cp base/conf.d/scenario.conf other/conf.d
    make_set X DC fx x
    on base works
    make_set C1 DC other_file b
    on other works
    make_set C1 DC file a
    on base works
}

files_of_main() {
    git -C project.git ls-tree --name-only main | tr '\n' ' '
}

ids_of_two_bases() {
    two_bases
    rb=$(on base roll_back X C1)
    same files "$(files_of_main)" 'README other_file '
    same 'C1 is out of effect by' "$(on other rolled_back_by C1)" ''
    on base roll_back "$rb" >restored
    same files "$(files_of_main)" 'README file fx other_file '
    other=$(on other roll_back C1)
    same files "$(files_of_main)" 'README file fx '
    same 'C1 is out of effect by' "$(on base rolled_back_by C1)" ''
    on base roll_back C1 >third
    same files "$(files_of_main)" 'README fx '
    on other roll_back "$other" >fourth
    same files "$(files_of_main)" 'README fx other_file '
    rm base/ctrl/registry.db* other/ctrl/registry.db*
    ends 0 on base pointsman fsck --rebuild
    ends 0 on other pointsman fsck --rebuild
    same 'C1 is out of effect by' "$(on base rolled_back_by C1)" "$(cat third)"
    same 'C1 is out of effect by' "$(on other rolled_back_by C1)" ''
    ends 0 on base pointsman fsck
    ends 0 on other pointsman fsck
}
scenario 'a rollback leaves a set of the same id of another base alone' \
    ids_of_two_bases

# The server is killed while the rollback waits for a running member and has not
# reverted anything.
running_rollback_restored() {
    abandoned_with deaf
    kill -KILL "$server"
    wait "$server" || :
    echo waits >way
    lose_registry
    same 'state of the rollback' "$(state_of "$rb")" executing
    same 'state of behind' "$(state_of behind)" abandoned
    begin pointsman daemon all --until-idle
    within pointsman wait "$rb"
    expect_exit "$begun" 0
    same 'rollback of landed' "$(state_of landed .rolled_back_by)" "$rb"
    same 'reverts of landed' "$(reverts landed)" 1
    for id in running behind; do
        same "state of $id" "$(state_of $id)" abandoned
        same "commits of $id" "$(times_landed $id)" 0
    done
    ends 0 pointsman fsck
}
scenario 'a rollback that runs when the registry is lost is completed once' \
    running_rollback_restored

two_successors() {
    make_base
    submit_set OLD DC one 1
    pointsman cancel OLD
    submit_set NEW DC one 2 '##supersedes' OLD
    submit_set USER DC two 2 '##dependencies' OLD
    within pointsman daemon all --until-idle
    submit_set OTHER DC three 3 '##supersedes' OLD
    within pointsman daemon all --until-idle
    pointsman -q rollback OTHER
    within pointsman daemon all --until-idle
    same 'files' "$(git -C project.git ls-tree --name-only main | tr '\n' ' ')" \
        'README one two '
    pointsman -q rollback NEW
    within pointsman daemon all --until-idle
    same 'files' "$(git -C project.git ls-tree --name-only main | tr '\n' ' ')" \
        'README '
}
scenario 'a set that another successor serves is not rolled back' two_successors

finish
