/* The marks that rollbacks of rollbacks leave in the registry are compared with
 * the lines that the same rollbacks leave on a branch: both must say by which
 * rollback a set is out of effect, and which set came into effect last. In some
 * histories the lines have no sums, as those of earlier versions; in the others
 * a second base lands sets of the same ids on the branch and rolls them back.
 *
 *     test_rollback_marks                 1,000 histories
 *     test_rollback_marks --seeds FROM TO                                    */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "lib/random.h"
#include "landing/branch_sets.h"
#include "scheduler/rollback_effects.h"
#include "scheduler/rollback_plan.h"
#include "store/simulated.h"
#include "support/test.h"

enum { SETS_MAX = 40, COMMITS_MAX = 4000, STEPS = 16 };

struct commit {
    struct history_commit commit;
    bool by_rollback;
};

struct history {
    struct random random;
    uint64_t seed;
    struct store *store;
    struct arena arena;
    struct wall now;
    struct {
        uint64_t num;
        struct span id;
    } sets[SETS_MAX]; /* rollbacks too */
    size_t count;
    struct commit commits[COMMITS_MAX]; /* oldest first */
    size_t commit_count;
    bool has_sums;
};

static void model_fail(const struct history *history, const char *what,
                       struct span id) {
    printf("# test_rollback_marks --seeds %" PRIu64 " %" PRIu64 ": %s %.*s\n",
           history->seed, history->seed, what, (int)id.len, id.p);
    fflush(stdout);
    abort();
}

/* ---- the registry -------------------------------------------------------- */

static struct store_batch *batch_of(struct history *history) {
    struct store_batch *batch = store_batch_new(history->store);
    store_batch_actor(batch, history->now, SPAN("uid:1"));
    return batch;
}

static void batch_write(struct history *history, struct store_batch *batch) {
    struct err err;
    if (!store_write(batch, &err))
        model_fail(history, "cannot write:", span_of(err.text));
    for (unsigned i = 0; i < store_batch_count(batch); i++)
        if (store_batch_result(batch, i) > STORE_SAME)
            model_fail(history, "an operation is refused", SPAN(""));
    store_batch_free(batch);
}

static void move(struct store_batch *batch, uint64_t num, enum job_state from,
                 enum job_state to, const char *reason) {
    store_move(batch,
               &(struct store_move){.num = num,
                                    .from = from,
                                    .to = to,
                                    .reason = span_of(reason),
                                    .begin_attempt = to == STATE_EXECUTING});
}

/* Admits a set or a rollback and takes it to X. */
static size_t add(struct history *history, bool rolls_back) {
    size_t at = history->count++;
    struct store_batch *batch = batch_of(history);
    struct span id = span_of(
        arena_printf(&history->arena, "%c%zu", rolls_back ? 'r' : 'c', at));
    struct job job = {.id = id,
                      .kind = JOB_CHANGE,
                      .job_class = rolls_back ? CLASS_RB : CLASS_DC,
                      .state = STATE_QUEUED,
                      .target = SPAN("main"),
                      .name = id,
                      .sum = id,
                      .key = id,
                      .has_relations = true};
    store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    struct err err;
    if (!store_write(batch, &err))
        model_fail(history, "cannot admit:", span_of(err.text));
    history->sets[at].num = store_batch_num(batch, 0);
    history->sets[at].id = id;
    store_batch_free(batch);
    uint64_t num = history->sets[at].num;
    batch = batch_of(history);
    if (rolls_back) {
        move(batch, num, STATE_QUEUED, STATE_PENDING, "rb");
    } else {
        move(batch, num, STATE_QUEUED, STATE_STAGED, "staged");
        move(batch, num, STATE_STAGED, STATE_PENDING, "ready");
    }
    move(batch, num, STATE_PENDING, STATE_EXECUTING, "start");
    batch_write(history, batch);
    return at;
}

static struct job job_of(struct history *history, size_t at,
                         struct arena *arena) {
    struct job job;
    struct err err;
    if (!store_job(history->store, history->sets[at].num, arena, &job, &err))
        model_fail(history, "cannot read:", span_of(err.text));
    return job;
}

