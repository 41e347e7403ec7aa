#!/bin/sh
# train_people.sh PROGRAM: what people do to sets on a merge train, and who goes
# before whom (doc/design/train.md).
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"
# shellcheck source=tests/support/train.sh
. "$(dirname "$0")/../support/train.sh"

# ---- the head ----------------------------------------------------------------

held_head() {
    make_train 2
    gate a b
    serve_begin
    submit a DC a
    submit b DC b
    running a b
    pointsman hold a
    await '"id":"a".*"from":"executing".*"reason":"held"'
    await '"id":"a".*"reason":"left","detail":"position 1 on the train of main, held"'
    state_is a pending
    open_gate b
    ends 0 within pointsman wait b
    same 'commits of a' "$(times_landed a)" 0
    open_gate a
    pointsman release a
    ends 0 within pointsman wait a
    serve_end
    all_landed a b
    same order "$(landed_order)" 'b a '
}
scenario 'a head that is held while its check runs lands after its release' \
    held_head

superseded_head() {
    make_train 2
    gate a
    serve_begin
    submit a DC a
    running a
    make_set n DC file.a new '##supersedes' a
    ends 100 pointsman change submit "$made"
    says "it supersedes 'a', which is executing" err
    pointsman cancel a
    ends 143 within pointsman wait a
    make_set m DC file.a new '##supersedes' a
    pointsman change submit "$made"
    ends 0 within pointsman wait m
    open_gate a
    serve_end
    all_landed m
    in_one_place a T
}
scenario 'a head can be superseded when it has been cancelled, not before' \
    superseded_head

temporary_head() {
    make_train 2
    : >temporary.a
    gate a
    serve_begin
    submit a DC a
    submit b DC b
    running a
    passed b
    open_gate a
    ends 0 within pointsman wait b
    same order "$(landed_order)" 'b '
    rm temporary.a
    ends 0 within pointsman wait a
    serve_end
    all_landed a b
    pointsman history a >history
    says 'executing > pending temp' history
}
scenario 'others land while the head waits after a temporary failure' \
    temporary_head

# ---- approval ----------------------------------------------------------------

