/* The checker as `serve` uses it: the guard starts the children, and the event
 * loop delivers the verdicts. */
#include "changes/checker.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "os/guard.h"
#include "support/spool.h"
#include "support/tarball.h"

enum { TIMEOUT_MS = 120 * 1000 };

struct world {
    struct spool spool;
    uv_loop_t loop;
    uv_timer_t timeout;
    struct guard *guard;
    struct checker *checker;
    unsigned verdicts, wanted;
    bool timed_out;
};

static void on_ended(void *ctx, const struct guard_end *end) {
    struct world *world = ctx;
    assert_true(checker_ended(world->checker, end));
}

static void on_lost(void *ctx, const char *why) {
    (void)ctx;
    fail_msg("the guard is lost: %s", why);
}

static void on_timeout(uv_timer_t *timer) {
    struct world *world = timer->data;
    world->timed_out = true;
}

static void begin(struct world *world, const char *executable) {
    static const struct guard_events events = {.ended = on_ended,
                                               .lost = on_lost};
    struct err err = {0};
    *world = (struct world){0};
    spool_begin(&world->spool);
    struct guard_options options = {.base_fd = world->spool.base->fd,
                                    .role = "test"};
    assert_int_equal(uv_loop_init(&world->loop), 0);
    if (!guard_open(&world->loop, &options, &events, world, &world->guard,
                    &err))
        fail_msg("%s", err.text);
    world->checker = checker_new(world->spool.base, world->guard, executable);
    uv_timer_init(&world->loop, &world->timeout);
    world->timeout.data = world;
    uv_timer_start(&world->timeout, on_timeout, TIMEOUT_MS, 0);
}

static void end(struct world *world) {
    uv_close((uv_handle_t *)&world->timeout, NULL);
    guard_close(world->guard, NULL, NULL);
    uv_run(&world->loop, UV_RUN_DEFAULT);
    checker_free(world->checker);
    assert_int_equal(uv_loop_close(&world->loop), 0);
    assert_int_equal(spool_count(&world->spool, BASE_TMP), 0);
    spool_end(&world->spool);
}

static void wait_for_verdicts(struct world *world) {
    while (world->verdicts < world->wanted && !world->timed_out)
        uv_run(&world->loop, UV_RUN_ONCE);
    assert_false(world->timed_out);
    assert_int_equal(checker_waiting(world->checker), 0);
}

struct verdict {
    struct world *world;
    bool came, ok;
    enum refusal_kind kind;
    size_t members;
};

static void on_verdict(void *ctx, bool ok, const struct set_check *check,
                       const struct err *err) {
    struct verdict *verdict = ctx;
    (void)err;
    assert_false(verdict->came);
    verdict->came = true;
    verdict->ok = ok;
    verdict->kind = ok ? check->why.kind : REFUSAL_NONE;
    verdict->members = ok ? check->member_count : 0;
    verdict->world->verdicts++;
}

