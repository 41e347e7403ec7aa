#!/bin/sh
# abi.sh SOURCE_ROOT BUILD_ROOT SANITIZE CC...: installs everything into a new
# directory and builds a program of a user against it. Prints TAP.
source=$1
build=$2
sanitize=$3
shift 3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
count=0

# ok NAME: passes if the previous command succeeded
ok() {
    status=$?
    count=$((count + 1))
    if [ $status -eq 0 ]; then
        echo "ok $count - $1"
    else
        echo "not ok $count - $1"
        sed 's/^/# /' "$work/out"
    fi
}

echo 1..13
root=$work/root
wanted=2013-03-10T01:59:59-08:00
[ "$sanitize" = none ] || set -- "$@" "-fsanitize=$sanitize"

DESTDIR=$root meson install -C "$build" --no-rebuild --quiet \
    >"$work/out" 2>&1
ok everything_can_be_installed

file=$(find "$root" -name pointsman-cron.pc)
PKG_CONFIG_LIBDIR=${file%/*}
PKG_CONFIG_SYSROOT_DIR=$root
export PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
libdir=$(pkg-config --variable=libdir pointsman-cron)
case $libdir in
"$root"*) ;;
*) libdir=$root$libdir ;;
esac

# shellcheck disable=SC2046 # a list of words
"$@" -std=c99 -Wall -Wextra -Werror -pedantic "$source/tests/cron/client.c" \
    $(pkg-config --cflags --libs pointsman-cron) -o "$work/shared" \
    >"$work/out" 2>&1 &&
    readelf -d "$work/shared" >"$work/out" &&
    grep -q 'NEEDED.*libpointsman-cron.so.0' "$work/out" &&
    [ "$(LD_LIBRARY_PATH=$libdir "$work/shared")" = $wanted ]
ok a_user_program_can_be_linked_with_the_shared_library

# shellcheck disable=SC2046
"$@" "$source/tests/cron/client.c" $(pkg-config --cflags pointsman-cron) \
    "$libdir/libpointsman-cron.a" -lpthread -o "$work/static" \
    >"$work/out" 2>&1 && [ "$("$work/static")" = $wanted ]
ok a_user_program_can_be_linked_with_the_static_library

pkg-config --libs pointsman-cron >"$work/out"
grep -q -e -pthread "$work/out" &&
    pkg-config --cflags pointsman-cron >"$work/out" &&
    grep -q -e -pthread "$work/out"
ok a_user_of_pkg_config_gets_the_option_for_threads

version=$(pkg-config --modversion pointsman-cron)
sed -n 's/^#define CRON_VERSION "\(.*\)"/\1/p' \
    "$source/include/pointsman/cron.h" >"$work/out"
[ "$(cat "$work/out")" = "$version" ] &&
    [ "$(echo "$version" | awk -F. '{ print $1 * 10000 + $2 * 100 + $3 }')" = \
        "$(sed -n 's/^#define CRON_VERSION_NUMBER //p' \
            "$source/include/pointsman/cron.h")" ]
ok the_header_and_pkg_config_tell_the_same_version

nm -D --defined-only "$libdir/libpointsman-cron.so" |
    awk '$2 == "T" { print $3 }' | sort >"$work/exported"
tr '\n' ' ' <"$source/include/pointsman/cron.h" |
    grep -o 'CRON_API [^;]*;' | grep -o 'cron_[a-z_]*(' | tr -d '(' |
    sort >"$work/declared"
diff "$work/declared" "$work/exported" >"$work/out"
ok the_library_exports_only_what_its_header_declares

if [ "$sanitize" = none ]; then
    nm -g --defined-only "$libdir/libpointsman-cron.a" |
        awk 'NF == 3 { print $3 }' | sort >"$work/exported"
    diff "$work/declared" "$work/exported" >"$work/out"
    ok the_static_library_exports_no_more
else
    count=$((count + 1))
    echo "ok $count - the_static_library_exports_no_more # SKIP sanitized"
fi

if [ "$sanitize" = none ]; then
    readelf -d "$libdir/libpointsman-cron.so" | grep NEEDED |
        grep -v 'libc\.so' >"$work/out"
    [ ! -s "$work/out" ]
    ok the_library_needs_only_the_c_library
    # Its objects have no variables: .data and .bss are empty.
    size -A "$libdir/libpointsman-cron.a" |
        awk '($1 == ".data" || $1 == ".bss") && $2 != 0' >"$work/out"
    [ ! -s "$work/out" ]
    ok the_library_has_no_global_state
else
    echo "ok 8 - the_library_needs_only_the_c_library # SKIP sanitized"
    echo "ok 9 - the_library_has_no_global_state # SKIP sanitized"
    count=9
fi

grep -rl '\(mktime\|timegm\|[lg][om][a-z]*time\(_r\)*\|tzset\|strftime\) *(' "$source/src/cron" \
    >"$work/out"
[ ! -s "$work/out" ]
ok the_library_does_not_use_time_functions_of_the_c_library

# The manual names all functions and keys, and its example works.
grep -o 'cron_[a-z_]*()' "$source/doc/pointsman-cron.3" | tr -d '()' |
    sort -u >"$work/documented"
diff "$work/declared" "$work/documented" >"$work/out"
ok the_manual_names_every_function

sed -n '/key_names\[KEYS\] = {/,/^};/s/.*"\([a-z_]*\)",$/\1/p' \
    "$source/src/cron/item_parse.c" >"$work/keys"
[ "$(wc -l <"$work/keys")" -gt 10 ] && while read -r key; do
    grep -q -- "^\.[BS].*\<$key\>" "$source/doc/pointsman-cron-item.5" ||
        echo "$key"
done <"$work/keys" >"$work/out" && [ ! -s "$work/out" ]
ok the_manual_names_every_key_of_an_item

sed -n '/^\.EX/,/^\.EE/p' "$source/doc/pointsman-cron.3" |
    sed -e '/^\.E[XE]/d' -e 's/\\(dq/"/g' -e 's/\\e/\\/g' >"$work/example.c"
# shellcheck disable=SC2046
"$@" "$work/example.c" $(pkg-config --cflags --libs pointsman-cron) \
    -o "$work/example" >"$work/out" 2>&1 &&
    [ "$(LD_LIBRARY_PATH=$libdir "$work/example")" = $wanted ]
ok the_example_of_the_manual_works
