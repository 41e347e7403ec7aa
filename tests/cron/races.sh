#!/bin/sh
# races.sh TAP_SH TRIAL PROGRAM: runs a program under the thread sanitizer,
# which cannot start if the kernel randomizes addresses too much. It is then
# run without randomization, or skipped if that is forbidden. TRIAL is an empty
# program.
tap=$1
trial=$2
shift 2

if "$trial" >/dev/null 2>&1; then
    exec "$tap" "$@"
elif setarch -R "$trial" >/dev/null 2>&1; then
    exec setarch -R "$tap" "$@"
fi
echo "1..0 # SKIP the thread sanitizer cannot start: vm.mmap_rnd_bits"