static void registry_roll_back(struct history *history, size_t at,
                               const uint64_t *nums, size_t count) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(text_clear) struct text members = TEXT_INIT;
    struct rollback_entry *entries =
        arena_alloc(&arena, (count + 1) * sizeof(*entries));
    struct store_batch *batch = batch_of(history);
    struct err err;
    for (size_t i = 0; i < count; i++)
        entries[i] = (struct rollback_entry){
            .num = nums[i], .was = STATE_DONE, .outcome = ROLLBACK_REVERTED};
    if (!rollback_marks(history->store, batch, history->sets[at].id, &arena,
                        &entries, &count, &err))
        model_fail(history, "no marks:", span_of(err.text));
    for (size_t i = 0; i < count; i++)
        rollback_entry_format(&entries[i], &members);
    store_plan(batch, &(struct store_rollback){
                          .num = history->sets[at].num,
                          .phase = span_of(rollback_phase_word(ROLLBACK_OVER)),
                          .begun = history->now,
                          .members = text_span(&members)});
    move(batch, history->sets[at].num, STATE_EXECUTING, STATE_DONE, "ok");
    batch_write(history, batch);
}

/* ---- the branch ---------------------------------------------------------- */

static void commit_add(struct history *history, struct span id, struct span sum,
                       bool by_rollback, struct span lines) {
    CLEANUP(text_clear) struct text trailers = TEXT_INIT;
    struct span line;
    if (history->commit_count == COMMITS_MAX)
        model_fail(history, "too many commits", id);
    struct commit *commit = &history->commits[history->commit_count++];
    *commit = (struct commit){.by_rollback = by_rollback};
    snprintf(commit->commit.oid, OID_BYTES, "%zu", history->commit_count);
    while (lines.len > 0 && span_cut(&lines, '\n', &line))
        if (history->has_sums ||
            memmem(line.p, line.len, "-CS-Sum: ", 9) == NULL)
            text_addf(&trailers, "    %.*s\n", (int)line.len, line.p);
    commit->commit.csid = id;
    commit->commit.sum = sum;
    commit->commit.trailers = arena_span(&history->arena, text_span(&trailers));
}

static struct branch_sets branch_read(struct history *history) {
    struct branch_sets sets = {0};
    for (size_t i = history->commit_count; i-- > 0;)
        branch_sets_add(&sets, &history->commits[i].commit,
                        history->commits[i].by_rollback);
    return sets;
}

/* The number of the commit that put it in effect, or out of it, last. */
static size_t newest(const struct branch_sets *sets, struct span id) {
    const struct branch_set *set = branch_sets_find(sets, id, id);
    return set == NULL || set->newest == NULL
               ? 0
               : (size_t)strtoull(set->newest, NULL, 10);
}

struct making {
    struct history *history;
    struct span id;
};

static void step_make(void *ctx, const struct branch_set *last,
                      struct span lines) {
    const struct making *making = ctx;
    (void)last;
    commit_add(making->history, making->id, making->id, true, lines);
}

/* `members`: in the registry's order. The branch takes those first whose commit
 * is newest. */
static void branch_roll_back(struct history *history, size_t at,
                             const struct span *members, size_t count) {
    struct branch_sets sets = branch_read(history);
    struct making making = {history, history->sets[at].id};
    bool done[SETS_MAX] = {0};
    for (size_t n = 0; n < count; n++) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < count; i++)
            if (!done[i] &&
                (best == SIZE_MAX ||
                 newest(&sets, members[i]) > newest(&sets, members[best])))
                best = i;
        done[best] = true;
        branch_sets_roll_back(&sets, members[best], members[best], step_make,
                              &making);
    }
    branch_sets_clear(&sets);
}

/* ---- a history ----------------------------------------------------------- */

static void land(struct history *history) {
    size_t at = add(history, false);
    struct store_batch *batch = batch_of(history);
    move(batch, history->sets[at].num, STATE_EXECUTING, STATE_DONE, "ok");
    batch_write(history, batch);
    commit_add(history, history->sets[at].id, history->sets[at].id, false,
               SPAN(""));
}

static struct span any_id(struct history *history) {
    return history->sets[random_below(&history->random, history->count)].id;
}

/* A set or a rollback of the second base, in or out of effect. */
static void other_base(struct history *history) {
    CLEANUP(text_clear) struct text lines = TEXT_INIT;
    struct history_effect effect = {random_below(&history->random, 2) == 0,
                                    any_id(history), SPAN("other")};
    bool rolls_back = random_below(&history->random, 2) == 0;
    if (rolls_back)
        history_effect_add(&effect, &lines);
    commit_add(history, any_id(history), SPAN("other"), rolls_back,
               text_span(&lines));
}

