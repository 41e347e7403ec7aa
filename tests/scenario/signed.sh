#!/bin/sh
# signed.sh PROGRAM: approvals signed by ssh-keygen, with keys that the test
# generates.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"

command -v ssh-keygen >/dev/null || {
    echo '1..0 # SKIP ssh-keygen is missing (package openssh-client)'
    exit 0
}

new_key() {
    ssh-keygen -q -t ed25519 -N '' -C "$1" -f "$here/$1"
}

# signer NAME KEY [OPTIONS]: adds a line to the file of allowed signers
signer() {
    printf '%s %s %s\n' "$1" "${3:-}" "$(cut -d' ' -f1,2 "$here/$2.pub")" \
        >>base/allowed_signers
}

with_signers() {
    make_base
    cat >base/conf.d/approval.conf <<'END'
[target "main"]
blind = allow
[approval "prod"]
path = prod/**
signed = yes
[approval "door"]
path = door/**
unapproved = refuse
[approval "two"]
path = two/**
count = 2
[approval "bob"]
path = bob/**
role = user:bob@example.org
END
    new_key alice
    new_key bob
    signer alice@example.org alice
    signer bob@example.org bob
}

# text NAME ID: writes the text that NAME has to sign to the file `text`
text() {
    pointsman approve --print --as "$1" "$2" >"$here/text"
}

# sign KEY FILE [NAMESPACE]: writes the signature of FILE to FILE.sig
sign() {
    rm -f "$2.sig"
    ssh-keygen -q -Y sign -n "${3:-cq-approve}" -f "$here/$1" "$2" 2>said
}

held() {
    make_set "$1" DC "$2/a$1" "$1"
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    in_one_place "$1" Q
}

approvals_of() {
    pointsman history --json "$1" | grep -c '"kind":"approved"' || :
}

good() {
    with_signers
    held C1 prod
    ends 77 pointsman approve C1 # not signed, and by the submitter
    text alice@example.org C1
    says 'set C1' text
    says "sum $(sha256sum "$made" | cut -d' ' -f1)" text
    sign alice text
    # Anybody may submit a signature; only the signer counts.
    cat text text.sig | pointsman approve --signature - C1
    pointsman approve --signature text.sig C1 # changes nothing
    same approvals "$(approvals_of C1)" 1
    pointsman history C1 >history
    says 'user:alice@example.org' history
    says "key=$(ssh-keygen -lf alice.pub | cut -d' ' -f2)" history
    within pointsman daemon all --until-idle
    in_one_place C1 D
    same trailer "$(git -C project.git log -1 \
        --format='%(trailers:key=CS-Approved-By,valueonly,separator=)' main)" \
        'alice@example.org <alice@example.org>'
    ends 0 pointsman fsck
    ends 0 pointsman doctor
}
scenario 'a set lands after an approval signed with plain ssh-keygen' \
    good

in_one() {
    with_signers
    held C1 two
    pointsman approve --sign-with alice --as alice@example.org --expires 7d \
        --ticket 'OPS 17' C1
    in_one_place C1 Q
    pointsman why C1 >why
    says "approval 'two': 1 of 2" why
    pointsman approve --sign-with alice --as alice@example.org C1
    pointsman why C1 >why
    says "approval 'two': 1 of 2" why # one signer counts once
    pointsman approve --sign-with bob --as bob@example.org C1
    within pointsman daemon all --until-idle
    in_one_place C1 D
    held C2 bob
    ends 77 pointsman approve --sign-with alice --as alice@example.org C2
    says 'no-role' err
    pointsman approve --sign-with bob --as bob@example.org C2
    within pointsman daemon all --until-idle
    in_one_place C2 D
    # A pattern of names does not make one key count as several signers.
    new_key carol
    signer '*@example.net' carol
    held C3 two
    pointsman approve --sign-with carol --as carol@example.net C3
    pointsman approve --sign-with carol --as zoe@example.net C3
    within pointsman daemon all --until-idle
    in_one_place C3 Q
    pointsman why C3 >why
    says "approval 'two': 1 of 2" why
}
scenario 'two signers approve with one command each; a role can be required' \
    in_one

# refused CODE WORD COMMAND...: the command ends with CODE and one line that
# contains WORD; the set waits without an approval, and no file is left
refused() {
    wanted=$1 word=$2
    shift 2
    ends "$wanted" "$@"
    same 'lines of error' "$(wc -l <err):$(cat err)" "1:$(cat err)"
    says "$word" err
    same 'approvals given' "$(approvals_of C1)" 0
    in_one_place C1 Q
    left=$(find base/prequeue -type f)
    same 'files in prequeue/' "$left" ''
}

forged() {
    with_signers
    held C1 prod
    new_key mallory
    text alice@example.org C1
    cp text good
    cat >cases <<'END'
mallory cq-approve lists this key under that name
bob cq-approve lists this key under that name
alice git another namespace
alice file another namespace
END
    while read -r key namespace why; do
        cp good text
        sign "$key" text "$namespace"
        refused 100 "$why" pointsman approve --signature text.sig C1
    done <cases
    # The text is changed after it was signed.
    cp good text
    sign alice text
    for change in 's/^made 20../made 2019/' 's/^expires never/expires 2200-01-01T00:00:00.000Z/' \
        's/^by alice/by bob/'; do
        sed "$change" good >text
        refused 100 'signature' pointsman approve --signature text.sig C1
    done
    printf 'ticket X-1\n' | cat good - >text
    refused 100 'it does not match the text' \
        pointsman approve --signature text.sig C1
    pointsman history C1 >history
    says 'bad-signature' history
    # The valid signature still counts.
    cp good text
    pointsman approve --signature text.sig C1
    within pointsman daemon all --until-idle
    in_one_place C1 D
    says 'bad-signature' base/log/C1
    says 'approved:signature' base/log/C1
    ends 0 pointsman fsck
}
scenario 'other keys, namespaces and texts are refused with the reason' forged

replayed() {
    with_signers
    held C1 prod
    first=$made
    held C2 prod
    text alice@example.org C2
    sign alice text
    cat text text.sig >paper
    refused 100 'other-set' pointsman approve --signature paper C1
    # Signed for another tarball with the same id, another installation, target
    # or base.
    for change in "s/^sum ./sum f/;s/^set C2/set C1/" \
        's/^instance ./instance x/;s/^set C2/set C1/' \
        "s/^sum .*/sum $(sha256sum "$first" | cut -d' ' -f1)/;
            s/^set C2/set C1/;s/^target main/target site/" \
        "s/^sum .*/sum $(sha256sum "$first" | cut -d' ' -f1)/;
            s/^set C2/set C1/;s/^base none/base $(printf %040d 1)/"; do
        sed "$change" text >other
        sign alice other
        refused 100 'other-' pointsman approve --signature other.sig C1
    done
    # The same id and tarball in another installation.
    theirs=$here/theirs
    pointsman --quiet init --target main=project.git "$theirs"
    cp -r base/conf.d base/allowed_signers "$theirs"
    pointsman --base "$theirs" change submit "$first"
    pointsman --base "$theirs" daemon all --until-idle
    pointsman --base "$theirs" approve --print --as alice@example.org C1 >text
    sign alice text
    refused 100 'other-instance' pointsman approve --signature text.sig C1
    # Renamed in the drop directories.
    text alice@example.org C2
    sign alice text
    cat text text.sig >base/tmp/x
    mv base/tmp/x base/prequeue/approve_C1
    within pointsman daemon all --until-idle
    says 'other-set' base/reject/approve_C1.why
    in_one_place C1 Q
}
scenario 'a signature does not count for another set, content, target or base' \
    replayed

