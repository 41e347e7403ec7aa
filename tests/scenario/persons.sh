#!/bin/sh
# persons.sh PROGRAM: nobody approves their own set under another name, and
# nobody counts twice.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"

command -v ssh-keygen >/dev/null || {
    echo '1..0 # SKIP ssh-keygen is missing (package openssh-client)'
    exit 0
}

# signer NAME KEY: generates the key if there is none, and lists it
signer() {
    [ -e "$here/$2" ] ||
        ssh-keygen -q -t ed25519 -N '' -C "$2" -f "$here/$2"
    printf '%s %s\n' "$1" "$(cut -d' ' -f1,2 "$here/$2.pub")" \
        >>base/allowed_signers
}

# with_persons ACCOUNTS: William has these accounts, two principals and a key
with_persons() {
    make_base
    signer will@example.org will
    signer shared@example.org will
    signer release@example.org release
    signer eve@example.org eve
    cat >base/conf.d/approval.conf <<END
[target "main"]
blind = allow
[approval "prod"]
path = prod/**
[approval "two"]
path = two/**
count = 2
[person "william"]
accounts = $1
principals = will@example.org, release@example.org
keys = $(ssh-keygen -lf will.pub | cut -d' ' -f2)
END
    pointsman -q config check >listed
}

# held ID DIRECTORY [SECTION...]: submits a set that waits for approval
held() {
    held_id=$1 held_dir=$2
    shift 2
    make_set "$held_id" DC "$held_dir/$held_id" "$held_id" "$@"
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    in_one_place "$held_id" Q
}

# by_socket NAME KEY ID: the signature is refused as the submitter's own
by_socket() {
    ends 77 pointsman approve --sign-with "$2" --as "$1" "$3"
    says 'somebody else must approve it' err
}

# by_file NAME KEY ID: likewise, as a file in prequeue/
by_file() {
    rm -f text text.sig
    pointsman approve --print --as "$1" "$3" >text
    ssh-keygen -q -Y sign -n cq-approve -f "$2" text 2>said
    cat text text.sig >base/tmp/x
    mv base/tmp/x "base/prequeue/approve_$3"
    within pointsman daemon all --until-idle
    says 'own-set: ' "base/reject/approve_$3.why"
    rm "base/reject/approve_$3" "base/reject/approve_$3.why"
}

under_other_names() {
    with_persons "$(id -u), 65533"
    held C1 prod
    for way in by_socket by_file; do
        $way will@example.org will C1
        $way release@example.org release C1
        $way shared@example.org will C1
        in_one_place C1 Q
    done
    ends 77 pointsman approve C1
    says 'your own set' err
    # The word of his other account.
    if [ "$(id -u)" -eq 0 ]; then
        printf '[access]\nsubmitter = 65533\n' >base/conf.d/access.conf
        pointsman approve --print --as uid:65533 C1 >base/tmp/x
        chown 65533 base/tmp/x
        mv base/tmp/x base/prequeue/approve_C1
        within pointsman daemon all --until-idle
        says 'own-set: ' base/reject/approve_C1.why
    fi
    in_one_place C1 Q
    same 'approvals given' \
        "$(pointsman history --json C1 | grep -c '"kind":"approved"')" 0
    pointsman approve --sign-with eve --as eve@example.org C1
    within pointsman daemon all --until-idle
    in_one_place C1 D
    ends 0 pointsman fsck
}
scenario 'nobody approves their own set under another name, key or account' \
    under_other_names

author() {
    with_persons 65533
    held C1 prod '##author' 'Eve <EVE@example.org>'
    held C2 prod '##author' 'Will <release@example.org>'
    by_socket eve@example.org eve C1
    by_socket will@example.org will C2
    by_file eve@example.org eve C1
    by_file shared@example.org will C2
    pointsman approve --sign-with eve --as eve@example.org C2
    within pointsman daemon all --until-idle
    in_one_place C1 Q
    in_one_place C2 D
}
scenario 'an author cannot approve a set that somebody else submitted' author

# never_met NAME NAME WORDS: these two signers are less than two people
never_met() {
    with_persons 65533
    signer one@example.org one
    signer two@example.org one
    printf '!bob@example.org,b*@example.org %s\n' \
        "$(cut -d' ' -f1,2 eve.pub)" >>base/allowed_signers
    cat >base/conf.d/two.conf <<END
[approval "keys"]
path = keys/**
count = 2
role = user:$1, user:$2
END
    ends 78 pointsman config check
    says "policy 'keys' can never be met: it needs 2 people, but only 1" err
    says "$3" err
    ends 1 pointsman doctor
    says "policy 'keys' can never be met" out
    sed -i "s/user:$2/user:eve@example.org/" base/conf.d/two.conf
    ends 0 pointsman config check
}
scenario 'a policy that two names of one key cannot meet is found' \
    never_met one@example.org two@example.org 'belong to one person'
scenario 'a policy that an excluded name cannot meet is found' \
    never_met shared@example.org bob@example.org \
    'user:bob@example.org has no key in the list of allowed signers'

counts_once() {
    with_persons 65533
    held C1 two
    pointsman approve --sign-with will --as will@example.org C1
    pointsman approve --sign-with release --as release@example.org C1
    pointsman approve --sign-with will --as shared@example.org C1
    within pointsman daemon all --until-idle
    in_one_place C1 Q
    pointsman why C1 >why
    says "approval 'two': 1 of 2" why
    pointsman approve --sign-with eve --as eve@example.org C1
    within pointsman daemon all --until-idle
    in_one_place C1 D
}
scenario 'a person counts once under all names' counts_once

unknown_account() {
    with_persons 65533
    held C1 prod
    sed -i 's/^accounts = .*/accounts = no-such-account/' \
        base/conf.d/approval.conf
    ends 78 pointsman config check
    says "approval.conf:9: person 'william': no user 'no-such-account'" err
    ends 69 pointsman approve --sign-with eve --as eve@example.org C1
    says 'no approval counts: ' err
    # An approval file waits until it can be judged.
    pointsman approve --print --as eve@example.org C1 >text
    ssh-keygen -q -Y sign -n cq-approve -f eve text 2>said
    cat text text.sig >base/tmp/x
    mv base/tmp/x base/prequeue/approve_C1
    pointsman why C1 >why
    says 'no approval counts: ' why
    within pointsman daemon all --until-idle
    in_one_place C1 Q
    [ -e base/prequeue/approve_C1 ]
    sed -i 's/^accounts = .*/accounts = 65533/' base/conf.d/approval.conf
    printf '[approval "g"]\nrole = @no-such-group\n' >base/conf.d/group.conf
    ends 78 pointsman config check
    says "group.conf:2: role '@no-such-group': no group 'no-such-group'" err
    rm base/conf.d/group.conf
    pointsman -q config check >listed
    within pointsman daemon all --until-idle
    in_one_place C1 D
}
scenario 'no approval counts while an account of a person is unknown' \
    unknown_account

