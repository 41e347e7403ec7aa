/* What starts first when a lane becomes free, when a rollback waits, and after
 * a crash: the scheduler over a registry in memory, with a runner that only
 * takes notes. */
#include "support/test.h"

#include "core/reason.h"
#include "scheduler/scheduler.h"
#include "store/simulated.h"

enum { STARTS_MAX = 100 };

static struct store *store;
static struct scheduler *scheduler, *queue; /* queue: only stages; or NULL */
static struct wall now;
static struct text trace; /* the ids of the starts, each with a blank */
static struct {
    uint64_t handle;
    char id[16];
    bool is_probe, is_stopped;
    size_t member_count, step_count;
    enum run_train_task task;
    bool is_train;
} starts[STARTS_MAX];
static unsigned start_count;
static bool closure_has_files;

/* ---- the runner ---------------------------------------------------------- */

/* Merges are not in the trace: settle() answers them. */
static void train_start(const struct run_start *start) {
    starts[start_count].is_train = true;
    starts[start_count].task = start->train->task;
    starts[start_count].step_count =
        start->train->tree.len > 0 ? start->set_count : 0;
    if (start->train->task == RUN_TRAIN_LAND)
        text_adds(&trace, "+");
}

static void runner_start(void *ctx, const struct run_start *start) {
    (void)ctx;
    assert_true(start_count < STARTS_MAX);
    memset(&starts[start_count], 0, sizeof(starts[0]));
    if (start->train != NULL)
        train_start(start);
    if (start->train != NULL && start->train->task == RUN_TRAIN_MERGE) {
        starts[start_count++].handle = start->handle;
        return;
    }
    starts[start_count].handle = start->handle;
    starts[start_count].is_probe = start->probe;
    starts[start_count].is_stopped = false;
    starts[start_count].member_count = start->member_count;
    snprintf(starts[start_count++].id, sizeof(starts[0].id), "%.*s",
             (int)start->job->id.len, start->job->id.p);
    text_addspan(&trace, start->job->id);
    text_adds(&trace, start->probe ? "? " : " ");
}

static void runner_stop(void *ctx, uint64_t which, enum run_stop how) {
    (void)ctx;
    for (unsigned i = 0; i < start_count; i++)
        if (starts[i].handle == which && how != RUN_STOP_WITHDRAW)
            starts[i].is_stopped = true;
}

static void runner_flush(void *ctx) {
    (void)ctx;
}

static struct run_sync runner_write_outputs(void *ctx, bool whole) {
    (void)whole;
    (void)ctx;
    return (struct run_sync){.fd = -1};
}

static void runner_release(void *ctx, uint64_t which) {
    (void)ctx, (void)which;
}

static const struct runner runner = {.start = runner_start,
                                     .stop = runner_stop,
                                     .flush = runner_flush,
                                     .write_outputs = runner_write_outputs,
                                     .release = runner_release};

/* ---- the scheduler ------------------------------------------------------- */

static struct scheduler *open_part(unsigned parts, unsigned slots,
                                   uint64_t job_limit) {
    static const struct scheduler_target targets[] = {
        {.name = {"main", 4}, .lanes = 1, .by_command = true},
        {.name = {"other", 5}, .lanes = 1, .by_command = true},
        {.name = {"branch", 6},
         .lanes = 1,
         .train = {.checks = true, .lanes = 1, .land_max = 64}},
        {.name = {"follow", 6},
         .lanes = 1,
         .train = {
             .checks = true, .lanes = 1, .follow = true, .land_max = 64}}};
    struct scheduler_options options = {.parts = parts,
                                        .slots = slots,
                                        .max_temp = 20,
                                        .max_crash = 3,
                                        .wait_for_dep_ms = 60000,
                                        .rollback_max = 50,
                                        .rollback_files = closure_has_files,
                                        .hup_grace_ms = 1000,
                                        .job_limit = job_limit,
                                        .actor = SPAN("daemon:test"),
                                        .worker = SPAN("local"),
                                        .targets = targets,
                                        .target_count = COUNT(targets)};
    struct scheduler *part = scheduler_new(store, &options, &runner);
    assert_true(scheduler_start(part, now, parts & SCHEDULER_STARTS, NULL));
    return part;
}

static void open_both(unsigned slots) {
    scheduler = open_part(SCHEDULER_STAGES | SCHEDULER_STARTS, slots, 0);
}

static int setup(void **state) {
    (void)state;
    now = wall_from_s(1000);
    store = store_memory_new();
    scheduler = queue = NULL;
    start_count = 0;
    closure_has_files = false;
    trace = (struct text)TEXT_INIT;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    scheduler_free(scheduler);
    scheduler_free(queue);
    store_close(store);
    text_clear(&trace);
    return 0;
}

