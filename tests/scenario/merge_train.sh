#!/bin/sh
# merge_train.sh PROGRAM: the merge train of a branch with several lanes, tested
# from outside (doc/design/train.md).
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"

# shellcheck source=tests/support/train.sh
. "$(dirname "$0")/../support/train.sh"

# ---- without failures ----------------------------------------------------------

eight_sets() {
    make_train 4
    for id in a b c d e f g h; do
        submit $id DC $id
    done
    within pointsman daemon all --until-idle
    all_landed a b c d e f g h
    same order "$(landed_order)" 'a b c d e f g h '
    same runs "$(wc -l <runs)" 8
    same lanes "$(cut -d ' ' -f 3 runs | sort -u | tr '\n' ' ')" '0 1 2 3 '
    same 'state of the log' "$(pointsman logs a | grep -c 'main is now')" 1
}
scenario 'eight sets on four lanes need eight checks and land in order' \
    eight_sets

without_checks() {
    make_base
    printf '[target "main"]\nlanes = 2\n' >base/conf.d/target.conf
    git -C project.git config core.logAllRefUpdates always
    for id in a b c d e f g h i j k l; do
        submit $id DC $id
    done
    within pointsman daemon all --until-idle
    for id in a b c d e f g h i j k l; do
        in_one_place $id D
        same "commits of $id" "$(times_landed $id)" 1
    done
    [ "$(moves)" -lt 12 ] || wrong "$(moves) moves for 12 sets"
}
scenario 'without checks, several sets land with one move of the branch' \
    without_checks

slow_head() {
    make_train 4
    git -C project.git config core.logAllRefUpdates always
    gate a
    daemon_begin
    for id in a b c d; do
        submit $id DC $id
    done
    passed d
    same 'branch' "$(git -C project.git rev-list --count main)" 1
    open_gate a
    ends 0 within pointsman wait a b c d
    kill "$daemon"
    expect_exit "$daemon" 0
    all_landed a b c d
    same runs "$(wc -l <runs)" 4
    same moves "$(moves)" 1
}
scenario 'sets that passed behind a slow one land with it in one move' slow_head

# Three sets and two lanes: the third set waits, and `why` shows for what.
the_third_waits() {
    make_train 2
    gate a b
    serve_begin
    for id in a b c; do
        submit $id DC $id
    done
    running a b
    why_says c 'position 3 of 3 on the train of main, on top of a and b'
    why_says c 'no lane: main uses 2 of 2 (a b)'
    pointsman why --json c | jq -e 'select(.kind == "train")'
    open_gate a b
    ends 0 within pointsman wait a b c
    serve_end
    all_landed a b c
}
scenario 'a third set waits for one of two lanes, and why shows it' \
    the_third_waits

# ---- failures ------------------------------------------------------------------

one_fails() {
    make_train 4
    gate a b c d
    daemon_begin
    submit a DC a
    submit b DC bad
    submit c DC c
    submit d DC d
    running a b c d
    open_gate b
    # The sets behind b are merged and checked again without it.
    await '"id":"b".*"reason":"failing"'
    open_gate a c d
    ends 1 within pointsman wait a b c d
    kill "$daemon"
    expect_exit "$daemon" 0
    in_one_place b F
    pointsman why b | grep -F "check 'unit' exited with 1"
    all_landed a c d
    same order "$(landed_order)" 'a c d '
    same 'runs of a' "$(runs_of a)" 1
}
scenario 'a set that fails is left out, and the others land' one_fails

innocent() {
    make_train 2
    submit a DC bad
    submit b DC b
    within pointsman daemon all --until-idle
    in_one_place a F
    all_landed b
}
scenario 'a set does not fail because the one before it is bad' innocent

