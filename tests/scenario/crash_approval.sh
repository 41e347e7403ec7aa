#!/bin/sh
# crash_approval.sh PROGRAM FAULTY: like crash.sh, while approvals arrive:
# through a server, as signatures, and as files in the drop directories; for
# sets that wait, for a set that has landed and owes its approval, and for a set
# that still needs another approval. Every acknowledged approval is kept and
# counts once; no set starts without the approvals that its policy requires.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"
# shellcheck source=tests/support/crash.sh
. "$(dirname "$0")/../support/crash.sh"
everything='waits both late door'

command -v ssh-keygen >/dev/null || {
    echo '1..0 # SKIP ssh-keygen is missing (package openssh-client)'
    exit 0
}

# ---- sets, and who approves them ---------------------------------------------

# sign_approval SET NAME: writes an approval file signed by NAME to
# signed/SET.NAME
sign_approval() {
    pointsman approve --tarball "$made" --as "$2@example.org" \
        --sign-with "$2" >"signed/$1.$2"
}

with_policies() {
    make_base 'grace = 1'
    cat >base/conf.d/approval.conf <<'END'
[target "main"]
blind = allow
[approval "one"]
path = one/**
signed = yes
[approval "two"]
path = two/**
count = 2
signed = yes
[approval "late"]
class = EM
path = late/**
late = yes
[approval "door"]
path = door/**
unapproved = refuse
[approval "word"]
path = word/**
END
    mkdir signed
    for name in alice bob; do
        ssh-keygen -q -t ed25519 -N '' -C $name -f $name
        printf '%s@example.org %s\n' $name "$(cut -d' ' -f1,2 $name.pub)" \
            >>base/allowed_signers
    done
    make_set waits DC one/a waits
    waits=$made
    sign_approval waits alice
    make_set both DC two/b both
    both=$made
    sign_approval both alice
    sign_approval both bob
    make_set half DC two/c half
    half=$made
    sign_approval half alice
    make_set late EM late/d late
    late=$made
    sign_approval late bob
    make_set door BF door/e door
    door=$made
    sign_approval door alice
    make_set theirs DC word/f theirs
    theirs=$made
}

# Only root can act as two accounts.
two_people() {
    [ "$(id -u)" -eq 0 ]
}

drop_theirs() {
    cp "$theirs" "base/data/$(basename "$theirs")"
    : >base/tmp/theirs
    printf '[access]\nsubmitter = 65534\n' >base/conf.d/access.conf
    chown 65534 base/tmp/theirs
    mv base/tmp/theirs "base/prequeue/$(basename "$theirs")"
}

# ---- checks after the recovery -----------------------------------------------

# Set half lacks an approval and waits for ever.
unfinished() {
    pointsman list --json state:queued,staged,pending,executing |
        jq -r 'select(.id != "half") | .id'
}

approvals_of() {
    pointsman history --json "$1" | grep -c '"kind":"approved"' || :
}

# approved SET COUNT: the registry and the log of the set have COUNT approvals
approved() {
    same "approvals of $1" "$(approvals_of "$1")" "$2"
    same "approvals in the log of $1" \
        "$(grep -c 'approved:' "base/log/$1" || :)" "$2"
}

# began_with SET COUNT: COUNT approvals were given before the set was executed,
# and its commit names COUNT approvers
began_with() {
    same "approvals of $1 when it began" "$(pointsman history --json "$1" |
        jq -s '(map(select(.to == "executing")) | first | .seq | tonumber) as $start |
            map(select(.kind == "approved" and (.seq | tonumber) < $start)) |
            length')" "$2"
    same "approvers of $1 on the branch" "$(git -C project.git log \
        --format='%(trailers:key=CS-Id,valueonly,separator=) %(trailers:key=CS-Approved-By,valueonly,separator=%x20)' \
        main | grep "^$1 " | grep -o '<' | wc -l)" "$2"
}

judge() {
    land_another
    for set in waits door theirs; do
        case " $everything " in
        *" $set "*) approved $set 1 && began_with $set 1 ;;
        esac
    done
    approved both 2
    began_with both 2
    approved late 1
    same 'approval owed by late' \
        "$(pointsman status --json late | jq -r .owed)" null
    for set in $everything; do
        in_one_place "$set" D
        same "commits of $set" "$(times_landed "$set")" 1
    done
    in_one_place half Q
    approved half 1
    same 'holds of half' "$(pointsman status --json half | jq -c .holds)" \
        '["approval"]'
    same 'commits of half' "$(times_landed half)" 0
    ends 0 pointsman fsck
    same 'files left in prequeue and reject' \
        "$(ls base/prequeue base/reject | sed '/:$/d; /^$/d')" ''
    same 'locks in the repository' "$(find project.git -name '*.lock')" ''
}

# ---- through a server --------------------------------------------------------

# The callers are not killed; they record what was acknowledged.
by_service() {
    with_policies
    theirs_too=
    if two_people; then
        theirs_too='pointsman approve theirs && acked theirs.root'
        everything="$everything theirs"
        drop_theirs
    fi
    cat >callers.sh <<END
acked() { echo "\$1" >>'$here/acked.ran'; }
callers() {
    pointsman change submit '$late' && acked late
    pointsman change submit '$waits' && acked waits
    pointsman change submit '$both' && acked both
    pointsman change submit '$half' && acked half
    pointsman change submit --approval signed/door.alice '$door' && acked door
    pointsman approve --signature signed/waits.alice waits && acked waits.alice
    pointsman approve --signature signed/both.alice both && acked both.alice
    pointsman approve --signature signed/half.alice half && acked half.alice
    pointsman approve --signature signed/both.bob both && acked both.bob
    $theirs_too
}
# late has landed by now.
late_caller() {
    pointsman approve --signature signed/late.bob late && acked late.bob
}
END
    mkdir master
    cp -a base project.git master
}

# What was acknowledged is known before the rest is submitted again.
submit_again() {
    touch acked.ran
    run
    sort -u acked.ran >acked
    while read -r what; do
        ends 0 pointsman status "${what%.*}"
        case $what in
        theirs.*) same "approvals of theirs" "$(approvals_of theirs)" 1 ;;
        *.*)
            pointsman history --json "${what%.*}" >actor
            says "\"actor\":\"user:${what#*.}@example.org\"" actor
            ;;
        esac
    done <acked
    ends 0 sh -c '. ./callers.sh; set -e; callers; late_caller'
}

served() {
    before_recovery=submit_again
    by_service
    cat >workload.sh <<'END'
. ./callers.sh
pointsman serve &
server=$!
while [ ! -S base/ctrl/sock ] && kill -0 $server; do :; done
callers
pointsman --server unix:base/ctrl/sock wait late && late_caller
kill -TERM $server
wait $server
END
    workload='sh workload.sh'
    points "$@"
}

without_fault() {
    by_service
    begin_trial
    : >calls
    serve_begin
    within sh -c '. ./callers.sh; set -e; callers; pointsman wait late
        late_caller'
    # shellcheck disable=SC2086
    within pointsman wait $everything
    serve_end
    judge
}
scenario 'without a fault, all checks of the base pass' without_fault
scenario 'server, callers and jobs killed at once: no approval is lost' \
    served 3 --kill all
scenario 'only the server killed: no approval is lost' \
    served 2 --kill one --only 'pointsman serve'

# ---- as files ----------------------------------------------------------------

# late has landed before the workload starts.
by_files() {
    with_policies
    pointsman change submit "$late"
    within pointsman daemon all --until-idle
    for set in "$waits" "$both" "$half" "$door"; do
        drop_set "$set"
    done
    for name in waits.alice both.alice both.bob half.alice door.alice late.bob
    do
        cp "signed/$name" base/tmp/approval
        mv base/tmp/approval "base/prequeue/approve_${name%.*}_${name#*.}"
    done
    mkdir master
    cp -a base project.git master
    workload='pointsman daemon all --until-idle'
    points "$@"
}
scenario 'everything killed at once: each approval file counts once' \
    by_files 4 --kill all
scenario 'only a daemon killed: each approval file counts once' \
    by_files 2 --kill one --only 'pointsman daemon'

finish
