/* Rollbacks in random histories are compared with a naive model: the effects
 * must be those that the preview shows, and both must agree with a few plain
 * loops over all edges.
 *
 *     test_rollback_model                 1,000 histories
 *     test_rollback_model --seeds FROM TO                                    */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "lib/random.h"
#include "scheduler/scheduler.h"
#include "scheduler/rollback_plan.h"
#include "store/simulated.h"

enum { SETS_MAX = 24, FILES = 8 };

struct set {
    uint64_t num;
    char id[8];
    enum job_state state, expected;
    unsigned files;  /* bits */
    unsigned needs;  /* bits of earlier sets */
    int supersedes;  /* the set it supersedes, or -1 */
    uint64_t landed; /* its place in the order of landings, or 0 */
    bool out;        /* rolled back by an earlier rollback */
    bool taken, reverted;
};

struct history {
    struct random random;
    uint64_t seed;
    struct store *store;
    struct scheduler *scheduler;
    struct wall now;
    struct set sets[SETS_MAX];
    size_t count;
    uint64_t landings;
    bool files;             /* the closure is deps+files */
    uint64_t revert_handle; /* the process of the rollback, once it starts */
    struct {
        uint64_t handles[SETS_MAX];
        size_t count;
    } stopped, started;
    unsigned reverted; /* bits of the sets that were reverted */
    size_t primaries[2], primary_count;
};

static void model_fail(const struct history *history, const char *what,
                       const char *id) {
    printf("# test_rollback_model --seeds %" PRIu64 " %" PRIu64 ": %s %s\n",
           history->seed, history->seed, what, id);
    fflush(stdout);
    abort();
}

static bool chance(struct history *history, unsigned percent) {
    return random_below(&history->random, 100) < percent;
}

/* ---- a history ----------------------------------------------------------- */

static void batch_write(struct history *history, struct store_batch *batch) {
    struct err err;
    if (!store_write(batch, &err))
        model_fail(history, "cannot write:", err.text);
    for (unsigned i = 0; i < store_batch_count(batch); i++)
        if (store_batch_result(batch, i) > STORE_SAME)
            model_fail(history, "an operation is refused", "");
    store_batch_free(batch);
}

static struct store_batch *batch_of(struct history *history) {
    struct store_batch *batch = store_batch_new(history->store);
    store_batch_actor(batch, history->now, SPAN("uid:1"));
    return batch;
}

static uint64_t admit(struct history *history, struct job *job,
                      const struct job_edge *edges, size_t edge_count,
                      const struct job_touch *touches, size_t touch_count) {
    struct store_batch *batch = batch_of(history);
    job->kind = JOB_CHANGE;
    job->state = STATE_QUEUED;
    job->target = SPAN("main");
    job->name = job->sum = job->id;
    job->key = job->id;
    job->has_relations = true;
    store_admit(batch, job, edges, edge_count, touches, touch_count, NULL, 0);
    struct err err;
    if (!store_write(batch, &err))
        model_fail(history, "cannot admit:", err.text);
    uint64_t num = store_batch_num(batch, 0);
    store_batch_free(batch);
    return num;
}

static void move(struct history *history, uint64_t num, enum job_state from,
                 enum job_state to, const char *reason) {
    struct store_batch *batch = batch_of(history);
    store_move(batch,
               &(struct store_move){.num = num,
                                    .from = from,
                                    .to = to,
                                    .reason = span_of(reason),
                                    .begin_attempt = to == STATE_EXECUTING});
    if (to == STATE_EXECUTING)
        store_assign(batch, &(struct store_attempt){.num = num,
                                                    .attempt = 1,
                                                    .status = TASK_RUNNING,
                                                    .exit_code = -1});
    batch_write(history, batch);
}

/* Sets land one after the other; some fail and some wait. As in the queue, a
 * set that depends on a failed or waiting set fails or waits as well. */
