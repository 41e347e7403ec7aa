#!/bin/sh
# train_results.sh PROGRAM: what a merge train knows about results of checks:
# when one is used again, when it counts no more, and what `environment` does
# (doc/design/train.md).
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"
# shellcheck source=tests/support/train.sh
. "$(dirname "$0")/../support/train.sh"

# crash: kills the server, which begins again
crash() {
    kill -KILL "$server"
    wait "$server" || :
    serve_begin
}

# ---- environment -------------------------------------------------------------

environment_changes() {
    make_train 2 "environment = cat '$here/compiler'"
    echo 12 >compiler
    gate a
    serve_begin
    submit a DC a
    submit b DC b
    passed b
    running a
    # The same output changes nothing.
    reload
    crash
    await '"id":"b".*"reason":"reused"'
    same 'runs of b' "$(runs_of b)" 1
    # A pass of earlier does not count while nobody knows.
    rm compiler
    reload
    runs_reach b 2
    echo 13 >compiler
    reload
    await '"kind":"train".*"id":"main".*"reason":"environment","detail":"known"'
    runs_reach b 3
    open_gate a
    ends 0 within pointsman wait a b
    serve_end
    all_landed a b
    same 'runs of b' "$(runs_of b)" 3
}
scenario 'a pass counts only while the environment of checks is the same' \
    environment_changes

environment_fails() {
    make_train 2 "environment = sh '$here/environment.sh'"
    echo 'echo fine' >environment.sh
    gate a b
    serve_begin
    submit a DC a
    submit b DC b
    running a b
    echo 'echo fine; exit 3' >environment.sh
    reload
    fault='the environment command exited with 3'
    await "\"reason\":\"environment\",\"detail\":\"failed: $fault\""
    why_says b "no result of main is used again: $fault"
    pointsman train main >train.said
    says "no result is used again: $fault" train.said
    ends 1 pointsman doctor
    says "no result of its checks is used again: $fault" out
    open_gate b
    passed b
    echo 'echo fine' >environment.sh
    pointsman train recheck main
    await '"reason":"environment","detail":"known"'
    ends 0 pointsman doctor
    pointsman why b >why.said
    says_not 'used again' why.said
    # Nobody knows in which environment b has passed.
    crash
    runs_reach b 2
    open_gate a
    ends 0 within pointsman wait a b
    serve_end
    all_landed a b
}
scenario 'no result is used again while the environment is not known' \
    environment_fails

environment_is_bounded() {
    make_train 2 'environment = yes'
    submit a DC a
    within pointsman daemon all --until-idle
    all_landed a
    pointsman history >history
    says 'the environment command was killed by signal 25' history
    echo 'environment = no/such/program' >>base/conf.d/target.conf
    submit b DC b
    within pointsman daemon all --until-idle
    all_landed a b
    pointsman history >history
    says "cannot run the environment command" history
}
scenario 'an environment command that prints for ever or is missing is a failure' \
    environment_is_bounded

environment_hangs() {
    make_train 2 "environment = cat '$here/hangs'"
    mkfifo hangs
    serve_begin
    submit a DC a
    why_says a 'waits for the environment command of main'
    same 'runs of a' "$(runs_of a)" 0
    # A server that ends does not wait for it.
    serve_end
    state_is a pending
    serve_begin
    why_says a 'waits for the environment command of main'
    # Another command takes its place.
    sed -i 's/^environment.*/environment = echo fine/' base/conf.d/target.conf
    reload
    ends 0 within pointsman wait a
    serve_end
    all_landed a
}
scenario 'an environment command that hangs is stopped when it is replaced' \
    environment_hangs

