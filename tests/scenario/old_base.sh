#!/bin/sh
# old_base.sh PROGRAM: bases, a backup and logs written by an earlier version
# (tests/fixtures) can be opened, give the same answers, and continue to work.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"
. "$(dirname "$0")/../support/fixture.sh"
fixtures=$(CDPATH='' cd "$(dirname "$0")/../fixtures" && pwd)
old=5b9ef56

command -v xz >/dev/null || {
    echo '1..0 # SKIP xz is missing (package xz-utils)'
    exit 0
}

# ---- helpers -----------------------------------------------------------------

unpack() {
    xz -dc "$fixtures/$1-$old.tar.xz" | tar --no-same-owner -xf -
}

# as_recorded FILE FUNCTION: the function prints what the earlier version
# printed
as_recorded() {
    $2 >answers
    diff "$fixtures/$1" answers || wrong "the answers differ from $1"
}

work() {
    within pointsman daemon all --until-idle 2>>said
}

states() {
    for id in "$@"; do
        printf '%s ' "$(state_of "$id")"
    done
}

reverts() {
    git -C project.git log --format='%(trailers:key=Reverts-CS,valueonly)' \
        main | grep -cx -e "$1" || :
}

new_set_lands() {
    make_set newcomer DC src/new new '##dependencies' first
    pointsman -q change submit "$made"
    work
    in_one_place newcomer D
}

# ---- a whole base ------------------------------------------------------------

opens() {
    unpack base
    ends 0 pointsman fsck
    as_recorded base-$old.expect facts
    ends 0 pointsman config check
}
scenario 'a base gives the same answers as with the earlier version' opens

waiting_sets_land() {
    unpack base
    ends 0 pointsman why asked
    says "approval 'prod': 0 of 1" out
    pointsman -q release held trio3 ambiguous
    work
    for id in held next ambiguous trio1 trio2 trio3; do
        in_one_place $id D
        same "commits of $id" "$(times_landed $id)" 1
    done
    in_one_place asked Q
    new_set_lands
    ends 0 pointsman fsck
}
scenario 'held sets land after their release' waiting_sets_land

# The first approval of half is read from its event.
second_approval_counts() {
    in_one_place half D
    git -C project.git log -1 --grep '^CS-Id: half$' main \
        --format='%(trailers:key=CS-Approved-By,valueonly)' >out
    says alice@example.org out
    says root out
}

approval_counts() {
    unpack base
    [ "$(id -u)" -ne 65534 ] || skip 'this account submitted the set'
    pointsman -q approve owing
    same 'approval owed by owing' "$(state_of owing .owed)" null
    [ "$(state_of late .owed)" = null ] || wrong 'late owes an approval'
    pointsman -q approve asked half
    # The checks run under the account that submitted the set.
    chmod 711 "$top" "$here"
    work
    in_one_place asked D
    second_approval_counts
    ends 0 pointsman fsck
}
scenario 'pending and owed approvals can be given' approval_counts

commands_continue() {
    unpack base
    same 'states before' "$(states cmd-held cmd-next cmd-set cmd-array \
        cmd-once mixed)" 'pending staged staged pending pending failed '
    pointsman -q release cmd-held cmd-array cmd-once held
    pointsman -q retry mixed
    work
    same 'states after' "$(states cmd-held cmd-next cmd-set cmd-array \
        cmd-once mixed)" 'done done done done done done '
    pointsman logs --node n2 cmd-array >out
    says n2 out
    pointsman logs --attempt 1 big | sha256sum >sum.is
    seq 1 40000 | sha256sum | diff - sum.is
    pointsman run --id new --touches db -- echo new >out
    says new out
    ends 0 pointsman fsck
}
scenario 'held and failed commands can run' commands_continue

# A schedule in the configuration runs as the owner of the base, which may be
# another account here.
facts_but_owner() {
    facts | grep -v '"id":"century".*"reason":"changed"'
}

schedules_continue() {
    unpack base
    within pointsman daemon clock --once
    as_recorded base-$old.expect facts_but_owner # nothing fires twice
    pointsman -q cron resume resting
    job=$(pointsman -q cron run hourly)
    work
    same "state of $job" "$(state_of "$job")" done
    pointsman -q cron remove fired
    sed -i 's/new century/& of ours/' base/conf.d/schedule.conf
    work
    pointsman cron list --json century | jq -r .what >out
    says 'new century of ours' out
    ends 0 pointsman fsck
}
scenario 'schedules are kept and fire' schedules_continue

rollbacks_continue() {
    unpack base
    rb=$(state_of out1 .rolled_back_by)
    again=$(pointsman -q rollback "$rb")
    work
    same "state of $again" "$(state_of "$again")" done
    same 'rollback of out1' "$(state_of out1 .rolled_back_by)" null
    same 'rollback of out2' "$(state_of out2 .rolled_back_by)" null
    git -C project.git show main:out/b >out
    says 2 out
    same 'reverts of back1' "$(reverts back1)" 2
    ends 0 pointsman fsck
}
scenario 'a rollback by the earlier version can be rolled back' \
    rollbacks_continue

# ---- a base whose processes were killed --------------------------------------