static enum job_state draw_state(struct history *history,
                                 const struct set *set) {
    enum job_state state = STATE_DONE;
    for (size_t i = 0; i < history->count; i++) {
        const struct set *other = &history->sets[i];
        if (!(set->needs >> i & 1))
            continue;
        bool satisfied = false;
        for (size_t k = 0; k < history->count; k++)
            satisfied |= history->sets[k].supersedes == (int)i &&
                         history->sets[k].state == STATE_DONE &&
                         !history->sets[k].out;
        if (satisfied)
            continue;
        if (other->state == STATE_FAILED || other->out)
            return STATE_FAILED;
        if (other->state != STATE_DONE)
            state = STATE_STAGED;
    }
    if (state == STATE_STAGED)
        return chance(history, 50) ? STATE_STAGED : STATE_QUEUED;
    uint64_t n = random_below(&history->random, 100);
    return n < 60   ? STATE_DONE
           : n < 70 ? STATE_FAILED
           : n < 85 ? STATE_PENDING
                    : STATE_STAGED;
}

static void move_to_state(struct history *history, struct set *set) {
    if (set->state == STATE_QUEUED)
        return;
    move(history, set->num, STATE_QUEUED, STATE_STAGED, "staged");
    if (set->state == STATE_STAGED)
        return;
    if (set->state == STATE_FAILED) {
        move(history, set->num, STATE_STAGED, STATE_FAILED, "dep-failed");
        return;
    }
    move(history, set->num, STATE_STAGED, STATE_PENDING, "ready");
    if (set->state == STATE_PENDING)
        return;
    move(history, set->num, STATE_PENDING, STATE_EXECUTING, "start");
    move(history, set->num, STATE_EXECUTING, STATE_DONE, "ok");
    set->landed = ++history->landings;
}

static void add_set(struct history *history) {
    static const char *const paths[FILES] = {"a", "b", "c", "d",
                                             "e", "f", "g", "h"};
    size_t at = history->count;
    struct set *set = &history->sets[at];
    struct job_edge edges[SETS_MAX + 1];
    struct job_touch touches[FILES] = {0};
    size_t edge_count = 0, touch_count = 0;
    *set = (struct set){.supersedes = -1};
    snprintf(set->id, sizeof(set->id), "c%02zu", at);
    for (size_t i = 0; i < at; i++)
        if (chance(history, 14))
            set->needs |= 1u << i;
    for (unsigned i = 0; i < FILES; i++)
        if (chance(history, 20))
            set->files |= 1u << i;
    if (at > 0 && chance(history, 20)) {
        size_t old = (size_t)random_below(&history->random, at);
        if (history->sets[old].state == STATE_FAILED) {
            set->supersedes = (int)old;
            edges[edge_count++] = (struct job_edge){
                EDGE_SUPERSEDES, span_of(history->sets[old].id)};
        }
    }
    for (size_t i = 0; i < at; i++)
        if (set->needs >> i & 1)
            edges[edge_count++] = (struct job_edge){
                EDGE_DEPENDENCY, span_of(history->sets[i].id)};
    for (unsigned i = 0; i < FILES; i++)
        if (set->files >> i & 1)
            touches[touch_count++].path = span_of(paths[i]);
    struct job job = {.id = span_of(set->id), .job_class = CLASS_DC};
    set->num = admit(history, &job, edges, edge_count, touches, touch_count);
    set->state = draw_state(history, set);
    history->count++;
    move_to_state(history, set);
}

/* ---- the naive model ----------------------------------------------------- */

static bool is_affected(const struct set *set) {
    return set->state != STATE_FAILED && !set->out;
}

/* Does a set that stays in effect supersede this one, at any depth? */
static bool is_served(const struct history *history, int old) {
    for (size_t i = 0; i < history->count; i++) {
        const struct set *set = &history->sets[i];
        bool stays = set->state == STATE_DONE && !set->out && !set->taken;
        for (int by = set->supersedes; stays && by >= 0;
             by = history->sets[by].supersedes)
            if (by == old)
                return true;
    }
    return false;
}