# It sees neither the set nor the attempt, so that they do not change the key.
environment_is_clean() {
    make_train 2 "environment = sh -c 'env | sort >\"\$0\"; pwd; ls' '$here/seen'"
    export POINTSMAN_SECRET=1
    submit a DC a
    within pointsman daemon all --until-idle
    all_landed a
    says 'POINTSMAN_TARGET=main' seen
    says 'LANG=C.UTF-8' seen
    for word in POINTSMAN_CSID POINTSMAN_SECRET POINTSMAN_STATUS TMPDIR; do
        says_not "$word" seen
    done
}
scenario 'the environment command sees nothing of the set that waits for it' \
    environment_is_clean

environment_account() {
    [ "$(id -u)" -eq 0 ] || skip 'only root can use other accounts'
    make_train 2 'user = nobody' "environment = sh '$here/environment.sh'"
    chmod 711 "$top" "$here"
    mkdir -m 777 open
    echo "id -un | tee '$here/open/account'" >environment.sh
    # The check is of no interest here.
    sed -i 's/^check.unit.*/check.unit = true/' base/conf.d/target.conf
    submit a DC a
    within pointsman daemon all --until-idle
    landed a
    same account "$(cat open/account)" nobody
}
scenario 'the environment command runs under the account of the checks' \
    environment_account

# ---- configuration -----------------------------------------------------------

other_checks() {
    make_train 2
    gate a
    serve_begin
    submit a DC a
    submit b DC b
    passed b
    echo "check.more = sh -c 'echo \$POINTSMAN_CSID >>\"\$0\"' '$here/more'" \
        >>base/conf.d/target.conf
    reload
    runs_reach b 2
    open_gate a
    ends 0 within pointsman wait a b
    serve_end
    all_landed a b
    same 'sets that the new check saw' "$(sort -u more | tr '\n' ' ')" 'a b '
}
scenario 'a new check runs for sets that had passed the others' other_checks

lanes_change() {
    make_train 4
    gate a b c d e f g h
    serve_begin
    for id in a b c d e f g h; do
        submit $id DC $id
    done
    running a b c d
    sed -i 's/^lanes.*/lanes = 2/' base/conf.d/target.conf
    reload
    await '"id":"d".*"reason":"stale"'
    await '"id":"c".*"reason":"stale"'
    why_says c 'no lane: main uses 2 of 2 (a b)'
    sed -i 's/^lanes.*/lanes = 8/' base/conf.d/target.conf
    reload
    running e f g h
    pointsman train main >train.said
    says '8 of 8 lanes' train.said
    open_gate a b c d e f g h
    ends 0 within pointsman wait a b c d e f g h
    serve_end
    all_landed a b c d e f g h
    same 'runs of a and b' "$(runs_of a) $(runs_of b)" '1 1'
}
scenario 'lanes become fewer and more while checks run' lanes_change

bad_configuration() {
    make_train 2
    gate a
    serve_begin
    submit a DC a
    running a
    cat >base/conf.d/approval.conf <<'EOF'
[approval "never"]
path = prod/**
role = operator
count = 3
unapproved = refuse
EOF
    ends 78 pointsman config check
    kill -HUP "$server"
    within sh -c 'until grep -q "unapproved" serve.log; do :; done'
    open_gate a
    submit b DC b
    ends 0 within pointsman wait a b
    serve_end
    rm base/conf.d/approval.conf
    all_landed a b
    same 'runs of a' "$(runs_of a)" 1
}
scenario 'a train goes on when policies that contradict each other are refused' \
    bad_configuration

# ---- flaky, volatile, equal --------------------------------------------------

flaky() {
    make_train 2 'check-retries = 1'
    : >flaky.a
    submit a DC a
    within pointsman daemon all --until-idle
    all_landed a
    same 'runs of a' "$(runs_of a)" 2
    pointsman history a >history
    says 'flaky' history
    # A branch that has passed, so that the next failure is that of the set.
    sed -i 's/^check-retries.*/check-retries = 0/' base/conf.d/target.conf
    : >flaky.b
    submit b DC b
    within pointsman daemon all --until-idle
    in_one_place b F
    same 'runs of b' "$(runs_of b)" 1
}
scenario 'a flaky check is repeated as often as check-retries says' flaky

