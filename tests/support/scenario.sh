# Scenario tests of the real program, in POSIX shell with TAP output. A script
# sources this with the path of the program in $1, defines functions, passes
# each to `scenario`, and ends with `finish`. Scenarios never sleep: they wait
# with `pointsman wait`, on FIFOs, or for processes to end. `within` limits the
# time of each wait.

program=$(CDPATH='' cd "$(dirname "$1")" && pwd)/$(basename "$1")
export LC_ALL=C TZ=UTC
export GIT_AUTHOR_NAME='An Author' GIT_AUTHOR_EMAIL=author@localhost
export GIT_COMMITTER_NAME='An Author' GIT_COMMITTER_EMAIL=author@localhost
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
unset POINTSMAN_BASE GIT_DIR GIT_WORK_TREE CDPATH
umask 022 # lists of keys that others may write to are refused
exec </dev/null

top=$(mktemp -d "${TMPDIR:-/tmp}/pointsman-scenario.XXXXXX") || exit 1
mkdir "$top/bin" && ln -s "$program" "$top/bin/pointsman" || exit 1
PATH=$top/bin:$PATH # each scenario has its own base, in $POINTSMAN_BASE
scenarios=0
failed=0
started= # processes that are killed when the script ends

# shellcheck disable=SC2317
clear_away() {
    for pid in $started; do
        kill -KILL "$pid" 2>/dev/null || :
    done
    for pid in $started; do
        wait "$pid" 2>/dev/null || :
    done
    rm -rf "$top" 2>/dev/null || rm -rf "$top"
}
trap clear_away EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# ---- running and reporting ---------------------------------------------------

# scenario 'a sentence' FUNCTION [ARGUMENT]...: runs the function in a subshell
# and in a directory of its own, $here. The first command that fails ends it. If
# SCENARIO_ONLY is set, only scenarios whose sentence contains it are run.
scenario() {
    sentence=$1
    shift
    case $sentence in
    *"${SCENARIO_ONLY:-}"*) ;;
    *) return ;;
    esac
    scenarios=$((scenarios + 1))
    here=$top/$scenarios
    mkdir "$here"
    (
        started=
        trap 'show_state $?; clear_started' EXIT
        cd "$here" || exit 1
        export POINTSMAN_BASE="$here/base"
        set -eu
        "$@"
    ) >"$top/said.$scenarios" 2>&1
    result=$?
    [ ! -e "$here/remarks" ] || sed "s/^/# $sentence: /" "$here/remarks"
    if [ $result -eq 0 ]; then
        echo "ok $scenarios - $sentence"
    elif [ $result -eq 77 ] && [ -e "$here/skip" ]; then
        echo "ok $scenarios - $sentence # SKIP $(cat "$here/skip")"
    else
        failed=$((failed + 1))
        echo "not ok $scenarios - $sentence"
        echo "# exit status $result; the last lines of its output:"
        tail -n ${SCENARIO_LINES:-120} "$top/said.$scenarios" | sed 's/^/#   /'
        [ -z "${SCENARIO_KEEP:-}" ] || cp -r "$top" "$SCENARIO_KEEP"
    fi
    rm -rf "$here"
}

# show_state STATUS: what the base and its processes are doing if the scenario
# failed, for faults that do not come back when one looks for them
show_state() {
    [ "$1" -ne 0 ] && [ "$1" -ne 77 ] && [ -d "$here/base/ctrl" ] || return 0
    echo '--- history:'
    timeout -k 1 20 pointsman history 2>&1 | tail -n 40 || :
    echo '--- processes:'
    for process in /proc/[0-9]*; do
        case $(readlink "$process/cwd") in
        "$here"*) ps -o pid=,ppid=,stat=,etimes=,wchan:20=,args= \
            -p "${process#/proc/}" | cut -c1-200 ;;
        esac
    done
}

clear_started() {
    for pid in $started; do
        kill -KILL "$pid" 2>/dev/null || :
        wait "$pid" 2>/dev/null || :
    done
}

skip() {
    echo "$*" >"$here/skip"
    exit 77
}

