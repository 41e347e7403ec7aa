#!/bin/sh
# upgrade.sh PROGRAM FAULTY: another program goes on in place of a running
# server, or cannot, and no task ends.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"

falls_back=$(CDPATH='' cd "$(dirname "$2")" && pwd)/falls_back

# install COMMAND...: what the server is upgraded to: a script that calls the
# program, with $real in the place of the program
install() {
    printf '#!/bin/sh\nreal=%s\n' "$program" >"$top/bin/next"
    cat >>"$top/bin/next"
    chmod +x "$top/bin/next"
    mv "$top/bin/next" "$here/served"
}

# begin_server: a server with its own copy of the program, here/served
begin_server() {
    cp "$program" "$here/served"
    : >serve.log
    begin "$here/served" serve 2>>serve.log
    server=$begun
    within sh -c 'until grep -q " serving " serve.log; do :; done'
}

# gated ID: a command that reports its start and ends when its gate is opened
gated() {
    mkfifo "$here/$1.here" "$here/$1.gate"
    cat >"$here/$1.sh" <<END
echo first
echo ran >>'$here/$1.ran'
echo here >'$here/$1.here'
read -r word <'$here/$1.gate'
echo last
END
    pointsman submit --id "$1" -- sh "$here/$1.sh"
    within cat "$here/$1.here"
}

# unharmed ID: it went on in its first attempt, with all its output
unharmed() {
    echo go >"$here/$1.gate"
    ends 0 within pointsman wait "$1"
    same "attempt of $1" "$(pointsman status --json "$1" | jq .attempt)" 1
    same "starts of $1" "$(wc -l <"$here/$1.ran")" 1
    same "output of $1" "$(pointsman logs "$1" | paste -sd ' ')" 'first last'
    ! pointsman history "$1" | grep -q recovered || wrong "$1 was recovered"
}

stop() {
    kill -TERM "$server"
    expect_exit "$server" 0
    ends 0 pointsman fsck
}

# ---- it works ----------------------------------------------------------------

goes_on() {
    make_base 'concurrency = 20'
    begin_server
    gated one
    seq 5 >lines
    pointsman submit --id many --array lines -- \
        sh -c "echo {} >>'$here/many.ran'; echo {}; exec sleep 100000"
    within sh -c 'until [ "$(wc -l <many.ran)" = 5 ]; do :; done'
    guard=$(pgrep -P "$server")
    ends 0 within pointsman upgrade
    says "upgraded to '$here/served'" err
    same supervisor "$(pgrep -P "$server")" "$guard"
    says '6 attempts continue' serve.log
    gated two
    ends 0 within pointsman upgrade
    unharmed one
    unharmed two
    pointsman cancel --kill many
    ends 137 within pointsman wait many
    same 'starts of many' "$(wc -l <many.ran)" 5
    same 'attempts of many' \
        "$(pointsman logs --attempts --json many | jq .attempt | sort -u)" 1
    stop
}
scenario 'commands and arrays go on, and the process and its supervisor stay' \
    goes_on

two_hundred() {
    make_base 'concurrency = 250'
    begin_server
    for i in $(seq 200); do
        printf '{"id":"t%s","command":["sh","-c","echo %s >>%s/t.ran; : <%s/t.gate"]}\n' \
            "$i" "$i" "$here" "$here"
    done >batch
    mkfifo t.gate
    ends 0 pointsman submit --batch <batch
    within sh -c 'until [ "$(wc -l <t.ran)" = 200 ]; do :; done'
    ends 0 within pointsman upgrade
    says '200 attempts continue' serve.log
    : >t.gate
    # shellcheck disable=SC2046
    ends 0 within pointsman wait $(seq -f t%.0f 200)
    same 'starts' "$(sort -u t.ran | wc -l) $(wc -l <t.ran)" '200 200'
    same 'recovered' "$(pointsman events --json | grep -c recovered)" 0
    stop
}
scenario '200 running tasks go on' two_hundred

by_signal() {
    make_base
    begin_server
    gated one
    kill -USR2 "$server"
    within sh -c 'until grep -q "1 attempt continues" serve.log; do :; done'
    unharmed one
    stop
}
scenario 'USR2 upgrades too' by_signal

