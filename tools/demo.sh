#!/bin/sh
# The demonstration of ./try: a base with a real repository, change sets and
# commands that succeed, and some that fail, with the reason. Everything is kept
# in ./demo.pointsman.
set -eu

cd "$(dirname "$0")/.."
top=$PWD
program=$top/build/src/cli/pointsman
demo=$top/demo.pointsman
server=

pointsman() { "$program" --base "$demo/base" "$@"; }
say() { printf '\n== %s\n' "$*"; }
git_quiet() { git -c user.name='A Demo' -c user.email=demo@localhost \
    -c init.defaultBranch=main -c commit.gpgsign=false "$@" >/dev/null 2>&1; }

# The server of an interrupted run may still run, but its process id may belong
# to another process by now.
serves() { tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null |
    grep -qF "$demo/base serve"; }
if pid=$(cat "$demo/base/ctrl/exec.pid" 2>/dev/null) && serves "$pid"; then
    kill "$pid" 2>/dev/null || :
    while serves "$pid"; do sleep 0.1; done
fi
rm -rf "$demo"
mkdir "$demo"

finish() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || :
    [ -z "$server" ] || wait "$server" 2>/dev/null || :
    server=
}
trap finish EXIT
trap 'exit 130' INT TERM

# ---- a repository and a base for it ------------------------------------------

git_quiet init --bare "$demo/project.git"
git_quiet init "$demo/work"
mkdir "$demo/work/src" "$demo/sets"
cat >"$demo/work/src/parse.c" <<'END'
/* A parser, more or less. */

int depth = 10;

int parse(void);

int limit = 100;
END
echo 'int main(void) { return 0; }' >"$demo/work/src/main.c"
echo 'A demonstration project.' >"$demo/work/README"
cd "$demo/work"
git_quiet add .
git_quiet commit -m 'First commit'
git_quiet remote add origin ../project.git
git_quiet push origin HEAD:main
cd "$top"

pointsman --quiet init --target "main=$demo/project.git"
mkdir -p "$demo/base/conf.d"
cat >"$demo/base/conf.d/demo.conf" <<'END'
[queue]
concurrency = 2
grace = 1

[target "main"]
check.words = sh -c 'if grep -rn BROKEN .; then echo "that word is not allowed here"; exit 1; fi'
END
cat >"$demo/base/conf.d/serve.conf" <<'END'
[serve]
listen = off
END

# pack ID CLASS FILE EDIT [OPTION]...: submits a change set that consists of one
# commit, based on the first commit
pack() {
    id=$1 class=$2 file=$3 edit=$4
    shift 4
    (
        cd "$demo/work"
        git_quiet checkout -B "$id" main || git_quiet checkout -b "$id"
        mkdir -p "$(dirname "$file")"
        sh -c "$edit" pack "$file"
        git_quiet add "$file"
        git_quiet commit -m "$id: work on $file"
    )
    pointsman --quiet change pack -C "$demo/work" --target main --id "$id" \
        --class "$class" "$@" -o "$demo/sets/$id.tar" "main..$id" >/dev/null
    pointsman --quiet change submit "$demo/sets/$id.tar" >/dev/null
    printf '   %-12s %s  %-14s %s\n' "$id" "$class" "$file" "$*"
}

say "twelve change sets are submitted; no server is running, so they wait"
(cd "$demo/work" && git_quiet branch -M main)
pack parser-1   DC src/parse.c 'sed -i "s/depth = 10/depth = 20/" "$1"'
pack parser-2   DC src/parse.c 'sed -i "s/limit = 100/limit = 200/" "$1"'
pack parser-3   DC src/parse.c 'sed -i "s/depth = 10/depth = 30/" "$1"'
pack feature    DC src/feature.c 'echo "int feature;" > "$1"' --depends base-work
pack base-work  DC src/base.c  'echo "int base;" > "$1"'
pack docs       DC doc/intro   'echo "Read this first." > "$1"'
pack careless   DC src/new.c   'echo "/* BROKEN */" > "$1"'
pack notes      DC doc/notes   'echo "Notes." > "$1"'
pack readme     DC README      'echo "More words." >> "$1"'
pack crash-fix  BF src/main.c  'echo "int main(void) { return 1; }" > "$1"'
pack security   EM src/auth.c  'echo "int auth;" > "$1"'
pack orphan     DC src/orphan.c 'echo "int orphan;" > "$1"' --depends careless

say "three commands: one fails temporarily, one shows progress, one has three tasks"
cd "$demo"
cat >flaky <<'END'
#!/bin/sh
[ -e tried ] && { echo "now it works"; exit 0; }
touch tried
echo "not now"
exit 75
END
cat >progress <<'END'
#!/bin/sh
for percent in 20 40 60 80 100; do
    echo "$percent step $percent" >&$POINTSMAN_PROGRESS_FD
    echo "did $percent"
    sleep 0.2
done
END
chmod +x flaky progress
pointsman submit --id flaky -- ./flaky >/dev/null
pointsman submit --id progress -- ./progress >/dev/null
printf 'red\ngreen\nblue\n' >colours
pointsman submit --id colours --array colours -- echo task >/dev/null
cd "$top"
pointsman list

say "why is parser-2 waiting?"
pointsman why parser-2 || :

say "the server starts, with two slots"
# Not through the function, so that finish kills the server itself.
"$program" --base "$demo/base" serve >"$demo/serve.log" 2>&1 &
server=$!

all="parser-1 parser-2 parser-3 feature base-work docs careless notes readme
crash-fix security orphan flaky progress colours"

# ---- the live display --------------------------------------------------------

picture() {
    pointsman list --all 2>/dev/null | cut -c "1-${COLUMNS:-100}"
}
if [ -t 1 ]; then
    lines=0
    while :; do
        shown=$(picture) || shown=
        [ "$lines" -eq 0 ] || printf '\033[%dA\033[J' "$lines"
        printf '%s\n' "$shown"
        lines=$(printf '%s\n' "$shown" | wc -l)
        [ -n "$(pointsman list --json state:open)" ] || break
        kill -0 "$server" 2>/dev/null || break
        sleep 0.1
    done
    printf '\033[%dA\033[J' "$lines"
fi
# The exit status is that of the first failure; three sets are meant to fail.
pointsman wait --timeout 120 $all >/dev/null 2>&1 || :

say "the results"
pointsman list --all

say "why parser-3, careless and orphan did not land"
for id in parser-3 careless orphan; do
    pointsman why "$id" || :
done

say "the output of the failed check"
pointsman logs careless | tail -n 4

say "the branch: emergency first, then the bug fix, then the rest; one commit each"
git --no-pager -C "$demo/project.git" log --reverse \
    --format='%h %<(32,trunc)%s %(trailers:key=CS-Id,key=CS-Class,separator=%x20)' main

finish
cat <<END

== what to try next (the base is kept in ./demo.pointsman)
   alias pointsman=$program
   export POINTSMAN_BASE=$demo/base
   pointsman run -- make -j8            run a command through the queue
   pointsman logs progress              show the output of a job
   pointsman history feature            show what happened to a change set
   pointsman help                       list all commands
END
