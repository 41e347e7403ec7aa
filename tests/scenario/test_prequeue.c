/* The prequeue with a checker whose verdicts arrive later, and in another order
 * than the entries: which sets are admitted together, and what happens to an
 * entry that changes while its tarball is being read. */
#include "changes/prequeue.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "changes/prequeue_entry.h"
#include "os/clock.h"
#include "os/guard.h"
#include "serve/tables.h"
#include "support/spool.h"

enum { TIMEOUT_MS = 120 * 1000, PATIENCE_MS = 10 * 1000 };

struct world {
    struct spool spool;
    uv_loop_t loop;
    uv_timer_t timeout;
    struct guard *guard;
    char *gate; /* a FIFO: the check of a slow set waits for a line */
    int gate_fd;
    bool timed_out;
};

static void on_ended(void *ctx, const struct guard_end *end) {
    struct world *world = ctx;
    assert_true(checker_ended(world->spool.checker, end));
}

static void on_lost(void *ctx, const char *why) {
    (void)ctx;
    fail_msg("the guard is lost: %s", why);
}

static void on_timeout(uv_timer_t *timer) {
    struct world *world = timer->data;
    world->timed_out = true;
}

/* Writes a script that runs this program as the checker; the check of an
 * executable tarball first waits at the gate. */
static void write_checker(struct world *world, struct text *ret_path) {
    CLEANUP(text_clear) struct text script = TEXT_INIT;
    char program[4096];
    ssize_t len = readlink("/proc/self/exe", program, sizeof(program));
    assert_true(len > 0 && len < (ssize_t)sizeof(program));
    text_addf(&script,
              "#!/bin/sh\n[ -x /proc/self/fd/0 ] && read _ <'%s'\n"
              "exec '%.*s' \"$@\"\n",
              world->gate, (int)len, program);
    text_addf(ret_path, "%s.checker", world->spool.path);
    CLEANUP(fd_close)
    int fd = open(text_string(ret_path), O_CREAT | O_WRONLY | O_CLOEXEC, 0700);
    assert_true(dir_write_file(fd, text_span(&script), NULL));
}

static void new_checker(struct world *world) {
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    struct spool *spool = &world->spool;
    write_checker(world, &path);
    prequeue_free(spool->prequeue);
    checker_free(spool->checker);
    spool->checker = checker_new(spool->base, world->guard, text_string(&path));
    spool->prequeue =
        prequeue_new(spool->base, spool->checker, spool->projection);
}

static void begin(struct world *world) {
    static const struct guard_events events = {.ended = on_ended,
                                               .lost = on_lost};
    struct err err = {0};
    struct text gate = TEXT_INIT;
    *world = (struct world){0};
    spool_begin(&world->spool);
    text_addf(&gate, "%s.gate", world->spool.path);
    world->gate = text_take(&gate);
    assert_int_equal(mkfifo(world->gate, 0600), 0);
    world->gate_fd = open(world->gate, O_RDWR | O_CLOEXEC); /* never blocks */
    assert_true(world->gate_fd >= 0);
    struct guard_options options = {.base_fd = world->spool.base->fd,
                                    .role = "test"};
    assert_int_equal(uv_loop_init(&world->loop), 0);
    if (!guard_open(&world->loop, &options, &events, world, &world->guard,
                    &err))
        fail_msg("%s", err.text);
    uv_timer_init(&world->loop, &world->timeout);
    world->timeout.data = world;
    uv_timer_start(&world->timeout, on_timeout, TIMEOUT_MS, 0);
    new_checker(world);
}

static void end(struct world *world) {
    uv_close((uv_handle_t *)&world->timeout, NULL);
    guard_close(world->guard, NULL, NULL);
    uv_run(&world->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&world->loop), 0);
    close(world->gate_fd);
    free(world->gate);
    spool_end(&world->spool);
}

