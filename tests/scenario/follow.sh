#!/bin/sh
# follow.sh PROGRAM: `run`, `wait`, `logs -f` and `events -f` while servers stop
# and start again, and signals to `run` with and without a server.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"

# watch_job ID: starts `logs -f`, `wait` and `events -f`
watch_job() {
    begin pointsman logs -f --stream out "$1" >logs.said 2>logs.notes
    logs=$begun
    begin pointsman wait "$1" >wait.said 2>wait.notes
    waits=$begun
    begin pointsman events -f --json >events.said 2>events.notes
    events=$begun
    within sh -c "until grep -q begun logs.said; do :; done"
}

server_is_replaced() {
    make_base
    mkfifo here.1 here.2 gate.2
    serve_begin
    begin pointsman run --id job -- sh -c 'printf "begun "
        echo >here.$POINTSMAN_ATTEMPT
        read -r line <gate.$POINTSMAN_ATTEMPT || exec sleep 100000
        echo "attempt $POINTSMAN_ATTEMPT"; exit 7' >run.said 2>run.notes
    run=$begun
    within cat here.1
    watch_job job
    within sh -c 'until grep -q begun run.said; do :; done'
    pointsman submit --id before --hold -- true
    within sh -c 'until grep -q before events.said; do :; done'
    kill -KILL "$server"
    expect_exit "$server" 137
    within sh -c 'until grep -q "waiting for a server" run.notes logs.notes; do :; done'
    serve_begin
    within cat here.2
    echo go >gate.2
    expect_exit "$run" 7
    expect_exit "$logs" 0
    expect_exit "$waits" 7
    within sh -c 'until grep -q "exit-7" events.said; do :; done'
    kill "$events"
    printf 'begun begun attempt 2\n' | cmp - run.said
    printf 'begun begun attempt 2\n' | cmp - logs.said
    pointsman events --json | sed -n '/"id":"before"/,$p' >all
    sed -n '/"id":"before"/,$p' events.said | cmp - all
    serve_end
}
scenario 'whoever follows goes on with the server that comes next' \
    server_is_replaced

# The registry is read if no server comes.
no_server_comes() {
    make_base
    serve_begin
    pointsman submit --id job --hold -- sh -c 'echo ran; exit 7'
    begin pointsman wait job >wait.said 2>wait.notes
    waits=$begun
    begin pointsman logs -f job >logs.said 2>logs.notes
    logs=$begun
    within sh -c 'for pid; do until ls -l /proc/$pid/fd | grep -q socket
        do :; done; done' - "$waits" "$logs"
    pointsman status >answer
    pointsman status >answer
    serve_end
    within sh -c 'until grep -q "waiting for a server" wait.notes; do :; done'
    pointsman release job
    pointsman daemon all --until-idle
    expect_exit "$waits" 7
    expect_exit "$logs" 0
    same 'output' "$(cat logs.said)" ran
}
scenario 'without a server that comes back, the registry answers' \
    no_server_comes

# ---- signals to `run` --------------------------------------------------------

# signalled NAME CODE: `run` ends with CODE after the signal, and what is
# recorded is in `recorded`
signalled() {
    mkfifo "here.$1"
    begin env --default-signal=HUP,INT pointsman run --id "by$1" -- \
        sh -c "echo >here.$1; exec sleep 100000" >said 2>&1
    within cat "here.$1"
    kill -"$1" "$begun"
    expect_exit "$begun" "$2"
    pointsman history "by$1" |
        sed "s/^[^ ]* [^ ]* //; s/ (CPU .*)$//" >>recorded
    rm "here.$1"
}

signals_are_recorded_alike() {
    make_base
    for name in INT TERM HUP; do
        case $name in
        INT) signalled INT 130 ;;
        *) signalled $name 143 ;;
        esac
    done
    mv recorded without
    rm -rf base project.git
    make_base
    serve_begin
    for name in INT TERM HUP; do
        case $name in
        INT) signalled INT 130 ;;
        *) signalled $name 143 ;;
        esac
    done
    serve_end
    says 'cancel asked' recorded
    cmp without recorded
}
scenario 'INT, TERM and HUP end run in the same way with and without a server' \
    signals_are_recorded_alike

