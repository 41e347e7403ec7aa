#include "commands/command_admit.h"

#include <stdatomic.h>
#include <unistd.h>

#include "lib/random.h"
#include "core/reason.h"
#include "commands/command_kind.h"
#include "os/sum.h"

enum { SPEC_BYTES = 1000 }; /* maximum of an ordinary submission */

/* Of two submissions at the same instant, the first comes first (C2). */
static struct wall strictly_later(struct wall now) {
    static _Atomic int64_t last;
    int64_t before = atomic_load(&last), next;
    do {
        next = now.ns > before ? now.ns : before + 1;
        /* A clock that is set back must not freeze the order in the future. */
        if (next - now.ns > NS_PER_S)
            next = now.ns;
    } while (!atomic_compare_exchange_weak(&last, &before, next));
    return (struct wall){next};
}

void command_make_id(uint64_t seed, char ret[ID_TEXT_BYTES]) {
    struct random random;
    unsigned char ten[10];
    random_init(&random, seed);
    for (int i = 0; i < 10; i++)
        ten[i] = (unsigned char)random_below(&random, 256);
    sum_format_id(ten, ret);
}

static struct span make_key(struct span id, enum set_class set_class,
                            unsigned sub_priority, const struct origin *origin,
                            struct arena *arena) {
    unsigned char key[SET_KEY_BYTES];
    struct set_name name = {
        .csid = id,
        .tai = strictly_later(origin->now),
        .pid = (uint64_t)getpid(),
        .host = origin->host.len ? origin->host : SPAN("localhost"),
        .class = set_class,
        .sub_priority = sub_priority,
    };
    size_t bytes = set_key(&name, key);
    return arena_span(arena, span_make(key, bytes));
}

struct relations {
    struct job_edge *edges;
    struct job_touch *touches;
    size_t edge_count, touch_count;
};

static void edges_add(struct relations *made, const struct lines *ids,
                      enum edge_kind kind) {
    for (size_t i = 0; i < ids->count; i++) {
        struct job_edge *edge = &made->edges[made->edge_count++];
        edge->kind = kind;
        (void)submission_share_parse(ids->items[i], &edge->to, &edge->share);
        if (edge->share > 0)
            edge->kind = EDGE_AFTER_SHARE;
    }
}

static struct relations make_relations(const struct submission *submission,
                                       struct span actor, struct arena *arena) {
    const struct lines *touches = &submission->touches;
    size_t edges = submission->after.count + submission->after_any.count +
                   submission->after_failed.count;
    struct relations made = {
        .edges = arena_alloc(arena, (edges + 1) * sizeof(struct job_edge)),
        .touches =
            arena_alloc(arena, (touches->count + 2) * sizeof(struct job_touch)),
    };
    edges_add(&made, &submission->after, EDGE_DEPENDENCY);
    edges_add(&made, &submission->after_any, EDGE_AFTER_ANY);
    edges_add(&made, &submission->after_failed, EDGE_AFTER_FAILED);
    for (size_t i = 0; i < touches->count; i++)
        made.touches[made.touch_count++].path = touches->items[i];
    if (submission->singleton.len > 0)
        made.touches[made.touch_count++].path =
            job_singleton_path(submission->singleton, actor, arena);
    return made;
}

static struct span make_spec(const struct submission *submission,
                             struct arena *arena) {
    CLEANUP(text_clear) struct text spec = TEXT_INIT;
    text_reserve(&spec, SPEC_BYTES);
    submission_format(submission, &spec);
    return arena_span(arena, text_span(&spec));
}

/* It is determined again at each start. */
bool command_may_run(const struct base *base, const struct submission *sub,
                     uid_t submitter, struct arena *arena, struct err *err) {
    const struct account *account;
    return base == NULL || base_run_as_command(base, submitter, sub->task.user,
                                               arena, &account, err);
}

void command_set_origin(struct job *job, unsigned sub_priority,
                        const struct origin *origin, struct arena *arena) {
    char id[ID_TEXT_BYTES], sum[SUM_TEXT_BYTES];
    if (job->id.len == 0) {
        command_make_id(origin->seed, id);
        job->id = span_of(id);
    }
    job->id = arena_span(arena, job->id);
    sum_bytes(job->spec, sum);
    job->sum = arena_span(arena, span_of(sum));
    job->key = make_key(job->id, (enum set_class)job->job_class, sub_priority,
                        origin, arena);
    job->rank = job->key;
    job->actor = origin->actor;
    job->cause = origin->cause;
    job->admitted = origin->now;
    job->uid = origin->uid;
}

bool command_admit(struct store_batch *batch, const struct base *base,
                   const struct submission *submission,
                   const struct origin *origin, unsigned *ret_index,
                   struct span *ret_id, struct err *err) {
    struct arena *arena = store_batch_arena(batch);
    if (!submission_check(submission, err) ||
        !command_may_run(base, submission, origin->uid, arena, err))
        return false;
    struct relations made = make_relations(submission, origin->actor, arena);
    size_t edges = made.edge_count;
    size_t touches = made.touch_count;
    bool later = submission->begin.ns > origin->now.ns;
    struct job job = {
        .id = submission->id,
        .kind = COMMAND_KIND,
        .job_class = (enum job_class)submission->class,
        .state = edges + touches > 0 ? STATE_QUEUED : STATE_PENDING,
        .detail = span_starts(origin->cause, CAUSE_SCHEDULE) ? origin->cause
                                                             : (struct span){0},
        .spec = make_spec(submission, arena),
        .retries = submission->retries,
        .flags = (submission->at_most_once ? JOB_AT_MOST_ONCE : 0u) |
                 (submission->array.count > 0 ? JOB_ARRAY : 0u) |
                 (later ? JOB_BEGINS : 0u),
        .holds = submission->hold ? HOLD_OPERATOR : 0,
        .max_running = submission->max_running,
        .not_before = later ? submission->begin : (struct wall){0},
        .has_relations = edges + touches > 0,
    };
    command_set_origin(&job, submission->sub_priority, origin, arena);
    *ret_id = job.id;
    *ret_index =
        store_admit(batch, &job, made.edges, edges, made.touches, touches,
                    submission->array.items, submission->array.count);
    return true;
}