/* Puts a set whose check waits at the gate. */
static const char *put_slow(struct world *world, const char *id) {
    struct spool *spool = &world->spool;
    const char *name = spool_put_set(spool, id, "DC", "", "f");
    assert_int_equal(fchmodat(spool->base->dirs[BASE_DATA], name, 0750, 0), 0);
    return name;
}

/* Lets one slow check continue: one that waits, or else the next one. */
static void open_gate(struct world *world) {
    assert_int_equal(write(world->gate_fd, "\n", 1), 1);
}

/* Scans until at most `checks_left` checks run and no more can be started. */
static void scan_until(struct world *world, unsigned checks_left) {
    struct spool *spool = &world->spool;
    spool_scan(spool);
    while (checker_waiting(spool->checker) > checks_left && !world->timed_out) {
        uv_run(&world->loop, UV_RUN_ONCE);
        if (prequeue_is_due(spool->prequeue))
            spool_scan(spool);
    }
    assert_false(world->timed_out);
}

static bool is_rejected(struct spool *spool, const char *name,
                        const char *word) {
    char why[300];
    snprintf(why, sizeof(why), "%s.why", name);
    return spool_has(spool, BASE_REJECT, why) &&
           strncmp(spool_text(spool, BASE_REJECT, why), word, strlen(word)) ==
               0;
}

/* ---- sets that arrive together ------------------------------------------- */

static void sets_that_arrive_together_wait_for_all_checks(void **state) {
    struct world world;
    struct spool *spool = &world.spool;
    (void)state;
    begin(&world);
    (void)put_slow(&world, "C1");
    (void)spool_put_set(spool, "C2", "DC", "", "f");
    (void)spool_put_set(spool, "C3", "DC", "", "f");
    scan_until(&world, 1);
    assert_false(spool_knows(spool, "C2")); /* waits for the check of C1 */
    assert_false(spool_knows(spool, "C3"));
    assert_false(prequeue_is_idle(spool->prequeue));
    open_gate(&world);
    scan_until(&world, 0);
    struct job one = spool_job(spool, "C1"), two = spool_job(spool, "C2"),
               three = spool_job(spool, "C3");
    assert_true(one.num < two.num && two.num < three.num);
    assert_int_equal(one.admitted.ns, three.admitted.ns);
    assert_true(prequeue_is_idle(spool->prequeue));
    spool_assert_projected(spool);
    end(&world);
}

static void a_slow_check_delays_the_others_for_ten_seconds(void **state) {
    struct world world;
    struct spool *spool = &world.spool;
    (void)state;
    begin(&world);
    (void)put_slow(&world, "C1");
    (void)spool_put_set(spool, "C2", "DC", "", "f");
    scan_until(&world, 1);
    spool->now = wall_add_ms(spool->now, PATIENCE_MS - 1);
    spool_scan(spool);
    assert_false(spool_knows(spool, "C2"));
    /* The prequeue asks to be called although nothing is due. */
    assert_true(spool->next.ns <= wall_add_ms(spool->now, 1000).ns);
    spool->now = wall_add_ms(spool->now, 1);
    spool_scan(spool);
    assert_true(spool_knows(spool, "C2"));
    assert_false(spool_knows(spool, "C1"));
    open_gate(&world);
    scan_until(&world, 0);
    assert_true(spool_knows(spool, "C1"));
    assert_int_equal(prequeue_tally(spool->prequeue).admitted, 2);
    end(&world);
}

static void turn_role(struct role_host *host, void *engine, struct wall now) {
    const struct role_turn turn = {.now = now, .look = true};
    struct wall next;
    struct err err;
    assert_true(prequeue_role.engine->turn(engine, &turn, &next, &err));
    if (host->projection)
        assert_true(projection_pass(host->projection, now, &err));
}

static void on_closed(void *ctx) {
    (void)ctx;
}

