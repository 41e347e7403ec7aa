#!/bin/sh
# landing.sh PROGRAM: how sets land on a branch, tested from outside: the commit a
# set was based on, checks, targets that cannot be used, groups.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"

# push FILE TEXT: pushes a commit of another author, with an old date, in a pack
# and without a reflog, so that git does not show when it was pushed
push() {
    git -C project.git config core.logAllRefUpdates false
    [ -d clone ] || git clone -q project.git clone
    echo "$2" >"clone/$1"
    git -C clone add "$1"
    GIT_AUTHOR_DATE='2001-01-01T00:00:00Z' \
        GIT_COMMITTER_DATE='2001-01-01T00:00:00Z' \
        git -C clone commit -q -m "push $1"
    git -C clone repack -q -a -d
    git -C clone push -q origin HEAD:main
    git -C project.git repack -q -a -d
    rm -f project.git/logs/refs/heads/main
}

# ---- the commit a set was based on -------------------------------------------

seen_at_admission() {
    make_base
    push a first
    make_set before DC a 'made before'
    pointsman change submit "$made"
    pointsman --quiet daemon prequeue --once
    says "seen $(git -C project.git rev-parse main)" base/queue/before_*
    push a second
    make_set after DC a 'made after'
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    in_one_place before F
    in_one_place after D
    pointsman why before | grep 'a was changed'
    same content "$(git -C project.git show main:a)" 'made after'
}
scenario 'a set without ##base is compared with the branch at its admission' \
    seen_at_admission

seen_survives_a_rebuild() {
    make_base
    push a first
    make_set before DC a 'made before'
    pointsman change submit "$made"
    pointsman --quiet daemon prequeue --once
    push a second
    rm -f base/ctrl/registry.db*
    ends 0 pointsman fsck --rebuild
    ends 0 pointsman fsck
    within pointsman daemon all --until-idle
    in_one_place before F
    same content "$(git -C project.git show main:a)" second
}
scenario 'a rebuilt registry still knows the branch at the admission' \
    seen_survives_a_rebuild

# C1 to C3 land with one move, C4 alone.
content_is_there() {
    make_base
    push a one
    push c three
    for id in C1 C2 C3; do
        make_set $id DC "$id" "$id"
        [ $id = C2 ] || make_set $id DC a one
        pointsman -q change submit "$made" >id
    done
    within pointsman daemon all --until-idle
    make_set C4 DC c three
    pointsman -q change submit "$made" >id
    within pointsman daemon all --until-idle
    for id in C1 C3 C4; do
        in_one_place $id D
        same "commits of $id" "$(times_landed $id)" 1
        there="no-change: its content is on the branch already: $(
            git -C project.git log --format=%H --grep "^CS-Id: $id" main)"
        ends 0 pointsman status $id
        says "$there" out
        ends 0 pointsman why $id
        says "$there" out
        ends 0 pointsman history $id
        says 'executing > done no-change' out
    done
    ends 0 pointsman status C2
    says_not no-change out
    rm -f base/ctrl/registry.db*
    ends 0 pointsman fsck --rebuild
    ends 0 pointsman fsck
    ends 0 pointsman status C1
    says 'no-change: its content is on the branch already' out
}
scenario 'a set whose content is on the branch already says so' content_is_there

# ---- a set that has left its branch -------------------------------------------

