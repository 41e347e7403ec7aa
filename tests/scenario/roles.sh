#!/bin/sh
# roles.sh PROGRAM: a base that several accounts share. The accounts exist only
# in the mount namespace of this script.
if [ -z "${ROLES_APART:-}" ]; then
    if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
        echo '1..0 # SKIP only root can make accounts in a mount namespace'
        exit 0
    fi
    export ROLES_APART=1
    exec unshare -m --propagation private sh "$0" "$@"
fi
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"

# Others must reach the program and the base.
chmod 711 "$top"
rm "$top/bin/pointsman" && cp "$program" "$top/bin/pointsman"
{
    cat /etc/passwd
    for account in owner:70001 ada:70002 olga:70003 alice:70004 bob:70005 \
        vic:70006 eve:70007; do
        echo "${account%:*}:x:${account#*:}:${account#*:}::/:/bin/sh"
    done
} >"$top/passwd"
{
    cat /etc/group
    echo 'dev:x:70100:owner,alice,bob'
} >"$top/group"
chmod 644 "$top/passwd" "$top/group"
mount --bind "$top/passwd" /etc/passwd && mount --bind "$top/group" /etc/group ||
    exit 1

# as ACCOUNT COMMAND...: runs the command as that account
as() {
    as_account=$1
    shift
    as_groups=0
    case $as_account in owner | alice | bob) as_groups=70100 ;; esac
    ${as_exec:-} setpriv --reuid "$as_account" --regid "$(id -u "$as_account")" \
        --groups "$as_groups" -- "$@"
}

# never COMMAND...: the command must fail
never() {
    if "$@" 2>/dev/null; then wrong "'$*' succeeded"; fi
}

# shared LINE...: a base of `owner` with these lines in [access], and its server
shared() {
    chmod 711 "$here"
    mkdir base
    chown owner base
    as owner pointsman -q init base
    {
        echo '[access]'
        printf '%s\n' "$@"
    } >>base/pointsman.conf
    serve_as owner
}

# serve_as ACCOUNT: starts the server as that account
serve_as() {
    (as_exec=exec && as "$1" pointsman serve --listen off) 2>>serve.err &
    server=$!
    started="$started $server"
    within sh -c 'until pointsman status >/dev/null 2>&1 && test -S base/ctrl/sock
        do :; done'
}

matrix() {
    shared 'viewer = vic' 'submitter = @dev' 'operator = olga' 'admin = ada'
    for account in vic alice olga ada owner; do
        as $account pointsman list
    done
    ends 77 as eve pointsman list
    says 'this needs the role viewer, and uid 70007 has the role nobody' err
    says 'vic, @dev, olga and ada may do it' err
    ends 77 as vic pointsman submit --id v -- true
    says 'this needs the role submitter' err
    as alice pointsman submit --id one --hold -- true
    as alice pointsman submit --id two --hold -- true
    ends 77 as bob pointsman cancel one
    says 'role operator for a job of somebody else' err
    ends 77 as bob pointsman hold one
    ends 77 as bob pointsman release one
    as alice pointsman cancel one
    ends 77 as bob pointsman retry one
    as olga pointsman cancel two
    ends 77 as alice pointsman cron add n '0 1 * * *' -- true
    as olga pointsman cron add n '0 1 * * *' -- true
    ends 77 as olga pointsman set queue.concurrency 3
    as ada pointsman set queue.concurrency 3
    # A bulk command counts only the jobs that the caller may change.
    as alice pointsman submit --id three --hold -- true
    as bob pointsman submit --id four --hold -- true
    as bob pointsman cancel --match 'state:P' --yes
    as ada pointsman list --json three >three
    says '"state":"P"' three
}
scenario 'each role may do what it should and nothing more' matrix

closed() {
    shared 'submitter = @dev' 'admin = ada'
    as owner pointsman submit --id secret --hold -- true
    for file in pointsman.conf ctrl/registry.db log tmp queue done attempts; do
        never as alice test -r "base/$file"
        test "$file" = tmp || never as alice test -w "base/$file"
    done
    for verb in fsck 'config check' 'config show' doctor 'backup b' serve \
        'daemon all --once'; do
        # shellcheck disable=SC2086
        ends 77 as ada pointsman $verb
        says 'owner' err
    done
    kill -TERM "$server"
    wait "$server"
    ends 69 as alice pointsman list
    says 'no server is running' err
    ends 69 as alice pointsman run -- true
    says 'no server is running' err
    as owner pointsman list
}
scenario 'only the owner and root open the files of a base' closed

