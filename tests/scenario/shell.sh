#!/bin/sh
# shell.sh PROGRAM: `pointsman shell`, the forced command of ssh keys, as sshd
# starts it. The accounts exist only in the mount namespace of this script;
# gate.sh does the same through a real sshd.
# shellcheck source=tests/support/accounts.sh
. "$(dirname "$0")/../support/accounts.sh"

mkdir "$top/home"
make_accounts owner:70001 "gate:70002:$top/home" bob:70003 eve:70004 || exit 1

# as ACCOUNT COMMAND...: runs the command as that account
as() {
    as_account=$1
    shift
    ${as_exec:-} setpriv --reuid "$as_account" --regid "$(id -u "$as_account")" \
        --clear-groups -- "$@"
}

# ssh_as PERSON LINE: what sshd does when the key of the person sends the line;
# $account is the account under which it does so
ssh_as() {
    ssh_person=$1
    shift
    as "${shell_account:-gate}" env "SSH_ORIGINAL_COMMAND=$*" \
        pointsman shell --as "$ssh_person" --base "$here/base"
}

# open_gate LINE...: a base of `owner` with target main, where ann and bob are
# submitters and olga is an operator; the lines follow in its configuration
open_gate() {
    make_base
    chmod 711 "$here"
    {
        echo '[access]'
        echo 'shell = gate'
        echo 'submitter = person:ann, person:bob, bob'
        echo 'operator = person:olga'
        echo 'viewer = *'
        printf '%s\n' "$@"
    } >>base/conf.d/access.conf
    chown -R owner base project.git
    (as_exec=exec && as owner pointsman serve --listen off) 2>>serve.err &
    server=$!
    started="$started $server"
    within sh -c 'until test -S base/ctrl/sock; do :; done'
}

# ask.py SOCKET PERSON 'METHOD PATH BODY': sends one request for the person
cat >"$top/ask.py" <<'END'
import socket, sys
path, person, request = sys.argv[1:]
method, uri, body = request.split(" ", 2)
with socket.socket(socket.AF_UNIX) as sock:
    sock.connect(path)
    sock.sendall((f"{method} {uri} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                  f"Pointsman-Person: {person}\r\n"
                  f"Content-Length: {len(body)}\r\n\r\n{body}").encode())
    print(sock.makefile().read())
END
policy='[approval "all"]'

# named_set ID CLASS FILE TEXT [META LINE]...: a set that knows its name, as
# `change pack` writes it; $made is its path
named_set() {
    make_set "$@"
    printf '##set-name\n%s\n' "$(basename "$made")" >>"$here/packing/meta"
    tar -C "$here/packing" -cf "$made" meta lroot
}

persons_act() {
    open_gate "$policy"
    named_set C1 DC a one
    ssh_as ann change submit - <"$made" >said
    same 'id of the set' "$(cat said)" C1
    ssh_as ann status C1 >said
    says 'by person ann' said
    ssh_as ann status --json C1 >said
    says '"actor":"person:ann/uid:70002"' said
    # A job belongs to the person who submitted it.
    ends 77 ssh_as bob hold C1
    says 'role operator for a job of somebody else, and person bob has the role' err
    ends 77 ssh_as zoe hold C1
    ssh_as ann hold C1
    ssh_as olga release C1
    # Nobody approves a set of their own, and roles decide.
    ends 77 ssh_as ann approve C1
    says 'your own set' err
    ends 77 ssh_as zoe approve C1
    ssh_as bob approve C1
    as owner pointsman wait C1
    as owner pointsman history --json C1 >said
    says '"actor":"person:bob/uid:70002"' said
    as owner git -C project.git log -1 --format=%B main >said
    says 'CS-Approved-By: bob' said
    as owner git -C project.git log -1 --format='%an <%ae>' main >said
    says 'ann <ann@localhost>' said
}
scenario 'each person submits, approves and owns jobs under their own name' \
    persons_act

one_person() {
    open_gate "$policy" '[person "ann"]' 'accounts = eve' \
        'principals = ann@example.org'
    named_set C1 DC a one
    as bob pointsman change submit "$made"
    # Account bob and person bob have the same name.
    ends 77 ssh_as bob approve C1
    says 'is the person who submitted' err
    named_set C2 DC b two
    ssh_as bob change submit - <"$made"
    ends 77 as bob pointsman approve C2
    named_set C3 DC c three '##author' 'Ann <ann@example.org>'
    as bob pointsman change submit "$made"
    ends 77 ssh_as ann approve C3
    ssh_as ann approve C1
    as owner pointsman wait C1
}
scenario 'the names of one person count as one person' one_person