left_the_branch() {
    make_base 'wait-for-dep = 60'
    pointsman --quiet daemon prequeue --once
    before=$(git -C project.git rev-parse main)
    make_set first DC a one
    pointsman -q change submit "$made" >id
    within pointsman daemon all --until-idle
    in_one_place first D
    ends 0 pointsman status first
    says_not 'no longer' out
    same branch "$(pointsman status --json first | jq .branch)" null
    landed=$(git -C project.git rev-parse main)
    git -C project.git update-ref refs/heads/main "$before"
    ends 0 pointsman status first
    says "branch      no longer on branch 'main'; was the branch rewritten?" out
    pointsman status --json first >json
    same branch "$(jq -r .branch json)" \
        "no longer on branch 'main'; was the branch rewritten?"
    ends 1 pointsman fsck
    says "set 'first' has landed, but is no longer on branch 'main'" out
    ends 1 pointsman doctor
    says "set 'first' has landed, but is no longer on branch 'main'" out
    serve_begin
    make_set second DC b two '##dependencies' first
    pointsman -q change submit "$made" >id
    make_set other DC c three
    pointsman -q change submit "$made" >id
    within pointsman wait other
    await '"id":"second".*"to":"pending".*"reason":"base-lost"'
    same 'attempts counted' "$(pointsman status --json second | jq .temps)" null
    ends 0 pointsman why second
    says "first has landed, but is no longer on branch 'main'; was the branch" \
        out
    says 'next try at' out
    ends 0 pointsman status second
    says 'reason      base-lost: first has landed' out
    # The branch has it again, beside what landed meanwhile.
    git -C project.git update-ref refs/heads/main "$(
        printf 'merge\n' | git -C project.git commit-tree -p main -p "$landed" \
            "$(git -C project.git merge-tree --write-tree main "$landed" | head -n 1)"
    )"
    within pointsman wait second
    same 'content of b' "$(git -C project.git show main:b)" two
    serve_end
    ends 0 pointsman fsck
    ends 0 pointsman status first
    says_not 'no longer' out
}
scenario 'a set waits for its dependency that has left the branch' \
    left_the_branch

# ---- at the door ----------------------------------------------------------------

again_says_what_became() {
    make_base
    make_set a DC a 'text of a'
    ends 0 pointsman change submit "$made"
    ends 0 pointsman change submit "$made"
    same 'standard output' "$(cat out)" a
    says "'a' was submitted before; queued (admitted) since 2" err
    within pointsman daemon all --until-idle
    ends 0 pointsman change submit "$made"
    says "'a' was submitted before; done (ok) since 2" err
}
scenario 'submitting a set again shows what became of it' \
    again_says_what_became

blind_is_refused() {
    make_base
    printf '[target "main"]\nblind = deny\n' >base/conf.d/target.conf
    make_set a DC a 'text of a'
    ends 100 pointsman change submit "$made"
    says "it has no ##base, and target 'main' accepts only sets that have one" err
    make_set b DC b 'text of b' '##base' "$(git -C project.git rev-parse main)"
    ends 0 pointsman change submit "$made"
    within pointsman daemon all --until-idle
    in_one_place b D
}
scenario 'a target with blind = deny refuses a set without ##base at once' \
    blind_is_refused

blind_files_are_refused() {
    make_base
    printf '[target "main"]\nblind = deny\n' >base/conf.d/target.conf
    make_set a DC a 'text of a'
    drop_set "$made"
    within pointsman daemon all --until-idle
    says 'policy: it has no ##base' "base/reject/$(basename "$made").why"
    ends 66 pointsman status a
}
scenario 'the same for a set that arrives as a file' blind_files_are_refused

# refused_name NAME: a set of this file name is refused by both routes
refused_name() {
    mv "$made" "sets/$1"
    ends 100 pointsman change submit "sets/$1"
    says 'bad-name: ' err
    drop_set "$here/sets/$1"
    within pointsman daemon all --until-idle
    says 'bad-name: ' "base/reject/$1.why"
    same 'what is left' "$(ls -A base/data base/prequeue | grep -v :)" ''
    made=$here/sets/$1
}

