#!/bin/sh
# supervisor.sh PROGRAM: a server whose supervisor dies or is stopped, one that
# is short of descriptors, and one whose signals are blocked.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"

# without_cgroup COMMAND...: runs it where no cgroup can be used
without_cgroup() {
    apart=-m
    [ "$(id -u)" -eq 0 ] || apart=-rm
    cat >apart <<'END'
while grep -q ' - cgroup2 ' /proc/self/mountinfo; do
    umount -l "$(sed -n 's/^[^ ]* [^ ]* [^ ]* [^ ]* \([^ ]*\) .* - cgroup2 .*/\1/p' \
        /proc/self/mountinfo | head -n 1)" || exit 1
done
exec "$@"
END
    unshare "$apart" sh apart true 2>unshared ||
        skip 'cgroup2 cannot be unmounted here (unshare -m, umount)'
    unshare "$apart" sh apart "$@"
}

# in_turn ID TEXT [OPTION]...: submits a command that runs TEXT in its first
# attempt; each attempt reports its start through the FIFO ID.here
in_turn() {
    id=$1 text=$2
    shift 2
    mkfifo "$here/$id.here"
    cat >"$id.sh" <<END
echo ran >>'$here/$id.ran'
echo here >'$here/$id.here'
[ "\$POINTSMAN_ATTEMPT" = 1 ] || exit 0
$text
END
    pointsman submit --id "$id" "$@" -- sh "$here/$id.sh"
}

begun() {
    within cat "$here/$1.here"
}

attempts() {
    pointsman status --json "$1" | jq -r '.attempt'
}

reasons() {
    pointsman history --json "$1" | jq -r 'select(.to == "pending") | .reason' |
        paste -sd ' '
}

# ---- a supervisor that is lost -----------------------------------------------

# survives SIGNAL: the supervisor gets it from a task
survives() {
    mkfifo gate
    in_turn bystander 'exec sleep 100000'
    begun bystander
    in_turn once 'exec sleep 100000' --at-most-once
    begun once
    in_turn culprit "read line <'$here/gate'; kill -$1 \$PPID; exec sleep 100000"
    begun culprit
    echo go >gate
    begun bystander
    begun culprit
    ends 0 within pointsman wait bystander culprit
    ends 1 within pointsman wait once
    for id in bystander culprit; do
        same "attempts of $id" "$(attempts $id)" 2
        same "starts of $id" "$(wc -l <$id.ran)" 2
        same "reasons of $id" "$(reasons $id)" 'admitted recovered'
    done
    same 'starts of once' "$(wc -l <once.ran)" 1
    same 'reason of once' "$(pointsman status --json once | jq -r .reason)" \
        at-most-once
    ends 0 within pointsman run -- echo on
    same output "$(cat out)" on
    says 'starting another one' serve.log
    serve_end
    ends 0 pointsman fsck
}

with_cgroup() {
    make_base 'concurrency = 3'
    serve_begin
    survives "$1"
}

in_groups() {
    make_base 'concurrency = 3'
    without_cgroup true
    pointsman() { command pointsman "$@"; }
    cat >"$top/bin/serving" <<END
#!/bin/sh
exec unshare $apart sh $here/apart pointsman "\$@"
END
    chmod +x "$top/bin/serving"
    serve_by serving
    survives "$1"
}

# serve_by COMMAND: like serve_begin, with another program
serve_by() {
    : >serve.log
    begin "$1" serve 2>serve.log
    server=$begun
    within sh -c 'until grep -q " serving " serve.log; do :; done'
}

scenario 'a task kills the supervisor: the server goes on' with_cgroup KILL
scenario 'a task stops the supervisor: the server goes on' with_cgroup STOP
scenario 'without a cgroup, a task kills the supervisor: the server goes on' \
    in_groups KILL
scenario 'without a cgroup, a task stops the supervisor: the server goes on' \
    in_groups STOP

# ---- what stands in the way of its tasks -------------------------------------

# goes_on TEXT: a task runs TEXT; no job fails by it, and tasks start. If $again
# is set, the supervisor is replaced, and what ran starts again.
goes_on() {
    mkfifo gate
    in_turn bystander "read line <'$here/gate'"
    begun bystander
    in_turn culprit "$1"
    begun culprit
    ends 0 within pointsman wait culprit
    ends 0 within pointsman run -- echo on
    same output "$(cat out)" on
    if [ -n "${again:-}" ]; then
        number=2
        begun bystander
        says 'starting another one' serve.log
    else
        number=1
        echo go >gate
        says 'set right' serve.log
    fi
    ends 0 within pointsman wait bystander
    same 'attempts of bystander' "$(attempts bystander)" "$number"
    serve_end
    ends 0 pointsman fsck
}

