#!/bin/sh
# roles.sh PROGRAM: a base that several accounts share. The accounts exist only
# in the mount namespace of this script.
# shellcheck source=tests/support/accounts.sh
. "$(dirname "$0")/../support/accounts.sh"

make_accounts owner:70001 ada:70002 olga:70003 alice:70004 bob:70005 vic:70006 \
    eve:70007 || exit 1
add_lines /etc/group 'dev:x:70100:owner,alice,bob' || exit 1

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

# shared LINE...: a base of $serving (default: owner) with these lines in
# [access], and its server
shared() {
    chmod 711 "$here"
    mkdir base
    chown "${serving:-owner}" base
    as "${serving:-owner}" pointsman -q init base
    {
        echo '[access]'
        printf '%s\n' "$@"
    } >>base/pointsman.conf
    serve_as "${serving:-owner}"
}

# reload: lets the server read the configuration again
reload() {
    reloads=$(grep -c reloaded serve.err || :)
    kill -HUP "$server"
    within sh -c 'until [ "$(grep -c reloaded serve.err)" -gt "$0" ]; do :; done' \
        "$reloads"
}

# serve_as ACCOUNT: starts the server as that account
serve_as() {
    (as_exec=exec && as "$1" pointsman serve --listen off) 2>>serve.err &
    server=$!
    started="$started $server"
    within sh -c 'until pointsman status >/dev/null 2>&1 && test -S base/ctrl/sock
        do :; done' || {
        pointsman status || :
        cat serve.err
        wrong 'the server does not answer'
    }
}

matrix() {
    shared 'viewer = vic' 'submitter = @dev' 'operator = olga' 'admin = ada' \
        'commands-as-owner = yes'
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
    says '"state":"pending"' three
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
        says 'only its owner (uid 70001) and root can do that' err
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
    reload
    as alice pointsman list
    ends 77 as vic pointsman list
    echo 'operator = nobody-here' >>base/pointsman.conf
    ends 78 pointsman config check
    grep -q "pointsman.conf:[0-9]*: \[access\] names 'nobody-here', which" err
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
    # Nobody submits in the name of another one, not even the data of a marker
    # that waits for it.
    make_set waits DC g content
    : >base/prequeue/"${made##*/}"
    chown owner base/prequeue/"${made##*/}"
    as alice sh -c "cat >base/data/${made##*/}" <"$made"
    printf '[queue]\nwait-for-job = 0\n' >base/conf.d/wait.conf
    as owner pointsman daemon prequeue --until-idle
    says 'belongs to another account than its marker' \
        base/reject/"${made##*/}.why"
    ends 66 as owner pointsman status waits
    as eve sh -c ': >base/tmp/mine'
    ends 1 as eve rm base/data/good*
}
scenario 'the file route takes the sets of those who may submit' by_files

# of_owner LINE...: a base with a branch, and these lines in its configuration
of_owner() {
    make_base
    chmod 711 "$here"
    printf '%s\n' "$@" >base/conf.d/access.conf
    chown -R owner base project.git
    serve_as owner
}

apart() {
    of_owner '[access]' 'submitter = alice, bob'
    for set in 'alice first 2' 'bob second 2' 'bob third 9' 'alice fourth 2'; do
        # shellcheck disable=SC2086
        set -- $set
        make_set "$2" DC "$2" content '##group' "g $3"
        chmod 644 "$made"
        as "$1" pointsman change submit "$made"
    done
    for id in first fourth; do
        ends 0 as owner timeout "${SCENARIO_NET:-120}" pointsman wait "$id"
    done
    as owner pointsman why second >said
    says "group 'g': 2 of 9 sets have arrived" said
}
scenario 'nobody adds a set to the group of somebody else' apart

lost_role() {
    of_owner '[access]' 'submitter = alice, bob' 'operator = olga' \
        '[approval "p"]' 'role = operator'
    make_set C1 DC a one
    chmod 644 "$made"
    as alice pointsman change submit "$made"
    as owner pointsman hold C1
    as olga pointsman approve C1
    as owner pointsman status --json C1 >said
    says_not '"approval"' said
    sed -i 's/olga/bob/' base/conf.d/access.conf
    reload
    await '"id":"C1".*"reason":"withdrawn"'
    as owner pointsman why C1 >said
    says "the approval by uid:70003 does not count any more" said
    as bob pointsman approve C1
    as owner pointsman release C1
    as owner timeout "${SCENARIO_NET:-120}" pointsman wait C1
}
scenario 'an approval counts only while its giver has the role' lost_role

