#!/bin/sh
# disk_error.sh PROGRAM FAULTY: the disk fails at each of the reads of a registry,
# or has a few blocks left.
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

# SQLite reserves one byte in each 4 KiB of the file that it maps.
blocks_are_small() {
    [ "$(id -u)" -eq 0 ] || skip 'only root can mount a file system'
    command -v mkfs.ext4 >/dev/null || skip 'mkfs.ext4 is missing'
    truncate -s 6M disk.img
    mkfs.ext4 -q -b 1024 -m 0 disk.img
    mkdir disk
    cat >filling <<'END'
mount -o loop disk.img disk || exit 77
pointsman init disk/base || exit 1
export POINTSMAN_BASE=disk/base
pointsman submit --id a -- true || exit 1
free=0
while [ $free -le 40 ]; do
    rm -f disk/filler disk/base/ctrl/registry.db-shm
    size=$(($(stat -f -c %a disk) - free))
    until fallocate -l ${size}K disk/filler 2>>fallocate; do
        size=$((size - 1))
        [ $size -gt 0 ] || exit 1
    done
    code=0
    pointsman list >out 2>err || code=$?
    echo $code >>codes
    [ $code -eq 0 ] || cat err >>refusals
    free=$((free + 1))
done
END
    code=0
    unshare -m --propagation private sh filling || code=$?
    [ $code -ne 77 ] || skip 'a loop device cannot be mounted here'
    same 'exit statuses' "$(sort -u codes | paste -sd ' ')" '0 75'
    same 'other lines' \
        "$(grep -cv 'No space left on device.*free some space' refusals)" 0
}
scenario 'a nearly full disk with small blocks does not kill the program' \
    blocks_are_small

finish