not_valid() {
    with_signers
    held C1 prod
    new_key old && signer old@x old 'valid-before="20200101"'
    new_key soon && signer soon@x soon 'valid-after="20990101"'
    new_key git && signer git@x git 'namespaces="git,file"'
    refused 100 'has expired' \
        pointsman approve --sign-with old --as old@x C1
    refused 100 'not valid yet' \
        pointsman approve --sign-with soon --as soon@x C1
    refused 100 'may not sign in namespace' \
        pointsman approve --sign-with git --as git@x C1
    # The times in the approval itself.
    text alice@example.org C1
    sed 's/^made .*/made 2020-01-01T00:00:00.000Z/
        s/^expires .*/expires 2020-01-02T00:00:00.000Z/' text >past
    sign alice past
    refused 100 'expired: ' pointsman approve --signature past.sig C1
    sed 's/^made .*/made 2200-01-01T00:00:00.000Z/' text >future
    sign alice future
    refused 100 'future: ' pointsman approve --signature future.sig C1
    cat past past.sig >base/tmp/x
    mv base/tmp/x base/prequeue/approve_C1_past
    within pointsman daemon all --until-idle
    says 'expired' base/reject/approve_C1_past.why
    # Revoked keys.
    cp alice.pub base/revoked
    printf '[queue]\nrevoked-keys = revoked\n' >base/conf.d/revoked.conf
    sign alice text
    refused 100 'revoked' pointsman approve --signature text.sig C1
    ssh-keygen -q -k -f base/krl alice.pub
    printf '[queue]\nrevoked-keys = krl\n' >base/conf.d/revoked.conf
    refused 100 'revoked' pointsman approve --signature text.sig C1
    pointsman approve --sign-with bob --as bob@example.org C1
    within pointsman daemon all --until-idle
    in_one_place C1 D
}
scenario 'expired, future and revoked keys and approvals do not count' \
    not_valid