lost_operator() {
    of_owner '[access]' 'submitter = alice' 'operator = olga'
    make_set C1 DC a one
    chmod 644 "$made"
    as alice pointsman change submit "$made"
    as owner timeout "${SCENARIO_NET:-120}" pointsman wait C1
    mv project.git away.git
    mkdir -m 1777 private
    id=$(as olga env TMPDIR="$here/private" pointsman -q rollback C1)
    sed -i 's/olga/bob/' base/conf.d/access.conf
    reload
    await "\"id\":\"$id\".*\"reason\":\"expired\""
    mv away.git project.git
    as bob pointsman approve "$id"
    as owner timeout "${SCENARIO_NET:-120}" pointsman wait "$id"
}
scenario 'a rollback waits if its submitter is no operator any more' lost_operator

# supersedes_C1 ACCOUNT ID COMMAND: hands in a set that replaces C1
supersedes_C1() {
    make_set "$2" DC "$2" content '##supersedes' C1
    chmod 644 "$made"
    as "$1" pointsman change "$3" "$made"
}

replaced() {
    of_owner '[access]' 'submitter = alice, bob' 'operator = olga'
    make_set C1 DC C1 content '##dependencies' none
    chmod 644 "$made"
    as alice pointsman change submit "$made"
    as alice pointsman cancel C1
    ends 100 supersedes_C1 bob M1 submit
    says "it supersedes 'C1', which somebody else submitted" err
    supersedes_C1 bob M2 put
    within sh -c 'until [ -e base/reject/M2*.why ]; do :; done'
    says 'needs the role operator' base/reject/M2*.why
    for by in 'alice C2' 'olga C3'; do
        # shellcheck disable=SC2086
        supersedes_C1 $by submit
        as owner timeout "${SCENARIO_NET:-120}" pointsman wait "${by#* }"
    done
}
scenario 'nobody replaces the set of somebody else' replaced

kept() {
    shared 'submitter = alice' 'operator = olga' 'commands-as-owner = yes'
    for id in own held; do
        as alice pointsman submit --id $id --hold -- true
    done
    as alice pointsman release own
    # An operator who holds it too makes the hold his.
    as olga pointsman hold held
    ends 77 as alice pointsman release held
    says 'held by somebody else than its submitter' err
    as alice pointsman hold held
    ends 77 as alice pointsman release held
    as olga pointsman release held
    as owner timeout "${SCENARIO_NET:-120}" pointsman wait own held
}
scenario 'a submitter does not lift the hold of an operator' kept

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

# ---- under which account work runs -------------------------------------------

# access LINE...: the section [access] from now on
access() {
    {
        echo '[access]'
        printf '%s\n' "$@"
    } >base/conf.d/access.conf
    [ -z "${server:-}" ] || reload
}

# gate OWNER: a base of that account with the target `main`
gate() {
    make_base
    chmod 711 "$here"
    chown -R "$1" base project.git
    server=
}

# submitted ACCOUNT ID [META LINE]...: hands in a set over the socket
submitted() {
    submitter=$1 submitted_id=$2
    shift 2
    make_set "$submitted_id" DC "$submitted_id" content "$@"
    as "$submitter" pointsman change submit "$made"
}

# ran_as ID ACCOUNT: its checks or commands ran as that account
ran_as() {
    same "accounts of $1" "$(pointsman logs --attempts --json "$1" |
        jq .attempt | while read -r attempt; do
            pointsman logs --attempt "$attempt" "$1"
        done | grep -xE 'root|owner|alice|bob|ada|olga' | uniq)" "$2"
}

# held ID TEXT: the job is held, and `why` shows the text as the reason
held() {
    within sh -c "until pointsman why $1 | grep -q 'held (account)'; do :; done"
    pointsman why "$1" >why
    says 'held (account)' why
    says "$2" why
}