static void nothing_starts_while_a_rollback_is_examined(void **state) {
    struct world world;
    struct spool *spool = &world.spool;
    struct err err;
    void *engine;
    (void)state;
    begin(&world);
    struct role_host host = {.base = spool->base,
                             .checker = spool->checker,
                             .projection = spool->projection};
    assert_true(prequeue_role.engine->open(&host, &engine, &err));
    assert_true(host.awaits_rollback); /* nobody knows yet */
    turn_role(&host, engine, spool->now);
    assert_false(host.awaits_rollback);
    const char *name =
        spool_put_set(spool, "R1", "RB", "##dependencies\nC0\n", "");
    assert_int_equal(fchmodat(spool->base->dirs[BASE_DATA], name, 0750, 0), 0);
    turn_role(&host, engine, spool->now);
    assert_true(host.awaits_rollback);
    turn_role(&host, engine, spool->now);
    assert_true(host.awaits_rollback);
    open_gate(&world);
    while (checker_waiting(spool->checker) > 0 && !world.timed_out)
        uv_run(&world.loop, UV_RUN_ONCE);
    assert_false(world.timed_out);
    turn_role(&host, engine, spool->now);
    assert_false(host.awaits_rollback);
    prequeue_role.engine->close(engine, on_closed, NULL);
    end(&world);
}

static void a_clock_that_is_set_back_does_not_prolong_the_delay(void **state) {
    struct world world;
    struct spool *spool = &world.spool;
    (void)state;
    begin(&world);
    (void)put_slow(&world, "C1");
    (void)spool_put_set(spool, "C2", "DC", "", "f");
    scan_until(&world, 1);
    spool->now = wall_add_ms(spool->now, -3600 * 1000);
    spool_scan(spool);
    assert_true(spool_knows(spool, "C2"));
    open_gate(&world);
    scan_until(&world, 0);
    assert_true(spool_knows(spool, "C1"));
    end(&world);
}

/* Neither the order of the queue nor the order of landing depends on them. */
static void rejections_and_approvals_do_not_wait_for_checks(void **state) {
    struct world world;
    struct spool *spool = &world.spool;
    (void)state;
    begin(&world);
    (void)put_slow(&world, "C1");
    const char *bad = spool_name("C2", "DC");
    spool_put(spool, bad, SPAN("this is no tarball"));
    spool_write(spool, BASE_PREQUEUE, "approve_C1_x", SPAN("yes\n"));
    scan_until(&world, 1);
    assert_true(is_rejected(spool, bad, "not-tar:"));
    assert_true(is_rejected(spool, "approve_C1_x", "bad-approval:"));
    assert_false(spool_knows(spool, "C1"));
    open_gate(&world);
    scan_until(&world, 0);
    assert_true(spool_knows(spool, "C1"));
    end(&world);
}

/* ---- changed during its check -------------------------------------------- */

static void an_entry_replaced_during_its_check_is_examined_again(void **state) {
    struct world world;
    struct spool *spool = &world.spool;
    (void)state;
    begin(&world);
    const char *name = put_slow(&world, "C1");
    spool_scan(spool);
    spool_write(spool, BASE_PREQUEUE, name, SPAN("no job file\n"));
    spool_scan(spool); /* the verdict is still awaited */
    assert_int_equal(prequeue_tally(spool->prequeue).rejected, 0);
    open_gate(&world);
    scan_until(&world, 0);
    assert_false(spool_knows(spool, "C1"));
    assert_true(is_rejected(spool, name, "job-file:"));
    end(&world);
}

