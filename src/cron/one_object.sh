#!/bin/sh
# one_object.sh LD OBJCOPY AR INPUT OUTPUT: an archive made of another, in which
# all symbols that are hidden from users of a shared library are local.
set -eu
ld=$1
objcopy=$2
ar=$3
input=$4
output=$5

trap 'rm -f "$output.o"' EXIT
"$ld" -r --whole-archive "$input" -o "$output.o"
"$objcopy" --localize-hidden "$output.o"
rm -f "$output"
"$ar" rcs "$output" "$output.o"