static void turn(struct scheduler *part) {
    struct wall next;
    struct err err;
    if (part && !scheduler_turn(part, now, &next, &err))
        fail_msg("%s", err.text);
}

/* The tip and its tree, then another tree for each set. */
static bool answer_merges(void) {
    static unsigned trees;
    bool any = false;
    for (unsigned i = 0; i < start_count; i++) {
        CLEANUP(text_clear) struct text line = TEXT_INIT;
        struct run_end end = {.handle = starts[i].handle};
        if (!starts[i].is_train || starts[i].task != RUN_TRAIN_MERGE)
            continue;
        text_addf(&line, "merged %040x %040x", 1, 2);
        for (size_t k = 0; k < starts[i].step_count; k++)
            text_addf(&line, " %040x", 3 + trees++);
        end.status = text_span(&line);
        starts[i].is_train = false;
        scheduler_ended(scheduler, &end);
        any = true;
    }
    return any;
}

static void settle(void) {
    for (unsigned quiet = 0, turns = 0; quiet < 2; turns++) {
        assert_true(turns < 1000);
        turn(queue);
        turn(scheduler);
        quiet = !answer_merges() && store_is_idle(store) ? quiet + 1 : 0;
        store_turn(store);
    }
}

/* The first attempt of the job that has not ended, ends. */
static void end_with(const char *id, const char *status, int exit_code) {
    for (unsigned i = 0; i < start_count; i++) {
        struct run_end end = {.handle = starts[i].handle,
                              .exit_code = exit_code,
                              .status = span_of(status),
                              .started = wall_add_ms(now, -1000),
                              .ended = now};
        if (strcmp(starts[i].id, id) != 0)
            continue;
        starts[i].id[0] = '\0';
        scheduler_ended(scheduler, &end);
        return;
    }
    fail_msg("'%s' does not run", id);
}

static void end_well(const char *id) {
    end_with(id, "done 0123456789012345678901234567890123456789", 0);
}

/* ---- jobs ---------------------------------------------------------------- */

struct sample {
    const char *id;
    enum job_class job_class;
    const char *target; /* NULL: a command */
    const char *path;   /* NULL: none */
    const char *needs;  /* a dependency; NULL: none */
    unsigned holds;
    const char *group; /* of two sets; NULL: none */
};

static void add(struct store_batch *batch, const struct sample *sample) {
    static uint64_t order;
    char key[16], rollback[200];
    snprintf(rollback, sizeof(rollback),
             "{\"meta\":\"##movetype\\nRB\\n##target\\n%s\\n"
             "##dependencies\\n%s\\n\"}",
             sample->target ? sample->target : "",
             sample->needs ? sample->needs : "");
    bool rolls_back = sample->job_class == CLASS_RB;
    snprintf(key, sizeof(key), "%c%08u", (int)sample->job_class,
             (unsigned)++order);
    struct job job = {.id = span_of(sample->id),
                      .kind = sample->target ? JOB_CHANGE : JOB_COMMAND,
                      .job_class = sample->job_class,
                      .state = sample->target ? STATE_QUEUED : STATE_PENDING,
                      .key = span_make(key, 9),
                      .rank = span_make(key, 9),
                      .target = span_of(sample->target ? sample->target : ""),
                      .name = span_of(sample->target ? sample->id : ""),
                      .actor = SPAN("uid:7"),
                      .spec = span_of(rolls_back ? rollback : "{}"),
                      .holds = sample->holds,
                      .has_relations = sample->target != NULL,
                      .admitted = now};
    struct job_edge edges[2];
    size_t edge_count = 0;
    if (sample->needs)
        edges[edge_count++] = (struct job_edge){
            .kind = rolls_back ? EDGE_ROLLBACK : EDGE_DEPENDENCY,
            .to = span_of(sample->needs)};
    if (sample->group) {
        edges[edge_count++] =
            (struct job_edge){.kind = EDGE_GROUP, .to = span_of(sample->group)};
        job.group_size = 2;
    }
    struct job_touch touch = {.path =
                                  span_of(sample->path ? sample->path : "")};
    store_admit(batch, &job, edges, edge_count, &touch, sample->path ? 1 : 0,
                NULL, 0);
}

static void submit(const struct sample *samples, size_t count) {
    struct store_batch *batch = store_batch_new(store);
    store_batch_actor(batch, now, SPAN("uid:7"));
    for (size_t i = 0; i < count; i++)
        add(batch, &samples[i]);
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
}
#define SUBMIT(...)                                       \
    submit((const struct sample[]){__VA_ARGS__},          \
           sizeof((const struct sample[]){__VA_ARGS__}) / \
               sizeof(struct sample))

