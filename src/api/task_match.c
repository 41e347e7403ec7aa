#include "api/task_match.h"

#include "api/api_call.h"

enum task_field { FIELD_STATE, FIELD_NODE, FIELD_PART };

struct task_term {
    enum task_field field;
    bool negate;
    unsigned states; /* bits of enum task_status */
    struct span values;
};

/* ---- terms --------------------------------------------------------------- */

static bool states_parse(struct span values, unsigned *ret_states,
                         struct err *err) {
    struct span word;
    *ret_states = 0;
    while (span_cut(&values, ',', &word)) {
        enum task_status status;
        if (!job_task_status_parse(word, &status)) {
            CLEANUP(text_clear) struct text words = TEXT_INIT;
            for (unsigned i = 0; i < TASK_STATUSES; i++)
                text_addf(&words, "%s%s", i > 0 ? ", " : "",
                          job_task_status_word((enum task_status)i));
            return err_set(err, ERR_USAGE,
                           "'%.*s' is not a state of a task; they are: %s",
                           (int)word.len, word.p, text_string(&words));
        }
        *ret_states |= 1u << status;
    }
    return true;
}

static bool after(struct span text, const char *prefix, struct span *ret_rest) {
    size_t bytes = strlen(prefix);
    if (!span_starts(text, prefix))
        return false;
    *ret_rest = span_make(text.p + bytes, text.len - bytes);
    return true;
}

static bool term_parse(struct span text, struct task_term *ret_term,
                       struct err *err) {
    struct span whole = text;
    *ret_term = (struct task_term){.field = FIELD_PART};
    if (span_starts(text, "-") && text.len > 1) {
        ret_term->negate = true;
        text = span_make(text.p + 1, text.len - 1);
    }
    ret_term->values = text;
    if (after(text, "state:", &ret_term->values)) {
        ret_term->field = FIELD_STATE;
        return states_parse(ret_term->values, &ret_term->states, err);
    }
    if (after(text, "node:", &ret_term->values))
        ret_term->field = FIELD_NODE;
    else if (!after(text, "node~", &ret_term->values) &&
             memchr(text.p, ':', text.len) != NULL)
        return err_set(err, ERR_USAGE,
                       "'%.*s' is no term for tasks: use state:STATE, "
                       "node:NODE, node~PART or a part of the node",
                       (int)whole.len, whole.p);
    return true;
}

bool task_match_parse(struct span text, struct arena *arena,
                      struct task_match *ret_match, struct err *err) {
    struct span rest = text, word;
    size_t most = 1;
    for (size_t i = 0; i < text.len; i++)
        most += text.p[i] == ' ';
    ret_match->terms = arena_alloc(arena, most * sizeof *ret_match->terms);
    ret_match->count = 0;
    while (span_cut(&rest, ' ', &word))
        if (word.len > 0 &&
            !term_parse(word, &ret_match->terms[ret_match->count++], err))
            return false;
    return true;
}

/* ---- tasks --------------------------------------------------------------- */

static bool contains(struct span text, struct span part) {
    return part.len == 0 ||
           (text.len >= part.len &&
            memmem(text.p, text.len, part.p, part.len) != NULL);
}

static bool term_test(const struct task_term *term,
                      const struct store_task *task) {
    struct span values = term->values, value;
    if (term->field == FIELD_STATE)
        return (term->states & 1u << task->status) != 0;
    while (span_cut(&values, ',', &value))
        if (term->field == FIELD_NODE ? span_equal(task->node, value)
                                      : contains(task->node, value))
            return true;
    return false;
}

bool task_match_test(const struct task_match *match,
                     const struct store_task *task) {
    for (size_t i = 0; i < match->count; i++)
        if (term_test(&match->terms[i], task) == match->terms[i].negate)
            return false;
    return true;
}

/* ---- no such attempt ----------------------------------------------------- */

bool task_refuse_attempt(struct api_call *call, const struct job *job,
                         struct span node, bool failed, struct err *err) {
    struct store_task *tasks;
    size_t count;
    bool known = node.len == 0;
    int bytes = (int)job->id.len;

    if (!store_tasks(call->api->options.store, job->num, &call->arena, &tasks,
                     &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        known = known || span_equal(tasks[i].node, node);
    if (!known)
        return err_set(err, ERR_NO_JOB,
                       "job '%.*s' has no task '%.*s'; pointsman tasks %.*s "
                       "lists them",
                       bytes, job->id.p, (int)node.len, node.p, bytes,
                       job->id.p);
    if (failed)
        return err_set(err, ERR_NO_JOB, "no task of job '%.*s' has failed",
                       bytes, job->id.p);
    return err_set(err, ERR_NO_JOB, "job '%.*s' has no attempt that matches",
                   bytes, job->id.p);
}
