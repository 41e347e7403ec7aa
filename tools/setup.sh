#!/bin/sh
# tools/setup.sh [--no-install] build|check: installs the missing Debian
# packages that are needed to build and run the demonstration, or also to run
# all tests. If none is missing, it prints nothing and uses no network.
set -eu

build="gcc libc6-dev meson ninja-build pkg-config libuv1-dev libmicrohttpd-dev \
libarchive-dev libsqlite3-dev nettle-dev libcmocka-dev git"
check="clang e2fsprogs faketime lld libclang-rt-14-dev strace jq openssh-client \
openssh-server tinycdb tzdata xz-utils zstd"

install=yes
packages=$build
for arg; do
    case $arg in
    --no-install) install=no ;;
    build) packages=$build ;;
    check) packages="$build $check" ;;
    *)
        echo "usage: tools/setup.sh [--no-install] build|check" >&2
        exit 64
        ;;
    esac
done

say() {
    printf '%s\n' "$*"
}

# Prints how to do by hand what this script could not do.
hint() {
    say "to install them by hand, as root:"
    say "    apt-get update && apt-get install -y --no-install-recommends" \
        "$missing"
}

missing=
if command -v dpkg-query >/dev/null; then
    for package in $packages; do
        status=$(dpkg-query -W -f '${db:Status-Status}' "$package" \
            2>/dev/null) || status=
        [ "$status" = installed ] || missing="$missing $package"
    done
else
    missing=" $packages"
fi
missing=${missing# }
[ -n "$missing" ] || exit 0

say "setup: missing packages: $missing"
if [ $install = no ]; then
    hint
    exit 69
fi
if ! command -v apt-get >/dev/null; then
    say "setup: this system has no apt-get; only Debian 12 is supported"
    hint
    exit 69
fi
if [ -t 0 ] && [ -t 1 ] && [ -z "${CI:-}" ]; then
    printf 'Install them with apt now? [Y/n] '
    read -r answer || answer=n
    case $answer in
    '' | [Yy]*) ;;
    *)
        hint
        exit 69
        ;;
    esac
fi

if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null; then
    as_root=sudo
else
    say "setup: you are not root, and there is no sudo"
    hint
    exit 69
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Prints one line per step, and apt's output only on failure.
step() {
    say "setup: $1"
    shift
    if ! "$@" >"$log" 2>&1 </dev/null; then
        tail -n 30 "$log"
        return 1
    fi
}

apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 \
        apt-get -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 "$@"
}

# sudo asks for its password on the terminal, before apt's output is hidden.
[ -z "$as_root" ] || $as_root true
step "updating the package lists" apt update ||
    say "setup: the package lists could not be updated; going on with the old ones"
# shellcheck disable=SC2086 # a list of words
if ! step "installing the packages (this takes a minute or two)" \
    apt install -y --no-install-recommends $missing; then
    say "setup: apt could not install all packages"
    hint
    exit 69
fi