# remark TEXT: prints TEXT with the result, even if the scenario passes
remark() {
    echo "$*" >>"$here/remarks"
}

finish() {
    [ "$scenarios" -gt 0 ] || {
        echo "no scenario contains '${SCENARIO_ONLY:-}'" >&2
        exit 66
    }
    echo "1..$scenarios"
    [ "$failed" -eq 0 ]
    exit
}

# ---- assertions --------------------------------------------------------------

wrong() {
    echo "WRONG: $*"
    return 1
}

# same WHAT ACTUAL EXPECTED
same() {
    [ "$2" = "$3" ] || wrong "$1: expected '$3', got '$2'"
}

# says TEXT FILE: a line of the file contains the text
says() {
    grep -qF -e "$1" "$2" && return
    echo "--- $2:"
    cat "$2"
    wrong "'$1' not found"
}

says_not() {
    ! grep -qF -e "$1" "$2" && return
    echo "--- $2:"
    cat "$2"
    wrong "unexpected '$1'"
}

# ends CODE COMMAND...: the command ends with CODE; its output is in $here/out
# and $here/err
ends() {
    code=$1
    shift
    is=0
    "$@" >"$here/out" 2>"$here/err" || is=$?
    [ "$is" -eq "$code" ] && return
    echo "--- out:"
    head -n 40 "$here/out"
    echo "--- err:"
    head -n 40 "$here/err"
    wrong "'$*' exited with $is, expected $code"
}

# await PATTERN: waits until the JSON line of an event, old or new, matches
await() {
    rm -f "$here/events"
    mkfifo "$here/events"
    pointsman events -f --after 0 --json >"$here/events" 2>/dev/null &
    awaiting=$!
    started="$started $awaiting"
    within grep -q -m1 -e "$1" "$here/events" || {
        pointsman history
        wrong "no event matched '$1'"
    }
    kill "$awaiting" 2>/dev/null || :
    wait "$awaiting" 2>/dev/null || :
}

# within COMMAND...: runs the command with a time limit, so that a test that
# hangs fails
within() {
    timeout -k 10 "${SCENARIO_NET:-120}" "$@"
}

# ---- a base ------------------------------------------------------------------

# make_base [LINE]...: creates a repository with one commit and a base for it;
# the lines are added to section [queue] of the configuration. If $lanes is set,
# the target has that many lanes.
make_base() {
    git init -q --bare "$here/project.git"
    git -C "$here/project.git" symbolic-ref HEAD refs/heads/main
    tree=$(printf 'one\n' | git -C "$here/project.git" hash-object -w --stdin |
        sed 's/.*/100644 blob &	README/' |
        git -C "$here/project.git" mktree)
    commit=$(git -C "$here/project.git" commit-tree -m 'The beginning' "$tree")
    git -C "$here/project.git" update-ref refs/heads/main "$commit"
    pointsman --quiet init --target main=project.git "$here/base"
    mkdir -p "$here/base/conf.d"
    {
        printf '[serve]\nlisten = off\n[queue]\n'
        printf '%s\n' "$@"
        [ -z "${lanes:-}" ] || printf '[target "main"]\nlanes = %s\n' "$lanes"
    } >"$here/base/conf.d/scenario.conf"
}

# on_train FUNCTION [ARGUMENT]...: the same on a branch with a merge train
on_train() {
    lanes=4
    "$@"
}

# next_tai: prints a TAI64N label, later than the previous one
set_tai_at=0
next_tai() {
    set_tai_at=$((set_tai_at + 1))
    printf '@%016x%08x' $((0x400000000000000a + $(date +%s) - 1000)) \
        $set_tai_at
}