# with_approver LANES: a train whose sets below prod/ need an approval, and the
# account 65534 as a submitter
with_approver() {
    [ "$(id -u)" -eq 0 ] || skip 'only root can act as two users'
    make_train "$1" 'blind = allow'
    sed -i 's/^\[queue\]/&\npoll = 1/' base/conf.d/scenario.conf
    cat >base/conf.d/approval.conf <<'EOF'
[access]
submitter = 65534
checks-as-owner = yes
[approval "prod"]
path = prod/**
EOF
    # Checks of the other account would need files that it can read.
    printf 'user = root\n' >>base/conf.d/target.conf
}

# submit_of_other ID: a set of account 65534 that needs an approval
submit_of_other() {
    make_set "$1" DC "prod/$1" "$1"
    other_name=$(basename "$made")
    cp "$made" "base/data/$other_name"
    : >"base/tmp/$other_name.marker"
    chown 65534 "base/tmp/$other_name.marker"
    mv "base/tmp/$other_name.marker" "base/prequeue/$other_name"
    await "\"id\":\"$1\".*\"to\":\"queued\""
}

approval_expires() {
    with_approver 2
    gate a
    serve_begin
    submit a DC a
    running a
    submit_of_other p
    pointsman approve --expires 4s p
    passed p
    await '"kind":"hold".*"id":"p".*expired'
    await '"id":"p".*"from":"executing".*"reason":"held"'
    open_gate a
    ends 0 within pointsman wait a
    same 'commits of p' "$(times_landed p)" 0
    state_is p pending
    pointsman approve p
    ends 0 within pointsman wait p
    serve_end
    all_landed a p
}
scenario 'a set whose approval expires after its check passed does not land' \
    approval_expires

approval_expires_during_check() {
    with_approver 2
    gate p
    serve_begin
    submit_of_other p
    pointsman approve --expires 4s p
    running p
    submit b DC b
    passed b
    await '"kind":"hold".*"id":"p".*expired'
    open_gate p
    ends 0 within pointsman wait b
    same order "$(landed_order)" 'b '
    state_is p pending
    pointsman approve p
    ends 0 within pointsman wait p
    serve_end
    all_landed b p
}
scenario 'a head whose approval expires during its check leaves the train' \
    approval_expires_during_check

# ---- urgent sets -------------------------------------------------------------

failing_emergency() {
    make_train 2
    gate a b
    serve_begin
    submit a DC a
    submit b DC b
    running a b
    submit e EM bad
    ends 1 within pointsman wait e
    state_is e failed
    open_gate a b
    ends 0 within pointsman wait a b
    serve_end
    all_landed a b
    in_one_place e F
}
scenario 'an emergency that fails delays the others, but none fails with it' \
    failing_emergency

# The emergency becomes ready when a fails, which frees a lane too. The checks of
# b and c would hold both lanes for long.
emergency_and_freed_lane() {
    make_train 2 'blind = allow'
    submit first DC first
    within pointsman daemon all --until-idle # the branch has passed
    gate a b c
    serve_begin
    submit a DC bad
    submit b DC b
    submit c DC c
    running a b
    make_set e EM file.a good
    pointsman change submit "$made"
    open_gate a
    ends 0 within pointsman wait e
    same order "$(landed_order)" 'first e '
    open_gate b c
    ends 0 within pointsman wait b c
    serve_end
    all_landed first b c e
    in_one_place a F
}
scenario 'an emergency that becomes ready as a lane is freed gets that lane' \
    emergency_and_freed_lane

bug_fix() {
    make_train 2
    gate a b
    serve_begin
    for id in a b c; do
        submit $id DC $id
    done
    running a b
    await '"id":"c".*"reason":"joined"'
    submit f BF f
    await '"id":"f".*"reason":"joined","detail":"position 3 on'
    open_gate a b
    ends 0 within pointsman wait a b c f
    serve_end
    all_landed a b c f
    same order "$(landed_order)" 'a b f c '
    same 'runs of a and b' "$(runs_of a) $(runs_of b)" '1 1'
}
scenario 'a bug fix goes before sets that wait, and stops no check' bug_fix

# ---- limits ------------------------------------------------------------------

one_by_one() {
    make_train 4 'land-max = 1'
    git -C project.git config core.logAllRefUpdates always
    gate a
    serve_begin
    for id in a b c d; do
        submit $id DC $id
    done
    passed b c d
    open_gate a
    ends 0 within pointsman wait a b c d
    serve_end
    all_landed a b c d
    same moves "$(moves)" 4
    same runs "$(wc -l <runs)" 4
}
scenario 'with land-max = 1 each set moves the branch by itself' one_by_one

few_slots() {
    train_slots=2
    make_train 8
    gate a b
    serve_begin
    for id in a b c; do
        submit $id DC $id
    done
    running a b
    await '"id":"c".*"reason":"joined"'
    why_says c 'no slot: 2 of 2 are busy'
    job=$(pointsman submit -- sh -c "echo ran >>'$here/command'")
    open_gate a b
    ends 0 within pointsman wait a b c "$job"
    serve_end
    all_landed a b c
    says ran command
}
scenario 'checks use no more slots than there are, and commands get theirs' \
    few_slots

two_targets() {
    make_train 2
    git -C project.git branch release
    cat >>base/conf.d/target.conf <<EOF
[target "old"]
git = $here/project.git
branch = release
lanes = 2
check.unit = sh '$here/unit.sh'
EOF
    gate a o
    serve_begin
    submit a DC a
    submit b DC b
    set_target=old
    submit o DC o
    submit p DC bad
    running a o
    await '"id":"p".*"reason":"failing"'
    passed b
    open_gate a o
    ends 1 within pointsman wait a b o p
    serve_end
    all_landed a b
    in_one_place o D
    in_one_place p F
    same 'sets on the release' "$(git -C project.git log release \
        --format='%(trailers:key=CS-Id,valueonly)' | sed '/^$/d')" o
}
scenario 'two branches of one repository have trains of their own' two_targets

# Submitted without a server, as one burst.
five_hundred() {
    make_base
    printf '[target "main"]\nlanes = 4\n' >base/conf.d/target.conf
    git -C project.git config core.logAllRefUpdates always
    mkdir sets
    python3 - <<'EOF'
import io, tarfile, time

def add(tar, name, text):
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(text), 0o644
    tar.addfile(member, io.BytesIO(text.encode()))

base = 0x400000000000000a + int(time.time()) - 1000
for n in range(500):
    name = "sets/s%d_@%016x%08x_1_host_DC" % (n, base, n)
    with tarfile.open(name, "w") as tar:
        add(tar, "meta", "##movetype\nDC\n##target\nmain\n##files\n"
            "file.%d\n" % n)
        add(tar, "lroot/file.%d" % n, "%d\n" % n)
EOF
    pointsman --quiet change submit sets/* >ids
    SCENARIO_NET=300
    within pointsman daemon all --until-idle
    same 'sets that landed' "$(git -C project.git rev-list --count main)" 501
    same 'sets that are done' "$(ls base/done | wc -l)" 500
    [ "$(moves)" -lt 100 ] || wrong "$(moves) moves for 500 sets"
    ends 0 pointsman fsck
}
scenario 'five hundred sets on a train land in a few moves' five_hundred

finish