static enum job_state state_of(const char *id) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job job;
    bool found;
    assert_true(store_lookup(store, span_of(id), &arena, &job, &found, NULL));
    assert_true(found);
    return job.state;
}

static void assert_reason(const char *id, const char *reason) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job job;
    bool found;
    assert_true(store_lookup(store, span_of(id), &arena, &job, &found, NULL));
    assert_string_equal(arena_string(&arena, job.reason), reason);
}

static void assert_trace(const char *expected) {
    assert_string_equal(text_string(&trace), expected);
}

/* ---- a lane that becomes free -------------------------------------------- */

static void
emergency_behind_the_running_set_gets_the_lane_that_this_frees(void **state) {
    (void)state;
    open_both(4);
    SUBMIT({"running", CLASS_DC, "main", "a", NULL, 0});
    settle();
    SUBMIT({"ready", CLASS_DC, "main", "b", NULL, 0},
           {"urgent", CLASS_EM, "main", "a", NULL, 0});
    settle();
    assert_int_equal(state_of("urgent"), STATE_STAGED);
    end_well("running");
    settle();
    assert_trace("running urgent ");
    end_well("urgent");
    settle();
    assert_trace("running urgent ready ");
}

static void
emergency_that_arrives_as_a_lane_becomes_free_gets_it(void **state) {
    (void)state;
    open_both(4);
    SUBMIT({"running", CLASS_DC, "main", "a", NULL, 0});
    settle();
    SUBMIT({"ready", CLASS_DC, "main", "b", NULL, 0});
    settle();
    end_well("running");
    SUBMIT({"urgent", CLASS_EM, "main", "c", NULL, 0});
    settle();
    assert_trace("running urgent ");
}

static void emergency_behind_a_chain_gets_the_next_lane(void **state) {
    (void)state;
    open_both(4);
    SUBMIT({"running", CLASS_DC, "main", "a", NULL, 0});
    settle();
    /* `middle` is scheduled as urgently as the emergency that needs it. */
    SUBMIT({"ready", CLASS_DC, "main", "b", NULL, 0},
           {"middle", CLASS_DC, "main", "a", NULL, 0},
           {"urgent", CLASS_EM, "main", "c", "middle", 0});
    settle();
    end_well("running");
    settle();
    assert_trace("running middle ");
    end_well("middle");
    settle();
    assert_trace("running middle urgent ");
}

static void emergency_behind_a_set_that_fails_gets_the_lane(void **state) {
    (void)state;
    open_both(4);
    SUBMIT({"running", CLASS_DC, "main", "a", NULL, 0});
    settle();
    SUBMIT({"ready", CLASS_DC, "main", "b", NULL, 0},
           {"urgent", CLASS_EM, "main", "a", NULL, 0});
    settle();
    end_with("running", "failed check-failed unit", 101);
    settle();
    assert_trace("running urgent ");
}

/* The only slot: commands wait too. */
static void emergency_gets_the_slot_before_a_waiting_command(void **state) {
    (void)state;
    open_both(1);
    SUBMIT({"running", CLASS_DC, "main", "a", NULL, 0});
    settle();
    SUBMIT({"command", CLASS_DC, NULL, NULL, NULL, 0},
           {"urgent", CLASS_EM, "main", "a", NULL, 0});
    settle();
    end_well("running");
    settle();
    assert_trace("running urgent ");
}

/* Other work does not wait for a set that is no emergency. */
static void bug_fix_gets_the_lane_and_leaves_the_slots(void **state) {
    (void)state;
    open_both(1);
    SUBMIT({"running", CLASS_DC, "main", "a", NULL, 0});
    settle();
    SUBMIT({"ready", CLASS_DC, "main", "b", NULL, 0},
           {"command", CLASS_DC, NULL, NULL, NULL, 0},
           {"fix", CLASS_BF, "main", "a", NULL, 0});
    settle();
    end_well("running");
    settle();
    assert_trace("running command ");
    end_well("command");
    settle();
    assert_trace("running command fix ");
}

static void lane_is_not_kept_for_a_set_of_another_target(void **state) {
    (void)state;
    open_both(4);
    SUBMIT({"running", CLASS_DC, "main", "a", NULL, 0});
    settle();
    SUBMIT({"ready", CLASS_DC, "main", "b", NULL, 0});
    settle();
    end_well("running");
    SUBMIT({"bugfix", CLASS_BF, "other", "c", NULL, 0});
    settle();
    assert_trace("running ready bugfix ");
}