refused_commands() {
    shared 'submitter = @dev' 'operator = olga' 'admin = ada'
    for account in alice olga ada; do
        ends 77 as $account pointsman submit -- true
        says 'commands-as-owner' err
    done
    ends 77 as alice pointsman run -- true
    seq 3 >lines
    ends 77 as alice pointsman submit --array lines -- true
    echo '{"command":["true"]}' >batch
    ends 65 as alice pointsman submit --batch <batch
    says 'commands-as-owner' out
    ends 77 as olga pointsman cron add n '0 1 * * *' -- true
    for user in owner root ada; do
        ends 77 as alice pointsman submit --user $user -- true
        says 'may only name its own account' err
        ends 77 as olga pointsman cron add --user $user n '0 1 * * *' -- true
    done
    ends 77 as ada pointsman submit --user root -- true
    says 'only root can change users' err
    same 'jobs' "$(pointsman list --json)" ''
    # What does not happen by accident: an admin names the owner, root submits.
    same user "$(as ada pointsman run --user owner -- id -un)" owner
    same user "$(pointsman run -- id -un)" owner
    same user "$(as owner pointsman run -- id -un)" owner
    echo 'commands-as-owner = yes' >>base/pointsman.conf
    reload
    same user "$(as alice pointsman run -- id -un)" owner
    as olga pointsman cron add n '0 1 * * *' -- true
    for user in owner root ada; do
        ends 77 as alice pointsman run --user $user -- true
    done
}
scenario 'a server that is not root refuses the commands of others' \
    refused_commands

root_commands() {
    mkdir base
    chmod 711 "$here"
    pointsman -q init base
    mkdir base/conf.d
    access 'submitter = @dev' 'operator = olga' 'admin = ada' \
        'commands-as-owner = yes'
    serve_as root
    same user "$(as alice pointsman run -- id -un)" alice
    same groups "$(as alice pointsman run -- id -Gn)" 'alice dev' ||
        same groups "$(as alice pointsman run -- id -G)" '70004 70100'
    same user "$(as alice pointsman run --user alice -- id -un)" alice
    same user "$(as ada pointsman run -- id -un)" ada
    same user "$(as ada pointsman run --user bob -- id -un)" bob
    same user "$(pointsman run -- id -un)" root
    for user in root bob 0; do
        ends 77 as alice pointsman run --user $user -- id -un
        ends 77 as olga pointsman cron add --user $user n '0 1 * * *' -- id
    done
    echo '{"command":["id","-un"],"id":"batched"}' >batch
    as alice pointsman submit --batch <batch
    as alice pointsman wait batched
    same user "$(pointsman logs batched)" alice
    printf 'n\nu\n' >lines
    as alice pointsman submit --id array --array lines -- sh -c 'id -un' >/dev/null
    pointsman wait array
    same users "$(pointsman logs array | grep -c alice)" 2
    as olga pointsman cron add sched '0 1 * * *' -- id -un
    id=$(pointsman cron run sched)
    pointsman wait "$id"
    same user "$(pointsman logs "$id")" olga
    # The file belongs to root, and the task cannot read it.
    ends 1 as alice pointsman run -- cat base/pointsman.conf
    pointsman doctor >doctor || :
    says 'commands of others; run under the accounts of their submitters' doctor
}
scenario 'a server of root runs commands under the accounts of their submitters' \
    root_commands

refused_sets() {
    gate owner
    access 'submitter = @dev'
    sed -i '/^git = /a check.unit = sh -c "id -un"' base/pointsman.conf
    serve_as owner
    make_set S1 DC f content
    ends 77 as alice pointsman change submit "$made"
    says 'no-account' err
    says 'checks-as-owner' err
    as alice pointsman change put "$made"
    within sh -c 'until ls base/reject/S1*.why >/dev/null 2>&1; do :; done'
    says 'no-account' base/reject/S1*.why
    submitted owner S2
    pointsman wait S2
    ran_as S2 owner
    as owner pointsman doctor >doctor
    says "target 'main'; sets of others are refused" doctor
    access 'submitter = @dev' 'checks-as-owner = yes'
    submitted alice S3
    pointsman wait S3
    ran_as S3 owner
    as owner pointsman doctor >doctor
    says "warn run-as         target 'main'; sets of others are checked" doctor
    # Without checks nothing of a set runs.
    access 'submitter = @dev'
    sed -i /check.unit/d base/pointsman.conf
    reload
    submitted alice S4
    pointsman wait S4
}
scenario 'checks never run as the owner for a set of somebody else' refused_sets