bad_names_are_refused() {
    make_base
    make_set a DC a 'text of a'
    for name in 'a_@40000000655_1_host_DC' \
        'a_@400000006553f15e00000000_1_host_XX' \
        '-a_@400000006553f15e00000000_1_host_DC' \
        'a_@400000006553f15e00000000_x_host_DC'; do
        refused_name "$name"
    done
    # Any other file name says nothing; then the set says what its name is.
    for line in 'a_@400000006553f15e00000000_1_host_XX' 'a name'; do
        make_set b DC b 'text of b' '##set-name' "$line"
        drop_set "$made"
        mv "$made" plain.tar
        ends 100 pointsman change submit plain.tar
        says 'bad-name: ##set-name: ' err
        within pointsman daemon all --until-idle
        says 'bad-name: ##set-name: ' "base/reject/$(basename "$made").why"
    done
    ends 0 pointsman list --all
    same 'sets' "$(sed 1d out)" ''
}
scenario 'a name that breaks the grammar is refused at the door' \
    bad_names_are_refused

# ---- checks --------------------------------------------------------------------

# An empty commit is pushed meanwhile, so the merged tree does not change.
same_tree_same_check() {
    make_base
    cat >base/conf.d/target.conf <<EOF
[target "main"]
check.push = sh '$here/push.sh'
EOF
    cat >push.sh <<EOF
echo run >>'$here/runs'
[ ! -e '$here/pushed' ] || exit 0
: >'$here/pushed'
cd '$here/project.git'
git update-ref refs/heads/main \$(git -c user.name=P -c user.email=p@p commit-tree -p main -m empty main^{tree})
EOF
    make_set one DC a one
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    in_one_place one D
    same runs "$(wc -l <runs)" 1
    same 'length of the branch' "$(git -C project.git rev-list --count main)" 3
}
scenario 'a check is not run again on a tree that passed it' \
    same_tree_same_check

# submit_poisoned COMMANDS: two checks run a file of the set, as test suites do, and
# a third one judges another file. The set is submitted, and the daemon runs.
submit_poisoned() {
    make_base
    echo '! grep -qx poison bad' >lint.sh
    cat >base/conf.d/target.conf <<EOF
[target "main"]
check.unit = sh -c '! test -e test.sh || sh test.sh'
check.more = sh -c '! test -e test.sh || sh test.sh'
check.lint = sh '$here/lint.sh'
EOF
    make_set poisoned DC bad poison
    echo "$1" >packing/lroot/test.sh
    printf '##movetype\nDC\n##target\nmain\n##files\nbad\ntest.sh\n' \
        >packing/meta
    tar -C packing -cf "$made" meta lroot
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    same 'commits of poisoned' "$(times_landed poisoned)" 0
    pointsman logs poisoned >out
    says "check 'unit' changed bad, so the next check gets a new checkout" out
}

later_check_sees_the_tree() {
    submit_poisoned 'echo harmless >bad'
    says "check 'more' changed bad, so the next check gets a new checkout" out
    in_one_place poisoned F
    pointsman why poisoned >out
    says "check 'lint' exited with 1" out
}
scenario 'a check sees the tree that lands, whatever the checks before it did' \
    later_check_sees_the_tree

removes_its_directory() { # COMMAND
    make_base
    {
        printf '[target "main"]\ncheck.first = sh -c "%s"\n' "$1"
        printf 'check.second = test -e fs\n'
    } >base/conf.d/target.conf
    make_set S DC fs 1
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    in_one_place S D
    pointsman logs --attempt 1 S >out
    says "check 'first' removed its directory, so the next check gets" out
}
# shellcheck disable=SC2016 # the shell of the check expands it
for command in 'rm -rf $PWD' 'mv $PWD $PWD.x' 'mv $PWD $PWD.x; ln -s / $PWD'; do
    scenario "after a check that removes its directory, the next has one: $command" \
        removes_its_directory "$command"
done

# Checks under the account of the server may write beside their checkout.
restore_is_refused() {
    submit_poisoned 'echo harmless >bad; mkdir -p ../changed.0/in-the-way'
    says "cannot rename" out
    in_one_place poisoned P
}
scenario 'no further check runs if a changed checkout cannot be replaced' \
    restore_is_refused