static void
sets_that_keep_arriving_do_not_keep_others_from_starting(void **state) {
    (void)state;
    open_both(4);
    SUBMIT({"a", CLASS_DC, "main", "a", NULL, 0});
    settle();
    for (unsigned i = 0; i < 20; i++) {
        char id[16], path[16];
        snprintf(id, sizeof(id), "n%u", i);
        snprintf(path, sizeof(path), "p%u", i);
        SUBMIT({id, CLASS_DC, "main", path, NULL, 0});
        turn(scheduler);
        store_turn(store);
    }
    end_well("a");
    SUBMIT({"late", CLASS_DC, "main", "z", NULL, 0});
    turn(scheduler); /* the end, and the start of the next set */
    store_turn(store);
    assert_trace("a n0 ");
}

/* ---- the same with a process that stages and one that starts --------------
 */

static void open_apart(unsigned slots) {
    queue = open_part(SCHEDULER_STAGES, slots, 0);
    scheduler = open_part(SCHEDULER_STARTS, slots, 0);
    scheduler_follow(scheduler, true);
}

/* The process that starts does all it can before the other one looks. */
static void settle_starts(void) {
    struct scheduler *other = queue;
    queue = NULL;
    settle();
    queue = other;
}

static void settle_apart(void) {
    for (unsigned i = 0; i < 20; i++) {
        settle_starts();
        turn(queue);
        store_turn(store);
    }
    settle();
}

static void
emergency_gets_the_lane_that_another_process_gives_away(void **state) {
    (void)state;
    open_apart(4);
    SUBMIT({"running", CLASS_DC, "main", "a", NULL, 0});
    settle_apart();
    SUBMIT({"ready", CLASS_DC, "main", "b", NULL, 0},
           {"urgent", CLASS_EM, "main", "a", NULL, 0});
    settle_apart();
    end_well("running");
    settle_apart();
    assert_trace("running urgent ");
    end_well("urgent");
    settle_apart();
    assert_trace("running urgent ready ");
}

static void
emergency_that_arrives_gets_the_lane_of_another_process(void **state) {
    (void)state;
    open_apart(4);
    SUBMIT({"running", CLASS_DC, "main", "a", NULL, 0});
    settle_apart();
    SUBMIT({"ready", CLASS_DC, "main", "b", NULL, 0});
    settle_apart();
    end_well("running");
    SUBMIT({"urgent", CLASS_EM, "main", "c", NULL, 0});
    settle_apart();
    assert_trace("running urgent ");
}

static void emergency_gets_the_slot_of_another_process(void **state) {
    (void)state;
    open_apart(1);
    SUBMIT({"running", CLASS_DC, "main", "a", NULL, 0});
    settle_apart();
    SUBMIT({"command", CLASS_DC, NULL, NULL, NULL, 0},
           {"urgent", CLASS_EM, "main", "a", NULL, 0});
    settle_apart();
    end_well("running");
    settle_apart();
    assert_trace("running urgent ");
}

static void emergency_behind_a_chain_gets_the_lane_apart(void **state) {
    (void)state;
    open_apart(4);
    SUBMIT({"running", CLASS_DC, "main", "a", NULL, 0});
    settle_apart();
    SUBMIT({"ready", CLASS_DC, "main", "b", NULL, 0},
           {"middle", CLASS_DC, "main", "a", NULL, 0},
           {"urgent", CLASS_EM, "main", "c", "middle", 0});
    settle_apart();
    end_well("running");
    settle_apart();
    assert_trace("running middle ");
    end_well("middle");
    settle_apart();
    assert_trace("running middle urgent ");
}

/* On a branch whose emergencies interrupt no check. */
static void
emergency_behind_a_set_that_fails_is_checked_first_apart(void **state) {
    (void)state;
    open_apart(4);
    SUBMIT({"running", CLASS_DC, "branch", "a", NULL, 0});
    settle_apart();
    SUBMIT({"ready", CLASS_DC, "branch", "b", NULL, 0},
           {"urgent", CLASS_EM, "branch", "a", NULL, 0});
    settle_apart();
    end_with("running", "failed check-failed unit", 101);
    settle_apart();
    end_with("running", "passed", 0); /* the tip */
    settle_apart();
    assert_int_equal(state_of("running"), STATE_FAILED);
    assert_trace("running running urgent ");
}

/* The set that the emergency needs is ready, and gets its rank. */
static void a_rank_is_followed_before_it_is_recorded(void **state) {
    (void)state;
    open_apart(4);
    SUBMIT({"running", CLASS_DC, "main", "a", NULL, 0});
    settle_apart();
    SUBMIT({"ready", CLASS_DC, "main", "b", NULL, 0},
           {"needed", CLASS_DC, "main", "c", NULL, 0});
    settle_apart();
    end_well("running");
    SUBMIT({"urgent", CLASS_EM, "main", "d", "needed", 0});
    settle_apart();
    assert_trace("running needed ");
}

