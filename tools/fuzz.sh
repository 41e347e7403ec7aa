#!/bin/sh
# tools/fuzz.sh [NAME [SECONDS [LIBFUZZER_OPTION]...]]: a fuzzing campaign.
#
# Builds tests/fuzz/fuzz_NAME.c with clang's libFuzzer under the sanitizers
# (build-fuzz/) and runs it for SECONDS (60), starting from tests/fuzz/corpus.
# Without a NAME it runs every target in turn. New inputs are kept in
# build-fuzz/corpus/NAME, where the next campaign continues; the input of a crash
# is written to build-fuzz/crash-NAME-*. To add the smallest inputs that reach
# the same code to the source tree:
#
#     build-fuzz/tests/fuzz-NAME -merge=1 tests/fuzz/corpus/NAME \
#         build-fuzz/corpus/NAME
set -eu
cd "$(dirname "$0")/.."

if [ ! -f build-fuzz/build.ninja ]; then
    CC=clang meson setup build-fuzz -Dfuzz=true \
        -Db_sanitize=address,undefined -Doptimization=1
fi

name=${1:-}
seconds=${2:-60}
if [ $# -ge 2 ]; then
    shift 2
else
    shift $#
fi

for target in tests/fuzz/fuzz_*.c; do
    this=${target#tests/fuzz/fuzz_}
    this=${this%.c}
    [ -z "$name" ] || [ "$name" = "$this" ] || continue
    ninja -C build-fuzz "tests/fuzz-$this" >/dev/null
    found=build-fuzz/corpus/$this
    mkdir -p "$found"
    echo "fuzz: $this for $seconds seconds"
    "build-fuzz/tests/fuzz-$this" -max_total_time="$seconds" \
        -artifact_prefix="build-fuzz/crash-$this-" "$@" \
        "$found" "tests/fuzz/corpus/$this"
    ran=yes
done
if [ -z "${ran:-}" ]; then
    echo "fuzz: no target '$name'" >&2
    exit 66
fi
