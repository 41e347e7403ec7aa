#!/bin/sh
# disk_error.sh PROGRAM FAULTY: the disk fails at each of the reads of a registry.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"
faulty=$(CDPATH='' cd "$(dirname "$2")" && pwd)/$(basename "$2")

# fails COMMAND...: an error of the disk at any read below ctrl/ is called one
fails() {
    "$faulty" --reads "$here/base/ctrl" --fail EIO --log calls -- "$@" \
        >out 2>&1 || code=$?
    calls=$(sed -n 's/^total //p' calls)
    [ "$calls" -gt 3 ]
    failures=0
    at=1
    while [ "$at" -le "$calls" ]; do
        "$faulty" --reads "$here/base/ctrl" --fail EIO --at "$at" -- "$@" \
            >out 2>&1 || code=$?
        [ "$code" -ne 125 ] || skip 'processes cannot be traced here'
        for word in malformed damaged 'not a database' 'locks do not' \
            'fsck --rebuild' 'does not match' 'has lost'; do
            says_not "$word" out || wrong "after call $at"
        done
        ! grep -q 'Input/output error' out || failures=$((failures + 1))
        at=$((at + 1))
    done
    [ "$failures" -gt 0 ]
}

reads_fail() {
    make_base
    for n in 1 2 3 4 5 6 7 8; do
        pointsman submit --id job$n -- echo $n
    done
    pointsman daemon all --until-idle
    code=0
    fails pointsman list
    fails pointsman status job3
    fails pointsman history
    fails pointsman fsck
    fails pointsman fsck --rebuild
    ends 0 pointsman fsck
    # What is damaged is still called so.
    printf 'no database' | dd of=base/ctrl/registry.db conv=notrunc 2>/dev/null
    ends 65 pointsman list
    says 'file is not a database' err
}
scenario 'a disk that fails is not taken for a damaged registry' reads_fail

finish