# The shell that runs a loop sees that it was interrupted.
loop_ends() {
    make_base
    serve_begin
    mkfifo here.fifo
    cat >loop.sh <<'EOF2'
for i in 1 2 3; do
    pointsman run -- sh -c 'echo >here.fifo; exec sleep 100000'
    echo turn >>turns
done
EOF2
    python3 - <<'EOF2'
import os, pty, signal, sys
pid, fd = pty.fork()
if pid == 0:
    os.execvp("bash", ["bash", "loop.sh"])
open("here.fifo").read()
os.write(fd, b"\x03")
try:
    while os.read(fd, 4096):
        pass
except OSError:
    pass
sys.exit(0 if os.waitpid(pid, 0)[1] & 127 == signal.SIGINT else 1)
EOF2
    [ ! -e turns ] || wrong 'the loop went on'
    serve_end
}
scenario 'Ctrl-C ends a loop of the shell with a server too' loop_ends

hangs_up() {
    make_base
    for served in no yes; do
        [ $served = no ] || serve_begin
        mkfifo here.$served
        python3 - $served <<'EOF2'
import os, pty, signal, sys
served = sys.argv[1]
pid, fd = pty.fork()
if pid == 0:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup may run the tests
    os.execvp("pointsman", ["pointsman", "run", "--id", "hung" + served, "--",
              "sh", "-c", f"echo >here.{served}; exec sleep 100000"])
open("here." + served).read()
os.close(fd)
os.waitpid(pid, 0)
EOF2
        same "state of hung$served" \
            "$(pointsman status --json hung$served | jq -r .state)" terminated
        pointsman history hung$served >recorded
        says interrupted recorded
    done
    serve_end
}
scenario 'a terminal that hangs up cancels the job, with and without a server' \
    hangs_up

reader_leaves() {
    make_base
    for served in no yes; do
        [ $served = no ] || serve_begin
        bash -c 'pointsman run -- yes | head -n 1; exit ${PIPESTATUS[0]}' \
            >said || is=$?
        same 'exit status of run, and output' "$is $(cat said)" '141 y'
    done
    serve_end
}
scenario 'run ends with 141 when the reader of its output leaves' reader_leaves

# cancels_recorded COUNT
cancels_recorded() {
    within sh -c "until [ \"\$(pointsman history job |
        grep -c ' job cancel ')\" = $1 ]; do :; done"
}

server_is_gone() {
    make_base
    serve_begin
    mkfifo here.fifo
    begin env --default-signal=INT pointsman run --id job -- \
        sh -c 'echo >here.fifo; exec sleep 100000' 2>notes
    run=$begun
    within cat here.fifo
    kill -KILL "$server"
    expect_exit "$server" 137
    within sh -c 'until grep -q "waiting for a server" notes; do :; done'
    within sh -c 'until grep -q "goes on when" notes; do :; done'
    says 'job goes on when a server runs (pointsman serve); Ctrl-C cancels it' \
        notes
    serve_begin
    await '"reason":"recovered"'
    within cat here.fifo # the job is executing again
    [ "$1" = ends ] || supervisor=$(pgrep -P "$server" -x pointsman-guard)
    [ "$1" = ends ] || kill -STOP "$supervisor"
    kill -KILL "$server"
    expect_exit "$server" 137
    kill -INT "$run"
    cancels_recorded 1
    kill -INT "$run"
    # A supervisor that outlives its server may still end the job.
    [ "$1" = ends ] || cancels_recorded 2
    [ "$1" = ends ] || kill -KILL "$supervisor"
    expect_exit "$run" 130
    same 'times it was said' "$(grep -c 'goes on when' notes)" 1
    serve_begin
    ends 143 within pointsman wait job
    serve_end
}
scenario 'Ctrl-C cancels the job of a server that is gone' server_is_gone ends
scenario 'the same if the supervisor outlives the server' server_is_gone stays

# ---- what a `run` without a server hosts -------------------------------------

hosts_its_own() {
    make_base 'concurrency = 4'
    pointsman submit --id foreign -- sh -c 'echo foreign >>ran'
    pointsman submit --id needed -- sh -c 'echo needed >>ran'
    pointsman submit --id between --after needed -- sh -c 'echo between >>ran'
    pointsman submit --id earlier --touches key -- sh -c 'echo earlier >>ran'
    ends 0 within pointsman run --after between --touches key -- \
        sh -c 'echo own >>ran'
    for _ in 1 2 3; do
        ends 0 within pointsman run -- true
    done
    same 'jobs that ran' "$(sort ran | tr '\n' ' ')" 'between earlier needed own '
    same 'first and last' "$(tail -n 1 ran)" own
    same 'events of foreign' "$(pointsman history foreign | wc -l)" 1
    ends 0 within pointsman daemon all --until-idle
    says foreign ran
}
scenario 'a run without a server starts its own job and what that waits for' \
    hosts_its_own