static void a_process_that_stages_nothing_is_waited_for_a_while(void **state) {
    (void)state;
    open_apart(4);
    SUBMIT({"running", CLASS_DC, "main", "a", NULL, 0});
    settle_apart();
    SUBMIT({"ready", CLASS_DC, "main", "b", NULL, 0},
           {"urgent", CLASS_EM, "main", "a", NULL, 0});
    settle_apart();
    end_well("running");
    settle_starts();
    assert_trace("running ");
    now = wall_add_ms(now, 4999);
    settle_starts();
    assert_trace("running ");
    now = wall_add_ms(now, 1);
    settle_starts();
    assert_trace("running ready ");
    /* There is none at all. */
    end_well("ready");
    scheduler_follow(scheduler, false);
    SUBMIT({"urgent2", CLASS_EM, "main", "z", NULL, 0},
           {"command", CLASS_DC, NULL, NULL, NULL, 0});
    settle_starts();
    assert_trace("running ready command ");
}

/* ---- a stop -------------------------------------------------------------- */

static void
set_killed_by_a_stop_is_pending_before_the_process_ends(void **state) {
    (void)state;
    open_both(4);
    SUBMIT({"set", CLASS_DC, "main", "a", NULL, 0});
    settle();
    scheduler_return(scheduler, false);
    settle();
    assert_true(starts[0].is_stopped);
    end_with("set", "", -1); /* it was killed and reported nothing */
    settle();
    assert_trace("set set? ");
    assert_false(scheduler_idle(scheduler));
    end_with("set", "not-landed", 0);
    settle();
    assert_true(scheduler_idle(scheduler));
    assert_int_equal(state_of("set"), STATE_PENDING);
    assert_trace("set set? ");
}

static void
set_whose_target_gives_no_answer_does_not_keep_the_process(void **state) {
    (void)state;
    open_both(4);
    SUBMIT({"set", CLASS_DC, "main", "a", NULL, 0});
    settle();
    scheduler_return(scheduler, false);
    end_with("set", "", -1);
    settle();
    end_with("set", "unavailable no repository", 111);
    settle();
    assert_true(scheduler_idle(scheduler));
    assert_int_equal(state_of("set"), STATE_EXECUTING);
    assert_trace("set set? ");
}

/* The same for a landing that died before the stop; the role goes on asking
 * while other work ends, but only until the target has failed to answer. */
static void
stop_waits_for_what_runs_but_not_for_a_target_without_an_answer(void **state) {
    (void)state;
    struct wall next;
    open_both(4);
    SUBMIT({"set", CLASS_DC, "main", "a", NULL, 0},
           {"command", CLASS_DC, NULL, NULL, NULL, 0});
    settle();
    end_with("set", "", -1);
    settle();
    end_with("set", "unavailable no repository", 111);
    settle();
    scheduler_drain(scheduler);
    settle();
    assert_false(scheduler_idle(scheduler));
    now = wall_add_ms(now, 3600000);
    settle();
    assert_trace("command set set? ");
    assert_true(scheduler_turn(scheduler, now, &next, NULL));
    assert_true(next.ns > now.ns);
    end_with("command", "", 0);
    settle();
    assert_true(scheduler_idle(scheduler));
    assert_int_equal(state_of("command"), STATE_DONE);
    assert_int_equal(state_of("set"), STATE_EXECUTING);
    assert_trace("command set set? ");
}

/* ---- a rollback that waits ------------------------------------------------
 */

static void land(const char *id, const char *path) {
    struct sample sample = {id, CLASS_DC, "main", path, NULL, 0};
    submit(&sample, 1);
    settle();
    end_well(id);
    settle();
    text_reset(&trace);
}

#define WAITING_MEMBERS                               \
    {"member", CLASS_DC, "main", "a", "landed", 0}, { \
        "member2", CLASS_EM, "main", "b", "landed", 0 \
    }

static void rollback_that_arrives_with_its_members_comes_first(void **state) {
    (void)state;
    open_both(4);
    land("landed", "a");
    SUBMIT(WAITING_MEMBERS, {"rb", CLASS_RB, "main", NULL, "landed", 0});
    settle();
    assert_trace("rb ");
    assert_int_equal(state_of("member"), STATE_ABANDONED);
}

