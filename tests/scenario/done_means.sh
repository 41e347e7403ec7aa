#!/bin/sh
# done_means.sh PROGRAM FAULTY: the promises of the change queue, tested from
# outside.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"
faulty=$(CDPATH="" cd "$(dirname "$2")" && pwd)/$(basename "$2")

# ---- order -------------------------------------------------------------------

three_sets() {
    make_base
    for set in slow:DC:a quick:BF:b now:EM:c; do
        id=${set%%:*} file=${set##*:}
        class=${set#*:}
        make_set "$id" "${class%:*}" "src/$file" "$id"
        pointsman change submit "$made"
        sum=$(sha256sum <"$made")
        printf '%s %s %s\n' "$id" "${sum%% *}" "${class%:*}" >>wanted
    done
    within pointsman daemon all --until-idle
    same order "$(landed_order)" 'now quick slow '
    for id in slow quick now; do
        in_one_place "$id" D
    done
    git -C project.git log --format='%(trailers:key=CS-Id,valueonly,separator=) %(trailers:key=CS-Sum,valueonly,separator=) %(trailers:key=CS-Class,valueonly,separator=)' \
        main~3..main >got
    same trailers "$(cat got)" "$(cat wanted)"
    ends 0 pointsman fsck
}
scenario 'sets land in the order of their classes, with trailers' \
    three_sets

# ---- sets that share a file --------------------------------------------------

# There are four lanes, and no set follows another one onto the train. The checks
# of the sets that share a file take a lock directory; the checks of the two other
# sets wait for each other.
never_together() {
    make_base 'concurrency = 4'
    cat >base/conf.d/target.conf <<'EOF'
[target "main"]
lanes = 4
follow = no
blind = allow
check.lock = sh ../../guarded $POINTSMAN_CSID
EOF
    sed -i "s|sh .*|sh '$here/guarded'|" base/conf.d/target.conf
    mkfifo meet.left meet.right
    cat >guarded <<EOF
cd '$here'
case \$POINTSMAN_CSID in
same-*)
    mkdir lock || { echo "\$POINTSMAN_CSID" >>together; exit 1; }
    # Long enough for the others to start, if they were allowed to.
    '$program' --base base list --json >/dev/null
    echo "\$POINTSMAN_CSID" >>alone
    rmdir lock
    ;;
left) mkdir met.left || exit 0
    echo here >meet.right
    read -r word <meet.left ;;
right) mkdir met.right || exit 0
    read -r word <meet.right
    echo here >meet.left ;;
esac
EOF
    for n in 1 2 3 4; do
        make_set same-$n DC shared "version $n"
        pointsman change submit "$made"
    done
    for id in left right; do
        make_set $id DC $id "$id"
        pointsman change submit "$made"
    done
    within pointsman daemon all --until-idle
    pointsman history
    [ ! -e together ] || wrong "these ran together: $(cat together)"
    same 'sets that ran' "$(sort -u alone | wc -l)" 4
    for id in same-1 same-2 same-3 same-4 left right; do
        in_one_place $id D
        same "commits of $id" "$(times_landed $id)" 1
    done
    same 'the shared file' "$(git -C project.git show main:shared)" 'version 4'
}
scenario 'sets that share a file never run in parallel; others do' \
    never_together

# ---- why ---------------------------------------------------------------------

# There are two slots: one is taken by a set whose check waits for gate.set, the
# other by a command that waits for gate.cmd. All other jobs wait, each for a
# different reason.
crowd() {
    make_base 'concurrency = 2'
    cat >base/conf.d/target.conf <<EOF
[target "main"]
follow = no
interrupt = none
check.gate = sh '$here/gate.sh'
EOF
    cat >gate.sh <<EOF
[ "\$POINTSMAN_CSID" = runner ] || exit 0
[ ! -e '$here/now' ] || exit 0 # a check may run again
echo here >'$here/begun'
cat '$here/gate.set'
EOF
    mkfifo begun gate.set gate.cmd
}

submit_crowd() {
    # First the job that waits for a time: it fails temporarily again and again,
    # with a growing backoff, and is queried while slots are free.
    pointsman submit --id later -- sh -c '[ -e now ] || exit 75'
    await '"id":"later".*"reason":"temp"'
    until because later time 'next try at 2'; do :; done

    make_set runner DC src/a first
    pointsman change submit "$made"
    within cat begun
    pointsman submit --id busy -- sh -c 'echo here >begun; cat gate.cmd'
    within cat begun

    make_set sharer DC src/a second
    pointsman change submit "$made"
    make_set needer DC src/b third '##dependencies' runner
    pointsman change submit "$made"
    make_set neighbour EM src/c fourth
    pointsman change submit "$made"
    pointsman submit --id held --hold -- true
    pointsman submit --id crowded -- true
    await '"id":"neighbour".*"to":"pending"'
}