then_lost() {
    make_base
    begin_server
    gated one
    ends 0 within pointsman upgrade
    pkill -KILL -P "$server" -x pointsman-guard
    within cat one.here
    echo go >one.gate
    ends 0 within pointsman wait one
    same 'attempt of one' "$(pointsman status --json one | jq .attempt)" 2
    stop
}
scenario 'a supervisor that dies after an upgrade is replaced' then_lost

# Nobody who asks meanwhile is turned away.
callers() {
    make_base
    begin_server
    cat >ask.sh <<'END'
i=0
while [ ! -e enough ]; do
    i=$((i + 1))
    pointsman submit --id "c$i" -- true >>asked 2>>refused || echo "c$i" >>failed
done
END
    begin sh ask.sh
    asking=$begun
    for i in 1 2 3 4 5; do
        ends 0 within pointsman upgrade
    done
    : >enough
    expect_exit "$asking" 0
    [ ! -e failed ] || {
        cat refused
        wrong "refused: $(cat failed)"
    }
    # shellcheck disable=SC2046
    ends 0 within pointsman wait $(cat asked)
    stop
}
scenario 'callers wait for a moment' callers

# A request that has been read in part is answered by the old program.
half_sent() {
    make_base
    begin_server
    cat >half.py <<'END'
import socket, sys
body = b'{"id":"half","command":["true"]}'
s = socket.socket(socket.AF_UNIX)
s.connect("base/ctrl/sock")
s.sendall(b"POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
          % len(body) + body[:9])
print("sent", flush=True)
sys.stdin.readline()
s.sendall(body[9:])
print(s.recv(4096).split(b"\r\n")[0].decode(), flush=True)
END
    mkfifo half.in half.out
    begin sh -c 'exec python3 half.py <half.in >half.out'
    asking=$begun
    exec 3>half.in 4<half.out
    read -r line <&4
    begin pointsman upgrade
    upgrading=$begun
    within sh -c 'until grep -q "connections wait" serve.log; do :; done'
    echo go >&3
    read -r line <&4
    same answer "$line" 'HTTP/1.1 201 Created'
    expect_exit "$asking" 0
    expect_exit "$upgrading" 0
    ends 0 within pointsman wait half
    stop
}
scenario 'a request that was read in part is answered' half_sent

# ---- it waits, or is refused -------------------------------------------------

checked_set() {
    cat >base/conf.d/target.conf <<END
[target "main"]
check.gate = sh '$here/check.sh'
END
    mkfifo check.here check.gate
    cat >check.sh <<END
echo here >'$here/check.here'
read -r word <'$here/check.gate'
END
    begin_server
    make_set set DC src/a a
    pointsman change submit "$made"
    within cat check.here
}

sets='change sets that are landed, checked or rolled back'

# begin_upgrade: one that waits for the check of the set
begin_upgrade() {
    begin pointsman upgrade 2>upgrade.log
    upgrading=$begun
    within sh -c 'until grep -q "waits for" upgrade.log; do :; done'
    says "waits for $sets: set" upgrade.log
    ends 0 pointsman status
    says "upgrade     waits for $sets: set" out
}

waits_for_checks() {
    make_base
    checked_set
    begin_upgrade
    make_set other DC src/b b
    pointsman change submit "$made"
    # Commands start meanwhile, sets do not.
    ends 0 within pointsman run -- true
    within sh -c 'until pointsman why other | grep -q "to be upgraded"; do :; done'
    echo go >check.gate
    expect_exit "$upgrading" 0
    says "the upgrade waits for $sets: set; Ctrl-C gives it up" upgrade.log
    ends 0 within pointsman wait set
    same commits "$(times_landed set)" 1
    within cat check.here
    echo go >check.gate
    ends 0 within pointsman wait other
    same 'what status shows' "$(pointsman status | grep -c upgrade)" 0
    stop
}
scenario 'an upgrade waits for checks, and commands go on' waits_for_checks

