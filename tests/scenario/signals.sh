#!/bin/sh
# signals.sh PROGRAM: what signals to a daemon do to the daemon and its jobs.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"

# gated ID [OPTION]...: submits a command that reports its start through the
# FIFO ID.here and then waits for the FIFO ID.gate; ID.pid has its process id.
# If an earlier start still runs, it writes its id to `twice`.
gated() {
    id=$1
    shift
    rm -f "$here/$id.here" "$here/$id.gate"
    mkfifo "$here/$id.here" "$here/$id.gate"
    cat >"$here/$id.sh" <<EOF
if [ -e '$here/$id.pid' ] && [ -e /proc/\$(cat '$here/$id.pid') ]; then
    case \$(sed 's/.*) //; s/ .*//' /proc/\$(cat '$here/$id.pid')/stat) in
    Z | X | '') ;;
    *) echo $id >>'$here/twice' ;;
    esac
fi
echo \$\$ >'$here/$id.pid'
echo ran >>'$here/$id.ran'
echo here >'$here/$id.here'
read -r word <'$here/$id.gate'
EOF
    pointsman submit --id "$id" "$@" -- sh "$here/$id.sh"
}

begun() {
    within cat "$here/$1.here"
}

open_gate() {
    echo go >"$here/$1.gate"
}

runs() {
    wc -l <"$here/$1.ran"
}

state_of() {
    pointsman status --json "$1" | jq -r '.state + " " + .reason'
}

# ---- starting ----------------------------------------------------------------

# lend: stops a command that submits while it has borrowed the role prequeue;
# $borrower is its pid. One that is over too soon is followed by another.
lend() {
    lent=base/ctrl/prequeue.pid
    number=0
    while :; do
        number=$((number + 1))
        make_set "C$number" DC "f$number" content
        begin pointsman change submit "$made" >answer 2>&1
        borrower=$begun
        until [ -s $lent ] || [ -s answer ]; do :; done
        kill -STOP "$borrower" 2>/dev/null || :
        until grep -q '^State:.[TZ]' "/proc/$borrower/status"; do :; done
        ! grep -qs borrowed $lent || return 0
        kill -CONT "$borrower" 2>/dev/null || :
        expect_exit "$borrower" 0
        : >answer
    done
}

awaits_borrower() {
    make_base
    lend
    for command in 'daemon all' serve; do
        # shellcheck disable=SC2086
        begin pointsman $command 2>starting.log
        starting=$begun
        within sh -c 'until grep -q "waiting until process $0 gives back" \
            starting.log; do kill -0 $1; done' "$borrower" "$starting"
        [ "$command" = serve ] || {
            kill -TERM "$starting"
            wait "$starting" || :
        }
    done
    # It has no handlers yet, and must not die of these.
    kill -HUP "$starting"
    kill -USR1 "$starting"
    kill -CONT "$borrower"
    expect_exit "$borrower" 0
    ends 0 within pointsman wait "C$number"
    ends 99 pointsman daemon all
    kill -TERM "$starting"
    expect_exit "$starting" 0
}
scenario 'a server waits for a command that has borrowed a role' \
    awaits_borrower

# ---- TERM --------------------------------------------------------------------

drains() {
    make_base
    serve_begin
    gated long
    begun long
    kill -TERM "$server"
    within sh -c 'until grep -q "waiting for running jobs to end" serve.log; do :; done'
    pointsman submit --id late -- true
    same 'state of late' "$(state_of late)" 'pending admitted'
    open_gate long
    expect_exit "$server" 0
    same 'state of long' "$(state_of long)" 'done ok'
    same 'state of late' "$(state_of late)" 'pending admitted'
    within pointsman daemon all --until-idle
    same 'state of late' "$(state_of late)" 'done ok'
    ends 0 pointsman fsck
}
scenario 'TERM lets running jobs end and starts no more' drains

returns() {
    make_base 'drain = 3600'
    serve_begin
    gated long
    begun long
    process=$(cat long.pid)
    kill -TERM "$server"
    within sh -c 'until grep -q "waiting for running jobs to end" serve.log; do :; done'
    kill -TERM "$server"
    expect_exit "$server" 0
    ! lives "$process" || wrong 'the process of long is alive'
    same 'state of long' "$(state_of long)" 'pending returned'
    pointsman logs --attempts long >attempts
    says "attempt 1  lost  started 2" attempts
    serve_begin
    begun long
    open_gate long
    ends 0 within pointsman wait long
    same 'starts' "$(runs long)" 2
    serve_end
    [ ! -e twice ] || wrong 'long ran twice at once'
}
scenario 'a second TERM requeues running jobs; the next server runs them' \
    returns

drain_ends() {
    make_base 'drain = 0'
    daemon_begin
    gated long
    begun long
    kill -TERM "$begun"
    expect_exit "$begun" 0
    same 'state of long' "$(state_of long)" 'pending returned'
}
scenario 'the end of the drain time requeues running jobs too' drain_ends