/* Does set `at` depend on set `below`, or on a set that `below` supersedes and
 * that nothing else serves? */
static bool depends_on(const struct history *history, size_t at, size_t below) {
    for (int old = (int)below; old >= 0; old = history->sets[old].supersedes)
        if ((history->sets[at].needs >> old & 1) &&
            (old == (int)below || !is_served(history, old)))
            return true;
    return false;
}

static bool is_later_on_same_file(const struct history *history, size_t at,
                                  size_t below) {
    const struct set *set = &history->sets[at], *other = &history->sets[below];
    return history->files && set->state == STATE_DONE &&
           other->state == STATE_DONE && set->landed > other->landed &&
           (set->files & other->files) != 0;
}

/* Looks at all pairs until no more sets are added. */
static void model_take(struct history *history) {
    for (size_t i = 0; i < history->primary_count; i++) {
        struct set *set = &history->sets[history->primaries[i]];
        set->taken = is_affected(set);
    }
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < history->count; i++)
            for (size_t k = 0; k < history->count; k++) {
                struct set *set = &history->sets[i];
                if (set->taken || !is_affected(set) || !history->sets[k].taken)
                    continue;
                if (depends_on(history, i, k) ||
                    is_later_on_same_file(history, i, k))
                    set->taken = more = true;
            }
    }
}

/* ---- the rollback -------------------------------------------------------- */

static void on_start(void *ctx, const struct run_start *request) {
    struct history *history = ctx;
    if (request->job->job_class != CLASS_RB) {
        /* It runs forever, or until it is stopped. */
        history->started.handles[history->started.count++] = request->handle;
        return;
    }
    history->revert_handle = request->handle;
    uint64_t landed = UINT64_MAX;
    for (size_t i = 0; i < request->member_count; i++)
        for (size_t k = 0; k < history->count; k++) {
            if (!span_is(request->members[i].id, history->sets[k].id))
                continue;
            if (history->sets[k].landed > landed)
                model_fail(history, "not newest first:", history->sets[k].id);
            landed = history->sets[k].landed;
            history->reverted |= 1u << k;
        }
}

static void on_stop(void *ctx, uint64_t handle, enum run_stop how) {
    struct history *history = ctx;
    (void)how;
    if (history->stopped.count < SETS_MAX)
        history->stopped.handles[history->stopped.count++] = handle;
}

static void on_flush(void *ctx) {
    (void)ctx;
}

static struct run_sync on_write_outputs(void *ctx, bool whole) {
    (void)whole;
    (void)ctx;
    return (struct run_sync){.fd = -1};
}

static void on_release(void *ctx, uint64_t handle) {
    (void)ctx;
    (void)handle;
}

static void end_process(struct history *history, uint64_t handle,
                        const char *status) {
    struct run_end end = {.handle = handle,
                          .started = history->now,
                          .ended = history->now,
                          .exit_code = 0,
                          .status = span_of(status)};
    scheduler_ended(history->scheduler, &end);
}

static void run_turns(struct history *history, const char *status) {
    struct wall next;
    struct err err;
    for (unsigned i = 0; i < 60; i++) {
        store_turn(history->store);
        if (!scheduler_turn(history->scheduler, history->now, &next, &err))
            model_fail(history, "the scheduler fails:", err.text);
        while (history->started.count > 0)
            (void)scheduler_lasting(
                history->scheduler,
                history->started.handles[--history->started.count]);
        while (history->stopped.count > 0)
            end_process(history,
                        history->stopped.handles[--history->stopped.count],
                        "temporary it was stopped");
        if (history->revert_handle) {
            uint64_t handle = history->revert_handle;
            history->revert_handle = 0;
            end_process(history, handle, status);
        }
    }
}