# because ID KIND TEXT
because() {
    pointsman why "$1" >why.said
    pointsman why --json "$1" >why.json
    jq -e -s --arg kind "$2" 'any(.kind == $kind)' why.json >/dev/null ||
        wrong "why $1 shows no $2: $(cat why.said)"
    says "$3" why.said
}

# six_reasons KIND TEXT: why `neighbour` waits
six_reasons() {
    because neighbour "$1" "$2"
    because sharer precursor "precursor runner is executing"
    because sharer precursor "both touch 'src/a'"
    because needer dependency 'dependency runner is executing'
    because held hold 'held (operator)'
    because crowded slot 'slot: all 2 are busy'
}

release_crowd() {
    : >now
    pointsman release held
    echo >gate.cmd
    echo >gate.set
}

why_with_a_server() {
    crowd
    serve_begin
    submit_crowd
    # Until its tree is merged, it waits for that instead.
    within sh -c 'until pointsman why neighbour | grep -qF "no lane:"
        do :; done'
    six_reasons train 'no lane: main uses 1 of 1 (runner)'
    release_crowd
    for id in runner busy needer neighbour held crowded later; do
        ends 0 within pointsman wait $id
    done
    ends 1 within pointsman wait sharer
    says 'src/a was changed by runner' out || pointsman why sharer |
        grep 'src/a was changed by runner'
    serve_end
}
scenario 'why shows all six reasons, through a server' why_with_a_server

why_without_one() {
    crowd
    daemon_begin
    submit_crowd
    six_reasons lane 'lane of target main, behind runner'
    release_crowd
    for id in runner busy needer neighbour held crowded later; do
        ends 0 within pointsman wait $id
    done
    kill "$daemon"
    expect_exit "$daemon" 0
    ends 69 pointsman --server unix:base/ctrl/sock why sharer
}
scenario 'why shows all six reasons, without a server' why_without_one

why_where_nothing_runs() {
    make_base
    make_set first DC src/a first
    pointsman change submit "$made"
    make_set second DC src/a second
    pointsman change submit "$made"
    make_set third DC src/c third '##dependencies' first
    pointsman change submit "$made"
    pointsman submit --id held --hold -- true
    pointsman submit --id plain -- true
    pointsman submit --id later -- sh -c 'exit 75'
    within pointsman daemon exec --until-idle
    because second precursor 'precursor first is queued'
    because third dependency 'dependency first is queued'
    because held hold 'held (operator)'
    because first role 'no queue role runs here'
    # The backoff doubles until it is long enough for two queries.
    until (because later time 'next try at 2') >/dev/null; do
        within pointsman daemon exec --until-idle
    done
    pointsman submit --id another -- true
    because another role 'no exec role runs here'
}
scenario 'why shows the reasons, and which roles are missing, if nothing runs' \
    why_where_nothing_runs

# ---- the drop directories ----------------------------------------------------

file_route() {
    make_base 'poll = 1'
    make_set early DC src/early 'made before anything ran'
    drop_set "$made"
    serve_begin
    # Without a trigger, polling finds it.
    make_set second BF.042 src/second 'found by the poll'
    drop_set "$made"
    await '"id":"second".*"to":"done"'
    make_set third EM doc/third 'triggered'
    drop_set "$made"
    printf x >base/ctrl/prequeue_fifo
    await '"id":"third".*"to":"done"'
    for id in early second third; do
        ends 0 within pointsman wait $id
        same "commits of $id" "$(times_landed $id)" 1
        in_one_place $id D
    done
    serve_end
    same 'files left in prequeue' "$(ls base/prequeue)" ''
    ends 0 pointsman fsck
}
scenario 'tarballs put into the drop directories land' file_route

# ---- a lost registry ---------------------------------------------------------

# Prints what a base knows of its sets, except the numbers that a rebuild
# changes.
describe_sets() {
    for id in $(pointsman list --all --json kind:change | jq -r .id | sort); do
        pointsman status --json "$id" | jq -cS '
            {id, class, state, target, reason, attempt, detail, holds,
             admitted, since, sum, size, name, touches}'
        pointsman history --json "$id" | jq -cS '
            {id, kind, from, to, attempt, actor, reason, detail, at}' |
            grep -v rebuilt
        pointsman depends --json "$id" | jq -cS . | sort
        pointsman dependents --json "$id" | jq -cS . | sort
    done
}