# make_set ID CLASS FILE TEXT [META LINE]...: writes a tarball without a base
# and an author, for target $set_target (default: main); $made is its path
make_set() {
    set_id=$1 set_class=$2 set_file=$3 set_text=$4
    shift 4
    set_tai_at=$((set_tai_at + 1))
    made=${set_id}_$(next_tai)_$$_host_$set_class
    rm -rf "$here/packing"
    mkdir -p "$here/packing/lroot/$(dirname "$set_file")" "$here/sets"
    printf '%s\n' "$set_text" >"$here/packing/lroot/$set_file"
    {
        printf '##movetype\n%s\n##target\n%s\n##files\n%s\n' \
            "${set_class%.*}" "${set_target:-main}" "$set_file"
        [ $# -eq 0 ] || printf '%s\n' "$@"
    } >"$here/packing/meta"
    tar -C "$here/packing" -cf "$here/sets/$made" meta lroot
    made=$here/sets/$made
}

# drop_set FILE: submits a set through the drop directories, without the
# program: tmp/, data/, then the marker, with a rename
drop_set() {
    drop_name=$(basename "$1")
    cp "$1" "$here/base/tmp/$drop_name"
    mv "$here/base/tmp/$drop_name" "$here/base/data/$drop_name"
    : >"$here/base/tmp/$drop_name.marker"
    mv "$here/base/tmp/$drop_name.marker" "$here/base/prequeue/$drop_name"
}

# ---- processes ---------------------------------------------------------------

# begin COMMAND...: starts the command in the background; $begun is its pid
begin() {
    "$@" &
    begun=$!
    started="$started $begun"
}

# expect_exit PID CODE: waits for the process, which must end with CODE
expect_exit() {
    is=0
    wait "$1" || is=$?
    [ "$is" -eq "$2" ] || wrong "process $1 exited with $is, expected $2"
}

# serve_begin [OPTION]...: starts a server and waits until it answers; $server
# is its pid, serve.log its log
serve_begin() {
    rm -f "$here/serve.said"
    mkfifo "$here/serve.said"
    pointsman serve "$@" 2>"$here/serve.said" &
    server=$!
    started="$started $server"
    mkfifo "$here/serve.ready"
    while IFS= read -r line; do
        printf '%s\n' "$line" >>"$here/serve.log"
        case $line in
        *' serving '*) echo ready >"$here/serve.ready" ;;
        esac
    done <"$here/serve.said" &
    # If the server ends before it answers, its log shows why.
    read -r line <"$here/serve.ready"
    rm -f "$here/serve.ready" "$here/serve.said"
}

serve_end() {
    kill -TERM "$server"
    expect_exit "$server" 0
}

# daemon_begin: starts all roles and waits until they take work; $daemon is their
# pid
daemon_begin() {
    begin pointsman daemon all
    daemon=$begun
    # shellcheck disable=SC2016 # expanded by the inner shell
    within sh -c 'until [ "$(cat "$1/base/ctrl/prequeue.pid" 2>&1)" = "$2" ]
        do kill -0 "$2" || exit 1; done' sh "$here" "$daemon"
}

# ---- the state of a base -----------------------------------------------------

# in_one_place ID LETTER: the set is in this state in the registry, and its job
# file is in the directory of this state and in no other
in_one_place() {
    state=$(pointsman status --json "$1")
    state=${state#*\"state\":\"} # without jq, as this is called very often
    state=${state%%\"*}
    places=
    for dir in queue staging pending run 'done' fail term abandon; do
        for file in "$here/base/$dir/$1"_*; do
            [ ! -e "$file" ] || places="$places $dir"
        done
    done
    case $2 in
    D) word='done' want=' done' ;;
    F) word=failed want=' fail' ;;
    T) word=terminated want=' term' ;;
    Q) word=queued want=' queue' ;;
    S) word=staged want=' staging' ;;
    P) word=pending want=' pending' ;;
    X) word=executing want=' run' ;;
    esac
    same "state of $1" "$state" "$word"
    same "place of $1" "$places" "$want"
}

# times_landed ID: prints the number of commits of the set on the branch
times_landed() {
    git -C "$here/project.git" log --format='%(trailers:key=CS-Id,valueonly)' \
        main | grep -cx -e "$1" || :
}

landed_order() {
    git -C "$here/project.git" log --reverse \
        --format='%(trailers:key=CS-Id,valueonly)' main | sed '/^$/d' |
        tr '\n' ' '
}

# lives PID: the process exists and is not a zombie
lives() {
    case $(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null) in
    '' | Z | X) return 1 ;;
    esac
}