# ---- a target that cannot be used ----------------------------------------------

# waits_for TEXT: both sets wait, and `why` and `doctor` show TEXT as the reason
waits_for() {
    for id in a b; do
        in_one_place $id P
    done
    pointsman why b >why.said
    says "target main is unavailable since " why.said
    says "$1" why.said
    pointsman why --json b | jq -e -s 'any(.kind == "target")'
    ends 1 pointsman doctor
    grep '^warn .*target' out >doctor.said
    says "$1" doctor.said
}

repository_missing() {
    make_base 'max-temp = 1'
    for id in a b; do
        make_set $id DC $id "$id"
        pointsman change submit "$made"
    done
    mv project.git away.git
    within pointsman daemon all --until-idle
    waits_for 'no git repository'
    within pointsman daemon all --until-idle
    waits_for 'no git repository'
    pointsman events --json >events.said
    same 'events of the target' \
        "$(jq -r 'select(.kind == "target") | .id + " " + .reason' events.said)" \
        'main unavailable'
    same 'temporary ends' "$(jq -r 'select(.reason == "temp")' events.said)" ''
    mv away.git project.git
    within pointsman daemon all --until-idle
    for id in a b; do
        in_one_place $id D
        same "commits of $id" "$(times_landed $id)" 1
    done
    pointsman events --json >events.said
    same 'events of the target' \
        "$(jq -r 'select(.kind == "target") | .reason' events.said)" \
        "$(printf 'unavailable\nusable')"
}
scenario 'sets wait for a missing repository and do not fail' \
    repository_missing
scenario 'sets on a merge train wait for a missing repository' \
    on_train repository_missing

# Both sets land when the branch is back.
branch_missing() {
    make_base 'max-temp = 1'
    tip=$(git -C project.git rev-parse main)
    make_set a DC README changed '##base' "$tip"
    pointsman change submit "$made"
    make_set b DC b b
    pointsman change submit "$made"
    pointsman --quiet daemon prequeue --once
    git -C project.git update-ref -d refs/heads/main
    within pointsman daemon all --until-idle
    waits_for "no branch 'main'"
    ends 1 git -C project.git rev-parse -q --verify refs/heads/main
    git -C project.git update-ref refs/heads/main "$tip"
    within pointsman daemon all --until-idle
    in_one_place a D
    in_one_place b D
}
scenario 'sets wait for a missing branch, which is not created' branch_missing
scenario 'sets on a merge train wait for a missing branch' \
    on_train branch_missing

branch_names_a_file() {
    make_base 'max-temp = 1'
    tip=$(git -C project.git rev-parse main)
    for id in a b; do
        make_set $id DC $id "$id"
        pointsman change submit "$made"
    done
    blob=$(git -C project.git rev-parse main:README)
    echo "$blob" >project.git/refs/heads/main
    for _ in 1 2 3; do
        within pointsman daemon all --until-idle
    done
    waits_for 'names a blob'
    pointsman status a >status.said
    says 'names a blob' status.said
    echo "$tip" >project.git/refs/heads/main
    within pointsman daemon all --until-idle
    in_one_place a D
    in_one_place b D
}
scenario 'sets wait for a branch that names a file' branch_names_a_file
scenario 'sets on a merge train wait for a branch that names a file' \
    on_train branch_names_a_file

# A server runs all the time; the only event is that the repository returns.
lands_by_itself() {
    make_base
    make_set a DC a a
    mv project.git away.git
    begin pointsman serve
    daemon=$begun
    pointsman change submit "$made"
    await '"kind":"target".*"reason":"unavailable"'
    pointsman why a >why.said
    says 'next try at ' why.said
    mv away.git project.git
    ends 0 within pointsman wait a
    kill "$daemon"
    expect_exit "$daemon" 0
    in_one_place a D
}
scenario 'sets land without a command when their repository is back' \
    lands_by_itself