# not_trusted: no signature counts, and `doctor` says why
not_trusted() {
    ends 100 pointsman approve --sign-with eve --as eve@example.org C1
    says 'others than its owner may write to' err
    pointsman doctor >doctor || :
    grep '^warn signatures' doctor >found
    says 'others than its owner may write to' found
    in_one_place C1 Q
}

lists_of_others() {
    with_persons 65533
    held C1 prod
    chmod 664 base/allowed_signers
    not_trusted
    chmod 646 base/allowed_signers
    not_trusted
    chmod 644 base/allowed_signers
    # A directory in which others can replace the list, also behind a link.
    mkdir lists
    mv base/allowed_signers lists/signers
    chmod 1777 lists
    ln -s ../lists/signers base/allowed_signers
    not_trusted
    rm base/allowed_signers
    printf '[queue]\nallowed-signers = ../lists/signers\n' \
        >base/conf.d/signers.conf
    not_trusted
    chmod 755 lists
    # Whoever can change the list of revoked keys can empty it.
    touch revoked
    printf '[queue]\nrevoked-keys = ../revoked\n' >base/conf.d/revoked.conf
    chmod 666 revoked
    not_trusted
    chmod 644 revoked
    if [ "$(id -u)" -eq 0 ]; then
        chown 65534 lists/signers
        ends 100 pointsman approve --sign-with eve --as eve@example.org C1
        says 'belongs to uid 65534' err
        chown 0 lists/signers
    fi
    # Not even an admin chooses another list but in the files.
    ends 77 pointsman set queue.allowed-signers ../mine
    says 'in the files of the base only' err
    ends 77 pointsman set queue.revoked-keys ../none
    pointsman approve --sign-with eve --as eve@example.org C1
    within pointsman daemon all --until-idle
    in_one_place C1 D
    pointsman doctor >doctor || :
    says 'ok   signatures' doctor
}
scenario 'no signature counts while others can write to the list of signers' \
    lists_of_others

finish
