#!/bin/sh
# crash_base.sh PROGRAM FAULTY: a command that creates, rebuilds, backs up or
# restores a base is killed at its mutating system calls
# (tests/support/faulty.c). Its result is complete or absent, and the same
# command, run again, completes it. tests/support/points.sh chooses the calls.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"
faulty=$(CDPATH="" cd "$(dirname "$2")" && pwd)/$(basename "$2")
# shellcheck source=tests/support/points.sh
. "$(dirname "$0")/../support/points.sh"

# ---- the sweep ---------------------------------------------------------------

# run_faulty COMMAND...: runs the command with $options; $came is 137 if the
# fault occurred
run_faulty() {
    came=0
    # shellcheck disable=SC2086
    within "$faulty" --log calls $options -- "$@" >said 2>&1 || came=$?
    [ "$came" -ne 124 ] || wrong "the command hangs: $options"
    [ "$came" -ne 125 ] || skip 'processes cannot be traced here'
}

# sweep COUNT FAULT BEGIN JUDGE COMMAND...: runs BEGIN, then COMMAND with the
# fault at one of its calls, then JUDGE; COUNT times, or for every call
sweep() {
    count=$1 fault=$2 begin=$3 judge=$4
    shift 4
    $begin
    options=$fault
    run_faulty "$@"
    same 'exit status without a fault' "$came" 0
    calls=$(sed -n 's/^total //p' calls)
    [ "$calls" -gt 4 ] || wrong "the command makes only $calls calls"
    points_begin "$calls" "$count"
    while points_next; do
        $begin
        options="$fault --at $at"
        run_faulty "$@"
        # Not part of a condition, because set -e has no effect there.
        set +e
        (
            set -e
            $judge "$@"
        ) >judged 2>&1
        judged=$?
        set -e
        if [ $judged -eq 0 ]; then
            point_result ok
            continue
        fi
        point_result FAILED
        cat judged
        echo "--- $options: $came"
        grep HERE calls | head -n 3
        cat said
        [ "$sweep" = full ] || exit 1
    done
    points_end
}

# finished COMMAND...: the command succeeds now, or reports that the base exists
# already
finished() {
    "$@" >out 2>err && return
    same 'exit status of the second run' $? 100
    grep -q -e 'is a base already' -e 'is not empty' err || wrong "$(cat err)"
}

# ---- init --------------------------------------------------------------------

bare_project() {
    make_base
    rm -rf base
}

no_base_yet() {
    rm -rf base
}

base_is_complete() {
    case $came in
    0 | 137) ;;
    *)
        # A command that failed printed one error.
        same 'error messages' "$(grep -c '^pointsman: ' said)" 1
        ;;
    esac
    finished "$@"
    ends 0 pointsman fsck
    ends 0 pointsman config check
    mkdir -p base/conf.d
    printf '[serve]\nlisten = off\n' >base/conf.d/scenario.conf
    make_set first DC src/first text
    git -C project.git update-ref refs/heads/main "$commit"
    ends 0 pointsman change submit "$made"
    ends 0 within pointsman daemon all --until-idle
    in_one_place first D
    ends 0 pointsman fsck
}

init_killed() {
    bare_project
    sweep "$1" "$2" no_base_yet base_is_complete \
        pointsman init --target main=project.git base
}
scenario 'a second init completes one that was killed' \
    init_killed 4 '--kill all'
scenario 'a second init completes one that met a full disk' \
    init_killed 2 '--fail ENOSPC'

# ---- a base with some history ------------------------------------------------

# each VERB ID...: the JSON output of VERB for each id, with the id on each line
each() {
    verb=$1
    shift
    for id in "$@"; do
        printf '"%s"\n' "$id"
        pointsman "$verb" --json "$id"
    done | jq -cS -n 'foreach inputs as $line ({};
        if ($line | type) == "string" then {of: $line} else .line = $line end;
        select(.line))'
}