scenario 'sets on a merge train land when their repository is back' \
    on_train lands_by_itself

# both_say TEXT: fsck and doctor find a problem and show TEXT
both_say() {
    ends 1 pointsman fsck
    says "$1" out
    ends 1 pointsman doctor
    grep '^warn .*target' out >doctor.said
    says "$1" doctor.said
}

damage_is_found() {
    make_base
    make_set a DC dir/a 'text of a'
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    in_one_place a D
    ends 0 pointsman fsck
    for name in main 'main^{tree}' main:dir main:dir/a main:README; do
        oid=$(git -C project.git rev-parse "$name")
        object=project.git/objects/$(echo "$oid" | sed 's,^..,&/,')
        mv "$object" kept
        both_say "target 'main': "
        : >"$object"
        both_say "target 'main': "
        { head -c 10 kept && echo junk; } >"$object"
        case $name in
        *:*/* | *:R*) # doctor does not read files
            ends 1 pointsman fsck
            says "target 'main': " out
            ;;
        *) both_say "target 'main': " ;;
        esac
        rm -f "$object"
        mv kept "$object"
    done
    git -C project.git rev-parse main:README >blob
    cp project.git/refs/heads/main kept
    cp blob project.git/refs/heads/main
    both_say 'names a blob'
    cp kept project.git/refs/heads/main
    git -C project.git update-ref -d refs/heads/main
    both_say "no branch 'main'"
    cp kept project.git/refs/heads/main
    ends 0 pointsman fsck
    pointsman doctor | grep '^ok .*its newest commit is there'
}
scenario 'fsck and doctor read the newest commit of a branch' damage_is_found

# The branch is moved back behind b, as by a forced push.
rewrite_is_found() {
    make_base
    for id in a b c; do
        make_set $id DC $id "$id"
        pointsman change submit "$made"
        within pointsman daemon all --until-idle
        in_one_place $id D
    done
    tip=$(git -C project.git rev-parse main)
    git -C project.git update-ref refs/heads/main main~2
    both_say "set 'b' has landed, but is no longer on branch 'main'"
    ends 1 pointsman fsck
    says "set 'c' has landed, but is no longer on branch 'main'" out
    same 'sets that have left' "$(grep -c "has landed, but" out)" 2
    git -C project.git update-ref refs/heads/main "$tip"
    ends 0 pointsman fsck
}
scenario 'fsck and doctor name the sets that have left their branch' \
    rewrite_is_found

# The branch is moved back behind the rollback of a. The rollback of what is
# rolled back already has no commit, and is not missed.
lost_rollback_is_found() {
    make_base
    make_set a DC a a
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    for name in "$(pointsman -q rollback a)" "$(pointsman -q rollback a)"; do
        within pointsman daemon all --until-idle
        ends 0 within pointsman wait "$name"
        echo "$name" >>names
    done
    ends 0 pointsman fsck
    tip=$(git -C project.git rev-parse main)
    git -C project.git update-ref refs/heads/main main~
    rb=$(head -n 1 names)
    both_say "rollback '$rb' is no longer on branch 'main', so what it rolled"
    ends 1 pointsman fsck
    same 'what has left' "$(grep -c "is no longer on" out)" 1
    pointsman status "$rb" | grep "branch *no longer on branch 'main'"
    ends 0 pointsman status "$(tail -n 1 names)"
    says_not 'no longer' out
    git -C project.git update-ref refs/heads/main "$tip"
    ends 0 pointsman fsck
    # A rebuilt registry knows it too.
    rm -f base/ctrl/registry.db*
    ends 0 pointsman fsck --rebuild
    git -C project.git update-ref refs/heads/main main~
    both_say "rollback '$rb' is no longer on branch 'main', so what it rolled"
}
scenario 'fsck and doctor name the rollbacks that have left their branch' \
    lost_rollback_is_found

# A rollback waits too.
rollback_waits() {
    make_base 'max-temp = 1'
    make_set a DC a a
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    in_one_place a D
    mv project.git away.git
    rb=$(pointsman --quiet rollback a)
    for _ in 1 2 3 4; do
        within pointsman daemon all --until-idle
    done
    same 'state of the rollback' \
        "$(pointsman status --json "$rb" | jq -r .state)" pending
    pointsman why "$rb" >why.said
    says 'target main is unavailable' why.said
    mv away.git project.git
    daemon_begin
    ends 0 within pointsman wait "$rb"
    kill "$daemon"
    expect_exit "$daemon" 0
    same 'file a' "$(git -C project.git ls-tree --name-only main a)" ''
}
scenario 'a rollback waits for its repository too' rollback_waits

# ---- sets that land together ---------------------------------------------------

# moves: prints how often the program moved the branch
moves() {
    git -C project.git reflog main --format=%gs | grep -c '^pointsman: land'
}

a_ring_lands_at_once() {
    make_base
    # Only the sets of a group land together.
    printf '[target "main"]\nland-max = 1\n' >base/conf.d/target.conf
    git -C project.git config core.logAllRefUpdates always
    make_set left DC a left '##group' web '##dependencies' right
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    in_one_place left S
    pointsman why left >why.said
    says 'dependency right is not known here' why.said
    make_set right BF b right '##group' web '##dependencies' left
    pointsman change submit "$made"
    make_set other DC c other
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    for id in left right other; do
        in_one_place $id D
        same "commits of $id" "$(times_landed $id)" 1
    done
    same moves "$(moves)" 2
    git -C project.git reflog main --format=%gs >moved
    grep -E 'land (left right|right left)$' moved
    # Each set has its own commit.
    for id in left right; do
        oid=$(git -C project.git log --format='%H %(trailers:key=CS-Id,valueonly,separator=)' main |
            sed -n "s/ $id\$//p")
        same "commit of $id" "$(pointsman status --json $id | jq -r .detail)" "$oid"
    done
    ends 0 pointsman fsck
}
scenario 'sets of a group that depend on each other land in one update' \
    a_ring_lands_at_once

waits_for_count() {
    make_base
    make_set g1 DC a 1 '##group' 'web 3'
    pointsman change submit "$made"
    make_set g2 DC b 2 '##group' 'web 3'
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    in_one_place g1 Q
    in_one_place g2 Q
    pointsman why g1 >why.said
    says "group 'web': 2 of 3 sets have arrived" why.said
    make_set g3 DC c 3 '##group' 'web 3'
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    same order "$(landed_order)" 'g1 g2 g3 '
    for id in g1 g2 g3; do in_one_place $id D; done
}
scenario 'a group with a count waits until all its sets have arrived' \
    waits_for_count

# The commits do not fit into 8,000 bytes.
large_group() {
    make_base
    pad=0123456789012345678901234567890123456
    for n in $(seq 100 199); do
        make_set "set.$n.$pad" DC "f$n" "$n" '##group' 'web 100'
        drop_set "$made"
    done
    within pointsman daemon all --until-idle
    git -C project.git log --format='%(trailers:key=CS-Id,valueonly,separator=) %H' \
        main | grep ^set | sort >landed
    same 'commits' "$(wc -l <landed)" 100
    pointsman list --all --json state:done |
        jq -r 'select(.reason == "ok") | .id + " " + .detail' | sort >known
    cmp landed known
    same moves "$(git -C project.git reflog main | grep -c ': land')" 1
}
scenario 'the commit of each set of a large group is known' large_group

one_fails_all_fail() {
    make_base
    before=$(git -C project.git rev-parse main)
    make_set bad DC a 1 '##group' 'web 2' '##deleted' nowhere
    pointsman change submit "$made"
    make_set good DC b 2 '##group' 'web 2'
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    in_one_place bad F
    in_one_place good F
    same reason "$(pointsman status --json bad | jq -r .reason)" conflict
    same reason "$(pointsman status --json good | jq -r .reason)" group-failed
    pointsman status --json good | jq -r .detail >why.said
    says 'bad of its group did not land: conflict: nowhere' why.said
    same main "$(git -C project.git rev-parse main)" "$before"
    # A member is cancelled before it starts, or its dependency fails.
    make_set w1 DC c 1 '##group' 'net 2'
    pointsman change submit "$made"
    make_set w2 DC d 2 '##group' 'net 2' '##dependencies' absent
    pointsman change submit "$made"
    within pointsman daemon queue --until-idle
    pointsman cancel w1
    within pointsman daemon all --until-idle
    in_one_place w1 T
    in_one_place w2 F
    make_set d1 DC e 1 '##group' 'lan 2' '##dependencies' bad
    pointsman change submit "$made"
    make_set d2 DC f 2 '##group' 'lan 2'
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    same reason "$(pointsman status --json d1 | jq -r .reason)" dep-failed
    same reason "$(pointsman status --json d2 | jq -r .reason)" group-failed
    # The name of the group can be used again by later sets.
    make_set again DC a 1 '##group' 'web 2' '##supersedes' bad
    pointsman change submit "$made"
    make_set once DC b 2 '##group' 'web 2' '##supersedes' good
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    in_one_place again D
    in_one_place once D
    ends 0 pointsman fsck
}
scenario 'if a member cannot land, none does, and each names that member' \
    one_fails_all_fail

# The sets of the first group are pending when those of the second come. The
# second cannot land: a file that it adds was added since its base.
two_groups_of_one_name() {
    make_base
    old=$(git -C project.git rev-parse main)
    make_set z DC taken 1
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    for id in a1 a2; do
        make_set $id DC $id 1 '##group' 'web 2'
        pointsman change submit "$made"
    done
    within pointsman daemon queue --until-idle
    in_one_place a1 P
    make_set b1 DC b1 1 '##group' 'web 2'
    pointsman change submit "$made"
    make_set b2 DC taken 2 '##group' 'web 2' '##base' "$old"
    pointsman change submit "$made"
    within pointsman daemon queue --until-idle
    in_one_place b2 P
    within pointsman daemon all --until-idle
    in_one_place a1 D
    in_one_place a2 D
    in_one_place b2 F
    same reason "$(pointsman status --json b1 | jq -r .reason)" group-failed
    same b1 "$(times_landed b1)" 0
    # A third one lands, and a rollback of the first leaves it alone.
    for id in c1 c2; do
        make_set $id DC $id 1 '##group' 'web 2'
        pointsman change submit "$made"
    done
    within pointsman daemon all --until-idle
    pointsman rollback --preview a1 >preview
    says a2 preview
    ! grep -q c1 preview || wrong 'another group is rolled back too'
    ends 0 pointsman fsck
}
scenario 'groups of one name that wait at once land and fail by themselves' \
    two_groups_of_one_name

# The sets of both groups wait before any of them is staged, in a registry that
# was lost meanwhile.
the_next_group_of_one_name() {
    make_base
    for id in a1 a2 b1 b2; do
        make_set $id DC $id 1 '##group' 'web 2'
        pointsman change submit "$made"
    done
    rm -f base/ctrl/registry.db*
    ends 0 pointsman fsck --rebuild
    pointsman hold a1
    within pointsman daemon all --until-idle
    in_one_place a1 Q
    in_one_place a2 Q
    in_one_place b1 D
    in_one_place b2 D
    pointsman rollback --preview b1 >preview
    says b2 preview
    ! grep -q a2 preview || wrong 'another group is rolled back too'
    pointsman cancel a1
    within pointsman daemon all --until-idle
    in_one_place a2 F
    same reason "$(pointsman status --json a2 | jq -r .reason)" group-failed
    in_one_place b1 D
    ends 0 pointsman fsck
}
scenario 'a complete group takes no more sets, and the next ones begin another' \
    the_next_group_of_one_name

ordered_as_one() {
    make_base
    # A member of higher class does not overtake the sets that touch its files.
    make_set early DC shared early
    pointsman change submit "$made"
    make_set m1 DC mine one '##group' 'web 2'
    pointsman change submit "$made"
    make_set m2 EM shared two '##group' 'web 2' '##dependencies' early
    pointsman change submit "$made"
    make_set late DC mine late '##dependencies' m2
    pointsman change submit "$made"
    sed -i 's/^blind = .*/blind = allow/' base/pointsman.conf
    within pointsman daemon all --until-idle
    for id in early m1 m2 late; do in_one_place $id D; done
    landed_order >order
    grep -E '^early (m1 m2|m2 m1) late $' order
}
scenario 'a group is ordered like one set' ordered_as_one

