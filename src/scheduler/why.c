#include "scheduler/why.h"

#include <inttypes.h>
#include <string.h>

#include "core/reason.h"

static void why_add(struct why *why, const char *kind, struct span id,
                    char *text) {
    if (why->count == why->cap) {
        size_t cap = why->cap ? why->cap * 2 : 8;
        struct scheduler_reason *reasons =
            arena_alloc(why->arena, cap * sizeof(*reasons));
        if (why->count)
            memcpy(reasons, why->reasons, why->count * sizeof(*reasons));
        why->reasons = reasons;
        why->cap = cap;
    }
    why->reasons[why->count++] = (struct scheduler_reason){
        .kind = kind,
        .id = arena_span(why->arena, id),
        .text = span_of(text),
    };
}

/* The reason that was added last may last any time. */
static void open_ended(struct why *why) {
    why->reasons[why->count - 1].is_open_ended = true;
}

void why_add_text(struct why *why, const char *kind, struct span text) {
    why_add(why, kind, SPAN(""),
            arena_printf(why->arena, "%.*s", (int)text.len, text.p));
}

void why_follows(struct why *why, struct span id, struct span text, bool open) {
    why_add(why, "follows", id,
            arena_printf(why->arena, "%.*s", (int)text.len, text.p));
    why->reasons[why->count - 1].is_open_ended = open;
}

static char *since(struct why *why, struct wall at) {
    char text[WALL_TEXT_BYTES];
    return at.ns ? arena_printf(why->arena, " since %s", wall_format(at, text))
                 : arena_printf(why->arena, "%s", "");
}

static char *holds_of(struct why *why, unsigned holds) {
    struct text text = TEXT_INIT;
    if (holds == 0)
        return arena_printf(why->arena, "%s", "");
    job_holds_format(holds, &text); /* empty: held by its group only */
    char *result = arena_printf(why->arena, text.len > 0 ? ", held (%s)" : "%s",
                                text_string(&text));
    text_clear(&text);
    return result;
}

/* The end of the chain of waits that starts at the job it waits for. */
static char *root_of(struct why *why, const struct order_reason *reason) {
    if (reason->steps == 0 || reason->root.len == 0)
        return arena_printf(why->arena, "%s", "");
    return arena_printf(why->arena, "; at the front of that queue: %.*s (%s%s)",
                        (int)reason->root.len, reason->root.p,
                        job_state_word(reason->root_state),
                        holds_of(why, reason->root_holds));
}

/* What it has to come to, if that is not success. */
static const char *condition_of(struct why *why,
                                const struct order_reason *reason) {
    if (reason->relation == EDGE_AFTER_ANY)
        return "; it must have ended, in any way";
    if (reason->relation == EDGE_AFTER_FAILED)
        return "; it must fail";
    if (reason->relation == EDGE_AFTER_SHARE)
        return arena_printf(why->arena,
                            "; %u%% of its tasks must be done, and %zu of %zu "
                            "are",
                            reason->share, reason->tasks.done,
                            reason->tasks.count);
    return "";
}