broken_branch() {
    make_train 2
    git clone -q project.git clone
    echo bad >clone/broken
    git -C clone add broken
    git -C clone commit -q -m breaks
    git -C clone push -q origin HEAD:main
    serve_begin
    submit a DC a
    submit b DC b
    await '"kind":"train".*"reason":"broken"'
    why_says a 'main is broken: its tip '
    pointsman train main >train.said
    says ', broken' train.said
    git -C clone rm -q broken
    git -C clone commit -q -m repairs
    git -C clone push -q origin HEAD:main
    ends 0 within pointsman wait a b
    serve_end
    all_landed a b
}
scenario 'no set fails on a branch that was broken before, and a push repairs it' \
    broken_branch

conflict() {
    make_train 2
    make_set a DC shared first
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    all_landed a
    make_set b DC shared second '##base' \
        "$(git -C project.git rev-parse main~1)"
    pointsman change submit "$made"
    within pointsman daemon all --until-idle
    in_one_place b F
    pointsman why b | grep 'conflict'
    same 'runs of b' "$(runs_of b)" 0
}
scenario 'a set that cannot be merged fails without a check' conflict

# Without anything to wait for, the sets go back to P before the daemon ends.
broken_and_idle() {
    make_train 2
    git clone -q project.git clone
    echo bad >clone/broken
    git -C clone add broken
    git -C clone commit -q -m breaks
    git -C clone push -q origin HEAD:main
    submit a DC a
    submit b DC b
    within pointsman daemon all --until-idle
    in_one_place a P
    in_one_place b P
}
scenario 'no set is left executing by a daemon that ends' broken_and_idle

limited() {
    make_train "$1"
    [ "$2" = checked ] || sed -i /check.unit/d base/conf.d/target.conf
    for id in a b c; do
        submit $id DC $id
    done
    within pointsman daemon all --jobs 2
    in_one_place a D
    in_one_place b D
    in_one_place c P
    within pointsman daemon all --until-idle
    in_one_place c D
}
scenario 'a daemon with --jobs 2 lands two sets of a train' limited 4 checked
scenario 'the same without checks, where more could land in one move' \
    limited 4 unchecked

# ---- people --------------------------------------------------------------------

hold_in_the_middle() {
    make_train 4
    gate a b c
    daemon_begin
    for id in a b c; do
        submit $id DC $id
    done
    running a b c
    pointsman hold b
    await '"id":"b".*"from":"executing".*"reason":"held"'
    state_is b pending
    open_gate a c
    ends 0 within pointsman wait a c
    landed a c
    open_gate b
    pointsman release b
    ends 0 within pointsman wait b
    kill "$daemon"
    expect_exit "$daemon" 0
    all_landed a b c
}
scenario 'a set that is held leaves the train and joins it again when released' \
    hold_in_the_middle

cancel_the_head() {
    make_train 4
    gate a b
    daemon_begin
    submit a DC a
    submit b DC b
    running a b
    pointsman cancel a
    ends 143 within pointsman wait a
    state_is a terminated
    open_gate b
    ends 0 within pointsman wait b
    kill "$daemon"
    expect_exit "$daemon" 0
    all_landed b
    same 'commits of a' "$(times_landed a)" 0
}
scenario 'a cancelled head of the train does not land, and the others do' \
    cancel_the_head

emergency() {
    make_train 2
    gate a b
    daemon_begin
    submit a DC a
    submit b DC b
    running a b
    submit e EM e
    ends 0 within pointsman wait e
    same order "$(landed_order)" 'e '
    open_gate a b
    ends 0 within pointsman wait a b
    kill "$daemon"
    expect_exit "$daemon" 0
    all_landed a b e
}
scenario 'an emergency waits for no check of less urgent sets' emergency

group_in_the_middle() {
    make_train 4
    submit a DC a
    submit l DC l '##group' 'web 2'
    submit r DC r '##group' 'web 2'
    submit z DC z
    within pointsman daemon all --until-idle
    all_landed_group a l r z
}
# The first set of a group has no check of its own.
all_landed_group() {
    for id in "$@"; do
        in_one_place "$id" D
        same "commits of $id" "$(times_landed "$id")" 1
    done
    same runs "$(wc -l <runs)" 3
}
scenario 'a group is one unit: one check, one landing' group_in_the_middle

