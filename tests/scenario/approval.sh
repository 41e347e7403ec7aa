#!/bin/sh
# approval.sh PROGRAM: change sets that another person must approve.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"

# with_policies [LINE]...: a base with policies; the lines go into [queue]
with_policies() {
    make_base "$@"
    cat >base/conf.d/approval.conf <<'EOF'
[access]
submitter = 65534
[target "main"]
blind = allow
[approval "prod"]
path = prod/**
count = 1
[approval "tickets"]
path = tickets/**
count = 0
ticket = OPS-*
unapproved = refuse
[approval "urgent"]
class = EM
path = late/**
late = yes
EOF
}

# drop_set_of UID FILE: like drop_set, as another user
drop_set_of() {
    drop_name=$(basename "$2")
    cp "$2" "$here/base/data/$drop_name"
    : >"$here/base/tmp/$drop_name.marker"
    chown "$1" "$here/base/tmp/$drop_name.marker"
    mv "$here/base/tmp/$drop_name.marker" "$here/base/prequeue/$drop_name"
}

own_sets() {
    with_policies
    make_set mine DC prod/a mine
    pointsman change submit "$made"
    make_set free DC src/a free
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    in_one_place mine Q
    in_one_place free D
    pointsman why mine >why
    says "approval 'prod': 0 of 1" why
    ends 77 pointsman approve mine
    says 'your own set' err
    in_one_place mine Q
    ends 100 pointsman approve free
    says 'no policy asks' err
    ends 100 pointsman release mine
    ends 66 pointsman approve nobody
    # It can still be cancelled.
    pointsman cancel mine
    ends 100 pointsman approve mine
    ends 0 pointsman fsck
}
scenario 'a set that needs approval waits; its submitter cannot approve it' \
    own_sets

# The set is packed before main renames the file into the path of a policy. If
# the change followed the file there, it would land without approval.
renamed_under_policy() {
    with_policies
    git clone -q project.git clone
    seq 20 >clone/a
    git -C clone add a
    git -C clone commit -q -m 'Add a'
    git -C clone push -q origin HEAD:main
    base=$(git -C clone rev-parse HEAD)
    make_set edits DC a "$(seq 19)" '##base' "$base"
    edits=$made
    mkdir clone/prod
    git -C clone mv a prod/a
    git -C clone commit -q -m 'Move a'
    git -C clone push -q origin HEAD:main
    before=$(git -C project.git rev-parse main)
    pointsman change submit "$edits"
    within pointsman daemon all --until-idle
    in_one_place edits F
    pointsman why edits >why
    says 'a was deleted by commit ' why
    same 'the branch' "$(git -C project.git rev-parse main)" "$before"
}
scenario 'a change does not follow a renamed file into the path of a policy' \
    renamed_under_policy

others() {
    [ "$(id -u)" -eq 0 ] || skip 'only root can act as two users'
    with_policies
    make_set theirs DC prod/a theirs
    drop_set_of 65534 "$made"
    make_set behind DC src/b behind '##dependencies' theirs
    drop_set_of 65534 "$made"
    within pointsman daemon all --until-idle
    in_one_place theirs Q
    pointsman approve --ticket OPS-1 theirs
    pointsman approve --ticket OPS-1 theirs # changes nothing
    same approvals "$(pointsman history theirs | grep -c approved.operator)" 1
    within pointsman daemon all --until-idle
    in_one_place theirs D
    in_one_place behind D
    same trailers "$(git -C project.git log \
        --format='%(trailers:key=CS-Approved-By,valueonly,separator=)' main |
        grep -c '^root <')" 1
    ends 0 pointsman fsck
}
scenario 'another user approves the set; its commit names the approver' others

# The set waits because of another hold until its approval has expired.
expiry() {
    [ "$(id -u)" -eq 0 ] || skip 'only root can act as two users'
    with_policies 'poll = 1' # polling notices that time has passed
    printf 'expires = 1\n' >expires
    sed -i '/^path = prod/r expires' base/conf.d/approval.conf
    make_set theirs DC prod/a theirs
    drop_set_of 65534 "$made"
    within pointsman daemon prequeue --until-idle
    pointsman hold theirs
    pointsman approve theirs
    says_not approval "$(pointsman status --json theirs | jq -c .holds >holds
        echo holds)"
    begin pointsman daemon all 2>said
    await '"kind":"hold".*"id":"theirs".*expired'
    kill "$begun"
    expect_exit "$begun" 0
    pointsman release theirs
    within pointsman daemon all --until-idle
    in_one_place theirs Q
}
scenario 'a set that waits longer than its approval is valid is held again' \
    expiry

tickets() {
    with_policies
    make_set none DC tickets/a none
    ends 100 pointsman change submit "$made"
    says 'with a ticket like OPS-*' err
    make_set some DC tickets/a some '##approval' OPS-17
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    in_one_place some D
}
scenario 'a set without the required ticket is refused on submission' tickets

# An approval without the ticket is not enough, and says so.
ticket_later() {
    [ "$(id -u)" -eq 0 ] || skip 'only root can act as two users'
    with_policies
    printf '[approval "late"]\npath = late/**\ncount = 1\nticket = OPS-*\n' \
        >>base/pointsman.conf
    make_set late DC late/a late
    drop_set_of 65534 "$made"
    within pointsman daemon all --until-idle
    for ticket in '' X-1; do
        ends 0 pointsman approve ${ticket:+--ticket $ticket} late
        says 'not enough without a ticket' err
        says "approval 'late': 0 of 1, with a ticket like OPS-*" err
    done
    pointsman why late >why
    says "approval 'late': 0 of 1, with a ticket like OPS-*" why
    ends 0 pointsman approve --ticket OPS-2 late
    says_not ticket err
    within pointsman daemon all --until-idle
    in_one_place late D
}
scenario 'an approval without the required ticket says that it is not enough' \
    ticket_later

owed() {
    pointsman status --json "$1" | jq -r '.owed // "nothing"'
}

late() {
    with_policies
    make_set now EM late/a now
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    in_one_place now D
    until=$(date -u -d "$(pointsman status --json now | jq -r .admitted) 72 hours" \
        +%Y-%m-%dT%H:%M)
    case $(owed now) in
    "$until"*) ;;
    *) wrong "owed until $(owed now), not $until" ;;
    esac
    pointsman history --json now >history
    says "approval 'urgent' is owed until $until" history
    pointsman why now >why
    says "approval 'urgent': 0 of 1, owed until $until" why
    pointsman status now >status
    says "owed until  $until" status
    pointsman list owed:yes >listed
    says 'now ' listed
    says 'owes approval' listed
    pointsman report >report
    says 'OWED' report
    same 'owed by report' "$(pointsman report --json | jq -c \
        '[.owed, .overdue]')" '[1,0]'
    ends 77 pointsman approve now
    same 'still owed' "$(pointsman list --json owed:yes | jq -r .id)" now
    ends 0 pointsman fsck
    # A rebuilt registry still has it.
    before=$(owed now)
    pointsman fsck --rebuild
    same 'owed after a rebuild' "$(owed now)" "$before"
}
scenario 'an emergency set lands at once, and what it owes is shown everywhere' \
    late

several_owed() {
    with_policies
    cat >>base/conf.d/approval.conf <<'EOF'
[approval "held"]
path = late/a
[approval "soon"]
path = late/**
late = yes
within = 1h
count = 2
EOF
    make_set now EM late/a now
    pointsman change submit "$made"
    within pointsman daemon prequeue --until-idle
    admitted=$(pointsman status --json now | jq -r .admitted)
    pointsman why now >why
    for each in "held': 0 of 1" \
        "urgent': 0 of 1, owed until $(date -u -d "$admitted 72 hours" +%FT%H)" \
        "soon': 0 of 2, owed until $(date -u -d "$admitted 1 hour" +%FT%H)"; do
        says "approval '$each" why
    done
    same 'lines about approvals' "$(grep -c "approval '" why)" 3
    same 'lines about what is owed' "$(grep -c owed why)" 2
}
scenario 'why names each policy of which an approval is owed, with its own time' \
    several_owed

overdue() {
    [ "$(id -u)" -eq 0 ] || skip 'only root can act as two users'
    with_policies 'poll = 1' # polling notices that time has passed
    printf 'within = 1\n' >>base/conf.d/approval.conf
    make_set now EM late/a now
    drop_set_of 65534 "$made"
    within pointsman daemon all --until-idle
    in_one_place now D
    # A server that starts later reports once that the second has passed.
    serve_begin
    await '"kind":"owed".*"id":"now".*overdue'
    serve_end
    serve_begin
    serve_end
    same alarms "$(pointsman history now | grep -c overdue)" 1
    pointsman why now >why
    says 'overdue' why
    pointsman list --json overdue:yes >listed
    says '"id":"now"' listed
    same 'overdue by report' "$(pointsman report --json | jq -c \
        '[.owed, .overdue]')" '[1,1]'
    pointsman approve now
    same debt "$(owed now)" nothing
    same listed "$(pointsman list --json owed:yes)" ''
    same 'overdue by report' "$(pointsman report --json | jq -c \
        '[.owed, .overdue]')" '[0,0]'
    pointsman history now >history
    says settled history
    within pointsman daemon all --until-idle
    says settled base/log/now
    ends 0 pointsman fsck
}
scenario 'an overdue approval is reported once and can still be given' overdue

never_landed() {
    with_policies
    make_set now EM late/a now
    pointsman change submit "$made"
    within pointsman daemon prequeue --until-idle
    pointsman cancel now
    within pointsman daemon prequeue --until-idle
    same debt "$(owed now)" nothing
}
scenario 'a set that never landed owes no approval' never_landed

# by_files FILE: submits the set through the drop directories
by_files() {
    pointsman change put "$1" >/dev/null
    within pointsman daemon prequeue --until-idle
    why=base/reject/$(basename "$1").why
    [ ! -e "$why" ] || {
        cat "$why" >&2
        return 100
    }
}

# make_link ID PATH TO: makes a set that adds a symbolic link
make_link() {
    make_set "$1" DC "$2" file
    ln -sfn "$3" "$here/packing/lroot/$2"
    tar -C "$here/packing" -cf "$made" meta lroot
}

# What a policy protects would be replaced by files that nobody has approved.
link_over_policy() {
    with_policies
    cat >base/conf.d/links.conf <<'EOF'
[target "main"]
symlinks = allow
[approval "team"]
path = teams/*/keys/**
EOF
    make_set free DC free/keys/a free
    pointsman change submit "$made"
    make_link link prod free
    pointsman change submit "$made"
    make_link link2 teams/ann ../free
    drop_set "$made"
    make_set file DC teams file
    pointsman change submit "$made"
    make_link other src/link ../free
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    for id in link link2 file; do
        in_one_place $id Q
    done
    for id in free other; do
        in_one_place $id D
    done
    pointsman why link >why
    says "approval 'prod': 0 of 1" why
    pointsman why link2 >why
    says "approval 'team': 0 of 1" why
    printf '[approval "prod"]\nunapproved = refuse\n' >base/conf.d/more.conf
    make_link link3 prod free
    ends 100 pointsman change submit "$made"
    says "approval 'prod': 0 of 1" err
    make_link link4 prod free
    ends 100 by_files "$made"
    says "approval 'prod': 0 of 1" err
}

scenario 'no set replaces a directory of a policy without approval' \
    link_over_policy

# matrix WAY...: submits sets of each class, target and path in this way
matrix() {
    number=$((number + 1))
    for class in EM BF DC; do
        for set_target in main other; do
            for path in prod src; do
                id=S$number-$class-$set_target-$path
                make_set "$id" $class "$path/$id" "$id"
                case $class-$set_target-$path in
                BF-main-prod | EM-other-*)
                    ends 100 "$@" "$made"
                    says unapproved err
                    ends 66 pointsman status "$id"
                    continue
                    ;;
                EM-main-prod | DC-main-prod) holds='["approval"]' ;;
                *) holds='[]' ;;
                esac
                "$@" "$made"
                same "holds of $id" "$(pointsman status --json "$id" |
                    jq -c .holds)" "$holds"
            done
        done
    done
}

each_way() {
    make_base
    cat >base/conf.d/approval.conf <<'EOF'
[target "main"]
blind = allow
[target "other"]
git = ../project.git
branch = other
blind = allow
[approval "bugs"]
class = BF
target = main
path = prod/**
unapproved = refuse
[approval "others"]
class = EM, DC
target = main
path = prod/**
[approval "elsewhere"]
class = EM
target = other
unapproved = refuse
EOF
    git -C project.git branch other main
    number=0
    matrix pointsman change submit
    matrix by_files
    serve_begin
    matrix pointsman change submit
    serve_end
    within pointsman daemon all --until-idle
    ends 0 pointsman fsck
    same 'sets that landed' "$(pointsman list --json --all state:done |
        wc -l)" 21
}
scenario 'policies by class, target and path apply to every way of submission' \
    each_way

# Only operators may roll back: a rollback by another user waits for approval by
# an operator.
rollback_of_others() {
    [ "$(id -u)" -eq 0 ] || skip 'only root can act as two users'
    make_base
    printf '[access]\nsubmitter = 65534\n' >base/conf.d/access.conf
    printf '[target "main"]\nblind = allow\n' >base/conf.d/blind.conf
    make_set C1 DC src/a C1
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    in_one_place C1 D
    rm -rf packing && mkdir packing
    printf '##movetype\nRB\n##target\nmain\n##dependencies\nC1\n' \
        >packing/meta
    made=$here/sets/R1_$(next_tai)_$$_host_RB
    tar -C packing -cf "$made" meta
    drop_set_of 65534 "$made"
    within pointsman daemon all --until-idle
    in_one_place R1 Q
    pointsman why R1 >why
    says "approval 'rollback': 0 of 1, by operator (its submitter is no operator)" why
    # It does not wait for sets that touch its files.
    says_not 'precursors' why
    same 'rollback of C1' \
        "$(pointsman status --json C1 | jq -r .rolled_back_by)" null
    pointsman approve R1
    within pointsman daemon all --until-idle
    in_one_place R1 D
    same 'rollback of C1' \
        "$(pointsman status --json C1 | jq -r .rolled_back_by)" R1
    # A rollback by an operator runs at once.
    pointsman -q rollback R1
    within pointsman daemon all --until-idle
    same 'rollback of C1' \
        "$(pointsman status --json C1 | jq -r .rolled_back_by)" null
    ends 0 pointsman fsck
}
scenario 'a rollback submitted by a non-operator waits for an operator' \
    rollback_of_others

# The submitter is an operator, who still needs another one for a higher limit.
higher_limit() {
    make_base
    printf '[target "main"]\nblind = allow\n' >base/conf.d/blind.conf
    for id in C1 C2; do
        make_set $id DC src/a $id
        pointsman change submit "$made"
        within pointsman daemon all --until-idle
    done
    pointsman set queue.rollback-max 1
    pointsman rollback --limit 2 C1 C2 >id 2>said
    says "rollback $(cat id) waits for approval 'rb-limit': 0 of 1, by operator" \
        said
    says "(it asks for a limit above rollback-max); to give it: pointsman approve \
$(cat id)" said
    rb=$(pointsman list --json class:RB | jq -r .id)
    within pointsman daemon all --until-idle
    in_one_place "$rb" Q
    pointsman why "$rb" >why
    says "approval 'rb-limit': 0 of 1, by operator" why
    ends 77 pointsman approve "$rb"
    says 'your own set' err
    # A limit within the setting needs nobody.
    pointsman set queue.rollback-max 2
    within pointsman daemon all --until-idle
    in_one_place "$rb" D
    ends 0 pointsman fsck
}
scenario 'a rollback with a higher limit waits for another operator' \
    higher_limit

# The approver may choose how long the approval is valid.
chosen_expiry() {
    [ "$(id -u)" -eq 0 ] || skip 'only root can act as two users'
    with_policies 'poll = 3600'
    make_set theirs DC prod/a theirs
    drop_set_of 65534 "$made"
    within pointsman daemon prequeue --until-idle
    pointsman hold theirs
    ends 64 pointsman approve --expires soon theirs
    pointsman approve --expires 2s theirs
    same holds "$(pointsman status --json theirs | jq -c .holds)" \
        '["operator"]'
    serve_begin
    await '"kind":"hold".*"id":"theirs".*expired'
    # A second approval counts again.
    pointsman approve --expires 7d theirs
    pointsman release theirs
    within pointsman wait theirs
    serve_end
    in_one_place theirs D
    ends 0 pointsman fsck
}
scenario 'an approval expires at the chosen time and can be given again' \
    chosen_expiry

# ---- policies that change ----------------------------------------------------

policy_removed() {
    with_policies
    make_set first DC prod/a first
    pointsman change submit "$made"
    make_set second DC prod/b second
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    in_one_place first Q
    # No policy requires approval any more, so neither `approve` nor `release`
    # would release the set.
    sed -i '/^path = prod/,/^count/s/^count = 1/count = 0/' \
        base/conf.d/approval.conf
    within pointsman daemon all --until-idle
    in_one_place first D
    in_one_place second D
    ends 0 pointsman history first
    says ' release policy daemon:prequeue: approval' out
    # A server reloads its configuration, which has no policies any more.
    make_set third DC tickets/a third '##approval' OPS-1
    printf '[approval "all"]\n' >base/conf.d/approval.conf
    printf '[target "main"]\nblind = allow\n' >base/conf.d/target.conf
    serve_begin
    pointsman change submit "$made"
    await '"id":"third".*"to":"queued"'
    ends 0 pointsman why third
    says "approval 'all': 0 of 1" out
    rm base/conf.d/approval.conf
    kill -HUP "$server"
    within pointsman wait third
    serve_end
    ends 0 pointsman fsck
}
scenario 'a set continues when no policy requires its approval any more' \
    policy_removed

# The opposite: a policy is added while the set waits.
policy_added() {
    with_policies
    make_set waits DC src/a waits
    pointsman change submit "$made"
    pointsman hold waits
    within pointsman daemon all --until-idle
    printf '[approval "all"]\n' >base/conf.d/more.conf
    pointsman release waits
    within pointsman daemon all --until-idle
    in_one_place waits Q
    ends 0 pointsman why waits
    says "approval 'all': 0 of 1" out
}
scenario 'a waiting set is held by a policy that is added later' policy_added

finish