hosts_no_namesake() {
    make_base
    pointsman submit --id taken -- sh -c 'echo foreign >>ran'
    for _ in 1 2 3; do
        ends 100 within pointsman run --id taken -- sh -c 'echo own >>ran'
    done
    same 'events of the other job' "$(pointsman history taken | wc -l)" 1
    [ ! -e ran ]
}
scenario 'a run whose id another job has starts neither' hosts_no_namesake

hosts_among_many() {
    make_base 'concurrency = 4'
    for _ in $(seq 300); do
        echo '{"command":["touch","ran"]}'
    done | pointsman submit --batch >ids
    same 'submitted' "$(wc -l <ids)" 300
    ends 0 within pointsman run -- sh -c 'echo own >>mine'
    says own mine
    same 'jobs that ran' "$(find . -maxdepth 1 -name ran)" ''
}
scenario 'a run without a server finds its own job behind hundreds of others' \
    hosts_among_many

hosts_what_comes_later() {
    make_base 'concurrency = 4'
    begin pointsman run --id last --after middle -- echo last
    last=$begun
    within sh -c 'until pointsman status last; do :; done' >/dev/null 2>&1
    ends 99 pointsman serve
    says "process $last is a \`run\` that started without a server" err
    says "kill -INT $last" err
    pointsman submit --id foreign -- sh -c 'echo foreign >>ran'
    pointsman submit --id middle --after first -- sh -c 'echo middle >>ran'
    pointsman submit --id first -- sh -c 'echo first >>ran'
    expect_exit "$last" 0
    same 'jobs that ran' "$(tr '\n' ' ' <ran)" 'first middle '
    same 'state of foreign' "$(pointsman status --json foreign | jq -r .state)" \
        pending
}
scenario 'a run without a server starts what it waits for, also submitted later' \
    hosts_what_comes_later

hosts_others_that_wait() {
    make_base 'concurrency = 4'
    mkfifo here.1 gate.1 here.2 gate.2
    begin pointsman run --id first -- sh -c 'echo >here.1; read -r l <gate.1'
    first=$begun
    within cat here.1
    begin pointsman run --id second -- sh -c 'echo >here.2; read -r l <gate.2'
    second=$begun
    within cat here.2
    begin pointsman run --id third --after second -- true
    third=$begun
    within sh -c 'until pointsman status third; do :; done' >/dev/null 2>&1
    kill -KILL "$first"
    expect_exit "$first" 137
    within cat here.2
    echo go >gate.2
    expect_exit "$second" 0
    expect_exit "$third" 0
    same 'state of first' "$(pointsman status --json first | jq -r .state)" \
        pending
}
scenario 'a hosting run starts the jobs of others that wait, also of the next host' \
    hosts_others_that_wait

# Whoever takes over hosts what it waits for: the very job of the one before, and
# jobs that only an order keeps from starting.
takes_over() {
    make_base 'concurrency = 1'
    mkfifo here gate
    for _ in 1 2; do
        begin pointsman run --id same -- sh -c 'echo >here; read -r l <gate'
        [ -n "${first:-}" ] || { first=$begun && within cat here; }
    done
    second=$begun
    pointsman submit --id between -- sh -c 'echo between >>ran'
    begin pointsman run --id last --after between -- sh -c 'echo last >>ran'
    last=$begun
    within sh -c 'until [ "$(pointsman list --json | jq -s length)" = 3 ]; do :; done'
    within sh -c 'until pointsman history same | grep -q wanted; do :; done'
    kill -KILL "$first"
    expect_exit "$first" 137
    within cat here
    echo go >gate
    expect_exit "$second" 0
    expect_exit "$last" 0
    same 'jobs that ran' "$(tr '\n' ' ' <ran)" 'between last '
}
scenario 'a run that takes over starts its own job and what that waits for' \
    takes_over

hosts_what_waited() {
    make_base 'concurrency = 4'
    for id in one two; do
        pointsman submit --id $id -- echo $id
    done
    pointsman submit --id three --after two -- echo three
    # Nobody hosts yet; then somebody else does.
    ends 0 within pointsman run --id one -- echo one
    same output "$(cat out)" one
    mkfifo here gate
    begin pointsman run -- sh -c 'echo >here; read -r l <gate'
    hosting=$begun
    within cat here
    ends 0 within pointsman run --id three --after two -- echo three
    same output "$(cat out)" three
    echo go >gate
    expect_exit "$hosting" 0
    same 'events of two' \
        "$(pointsman history --json two | jq -r .kind | tr '\n' ' ')" \
        'move move move '
    pointsman history --json three | jq -r .kind >kinds
    says wanted kinds
}
scenario 'a job that was submitted before is hosted once a run waits for it' \
    hosts_what_waited

finish