static void an_entry_removed_during_its_check_is_not_admitted(void **state) {
    struct world world;
    struct spool *spool = &world.spool;
    (void)state;
    begin(&world);
    const char *name = put_slow(&world, "C1");
    spool_scan(spool);
    assert_int_equal(unlinkat(spool->base->dirs[BASE_PREQUEUE], name, 0), 0);
    spool_scan(spool);
    open_gate(&world);
    scan_until(&world, 0);
    spool_scan(spool);
    assert_false(spool_knows(spool, "C1"));
    assert_int_equal(prequeue_tally(spool->prequeue).waiting, 0);
    assert_int_equal(spool_count(spool, BASE_REJECT), 0);
    assert_true(spool_has(spool, BASE_DATA, name));
    /* When the marker returns, the same name is a new entry. */
    spool_write(spool, BASE_PREQUEUE, name, SPAN(""));
    spool_scan(spool);
    open_gate(&world);
    scan_until(&world, 0);
    assert_true(spool_knows(spool, "C1"));
    end(&world);
}

static void a_prequeue_closed_during_a_check_leaves_the_entry(void **state) {
    struct world world;
    struct spool *spool = &world.spool;
    (void)state;
    begin(&world);
    const char *name = put_slow(&world, "C1");
    spool_scan(spool);
    prequeue_free(spool->prequeue);
    spool->prequeue =
        prequeue_new(spool->base, spool->checker, spool->projection);
    assert_true(spool_has(spool, BASE_PREQUEUE, name));
    open_gate(&world); /* this verdict has no receiver any more */
    while (checker_waiting(spool->checker) > 0 && !world.timed_out)
        uv_run(&world.loop, UV_RUN_ONCE);
    assert_false(spool_knows(spool, "C1"));
    spool_scan(spool);
    open_gate(&world);
    scan_until(&world, 0);
    assert_true(spool_knows(spool, "C1"));
    spool_assert_projected(spool);
    end(&world);
}

/* ---- kinds --------------------------------------------------------------- */

/* Each name belongs to exactly one kind; if that kind refuses the entry, it
 * gives the reason. data/ has tarballs of these names. */
static void a_name_decides_the_kind_of_an_entry(void **state) {
    static const struct {
        const char *name, *word;
    } cases[] = {
        {"approve_C1", "bad-approval:"},
        {"approve_C1_", "bad-approval:"},
        {"approve_C1_a.b-c", "bad-approval:"},
        {"approve_C1_@400000006553f10a00000000_17_here_DC", "bad-name:"},
        {"approve_", "bad-name:"},
        {"approve", "bad-name:"},
        {"approve_C 1", "bad-name:"},
        {"approve_C1_a\n", "bad-name:"},
        {"approve_C1_\xff", "bad-name:"},
        {"Approve_C1", "bad-name:"},
        {"approved_C1", "bad-name:"},
        {" approve_C1", "bad-name:"},
    };
    CLEANUP(text_clear) struct text tar = TEXT_INIT;
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    spool_tar(&tar, "DC", "", "f");
    for (size_t i = 0; i < COUNT(cases); i++)
        spool_put(&spool, cases[i].name, text_span(&tar));
    spool_scan(&spool);
    for (size_t i = 0; i < COUNT(cases); i++)
        if (!is_rejected(&spool, cases[i].name, cases[i].word))
            fail_msg("'%s' was not rejected as %s", cases[i].name,
                     cases[i].word);
    assert_int_equal(prequeue_tally(spool.prequeue).rejected, COUNT(cases));
    assert_int_equal(prequeue_tally(spool.prequeue).admitted, 0);
    assert_int_equal(spool_count(&spool, BASE_PREQUEUE), 0);
    spool_end(&spool);
}

/* The markers arrive now, by the clock of the file system. */
static void assert_after_end(struct wall admitted, bool is_rejection) {
    CLEANUP(text_clear) struct text tar = TEXT_INIT;
    struct spool spool;
    spool_begin(&spool);
    spool.now = admitted;
    const char *name = spool_name("C1", "DC");
    spool_tar(&tar, "DC", "", "f");
    spool_put(&spool, name, text_span(&tar));
    spool_scan(&spool);
    spool_step(&spool, "C1", STATE_TERMINATED, "operator");
    spool_put(&spool, name, text_span(&tar));
    spool_scan(&spool);
    assert_int_equal(spool_count(&spool, BASE_PREQUEUE), 0);
    if (is_rejection)
        assert_true(is_rejected(&spool, name, "duplicate-csid:"));
    else
        assert_int_equal(spool_count(&spool, BASE_REJECT), 0);
    spool_end(&spool);
}