static void open_scheduler(struct history *history) {
    static const struct scheduler_target target = {
        .name = SPAN("main"), .lanes = 1, .by_command = true};
    struct scheduler_options options = {
        .parts = SCHEDULER_STARTS, /* staged sets stay staged */
        .slots = chance(history, 50) ? 2 : 1,
        .max_temp = 20,
        .max_crash = 3,
        .rollback_max = SETS_MAX,
        .rollback_files = history->files,
        .hup_grace_ms = 1000,
        .actor = SPAN("daemon:model"),
        .worker = SPAN("local"),
        .targets = &target,
        .target_count = 1,
    };
    struct runner runner = {history,  on_start,         on_stop,
                            on_flush, on_write_outputs, on_release};
    struct err err;
    history->scheduler = scheduler_new(history->store, &options, &runner);
    if (!scheduler_start(history->scheduler, history->now, false, &err))
        model_fail(history, "cannot start:", err.text);
}

static struct job job_of(struct history *history, uint64_t num,
                         struct arena *arena) {
    struct job job;
    struct err err;
    if (!store_job(history->store, num, arena, &job, &err))
        model_fail(history, "cannot read:", err.text);
    return job;
}

/* Lets some pending sets start; the registry shows which. */
static void start_some(struct history *history) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    if (chance(history, 60))
        run_turns(history, "");
    for (size_t i = 0; i < history->count; i++)
        history->sets[i].state =
            job_of(history, history->sets[i].num, &arena).state;
}

/* Checks that the preview and the model agree on each set. */
static size_t compare_preview(struct history *history) {
    struct span ids[2];
    struct rollback_plan plan;
    struct err err;
    size_t taken = 0, seen = 0;
    for (size_t i = 0; i < history->primary_count; i++)
        ids[i] = span_of(history->sets[history->primaries[i]].id);
    struct rollback_plan_limits limits = {SETS_MAX, history->files};
    if (!rollback_plan_preview(history->store, ids, history->primary_count,
                               &limits, &plan, &err))
        model_fail(history, "no preview:", err.text);
    for (size_t i = 0; i < history->count; i++)
        taken += history->sets[i].taken;
    for (size_t i = 0; i < plan.decision.count; i++) {
        const struct rollback_member *member = &plan.decision.members[i];
        if (member->fate > ROLLBACK_STOP)
            continue;
        seen++;
        struct set *set = NULL;
        for (size_t k = 0; k < history->count; k++)
            if (history->sets[k].num == member->node.num)
                set = &history->sets[k];
        if (!set || !set->taken)
            model_fail(history,
                       "the preview includes a set that the model does not:",
                       set ? set->id : "?");
        set->reverted = member->fate == ROLLBACK_REVERT;
        set->expected =
            member->fate == ROLLBACK_REVERT ? STATE_DONE : STATE_ABANDONED;
    }
    if (seen != taken)
        model_fail(history, "the model includes more sets than the preview",
                   "");
    if ((plan.decision.verdict == ROLLBACK_GO) != (taken > 0))
        model_fail(history, "the preview's verdict is wrong", "");
    rollback_plan_clear(&plan);
    return taken;
}

static uint64_t submit_rollback(struct history *history, const char *id) {
    struct job_edge edges[2];
    char spec[300];
    size_t count = 0;
    for (size_t i = 0; i < history->primary_count; i++)
        edges[count++] = (struct job_edge){
            EDGE_ROLLBACK, span_of(history->sets[history->primaries[i]].id)};
    snprintf(spec, sizeof(spec),
             "{\"meta\":\"##movetype\\nRB\\n##target\\nmain\\n##dependencies"
             "\\n%s\\n\"}",
             history->sets[history->primaries[0]].id);
    struct job job = {
        .id = span_of(id), .job_class = CLASS_RB, .spec = span_of(spec)};
    uint64_t num = admit(history, &job, edges, count, NULL, 0);
    move(history, num, STATE_QUEUED, STATE_PENDING, "rb");
    return num;
}

/* Each member must be in the state that the preview showed or, if the rollback
 * failed, in the state it had before; nothing else may have changed. */