# They have no base, so the second one would overwrite what the first one did.
group_on_one_file() {
    make_train 2
    make_set one DC file one '##group' 'pair 2'
    pointsman change submit "$made"
    make_set two DC file two '##group' 'pair 2'
    pointsman change submit "$made"
    ends 0 pointsman daemon all --until-idle
    same 'states' "$(pointsman list --all --json | jq -r '"\(.id) \(.reason)"' |
        sort | tr '\n' ' ')" 'one group-failed two conflict '
}
scenario 'sets of a group that conflict with each other fail as on one lane' \
    group_on_one_file

rollback_while_running() {
    make_train 4
    submit a DC a
    within pointsman daemon all --until-idle
    gate b c d e
    daemon_begin
    for id in b c d e; do
        submit $id DC $id
    done
    running b c d e
    pointsman rollback a
    await '"kind":"rolled-back"'
    open_gate b c d e
    ends 0 within pointsman wait b c d e
    kill "$daemon"
    expect_exit "$daemon" 0
    all_landed b c d e
    same 'file of a' "$(git -C project.git ls-tree --name-only main file.a)" ''
}
scenario 'a landed set is rolled back while others are checked' \
    rollback_while_running

# ---- others, and crashes -------------------------------------------------------

push_by_others() {
    make_train 2
    gate a b
    daemon_begin
    submit a DC a
    submit b DC b
    running a b
    git clone -q project.git clone
    echo other >clone/other
    git -C clone add other
    git -C clone commit -q -m other
    git -C clone push -q origin HEAD:main
    open_gate a b
    ends 0 within pointsman wait a b
    kill "$daemon"
    expect_exit "$daemon" 0
    all_landed a b
    same 'length of the branch' "$(git -C project.git rev-list --count main)" 4
}
scenario 'sets are checked on what others pushed meanwhile' push_by_others

killed() {
    make_train 2
    gate a
    daemon_begin
    submit a DC a
    submit b DC b
    await '"id":"b".*"reason":"passed"'
    kill -KILL "$daemon"
    wait "$daemon" || :
    open_gate a
    within pointsman daemon all --until-idle
    all_landed a b
    same order "$(landed_order)" 'a b '
    same 'runs of b' "$(runs_of b)" 1
}
scenario 'after kill -9 a check that had passed is not repeated' killed

metrics() {
    python3 -c 'import socket, sys
line = socket.socket(socket.AF_UNIX)
line.connect("base/ctrl/sock")
line.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
sys.stdout.write(line.makefile().read())'
}

remembered() {
    make_train 2
    gate a
    serve_begin
    submit a DC a
    submit b DC b
    passed b
    pointsman train >train.said
    grep -E '^ +1  a .* running  on top of the tip, for [0-9:]+' train.said
    grep -E '^ +2  b .* passed   on top of a; attempts: ok' train.said
    same 'what b is on top of' "$(pointsman train --json main |
        jq -c 'select(.id == "b").on_top_of')" '["a"]'
    why_says b 'position 2 of 2 on the train of main, on top of a'
    why_says b 'passed on top of a; lands when a has landed'
    pointsman train forget main
    await '"kind":"train".*"reason":"forgotten"'
    open_gate a
    ends 0 within pointsman wait a b
    submit c DC bad
    within pointsman wait c || :
    pointsman train main >train.said
    grep -E '^20[^ ]*Z  c +failed, check-failed: check .unit. exited with 1$' \
        train.said
    says '0 sets or groups; 0 of 2 lanes, 0 of 8 slots in use' train.said
    same 'last landings' "$(grep -c ' landed, [0-9] attempts' train.said)" 2
    metrics >metrics.said
    says 'pointsman_train_lanes{target="main"} 2' metrics.said
    says 'pointsman_train_tip_proven{target="main"} 1' metrics.said
    says 'pointsman_train_events_total{target="main",event="landing"} 2' \
        metrics.said
    says 'last 24 hours: 2 landed, 1 failed, 5 checks run (0 flaky)' train.said
    serve_end
    # The server has forgotten it; the registry has not.
    serve_begin
    pointsman train --json main >train.json
    same landings "$(jq -r 'select(.kind == "landing").id' train.json |
        sort | tr '\n' ' ')" 'a b '
    same checks "$(jq 'select(.kind == "day").runs' train.json)" 5
    same failures "$(jq -r 'select(.kind == "failure").id' train.json)" c
    serve_end
    all_landed a b
    same 'runs of b' "$(runs_of b)" 2
}
scenario 'the train is shown, and its results can be forgotten' remembered