# A task that ignores TERM is killed after its own kill_wait; others clean up.
ends_gently() {
    make_base 'drain = 0' 'grace = 3600'
    serve_begin
    mkfifo gentle.here deaf.here
    pointsman submit --id gentle -- sh -c 'trap "echo cleaned; exit 9" TERM
        echo >gentle.here; while :; do sleep 0.05; done'
    pointsman submit --id deaf --kill-wait 1 -- \
        sh -c 'trap "" TERM; echo >deaf.here; while :; do sleep 0.05; done'
    within cat gentle.here
    within cat deaf.here
    serve_end
    pointsman logs gentle >said
    says cleaned said
    for id in gentle deaf; do
        same "state of $id" "$(state_of $id)" 'pending returned'
    done
    pointsman logs --attempts --json deaf >attempts
    says '"signal":9' attempts
}
scenario 'a stop sends TERM, and KILL after kill_wait' ends_gently

kills() {
    make_base 'drain = 3600' 'grace = 3600'
    serve_begin
    mkfifo deaf.here
    pointsman submit --id deaf --kill-method term -- \
        sh -c 'trap "" TERM; echo >deaf.here; while :; do sleep 0.05; done'
    within cat deaf.here
    for said in 'waiting for running' 'ending running' 'killing running'; do
        kill -TERM "$server"
        within sh -c 'until grep -q "$1" serve.log; do :; done' - "$said"
    done
    expect_exit "$server" 0
    same 'state of deaf' "$(state_of deaf)" 'pending returned'
}
scenario 'a third TERM kills what ignores the first' kills

# ask_socket PATH: prints the answer of the server
ask_socket() {
    python3 - "$1" <<'EOF'
import os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect(os.environ["POINTSMAN_BASE"] + "/ctrl/sock")
server.sendall(f"GET {sys.argv[1]} HTTP/1.1\r\nHost: localhost\r\n"
               "Connection: close\r\n\r\n".encode())
while data := server.recv(65536):
    sys.stdout.write(data.decode())
EOF
}

# ---- HUP ---------------------------------------------------------------------

reloads() {
    make_base 'concurrency = 1'
    serve_begin
    gated one
    begun one
    gated two
    within sh -c 'until pointsman why two | grep -q "slot: all 1"; do :; done'
    printf '[queue]\nconcurency = 2\n' >base/conf.d/wrong.conf
    kill -HUP "$server"
    within sh -c 'until grep -q "concurency" serve.log; do :; done'
    says "did you mean 'concurrency'" serve.log
    pointsman why two >why.said
    says 'slot: all 1' why.said
    pointsman status >status.said
    says 'not reloaded: ' status.said
    ask_socket /readyz >readyz.said
    says 'the configuration was not reloaded' readyz.said
    ask_socket /metrics >metrics.said
    says 'pointsman_config_refused 1' metrics.said
    pointsman doctor >doctor.said 2>&1 || :
    says concurency doctor.said
    rm base/conf.d/wrong.conf
    sed -i 's/concurrency = 1/concurrency = 2/' base/conf.d/scenario.conf
    kill -HUP "$server"
    begun two
    pointsman status >status.said
    says_not 'not reloaded' status.said
    ask_socket /metrics >metrics.said
    says 'pointsman_config_refused 0' metrics.said
    open_gate one
    open_gate two
    ends 0 within pointsman wait one two
    serve_end
}
scenario 'HUP loads a valid configuration and ignores an invalid one' reloads

reopens_its_log() {
    make_base
    begin pointsman serve 2>log
    server=$begun
    within sh -c 'until grep -q serving log; do :; done'
    mv log log.1
    kill -HUP "$server"
    within sh -c 'until grep -qs reloaded log; do :; done'
    kill -USR1 "$server"
    within sh -c 'until grep -q USR1 log; do :; done'
    pointsman run -- true
    says_not reloaded log.1
    serve_end
    says TERM log
}
scenario 'HUP opens a log again that was renamed, and USR1 does nothing' \
    reopens_its_log

# ---- KILL --------------------------------------------------------------------

killed_while_busy() {
    make_base 'concurrency = 3'
    cat >base/conf.d/target.conf <<EOF
[target "main"]
check.gate = sh '$here/check.sh'
EOF
    mkfifo check.here check.gate
    cat >check.sh <<EOF
[ "\$POINTSMAN_CSID" = slow ] || exit 0
echo \$\$ >'$here/check.pid'
echo here >'$here/check.here'
read -r word <'$here/check.gate'
EOF
    serve_begin
    make_set slow EM src/a slow
    pointsman change submit "$made"
    make_set next DC src/a2 next '##dependencies' slow
    pointsman change submit "$made"
    within cat check.here
    gated again
    begun again
    gated never --at-most-once
    begun never
    pointsman submit --id waiting -- true
    kill -KILL "$server"
    expect_exit "$server" 137
    serve_begin
    for file in check again never; do
        case $file in
        check) within cat check.here ;;
        again) begun again ;;
        esac
    done
    open_gate again
    echo go >check.gate
    ends 0 within pointsman wait slow next again waiting
    ends 1 within pointsman wait never
    same 'state of never' "$(state_of never)" 'failed at-most-once'
    same 'starts of never' "$(runs never)" 1
    same 'starts of again' "$(runs again)" 2
    for id in slow next; do
        in_one_place $id D
        same "commits of $id" "$(times_landed $id)" 1
    done
    [ ! -e twice ] || wrong "ran twice at once: $(cat twice)"
    serve_end
    ends 0 pointsman fsck
}
scenario 'a busy server is killed: the next server completes all jobs' \
    killed_while_busy