# A target of a command has no merge train, but lanes.
given_up() {
    make_base
    printf '[target "made"]\ncommand = sh -c "echo made >>%s/made"\n' "$here" \
        >base/conf.d/made.conf
    checked_set
    begin_upgrade
    set_target=made make_set made DC m m
    pointsman change submit "$made"
    within sh -c 'until pointsman why made | grep -q "to be upgraded"; do :; done'
    [ ! -e made ] || wrong 'a set of a command was started'
    kill -INT "$upgrading"
    expect_exit "$upgrading" 100
    says 'the server goes on as before: it was given up' upgrade.log
    echo go >check.gate
    ends 0 within pointsman wait set
    make_set other DC src/b b
    pointsman change submit "$made"
    within cat check.here
    echo go >check.gate
    ends 0 within pointsman wait other
    ends 0 within pointsman wait made
    same 'starts for made' "$(wc -l <made)" 1
    ends 0 within pointsman upgrade
    stop
}
scenario 'an upgrade that waits can be given up' given_up
scenario 'the same on a merge train' on_train given_up

gives_up() {
    make_base 'drain = 0'
    checked_set
    ends 100 within pointsman upgrade
    says "after 0 s (queue.drain) it still waited for $sets: set" err
    echo go >check.gate
    ends 0 within pointsman wait set
    ends 0 within pointsman run -- true
    stop
}
scenario 'if checks take too long, everything goes on as before' gives_up
scenario 'the same on a merge train' on_train gives_up

# refused TEXT: the program that is installed cannot go on
refused() {
    make_base
    begin_server
    gated one
    rm served
    [ -z "$2" ] || "$2"
    ends 100 within pointsman upgrade
    says 'the server goes on as before' err
    says "$1" err
    unharmed one
    ends 0 within pointsman run -- echo on
    same output "$(cat out)" on
    rm -f served
    cp "$program" served
    ends 0 within pointsman upgrade
    stop
}

no_program() {
    printf 'no program\n' >served
}
crashes() {
    install <<'END'
kill -SEGV $$
END
}
says_why() {
    install <<'END'
echo 'pointsman: libfoo is missing' >&2
exit 127
END
}
another_program() {
    cp /bin/true served
}
other_protocol() {
    install <<'END'
exec "$real" upgrade-probe "$2" "$3" --state 1 --guard 1000
END
}
other_state() {
    install <<'END'
exec "$real" upgrade-probe "$2" "$3" --state 2 --guard 2
END
}
# The same as a program that knows only older registries.
older_schema() {
    install <<END
rm -rf '$here/older' && cp -r '$here/base' '$here/older'
python3 - <<'PY'
import sqlite3
db = sqlite3.connect('$here/older/ctrl/registry.db')
db.execute('INSERT INTO migration (version, at) VALUES (1000, 0)')
db.commit()
PY
exec "\$real" upgrade-probe --base '$here/older' --state 1 --guard 2
END
}
bad_configuration() {
    install <<END
rm -rf '$here/other' && cp -r '$here/base' '$here/other'
printf '[queue]\nconcurency = 2\n' >'$here/other/conf.d/z.conf'
exec "\$real" upgrade-probe --base '$here/other' --state 1 --guard 2
END
}
# The probe is fine, but then there is nothing to execute.
vanishes() {
    install <<END
rm '$here/served'
exec "\$real" "\$@"
END
}
fails_later() {
    cp "$falls_back" served
}

scenario 'no program there' refused 'no such program' ''
scenario 'not a program' refused "served'" no_program
scenario 'another program' refused 'is another program' another_program
scenario 'a program that crashes' refused 'killed by signal 11' crashes
scenario 'a program that cannot start' refused 'libfoo is missing' says_why
scenario 'a program with another protocol of the supervisor' \
    refused 'the supervisor speaks protocol' other_protocol
scenario 'a program that takes over something else' \
    refused 'the server hands over version' other_state
scenario 'a program with an older schema' \
    refused 'does not know: use a newer' older_schema
scenario 'a program that refuses the configuration' refused concurency \
    bad_configuration
scenario 'a program that vanishes after the probe' \
    refused 'cannot execute' vanishes
scenario 'a program that cannot open the base after it was executed' \
    refused '/nowhere' fails_later
export FALLS_BACK=listen
scenario 'a program that cannot listen after it was executed' \
    refused "cannot listen on 'nonsense'" fails_later
unset FALLS_BACK

no_state() {
    make_base
    ends 65 env POINTSMAN_UPGRADE=0,0 pointsman serve
    says 'is no state of a server' err
}
scenario 'a server that inherits nonsense says so' no_state

finish