thaws() {
    make_base 'concurrency = 3'
    serve_begin
    cat >freeze <<'END'
mount=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup2 .*/\1/p' /proc/mounts | head -n 1)
leaf=$(sed -n 's/^0:://p' /proc/self/cgroup)
case $leaf in
*/pointsman.*.task.*) echo 1 >"$mount${leaf%/*}/cgroup.freeze" ;;
*) exit 9 ;;
esac
END
    pointsman submit --id can -- sh -c 'grep -q "^0::.*/pointsman\..*\.task\." \
        /proc/self/cgroup'
    within pointsman wait can || skip 'tasks have no cgroup here'
    goes_on ". '$here/freeze'"
}
scenario 'a task freezes the cgroup of all tasks: the server thaws it' thaws

raises() {
    make_base 'concurrency = 3'
    serve_begin
    goes_on 'prlimit --nofile=5: --pid $PPID'
}
scenario 'a task lowers the limit on open files of the supervisor: it is raised' \
    raises

replaces() {
    make_base 'concurrency = 3'
    # Without this right, no limit can be raised again.
    cat >"$top/bin/serving" <<'END'
#!/bin/sh
exec setpriv --bounding-set -sys_resource --inh-caps -sys_resource \
    pointsman serve
END
    chmod +x "$top/bin/serving"
    [ "$(id -u)" -ne 0 ] || setpriv --bounding-set -sys_resource true ||
        skip 'capabilities cannot be dropped here'
    [ "$(id -u)" -eq 0 ] || printf '#!/bin/sh\nexec pointsman serve\n' \
        >"$top/bin/serving"
    serve_by serving
    again=yes
    goes_on 'prlimit --nofile=5:5 --pid $PPID'
}
scenario 'a limit of the supervisor cannot be raised again: another one starts' \
    replaces

# A landing whose process dies with the supervisor is not repeated if the branch
# has moved; checks are run again.
lands() {
    make_base
    cat >base/conf.d/target.conf <<END
[target "main"]
check.gate = sh '$here/check.sh'
END
    mkfifo check.here
    cat >check.sh <<END
[ ! -e '$here/tried' ] || exit 0
: >'$here/tried'
echo here >'$here/check.here'
exec sleep 100000
END
    serve_begin
    make_set set DC src/a a
    pointsman change submit "$made"
    within cat check.here
    pkill -KILL -P "$server" -x pointsman-guard
    ends 0 within pointsman wait set
    same commits "$(times_landed set)" 1
    serve_end
    ends 0 pointsman fsck
}
scenario 'the supervisor dies while a set is checked: the set lands once' lands
scenario 'the same on a merge train' on_train lands

# ---- TERM --------------------------------------------------------------------

stops_with_stopped_supervisor() {
    make_base 'drain = 3600'
    serve_begin
    in_turn long 'exec sleep 100000'
    begun long
    pkill -STOP -P "$server" -x pointsman-guard
    kill -TERM "$server"
    within sh -c 'until grep -q "waiting for running jobs" serve.log; do :; done'
    kill -TERM "$server"
    expect_exit "$server" 0
    same 'state of long' "$(pointsman status --json long | jq -r .state)" pending
}
scenario 'a server whose supervisor is stopped can be stopped' \
    stops_with_stopped_supervisor

stops_although_blocked() {
    make_base
    cat >"$top/bin/blocking" <<'END'
#!/usr/bin/env python3
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.execvp("pointsman", ["pointsman"] + sys.argv[1:])
END
    chmod +x "$top/bin/blocking"
    serve_by blocking
    kill -TERM "$server"
    expect_exit "$server" 0
}
scenario 'TERM stops a server that was started with all signals blocked' \
    stops_although_blocked

# ---- descriptors -------------------------------------------------------------

few_descriptors() {
    make_base 'concurrency = 100'
    ulimit -n 256
    ends 1 pointsman doctor
    says 'warn slots' out
    serve_begin
    says 'the limit on open files allows only' serve.log
    # shellcheck disable=SC2046
    for i in $(seq 60); do
        printf '{"id":"j%s","command":["sh","-c","sleep 0.05; echo %s"]}\n' "$i" "$i"
    done >batch
    ends 0 pointsman submit --batch <batch
    ends 0 within pointsman wait $(seq -f j%.0f 60)
    for i in $(seq 60); do
        same "attempts of j$i" "$(attempts "j$i")" 1
    done
    says_not 'cannot be started now' serve.log
    ends 1 pointsman doctor
    says 'of 100, with at most 256 open files' out
    serve_end
}
scenario 'with few descriptors fewer tasks run at once, and none fails' \
    few_descriptors

finish