# withdraw COMMAND...: alice signs, the command takes her key away before the set
# lands, and gives it back with the argument `again`
withdraw() {
    with_signers
    held C1 prod
    pointsman hold C1
    ${sign_C1:-pointsman approve --sign-with alice --as alice@example.org C1}
    "$@"
    pointsman release C1
    within pointsman daemon all --until-idle
    in_one_place C1 Q
    pointsman why C1 >why
    says "approval 'prod': 0 of 1, signed; the approval by user:alice@example.org \
does not count any more, because the key may not sign" why
    "$@" again
    within pointsman daemon all --until-idle
    in_one_place C1 D
    ends 0 pointsman fsck
}
unlisted() {
    if [ "${1:-}" = again ]; then
        signer '*@example.org' alice
    else
        sed -i /alice/d base/allowed_signers
    fi
}
excluded() {
    sed -i "/alice/d" base/allowed_signers
    signer "$([ "${1:-}" = again ] || echo '!')alice@example.org,*@example.org" \
        alice
}
in_list() {
    rm -f base/revoked
    [ "${1:-}" = again ] || cp alice.pub base/revoked
    touch base/revoked
    printf '[queue]\nrevoked-keys = revoked\n' >base/conf.d/revoked.conf
}
in_krl() {
    rm -f base/revoked
    ssh-keygen -q -k -f base/revoked bob.pub
    [ "${1:-}" = again ] || ssh-keygen -q -k -u -f base/revoked alice.pub
    printf '[queue]\nrevoked-keys = revoked\n' >base/conf.d/revoked.conf
}
in_krl_by_sum() {
    rm -f base/revoked
    ssh-keygen -lf "$([ "${1:-}" = again ] && echo bob.pub || echo alice.pub)" |
        sed 's/^[0-9]* \([^ ]*\).*/hash: \1/' >sums
    ssh-keygen -q -k -f base/revoked sums
    printf '[queue]\nrevoked-keys = revoked\n' >base/conf.d/revoked.conf
}
unreadable() {
    printf 'SSHKRL\n\000cut' >base/revoked
    [ "${1:-}" != again ] || : >base/revoked
    printf '[queue]\nrevoked-keys = revoked\n' >base/conf.d/revoked.conf
}
other_purpose() {
    sed -i /alice/d base/allowed_signers
    signer "alice@example.org namespaces=\"$([ "${1:-}" = again ] ||
        echo git,!)cq-approve\"" alice
}
beside_an_authority() {
    unlisted "$@"
    signer '*@example.org cert-authority' bob
}
# revoke_line TEXT [again]
revoke_line() {
    printf '%s\n' "$1" >base/revoked
    [ "${2:-}" != again ] || : >base/revoked
    printf '[queue]\nrevoked-keys = revoked\n' >base/conf.d/revoked.conf
}
behind_a_tab() {
    revoke_line "$(cut -d ' ' -f 1,2 alice.pub | tr ' ' '\t')" "$@"
}
junk_line() {
    revoke_line 'ssh-ed25519 AAAAjunk' "$@"
}
for how in unlisted excluded other_purpose beside_an_authority in_list in_krl \
    in_krl_by_sum behind_a_tab unreadable junk_line; do
    scenario "an approval ends with its key: $how" withdraw $how