changed() {
    shared 'viewer = vic'
    ends 77 as alice pointsman list
    sed -i 's/^viewer = vic/viewer = alice/' base/pointsman.conf
    kill -HUP "$server"
    within sh -c 'until grep -q reloaded serve.err; do :; done'
    as alice pointsman list
    ends 77 as vic pointsman list
    echo 'operator = nobody-here' >>base/pointsman.conf
    ends 78 pointsman config check
    says "'nobody-here', which is no account" err
    ends 1 pointsman doctor
}
scenario 'roles change when the configuration is read again' changed

# drop ACCOUNT NAME: hands in a set by files
drop() {
    make_set "$2" DC f content
    chmod 644 "$made"
    as "$1" pointsman change put "$made"
}

by_files() {
    make_base
    chmod 711 "$here"
    chown -R owner base project.git
    printf '[access]\nsubmitter = @dev\n' >>base/conf.d/access.conf
    as owner pointsman config check >/dev/null
    as owner pointsman daemon all --until-idle
    drop alice good
    never drop eve bad
    test "$(stat -c %U base/data/good*)" = alice
    # The data of another account is replaced by a copy before it is checked.
    as owner pointsman daemon prequeue --until-idle
    as owner pointsman status good >said
    says 'alice' said
    test "$(stat -c %U base/data/good*)" = owner
    # With more than a group, everybody can write files, and roles decide.
    printf '[access]\nsubmitter = alice, bob\n' >base/conf.d/access.conf
    as owner pointsman daemon prequeue --until-idle
    test "$(stat -c %a base/prequeue)" = 1733
    drop eve worse
    as owner pointsman daemon prequeue --until-idle
    says 'uid 70007 does not have the role submitter' base/reject/*.why
    ends 66 as owner pointsman status worse
    # Nobody submits in the name of another one.
    as eve sh -c ': >base/tmp/mine'
    ends 1 as eve rm base/data/good*
}
scenario 'the file route takes the sets of those who may submit' by_files

asked() {
    make_base
    chmod 711 "$here"
    printf '[access]\nsubmitter = alice, bob\nviewer = vic\n' \
        >base/conf.d/access.conf
    chown -R owner base project.git
    serve_as owner
    make_set C1 DC a one
    chmod 644 "$made"
    as alice pointsman change submit "$made"
    as alice pointsman wait C1
    before=$(as owner git -C project.git rev-parse main)
    as bob pointsman rollback --preview C1 >said
    says 'the reverse merges are clean' said
    ends 77 as vic pointsman rollback --preview C1
    make_set C2 DC a two
    chmod 644 "$made"
    as bob pointsman change submit "$made"
    as bob pointsman wait C2
    ends 1 as bob pointsman rollback --preview --json C1
    says '"merges":"rb-conflict"' out
    make_set C3 DC b three
    chmod 644 "$made"
    as bob pointsman approve --tarball "$made" --as bob@example.org \
        --ticket OPS-1 >said
    says 'set C3' said
    says 'by bob@example.org' said
    says 'ticket OPS-1' said
    ends 65 as bob pointsman approve --tarball - --as bob <"$made"
    says 'has no name yet' err
    ends 77 as vic pointsman approve --tarball "$made" --as vic
    ends 100 as bob pointsman approve --tarball - --as bob </etc/passwd
    same 'commits after' "$(as owner git -C project.git rev-list --count "$before..main")" 1
    # Nothing of it is left behind.
    same 'files in tmp' "$(find base/tmp -mindepth 1 | wc -l)" 0
}
scenario 'others preview rollbacks and prepare approvals through the server' \
    asked

migrated() {
    chmod 711 "$here"
    mkdir base
    chown owner base
    as owner pointsman -q init base
    chgrp -R 70100 base
    chmod 2770 base base/*/
    chmod 660 base/ctrl/registry.db* base/pointsman.conf
    ends 1 as owner pointsman fsck
    says 'mode 2770' out
    serve_as owner
    says "members of group 'dev'" serve.err
    says 'submitter = @dev' base/pointsman.conf
    as alice pointsman list
    never as alice test -r base/ctrl/registry.db
    ends 77 as eve pointsman list
    as owner pointsman fsck
}
scenario 'a base that a group shared is closed, and its members keep their role' \
    migrated

finish
