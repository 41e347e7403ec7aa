#!/bin/sh
# hostile.sh PROGRAM: invalid and hostile input. The program refuses each input
# with one readable line, writes nothing outside the base, and continues to run.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"
sets_from=$(CDPATH='' cd "$(dirname "$0")/../support" && pwd)/hostile_sets.py

# readable FILE: the file is one line without control characters
readable() {
    same "lines in $1" "$(wc -l <"$1")" 1
    iconv -f utf-8 -t utf-8 "$1" >/dev/null || wrong "$1 is not UTF-8"
    ! LC_ALL=C tr -d '\n' <"$1" | LC_ALL=C grep -aq '[[:cntrl:]]' ||
        wrong "control characters: $(cat "$1")"
}

# refused CODE COMMAND...: the command ends with CODE, prints one error line,
# and prints nothing on standard output
refused() {
    ends "$@"
    readable err
    says 'pointsman: ' err
    [ ! -s out ] || wrong "unexpected standard output: $(cat out)"
}

# lives_on: the server of this scenario still works
lives_on() {
    lives_on_at=$((${lives_on_at:-0} + 1))
    make_set "after-$lives_on_at" DC "after/$lives_on_at" text
    pointsman change submit "$made"
    ends 0 within pointsman wait "after-$lives_on_at"
}

# ---- change sets -------------------------------------------------------------

# Lists the files around the base, except those that this script writes.
around() {
    find . /escaped* ../escaped* ../../escaped* -path ./base -prune \
        -o -path ./project.git/objects -prune \
        -o -path ./project.git/logs -prune -o -print 2>/dev/null | sort
}

hostile_begin() {
    make_base
    mkdir hostile
    python3 "$sets_from" hostile
    serve_begin
    : >around.before
    : >around.after
    : >out
    : >err
    around >around.before
}

hostile_end() {
    around >around.after
    diff around.before around.after
    serve_end
    ends 0 pointsman fsck
    git -C project.git fsck --strict --no-progress --no-dangling
    same 'branches' "$(git -C project.git for-each-ref | wc -l)" 1
}