ended_well() {
    rb=$(pointsman list --json --all class:RB | jq -r .id)
    in_one_place "$rb" D
    in_one_place landed D
    same 'rollback of landed' "$(state_of landed .rolled_back_by)" "$rb"
    same 'reverts of landed' "$(reverts landed)" 1
    same 'states of the others' "$(states apart running queued)" 'done abandoned abandoned '
    same 'commits of running' "$(times_landed running)" 0
    ends 0 pointsman fsck
}

killed_continues() {
    unpack killed
    as_recorded killed-$old.expect facts
    begin pointsman daemon all 2>said
    within pointsman wait long once array landed || [ $? -lt 124 ] ||
        wrong 'the jobs do not end'
    kill "$begun"
    expect_exit "$begun" 0
    work
    same 'states of commands' "$(states long once array)" 'done failed done '
    same 'reason of once' "$(state_of once .reason)" at-most-once
    same 'attempts of long' "$(state_of long .attempt)" 2
    ended_well
}
scenario 'jobs and a rollback that were running are completed' \
    killed_continues

killed_and_lost() {
    unpack killed
    rm base/ctrl/registry.db*
    ends 0 pointsman fsck --rebuild
    as_recorded killed-$old.rebuilt facts_of_sets
    work
    ended_well
}
scenario 'the rollback is also completed after a rebuild' killed_and_lost

# ---- a backup ----------------------------------------------------------------

facts_but_restored() {
    facts | grep -v '"kind":"restored"\|"reason":"restored"\|"reason":"resumed"\|"id":"restored"'
}

restores() {
    unpack base
    rm -r base
    xz -dc "$fixtures/backup-$old.tar.xz" >backup.tar
    ends 0 pointsman restore backup.tar
    ends 0 pointsman restore --resume
    ends 0 pointsman fsck
    as_recorded base-$old.expect facts_but_restored
    pointsman -q release held
    new_set_lands
    in_one_place held D
}
scenario 'a backup is restored completely' restores

# ---- logs --------------------------------------------------------------------

rebuilds() {
    unpack log
    ends 0 pointsman fsck --rebuild
    as_recorded log-$old.expect facts_of_sets
    ends 0 pointsman fsck
    pointsman -q release held trio3 ambiguous
    work
    for id in held next ambiguous trio1 trio2 trio3; do
        in_one_place $id D
    done
    ends 0 pointsman why half
    says "approval 'two': 1 of 2" out
    again=$(pointsman -q rollback "$(state_of out1 .rolled_back_by)")
    work
    same "state of $again" "$(state_of "$again")" done
    same 'rollback of out1' "$(state_of out1 .rolled_back_by)" null
    new_set_lands
    ends 0 pointsman fsck
}
scenario 'change sets are rebuilt from the directories and logs alone' rebuilds

# Replaces the sentences in the logs, after this program has written events of
# every kind that a rebuild reads.
reworded() {
    unpack base
    rm base/conf.d/approval.conf
    printf '[approval "urgent"]\nclass = EM\nlate = yes\nwithin = 31536000\n' \
        >base/conf.d/approval.conf
    rb=$(pointsman -q rollback "$(state_of out1 .rolled_back_by)")
    for id in urgent1 urgent2; do
        make_set $id EM late/$id $id
        pointsman -q change submit "$made"
    done
    make_set kept DC src/kept kept
    pointsman -q change submit "$made"
    pointsman -q hold kept
    work
    again=$(pointsman -q rollback "$rb")
    work
    same "rollback of out1" "$(state_of out1 '.rolled_back_by != null')" true
    [ "$(state_of urgent1 .owed)" != null ] || wrong 'urgent1 owes no approval'
    facts_but_sentences >before
    rm base/ctrl/registry.db*
    sed -i -E '/ \{[^ ]*\} /s/ -- .*/ -- in other words/' base/log/*
    for fact in rollback owed holds; do
        grep -q "\"$fact\":.* -- in other words" base/log/* ||
            wrong "no log has a fact '$fact'"
    done
    ends 0 pointsman fsck --rebuild
    facts_but_sentences >after
    diff before after || wrong 'the rebuild read the sentences'
    work
    in_one_place kept Q
    last=$(pointsman -q rollback "$again")
    work
    same "state of $last" "$(state_of "$last")" done
    same 'rollback of out1' "$(state_of out1 .rolled_back_by)" null
    ends 0 pointsman fsck
}

facts_but_sentences() {
    for id in $(fixture_ids kind:change); do
        pointsman status --json "$id" | jq -c '{id, state, reason, holds, owed,
            rolled_back_by, attempt}'
    done | sort
}
scenario 'a rebuild reads the facts of events, not their sentences' reworded

# ---- the registry of an earlier program --------------------------------------

intact_is_not_rebuilt() {
    unpack base
    ends 100 pointsman fsck --rebuild
    says 'is intact and holds' err
    as_recorded base-$old.expect facts
}
scenario 'an intact registry of an earlier program is not rebuilt' \
    intact_is_not_rebuilt

# A server of an earlier program holds base.lock like this descriptor.
older_process_goes_first() {
    unpack base
    for command in list fsck 'submit -- true' 'daemon all --once'; do
        exec 9<base/ctrl/base.lock
        flock -s 9
        # shellcheck disable=SC2086
        ends 99 pointsman $command 9<&-
        says 'another process has the base open' err
        exec 9<&-
    done
    as_recorded base-$old.expect facts
}
if command -v flock >/dev/null; then
    scenario 'no registry is migrated while an earlier program has it open' \
        older_process_goes_first
fi

finish