static void why_waits(struct why *why, const struct order_reason *reason) {
    int len = (int)reason->id.len;
    const char *id = reason->id.p;
    const char *state = job_state_word(reason->state);
    char *when = since(why, reason->since),
         *held = holds_of(why, reason->holds);
    char *root = root_of(why, reason);
    char until[WALL_TEXT_BYTES];
    struct span key;
    switch (reason->kind) {
    case ORDER_WHY_PRECURSOR:
        if (job_singleton_key(reason->path, &key)) {
            why_add(why, "precursor", reason->id,
                    arena_printf(why->arena,
                                 "precursor %.*s is %s%s%s: both have the "
                                 "singleton key '%.*s'%s",
                                 len, id, state, when, held, (int)key.len,
                                 key.p, root));
            break;
        }
        why_add(why, "precursor", reason->id,
                arena_printf(why->arena,
                             "precursor %.*s is %s%s%s: both touch '%.*s'%s",
                             len, id, state, when, held, (int)reason->path.len,
                             reason->path.len ? reason->path.p : "", root));
        break;
    case ORDER_WHY_HINT:
        why_add(why, "precursor", reason->id,
                arena_printf(why->arena,
                             "precursor %.*s is %s%s%s: its submitter asked "
                             "to wait for it%s",
                             len, id, state, when, held, root));
        break;
    case ORDER_WHY_DEPENDENCY:
        why_add(why, "dependency", reason->id,
                arena_printf(why->arena, "dependency %.*s is %s%s%s%s%s", len,
                             id, state, when, held, condition_of(why, reason),
                             root));
        break;
    case ORDER_WHY_SUCCESSOR:
        why_add(why, "dependency", reason->id,
                arena_printf(why->arena,
                             "dependency %.*s is %s; its successor %.*s must "
                             "be done first%s",
                             len, id, state, (int)reason->other.len,
                             reason->other.p, root));
        break;
    case ORDER_WHY_UNKNOWN:
        why_add(why, "dependency", reason->id,
                arena_printf(why->arena,
                             "dependency %.*s is not known here; waiting for "
                             "it until %s",
                             len, id, wall_format(reason->until, until)));
        break;
    case ORDER_WHY_ASKED:
        why_add(why, "dependency", reason->id,
                arena_printf(why->arena, "dependency %.*s is being looked up",
                             len, id));
        break;
    case ORDER_WHY_FAILING:
        why_add(why, "dependency", reason->id,
                arena_printf(why->arena, "about to fail: %.*s",
                             (int)reason->detail.len,
                             reason->detail.len ? reason->detail.p : ""));
        break;
    case ORDER_WHY_UNSTAGED:
        why_add(why, "record", (struct span){0},
                arena_printf(why->arena,
                             "its precursors are not computed yet (role "
                             "queue)"));
        break;
    case ORDER_WHY_HOLD:
    case ORDER_WHY_READY:
    default:
        return;
    }
    if (reason->holds != 0 || reason->root_holds != 0 ||
        reason->kind == ORDER_WHY_UNKNOWN || reason->kind == ORDER_WHY_FAILING)
        open_ended(why);
}

/* The order does not know the holds of a pending job. */
static void add_holds(struct why *why, struct store *store,
                      struct order_reason *reason) {
    struct job job;
    bool found = false;
    struct err err;
    if (reason->state == STATE_PENDING && reason->holds == 0 &&
        store_lookup(store, reason->id, why->arena, &job, &found, &err) &&
        found)
        reason->holds = job.holds;
}

void why_order(struct why *why, const struct order *order, struct store *store,
               uint64_t num, struct wall now) {
    struct order_reason *reasons;
    size_t all = 0;
    size_t count =
        order_why(order, num, now, WHY_REASONS, why->arena, &reasons, &all);
    for (size_t i = 0; i < count; i++) {
        add_holds(why, store, &reasons[i]);
        why_waits(why, &reasons[i]);
    }
    if (all > count)
        why_add(why, "precursor", (struct span){0},
                arena_printf(why->arena, "and %zu more", all - count));
}