/* The scheduler starts when these are in P, and the rollback in `rb_state`. */
static void start_with_a_rollback(bool is_queued, unsigned parts,
                                  uint64_t job_limit) {
    open_both(4);
    land("landed", "a");
    SUBMIT({"running", CLASS_DC, "main", "x", NULL, 0});
    settle();
    SUBMIT(WAITING_MEMBERS);
    settle();
    end_well("running");
    scheduler_free(scheduler); /* that end was not recorded */
    scheduler = NULL;
    start_count = 0;
    text_reset(&trace);
    SUBMIT({"rb", CLASS_RB, "main", NULL, "landed", 0});
    if (!is_queued) {
        queue = open_part(SCHEDULER_STAGES, 4, 0);
        settle();
        assert_int_equal(state_of("rb"), STATE_PENDING);
        scheduler_free(queue);
        queue = NULL;
    }
    scheduler = open_part(parts, 4, job_limit);
}

static void assert_rollback_is_first(void) {
    settle();
    assert_trace("rb running? ");
    end_with("running", "not-landed", 0);
    settle();
    assert_trace("rb running? ");
    assert_int_equal(state_of("member"), STATE_ABANDONED);
}

static void rollback_in_q_comes_first_after_a_start(void **state) {
    (void)state;
    start_with_a_rollback(true, SCHEDULER_STAGES | SCHEDULER_STARTS, 0);
    assert_rollback_is_first();
}

static void rollback_in_p_comes_first_after_a_start(void **state) {
    (void)state;
    start_with_a_rollback(false, SCHEDULER_STAGES | SCHEDULER_STARTS, 0);
    assert_rollback_is_first();
}

static void
rollback_in_q_comes_first_where_another_process_stages(void **state) {
    (void)state;
    start_with_a_rollback(true, SCHEDULER_STARTS, 0);
    assert_rollback_is_first();
}

static void rollback_is_the_one_job_of_jobs_1(void **state) {
    (void)state;
    start_with_a_rollback(false, SCHEDULER_STARTS, 1);
    assert_rollback_is_first();
    end_well("rb");
    settle();
    assert_true(scheduler_used_up(scheduler));
    assert_trace("rb running? ");
    assert_int_equal(state_of("rb"), STATE_DONE);
}

static void second_rollback_keeps_its_target_closed(void **state) {
    (void)state;
    open_both(4);
    land("landed", "a");
    SUBMIT({"there", CLASS_DC, "other", "a", NULL, 0});
    settle();
    end_well("there");
    settle();
    text_reset(&trace);
    SUBMIT({"rb", CLASS_RB, "main", NULL, "landed", 0});
    settle();
    SUBMIT({"newcomer", CLASS_EM, "other", "b", NULL, 0},
           {"rb2", CLASS_RB, "other", NULL, "there", 0},
           {"command", CLASS_DC, NULL, NULL, NULL, 0});
    settle();
    assert_trace("rb command ");
    end_well("rb");
    settle();
    assert_trace("rb command rb2 ");
    end_well("rb2");
    settle();
    assert_trace("rb command rb2 newcomer ");
}

static void rollback_that_is_held_lets_others_start(void **state) {
    (void)state;
    open_both(4);
    land("landed", "a");
    SUBMIT({"rb", CLASS_RB, "main", NULL, "landed", 1},
           {"other", CLASS_DC, "main", "b", NULL, 0});
    settle();
    assert_trace("other ");
}

/* `running` lands on a file of the rollback while that is being made. */
static void roll_back_beside_a_landing(bool with_files) {
    closure_has_files = with_files;
    open_both(4);
    land("landed", "a");
    SUBMIT({"running", CLASS_DC, "main", "a", NULL, 0});
    settle();
    SUBMIT({"rb", CLASS_RB, "main", NULL, "landed", 0});
    settle();
    assert_trace("running rb ");
    assert_int_equal(starts[start_count - 1].member_count, 1);
    end_well("running");
    settle();
    end_with("rb", "failed rb-conflict a was also changed by running", 101);
    settle();
}

static void rollback_takes_along_a_set_that_lands_meanwhile(void **state) {
    (void)state;
    roll_back_beside_a_landing(true);
    assert_trace("running rb rb ");
    assert_int_equal(starts[start_count - 1].member_count, 2);
    end_with("rb", "failed rb-conflict a was also changed by a push", 101);
    settle();
    assert_trace("running rb rb ");
    assert_int_equal(state_of("rb"), STATE_FAILED);
}

static void set_that_lands_meanwhile_is_a_conflict_without_files(void **state) {
    (void)state;
    roll_back_beside_a_landing(false);
    assert_trace("running rb ");
    assert_int_equal(state_of("rb"), STATE_FAILED);
}