# Two of three tasks run when the server dies.
array_killed() {
    make_base
    mkfifo here
    serve_begin
    printf 'one\ntwo\nthree\n' >nodes
    pointsman submit --id list --at-most-once --array nodes -- \
        sh -c "echo \$POINTSMAN_NODE >>'$here/ran'
            [ \$POINTSMAN_NODE = three ] && exit
            echo here >'$here/here'; exec sleep 100000"
    begun_tasks=
    while [ "$begun_tasks" != 2 ]; do
        within cat here >/dev/null
        begun_tasks=$(grep -c -e one -e two ran)
    done
    kill -KILL "$server"
    expect_exit "$server" 137
    serve_begin
    ends 1 within pointsman wait list
    same 'tasks that ran' "$(sort ran | tr '\n' ' ')" 'one three two '
    says '2 of 3 tasks failed' err
    serve_end
}
scenario 'no task of an array runs twice if it must not' array_killed

# A child leaves its session and closes all its descriptors.
no_stray() {
    make_base
    serve_begin
    mkfifo here.fifo
    cat >stray.sh <<EOF
setsid sh -c 'echo \$\$ >"$here/stray.pid"; echo >"$here/here.fifo"
    exec sleep 100000' >/dev/null 2>&1 </dev/null &
exec sleep 100000
EOF
    pointsman submit --id stray --at-most-once -- sh "$here/stray.sh"
    within cat here.fifo
    process=$(cat stray.pid)
    kill -KILL "$server"
    expect_exit "$server" 137
    serve_begin
    ends 1 within pointsman wait stray
    ! lives "$process" || wrong 'the grandchild is alive'
    serve_end
}
scenario 'processes of a killed server are gone before the next server starts' \
    no_stray

# ---- the process of a landing ------------------------------------------------

landing_ended_by() {
    make_base
    cat >base/conf.d/target.conf <<EOF
[target "main"]
check.gate = sh '$here/check.sh'
EOF
    mkfifo check.here
    cat >check.sh <<EOF
[ ! -e '$here/tried' ] || exit 0
: >'$here/tried'
echo \$PPID >'$here/check.here'
exec sleep 100000
EOF
    make_set lander DC src/a a
    pointsman change submit "$made"
    begin pointsman daemon all
    process=$(within cat check.here)
    kill -"$1" "$process"
    is=0
    within pointsman wait lander || is=$?
    same 'exit status of wait, and state' "$is $(state_of lander)" "$2"
    same 'commits' "$(times_landed lander)" "$3"
    kill "$begun"
    expect_exit "$begun" 0
    ends 0 pointsman fsck
}
scenario "TERM to a landing's process terminates the set" \
    landing_ended_by TERM '143 terminated operator' 0
scenario "a landing whose process is killed is tried again" \
    landing_ended_by KILL '0 done ok' 1

# ---- without a cgroup --------------------------------------------------------

warns_without_cgroup() {
    apart=-m
    [ "$(id -u)" -eq 0 ] || apart=-rm
    cat >apart <<'EOF'
while grep -q ' - cgroup2 ' /proc/self/mountinfo; do
    umount -l "$(sed -n 's/^[^ ]* [^ ]* [^ ]* [^ ]* \([^ ]*\) .* - cgroup2 .*/\1/p' \
        /proc/self/mountinfo | head -n 1)" || exit 1
done
exec "$@"
EOF
    unshare "$apart" sh apart true 2>unshared ||
        skip 'cgroup2 cannot be unmounted here (unshare -m, umount)'
    make_base
    begin unshare "$apart" sh apart pointsman serve --listen off 2>log
    within sh -c 'until [ -S base/ctrl/sock ]; do :; done'
    within pointsman run -- true
    kill "$begun"
    wait "$begun" || :
    says 'setsid may outlive its task (no cgroup:' log
    unshare "$apart" sh apart pointsman --quiet daemon all --until-idle 2>log
    same 'errors of a quiet daemon' "$(cat log)" ''
    # `run` does not repeat the warning for each command.
    unshare "$apart" sh apart pointsman run -- true 2>log
    same 'errors of run' "$(cat log)" ''
}
scenario 'without a cgroup, a server warns which processes may survive' \
    warns_without_cgroup

finish