static void a_set_submitted_again_after_its_end_is_rejected(void **state) {
    (void)state;
    assert_after_end(wall_add_ms(clock_wall(), -3600 * 1000), true);
}

static void a_marker_that_a_crash_left_is_removed(void **state) {
    (void)state;
    assert_after_end(wall_add_ms(clock_wall(), 3600 * 1000), false);
}

/* A set is examined after the approvals that arrived with it, whatever their
 * names are. */
static void approvals_are_examined_before_sets(void **state) {
    static const char *const names[] = {"A1", "approve_C1", "approve_C2", "b1"};
    static const char *const order[] = {"approve_C1", "approve_C2", "A1", "b1"};
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct spool spool;
    struct store_event *events;
    struct err err = {0};
    size_t count;
    (void)state;
    spool_begin(&spool);
    for (size_t i = 0; i < COUNT(names); i++)
        spool_write(&spool, BASE_PREQUEUE, names[i], SPAN("x"));
    spool_scan(&spool);
    assert_true(store_events(spool.base->store, 0, 0, 100, &arena, &events,
                             &count, &err));
    assert_int_equal(count, COUNT(order));
    for (size_t i = 0; i < count; i++)
        if (!span_is(events[i].id, order[i]))
            fail_msg("event %zu is about '%.*s'", i, (int)events[i].id.len,
                     events[i].id.p);
    spool_end(&spool);
}

/* ---- another kind -------------------------------------------------------- */

/* The kind of names that begin with "toy". The test ends the check of each. */
static struct prequeue_entry *toys[4];
static unsigned toy_count, toys_admitted;

static bool is_toy(struct span name) {
    return span_starts(name, "toy");
}

static bool check_toy(struct prequeue *prequeue, struct prequeue_entry *entry,
                      const struct stat *before, struct err *err) {
    (void)prequeue, (void)before, (void)err;
    entry->state = ENTRY_CHECKING;
    toys[toy_count++] = entry;
    return true;
}

static bool admit_toy(struct prequeue *prequeue, struct prequeue_entry *entry,
                      struct err *err) {
    toys_admitted++;
    return prequeue_entry_remove(prequeue, entry, err);
}

static bool reject_toy(struct prequeue *prequeue, struct prequeue_entry *entry,
                       const char *word, const char *sentence,
                       struct err *err) {
    (void)prequeue, (void)entry, (void)word, (void)sentence, (void)err;
    fail_msg("a toy was rejected");
    return false;
}

static void forget_toy(struct prequeue_entry *entry) {
    (void)entry;
}

static bool is_anything(struct span name) {
    (void)name;
    return true;
}

static struct entry_kind toy_kind;

/* Registers the toy kind before the kinds of the program. */
static void begin_toys(struct spool *spool, bool comes_together) {
    static const struct entry_kind *rows[8] = {&toy_kind};
    toy_kind = (struct entry_kind){.recognise = is_toy,
                                   .check = check_toy,
                                   .admit = admit_toy,
                                   .reject = reject_toy,
                                   .forget = forget_toy,
                                   .comes_together = comes_together};
    toy_count = toys_admitted = 0;
    spool_begin(spool);
    assert_true(serve_entry_kind_count < COUNT(rows));
    memcpy(rows + 1, serve_entry_kinds,
           serve_entry_kind_count * sizeof(rows[0]));
    prequeue_kinds_use(rows, serve_entry_kind_count + 1);
}

static void end_toys(struct spool *spool) {
    spool_end(spool);
    prequeue_kinds_use(serve_entry_kinds, serve_entry_kind_count);
}

static void finish_toy(struct prequeue_entry *entry) {
    entry->state = ENTRY_CHECKED;
    entry->prequeue->due = true;
}