only_the_gate() {
    open_gate
    for shell_account in owner bob eve root; do
        ends 77 ssh_as ann list
        says "may not act for 'ann'" err
    done
    shell_account=gate
    # The account itself has no role, although everybody else is a viewer.
    ends 77 as gate pointsman list
    says 'has no role of its own' err
    as eve pointsman list
    named_set C1 DC a one
    chmod 644 "$made"
    as gate pointsman change put "$made"
    within sh -c 'until grep -q "does not have the role" base/reject/*.why
        do :; done' 2>/dev/null
    ends 66 as owner pointsman status C1
    # Names that are no names of persons
    for person in '' 'ann bob' 'ann/x' 'ann,bob' "$(printf 'ann\nX: y')"; do
        ends 64 ssh_as "$person" list
    done
    ends 64 as gate env SSH_ORIGINAL_COMMAND=list pointsman shell --as ann
    ends 64 as gate env SSH_ORIGINAL_COMMAND=list pointsman shell --base base
}
scenario 'only the account of the gate acts for persons, and for nobody else' \
    only_the_gate

admitted() {
    open_gate 'admin = person:ada'
    for line in 'init /x' serve 'daemon all --once' fsck 'fsck --rebuild' \
        'backup -' 'restore -' 'config check' 'config show' doctor \
        'change pack x' 'change put /etc/passwd' 'help' \
        'version' 'cron check 1' 'submit -- true' 'run -- true' \
        'cron add n "0 1 * * *" -- true' 'cron import -' 'shell --as olga' guard land revert confine \
        check-set check-signature; do
        ends 77 ssh_as ada "$line"
        says 'is not offered over ssh' err
    done
    ends 64 ssh_as ada 'sh -c id'
    for line in 'change submit /etc/passwd' 'change submit - ./x' \
        'approve --signature /etc/x C1' \
        'change submit --approval /etc/passwd -' \
        'approve --tarball /etc/passwd' 'export-cdb /tmp/x'; do
        ends 77 ssh_as ada "$line"
        says 'would be a file of the server' err
    done
    for line in 'approve --sign-with /etc/ssh/ssh_host_rsa_key C1' \
        '--server unix:/tmp/x list' 'list --server=http://localhost:1'; do
        ends 77 ssh_as ada "$line"
        says 'cannot be used over ssh' err
    done
    ends 64 ssh_as ada 'list --base /elsewhere'
    ends 64 ssh_as ada 'change submit - -'
    says 'only once' err
    # The server refuses commands too: there is no account to run them under.
    for request in 'POST /api/v1/jobs {"command":["x"]}' \
        'POST /api/v1/jobs/batch {"command":["x"]}' \
        'PUT /api/v1/schedules/n {"item":"0 1 * * *","command":["x"]}'; do
        as gate env PATH=/usr/bin:/bin python3 "$top/ask.py" base/ctrl/sock ada "$request" >said
        says 'has no account under which a command could run' said
    done
    same 'number of jobs' "$(as owner pointsman list --json --all | wc -l)" 0
    same 'number of schedules' "$(as owner pointsman cron list --json | wc -l)" 0
    ssh_as ada 'set queue.concurrency 3'
    ssh_as ada settings >said
    says 'queue.concurrency' said
}
scenario 'only commands of the server are offered, and no file of it' admitted

words() {
    open_gate
    named_set C1 DC a one
    ssh_as ann change submit - <"$made"
    as owner pointsman wait C1
    ssh_as ann "pointsman  status  'C1'" >said
    says C1 said
    ssh_as ann 'status "C"1' >said
    says C1 said
    ssh_as ann 'status C\1' >said
    says C1 said
    ends 64 ssh_as ann 'list;id'
    ends 66 ssh_as ann 'status C1;id'
    ends 66 ssh_as ann 'status $(id)'
    ends 66 ssh_as ann 'status `id`'
    ends 66 ssh_as ann 'status C1 | sh'
    ends 66 ssh_as ann "status C1 > $here/made"
    ends 66 ssh_as ann 'status *'
    ends 66 ssh_as ann 'status $HOME'
    test ! -e made
    ends 65 ssh_as ann "status 'C1"
    ends 65 ssh_as ann 'status C1\'
    # Nothing of the environment of the client is used.
    as gate env SSH_ORIGINAL_COMMAND='status C1' POINTSMAN_BASE=/elsewhere \
        LC_ALL=xx PATH=/nonexistent \
        "$top/bin/pointsman" shell --as ann --base "$here/base" >said
    says C1 said
    # No command
    as gate pointsman shell --as ann --base base >said
    same 'who it is' "$(cut -d. -f1 said)" 'You are ann, with the role submitter'
    says 'change submit' said
    says_not 'cron pause' said
    ssh_as olga '' >said
    says 'role operator' said
    says 'cron pause' said
    ssh_as ann 'list --help' >said
    says "usage: pointsman list" said
    kill -TERM "$server"
    wait "$server"
    ends 69 ssh_as ann list
    says 'no server is running' err
    shell_account=root ends 69 ssh_as ann list
}
scenario 'a line is split into words and means nothing else' words

