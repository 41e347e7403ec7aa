# Prints the facts about a base that tests/fixtures/make.sh records and
# tests/scenario/old_base.sh compares: output of the command line, one line of
# JSON for each fact. The keys are listed, so that later versions may add keys.
# The tasks of an array are in the order of its lines, as `logs` prints them now;
# the earlier version began with the attempts that began first.

state_of() {
    pointsman status --json "$1" | jq -r "${2:-.state}"
}

fixture_ids() {
    pointsman list --json --all "$@" | jq -r .id
}

# The earlier version printed the letters of states.
letters='def letter: {queued: "Q", staged: "S", pending: "P", executing: "X",
    done: "D", failed: "F", terminated: "T", abandoned: "A"}[. // ""] // .;'

# facts: everything that a user can see of a base
facts() {
    pointsman list --json --all | jq -c "$letters"'
        .state |= letter | {id, kind, class, state, since, target,
        reason, attempt, detail, what, holds, tasks, tasks_done, admitted,
        not_before, actor, group, rolled_back_by, owed, num}'
    for id in $(fixture_ids); do
        pointsman status --json "$id"
    done | jq -c '{id, name, cause, sum, size, cancel_asked, relations,
        touches, cpu_us, peak_kib, exit_code, submission}'
    for id in $(fixture_ids kind:command); do
        pointsman logs --attempts --json "$id"
        pointsman logs "$id" 2>/dev/null | sha256sum | sed "s/\(.*\)-/\"\1$id\"/"
    done | jq -cr 'strings, (objects | {job, node, attempt, status, assigned,
        started, ended, exit_code, signal, reason, detail, worker, output_bytes,
        cpu_us, peak_kib, events})'
    pointsman history --json | jq -c "$letters"'
        .from |= letter | .to |= letter | {seq, at, kind, id, from, to, attempt,
        actor, reason, detail}'
    pointsman cron list --json | jq -c "$letters"'
        .jobs[].state |= letter | {name, next, item, zone, what, overlap,
        missed, max_shift_s, offset_s, jitter_s, deadline_s, paused, from,
        fired, left_out, jobs, last}'
    pointsman settings --json | jq -c 'select(.from != "default") |
        {name, value, from}'
}

# facts_of_sets: the facts that a rebuild restores from the directories, the job
# files and the logs
facts_of_sets() {
    # A string comes before the history of the set that it names. Earlier
    # versions did not list what a rollback did to its members.
    for id in $(fixture_ids kind:change); do
        pointsman status --json "$id" | sed 's/.*/[&]/'
        printf '"%s"\n' "$id"
        pointsman history --json "$id"
    done | jq -nc "$letters"'
        foreach inputs as $line (""; if $line | type == "string" then $line
            else . end; . as $id | $line |
        (arrays | .[] | .state |= letter | {id, name, class, state, reason,
            detail, holds, owed, rolled_back_by, relations, touches, attempt,
            admitted, actor, sum}),
        (objects | .from |= letter | .to |= letter | select(.id == $id) |
            [.kind, .from, .to, .attempt, .reason, .detail, .actor]))'
}
