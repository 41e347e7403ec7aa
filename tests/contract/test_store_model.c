/* Thousands of random operations, legal and illegal, are applied to both
 * backends. All answers and events and, at the end, all rows must be equal. A
 * failure is reproduced by its seed. */
#include "contract/store_rig.h"

#include "lib/random.h"
#include "store/simulated.h"

enum { OPERATIONS = 10000, JOBS_MOST = 60, FAR = 4096, SEED = 20240611 };

struct pair {
    struct store *store[2];
    struct text events[2];
    struct text answers[2];
    struct random random;
    int64_t now_s;
};

static void show_event(void *ctx, const struct store_event *event) {
    struct text *events = ctx;
    text_addf(events, "%d %s %d %.*s %c%c %u %.*s %.*s %.*s %d\n",
              (int)event->seq, job_event_kind_word(event->kind),
              (int)event->num, (int)event->id.len, event->id.p,
              job_state_letter(event->from), job_state_letter(event->to),
              event->attempt, (int)event->reason.len, event->reason.p,
              (int)event->detail.len, event->detail.p, (int)event->facts.len,
              event->facts.len ? event->facts.p : "",
              event->job ? (int)event->job->num : -1);
}

static uint64_t draw(struct pair *pair, uint64_t below) {
    return random_below(&pair->random, below);
}

static const char *pick(struct pair *pair, const char *const *words,
                        size_t count) {
    return words[draw(pair, count)];
}

/* Numbers of early jobs, of late jobs, and of jobs that do not exist. The
 * distance between early and late numbers is the size of the row cache of the
 * writer, so that late jobs evict early ones. */
static uint64_t some_num(struct pair *pair) {
    return draw(pair, 2) ? draw(pair, JOBS_MOST) : FAR + draw(pair, JOBS_MOST);
}

static struct span some_id(struct pair *pair, char text[16]) {
    snprintf(text, 16, "j%u", (unsigned)draw(pair, JOBS_MOST));
    return span_of(text);
}

/* ---- operations, chosen once and added to both batches ------------------- */

struct both {
    struct store_batch *batch[2];
};

static void add_admit(struct pair *pair, struct both *both) {
    static const struct span nodes[] = {SPAN("n1"), SPAN("n2"), SPAN("n3")};
    static const char *const sums[] = {"5u", "5u", "5u", "other"};
    char id[16], to[16], key[16];
    snprintf(key, sizeof(key), "%u", (unsigned)draw(pair, 20));
    bool is_change = draw(pair, 3) == 0;
    struct span own_id = some_id(pair, id);
    struct job job = is_change ? rig_change("", key) : rig_command("", key);
    job.id = own_id;
    job.sum = span_of(pick(pair, sums, COUNT(sums)));
    job.holds = draw(pair, 8) == 0 ? HOLD_APPROVAL : 0;
    if (job.state == STATE_PENDING && draw(pair, 6) == 0)
        job.not_before = wall_from_s(pair->now_s + (int64_t)draw(pair, 50));
    struct job_edge edge = {(enum edge_kind)draw(pair, EDGE_KINDS),
                            some_id(pair, to)};
    struct job_touch touch = {span_of(key), draw(pair, 2) == 0};
    size_t edge_count = draw(pair, 2), touch_count = is_change ? 1 : 0;
    size_t node_count = draw(pair, 5) == 0 ? 1 + draw(pair, 3) : 0;
    for (int i = 0; i < 2; i++)
        store_admit(both->batch[i], &job, &edge, edge_count, &touch,
                    touch_count, nodes, node_count);
}