static void kinds_that_arrive_together_wait_for_each_other(void **state) {
    struct spool spool;
    (void)state;
    begin_toys(&spool, true);
    (void)spool_put_set(&spool, "C1", "DC", "", "f");
    spool_write(&spool, BASE_PREQUEUE, "toy", SPAN(""));
    spool_scan(&spool);
    assert_int_equal(toy_count, 1);
    assert_false(spool_knows(&spool, "C1"));
    finish_toy(toys[0]);
    spool_scan(&spool);
    assert_true(spool_knows(&spool, "C1"));
    assert_int_equal(toys_admitted, 1);
    end_toys(&spool);
}

static void a_kind_that_arrives_alone_neither_waits_nor_delays(void **state) {
    struct spool spool;
    (void)state;
    begin_toys(&spool, false);
    (void)spool_put_set(&spool, "C1", "DC", "", "f");
    spool_write(&spool, BASE_PREQUEUE, "toy1", SPAN(""));
    spool_write(&spool, BASE_PREQUEUE, "toy2", SPAN(""));
    spool_scan(&spool);
    assert_true(spool_knows(&spool, "C1"));
    assert_int_equal(toy_count, 2);
    finish_toy(toys[1]);
    spool_scan(&spool);
    assert_int_equal(toys_admitted, 1);
    assert_true(spool_has(&spool, BASE_PREQUEUE, "toy1"));
    end_toys(&spool);
}

/* That is so even if the earlier kind accepts every name, and a later kind
 * would accept the entry too. */
static void the_first_kind_that_accepts_a_name_gets_the_entry(void **state) {
    struct spool spool;
    (void)state;
    begin_toys(&spool, false);
    toy_kind.recognise = is_anything;
    const char *set = spool_put_set(&spool, "C1", "DC", "", "f");
    spool_write(&spool, BASE_PREQUEUE, "approve_C1", SPAN("x"));
    spool_scan(&spool);
    assert_int_equal(toy_count, 2);
    assert_string_equal(toys[0]->name, set); /* in the order of names */
    assert_string_equal(toys[1]->name, "approve_C1");
    finish_toy(toys[0]);
    finish_toy(toys[1]);
    spool_scan(&spool);
    assert_int_equal(toys_admitted, 2);
    assert_false(spool_knows(&spool, "C1"));
    assert_int_equal(spool_count(&spool, BASE_REJECT), 0);
    end_toys(&spool);
}

int main(int argc, char **argv) {
    SPOOL_MAIN(argc, argv);
    if (argc > 1 && strcmp(argv[1], "guard") == 0)
        return guard_main(argc - 1, argv + 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_that_arrive_together_wait_for_all_checks),
        cmocka_unit_test(a_slow_check_delays_the_others_for_ten_seconds),
        cmocka_unit_test(nothing_starts_while_a_rollback_is_examined),
        cmocka_unit_test(a_clock_that_is_set_back_does_not_prolong_the_delay),
        cmocka_unit_test(rejections_and_approvals_do_not_wait_for_checks),
        cmocka_unit_test(a_set_submitted_again_after_its_end_is_rejected),
        cmocka_unit_test(a_marker_that_a_crash_left_is_removed),
        cmocka_unit_test(an_entry_replaced_during_its_check_is_examined_again),
        cmocka_unit_test(an_entry_removed_during_its_check_is_not_admitted),
        cmocka_unit_test(a_prequeue_closed_during_a_check_leaves_the_entry),
        cmocka_unit_test(a_name_decides_the_kind_of_an_entry),
        cmocka_unit_test(approvals_are_examined_before_sets),
        cmocka_unit_test(kinds_that_arrive_together_wait_for_each_other),
        cmocka_unit_test(a_kind_that_arrives_alone_neither_waits_nor_delays),
        cmocka_unit_test(the_first_kind_that_accepts_a_name_gets_the_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