# ---- sets that follow others -----------------------------------------------------

# reason_of ID: prints why it is in its state
reason_of() {
    pointsman status --json "$1" | jq -r .reason
}

# Two sets wait for the first one: one depends on it, one uses its directory.
followers() {
    make_train 4
    git -C project.git config core.logAllRefUpdates always
    gate a b c
    serve_begin
    submit a DC a
    submit b DC b '##dependencies' a
    make_set c DC file.c c '##precursors' a
    pointsman change submit "$made"
    running a b c
    in_one_place c X
    pointsman train --json main |
        jq -es 'any(.id == "b" and .on_top_of == ["a"])'
    open_gate b c
    await '"id":"b".*"reason":"passed"'
    await '"id":"c".*"reason":"passed"'
    same branch "$(git -C project.git rev-list --count main)" 1
    open_gate a
    ends 0 within pointsman wait a b c
    serve_end
    all_landed a b c
    same order "$(landed_order)" 'a b c '
    same runs "$(wc -l <runs)" 3
    same moves "$(git -C project.git reflog main --format=%gs | grep -c ': land')" 1
}
scenario 'sets that wait for another are checked and landed together with it' \
    followers

not_followed() {
    make_train 4 'follow = no'
    gate a
    serve_begin
    submit a DC a
    submit b DC b '##dependencies' a
    running a
    await '"id":"b".*"reason":"staged"'
    open_gate a
    ends 0 within pointsman wait a b
    serve_end
    all_landed a b
    ! pointsman events --json | grep -q '"reason":"follows"'
}
scenario 'without follow, a set waits until the other one has landed' \
    not_followed

# The follower has passed on top of a set that fails; the one after it waits.
dependency_fails() {
    make_train 4
    gate a
    serve_begin
    submit a DC bad
    submit b DC b '##dependencies' a
    submit c DC c '##dependencies' b
    running a
    await '"id":"c".*"reason":"joined"'
    open_gate a
    ends 1 within pointsman wait a b c
    in_one_place a F
    in_one_place b F
    in_one_place c F
    same 'reason of b' "$(reason_of b)" dep-failed
    same 'reason of c' "$(reason_of c)" dep-failed
    pointsman why b | grep -F 'dependency a failed'
    serve_end
    same branch "$(git -C project.git rev-list --count main)" 1
    rm -f base/ctrl/registry.db*
    ends 0 pointsman fsck --rebuild
    in_one_place b F
    same 'reason of c' "$(reason_of c)" dep-failed
}
scenario 'a set fails with the dependency that it follows' dependency_fails

# a and a2 are one unit, and so are b and b2; b2 needs a2.
dependency_of_a_member_fails() {
    make_train 4
    gate a a2
    serve_begin
    submit a DC bad '##group' 'one 2'
    submit a2 DC a2 '##group' 'one 2'
    submit b DC b '##group' 'two 2'
    submit b2 DC b2 '##group' 'two 2' '##dependencies' a2
    await '"id":"b2".*"reason":"joined"'
    open_gate a a2
    ends 1 within pointsman wait a a2 b b2
    serve_end
    same 'reason of b2' "$(reason_of b2)" dep-failed
    pointsman why b2 | grep -F 'dependency a2 failed'
    same 'reason of b' "$(reason_of b)" group-failed
    pointsman why b | grep -F 'b2 of its group did not land: dep-failed'
}
scenario 'of a group, the set fails whose dependency failed, and the others with it' \
    dependency_of_a_member_fails

