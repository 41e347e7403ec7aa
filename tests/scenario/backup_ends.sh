#!/bin/sh
# backup_ends.sh PROGRAM FAULTY: a backup that is interrupted, meets a full disk
# or is killed.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"
faulty=$(CDPATH='' cd "$(dirname "$2")" && pwd)/$(basename "$2")

# at_points N OPTION...: runs a backup with a fault at N of its system calls and
# wherever it empties a file, and judges what is left with the function $judge
at_points() {
    points=$1
    shift
    "$faulty" "$@" --log calls -- pointsman backup saved.tar || :
    calls=$(sed -n 's/^total //p' calls)
    [ -n "$calls" ] || skip 'processes cannot be traced here'
    rm -f saved.tar
    for at in $(sed -n 's/^\([0-9]*\) ftruncate .*/\1/p' calls) \
        $(seq "$points" | awk -v calls="$calls" -v of="$points" \
            '{ print int(calls * $1 / of) }'); do
        code=0
        "$faulty" "$@" --at "$at" -- pointsman backup saved.tar 2>err || code=$?
        "$judge"
        rm -f saved.tar
    done
}

with_work() {
    make_base
    pointsman submit -- sh -c 'yes 0123456789abcdef | head -c 3000000'
    pointsman daemon all --until-idle
}

# All or nothing, whatever else is called saved
whole_or_none() {
    left=$(ls -d saved* 2>/dev/null || :)
    [ -z "$left" ] || same "left after call $at" "$left" saved.tar
}

no_more_than_said() {
    whole_or_none
    case $code in
    0) [ -e saved.tar ] ;;
    130) [ ! -e saved.tar ] ;;
    *) wrong "exit status $code after call $at" ;;
    esac
}

interrupted() {
    with_work
    judge=no_more_than_said
    at_points 40 --interrupt
}

meets_full_disk() {
    with_work
    judge=whole_or_none
    at_points 20 --fail ENOSPC
}

scenario 'a backup that is interrupted leaves nothing' interrupted
scenario 'a backup that meets a full disk leaves nothing' meets_full_disk

# The next one takes the place of what was left, and says so.
what_killed_left() {
    [ -e saved.tar ] && return
    left=$(ls -d saved.tar.part 2>/dev/null || :)
    ends 0 pointsman backup saved.tar
    [ -z "$left" ] ||
        says "replaced 'saved.tar.part', which a backup that was killed" err
    [ -n "$left" ] || says_not replaced err
    same 'left in the end' "$(ls -d saved*)" saved.tar
    replaced=$replaced$left
}

killed() {
    with_work
    replaced=
    judge=what_killed_left
    at_points 10 --kill one
    [ -n "$replaced" ]
}
scenario 'a backup takes the place of one that was killed' killed

finish