volatile() {
    make_train 2 'volatile = unit'
    gate a
    serve_begin
    submit a DC a
    submit b DC b
    passed b
    running a
    crash
    runs_reach b 2
    open_gate a
    ends 0 within pointsman wait a b
    serve_end
    all_landed a b
}
scenario 'the pass of a volatile check does not survive a restart' volatile

# equal KEY RUNS: two sets with the same content, the second of which is checked
# RUNS times
equal() {
    make_train 2 "remember = $1" 'blind = allow'
    make_set a DC shared text
    pointsman change submit "$made"
    make_set b DC shared text
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    all_landed a b
    same 'runs of b' "$(runs_of b)" "$2"
}
scenario 'equal sets are both checked by default' equal set 1
scenario 'equal sets are checked once if results are remembered by tree' \
    equal tree 0

# ---- objects -----------------------------------------------------------------

collected() {
    make_train 2
    gate a b
    serve_begin
    submit a DC a
    submit b DC b
    running a b
    git -C project.git gc -q --prune=now
    open_gate a b
    ends 0 within pointsman wait a b
    serve_end
    all_landed a b
    git -C project.git fsck --strict
    ends 0 pointsman fsck
}
scenario 'git gc --prune=now during checks takes nothing that lands' collected

# The objects of candidates may be deleted at any time.
objects_deleted() {
    make_train 2
    gate a b
    serve_begin
    submit a DC a
    submit b DC b
    running a b
    rm -rf base/ctrl/train.main
    open_gate b
    passed b
    open_gate a
    ends 0 within pointsman wait a b
    serve_end
    all_landed a b
    ends 0 pointsman fsck
}
scenario 'the objects of candidates may be deleted while checks run' \
    objects_deleted

# git names the file in its message, and a set may call a file anything.
not_checked_out() { # LANES
    make_train "$1" 'check-filters = yes'
    printf '[queue]\nmax-temp = 1\n' >base/conf.d/temp.conf
    git clone -q project.git clone
    echo 'odd filter=broken' >clone/.gitattributes
    git -C clone add .gitattributes
    git -C clone commit -q -m attributes
    git -C clone push -q origin HEAD:main
    git -C project.git config filter.broken.smudge false
    git -C project.git config filter.broken.required true
    make_set L DC 'Permission denied/odd' L
    pointsman change submit "$made"
    submit T DC T
    submit U DC U
    within pointsman daemon all --until-idle
    all_landed T U
    in_one_place L F
    same 'reason of L' "$(pointsman status --json L | jq -r .reason)" \
        temp-exhausted
    pointsman logs L >out
    says 'Permission denied/odd: smudge filter broken failed' out
}
scenario 'a tree that cannot be checked out is counted, and others land' \
    not_checked_out 1
scenario 'a tree that cannot be checked out does not harm sets on top of it' \
    not_checked_out 4

# A name of 300 bytes: git stores it, and no file system here accepts it.
branch_not_checked_out() {
    make_train 2
    printf '[queue]\nmax-temp = 1\n' >base/conf.d/temp.conf
    G() { git -C project.git "$@"; }
    before=$(G rev-parse main)
    blob=$(echo x | G hash-object -w --stdin)
    tree=$(printf '100644 blob %s\t%0300d\n' "$blob" 0 | G mktree)
    G update-ref refs/heads/main "$(G commit-tree -p main -m odd "$tree")"
    serve_begin
    submit T DC T
    await '"kind":"target".*"reason":"unavailable"'
    pointsman why T >out
    says "branch 'main' itself cannot be checked out here" out
    G update-ref refs/heads/main "$before"
    ends 0 within pointsman wait T
    serve_end
    all_landed T
}
scenario 'no set fails because the branch itself cannot be checked out' \
    branch_not_checked_out

finish