root_sets() {
    gate root
    access 'submitter = alice, bob, @dev'
    sed -i '/^git = /a check.unit = sh -c "id -un; touch made; test ! -e drop.sh || sh drop.sh"' \
        base/pointsman.conf
    serve_as root
    # What the check of a set of alice puts here was not submitted by her.
    make_set E1 DC E1 content
    chmod 644 "$made"
    make_set S0 DC drop.sh \
        "PATH=$PATH pointsman --base $here/base change put $made; exit 1"
    chmod 644 "$made"
    as alice pointsman change submit "$made"
    within sh -c 'until ls base/reject/E1_*.why >/dev/null 2>&1; do :; done'
    says "from-job: change set 'S0' was being checked" base/reject/E1_*.why
    ends 1 pointsman wait S0
    submitted alice S1
    pointsman wait S1
    ran_as S1 alice
    make_set S2 DC S2 content
    chmod 644 "$made"
    as bob pointsman change put "$made"
    await '"id":"S2".*"to":"done"'
    ran_as S2 bob
    submitted root S3
    pointsman wait S3
    ran_as S3 root
    submitted bob G1 '##group' 'pair 2'
    submitted bob G2 '##group' 'pair 2'
    pointsman wait G1 G2
    ran_as G2 bob # the checks of a group are an attempt of its last set
    # Whoever names the owner wants that.
    sed -i 's/^user =.*/user = root/' base/pointsman.conf
    reload
    make_set S5 DC S5 content
    ends 77 as alice pointsman change submit "$made"
}
scenario 'a server of root checks sets under the accounts of their submitters' \
    root_sets

# shut_out LANES
shut_out() {
    gate root
    printf '[target "main"]\nlanes = %s\n' "$1" >base/conf.d/lanes.conf
    sed -i '/^git = /a check.unit = sh -c "id -un"' base/pointsman.conf
    sed -i 's/^user =.*/user = alice/' base/pointsman.conf
    cat >>base/pointsman.conf <<'END'
[target "site"]
command = sh -c 'id -un'
user = alice
END
    chmod 700 "$here"
    serve_as root
    submitted root S1
    held S1 "user 'alice' cannot enter '$here/base/tmp/"
    pointsman status S1 >status
    says "forbidden: cannot run check 'unit': user 'alice' cannot enter '" status
    set_target=site
    submitted root S2
    held S2 "user 'alice' cannot enter '$here/base/tmp/"
    ends 1 pointsman doctor
    says "job 'S1' of uid 0 and 1 more; was held at its start: cannot run" out
    says "user 'alice' cannot enter '$here/base/tmp/" out
    chmod 711 "$here"
    pointsman release S1 S2
    pointsman wait S1 S2
    ran_as S1 alice
    ran_as S2 alice
}
scenario 'a set is held if the account of its checks cannot enter their directory' \
    shut_out 1
scenario 'a set on a merge train is held for the account of its checks too' \
    shut_out 2

# ---- on a merge train: the code of several sets is checked together ----------

