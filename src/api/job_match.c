#include "api/job_match.h"

#include "api/job_json.h"

bool job_match_parse(struct span text, struct arena *arena,
                     struct job_match *ret_match, struct err *err) {
    char letters[JOB_STATES + 1];

    *ret_match = (struct job_match){0};
    if (!filter_parse(text, FILTER_JOBS, arena, &ret_match->filter, err))
        return false;
    filter_states(&ret_match->filter, letters);
    for (const char *c = letters; *c != '\0'; c++) {
        enum job_state state;
        if (job_state_of_letter(*c, &state))
            ret_match->states |= STATE_BIT(state);
    }
    for (size_t i = 0; i < ret_match->filter.count; i++) {
        const struct filter_term *term = &ret_match->filter.terms[i];
        enum filter_field field = term->field;
        ret_match->owed_only |=
            (field == FILTER_OWED || field == FILTER_OVERDUE) &&
            term->flag != term->negate;
        ret_match->asks_command |= field == FILTER_ARG || field == FILTER_WORD;
        ret_match->asks_node |= field == FILTER_NODE;
        ret_match->asks_touches |= field == FILTER_TOUCHES;
    }
    return true;
}

bool job_match_test(const struct job_match *match, struct store *store,
                    const struct job *job, struct wall now, struct arena *arena,
                    bool *ret_matches, struct err *err) {
    struct filter_facts facts = {
        .state = job_state_letter(job->state),
        .held = job->holds != 0,
        .owed = job->owed.ns > 0,
        .overdue = job->owed.ns > 0 && job->owed.ns <= now.ns,
        .kind = span_of(job_kind_word(job->kind)),
        .class = span_of(job_class_word(job->job_class)),
        .target = job->target,
        .id = job->id,
        .reason = job->reason,
        .admitted = job->admitted,
        .since = job->since,
    };

    if (match->asks_command)
        facts.arg = job_what(job, arena);
    if (match->asks_node)
        facts.node = job_node(job, arena);
    if (match->asks_touches) {
        struct job_touch *touches;
        size_t count;
        if (!store_touches(store, job->num, arena, &touches, &count, err))
            return false;
        struct span *paths = arena_alloc(arena, count * sizeof *paths);
        for (size_t i = 0; i < count; i++)
            paths[i] = touches[i].path;
        facts.touches = paths;
        facts.touch_count = count;
    }
    *ret_matches = filter_match(&match->filter, &facts, now);
    return true;
}