static struct span id_of(struct history *history, uint64_t num) {
    for (size_t i = 0; i < history->count; i++)
        if (history->sets[i].num == num)
            return history->sets[i].id;
    model_fail(history, "an unknown member", SPAN(""));
    return SPAN("");
}

static void roll_back(struct history *history) {
    struct span primaries[3], members[SETS_MAX];
    struct rollback_plan plan;
    struct rollback_plan_limits limits = {.sets_max = SETS_MAX};
    uint64_t nums[SETS_MAX];
    size_t primary_count = 1 + (size_t)random_below(&history->random, 3);
    size_t count = 0;
    struct err err;
    for (size_t i = 0; i < primary_count; i++) {
        /* Mostly one of the last: rollbacks of rollbacks. */
        size_t back = random_below(&history->random, 3) == 0 ? history->count
                      : history->count < 6                   ? history->count
                                                             : 6;
        primaries[i] = history
                           ->sets[history->count - 1 -
                                  (size_t)random_below(&history->random, back)]
                           .id;
    }
    if (!rollback_plan_preview(history->store, primaries, primary_count,
                               &limits, &plan, &err))
        model_fail(history, "no plan:", span_of(err.text));
    for (size_t i = 0; i < plan.decision.count; i++)
        if (plan.decision.members[i].fate == ROLLBACK_REVERT)
            nums[count++] = plan.decision.members[i].node.num;
    bool goes = plan.decision.verdict == ROLLBACK_GO;
    rollback_plan_clear(&plan);
    if (!goes)
        return;
    size_t at = add(history, true);
    if (!rollback_effects_sort(history->store, nums, count, &err))
        model_fail(history, "no order:", span_of(err.text));
    for (size_t i = 0; i < count; i++)
        members[i] = id_of(history, nums[i]);
    branch_roll_back(history, at, members, count);
    registry_roll_back(history, at, nums, count);
}

/* ---- the comparison ------------------------------------------------------ */

static void compare_order(struct history *history,
                          const struct branch_sets *sets) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    uint64_t nums[SETS_MAX];
    size_t count = 0, last = SIZE_MAX;
    struct err err;
    for (size_t i = 0; i < history->count; i++)
        if (job_of(history, i, &arena).rolled_back_by.len == 0)
            nums[count++] = history->sets[i].num;
    if (!rollback_effects_sort(history->store, nums, count, &err))
        model_fail(history, "no order:", span_of(err.text));
    for (size_t i = 0; i < count; i++) {
        struct span id = id_of(history, nums[i]);
        size_t at = newest(sets, id);
        if (at > last)
            model_fail(history,
                       "newer on the branch than in the registry:", id);
        last = at;
    }
}

static void compare(struct history *history) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct branch_sets sets = branch_read(history);
    for (size_t i = 0; i < history->count; i++) {
        struct span id = history->sets[i].id;
        const struct branch_set *set = branch_sets_find(&sets, id, id);
        struct span on_branch =
            set == NULL || set->by == NULL ? SPAN("") : set->by->id;
        struct span by = job_of(history, i, &arena).rolled_back_by;
        if (set == NULL || !span_equal(on_branch, by))
            model_fail(history,
                       arena_printf(&arena,
                                    "out by '%.*s' in the registry, not on "
                                    "the branch:",
                                    (int)by.len, by.p),
                       id);
    }
    compare_order(history, &sets);
    branch_sets_clear(&sets);
}

static void run(uint64_t seed) {
    static struct history history;
    history = (struct history){.seed = seed, .now = wall_from_s(1000)};
    history.has_sums = seed % 2 == 0;
    random_init(&history.random, seed);
    history.store = store_memory_new();
    land(&history);
    for (unsigned i = 0; i < STEPS; i++) {
        if (random_below(&history.random, 5) == 0)
            land(&history);
        else
            roll_back(&history);
        if (history.has_sums)
            other_base(&history);
        compare(&history);
    }
    store_close(history.store);
    arena_clear(&history.arena);
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
    printf("ok 1 marks_agree_with_the_lines_on_a_branch\n");
    return 0;
}