void why_holds(struct why *why, const struct job *job) {
#define JOB_HOLD(name, bit, word, lifter)                                  \
    if (job->holds & HOLD_##name)                                          \
        why_add(why, "hold", (struct span){0},                             \
                arena_printf(why->arena, "held (%s); lifted by: %s", word, \
                             lifter));
#include "core/life.def"
#undef JOB_HOLD
    if ((job->holds & HOLD_ACCOUNT) != 0 && job->detail.len > 0)
        why_add(why, "account", (struct span){0},
                arena_string(why->arena, job->detail));
    if (job->holds != 0)
        open_ended(why);
}

void why_lane(struct why *why, struct span target, const struct job *behind) {
    struct span id = behind->id;
    why_add(why, "lane", id,
            arena_printf(why->arena, "lane of target %.*s, behind %.*s",
                         (int)target.len, target.p, (int)id.len,
                         id.len ? id.p : "another set"));
    if (job_has(behind, JOB_ROLLS_BACK))
        open_ended(why);
}

void why_group(struct why *why, struct span sentence) {
    why_add(why, "group", (struct span){0}, arena_string(why->arena, sentence));
    open_ended(why);
}

void why_slot(struct why *why, unsigned busy, unsigned slots) {
    why_add(why, "slot", (struct span){0},
            arena_printf(why->arena,
                         "slot: all %u are busy (%u running); see [queue] "
                         "concurrency",
                         slots, busy));
}

static bool after_prefix(struct span word, const char *prefix,
                         struct span *ret_rest) {
    if (!span_starts(word, prefix))
        return false;
    *ret_rest = span_make(word.p + strlen(prefix), word.len - strlen(prefix));
    return true;
}

/* How an attempt ended: from its reason, and what it said. */
static void add_cause(struct text *out, struct span reason,
                      struct span detail) {
    struct span number;
    if (reason.len == 0)
        return;
    text_adds(out, "; its last attempt ");
    if (after_prefix(reason, "exit-", &number))
        text_addf(out, "exited with %.*s", (int)number.len, number.p);
    else if (after_prefix(reason, "signal-", &number))
        text_addf(out, "was killed by signal %.*s", (int)number.len, number.p);
    else if (span_is(reason, "timeout"))
        text_adds(out, "reached its time limit");
    else
        text_addf(out, "ended with '%.*s'", (int)reason.len, reason.p);
    if (detail.len > 0)
        text_addf(out, ": %.*s", (int)detail.len, detail.p);
}

void why_begins(struct why *why, struct wall at) {
    char text[WALL_TEXT_BYTES];
    why_add(why, "time", (struct span){0},
            arena_printf(why->arena, "begins at %s, as its submitter asked",
                         wall_format(at, text)));
}

void why_time(struct why *why, const struct job *job, struct wall until) {
    char text[WALL_TEXT_BYTES];
    if (span_is(job->reason, REASON_BASE_LOST)) {
        why_add(why, "dependency", (struct span){0},
                arena_printf(why->arena, "%.*s; next try at %s",
                             (int)job->detail.len,
                             job->detail.len ? job->detail.p : "",
                             wall_format(until, text)));
        return;
    }
    CLEANUP(text_clear) struct text cause = TEXT_INIT;
    add_cause(&cause, job->reason, job->detail);
    why_add(why, "time", (struct span){0},
            arena_printf(why->arena, "next try at %s%s",
                         wall_format(until, text), text_string(&cause)));
    open_ended(why);
}

/* False if one of the tasks may start or runs. */
static bool all_back_off(const struct store_task *tasks, size_t count,
                         struct wall now, size_t *ret_first, size_t *ret_open) {
    *ret_open = 0;
    for (size_t i = 0; i < count; i++) {
        const struct store_task *task = &tasks[i];
        if (task->status == TASK_DONE || task->status == TASK_FAILED)
            continue;
        if (task->status == TASK_RUNNING || task->not_before.ns <= now.ns)
            return false;
        if (*ret_open == 0 ||
            task->not_before.ns < tasks[*ret_first].not_before.ns)
            *ret_first = i;
        (*ret_open)++;
    }
    return *ret_open > 0;
}

bool why_tasks(struct why *why, struct store *store, const struct job *job,
               struct wall now, struct err *err) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct store_task *tasks;
    struct store_attempt *last;
    size_t count, first = 0, open;
    char at[WALL_TEXT_BYTES];
    if (!store_tasks(store, job->num, why->arena, &tasks, &count, err))
        return false;
    if (!all_back_off(tasks, count, now, &first, &open))
        return true;
    struct span node = tasks[first].node;
    if (!store_attempts_latest(store, job->num, node, 1, why->arena, &last,
                               &count, err))
        return false;
    text_addf(&text, "no task runs: %zu wait%s to be tried again, %.*s %sat %s",
              open, open == 1 ? "s" : "", (int)node.len, node.p,
              open == 1 ? "" : "first, ",
              wall_format(tasks[first].not_before, at));
    if (count > 0)
        add_cause(&text, last->reason, last->detail);
    why_add_text(why, "time", text_span(&text));
    open_ended(why);
    return true;
}

void why_turn(struct why *why, struct span next) {
    why_add(why, "slot", next,
            arena_printf(why->arena, "its turn: %.*s comes first",
                         (int)next.len, next.len ? next.p : "another job"));
}

void why_rollback(struct why *why, struct span under_way) {
    why_add(why, "rollback", under_way,
            arena_printf(
                why->arena,
                "rollback %.*s is in progress, and only one runs at a time",
                (int)under_way.len, under_way.p));
    open_ended(why);
}

void why_unavailable(struct why *why, struct span target, struct wall since_at,
                     struct span sentence, struct wall again) {
    char text[WALL_TEXT_BYTES];
    char *when = since(why, since_at);
    char *next =
        again.ns ? arena_printf(why->arena, "at %s", wall_format(again, text))
                 : arena_printf(why->arena, "%s", "after a pause");
    why_add(why, "target", target,
            arena_printf(why->arena,
                         "target %.*s is unavailable%s: %.*s; next try %s",
                         (int)target.len, target.p, when, (int)sentence.len,
                         sentence.len ? sentence.p : "", next));
    open_ended(why);
}

void why_no_role(struct why *why, const char *role) {
    why_add(why, "role", (struct span){0},
            arena_printf(why->arena,
                         "no %s role runs here; start `pointsman serve` or "
                         "`pointsman daemon all --until-idle` (or only this "
                         "role: `pointsman daemon %s`)",
                         role, role));
    open_ended(why);
}
