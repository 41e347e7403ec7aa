/* What holds a job back. Where roles run in this process they know best; else
 * the registry tells what stands in it: holds, recorded precursors,
 * dependencies, times, lanes and slots taken. */
#include "serve/api_call.h"

#include "serve/base.h"
#include "serve/job_json.h"

enum { WHY_MOST = 200 };

struct reasons {
    struct api_call *call;
    struct scheduler_reason *items;
    size_t count, total;
};

static void add(struct reasons *reasons, const char *kind, struct span id,
                char *text) {
    reasons->total++;
    if (reasons->count == WHY_MOST)
        return;
    reasons->items[reasons->count++] =
        (struct scheduler_reason){kind, id, span_of(text)};
}

static char *state_since(struct arena *arena, const struct job *job) {
    char since[WALL_TEXT_BYTES];

    return arena_printf(arena, "%s since %s", job_state_word(job->state),
                        wall_format(job->since, since));
}

static void add_holds(struct reasons *reasons, const struct job *job) {
    struct arena *arena = &reasons->call->arena;

    for (unsigned bit = 1; bit <= job->holds; bit <<= 1) {
        if ((job->holds & bit) == 0)
            continue;
        const char *lifter = "";
        switch (bit) {
#define JOB_HOLD(name, bit, word, lifts) \
    case HOLD_##name:                    \
        lifter = lifts;                  \
        break;
#include "core/life.def"
#undef JOB_HOLD
        default:
            break;
        }
        const char *word = job_hold_word((enum job_hold)bit);
        add(reasons, "hold", span_of(word),
            arena_printf(arena, "held: %s; lifted by %s", word, lifter));
    }
}

/* One edge: does it hold the job back? */
static bool add_edge(struct reasons *reasons, const struct job_edge *edge,
                     struct err *err) {
    struct arena *arena = &reasons->call->arena;
    struct job other;
    bool found;

    if (edge->kind == EDGE_SUPERSEDES || edge->kind == EDGE_ROLLBACK)
        return true;
    if (!store_lookup(reasons->call->api->options.store, edge->to, arena,
                      &other, &found, err))
        return false;
    const char *what =
        edge->kind == EDGE_DEPENDENCY ? "dependency" : "precursor";
    if (!found) {
        if (edge->kind == EDGE_DEPENDENCY)
            add(reasons, what, edge->to,
                arena_printf(arena,
                             "dependency %.*s is not known here; it may "
                             "still arrive",
                             (int)edge->to.len, edge->to.p));
        return true;
    }
    bool final = job_state_is_final(other.state);
    if (final && (edge->kind != EDGE_DEPENDENCY || other.state == STATE_DONE))
        return true;
    add(reasons, what, edge->to,
        arena_printf(arena, "%s %.*s is %s%s", what, (int)edge->to.len,
                     edge->to.p, state_since(arena, &other),
                     edge->kind == EDGE_PRECURSOR && !final
                         ? ", and both touch the same"
                         : ""));
    return true;
}