static void compare_result(struct history *history, const char *rb_id,
                           bool succeeds) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    for (size_t i = 0; i < history->count; i++) {
        const struct set *set = &history->sets[i];
        struct job job = job_of(history, set->num, &arena);
        bool marked = span_is(job.rolled_back_by, rb_id);
        enum job_state expected = set->state;
        if (set->taken && succeeds)
            expected = set->expected;
        else if (set->taken && set->state == STATE_EXECUTING)
            expected = STATE_PENDING; /* it was stopped and waits again */
        if (marked != (succeeds && set->taken && set->reverted))
            model_fail(history, "the mark is wrong:", set->id);
        /* Pending sets may have started in the meantime. */
        bool same = job.state == expected ||
                    (expected == STATE_PENDING && job.state == STATE_EXECUTING);
        if (!same)
            model_fail(history,
                       arena_printf(&arena, "%s is %s but should be %s",
                                    set->id, job_state_word(job.state),
                                    job_state_word(expected)),
                       set->taken ? "(a member)" : "(not a member)");
        if (succeeds && set->taken && set->reverted &&
            !(history->reverted >> i & 1))
            model_fail(history, "a set was not reverted:", set->id);
    }
}

static void draw_primaries(struct history *history) {
    history->primaries[0] =
        (size_t)random_below(&history->random, history->count);
    history->primary_count = 1;
    size_t second = (size_t)random_below(&history->random, history->count);
    if (second != history->primaries[0] && chance(history, 30))
        history->primaries[history->primary_count++] = second;
}

static void roll_back(struct history *history, const char *id) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    start_some(history);
    draw_primaries(history);
    for (size_t i = 0; i < history->count; i++)
        history->sets[i].taken = history->sets[i].reverted = false;
    history->reverted = 0;
    model_take(history);
    size_t taken = compare_preview(history);
    bool succeeds = chance(history, 75);
    uint64_t num = submit_rollback(history, id);
    run_turns(history, succeeds ? "done abc" : "failed rb-conflict x");
    struct job rb = job_of(history, num, &arena);
    succeeds = rb.state == STATE_DONE;
    if (!succeeds && !span_is(rb.reason, "rb-conflict"))
        model_fail(history, "the rollback ended with another reason:",
                   arena_string(&arena, rb.reason));
    if ((taken == 0) != span_is(rb.reason, "rb-nothing"))
        model_fail(history, "the reason rb-nothing is wrong or missing", "");
    compare_result(history, id, succeeds);
    for (size_t i = 0; i < history->count; i++)
        if (succeeds && history->sets[i].taken) {
            history->sets[i].out = history->sets[i].reverted;
            if (!history->sets[i].reverted)
                history->sets[i].state = STATE_FAILED; /* out of reach */
        }
}

static void run(uint64_t seed) {
    struct history history = {.seed = seed, .now = wall_from_s(1000)};
    random_init(&history.random, seed);
    history.store = store_memory_new();
    history.files = seed % 2 == 0;
    size_t sets = 3 + (size_t)random_below(&history.random, SETS_MAX - 3);
    for (size_t i = 0; i < sets; i++)
        add_set(&history);
    open_scheduler(&history);
    roll_back(&history, "r1");
    struct err err;
    if (!store_verify(history.store, &err))
        model_fail(&history, "the registry is damaged:", err.text);
    scheduler_free(history.scheduler);
    store_close(history.store);
}

int main(int argc, char **argv) {
    uint64_t from = 1, to = 1000;
    log_init("model", LOG_ERROR);
    if (argc == 4 && strcmp(argv[1], "--seeds") == 0) {
        from = strtoull(argv[2], NULL, 10);
        to = strtoull(argv[3], NULL, 10);
    }
    printf("TAP version 13\n1..1\n");
    for (uint64_t seed = from; seed <= to; seed++)
        run(seed);
    printf("ok 1 preview_and_result_agree_with_a_naive_model\n");
    return 0;
}