# train_gate OWNER [LINE]...: a base of that account whose target has four
# lanes. Its check records in `open/ran` for which set and as which account it
# runs, and the files of sets that it sees. While the FIFO wait.ID exists, it
# waits.
train_gate() {
    gate "$1"
    shift
    {
        printf '[target "main"]\nlanes = 4\n'
        printf "check.unit = sh '%s'\n" "$here/unit.sh"
        [ $# -eq 0 ] || printf '%s\n' "$@"
    } >base/conf.d/train.conf
    mkdir -m 777 open
    : >open/ran
    chmod 666 open/ran
    cat >unit.sh <<EOF
id -un
echo "\$POINTSMAN_CSID \$(id -un)" S* >>'$here/open/ran'
test ! -p '$here/open/wait.'\$POINTSMAN_CSID ||
    read -r word <'$here/open/wait.'\$POINTSMAN_CSID
EOF
}

# waiting ID...: the checks of these sets wait
waiting() {
    for waiting_id in "$@"; do
        mkfifo -m 666 "open/wait.$waiting_id"
    done
}

# go_on ID...: the checks of these sets go on
go_on() {
    for go_id in "$@"; do
        mv "open/wait.$go_id" "open/gone.$go_id"
        echo go 1<>"open/gone.$go_id"
    done
}

# ran ID ACCOUNT FILES: the check of the set ran once, as that account, and saw
# these files of sets
ran() {
    same "runs of $1" "$(grep "^$1 " open/ran)" "$1 $2 $3"
}

train_of_submitters() {
    train_gate root
    access 'submitter = @dev'
    waiting S1 S3
    serve_as root
    submitted alice S1
    submitted alice S2
    submitted bob S3
    submitted root S4
    # Sets of one account are checked together. A set of somebody else waits
    # until those ahead of it have landed, and so does what is behind it.
    await '"id":"S2".*"reason":"passed"'
    within sh -c "until pointsman why S3 | grep -q 'sets of other accounts'; do
        :; done"
    ran S1 alice 'S1'
    ran S2 alice 'S1 S2'
    same 'runs of S3 and S4' "$(grep -c '^S[34] ' open/ran)" 0
    go_on S1
    pointsman wait S1 S2
    # A set of the owner may be checked under the account of another set.
    await '"id":"S4".*"reason":"passed"'
    within sh -c 'until grep -q "^S3 " open/ran; do :; done'
    ran S3 bob 'S1 S2 S3'
    ran S4 bob 'S1 S2 S3 S4'
    same 'state of S3' "$(pointsman status --json S3 | jq -r .state)" executing
    go_on S3
    pointsman wait S3 S4
}
scenario 'sets of two accounts are not checked together on a merge train' \
    train_of_submitters

train_of_user() {
    train_gate root 'user = vic'
    access 'submitter = @dev'
    waiting S1 S2 S3
    serve_as root
    submitted alice S1
    submitted bob S2
    submitted root S3
    for id in S1 S2 S3; do
        await "\"id\":\"$id\".*\"reason\":\"run\""
    done
    go_on S1 S2 S3
    pointsman wait S1 S2 S3
    ran S1 vic 'S1'
    ran S2 vic 'S1 S2'
    ran S3 vic 'S1 S2 S3'
}
scenario 'with a user of the target, sets of all accounts are checked at once' \
    train_of_user

# What was allowed when a set was admitted is judged again at each run.
train_of_owner() {
    train_gate owner
    access 'submitter = @dev' 'checks-as-owner = yes'
    waiting S1
    serve_as owner
    submitted owner S1
    submitted alice S2
    await '"id":"S2".*"reason":"passed"'
    ran S2 owner 'S1 S2'
    access 'submitter = @dev'
    as owner pointsman train forget main
    go_on S1
    pointsman wait S1
    held S2 'checks-as-owner does not allow that'
    ran S2 owner 'S1 S2'
    as owner pointsman release S2
    within sh -c 'until [ "$(pointsman history S2 |
        grep -c "hold forbidden")" -gt 1 ]; do :; done'
    ran S2 owner 'S1 S2'
}
scenario 'checks on a merge train never run as the owner for a set of others' \
    train_of_owner

by_command() {
    gate root
    cat >>base/pointsman.conf <<'END'
[target "site"]
command = sh -c 'id -un'
revert = sh -c 'id -un'
END
    access 'submitter = @dev'
    serve_as root
    set_target=site
    submitted alice C1
    submitted bob C2
    pointsman wait C1 C2
    ran_as C1 alice
    id=$(pointsman rollback C1 C2)
    pointsman wait "$id"
    pointsman logs "$id" >said
    same accounts "$(grep -cE '^(alice|bob)$' said)" 2
    says_not root said
}
scenario 'the command of a target runs for each set as its submitter' by_command