/* ---- a crash ------------------------------------------------------------- */

static void move(const char *id, enum job_state from, enum job_state to,
                 const char *reason) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_batch *batch = store_batch_new(store);
    struct job job;
    bool found;
    assert_true(store_lookup(store, span_of(id), &arena, &job, &found, NULL));
    store_batch_actor(batch, now, SPAN("uid:7"));
    bool starts_now = to == STATE_EXECUTING;
    store_move(batch, &(struct store_move){.num = job.num,
                                           .from = from,
                                           .to = to,
                                           .reason = span_of(reason),
                                           .begin_attempt = starts_now});
    if (starts_now)
        store_assign(batch, &(struct store_attempt){.num = job.num,
                                                    .attempt = 1,
                                                    .status = TASK_RUNNING,
                                                    .exit_code = -1});
    assert_true(store_write(batch, NULL));
    assert_int_equal(store_batch_result(batch, 0), STORE_DONE);
    store_batch_free(batch);
}

/* Two sets have landed together, but only one of them was known to be done when
 * the process died. The rollback of the other one takes both. */
static void
nobody_builds_on_what_landed_with_a_member_of_a_rollback(void **state) {
    (void)state;
    SUBMIT({"one", CLASS_DC, "main", "a", NULL, 0, "group"},
           {"two", CLASS_DC, "main", "b", NULL, 0, "group"});
    move("one", STATE_QUEUED, STATE_STAGED, "staged");
    move("two", STATE_QUEUED, STATE_STAGED, "staged");
    for (unsigned i = 0; i < 2; i++) {
        const char *id = i == 0 ? "one" : "two";
        move(id, STATE_STAGED, STATE_PENDING, "ready");
        move(id, STATE_PENDING, STATE_EXECUTING, REASON_START);
    }
    move("one", STATE_EXECUTING, STATE_DONE, REASON_ALREADY_LANDED);
    open_both(4);
    settle();
    SUBMIT({"rb", CLASS_RB, "main", NULL, "two", 0});
    settle();
    assert_int_equal(state_of("rb"), STATE_EXECUTING);
    SUBMIT({"late", CLASS_DC, "main", "c", "one", 0});
    settle();
    assert_int_equal(state_of("late"), STATE_STAGED);
    end_with("two", "landed 0123456789012345678901234567890123456789", 0);
    settle();
    assert_int_equal(state_of("late"), STATE_STAGED);
    assert_trace("two? rb ");
    assert_int_equal(starts[1].member_count, 2);
    end_well("rb");
    settle();
    assert_int_equal(state_of("late"), STATE_FAILED);
}

/* The process dies between the end of a set and the record of what those behind
 * it inherit. */
static void
set_behind_one_that_ended_keeps_its_place_after_a_crash(void **state) {
    (void)state;
    open_both(4);
    SUBMIT({"running", CLASS_DC, "main", "a", NULL, 0});
    settle();
    SUBMIT({"first", CLASS_DC, "main", "a", NULL, 0});
    settle();
    SUBMIT({"gone", CLASS_DC, "main", "a", NULL, 0});
    settle();
    SUBMIT({"gone-too", CLASS_DC, "main", "a", NULL, 0});
    settle();
    SUBMIT({"urgent", CLASS_EM, "main", "a", NULL, 0});
    settle();
    scheduler_free(scheduler);
    scheduler = NULL;
    move("gone", STATE_STAGED, STATE_TERMINATED, REASON_OPERATOR);
    move("gone-too", STATE_STAGED, STATE_TERMINATED, REASON_OPERATOR);
    starts[0].id[0] = '\0';
    open_both(4);
    settle();
    assert_trace("running running? ");
    end_with("running", "landed 0123456789012345678901234567890123456789", 0);
    settle();
    assert_trace("running running? first ");
    assert_int_equal(state_of("urgent"), STATE_STAGED);
    end_well("first");
    settle();
    assert_trace("running running? first urgent ");
}

/* ---- groups -------------------------------------------------------------- */

static struct store *open_registry(void) {
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    struct store_options options = {.create = true};
    struct store *opened = NULL;
    text_addf(&path, "%s/registry.db", test_dir());
    assert_true(store_sqlite_open(text_string(&path), &options, &opened, NULL));
    return opened;
}