rolled_back() {
    open_gate
    named_set C1 DC a one
    ssh_as ann change submit - <"$made"
    as owner pointsman wait C1
    # A rollback by somebody who is no operator needs one.
    ssh_as ann rollback C1 >said
    as owner pointsman why "$(cat said)" >said
    says 'operator' said
    named_set C2 DC b two
    ssh_as ann change submit - <"$made"
    as owner pointsman wait C2
    # A rollback needs a temporary file; the client does not choose where.
    as gate env SSH_ORIGINAL_COMMAND='rollback C2' TMPDIR=/nonexistent \
        pointsman shell --as olga --base base >said
    as owner pointsman wait "$(cat said)"
    ends 128 as owner git -C project.git show main:b
}
scenario 'an operator without an account rolls back at once' rolled_back

reported() {
    open_gate
    as owner pointsman doctor >said || :
    says 'its account has no role of its own and cannot add keys' said
    chown gate "$top/home"
    ends 1 as owner pointsman doctor
    says "can write to '$top/home'" out
    chown root "$top/home"
    mkdir "$top/home/.ssh"
    forced='command="pointsman shell --as ann --base /x",restrict'
    keys() {
        {
            echo "# keys"
            printf '%s ssh-ed25519 AAAA ann\n' "$forced" "$@"
        } >"$top/home/.ssh/authorized_keys"
    }
    keys 'restrict,command="/usr/bin/pointsman shell --as a,b --base /x y"' \
        'Restrict,no-pty,Command="pointsman shell --as a --base \"/x\""'
    as owner pointsman doctor >said || :
    says 'cannot add keys' said
    for line in '' restrict 'command="sh",restrict' "${forced%,*}" \
        'command="pointsman shell --as a,restrict"' 'xrestrict'; do
        keys "$line"
        ends 1 as owner pointsman doctor
        says "with the key of line 3 of '$top/home/.ssh/authorized_keys'" out
    done
    rm -r "$top/home/.ssh"
    echo 'operator = gate' >>base/conf.d/access.conf
    ends 1 as owner pointsman doctor
    says "is given the role operator by 'gate'" out
    printf '[target "main"]\nuser = gate\n' >base/conf.d/user.conf
    ends 1 as owner pointsman doctor
    says "runs the checks of target 'main'" out
    rm base/conf.d/user.conf
    printf '[access]\nshell = owner\n' >base/conf.d/access.conf
    ends 1 as owner pointsman doctor
    says 'is the owner of the base: it cannot act for persons' out
    printf '[access]\nshell = nobody-here\n' >base/conf.d/access.conf
    ends 78 as owner pointsman config check
    says "'nobody-here'" err
    printf '[access]\nshell = @dev\n' >base/conf.d/access.conf
    ends 78 as owner pointsman config check
    says "'@dev' is not an account" err
    printf '[access]\nsubmitter = person:\n' >base/conf.d/access.conf
    ends 78 as owner pointsman config check
}
scenario 'doctor and config check report a gate that does not keep people apart' \
    reported

hung_up() {
    open_gate "$policy"
    named_set C1 DC a one
    ssh_as ann change submit - <"$made"
    mkfifo gone
    for line in 'wait C1' 'events -f' 'logs -f C1'; do
        ssh_as ann "$line" >gone 2>/dev/null &
        waiting=$!
        started="$started $waiting"
        exec 3<gone
        exec 3<&-
        within tail --pid="$waiting" -f /dev/null
    done
}
scenario 'a command ends if its caller hangs up' hung_up

rebuilt() {
    open_gate
    named_set C1 DC a one
    ssh_as ann change submit - <"$made"
    as owner pointsman wait C1
    kill -TERM "$server"
    wait "$server"
    rm base/ctrl/registry.db*
    as owner pointsman fsck --rebuild
    as owner pointsman status --json C1 >said
    says '"actor":"person:ann/uid:70002"' said
}
scenario 'a rebuilt registry still says who submitted a set' rebuilt

finish