judged_again() {
    gate owner
    access 'submitter = @dev' 'commands-as-owner = yes' 'checks-as-owner = yes'
    sed -i '/^git = /a check.unit = true' base/pointsman.conf
    serve_as owner
    seq 3 >lines
    mkdir -m 777 open
    as alice pointsman submit --id one --hold -- touch "$here/open/ran"
    as alice pointsman submit --id all --hold --array lines -- \
        sh -c 'touch "$0"' "$here/open/ran"
    kill -TERM "$server"
    wait "$server"
    drop alice set
    as owner pointsman daemon prequeue --until-idle
    as owner pointsman hold set
    server=
    access 'submitter = @dev'
    serve_as owner
    as owner pointsman release one all set
    held one 'commands-as-owner does not allow that'
    held all 'commands-as-owner does not allow that'
    held set 'checks-as-owner does not allow that'
    ends 1 as owner pointsman doctor
    says "'one' of uid 70004 and 2 more; a command of uid 70004 would run" out
    # It is not lost, and releasing it changes nothing by itself.
    as owner pointsman release one
    within sh -c 'until [ "$(pointsman history one | grep -c "hold forbidden")" -gt 1 ]
        do :; done'
    held one 'commands-as-owner does not allow that'
    never test -e open/ran
    access 'submitter = @dev' 'commands-as-owner = yes' 'checks-as-owner = yes'
    as owner pointsman release one all set
    pointsman wait one all set
    test -e open/ran
}
scenario 'a job that was admitted before is judged again when it starts' \
    judged_again

foreign_base() {
    gate owner
    as owner pointsman submit --id one -- sh -c 'id -un'
    ends 77 pointsman serve
    says "use \`sudo -u 'owner' pointsman ...\`" err
    ends 77 pointsman daemon all --until-idle
    ends 77 pointsman run -- true
    pointsman submit --id two -- sh -c 'id -un'
    as owner pointsman daemon all --until-idle
    same user "$(pointsman logs one)" owner
    same user "$(pointsman logs two)" owner
}
scenario 'root does not run the jobs of a base of somebody else' foreign_base

# in_job ACCOUNT COMMAND...: runs the command as a job of that account
in_job() {
    in_job_account=$1
    shift
    as "$in_job_account" pointsman run --env POINTSMAN_BASE -- "$@"
}

# Whatever the account of the task may do: its job may not.
barred() {
    serving=$1
    shared 'submitter = alice, bob' 'commands-as-owner = yes'
    as bob pointsman submit --id his --hold -- true
    as $serving pointsman submit --id ours --hold -- true
    ends 77 in_job $serving pointsman set queue.concurrency 3
    says 'jobs may not change settings, and this process belongs to job' err
    ends 77 in_job $serving pointsman approve none
    says 'jobs may not approve change sets' err
    # A process that has left its group and its parents.
    mkfifo -m 666 result
    # shellcheck disable=SC2016
    ends 77 in_job $serving sh -c 'setsid -f sh -c \
        "pointsman set queue.concurrency 3; echo \$? >result"
        read -r result <result; exit "$result"'
    says 'jobs may not change settings' err
    as $serving pointsman settings --json >settings
    says '"name":"queue.concurrency","value":"4"' settings
    # Everything else is as before.
    in_job $serving pointsman submit --id child -- true
    in_job $serving pointsman cancel his
    as $serving pointsman history --json his >history
    says '"from":"job ' history
    # Who submitted the job matters, and not only the account of the process.
    as bob pointsman submit --id other --hold -- true
    ends 77 in_job alice pointsman cancel other
    says "of uid 70004" err
    says 'has the role submitter' err
    in_job alice pointsman submit --id hers -- true
    as alice pointsman history --json hers >history
    says '"actor":"uid:70004"' history
    as $serving pointsman history ours >history
    says_not ' from ' history
}
scenario 'a job may not change settings (server of root)' barred root
scenario 'a job may not change settings (server of an account)' barred owner