static void add_move(struct pair *pair, struct both *both) {
    static const struct {
        enum job_state from, to;
        const char *reason;
    } steps[] = {
        {STATE_QUEUED, STATE_STAGED, "staged"},
        {STATE_STAGED, STATE_PENDING, "ready"},
        {STATE_STAGED, STATE_QUEUED, "recompute"},
        {STATE_PENDING, STATE_EXECUTING, "start"},
        {STATE_PENDING, STATE_EXECUTING, "start"},
        {STATE_PENDING, STATE_EXECUTING, "start"},
        {STATE_EXECUTING, STATE_DONE, "ok"},
        {STATE_EXECUTING, STATE_FAILED, "exit-2"},
        {STATE_EXECUTING, STATE_PENDING, "temp"},
        {STATE_EXECUTING, STATE_ABANDONED, "rollback"},
        {STATE_ABANDONED, STATE_PENDING, "rb-undone"},
        {STATE_PENDING, STATE_TERMINATED, "operator"},
        {STATE_FAILED, STATE_PENDING, "retry"},
        {STATE_TERMINATED, STATE_QUEUED, "retry"},
    };
    size_t i = draw(pair, COUNT(steps));
    struct store_move move = {
        .num = some_num(pair),
        .from = steps[i].from,
        .to = steps[i].to,
        .reason = span_of(steps[i].reason),
        .detail = draw(pair, 2) ? SPAN("a sentence") : SPAN(""),
        .temps = (unsigned)draw(pair, 2),
        .crashes = (unsigned)draw(pair, 2),
        .fails = (unsigned)draw(pair, 2),
        .begin_attempt = steps[i].to == STATE_EXECUTING,
        .clear_counts = steps[i].from == STATE_FAILED,
    };
    if (draw(pair, 3) == 0)
        move.not_before = wall_from_s(pair->now_s + (int64_t)draw(pair, 50));
    for (int k = 0; k < 2; k++)
        store_move(both->batch[k], &move);
}

static void add_attempt(struct pair *pair, struct both *both) {
    static const char *const nodes[] = {"", "", "n1", "n2", "n4"};
    struct store_attempt attempt = {
        .num = some_num(pair),
        .node = span_of(pick(pair, nodes, COUNT(nodes))),
        .attempt = 1 + (unsigned)draw(pair, 4),
        .status = TASK_RUNNING,
        .assigned = wall_from_s(pair->now_s),
        .exit_code = -1,
        .worker = span_of(pick(pair, nodes, COUNT(nodes))),
    };
    if (draw(pair, 2)) { /* unlike an attempt that begins */
        attempt.status = (enum task_status)draw(pair, TASK_STATUSES);
        attempt.exit_code = (int)draw(pair, 5) - 1;
        attempt.reason = SPAN("r");
        attempt.output_bytes = draw(pair, 1000);
    }
    struct wall not_before = {draw(pair, 2) ? 7 : 0};
    uint64_t what = draw(pair, 5);
    for (int i = 0; i < 2; i++) {
        struct store_batch *batch = both->batch[i];
        if (what < 2)
            store_assign(batch, &attempt);
        else if (what == 2)
            store_end(batch, &attempt);
        else if (what == 3)
            store_unassign(batch, attempt.num, attempt.node, attempt.attempt);
        else
            store_task_set(batch, attempt.num, attempt.node, attempt.status,
                           not_before);
    }
}

static void add_order(struct pair *pair, struct both *both) {
    char texts[3][16];
    struct span ids[3];
    for (int i = 0; i < 3; i++)
        ids[i] = some_id(pair, texts[i]);
    uint64_t num = some_num(pair), what = draw(pair, 3);
    size_t count = draw(pair, 4);
    for (int i = 0; i < 2; i++) {
        struct store_batch *batch = both->batch[i];
        if (what == 0)
            store_record(batch, num, ids, count);
        else if (what == 1)
            store_splice(batch, num, ids, count);
        else
            store_rank(batch, num, ids[0]);
    }
}