rebuild() {
    make_base
    make_set landed DC src/a first
    pointsman change submit "$made"
    make_set clash DC src/a 'not seen by its author'
    pointsman change submit "$made"
    make_set orphan DC src/o orphan '##dependencies' clash
    pointsman change submit "$made"
    make_set happy DC src/h happy '##dependencies' landed
    pointsman change submit "$made"
    make_set taken BF src/t taken
    pointsman change submit "$made"
    pointsman cancel taken --because 'not needed'
    within pointsman daemon all --until-idle
    make_set stand-in DC src/a again '##supersedes' clash
    pointsman change submit "$made"
    make_set resting DC src/r resting
    pointsman change submit "$made"
    pointsman hold resting --because 'lunch'
    make_set behind DC src/s behind "##dependencies" stand-in "##precursors" resting
    pointsman change submit "$made"
    within pointsman daemon queue --until-idle
    make_set fresh DC src/f fresh
    pointsman change submit "$made"
    describe_sets >before
    for word in landed:D clash:F orphan:F happy:D taken:T stand-in:P \
        resting:Q behind:S fresh:Q; do
        in_one_place "${word%:*}" "${word#*:}"
    done

    rm base/ctrl/registry.db*
    ends 0 pointsman fsck --rebuild
    describe_sets >after
    diff before after || wrong 'the rebuilt registry differs'
    ends 0 pointsman fsck
    # The rebuilt base continues.
    pointsman release resting
    within pointsman daemon all --until-idle
    for id in stand-in resting behind fresh; do
        in_one_place $id D
        same "commits of $id" "$(times_landed $id)" 1
    done
    same 'commits of landed' "$(times_landed landed)" 1
}
scenario 'a lost registry is rebuilt completely from the directories' rebuild

# ---- output ------------------------------------------------------------------

# calls_of ID COMMAND...: runs the job; lists its mutating system calls in names
calls_of() {
    id=$1
    shift
    pointsman submit --id "$id" -- "$@" >said
    within env "ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" \
        "$faulty" --log calls -- pointsman daemon all --until-idle ||
        [ $? -ne 125 ] || skip 'processes cannot be traced here'
    same "state of $id" "$(pointsman status --json "$id" | jq -r .state)" done
    sed 's/^[0-9]* \([a-z0-9]*\) .*/\1/' calls >names
}

output_is_durable() {
    pointsman -q init
    calls_of small seq 1 3
    ! grep -qx syncfs names || wrong 'a syncfs for a small output'
    calls_of large seq 1 20000
    same 'file systems synced' "$(grep -cx syncfs names)" 1
    sed '1,/^syncfs$/d' names | grep -qx fdatasync ||
        wrong 'the output was synced after the last commit'
    same 'lines of output' "$(pointsman logs large | wc -l)" 20000
}
scenario 'output in a file is on disk before its job is done' \
    output_is_durable

# ---- daemons one after the other ---------------------------------------------

one_by_one() {
    make_base
    make_set one DC src/a one
    drop_set "$made"
    within pointsman daemon prequeue --once
    in_one_place one Q
    within pointsman daemon queue --once
    in_one_place one P
    within pointsman daemon exec --once
    in_one_place one D
    make_set two DC src/b two
    drop_set "$made"
    for role in prequeue queue exec; do
        within pointsman daemon $role --until-idle
    done
    in_one_place two D
    for id in a b c d e; do
        pointsman submit --id "job-$id" -- true
    done
    within pointsman daemon exec --jobs 2
    same 'jobs that ran' "$(pointsman list --json state:done kind:command |
        wc -l)" 2
    within pointsman daemon exec --jobs 1
    same 'jobs that ran' "$(pointsman list --json state:done kind:command |
        wc -l)" 3
    within pointsman daemon all --until-idle
    same 'jobs that ran' "$(pointsman list --json state:done kind:command |
        wc -l)" 5
    serve_begin
    for role in prequeue queue exec all; do
        ends 99 pointsman daemon $role --once
        same 'lines of error' "$(wc -l <err)" 1
    done
    ends 99 pointsman serve
    serve_end
    ends 0 pointsman fsck
}
scenario 'each daemon does its part; next to a server it is refused' \
    one_by_one

# Root may use any base, but does not run its jobs. Everything it creates there
# must belong to the owner of the base, who could not read or continue it
# otherwise.
by_root() {
    [ "$(id -u)" -eq 0 ] || skip 'only root can work for another user'
    make_base
    chown -R 65534:65534 base
    pointsman submit --id small -- echo small
    make_set set DC a one
    pointsman change submit "$made"
    pointsman set queue.concurrency 3
    ends 0 pointsman fsck
    ends 77 pointsman daemon all --until-idle
    ends 77 pointsman serve
    ends 77 pointsman run -- true
    same 'files of root' "$(find base -user root)" ''
}
scenario 'what root creates in a base belongs to its owner' by_root

finish
