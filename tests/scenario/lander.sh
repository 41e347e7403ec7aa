#!/bin/sh
# lander.sh PROGRAM: the process that lands the sets of a target one after the
# other. It must not remember anything of a repository that has changed, it must
# not pass a signal on to the next set, and it ends with the server.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"

# with_word DIRECTORY WORD: prints the pids of the processes in the directory
# that have this word in their command line
with_word() {
    for dir in /proc/[0-9]*; do
        [ "$(readlink "$dir/cwd" 2>/dev/null)" = "$here/$1" ] &&
            tr '\0' '\n' 2>/dev/null <"$dir/cmdline" | grep -qx -e "$2" ||
            continue
        echo "${dir#/proc/}"
    done
}

lander() {
    with_word base tmp/lander.main.work
}

reader() {
    with_word project.git cat-file
}

submit_set() {
    make_set "$@"
    pointsman -q change submit "$made" >/dev/null
}

# land_set ID: submits a set with a file of its own and waits until it is done
land_set() {
    submit_set "$1" DC "f$1" "$1"
    within pointsman wait "$1"
    same "commits of $1" "$(times_landed "$1")" 1
}

# begin_landed [LINE]...: see make_base
begin_landed() {
    make_base "$@"
    serve_begin
    land_set C1
    first=$(lander)
    [ -n "$first" ] || wrong 'there is no process that stays'
}

await_end() {
    within tail --pid="$1" -f /dev/null
}

end() {
    serve_end
    ends 0 pointsman fsck
    git -C "$here/project.git" fsck --strict --no-dangling
    [ ! -e "$here/base/tmp/lander.main.work" ] || wrong 'its directory is left'
}

stays() {
    begin_landed
    read_by=$(reader)
    for id in C2 C3 C4; do
        land_set $id
    done
    same 'landing process' "$(lander)" "$first"
    same 'git that reads' "$(reader)" "$read_by"
    pointsman logs C4 >log
    says 'branch main is at' log
    says 'main is now' log
    end
}

conflicts() {
    begin_landed
    base=$(git -C "$here/project.git" rev-parse main)
    submit_set C2 DC README two "##base" "$base"
    within pointsman wait C2
    submit_set C3 DC README three "##base" "$base"
    ends 1 within pointsman wait C3
    same 'reason' "$(pointsman status --json C3 | jq -r .reason)" conflict
    land_set C4
    same 'landing process' "$(lander)" "$first"
    end
}

# A git that has a pack open would still read what it had.
lost_pack() {
    begin_landed
    git -C "$here/project.git" gc -q
    land_set C2
    mkdir "$here/lost"
    mv "$here"/project.git/objects/pack/pack-* "$here/lost"
    submit_set C3 DC fC3 C3
    await '"kind":"target".*"reason":"unavailable"'
    mv "$here"/lost/pack-* "$here/project.git/objects/pack"
    within pointsman wait C3
    same 'order' "$(landed_order)" 'C1 C2 C3 '
    end
}

replaced() {
    begin_landed
    mv "$here/project.git" "$here/old.git"
    git clone -q --bare "$here/old.git" "$here/project.git"
    tip=$(git -C "$here/project.git" commit-tree -m Pushed -p main 'main^{tree}')
    git -C "$here/project.git" update-ref refs/heads/main "$tip"
    land_set C2
    same 'parent' "$(git -C "$here/project.git" rev-parse main^)" "$tip"
    same 'old repository' "$(git -C "$here/old.git" log --format=%s main | wc -l)" 2
    end
}

pushed() {
    begin_landed
    tip=$(git -C "$here/project.git" commit-tree -m Pushed -p main 'main^{tree}')
    git -C "$here/project.git" update-ref refs/heads/main "$tip"
    land_set C2
    landed=$(git -C "$here/project.git" rev-parse main)
    git -C "$here/project.git" update-ref refs/heads/main "$tip"
    # What the process knows of the branch does not count any more.
    submit_set C3 DC fC3 C3 '##dependencies' C2
    await '"id":"C3".*"reason":"base-lost"'
    git -C "$here/project.git" update-ref refs/heads/main "$landed"
    within pointsman wait C3
    same 'order' "$(landed_order)" 'C1 C2 C3 '
    end
}

moved_target() {
    begin_landed
    git clone -q --bare "$here/project.git" "$here/other.git"
    sed 's/project\.git/other.git/' "$here/base/pointsman.conf" >changed
    cat changed >"$here/base/pointsman.conf"
    kill -HUP "$server"
    within sh -c "until grep -q reload '$here/serve.log'; do :; done"
    submit_set C2 DC fC2 C2
    within pointsman wait C2
    same 'commits of C2' "$(times_landed C2)" 0
    same 'commits in the other repository' \
        "$(git -C "$here/other.git" log --format=%s main | grep -c C2)" 1
    serve_end
}

dead_reader() {
    begin_landed
    read_by=$(reader)
    kill -KILL "$read_by"
    land_set C2
    same 'attempts of C2' "$(pointsman status --json C2 | jq -r .attempt)" 1
    same 'landing process' "$(lander)" "$first"
    [ "$(reader)" != "$read_by" ] || wrong 'there is no other git'
    end
}

dead_lander() {
    begin_landed
    kill -KILL "$first"
    land_set C2
    land_set C3
    same 'attempts of C3' "$(pointsman status --json C3 | jq -r .attempt)" 1
    [ "$(lander)" != "$first" ] || wrong 'there is no other process'
    end
}

# The process is stopped, so that the set cannot land before it is killed.
killed() {
    begin_landed
    kill -STOP "$first"
    submit_set C2 DC fC2 C2
    await '"id":"C2".*"to":"executing"'
    kill -KILL "$first"
    within pointsman wait C2
    same 'commits of C2' "$(times_landed C2)" 1
    same 'attempts of C2' "$(pointsman status --json C2 | jq -r .attempt)" 2
    land_set C3
    end
}

cancelled() {
    begin_landed 'grace = 1h'
    kill -STOP "$first"
    submit_set C2 DC fC2 C2
    await '"id":"C2".*"to":"executing"'
    pointsman cancel C2 >/dev/null # a process that is ended is also continued
    ends 143 within pointsman wait C2
    same 'state of C2' "$(pointsman status --json C2 | jq -r .state)" terminated
    same 'commits of C2' "$(times_landed C2)" 0
    land_set C3
    await_end "$first"
    land_set C4
    end
}

ends_with_server() {
    begin_landed
    read_by=$(reader)
    kill -KILL "$server"
    await_end "$first"
    await_end "$read_by"
    wait "$server" || :
    serve_begin
    land_set C2
    end
}

scenario 'a process lands one set after the other' stays
scenario 'a conflict does not affect the next set' conflicts
scenario 'a set waits if packs of the repository are lost' lost_pack
scenario 'a repository may be replaced by another one' replaced
scenario 'a branch may be moved by others, forwards and back' pushed
scenario 'a target may be given another repository' moved_target
scenario 'the git that reads objects may die' dead_reader
scenario 'the process may die between two sets' dead_lander
scenario 'a set whose process is killed lands with the next attempt' killed
# The leak check at the end of a process that was stopped never ends.
[ "${SANITIZE:-none}" != none ] ||
    scenario 'a set is cancelled, and the next one lands' cancelled
scenario 'the process ends with the server' ends_with_server
finish