followed_is_held() {
    make_train 4
    gate a b
    serve_begin
    submit a DC a
    submit b DC b '##dependencies' a
    running a b
    pointsman hold a
    await '"id":"b".*"to":"pending".*"reason":"left"'
    await '"id":"a".*"to":"pending".*"reason":"held"'
    in_one_place a P
    in_one_place b P
    pointsman why b >why.said
    says 'follows a, which is held by the operator' why.said
    pointsman why --json b | jq -es 'any(.kind == "follows" and .id == "a")'
    serve_end
    pointsman why b >why.said
    says 'follows a, which is held by the operator' why.said
    serve_begin
    open_gate a b
    pointsman release a
    ends 0 within pointsman wait a b
    serve_end
    all_landed a b
    same order "$(landed_order)" 'a b '
}
scenario 'a set leaves with the set that it follows, and joins again with it' \
    followed_is_held

# The emergency needs the second set, which goes to the front with it.
emergency_follows() {
    make_train 2
    gate x a
    daemon_begin
    submit x DC x
    submit a DC a
    running x a
    submit e EM e '##dependencies' a
    await '"id":"e".*"reason":"joined"'
    open_gate a
    ends 0 within pointsman wait a e
    same order "$(landed_order)" 'a e '
    open_gate x
    ends 0 within pointsman wait x
    kill "$daemon"
    expect_exit "$daemon" 0
    all_landed a e x
}
scenario 'an emergency takes what it follows to the front of the train' \
    emergency_follows

killed_with_followers() {
    make_train 2
    gate a
    daemon_begin
    submit a DC a
    submit b DC b '##dependencies' a
    submit c DC c '##dependencies' b
    await '"id":"b".*"reason":"passed"'
    kill -KILL "$daemon"
    wait "$daemon" || :
    open_gate a
    within pointsman daemon all --until-idle
    all_landed a b c
    same order "$(landed_order)" 'a b c '
    same 'runs of b' "$(runs_of b)" 1
}
scenario 'after kill -9 sets still follow each other' killed_with_followers

# With one lane, there is no train that they could follow each other on.
one_lane_again() {
    make_train 2
    gate a
    daemon_begin
    submit a DC a
    submit b EM b '##dependencies' a
    await '"id":"b".*"reason":"joined"'
    kill -KILL "$daemon"
    wait "$daemon" || :
    open_gate a
    sed -i 's/^lanes = 2/lanes = 1/' base/conf.d/target.conf
    within pointsman daemon all --until-idle
    in_one_place a D
    in_one_place b D
    same order "$(landed_order)" 'a b '
}
scenario 'followers wait for each other if the target has one lane again' \
    one_lane_again

two_daemons() {
    make_train 2
    gate a
    daemon_begin
    submit a DC a
    submit b EM b '##dependencies' a
    await '"id":"b".*"reason":"joined"'
    kill -KILL "$daemon"
    wait "$daemon" || :
    open_gate a
    begin pointsman daemon queue
    queue=$begun
    within pointsman daemon exec --until-idle
    kill "$queue"
    expect_exit "$queue" 0
    all_landed a b
    same order "$(landed_order)" 'a b '
}
scenario 'followers wait for each other with separate daemons too' two_daemons

stack() {
    make_train 4
    git clone -q project.git work
    git -C work checkout -q -b topic
    for n in 1 2 3; do
        printf '%s\n' "$n" >>work/grows
        git -C work add grows
        git -C work commit -q -m "step $n"
    done
    serve_begin
    gate T-1 T-2 T-3
    pointsman -q change pack --stack --submit --id T -C work main..topic
    running T-1 T-2 T-3
    open_gate T-1 T-2 T-3
    ends 0 within pointsman wait T-1 T-2 T-3
    serve_end
    all_landed T-1 T-2 T-3
    same runs "$(wc -l <runs)" 3
    same text "$(git -C project.git show main:grows | tr '\n' ' ')" '1 2 3 '
}
scenario 'the sets of a stack are checked at once' stack

finish