done

withdrawn_is_not_named() {
    with_signers
    held C1 prod
    pointsman hold C1
    pointsman approve --sign-with alice --as alice@example.org C1
    "$@"
    pointsman approve --sign-with bob --as bob@example.org C1
    pointsman release C1
    within pointsman daemon all --until-idle
    in_one_place C1 D
    same approvers "$(git -C project.git log -1 \
        --format='%(trailers:key=CS-Approved-By,valueonly,separator=;)' main)" \
        "$approvers"
}
approvers='bob@example.org <bob@example.org>'
for how in unlisted in_list; do
    scenario "a commit does not name an approval without its key: $how" \
        withdrawn_is_not_named $how
done
approvers="alice@example.org <alice@example.org>;$approvers"
scenario 'a commit names all approvals that count' withdrawn_is_not_named true
# The key of bob certifies that of alice.
sign_with_certificate() {
    : >base/allowed_signers
    signer 'alice@example.org cert-authority' bob
    ssh-keygen -q -s bob -I id -n alice@example.org alice.pub
    pointsman approve --print --as alice@example.org C1 >text
    ssh-keygen -q -Y sign -n cq-approve -f alice-cert.pub text
    pointsman approve --signature text.sig C1
}
revoked_key() {
    revoke_line "$(cat alice.pub)" "$@"
}
revoked_authority() {
    revoke_line "$(cat bob.pub)" "$@"
}
revoked_certificate() {
    revoke_line "$(cat alice-cert.pub)" "$@"
}
other_authority() {
    : >base/allowed_signers
    signer 'alice@example.org cert-authority' \
        "$([ "${1:-}" = again ] && echo bob || echo carol)"
}
no_authority() {
    : >base/allowed_signers
    signer "alice@example.org$([ "${1:-}" != again ] ||
        echo ' cert-authority')" bob
}
sign_C1=sign_with_certificate
for how in revoked_key revoked_authority revoked_certificate other_authority \
    no_authority; do
    scenario "an approval ends with its certificate: $how" withdraw $how
done
sign_C1=

# Nobody reads the configuration again or submits anything.
withdraw_while_served() {
    with_signers
    held C1 prod
    serve_begin
    pointsman hold C1
    pointsman approve --sign-with alice --as alice@example.org C1
    : >base/allowed_signers
    await '"kind":"hold".*"id":"C1".*withdrawn'
    pointsman release C1
    signer alice@example.org alice
    within pointsman wait C1
    serve_end
    in_one_place C1 D
}
scenario 'a server notices that a key may not sign any more' \
    withdraw_while_served

# junk CODE: the file `paper` is refused as a signature and as a dropped file
junk() {
    ends "$1" pointsman approve --signature paper C1
    same 'lines of error' "$(wc -l <err)" 1
    cp paper base/tmp/x
    chmod 644 base/tmp/x
    mv base/tmp/x base/prequeue/approve_C1_junk
    within pointsman daemon all --until-idle
    [ -e base/reject/approve_C1_junk.why ]
    same 'lines of why' "$(wc -l <base/reject/approve_C1_junk.why)" 1
    rm -f base/reject/approve_C1_junk*
    same 'approvals given' "$(approvals_of C1)" 0
    in_one_place C1 Q
}