static void add_mark(struct pair *pair, struct both *both) {
    static const char *const names[] = {"a", "b", "c"};
    static const char *const values[] = {"1", "2", NULL};
    enum job_hold hold = (enum job_hold)(1u << draw(pair, 4));
    struct span name = span_of(pick(pair, names, COUNT(names)));
    struct span value = span_of(pick(pair, values, COUNT(values)));
    uint64_t num = some_num(pair), what = draw(pair, 11), seq = draw(pair, 500);
    for (int i = 0; i < 2; i++) {
        struct store_batch *batch = both->batch[i];
        switch (what) {
        case 0:
        case 1:
            store_hold(batch, num, hold, SPAN("held"));
            break;
        case 2:
        case 3:
            store_release(batch, num, hold, SPAN("let go"));
            break;
        case 4:
            store_ask_cancel(batch, num, seq % 2 == 0, SPAN(""));
            break;
        case 5:
            store_projected(batch, num, seq);
            break;
        case 6:
            store_note(batch, EVENT_ALARM, num, SPAN(""), SPAN("odd"), name);
            break;
        case 7:
            store_due(batch, num);
            break;
        case 8:
            store_set_back(batch, (int64_t)(seq % 3) * 1000);
            break;
        case 9:
            store_at_once(batch, num, SPAN("retry"), name);
            break;
        default:
            store_set(batch, name, value);
            break;
        }
    }
}

static void add_operation(struct pair *pair, struct both *both) {
    uint64_t what = draw(pair, 20);
    if (what < 3)
        add_admit(pair, both);
    else if (what < 10)
        add_move(pair, both);
    else if (what < 14)
        add_attempt(pair, both);
    else if (what < 16)
        add_order(pair, both);
    else
        add_mark(pair, both);
}

/* ---- comparing ---------------------------------------------------------- */

/* Shows the first line that differs, memory's before SQLite's. */
static void assert_same_text(struct pair *pair, struct text *texts,
                             const char *what) {
    struct span rest[2] = {text_span(&texts[0]), text_span(&texts[1])};
    struct span line[2];
    while (!span_equal(rest[0], rest[1])) {
        for (int i = 0; i < 2; i++)
            if (!span_cut(&rest[i], '\n', &line[i]))
                line[i] = SPAN("nothing");
        if (!span_equal(line[0], line[1]))
            fail_msg("seed %d at %ds: %s differ:\n%.*s\n%.*s", SEED,
                     (int)pair->now_s, what, (int)line[0].len, line[0].p,
                     (int)line[1].len, line[1].p);
    }
    text_clear(&texts[0]);
    text_clear(&texts[1]);
}

static void answered(void *ctx, struct store_batch *batch, bool ok,
                     const struct err *err) {
    struct text *answers = ctx;
    if (!ok)
        fail_msg("%s", err->text);
    for (unsigned i = 0; i < store_batch_count(batch); i++)
        text_addf(answers, "%d %d %d\n", store_batch_result(batch, i),
                  (int)store_batch_num(batch, i),
                  (int)store_batch_seq(batch, i));
}

/* Writes a batch to both, or several that share a transaction. */
static unsigned step(struct pair *pair) {
    struct both both;
    bool atomic = draw(pair, 3) == 0, alone = draw(pair, 3) != 0;
    unsigned count = 1 + (unsigned)draw(pair, 6);
    pair->now_s++;
    for (int i = 0; i < 2; i++) {
        both.batch[i] = store_batch_new(pair->store[i]);
        store_batch_actor(both.batch[i], wall_from_s(pair->now_s),
                          SPAN("uid:1"));
        if (atomic)
            store_batch_atomic(both.batch[i]);
    }
    for (unsigned i = 0; i < count; i++)
        add_operation(pair, &both);
    for (int i = 0; i < 2; i++) {
        if (!alone) {
            store_submit(both.batch[i], answered, &pair->answers[i]);
            continue;
        }
        bool ok = store_write(both.batch[i], NULL);
        answered(&pair->answers[i], both.batch[i], ok, NULL);
        store_batch_free(both.batch[i]);
    }
    if (!alone)
        return count + step(pair);
    assert_same_text(pair, pair->answers, "answers");
    assert_same_text(pair, pair->events, "events");
    return count;
}

/* Later numbers are far away from the earlier ones. */
static void go_far(struct pair *pair) {
    struct job job = rig_command("far", "9");
    job.num = FAR;
    for (int i = 0; i < 2; i++) {
        struct store_batch *batch = store_batch_new(pair->store[i]);
        store_batch_actor(batch, wall_from_s(pair->now_s), SPAN("uid:1"));
        store_restore_job(batch, &job, NULL, 0, NULL, 0);
        assert_int_equal(rig_write(batch), STORE_DONE);
    }
}