by_submit() {
    hostile_begin
    fine=
    for file in hostile/*; do
        name=$(basename "$file")
        case $name in
        fine-*)
            ends 0 pointsman change submit "$file"
            fine="$fine ${name%%_*}"
            ;;
        *) refused 100 pointsman change submit "$file" ;;
        esac
    done
    ends 0 within pointsman wait $fine
    same 'known jobs' "$(pointsman list --all --json | wc -l)" \
        "$(echo $fine | wc -w)"
    hostile_end
}
scenario 'every hostile set is refused on submission' by_submit

by_files() {
    hostile_begin
    for file in hostile/*; do
        drop_set "$file"
    done
    printf x >base/ctrl/prequeue_fifo
    within sh -c 'while [ -n "$(ls base/prequeue)" ]; do :; done'
    fine=
    for file in hostile/*; do
        name=$(basename "$file")
        case $name in
        fine-*) fine="$fine ${name%%_*}" ;;
        *)
            [ -f "base/reject/$name" ] || wrong "$name is not in reject/"
            readable "base/reject/$name.why"
            [ ! -e "base/data/$name" ] || wrong "$name is still in data/"
            ;;
        esac
    done
    ends 0 within pointsman wait $fine
    same 'mode of set-id files' \
        "$(git -C project.git ls-tree main fine-setuid | cut -c 1-6)" 100755
    hostile_end
}
scenario 'every hostile set in the drop directories goes to reject/ with a reason' \
    by_files

names() {
    make_base
    make_set good DC a text
    serve_begin
    while read -r name; do
        cp "$made" "base/data/$name"
        : >"base/prequeue/$name"
    done <<'EOF'
noname
good
.good_@40000000600000000000000a_1_host_DC
-good_@40000000600000000000000a_1_host_DC
go od_@40000000600000000000000a_1_host_DC
good_@40000000600000000000000A_1_host_DC
good_@400000006000000000000_1_host_DC
good_@40000000600000000000000a_x_host_DC
good_@40000000600000000000000a_1__DC
good_@40000000600000000000000a_1_host_XX
good_@40000000600000000000000a_1_host_DC.12
good_@40000000600000000000000a_1_host_DC_
good_@40000000600000000000000a_1_host_DC_$(id)
good_@40000000600000000000000a_1_host
EOF
    ln -s /etc/passwd base/prequeue/link_@40000000600000000000000a_1_host_DC
    mkdir base/prequeue/dir_@40000000600000000000000a_1_host_DC
    mkfifo base/prequeue/fifo_@40000000600000000000000a_1_host_DC
    printf x >base/ctrl/prequeue_fifo
    within sh -c 'while ls -A base/prequeue | grep -qv "^\."; do :; done'
    for why in base/reject/*.why; do
        readable "$why"
    done
    [ "$(ls base/reject/*.why | wc -l)" -ge 15 ] ||
        wrong "reject/ has only: $(ls base/reject)"
    lives_on
    while read -r id; do
        refused 64 pointsman change pack --target main --id "$id" -o x "$here" ||
            refused 65 pointsman change pack --target main --id "$id" -o x "$here"
    done <<'EOF'
a b
../x
_
-x
EOF
    serve_end
}
scenario 'entries with invalid names go to reject/, whatever their type' names

same_id() {
    make_base
    serve_begin
    make_set once DC a text
    ends 0 pointsman change submit "$made"
    ends 0 within pointsman wait once
    # The same set again gets the same answer; another set with this id is
    # refused.
    ends 0 pointsman change submit "$made"
    same 'answer' "$(cat out)" once
    drop_set "$made"
    make_set once DC b other
    refused 100 pointsman change submit "$made"
    drop_set "$made"
    printf x >base/ctrl/prequeue_fifo
    within sh -c 'while [ -n "$(ls base/prequeue)" ]; do :; done'
    readable "base/reject/$(basename "$made").why"
    same 'commits of once' "$(times_landed once)" 1
    # An id that a command uses.
    pointsman submit --id taken -- true
    make_set taken DC c text
    refused 100 pointsman change submit "$made"
    # A ring of dependencies.
    make_set ring-a DC ra a '##dependencies' ring-b
    ends 0 pointsman change submit "$made"
    make_set ring-b DC rb b '##dependencies' ring-a
    ends 0 pointsman change submit "$made"
    ends 1 within pointsman wait ring-b
    ends 1 within pointsman wait ring-a
    pointsman why ring-a >>ring.why
    pointsman why ring-b >>ring.why
    says 'dep-cycle' ring.why
    says 'ring-a' ring.why
    lives_on
    serve_end
    ends 0 pointsman fsck
}
scenario 'an id is used once; a ring of dependencies fails and is named' same_id

never_comes() {
    make_base 'wait-for-job = 0' 'wait-for-dep = 0'
    serve_begin
    : >base/prequeue/nodata_@40000000600000000000000a_1_host_DC
    printf x >base/ctrl/prequeue_fifo
    within sh -c 'while [ -n "$(ls base/prequeue)" ]; do :; done'
    readable base/reject/nodata_@40000000600000000000000a_1_host_DC.why
    make_set lonely DC a text '##dependencies' nobody
    ends 0 pointsman change submit "$made"
    ends 1 within pointsman wait lonely
    pointsman why lonely >said
    says 'dep-unknown' said
    says 'nobody' said
    serve_end
}
scenario 'a missing tarball or dependency is not waited for without end' \
    never_comes

# ---- configuration -----------------------------------------------------------

# says_conf TEXT: every command that reads the configuration on standard input
# refuses it with TEXT
says_conf() {
    cat >base/conf.d/wrong.conf
    for verb in 'config check' list 'submit -- true' serve \
        'daemon all --once' 'fsck' doctor; do
        # shellcheck disable=SC2086
        case $verb in
        doctor) pointsman $verb >out 2>err || : ;;
        *) refused 78 pointsman $verb && says "$1" err ;;
        esac
    done
}

configuration() {
    make_base
    printf '[queue]\nconcurency = 4\n' | says_conf \
        "conf.d/wrong.conf:2: unknown key 'concurency', did you mean 'concurrency'?"
    printf '\n\n[qeue]\n' | says_conf \
        "conf.d/wrong.conf:3: unknown section 'qeue', did you mean 'queue'?"
    printf 'a = b\n' | says_conf 'conf.d/wrong.conf:1: there must be a section'
    printf '[queue]\nconcurrency = many\n' | says_conf 'wrong.conf:2: concurrency'
    printf '[queue]\nconcurrency = 0\n' | says_conf 'out of range, 1 to 4096'
    printf '[queue]\ngrace = soon\n' | says_conf 'not a duration'
    printf '[queue]\nconcurrency\n' | says_conf 'wrong.conf:2'
    printf '[queue\n' | says_conf 'wrong.conf:1'
    printf '[target "x"]\nblind = maybe\n' | says_conf 'unchanged|deny|allow'
    printf '[target]\n' | says_conf 'a target needs a name'
    printf '[target "x"]\n' | says_conf "neither 'git' nor 'command'"
    printf '[target "x"]\ncommand = foo "\n' | says_conf 'wrong.conf:2'
    printf '[target "x"]\ngit = y\nbranch = a..b\n' | says_conf 'wrong.conf:3'
    printf '[target "x"]\ngit = y\ncheck. = true\n' | says_conf 'wrong.conf:3'
    printf '\0\1\2\377' | says_conf 'wrong.conf'
    head -c 4000 "$(command -v git)" | says_conf 'wrong.conf'
    head -c 2000000 /dev/zero | tr '\0' a | says_conf 'wrong.conf'
    rm base/conf.d/wrong.conf
    printf '[serve]\nlisten = nonsense\n' >base/conf.d/zz.conf
    refused 78 pointsman serve
    says nonsense err
    rm base/conf.d/zz.conf
    ends 0 pointsman config check
    ends 0 pointsman list
}
scenario 'a configuration error is reported with file, line and a suggestion' \
    configuration

# ---- text inputs -------------------------------------------------------------

junk() {
    python3 -c 'import random, sys
random.seed(int(sys.argv[1]))
sys.stdout.buffer.write(bytes(random.randrange(256)
    for _ in range(int(sys.argv[2]))))' "$@"
}

# No command may be killed by a signal or print more than one error line.
junk_arguments() {
    make_base
    [ "$1" = alone ] || serve_begin
    pointsman submit --id good -- true
    for seed in 1 2 3 4; do
        junk $seed 40 | tr -d '\0\n' >word
        word=$(cat word)
        for verb in status why wait logs history cancel hold release retry \
            depends dependents; do
            ends 66 pointsman $verb "x$word" ||
                ends 64 pointsman $verb "x$word" || wrong "$verb"
            readable err
        done
        pointsman file "$word" >/dev/null 2>err || [ $? -lt 126 ]
        ends 64 pointsman list "state:$word"
        readable err
        ends 64 pointsman list "age>$word"
        readable err
        ends 64 pointsman cancel --match "kind:$word" --yes
        readable err
    done
    for filter in 'state:' 'stat:failed' 'age>' 'age>-1' 'since<x' '-' \
        'kind:nothing' 'class:ZZ' 'state:failed,nothing'; do
        refused 64 pointsman list "$filter"
    done
    for id in '' . .. ../x / 'a b' "$(printf '%0300d' 1)"; do
        refused 66 pointsman status "$id" || refused 64 pointsman status "$id" ||
            wrong "id '$id'"
    done
    refused 65 pointsman submit --id '../x' -- true
    refused 65 pointsman submit --id 'a_b' -- true
    ends 65 pointsman submit --touches '' -- true ||
        refused 64 pointsman submit --touches '' -- true
    ends 0 pointsman list
    [ "$1" = alone ] || serve_end
}
scenario 'binary junk in ids and filters gets an error, with a server' \
    junk_arguments served
scenario 'binary junk in ids and filters gets an error, without a server' \
    junk_arguments alone

batch() {
    make_base
    serve_begin
    {
        echo '{"id":"first","command":["true"]}'
        junk 7 300 | tr -d '\n'
        echo
        echo '{"id":"second","command":["true"]'
        echo '{"id":"second","command":"true"}'
        echo '{"id":"second","comand":["true"]}'
        echo '{"id":"bad id","command":["true"]}'
        echo '{"command":[]}'
        echo '{"command":["\u0000"]}'
        echo '[]'
        echo 'null'
        echo
        echo '{"id":"first","command":["true"]}'
        echo '{"id":"first","command":["false"]}'
        printf '%060000d\n' 0
        echo '{"id":"last","command":["true"],"after":["first"]}'
    } >lines
    ends 65 pointsman submit --batch <lines
    same 'lines of the answer' "$(wc -l <out)" "$(wc -l <lines)"
    same 'answer to line 1' "$(sed -n 1p out)" first
    same 'answer to line 12' "$(sed -n 12p out)" first
    same 'answer to line 15' "$(sed -n 15p out)" last
    same 'errors' "$(grep -c '^error: ' out)" 12
    says "did you mean 'command'" out
    ends 0 within pointsman wait first last
    same 'jobs' "$(pointsman list --all --json | wc -l)" 2
    ends 0 pointsman submit --batch </dev/null
    serve_end
}
scenario 'bad lines of a batch are reported, good lines are accepted' batch

http() {
    make_base
    serve_begin
    cat >ask.py <<'EOF'
import random
import socket
import sys

random.seed(3)
requests = [
    b'GET /api/v1/jobs/%ff%00%2e%2e HTTP/1.1\r\nHost: x\r\n\r\n',
    b'GET /api/v1/jobs?filter=%ff HTTP/1.1\r\nHost: x\r\n\r\n',
    b'GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n',
    b'POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n\xff\xfe\0\0\0\0',
    b'POST /api/v1/changes?name=../../x HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\njunk',
]
# These may stay without an answer, as long as other requests are answered.
junk = [b'GET', b'\0' * 5000, b'\r\n' * 5000, b'BREW /pot HTTP/9.9\r\n\r\n']
junk += [bytes(random.randrange(256) for _ in range(800)) for _ in range(40)]
for bytes_ in requests + junk:
    sock = socket.socket(socket.AF_UNIX)
    sock.connect('base/ctrl/sock')
    try:
        sock.sendall(bytes_)
        if bytes_ in requests:
            answer = sock.recv(65536)
            if b'passwd:' in answer or not answer.startswith(b'HTTP/1.1 4'):
                sys.exit('%r was answered %r' % (bytes_, answer))
    except (BrokenPipeError, ConnectionResetError):
        pass
    sock.close()
EOF
    within python3 ask.py
    lives_on
    same 'jobs' "$(pointsman list --all --json | wc -l)" 1
    serve_end
    ends 0 pointsman fsck
}
scenario 'binary junk on the socket does no harm' http

# ---- the base itself ---------------------------------------------------------

# long_path BYTES: sets $long to a path of BYTES bytes below $here, with blanks
# and quotes
long_path() {
    long="$here/it's a \"base\" of \$HOME"
    while [ ${#long} -lt $(($1 - 101)) ]; do
        long=$long/$(printf '%0100d' 0)
    done
    long=$long/$(printf "%0$(($1 - ${#long} - 1))d" 0)
}

long_paths() {
    make_base
    long_path 480
    pointsman --quiet init --target "main=$here/project.git" "$long"
    printf '[serve]\nlisten = off\n' >"$long/conf.d.new"
    mkdir -p "$long/conf.d" && mv "$long/conf.d.new" "$long/conf.d/serve.conf"
    POINTSMAN_BASE=$long
    serve_begin
    make_set far DC far text
    ends 0 pointsman change submit "$made"
    ends 0 within pointsman wait far
    ends 7 within pointsman run -- sh -c 'exit 7'
    serve_end
    make_set farther DC farther text
    ends 0 pointsman change put "$made"
    ends 0 within pointsman daemon all --until-idle
    same 'commits' "$(landed_order)" 'far farther '
    ends 0 pointsman fsck
    long_path 481
    refused 73 pointsman init "$long"
    says 'at most 480 bytes' err
    same 'files created' "$(ls -A "$long")" ''
}
scenario 'a long path with odd characters works; a path too long is refused' \
    long_paths

parts_missing() {
    make_base
    for dir in queue tmp ctrl log; do
        mv "base/$dir" away
        refused 78 pointsman list
        says "no directory '$dir'" err
        refused 78 pointsman daemon all --once
        ln -s "$here/away" "base/$dir"
        refused 73 pointsman daemon all --once
        rm "base/$dir"
        mv away "base/$dir"
    done
    chmod 777 base/queue
    refused 100 pointsman daemon all --once
    says 'chmod o-w' err
    chmod 700 base/queue
    ends 0 pointsman daemon all --once
    # Files left by a killed daemon, or planted by others.
    echo 1 >base/ctrl/queue.pid
    head -c 100 /dev/urandom >base/ctrl/exec.pid
    rm base/ctrl/*_fifo
    ends 0 pointsman daemon all --once
    for planted in regular link; do
        rm base/ctrl/exec_fifo
        case $planted in
        regular) echo mine >base/ctrl/exec_fifo ;;
        link) ln -s "$here/elsewhere" base/ctrl/exec_fifo ;;
        esac
        refused 73 pointsman daemon exec --once
        ends 0 pointsman submit -- true
    done
    [ ! -e elsewhere ] || wrong 'the daemon wrote through a symbolic link'
}
scenario 'missing, writable or planted parts of a base are refused and named' \
    parts_missing

no_base() {
    refused 78 pointsman list
    says 'pointsman init' err
    refused 78 pointsman --base /nowhere/at/all list
    mkdir file.d
    : >file.d/x
    refused 78 pointsman --base file.d/x list
    refused 78 pointsman --base file.d list
    make_base
    cp -r base damaged
    head -c 40000 /dev/urandom >damaged/ctrl/registry.db
    refused 65 pointsman --base damaged list
    says 'fsck --rebuild' err
    ends 0 pointsman --base damaged fsck --rebuild
    ends 0 pointsman --base damaged fsck
    ends 0 pointsman --base damaged list
}
scenario 'the error for a missing or damaged base says what to do' no_base

# ---- many callers ------------------------------------------------------------

# Forty callers with two descriptors each need more than 64.
many_wait() {
    make_base
    hard=$(ulimit -Hn)
    [ "$hard" = unlimited ] || [ "$hard" -ge 1024 ] ||
        skip 'the hard limit of open files is below 1,024'
    ulimit -Sn 64
    serve_begin
    pointsman submit --id held --hold -- true
    waiting=
    for i in $(seq 40); do
        pointsman wait held &
        started="$started $!"
        waiting="$waiting $!"
    done
    within sh -c "until [ \$(ls -l /proc/$server/fd | grep -c socket:) -gt 40 ]
        do :; done"
    within pointsman cancel held
    for one in $waiting; do
        expect_exit "$one" 143
    done
}
scenario 'waiting callers do not block other callers' many_wait

# Without a server, `wait` reads the registry.
base_removed() {
    make_base
    pointsman submit --id held --hold -- true
    within pointsman wait held 2>err &
    is=0
    within sh -c "until ls -l /proc/*/fd 2>/dev/null |
        grep -q '$here/base/ctrl/registry.db'; do :; done"
    mv base gone
    rm -rf gone
    wait "$!" || is=$?
    same 'exit status of wait' "$is" 73
    says "base '$here/base' was removed" err
}
scenario 'wait fails when its base is removed' base_removed

finish