hostile() {
    with_signers
    held C1 prod
    text alice@example.org C1
    sign alice text
    cat text text.sig >whole
    bytes=$(wc -c <whole)
    for cut in 0 1 30 $(($(wc -c <text) - 1)) $((bytes / 2)) $((bytes - 8)) \
        $((bytes - 40)) $((bytes - 100)); do
        head -c "$cut" whole >paper
        junk 65
    done
    head -c 5000 /dev/urandom >paper
    junk 65
    { cat text && printf -- '-----BEGIN SSH SIGNATURE-----\n' &&
        head -c 3000 /dev/urandom && printf -- '\n-----END SSH SIGNATURE-----'; } \
        >paper
    junk 65
    { cat text && printf -- '-----BEGIN SSH SIGNATURE-----\n' &&
        head -c 3000 /dev/urandom | base64 &&
        printf -- '-----END SSH SIGNATURE-----\n'; } >paper
    junk 100
    head -c 70000 /dev/zero | tr '\0' 'x' >paper
    junk 65
    head -c 20000000 /dev/zero >paper
    junk 65
    cat whole text >paper
    junk 65
    # Entries that are not regular files, or name an unknown signer.
    mkdir base/prequeue/approve_C1_dir
    ln -s /etc/passwd base/prequeue/approve_C1_link
    cp text base/prequeue/approve_C1_text
    sed 's/^by .*/by uid:0/' text >base/prequeue/approve_C1_root
    cp whole base/prequeue/approve_
    within pointsman daemon all --until-idle
    for name in dir link text root; do
        [ -e "base/reject/approve_C1_$name.why" ]
    done
    [ -e base/reject/approve_.why ]
    in_one_place C1 Q
    # Without the file of allowed signers, no signature counts.
    mv base/allowed_signers elsewhere
    ends 100 pointsman approve --signature whole C1
    says 'cannot be read' err
    mv elsewhere base/allowed_signers
    printf 'nonsense\n\0\377 ssh-ed25519 x\n' >>base/allowed_signers
    pointsman approve --signature whole C1
    within pointsman daemon all --until-idle
    in_one_place C1 D
    ends 0 pointsman fsck
}
scenario 'truncated, binary, huge and odd approvals are refused completely' \
    hostile

# A signer may have the name of the account that submitted the set.
own() {
    with_signers
    me=$(id -un)
    held C1 two
    new_key mine
    signer "$me" mine
    signer "$me@example.org" mine
    refused 77 'own-set' pointsman approve --sign-with mine C1
    refused 77 'own-set' \
        pointsman approve --sign-with mine --as "$me@example.org" C1
}
scenario 'submitters cannot sign for their own sets' own

# One key is one person, whatever names it may sign under.
own_key() {
    with_signers
    me=$(id -un)
    new_key mine
    key=$(cut -d' ' -f1,2 mine.pub)
    as_other='pointsman approve --sign-with mine --as other@example.org'
    held C1 two
    printf '%s@example.org,other@example.org %s\n' "$me" "$key" \
        >base/allowed_signers
    refused 77 'own-set' $as_other C1
    printf '%s %s a comment\nother@* namespaces="a b,cq-approve" %s\n' \
        "$me" "$key" "$key" >base/allowed_signers
    refused 77 'own-set' $as_other C1
    printf '"*@example.org" %s\n' "$key" >base/allowed_signers
    make_set C2 DC two/c C2 '##author' 'Ann <ann@example.org>'
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    refused 77 'own-set' $as_other C2
    ends 0 $as_other C1
}
scenario 'a key of the submitter signs for nobody else' own_key

