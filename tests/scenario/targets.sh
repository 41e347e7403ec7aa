#!/bin/sh
# targets.sh PROGRAM FAULTY: targets whose repository cannot be used for a while,
# with real causes: a file system that is read-only or full, a disk that fails,
# and lock files that somebody left. The queue of the target is held, the reason
# is shown everywhere, no set fails, and the sets land by themselves.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"
. "$(dirname "$0")/../support/train.sh"
faulty=$(CDPATH="" cd "$(dirname "$2")" && pwd)/$(basename "$2")

submit_set() {
    make_set "$@"
    pointsman -q change submit "$made" >submitted
}

# ---- a server that sees other mounts -----------------------------------------

needs_mounts() {
    [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null ||
        skip 'mounting needs root'
}

# serve_with_mounts SCRIPT: starts a server in a mount namespace of its own, in
# which the script has been run
serve_with_mounts() {
    cat >"$here/bin.serve" <<END
#!/bin/sh
cd '$here' || exit 1
$1
exec '$program' "\$@"
END
    mkdir -p "$here/bin"
    printf '#!/bin/sh\nexec unshare -m sh "%s" "$@"\n' "$here/bin.serve" \
        >"$here/bin/pointsman"
    chmod +x "$here/bin/pointsman"
    plain=$PATH
    PATH=$here/bin:$PATH
    serve_begin
    PATH=$plain
}

# inside COMMAND...: runs the command in the server's namespace
inside() {
    nsenter -t "$server" -m -- "$@"
}

# Asserts that sets C1 and C2 wait for their target, for a reason that contains
# the words. `doctor` runs in the namespace of the server.
assert_held() {
    await '"kind":"target".*"reason":"unavailable"'
    for id in C1 C2; do
        within sh -c "until pointsman list state:pending | grep -q $id; do :; done"
        ends 0 pointsman why $id
        says "target ${set_target:-main} is unavailable" out
        says "$1" out
        says 'next try at' out
    done
    pointsman status C1 >status
    says 'reason      unavailable: ' status
    says "$1" status
    ends 1 inside "$program" --base "$here/base" doctor
    says 'unavailable, its change sets wait: ' out
    same 'commits' "$(times_landed C1)$(times_landed C2)" 00
}

assert_goes_on() {
    within pointsman wait C1
    within pointsman wait C2
    await '"kind":"target".*"reason":"usable"'
    ends 0 inside "$program" --base "$here/base" doctor
    serve_end
    ends 0 pointsman fsck
}

# ---- read-only ---------------------------------------------------------------

read_only() {
    needs_mounts
    make_base
    serve_with_mounts 'mount --bind project.git project.git &&
        mount -o remount,ro,bind project.git || exit 1'
    submit_set C1 DC a one
    submit_set C2 DC b two
    assert_held 'Read-only file system'
    inside mount -o remount,rw,bind "$here/project.git"
    assert_goes_on
}
scenario 'sets wait for a repository that is mounted read-only' read_only
scenario 'sets on a merge train wait for a repository that is read-only' \
    on_train read_only

# ---- full --------------------------------------------------------------------

full() {
    needs_mounts
    make_base
    serve_with_mounts 'mkdir full && mount -t tmpfs -o size=1m none full &&
        cp -r project.git/. full && mount --bind full project.git &&
        { cat /dev/zero >full/fill; true; } 2>/dev/null'
    submit_set C1 DC a one
    submit_set C2 DC b two
    assert_held 'No space left on device'
    inside rm "$here/project.git/fill"
    for id in C1 C2; do
        within pointsman wait $id
    done
    await '"kind":"target".*"reason":"usable"'
    same 'content of b' \
        "$(inside git -C "$here/project.git" show main:b)" two
    ends 0 inside "$program" --base "$here/base" doctor
    serve_end
}
scenario 'sets wait for a repository whose file system is full' full
scenario 'sets on a merge train wait for a repository that is full' \
    on_train full

# ---- locked ------------------------------------------------------------------

locked() {
    make_base
    : >"project.git/$1"
    serve_begin
    submit_set C1 DC a one
    submit_set C2 DC b two
    inside() {
        "$@"
    }
    assert_held "$2"
    rm "project.git/$1"
    assert_goes_on
}
scenario 'sets wait for a branch that somebody has locked' \
    locked refs/heads/main.lock main.lock
scenario 'sets on a merge train wait for a branch that somebody has locked' \
    on_train locked refs/heads/main.lock main.lock
scenario 'sets wait for a repository whose HEAD somebody has locked' \
    locked HEAD.lock HEAD.lock

# ---- checked out --------------------------------------------------------------

# Nothing is checked either: it could not land.
checked_out() {
    make_base
    printf '[target "main"]\ncheck.count = sh -c "echo >>%s/checked"\n' \
        "$here" >base/conf.d/check.conf
    git -C project.git worktree add -q "$here/work" main
    serve_begin
    submit_set C1 DC a one
    submit_set C2 DC b two
    inside() {
        "$@"
    }
    assert_held "is checked out in '$here/work'"
    [ ! -e checked ] || wrong 'a check has run'
    git -C work switch -q --detach
    assert_goes_on
}
scenario 'sets wait for a branch that is checked out' checked_out
scenario 'sets on a merge train wait for a branch that is checked out' \
    on_train checked_out

# ---- a check program that is missing -------------------------------------------

no_program() {
    make_base
    printf '[target "main"]\ncheck.count = %s/count all\n' \
        "$here" >base/conf.d/check.conf
    serve_begin
    submit_set C1 DC a one
    submit_set C2 DC b two
    inside() {
        "$@"
    }
    assert_held "cannot start '$here/count': No such file"
    printf '#!%s/interpreter\n' "$here" >count
    chmod +x count
    await '"kind":"move","id":"C[12]".*"reason":"unavailable"'
    ln -s /bin/sh interpreter
    assert_goes_on
}
scenario 'sets wait for the program of a check' no_program
scenario 'sets on a merge train wait for the program of a check' \
    on_train no_program

# ---- a target that is a command whose program is missing -----------------------

no_command() {
    make_base
    set_target=made
    printf '[target "made"]\ncommand = %s/apply\nrevert = %s/revert\n' \
        "$here" "$here" >base/conf.d/made.conf
    serve_begin
    submit_set C1 DC a one
    submit_set C2 DC b two
    inside() {
        "$@"
    }
    assert_held "cannot run command: cannot start '$here/apply': No such file"
    printf '#!/bin/sh\ncat lroot/* >>%s/made\n' "$here" >apply
    # Not executable.
    await '"kind":"move","id":"C[12]".*"detail":".*Permission denied; make it'
    chmod +x apply
    within pointsman wait C1
    within pointsman wait C2
    await '"kind":"target".*"reason":"usable"'
    same 'what the command made' "$(sort made)" "$(printf 'one\ntwo')"
    for id in C1 C2; do
        pointsman history $id >history
        says_not 'failed' history
        says_not 'temp' history
    done
    id=$(pointsman rollback C1)
    await "\"kind\":\"move\",\"id\":\"$id\".*\"reason\":\"unavailable\""
    ln -s apply revert
    within pointsman wait "$id"
    serve_end
    ends 0 pointsman fsck
}
scenario 'sets and rollbacks wait for the program of a command' no_command

# ---- a disk that fails --------------------------------------------------------

# failing_disk WHO CALL...: each of these calls that write, of processes whose
# command line contains WHO, gets EIO in turn. Messages are still written. Some
# failures do not matter.
failing_disk() {
    "$faulty" -- true || skip 'processes cannot be traced'
    who=$1 held=0
    shift
    for at in "$@"; do
        rm -rf base project.git
        make_base
        chmod 700 base/conf.d
        submit_set C1 DC a one
        is=0
        # Leaks cannot be looked for in a process that is traced.
        within env ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" \
            "$faulty" --log calls --only "$who" --fail EIO --at "$at" -- \
            pointsman daemon all --until-idle || is=$?
        same "a fault at call $at" $is 137
        serve_begin
        within pointsman wait C1
        serve_end
        in_one_place C1 D
        same commits "$(times_landed C1)" 1
        pointsman history C1 >history
        says_not 'executing > pending temp' history
        ! grep -q unavailable history || held=$((held + 1))
        ends 0 pointsman fsck
        git -C project.git fsck --strict
    done
    [ $held -gt 0 ] || wrong 'no fault was seen'
}
scenario 'a set waits for a repository whose disk fails beneath git' \
    failing_disk '^git' 1 2 3 4
scenario 'a set waits for a repository whose disk fails beneath the landing' \
    failing_disk land 1 3 5 7 9 11

# failing_reads WHO N: the same for N of the calls that open files of the
# repository for reading or read from them
failing_reads() {
    "$faulty" -- true || skip 'processes cannot be traced'
    who=$1 points=$2 held=0 at=0
    until [ "$at" = end ]; do
        rm -rf base project.git
        make_base
        submit_set C1 DC a one
        git -C project.git pack-refs --all
        fault="--fail EIO --at $at"
        [ "$at" != 0 ] || fault=
        is=0
        # shellcheck disable=SC2086
        within env ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" \
            "$faulty" --log calls --only "$who" --reads "$(pwd -P)/project.git" \
            $fault -- pointsman daemon all --until-idle || is=$?
        if [ "$at" = 0 ]; then
            total=$(sed -n 's/^total //p' calls)
            [ "$total" -gt 0 ] || wrong 'nothing was read'
            step=$(((total + points - 1) / points))
        else
            # The number of calls differs a little from run to run.
            [ $is = 0 ] || same "a fault at call $at of $total" $is 137
        fi
        serve_begin
        within pointsman wait C1
        serve_end
        in_one_place C1 D
        same commits "$(times_landed C1)" 1
        pointsman history C1 >history
        says_not 'executing > pending temp' history
        ! grep -q unavailable history || held=$((held + 1))
        at=$((at + step))
        [ "$at" -le "$total" ] || at=end
    done
    [ $held -gt 0 ] || wrong 'no fault was seen'
}
scenario 'a set waits for a repository that git cannot read' failing_reads '^git' 12
scenario 'a set waits for a repository that the landing cannot read' \
    failing_reads '^/proc/self/exe land' 5
scenario 'a set on a merge train lands once if the landing cannot read' \
    on_train failing_reads '^/proc/self/exe land' 5

# ---- not configured -----------------------------------------------------------

reload() {
    kill -HUP "$server"
    within sh -c "until [ \$(grep -c 'configuration reloaded' serve.log) = $1 ]
        do :; done"
}

# The target is taken out of the configuration while a set is checked, and put
# back.
not_configured() {
    make_base
    mkfifo gate
    cat >base/conf.d/check.conf <<END
[target "main"]
check.wait = sh -c 'read x <$here/gate'
END
    serve_begin
    submit_set C1 DC d/a a
    submit_set C2 DC d/b b
    await '"id":"C1".*"to":"executing"'
    mkdir away
    mv base/pointsman.conf base/conf.d/scenario.conf base/conf.d/check.conf away
    printf '[serve]\nlisten = off\n' >base/pointsman.conf
    reload 1
    exec 7<>gate
    printf '\n\n\n\n\n\n\n\n' >&7 # a line for each check
    [ -n "${lanes:-}" ] || await '"kind":"target".*"reason":"unavailable"'
    mv away/pointsman.conf base && mv away/*.conf base/conf.d
    reload 2
    within pointsman wait C1
    within pointsman wait C2
    serve_end
    in_one_place C1 D
    in_one_place C2 D
    ends 0 pointsman fsck
}
scenario 'a set waits for a target that is not configured for a while' \
    not_configured
scenario 'a merge train waits for its target to be configured again' \
    on_train not_configured

# ---- after a crash -----------------------------------------------------------

# The sets of all slots were being checked.
away_after_crash() { # LANES
    train_slots=$1
    make_train "$1"
    ids=a
    [ "$1" -eq 1 ] || ids='a b'
    for id in $ids; do
        gate "$id"
        submit "$id" DC "$id"
    done
    serve_begin
    for id in $ids; do
        runs_reach "$id" 1
    done
    crashed_guard=$(pgrep -P "$server" | head -1)
    kill -KILL "$server" "$crashed_guard"
    wait "$server" || :
    mv project.git gone.git
    serve_begin
    pointsman submit --id cmd -- true
    within pointsman wait cmd
    why_says a "no git repository"
    ! grep -q 'trying again:  *job' serve.log ||
        wrong 'the log gives no reason'
    mv gone.git project.git
    for id in $ids; do
        open_gate "$id"
    done
    # shellcheck disable=SC2086
    within pointsman wait $ids
    serve_end
}
scenario 'a command runs although no set can be asked after, 1 lane' \
    away_after_crash 1
scenario 'a command runs although no set can be asked after, 2 lanes' \
    away_after_crash 2

finish
