# For scenario scripts that need accounts. These exist only in the mount
# namespace of the script, which starts itself again in it.
if [ -z "${ACCOUNTS_APART:-}" ]; then
    if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
        echo '1..0 # SKIP only root can make accounts in a mount namespace'
        exit 0
    fi
    export ACCOUNTS_APART=1
    exec unshare -m --propagation private sh "$0" "$@"
fi
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"

# Others must reach the program and the base.
chmod 711 "$top"
rm "$top/bin/pointsman" && cp "$program" "$top/bin/pointsman"

# add_lines FILE LINE...: adds lines to a file of /etc in this namespace
add_lines() {
    added_to=$1
    shift
    { cat "$added_to" && printf '%s\n' "$@"; } >"$top/${added_to##*/}"
    chmod 644 "$top/${added_to##*/}"
    mount --bind "$top/${added_to##*/}" "$added_to"
}

# make_accounts NAME:UID[:HOME]...
make_accounts() {
    # shellcheck disable=SC2046 # a line has no blanks
    add_lines /etc/passwd $(printf '%s\n' "$@" |
        awk -F: '{ print $1 ":x:" $2 ":" $2 "::" ($3 ? $3 : "/") ":/bin/sh" }')
}