static void ask(struct world *world, struct verdict *verdict, struct span tar) {
    CLEANUP(fd_close)
    int fd = openat(world->spool.base->dirs[BASE_ARCHIVE], "tar",
                    O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(dir_write_file(fd, tar, NULL));
    assert_int_equal(unlinkat(world->spool.base->dirs[BASE_ARCHIVE], "tar", 0),
                     0);
    *verdict = (struct verdict){.world = world};
    checker_check(world->checker, fd, on_verdict, verdict);
    world->wanted++;
}

static void each_check_gets_one_verdict_from_the_loop(void **state) {
    CLEANUP(text_clear) struct text tar = TEXT_INIT;
    struct verdict verdicts[8];
    struct world world;
    (void)state;
    begin(&world, NULL);
    spool_tar(&tar, "DC", "", "f g h");
    for (size_t i = 0; i < COUNT(verdicts); i++)
        ask(&world, &verdicts[i],
            i % 2 ? SPAN("no tar at all") : text_span(&tar));
    assert_int_equal(world.verdicts, 0);
    assert_int_equal(checker_waiting(world.checker), COUNT(verdicts));
    wait_for_verdicts(&world);
    for (size_t i = 0; i < COUNT(verdicts); i++) {
        assert_true(verdicts[i].ok);
        assert_int_equal(verdicts[i].kind,
                         i % 2 ? REFUSAL_NOT_TAR : REFUSAL_NONE);
        assert_int_equal(verdicts[i].members, i % 2 ? 0 : 3);
    }
    end(&world);
}

/* The conversion tables are files, and the sandboxed child cannot open files.
 */
static void names_of_pax_headers_are_read_in_the_sandbox(void **state) {
    CLEANUP(text_clear) struct text tar = TEXT_INIT;
    struct verdict verdict;
    struct world world;
    (void)state;
    begin(&world, NULL);
    tarball_file(&tar, "meta",
                 "##movetype\nDC\n##target\nmain\n##files\nf\xc3\xbcr\n");
    tarball_pax(&tar, "path", SPAN("lroot/f\xc3\xbcr"));
    tarball_file(&tar, "lroot/a", "A");
    tarball_end(&tar);
    ask(&world, &verdict, text_span(&tar));
    wait_for_verdicts(&world);
    assert_true(verdict.ok);
    assert_int_equal(verdict.kind, REFUSAL_NONE);
    assert_int_equal(verdict.members, 1);
    end(&world);
}

static void a_verdict_longer_than_a_message_is_complete(void **state) {
    CLEANUP(text_clear) struct text tar = TEXT_INIT;
    CLEANUP(text_clear) struct text files = TEXT_INIT;
    struct verdict verdict;
    struct world world;
    (void)state;
    begin(&world, NULL);
    for (int i = 0; i < 5000; i++)
        text_addf(&files, "a-name-that-is-not-so-short-as-to-fit-%04d ", i);
    spool_tar(&tar, "DC", "", files.p);
    ask(&world, &verdict, text_span(&tar));
    wait_for_verdicts(&world);
    assert_true(verdict.ok);
    assert_int_equal(verdict.kind, REFUSAL_NONE);
    assert_int_equal(verdict.members, 5000);
    end(&world);
}

static char *script(const char *text) {
    static char path[4096];
    static int count;
    snprintf(path, sizeof(path), "%s/guarded%d", test_dir(), count++);
    int fd = open(path, O_CREAT | O_WRONLY, 0700);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    return path;
}

static void a_crash_is_a_verdict_but_a_busy_machine_is_not(void **state) {
    static const struct {
        const char *text;
        bool ok;
    } cases[] = {
        {"#!/bin/sh\nkill -SEGV $$\n", true},
        {"#!/bin/sh\nexit 3\n", true},
        {"#!/bin/sh\necho nonsense; echo more >&2\n", true},
        {"#!/bin/sh\nexit 75\n", false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct verdict verdict;
        struct world world;
        begin(&world, script(cases[i].text));
        ask(&world, &verdict, SPAN("x"));
        wait_for_verdicts(&world);
        assert_int_equal(verdict.ok, cases[i].ok);
        if (verdict.ok)
            assert_int_equal(verdict.kind, REFUSAL_INVALID);
        end(&world);
    }
}

static void a_forgotten_check_reports_no_verdict(void **state) {
    struct verdict verdict;
    struct world world;
    (void)state;
    begin(&world, NULL);
    ask(&world, &verdict, SPAN("x"));
    checker_forget(world.checker, &verdict);
    while (checker_waiting(world.checker) > 0 && !world.timed_out)
        uv_run(&world.loop, UV_RUN_ONCE);
    assert_false(world.timed_out);
    assert_false(verdict.came);
    end(&world);
}

int main(int argc, char **argv) {
    SPOOL_MAIN(argc, argv);
    if (argc > 1 && strcmp(argv[1], "guard") == 0)
        return guard_main(argc - 1, argv + 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_check_gets_one_verdict_from_the_loop),
        cmocka_unit_test(names_of_pax_headers_are_read_in_the_sandbox),
        cmocka_unit_test(a_verdict_longer_than_a_message_is_complete),
        cmocka_unit_test(a_crash_is_a_verdict_but_a_busy_machine_is_not),
        cmocka_unit_test(a_forgotten_check_reports_no_verdict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