# One jq process for all sets: starting jq takes longer than the query.
describe_sets() {
    ids=$(pointsman list --all --json kind:change | jq -r .id | sort)
    # shellcheck disable=SC2086 # a list of ids
    {
        pointsman status --json $ids | jq -cS '
            {id, class, state, target, reason, attempt, detail, holds,
             admitted, since, sum, size, name, touches}'
        each history $ids | jq -cS '.line |
            {id, kind, from, to, attempt, actor, reason, detail, at}' |
            grep -v 'rebuilt\|"reason":"restored"\|"reason":"resumed"'
        each depends $ids | sort
        each dependents $ids | sort
    }
}

with_history() {
    make_base
    make_set landed DC src/a first
    pointsman change submit "$made"
    make_set clash DC src/a 'not seen by its author'
    pointsman change submit "$made"
    make_set orphan DC src/o orphan '##dependencies' clash
    pointsman change submit "$made"
    make_set taken BF src/t taken
    pointsman change submit "$made"
    pointsman cancel taken --because 'not needed'
    within pointsman daemon all --until-idle
    make_set resting DC src/r resting
    pointsman change submit "$made"
    pointsman hold resting --because 'lunch'
    make_set behind DC src/s behind '##precursors' resting
    pointsman change submit "$made"
    within pointsman daemon queue --until-idle
    pointsman submit --id command -- true
    describe_sets >before
    mkdir master
    cp -a base project.git master
}

reset_to_master() {
    rm -rf base project.git
    cp -a master/. .
}

is_as_before() {
    describe_sets >after
    diff before after || wrong 'the sets are not as before'
    for word in landed:D clash:F orphan:F taken:T resting:Q behind:S; do
        in_one_place "${word%:*}" "${word#*:}"
    done
    ends 0 pointsman fsck
}

continues() {
    ends 0 pointsman release resting
    ends 0 within pointsman daemon all --until-idle
    for id in landed resting behind; do
        in_one_place $id D
        same "commits of $id" "$(times_landed $id)" 1
    done
    ends 0 pointsman fsck
}

# ---- rebuild -----------------------------------------------------------------

registry_lost() {
    reset_to_master
    rm base/ctrl/registry.db*
}

# lists_all_or_fails: a query prints all sets or fails
lists_all_or_fails() {
    pointsman list --all --json kind:change >half 2>half.err || return 0
    same 'sets listed' "$(wc -l <half)" 6
}

rebuilt() {
    lists_all_or_fails
    ends 0 "$@"
    is_as_before
    continues
}

rebuild_killed() {
    with_history
    sweep "$1" "$2" registry_lost rebuilt pointsman fsck --rebuild
}
scenario 'a second rebuild completes one that was killed' \
    rebuild_killed 4 '--kill all'
scenario 'a second rebuild completes one that met a full disk' \
    rebuild_killed 2 '--fail ENOSPC'

# ---- backup and restore ------------------------------------------------------

no_backup_yet() {
    reset_to_master
    rm -f saved*
}

saved() {
    is_as_before
    # A file with the final name is complete and readable only by its owner.
    [ -e saved.tar ] || ends 0 "$@"
    same 'mode of the backup' "$(stat -c %a saved.tar)" 600
    rm -rf base
    ends 0 pointsman restore --base base saved.tar
    ends 0 pointsman restore --resume
    is_as_before
    continues
    same 'files left' "$(ls -d saved*)" saved.tar
}

backup_killed() {
    with_history
    sweep "$1" "$2" no_backup_yet saved pointsman backup saved.tar
}
scenario 'a killed backup leaves a complete file or none' \
    backup_killed 3 '--kill all'
scenario 'a backup that meets a full disk leaves a complete file or none' \
    backup_killed 2 '--fail ENOSPC'

restored() {
    [ ! -e base ] || lists_all_or_fails
    finished "$@"
    ends 0 pointsman restore --resume
    is_as_before
    continues
}

restore_killed() {
    with_history
    ends 0 pointsman backup saved.tar
    sweep "$1" "$2" no_base_yet restored pointsman restore --base base saved.tar
}
scenario 'a second restore completes one that was killed' \
    restore_killed 4 '--kill all'
scenario 'a second restore completes one that met a full disk' \
    restore_killed 2 '--fail ENOSPC'

finish