door() {
    with_signers
    make_set D1 DC door/a D1
    ends 100 pointsman change submit "$made"
    says 'unapproved' err
    pointsman approve --tarball "$made" --as alice@example.org >text
    sign alice text
    pointsman change submit --approval text.sig "$made"
    within pointsman daemon all --until-idle
    in_one_place D1 D
    same approvals "$(approvals_of D1)" 1
    # Through the drop directories.
    make_set D2 DC door/b D2
    pointsman approve --tarball "$made" --as bob@example.org --sign-with bob \
        >paper
    pointsman change put --approval paper "$made"
    within pointsman daemon all --until-idle
    in_one_place D2 D
    # With a forged approval, the set is refused.
    make_set D3 DC door/c D3
    new_key mallory
    pointsman approve --tarball "$made" --as bob@example.org \
        --sign-with mallory >paper
    ends 100 pointsman change submit --approval paper "$made"
    says 'unapproved' err
    ends 66 pointsman status D3
    make_set D5 DC door/e D5 '##approval' '-----BEGIN SSH SIGNATURE-----' AAAA \
        '-----END SSH SIGNATURE-----'
    ends 100 pointsman change submit "$made"
    says 'submit it beside the tarball' err
    make_set D4 DC door/d D4
    pointsman change put "$made"
    within pointsman daemon all --until-idle
    says 'unapproved' "base/reject/$(basename "$made").why"
    ends 0 pointsman fsck
}
scenario 'a set refused on submission is accepted with its signature' door

service() {
    with_signers
    serve_begin
    make_set D1 DC door/a D1
    ends 100 pointsman change submit "$made"
    says 'unapproved' err
    pointsman approve --tarball "$made" --as alice@example.org \
        --sign-with alice >paper
    pointsman change submit --approval - "$made" <paper
    within pointsman wait D1
    make_set C1 DC prod/a C1
    pointsman change submit "$made"
    text alice@example.org C1
    sign bob text
    refused 100 'bad-signature' pointsman approve --signature text.sig C1
    sign alice text
    pointsman approve --signature text.sig C1
    within pointsman wait C1
    serve_end
    in_one_place C1 D
    ends 0 pointsman fsck
}
scenario 'a server accepts and refuses signatures too' service

# An approval file stays until its set arrives.
kept() {
    with_signers
    held C1 prod
    text alice@example.org C1
    sign alice text
    cat text text.sig >base/tmp/x
    mv base/tmp/x base/prequeue/approve_C1
    # The approval file of C2 arrives before the set.
    make_set C2 DC prod/c2 C2
    pointsman approve --tarball "$made" --as alice@example.org \
        --sign-with alice >base/tmp/x
    mv base/tmp/x base/prequeue/approve_C2
    within pointsman daemon all --until-idle
    in_one_place C1 D
    [ -e base/prequeue/approve_C2 ]
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    in_one_place C2 D
    [ ! -e base/prequeue/approve_C2 ]
}
scenario 'a signed approval file waits in prequeue/ for its set' kept

# file OWNER NAME: drops the file `text` into prequeue/ as a file of OWNER
file() {
    cp text "base/tmp/$2"
    chown "$1" "base/tmp/$2"
    mv "base/tmp/$2" "base/prequeue/$2"
}

owners() {
    [ "$(id -u)" -eq 0 ] || skip 'only root can act as two users'
    with_signers
    printf '[access]\nsubmitter = 65534, 65533\n' >base/conf.d/access.conf
    held C1 two
    text uid:65534 C1
    file 65533 approve_C1_other
    file 65534 approve_C1_linked
    ln base/prequeue/approve_C1_linked base/tmp/linked
    within pointsman daemon all --until-idle
    says 'unsigned' base/reject/approve_C1_other.why
    says 'linked' base/reject/approve_C1_linked.why
    same approvals "$(approvals_of C1)" 0
    file 65534 approve_C1_good
    file 65534 approve_C1_again
    within pointsman daemon all --until-idle
    same approvals "$(approvals_of C1)" 1
    pointsman history --json C1 >history
    says '"actor":"uid:65534"' history
    in_one_place C1 Q
    # A signature counts only if somebody drops it who may submit.
    text bob@example.org C1
    sign bob text
    cp text unsigned
    cat unsigned text.sig >text
    file 65532 approve_C1_stranger
    within pointsman daemon all --until-idle
    says 'no-role' base/reject/approve_C1_stranger.why
    in_one_place C1 Q
    file 65533 approve_C1_bob
    within pointsman daemon all --until-idle
    pointsman history C1 >history
    says 'from file of uid:65533' history
    in_one_place C1 D
}
scenario 'an approval file counts only if its owner may submit' owners