static bool add_edges(struct reasons *reasons, const struct job *job,
                      struct err *err) {
    struct job_edge *edges;
    size_t count;

    if (!store_edges_from(reasons->call->api->options.store, job->num,
                          &reasons->call->arena, &edges, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!add_edge(reasons, &edges[i], err))
            return false;
    return true;
}

/* Lanes and slots: what executes now. */
static bool add_places(struct reasons *reasons, const struct job *job,
                       struct err *err) {
    struct api_call *call = reasons->call;
    const struct base *base = call->api->options.base;
    struct store_list list = {.states = STATE_BIT(STATE_EXECUTING),
                              .limit = 4096};
    struct job *running;
    size_t count, on_target = 0;
    const struct job *first = NULL;

    if (!store_jobs(call->api->options.store, &list, &call->arena, &running,
                    &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (job->target.len > 0 && span_equal(running[i].target, job->target)) {
            on_target++;
            first = first == NULL ? &running[i] : first;
        }
    const struct config_target *target =
        base == NULL ? NULL : config_target(&base->config, job->target);
    if (first != NULL &&
        on_target >= (size_t)(target == NULL ? 1 : target->lanes))
        add(reasons, "lane", first->id,
            arena_printf(&call->arena, "lane of target %.*s, behind %.*s",
                         (int)job->target.len, job->target.p,
                         (int)first->id.len, first->id.p));
    if (base != NULL && count >= (size_t)base->config.queue.concurrency)
        add(reasons, "slot", (struct span){0},
            arena_printf(&call->arena, "no free slot: %zu of %lld are busy",
                         count, (long long)base->config.queue.concurrency));
    return true;
}

static bool from_registry(struct reasons *reasons, const struct job *job,
                          struct err *err) {
    struct arena *arena = &reasons->call->arena;
    char text[WALL_TEXT_BYTES];

    add_holds(reasons, job);
    if (job->state == STATE_PENDING) {
        if (job->not_before.ns > api_now(reasons->call).ns)
            add(reasons, "time", (struct span){0},
                arena_printf(arena, "not before %s",
                             wall_format(job->not_before, text)));
        return add_places(reasons, job, err);
    }
    if (!add_edges(reasons, job, err))
        return false;
    if (job->state == STATE_QUEUED && reasons->count == 0)
        add(reasons, "record", (struct span){0},
            arena_printf(arena, "its precursors are not computed yet"));
    return true;
}

static void add_present(struct reasons *reasons, const struct job *job) {
    struct arena *arena = &reasons->call->arena;
    const char *state = state_since(arena, job);

    if (job->state == STATE_EXECUTING)
        add(reasons, "running", (struct span){0},
            arena_printf(arena, "%s, attempt %u%s", state, job->attempt,
                         job->cancel_asked ? ", to be cancelled" : ""));
    else if (job->detail.len > 0)
        add(reasons, "ended", (struct span){0},
            arena_printf(arena, "%s: %.*s: %.*s", state, (int)job->reason.len,
                         job->reason.p, (int)job->detail.len, job->detail.p));
    else
        add(reasons, "ended", (struct span){0},
            arena_printf(arena, "%s: %.*s", state, (int)job->reason.len,
                         job->reason.p));
}

/* Nothing holds it back: then it waits for somebody to look. */
static void add_nobody(struct reasons *reasons) {
    bool served = reasons->call->api->options.roles != NULL;

    add(reasons, "next", (struct span){0},
        arena_printf(&reasons->call->arena, "%s",
                     served ? "nothing holds it back; it is about to start"
                            : "nothing holds it back; it starts once a role "
                              "runs here: pointsman serve"));
}

void api_why(struct api_call *call) {
    static const char *const keys[] = {NULL};
    const struct api_roles *roles = call->api->options.roles;
    struct reasons reasons = {.call = call};
    struct job job;
    struct err err = {0};

    if (!api_query_check(call, keys) || !api_job(call, &job))
        return;
    reasons.items = arena_alloc(&call->arena, WHY_MOST * sizeof *reasons.items);
    bool ok = true;
    if ((STATES_WAITING & STATE_BIT(job.state)) == 0) {
        add_present(&reasons, &job);
    } else if (roles != NULL && roles->why != NULL) {
        ok = roles->why(roles->ctx, &job, api_now(call), &call->arena,
                        &reasons.items, &reasons.count, &err);
        reasons.total = reasons.count;
    } else {
        ok = from_registry(&reasons, &job, &err);
    }
    if (!ok) {
        api_fail(call, &err);
        return;
    }
    if (reasons.count == 0)
        add_nobody(&reasons);
    api_reply(call, 200, api_lines);
    for (size_t i = 0; i < reasons.count; i++) {
        struct json json;
        json_open(&json, &call->out);
        json_object(&json);
        json_key(&json, "job");
        json_span(&json, job.id);
        json_key(&json, "kind");
        json_string(&json, reasons.items[i].kind);
        json_key(&json, "id");
        if (reasons.items[i].id.len > 0)
            json_span(&json, reasons.items[i].id);
        else
            json_null(&json);
        json_key(&json, "text");
        json_span(&json, reasons.items[i].text);
        json_end(&json);
        text_addc(&call->out, '\n');
    }
    api_end(call);
}