/* Another process admits a set and ends it. */
static void
set_that_ended_before_it_was_read_takes_its_group_along(void **state) {
    (void)state;
    store_close(store);
    struct store *ours = open_registry(), *theirs = open_registry();
    store = ours;
    open_both(4);
    SUBMIT({"one", CLASS_DC, "main", "a", NULL, 0, "group"});
    settle();
    store = theirs;
    SUBMIT({"two", CLASS_DC, "main", "b", NULL, 0, "group"});
    move("two", STATE_QUEUED, STATE_TERMINATED, REASON_OPERATOR);
    SUBMIT({"next", CLASS_DC, "main", "c", NULL, 0, "group"});
    store = ours;
    assert_true(store_poll(store, NULL));
    settle();
    assert_int_equal(state_of("one"), STATE_FAILED);
    assert_int_equal(state_of("next"), STATE_QUEUED);
    SUBMIT({"last", CLASS_DC, "main", "d", NULL, 0, "group"});
    settle();
    assert_trace("next ");
    store_close(theirs);
}

/* Sets follow what they need while it is being checked, and it fails at one
 * moment or another. */
static void
only_the_set_that_needs_what_failed_fails_for_its_dependency(void **state) {
    for (unsigned turns = 0; turns < 8; turns++) {
        open_both(4);
        SUBMIT({"base", CLASS_DC, "follow", "a", NULL, 0});
        settle();
        SUBMIT({"one", CLASS_DC, "follow", "b", NULL, 0, "group"},
               {"two", CLASS_DC, "follow", "c", "base", 0, "group"});
        for (unsigned i = 0; i < turns; i++) {
            turn(scheduler);
            store_turn(store);
        }
        end_with("base", "failed", 1);
        settle();
        assert_reason("two", "dep-failed");
        assert_reason("one", "group-failed");
        teardown(state);
        setup(state);
    }
}

/* The next set of the name goes before the one that has lost its companion. */
static void set_that_ended_before_a_start_takes_its_group_along(void **state) {
    (void)state;
    SUBMIT({"one", CLASS_DC, "main", "a", NULL, 0, "group"},
           {"two", CLASS_DC, "main", "b", NULL, 0, "group"});
    move("two", STATE_QUEUED, STATE_TERMINATED, REASON_OPERATOR);
    SUBMIT({"next", CLASS_EM, "main", "c", NULL, 0, "group"});
    open_both(4);
    settle();
    assert_int_equal(state_of("one"), STATE_FAILED);
    assert_int_equal(state_of("next"), STATE_QUEUED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(emergency_behind_the_running_set_gets_the_lane_that_this_frees),
        TEST(emergency_that_arrives_as_a_lane_becomes_free_gets_it),
        TEST(emergency_behind_a_chain_gets_the_next_lane),
        TEST(emergency_behind_a_set_that_fails_gets_the_lane),
        TEST(emergency_gets_the_slot_before_a_waiting_command),
        TEST(bug_fix_gets_the_lane_and_leaves_the_slots),
        TEST(lane_is_not_kept_for_a_set_of_another_target),
        TEST(sets_that_keep_arriving_do_not_keep_others_from_starting),
        TEST(emergency_gets_the_lane_that_another_process_gives_away),
        TEST(emergency_that_arrives_gets_the_lane_of_another_process),
        TEST(emergency_gets_the_slot_of_another_process),
        TEST(emergency_behind_a_chain_gets_the_lane_apart),
        TEST(emergency_behind_a_set_that_fails_is_checked_first_apart),
        TEST(a_rank_is_followed_before_it_is_recorded),
        TEST(a_process_that_stages_nothing_is_waited_for_a_while),
        TEST(set_killed_by_a_stop_is_pending_before_the_process_ends),
        TEST(set_whose_target_gives_no_answer_does_not_keep_the_process),
        TEST(stop_waits_for_what_runs_but_not_for_a_target_without_an_answer),
        TEST(rollback_that_arrives_with_its_members_comes_first),
        TEST(rollback_in_q_comes_first_after_a_start),
        TEST(rollback_in_p_comes_first_after_a_start),
        TEST(rollback_in_q_comes_first_where_another_process_stages),
        TEST(rollback_is_the_one_job_of_jobs_1),
        TEST(second_rollback_keeps_its_target_closed),
        TEST(rollback_that_is_held_lets_others_start),
        TEST(rollback_takes_along_a_set_that_lands_meanwhile),
        TEST(set_that_lands_meanwhile_is_a_conflict_without_files),
        TEST(set_behind_one_that_ended_keeps_its_place_after_a_crash),
        TEST(nobody_builds_on_what_landed_with_a_member_of_a_rollback),
        TEST(set_that_ended_before_it_was_read_takes_its_group_along),
        TEST(only_the_set_that_needs_what_failed_fails_for_its_dependency),
        TEST(set_that_ended_before_a_start_takes_its_group_along),
    };
    return cmocka_run_group_tests_name("scheduler_first", tests, NULL, NULL);
}
