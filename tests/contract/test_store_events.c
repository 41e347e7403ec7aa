/* Events reach listeners once, in order, and before the answer to their
 * batch. */
#include "contract/store_rig.h"
#include "store/simulated.h"

/* What a listener and the completions received, as text. */
struct record {
    struct text text;
    struct store *store;
    uint64_t last_seq;
    bool out_of_order;
    unsigned events, answers;
};

static void listener(void *ctx, const struct store_event *event) {
    struct record *record = ctx;
    record->out_of_order |= event->seq <= record->last_seq;
    record->last_seq = event->seq;
    record->events++;
    text_addf(&record->text, "%s%.*s", record->text.len ? " " : "",
              (int)event->id.len, event->id.p);
    if (event->job)
        text_addf(&record->text, "=%d", (int)event->job->num);
}

static void answered(void *ctx, struct store_batch *batch, bool ok,
                     const struct err *err) {
    struct record *record = ctx;
    assert_true(ok);
    assert_null(err);
    assert_true(store_batch_count(batch) > 0);
    record->answers++;
    text_adds(&record->text, " ok");
}

static void record_clear(struct record *record) {
    text_clear(&record->text);
}

static void submit_job(struct rig *rig, const char *id, store_done *done,
                       void *ctx) {
    struct job job = rig_command(id, id);
    struct store_batch *batch = rig_batch(rig);
    store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    store_submit(batch, done, ctx);
}

static void settle(struct rig *rig) {
    assert_true(store_drain(rig->store, NULL));
    assert_true(store_is_idle(rig->store));
}

static void events_come_before_the_answer(void **state) {
    struct rig *rig = *state;
    CLEANUP(record_clear) struct record record = {0};
    store_listen(rig->store, listener, &record);
    assert_true(store_is_idle(rig->store));
    submit_job(rig, "a", answered, &record);
    assert_false(store_is_idle(rig->store));
    submit_job(rig, "b", answered, &record);
    submit_job(rig, "c", NULL, NULL);
    settle(rig);
    assert_string_equal(text_string(&record.text), "a=1 ok b=2 ok c=3");
    assert_int_equal(store_seq(rig->store), 3);
    store_turn(rig->store);
    assert_true(store_poll(rig->store, NULL));
    assert_int_equal(record.events, 3);
    assert_false(record.out_of_order);
}

static void a_listener_gets_the_events_after_its_registration(void **state) {
    struct rig *rig = *state;
    CLEANUP(record_clear) struct record first = {0};
    CLEANUP(record_clear) struct record second = {0};
    store_listen(rig->store, listener, &first);
    submit_job(rig, "a", NULL, NULL);
    settle(rig);
    store_listen(rig->store, listener, &second);
    submit_job(rig, "b", NULL, NULL);
    settle(rig);
    store_unlisten(rig->store, listener, &first);
    submit_job(rig, "c", NULL, NULL);
    settle(rig);
    assert_string_equal(text_string(&first.text), "a=1 b=2");
    assert_string_equal(text_string(&second.text), "b=2 c=3");
}

static void unlisten(void *ctx, const struct store_event *event) {
    struct record *record = ctx;
    listener(ctx, event);
    store_unlisten(record->store, unlisten, ctx);
}

static void a_listener_may_unregister_while_it_is_called(void **state) {
    struct rig *rig = *state;
    CLEANUP(record_clear) struct record one = {.store = rig->store};
    CLEANUP(record_clear) struct record two = {.store = rig->store};
    store_listen(rig->store, unlisten, &one);
    store_listen(rig->store, listener, &two);
    submit_job(rig, "a", NULL, NULL);
    submit_job(rig, "b", NULL, NULL);
    settle(rig);
    assert_string_equal(text_string(&one.text), "a=1");
    assert_string_equal(text_string(&two.text), "a=1 b=2");
    store_unlisten(rig->store, unlisten, &one);
}

/* Waits until at least one batch has been answered. */
static void turn_and_wait(struct rig *rig) {
    struct store_batch *batch = rig_batch(rig);
    assert_true(store_write(batch, NULL));
    store_batch_free(batch);
}

struct answer_chain {
    struct rig *rig;
    unsigned left;
    uint64_t last;
};

static void answer_with_more(void *ctx, struct store_batch *batch, bool ok,
                             const struct err *err) {
    struct answer_chain *chain = ctx;
    (void)err;
    assert_true(ok);
    chain->last = store_batch_num(batch, 0);
    if (chain->left == 0)
        return;
    chain->left--;
    char id[16];
    snprintf(id, sizeof(id), "n%u", chain->left);
    submit_job(chain->rig, id, answer_with_more, chain);
}

static void an_answer_may_submit_more(void **state) {
    struct rig *rig = *state;
    struct answer_chain chain = {rig, 5, 0};
    submit_job(rig, "first", answer_with_more, &chain);
    while (chain.last < 6)
        turn_and_wait(rig);
    assert_int_equal(chain.last, 6);
}

static void refused_operations_write_no_event(void **state) {
    struct rig *rig = *state;
    CLEANUP(record_clear) struct record record = {0};
    store_listen(rig->store, listener, &record);
    struct store_batch *batch = rig_batch(rig);
    store_hold(batch, 5, HOLD_OPERATOR, SPAN(""));
    store_set(batch, SPAN("a"), (struct span){NULL, 0});
    assert_int_equal(rig_write(batch), STORE_SAME);
    batch = rig_batch(rig);
    store_batch_atomic(batch);
    struct job job = rig_command("a", "a");
    store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    store_hold(batch, 5, HOLD_OPERATOR, SPAN(""));
    assert_int_equal(rig_write(batch), STORE_UNKNOWN);
    assert_int_equal(record.events, 0);
    assert_int_equal(store_seq(rig->store), 0);
}