static void show_span(struct text *out, struct span span) {
    text_addspan(out, span);
    text_addc(out, '|');
}

static void show_job(struct text *out, const struct job *job) {
    text_addf(out,
              "%d %d %d %d holds %u attempt %u %u %u %u tasks %u/%u since %d "
              "after %d admitted %d seqs %d %d %d %d%d%d retries %u flags %u "
              "group %u ",
              (int)job->num, job->kind, job->job_class, job->state, job->holds,
              job->attempt, job->temps, job->crashes, job->fails,
              job->tasks_done, job->tasks, (int)wall_s(job->since),
              (int)wall_s(job->not_before), (int)wall_s(job->admitted),
              (int)job->admitted_seq, (int)job->state_seq, (int)job->record_seq,
              job->has_relations, job->cancel_asked, job->stale, job->retries,
              job->flags, job->group_size);
    const struct span spans[] = {job->id,     job->key,   job->rank,
                                 job->target, job->name,  job->reason,
                                 job->detail, job->actor, job->cause,
                                 job->sum,    job->spec,  job->seen};
    for (size_t i = 0; i < COUNT(spans); i++)
        show_span(out, spans[i]);
    text_addc(out, '\n');
}

static void show_relations(struct text *out, struct store *store,
                           const struct job *job, struct arena *arena) {
    struct job_edge *edges;
    struct job_touch *touches;
    struct store_edge_to *back;
    size_t count;
    assert_true(store_edges_from(store, job->num, arena, &edges, &count, NULL));
    for (size_t i = 0; i < count; i++) {
        text_addf(out, "%d:", edges[i].kind);
        show_span(out, edges[i].to);
    }
    assert_true(store_touches(store, job->num, arena, &touches, &count, NULL));
    for (size_t i = 0; i < count; i++) {
        text_addf(out, "%d:", touches[i].deleted);
        show_span(out, touches[i].path);
    }
    assert_true(store_edges_to(store, job->id, arena, &back, &count, NULL));
    for (size_t i = 0; i < count; i++)
        text_addf(out, "from %d %d %d ", (int)back[i].num, back[i].kind,
                  back[i].state);
}

static void show_tasks(struct text *out, struct store *store, uint64_t num,
                       struct arena *arena) {
    struct store_task *tasks;
    struct store_attempt *attempts;
    size_t count;
    assert_true(store_tasks(store, num, arena, &tasks, &count, NULL));
    for (size_t i = 0; i < count; i++) {
        text_addf(out, "task %d %d %u %d ", (int)tasks[i].at, tasks[i].status,
                  tasks[i].attempt, (int)tasks[i].not_before.ns);
        show_span(out, tasks[i].node);
        size_t latest;
        assert_true(store_attempts_latest(store, num, tasks[i].node, 2, arena,
                                          &attempts, &latest, NULL));
        for (size_t k = 0; k < latest; k++)
            text_addf(out, "latest %u ", attempts[k].attempt);
    }
    assert_true(store_attempts(store, num, arena, &attempts, &count, NULL));
    for (size_t i = 0; i < count; i++) {
        text_addf(out, "attempt %u %d %d %d %d ", attempts[i].attempt,
                  attempts[i].status, attempts[i].exit_code,
                  (int)attempts[i].output_bytes,
                  (int)wall_s(attempts[i].assigned));
        show_span(out, attempts[i].node);
        show_span(out, attempts[i].worker);
        show_span(out, attempts[i].reason);
    }
    text_addc(out, '\n');
}

static void show_events(struct text *out, struct store *store, uint64_t num,
                        struct arena *arena) {
    struct store_event *events;
    size_t count;
    assert_true(store_events(store, 0, num, 0, arena, &events, &count, NULL));
    for (size_t i = 0; i < count; i++) {
        show_event(out, &events[i]);
        show_span(out, events[i].prev_hash);
        show_span(out, events[i].hash);
    }
}