# make_masked: ./masked COMMAND... runs a command where ssh-keygen cannot be
# executed
make_masked() {
    apart=-m
    [ "$(id -u)" -eq 0 ] || apart=-rm
    cat >masked <<END
#!/bin/sh
exec unshare $apart sh -c 'mount --bind /dev/null /usr/bin/ssh-keygen &&
    exec "\$@"' sh "\$@"
END
    chmod +x masked
    ./masked true 2>/dev/null ||
        skip 'programs cannot be hidden here (unshare -m, mount --bind)'
    [ "$(command -v ssh-keygen)" = /usr/bin/ssh-keygen ] ||
        skip 'ssh-keygen is not in /usr/bin'
}

# kept_waiting: the set waits without an approval, and no file was rejected
kept_waiting() {
    in_one_place C1 Q
    same 'approvals given' "$(approvals_of C1)" 0
    same 'files rejected' "$(ls base/reject)" ''
}

without_ssh_keygen() {
    make_masked
    with_signers
    held C1 prod
    text alice@example.org C1
    sign alice text
    make_set D1 DC door/a D1
    pointsman approve --tarball "$made" --as alice@example.org \
        --sign-with alice >paper
    # A command fails at once, and nothing is kept.
    refused 69 'ssh-keygen is missing' \
        ./masked pointsman approve --signature text.sig C1
    kept_waiting
    ends 69 ./masked pointsman change submit --approval paper "$made"
    says 'ssh-keygen is missing' err
    ends 66 pointsman status D1
    same 'files in prequeue/ and data/' "$(ls base/prequeue base/data |
        grep D1)" ''
    ./masked pointsman doctor >found || :
    says 'ssh-keygen is missing' found
    # The same through a server.
    begin ./masked pointsman serve 2>serve.log
    server=$begun
    within sh -c 'until pointsman --server unix:base/ctrl/sock list; do :; done' \
        >/dev/null 2>&1
    refused 69 'ssh-keygen is missing' \
        pointsman --server unix:base/ctrl/sock approve --signature text.sig C1
    kill -TERM "$server"
    expect_exit "$server" 0
    # A dropped approval file waits, and the log shows why, once. A set that
    # would be refused without its approval waits too.
    cat text text.sig >base/tmp/x
    mv base/tmp/x base/prequeue/approve_C1
    cp paper base/tmp/x
    mv base/tmp/x base/prequeue/approve_D1
    pointsman change put "$made"
    within ./masked pointsman daemon all --until-idle 2>said
    for id in C1 D1; do
        same "lines about $id" "$(grep -c "'approve_$id' waits: it cannot be \
checked now: pointsman: cannot execute ssh-keygen" said)" 1
    done
    [ -e base/prequeue/approve_D1 ]
    ends 66 pointsman status D1
    kept_waiting
    [ -e base/prequeue/approve_C1 ]
    # With ssh-keygen, both approvals count and the set is admitted.
    within pointsman daemon all --until-idle
    in_one_place C1 D
    in_one_place D1 D
    same approvals "$(approvals_of C1)$(approvals_of D1)" 11
    ends 0 pointsman fsck
    # If ssh-keygen stays missing for too long, the file goes to reject/ with
    # the reason.
    printf '[queue]\nwait-for-job = 1\n' >base/conf.d/wait.conf
    held C2 prod
    text alice@example.org C2
    sign alice text
    cat text text.sig >base/tmp/x
    mv base/tmp/x base/prequeue/approve_C2
    begin ./masked pointsman daemon prequeue 2>said
    await '"id":"C2".*cannot-check'
    kill "$begun"
    expect_exit "$begun" 0
    says 'cannot-check: ' base/reject/approve_C2.why
    says 'cannot execute ssh-keygen' base/reject/approve_C2.why
    in_one_place C2 Q
    same approvals "$(approvals_of C2)" 0
}
scenario 'without ssh-keygen, no signature counts, none is lost, and errors say why' \
    without_ssh_keygen

finish