static void events_are_read_with_their_hash_chain(void **state) {
    struct rig *rig = *state;
    uint64_t num = rig_started(rig, "a");
    rig_started(rig, "b");
    rig_move(rig, num, STATE_EXECUTING, STATE_DONE, "ok");
    struct store_event *all, *some;
    size_t count, some_count;
    store_events(rig->store, 0, 0, 0, &rig->arena, &all, &count, NULL);
    assert_int_equal(count, 5);
    assert_int_equal(all[0].prev_hash.len, 64);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(all[i].seq, i + 1);
        assert_int_equal(all[i].hash.len, 64);
        if (i > 0)
            assert_true(span_equal(all[i].prev_hash, all[i - 1].hash));
    }
    store_events(rig->store, 0, num, 0, &rig->arena, &some, &some_count, NULL);
    assert_int_equal(some_count, 3);
    assert_int_equal(some[2].seq, 5);
    assert_true(span_equal(some[2].prev_hash, all[3].hash));
    assert_true(span_equal(some[2].hash, all[4].hash));
    store_events(rig->store, 1, num, 1, &rig->arena, &some, &some_count, NULL);
    assert_int_equal(some_count, 1);
    assert_int_equal(some[0].seq, 2);
    store_events(rig->store, 3, 0, 1, &rig->arena, &some, &some_count, NULL);
    assert_int_equal(some_count, 1);
    assert_int_equal(some[0].seq, 4);
    store_events(rig->store, 0, 99, 0, &rig->arena, &some, &some_count, NULL);
    assert_int_equal(some_count, 0);
}

static void events_of_a_large_transaction_can_be_read_one_by_one(void **state) {
    enum { MANY = 150 };
    struct rig *rig = *state;
    struct store_batch *batch = rig_batch(rig);
    struct store_event *all, *some;
    size_t count, some_count;
    char id[16];
    for (int i = 0; i < MANY; i++) {
        snprintf(id, sizeof(id), "job%d", i);
        struct job job = rig_command(id, id);
        job.detail = i % 3 ? SPAN("") : SPAN("a\tb\\c\nd");
        store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    }
    assert_int_equal(rig_write(batch), STORE_DONE);
    for (int i = 0; i < MANY; i++)
        rig_move(rig, (uint64_t)i + 1, STATE_PENDING, STATE_EXECUTING, "start");
    store_events(rig->store, 0, 0, 0, &rig->arena, &all, &count, NULL);
    assert_int_equal(count, 2 * MANY);
    for (size_t i = 0; i < count; i++) {
        store_events(rig->store, i, 0, 1, &rig->arena, &some, &some_count,
                     NULL);
        assert_int_equal(some_count, 1);
        assert_int_equal(some[0].seq, i + 1);
        assert_int_equal(some[0].num, i % MANY + 1);
        assert_true(span_equal(some[0].hash, all[i].hash));
        assert_true(span_equal(some[0].prev_hash,
                               i ? all[i - 1].hash : all[0].prev_hash));
        if (i < MANY)
            assert_true(span_equal(some[0].detail,
                                   i % 3 ? SPAN("") : SPAN("a\tb\\c\nd")));
    }
    for (uint64_t num = 1; num <= MANY; num++) {
        store_events(rig->store, 0, num, 0, &rig->arena, &some, &some_count,
                     NULL);
        assert_int_equal(some_count, 2);
        assert_int_equal(some[0].seq, num);
        assert_int_equal(some[1].seq, MANY + num);
    }
    assert_true(store_verify(rig->store, NULL));
}

/* ---- the crash of a store in memory ------------------------------------- */

static void a_crash_loses_what_was_not_committed(void **state) {
    struct rig *rig = *state;
    CLEANUP(record_clear) struct record record = {0};
    submit_job(rig, "kept", NULL, NULL);
    settle(rig);
    store_listen(rig->store, listener, &record);
    submit_job(rig, "committed", answered, &record);
    store_memory_commit(rig->store);
    submit_job(rig, "lost", answered, &record);
    store_memory_crash(rig->store);
    assert_true(store_is_idle(rig->store));
    store_turn(rig->store);
    assert_string_equal(text_string(&record.text), "");
    assert_string_equal(rig_list(rig, (struct store_list){0}),
                        "kept committed");
    assert_int_equal(store_seq(rig->store), 2);
    store_listen(rig->store, listener, &record);
    submit_job(rig, "after", answered, &record);
    settle(rig);
    assert_string_equal(text_string(&record.text), "after=3 ok");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RIG_TESTS(events_come_before_the_answer),
        RIG_TESTS(a_listener_gets_the_events_after_its_registration),
        RIG_TESTS(a_listener_may_unregister_while_it_is_called),
        RIG_TESTS(an_answer_may_submit_more),
        RIG_TESTS(refused_operations_write_no_event),
        RIG_TESTS(events_are_read_with_their_hash_chain),
        RIG_TESTS(events_of_a_large_transaction_can_be_read_one_by_one),
        RIG_MEMORY_TESTS(a_crash_loses_what_was_not_committed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