a_lost_registry_keeps_the_group() {
    make_base
    make_set g1 DC a 1 '##group' 'web 2'
    pointsman change submit "$made"
    within pointsman daemon queue --until-idle
    rm -f base/ctrl/registry.db*
    ends 0 pointsman fsck --rebuild
    within pointsman daemon all --until-idle
    in_one_place g1 Q
    make_set g2 DC b 2 '##group' 'web 2'
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    in_one_place g1 D
    in_one_place g2 D
    ends 0 pointsman fsck
}
scenario 'a rebuilt registry still knows the group' \
    a_lost_registry_keeps_the_group

# ---- a history with old dates ---------------------------------------------------

# old_commits: 300 commits of 2001 on top of main, as an imported history has
old_commits() {
    {
        printf 'reset refs/heads/main\nfrom refs/heads/main^0\n\n'
        for old in $(seq 300); do
            printf 'commit refs/heads/main\n'
            printf 'committer A <a@example.com> 978307200 +0000\n'
            printf 'data <<EOT\nold %s\nEOT\n' "$old"
            [ "$old" -gt 1 ] || printf 'from refs/heads/main^0\n'
            printf '\n'
        done
    } | git -C project.git fast-import --quiet
}

behind_old_dates() {
    make_base
    [ "$1" = plain ] ||
        printf '[target "main"]\ncheck.u = true\n' >base/conf.d/target.conf
    make_set S DC fs 1
    pointsman change submit "$made"
    pointsman -q backup before.tar
    within pointsman daemon all --until-idle
    in_one_place S D
    old_commits
    make_set D DC fd 1 '##dependencies' S
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    in_one_place D D
    pointsman rollback --preview S >out
    ! grep rb-absent out || wrong 'the preview does not find S'
    rm -rf base
    pointsman --base "$here/base" restore before.tar
    pointsman restore --resume
    within pointsman daemon all --until-idle
    in_one_place S D
    same 'landings of S' "$(times_landed S)" 1
}
scenario 'a set is found on its branch behind commits with old dates' \
    behind_old_dates plain
scenario 'a set with checks is found behind commits with old dates' \
    behind_old_dates checked

other_encoding() {
    make_base
    git -C project.git config i18n.logOutputEncoding UTF-16
    make_set S DC fs 1
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    make_set D DC fd 1 '##dependencies' S
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    in_one_place D D
}
scenario 'the encoding of the log of the repository hides no set' other_encoding

# ---- a branch that is away -------------------------------------------------------

submitted_while_away() {
    make_base 'poll = 1'
    git -C project.git config core.logAllRefUpdates always
    make_set Z DC f 1
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    mv project.git/refs/heads/main project.git/refs/heads/other
    make_set T DC f 2 '##dependencies' Z
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    in_one_place T P
    mv project.git/refs/heads/other project.git/refs/heads/main
    daemon_begin
    ends 0 within pointsman wait T
    kill "$daemon"
    expect_exit "$daemon" 0
    in_one_place T D
}
scenario 'a set that is submitted while its branch is away lands when it is back' \
    submitted_while_away

finish