# An approval by file: the account of the file is not enough.
dropped() {
    gate root
    access 'submitter = @dev, olga'
    printf '[approval "all"]\nrole = uid:70003\n' >base/conf.d/approval.conf
    serve_as root
    submitted alice C1
    as olga pointsman approve --print --as uid:70003 C1 >paper
    chmod 644 paper
    in_job olga sh -c 'cp paper base/tmp/one && mv base/tmp/one base/prequeue/approve_C1'
    within sh -c 'until ls base/reject/approve_C1.why >/dev/null 2>&1; do :; done'
    says 'from-job: it has no signature, and job' base/reject/approve_C1.why
    pointsman why C1 >why
    says 'held (approval)' why
    as olga sh -c 'cp paper base/tmp/two && mv base/tmp/two base/prequeue/approve_C1'
    pointsman wait C1
    pointsman history --json C1 >history
    says '"from":"file of uid:70003"' history
}
scenario 'a job may not approve by file in the name of its account' dropped

# A process of which the server sees nothing may belong to a job.
unclear() {
    shared 'submitter = alice' 'admin = ada'
    mount -t proc -o hidepid=2 proc /proc || skip '/proc cannot be mounted'
    found=0
    hidden || found=$?
    umount /proc
    return $found
}
hidden() {
    never as owner test -e /proc/1/stat || return 1
    ends 77 as ada pointsman set queue.concurrency 3 || return 1
    says 'the server cannot examine this process' err || return 1
    as owner pointsman set queue.concurrency 3 || return 1
    as alice pointsman list || return 1
    ends 1 as owner pointsman doctor || return 1
    says 'hides the processes of other accounts' out
}
scenario 'a process that the server cannot examine counts as one of a job' \
    unclear

# hold_connections UID N: keeps N connections that ask nothing, then lets them go
hold_connections() {
    python3 -c '
import os, socket, sys
os.setuid(int(sys.argv[1]))
held = [socket.socket(socket.AF_UNIX) for _ in range(int(sys.argv[2]))]
ask = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
for one in held:
    one.connect("base/ctrl/sock")
    one.send(ask)
    assert b" 200 " in one.recv(4096)
print("ready", file=open("ready", "w"))
open("go").read()
for one in held:
    one.shutdown(socket.SHUT_WR)
    while one.recv(4096):
        pass
print("gone", file=open("ready", "w"))
' "$1" "$2"
}

limited() {
    shared 'submitter = alice, bob'
    mkdir -p base/conf.d
    printf '[serve]\nconnections-per-account = 3\n' >base/conf.d/limit.conf
    reload
    mkfifo -m 666 ready go
    hold_connections 70004 3 &
    started="$started $!"
    read -r _ <ready
    ends 75 as alice pointsman list
    says 'uid 70004 has 3 connections to the server' err
    says 'serve.connections-per-account' err
    as bob pointsman list
    as owner pointsman list
    echo >go
    read -r _ <ready
    as alice pointsman list
    # The owner has no limit.
    hold_connections 70001 9 &
    started="$started $!"
    read -r _ <ready
    as bob pointsman list
}
scenario 'an account cannot use up the connections of a server' limited

audit() {
    shared 'submitter = alice' 'admin = ada'
    as ada pointsman set queue.concurrency 3
    as ada pointsman set queue.concurrency
    as owner pointsman history >history
    says 'queue.concurrency setting set uid:70002: 3 (was 4)' history
    says 'queue.concurrency setting removed uid:70002: 4 (was 3)' history
    as owner pointsman events --json >changes
    says '"facts":{"from":"socket","was":"4"}' changes
    # Changes of the files, while a server runs and while none does.
    sed -i 's/^submitter = alice/submitter = alice, bob/' base/pointsman.conf
    reload
    line=$(grep -n '^submitter' base/pointsman.conf)
    as owner pointsman history >history
    says "access.submitter config set config from pointsman.conf:${line%%:*}: \
alice, bob (was alice)" history
    kill -TERM "$server"
    wait "$server"
    as owner pointsman set queue.poll 5
    sed -i '/^submitter/d' base/pointsman.conf
    serve_as owner
    await '"id":"access.submitter".*"reason":"removed"'
    as owner pointsman history >history
    says 'access.submitter config removed config (was alice, bob)' history
    as owner pointsman events --json >changes
    says '"from":"command line","was":"10"' changes
    same 'changes' "$(grep -c ' config ' history)" 2
    as owner pointsman fsck
}
scenario 'each change of settings and configuration is recorded' audit

finish