static void show_list(struct text *out, struct store *store,
                      const struct store_list *list, struct arena *arena) {
    struct job *jobs;
    size_t count;
    assert_true(store_jobs(store, list, arena, &jobs, &count, NULL));
    for (size_t i = 0; i < count; i++)
        text_addf(out, "%d ", (int)jobs[i].num);
    text_addc(out, '\n');
}

static void show_ready(struct text *out, struct store *store, int64_t now_s,
                       uint64_t after, struct arena *arena) {
    struct job *jobs;
    size_t count;
    assert_true(store_ready(store, wall_from_s(now_s), SPAN("5"), after, 4,
                            arena, &jobs, &count, NULL));
    for (size_t i = 0; i < count; i++)
        text_addf(out, "%d ", (int)jobs[i].num);
    text_addc(out, '\n');
}

static void compare_lists(struct pair *pair) {
    struct text texts[2] = {TEXT_INIT, TEXT_INIT};
    struct store_list list = {
        .states = (unsigned)draw(pair, STATES_ALL + 1),
        .kinds = (unsigned)draw(pair, 4),
        .after_num = draw(pair, 3) ? 0 : some_num(pair),
        .newest_first = draw(pair, 2),
        .relations_only = draw(pair, 4) == 0,
        .stale_only = draw(pair, 4) == 0,
        .with_not_before = draw(pair, 4) == 0,
        .until = wall_from_s(draw(pair, 3) ? 0 : pair->now_s - 20),
        .limit = draw(pair, 3) ? 0 : 1 + draw(pair, 5),
    };
    int64_t now_s = pair->now_s + (int64_t)draw(pair, 20);
    uint64_t after = draw(pair, 2) ? 0 : some_num(pair);
    struct store_tally tallies[2] = {0};
    for (int i = 0; i < 2; i++) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        show_list(&texts[i], pair->store[i], &list, &arena);
        show_ready(&texts[i], pair->store[i], now_s, after, &arena);
        assert_true(store_count(pair->store[i], &tallies[i], NULL));
    }
    assert_same_text(pair, texts, "lists");
    assert_memory_equal(&tallies[0], &tallies[1], sizeof(tallies[0]));
}

static void compare_all(struct pair *pair, size_t least_bytes) {
    struct text texts[2] = {TEXT_INIT, TEXT_INIT};
    for (int i = 0; i < 2; i++) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct store *store = pair->store[i];
        struct store_list list = {.with_spec = true};
        struct job *jobs;
        struct span *names, *values;
        struct err err = {0};
        size_t count;
        assert_true(store_jobs(store, &list, &arena, &jobs, &count, NULL));
        for (size_t k = 0; k < count; k++) {
            show_job(&texts[i], &jobs[k]);
            show_relations(&texts[i], store, &jobs[k], &arena);
            show_tasks(&texts[i], store, jobs[k].num, &arena);
            show_events(&texts[i], store, jobs[k].num, &arena);
        }
        show_events(&texts[i], store, 0, &arena);
        assert_true(
            store_settings(store, &arena, &names, &values, &count, NULL));
        for (size_t k = 0; k < count; k++) {
            show_span(&texts[i], names[k]);
            show_span(&texts[i], values[k]);
        }
        if (!store_verify(store, &err))
            fail_msg("%s", err.text);
    }
    assert_true(texts[0].len >= least_bytes);
    assert_same_text(pair, texts, "rows");
}

static void both_backends_give_the_same_answers(void **state) {
    (void)state;
    CLEANUP(text_free_string) char *path = rig_new_path();
    struct pair pair = {
        .store = {store_memory_new(), rig_open(path, false)},
        .now_s = 1000,
    };
    random_init(&pair.random, SEED);
    for (int i = 0; i < 2; i++)
        store_listen(pair.store[i], show_event, &pair.events[i]);
    for (unsigned done = 0; done < OPERATIONS;) {
        unsigned before = done;
        done += step(&pair);
        if (before < 100 && done >= 100)
            go_far(&pair);
        compare_lists(&pair);
        if (draw(&pair, 200) == 0)
            compare_all(&pair, 0);
    }
    compare_all(&pair, 100000); /* something must have been done */
    store_close(pair.store[0]);
    store_close(pair.store[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_backends_give_the_same_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
