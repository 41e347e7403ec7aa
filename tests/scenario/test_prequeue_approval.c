/* Approvals that arrive as files (doc/design/approval.md): which are given to
 * their set, which wait, and which are rejected for what reason. */
#include "changes/prequeue.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "changes/approvals.h"
#include "core/reason.h"
#include "os/clock.h"
#include "serve/tables.h"
#include "support/spool.h"
#include "wire/approval_text.h"
#include "wire/config_section.h"

enum { MINUTE_MS = 60 * 1000, OTHER_UID = 4711 };

#define OTHER_NAME "4711" /* as in [access] */

static void begin(struct spool *spool) {
    struct err err = {0};
    spool_begin(spool);
    if (!config_read(&spool->base->config,
                     SPAN("[approval \"prod\"]\npath = prod/**\n"), "test",
                     &err))
        fail_msg("%s", err.text);
    spool->base->config.access.submitter = SPAN(OTHER_NAME);
    base_access_read(spool->base);
    prequeue_configure(spool->prequeue);
}

/* Without a signature only the owner of a file approves, and only if that is
 * neither root nor the owner of the base. */
static void need_root(void) {
    if (geteuid() != 0)
        test_skip("only root can make a file of another user");
}

static void give_away(struct spool *spool, const char *name) {
    assert_int_equal(fchownat(spool->base->dirs[BASE_PREQUEUE], name, OTHER_UID,
                              (gid_t)-1, 0),
                     0);
}

/* The text of an approval of the set. */
static struct approval_text text_of(struct spool *spool, const char *id,
                                    struct arena *arena, uid_t by) {
    struct approval_text text;
    struct err err = {0};
    struct job job = spool_job(spool, id);
    if (!approvals_text(spool->base, &job, arena, &text, &err))
        fail_msg("%s", err.text);
    if (!approval_text_fill(
            &text, span_of(arena_printf(arena, "uid:%lu", (unsigned long)by)),
            SPAN(""), SPAN("1d"), spool->now, &err))
        fail_msg("%s", err.text);
    return text;
}

static void put_text(struct spool *spool, const char *name,
                     const struct approval_text *text) {
    CLEANUP(text_clear) struct text bytes = TEXT_INIT;
    approval_text_format(text, &bytes);
    spool_write(spool, BASE_PREQUEUE, name, text_span(&bytes));
}

static void approve(struct spool *spool, const char *name, const char *id) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct approval_text text = text_of(spool, id, &arena, OTHER_UID);
    put_text(spool, name, &text);
    give_away(spool, name);
}

static void assert_rejected(struct spool *spool, const char *name,
                            const char *word) {
    char why[300];
    snprintf(why, sizeof(why), "%s.why", name);
    assert_false(spool_has(spool, BASE_PREQUEUE, name));
    assert_true(spool_has(spool, BASE_REJECT, name));
    const char *line = spool_text(spool, BASE_REJECT, why);
    if (strncmp(line, word, strlen(word)) != 0)
        fail_msg("'%s' was rejected with '%s', not with '%s'", name, line,
                 word);
}

static size_t approvals_of(struct spool *spool, const char *id) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_event *events;
    size_t count, approvals = 0;
    assert_true(store_events(spool->base->store, 0, spool_job(spool, id).num,
                             1000, &arena, &events, &count, NULL));
    for (size_t i = 0; i < count; i++)
        approvals += events[i].kind == EVENT_APPROVED;
    return approvals;
}

/* ---- files that are no approval ------------------------------------------ */

static void a_file_that_is_no_approval_is_rejected(void **state) {
    CLEANUP(text_clear) struct text big = TEXT_INIT;
    struct spool spool;
    (void)state;
    begin(&spool);
    spool_admit(&spool, "C1", "prod/a");
    for (size_t i = 0; i <= APPROVAL_FILE_BYTES; i++)
        text_addc(&big, 'x');
    spool_write(&spool, BASE_PREQUEUE, "approve_C1_big", text_span(&big));
    spool_write(&spool, BASE_PREQUEUE, "approve_C1_bytes",
                SPAN("pointsman-approval 1\n\0\xff"));
    spool_write(&spool, BASE_PREQUEUE, "approve_C1_empty", SPAN(""));
    int dir = spool.base->dirs[BASE_PREQUEUE];
    assert_int_equal(mkdirat(dir, "approve_C1_dir", 0700), 0);
    assert_int_equal(mkfifoat(dir, "approve_C1_fifo", 0600), 0);
    assert_int_equal(symlinkat("/etc/passwd", dir, "approve_C1_link"), 0);
    spool_scan(&spool);
    assert_rejected(&spool, "approve_C1_big", "too-big:");
    assert_rejected(&spool, "approve_C1_bytes", "bad-approval:");
    assert_rejected(&spool, "approve_C1_empty", "bad-approval:");
    assert_false(spool_has(&spool, BASE_PREQUEUE, "approve_C1_dir"));
    assert_true(spool_has(&spool, BASE_REJECT, "approve_C1_dir.why"));
    assert_true(spool_has(&spool, BASE_REJECT, "approve_C1_fifo.why"));
    assert_true(spool_has(&spool, BASE_REJECT, "approve_C1_link.why"));
    assert_int_equal(spool_job(&spool, "C1").holds, HOLD_APPROVAL);
    spool_assert_projected(&spool); /* the log of C1 has the rejections */
    spool_end(&spool);
}

static void an_approval_that_nobody_signed_is_rejected(void **state) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct spool spool;
    (void)state;
    begin(&spool);
    spool_admit(&spool, "C1", "prod/a");
    struct approval_text text = text_of(&spool, "C1", &arena, geteuid());
    put_text(&spool, "approve_C1_owner", &text); /* the base's */
    text = text_of(&spool, "C1", &arena, geteuid() + 1);
    put_text(&spool, "approve_C1_other", &text); /* somebody else's */
    spool_scan(&spool);
    assert_rejected(&spool, "approve_C1_owner", "unsigned:");
    assert_rejected(&spool, "approve_C1_other", "unsigned:");
    assert_int_equal(approvals_of(&spool, "C1"), 0);
    spool_end(&spool);
}

static void an_approval_is_about_one_set_and_its_content(void **state) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct spool spool;
    (void)state;
    need_root();
    begin(&spool);
    spool_admit(&spool, "C1", "prod/a");
    spool_admit(&spool, "C2", "prod/b");
    approve(&spool, "approve_C2", "C1"); /* under the wrong name */
    struct approval_text text = text_of(&spool, "C1", &arena, OTHER_UID);
    text.sum = spool_job(&spool, "C2").sum;
    put_text(&spool, "approve_C1_sum", &text);
    text = text_of(&spool, "C1", &arena, OTHER_UID);
    text.target = SPAN("elsewhere");
    put_text(&spool, "approve_C1_target", &text);
    text = text_of(&spool, "C1", &arena, OTHER_UID);
    text.instance = SPAN("another");
    put_text(&spool, "approve_C1_instance", &text);
    text = text_of(&spool, "C1", &arena, OTHER_UID);
    text.expires = wall_add_ms(spool.now, -1);
    text.made = wall_add_ms(spool.now, -MINUTE_MS);
    put_text(&spool, "approve_C1_expired", &text);
    static const char *const names[] = {"approve_C1_sum", "approve_C1_target",
                                        "approve_C1_instance",
                                        "approve_C1_expired"};
    for (size_t i = 0; i < COUNT(names); i++)
        give_away(&spool, names[i]);
    spool_scan(&spool);
    assert_rejected(&spool, "approve_C2", "other-set:");
    for (size_t i = 0; i < COUNT(names); i++)
        assert_true(spool_has(&spool, BASE_REJECT, names[i]));
    assert_rejected(&spool, "approve_C1_expired", "expired:");
    assert_int_equal(approvals_of(&spool, "C1"), 0);
    assert_int_equal(approvals_of(&spool, "C2"), 0);
    spool_assert_projected(&spool);
    spool_end(&spool);
}

/* ---- approvals ----------------------------------------------------------- */

static void an_approval_is_given_once(void **state) {
    struct spool spool;
    (void)state;
    need_root();
    begin(&spool);
    spool_admit(&spool, "C1", "prod/a");
    approve(&spool, "approve_C1", "C1");
    spool_scan(&spool);
    assert_int_equal(approvals_of(&spool, "C1"), 1);
    /* As if a crash had left it behind; the set has ended since. */
    approve(&spool, "approve_C1", "C1");
    spool_step(&spool, "C1", STATE_TERMINATED, "operator");
    spool_scan(&spool);
    assert_int_equal(approvals_of(&spool, "C1"), 1);
    assert_int_equal(spool_count(&spool, BASE_PREQUEUE), 0);
    assert_int_equal(spool_count(&spool, BASE_REJECT), 0);
    spool_assert_projected(&spool);
    spool_end(&spool);
}

static void an_approval_waits_for_its_set_and_then_gives_up(void **state) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct spool spool, other;
    (void)state;
    need_root();
    begin(&spool);
    begin(&other); /* where the set is known */
    spool_admit(&spool, "C0", "a");
    (void)spool_put_set(&spool, "C1", "DC", "", "prod/a");
    (void)spool_put_set(&other, "C1", "DC", "", "prod/a");
    spool_scan(&other);
    struct approval_text text = text_of(&other, "C1", &arena, OTHER_UID);
    text.instance = text_of(&spool, "C0", &arena, OTHER_UID).instance;
    text.csid = SPAN("C9");
    put_text(&spool, "approve_C9", &text);
    text.csid = SPAN("C1");
    put_text(&spool, "approve_C1", &text);
    give_away(&spool, "approve_C1");
    give_away(&spool, "approve_C9");
    spool_scan(&spool); /* C1 arrives in the same scan */
    assert_int_equal(approvals_of(&spool, "C1"), 1);
    assert_true(spool_has(&spool, BASE_PREQUEUE, "approve_C9"));
    spool.now = wall_add_ms(spool.now, 6 * MINUTE_MS);
    spool_scan(&spool);
    assert_rejected(&spool, "approve_C9", "unknown-set:");
    spool_end(&other);
    spool_end(&spool);
}

/* A command of that account, admitted and started at this time. */
static uint64_t start_job(struct spool *spool, const char *id, uid_t uid,
                          struct wall at) {
    struct err err = {0};
    struct job job = {.kind = JOB_COMMAND,
                      .state = STATE_PENDING,
                      .job_class = CLASS_DC,
                      .id = span_of(id),
                      .key = span_of(id),
                      .actor = SPAN("uid:4711"),
                      .cause = SPAN(CAUSE_PERSON),
                      .spec = SPAN("{\"command\":[\"true\"]}"),
                      .tasks = 1,
                      .uid = (uint32_t)uid};
    struct store_batch *batch = store_batch_new(spool->base->store);
    store_batch_actor(batch, at, SPAN("daemon:test"));
    unsigned index = store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    if (!store_write(batch, &err))
        fail_msg("%s", err.text);
    uint64_t num = store_batch_num(batch, index);
    store_batch_free(batch);
    batch = store_batch_new(spool->base->store);
    store_batch_actor(batch, at, SPAN("daemon:test"));
    store_move(batch, &(struct store_move){.num = num,
                                           .from = STATE_PENDING,
                                           .to = STATE_EXECUTING,
                                           .reason = SPAN(REASON_START),
                                           .begin_attempt = true});
    store_assign(batch, &(struct store_attempt){.num = num,
                                                .attempt = 1,
                                                .status = TASK_RUNNING,
                                                .assigned = at});
    if (!store_write(batch, &err))
        fail_msg("%s", err.text);
    store_batch_free(batch);
    return num;
}

static void end_job(struct spool *spool, uint64_t num, struct wall began,
                    struct wall at) {
    struct err err = {0};
    struct store_batch *batch = store_batch_new(spool->base->store);
    store_batch_actor(batch, at, SPAN("daemon:test"));
    store_end(batch, &(struct store_attempt){.num = num,
                                             .attempt = 1,
                                             .status = TASK_DONE,
                                             .assigned = began,
                                             .started = began,
                                             .ended = at});
    store_move(batch, &(struct store_move){.num = num,
                                           .from = STATE_EXECUTING,
                                           .to = STATE_DONE,
                                           .reason = SPAN("ok")});
    if (!store_write(batch, &err))
        fail_msg("%s", err.text);
    store_batch_free(batch);
}

static void note_many(struct spool *spool, size_t count) {
    struct err err = {0};
    struct store_batch *batch = store_batch_new(spool->base->store);
    store_batch_actor(batch, clock_wall(), SPAN("daemon:test"));
    for (size_t i = 0; i < count; i++)
        store_note(batch, EVENT_ALARM, 0, SPAN("x"), SPAN("x"), SPAN("x"));
    if (!store_write(batch, &err))
        fail_msg("%s", err.text);
    store_batch_free(batch);
}

static void an_approval_of_a_job_is_told_from_one_of_its_account(void **state) {
    struct spool spool;
    (void)state;
    need_root();
    begin(&spool);
    struct wall now = clock_wall(), before = wall_add_ms(now, -MINUTE_MS),
                after = wall_add_ms(now, MINUTE_MS);
    /* Jobs of other accounts, and of other times. */
    (void)start_job(&spool, "other", OTHER_UID + 1, before);
    end_job(&spool, start_job(&spool, "over", OTHER_UID, before), before,
            wall_add_ms(now, -1000));
    (void)start_job(&spool, "later", OTHER_UID, after);
    spool_admit(&spool, "C1", "prod/a");
    approve(&spool, "approve_C1", "C1");
    spool_scan(&spool);
    assert_int_equal(approvals_of(&spool, "C1"), 1);

    uint64_t job = start_job(&spool, "job", OTHER_UID, before);
    spool_admit(&spool, "C2", "prod/a");
    approve(&spool, "approve_C2", "C2");
    spool_scan(&spool);
    assert_rejected(&spool, "approve_C2",
                    "from-job: it has no signature, and "
                    "job 'job' was running");
    spool_admit(&spool, "C3", "prod/a");
    approve(&spool, "approve_C3", "C3");
    end_job(&spool, job, before, after);
    note_many(&spool, 2500);
    spool_scan(&spool);
    assert_rejected(&spool, "approve_C3", "from-job: ");
    assert_int_equal(approvals_of(&spool, "C2"), 0);
    assert_int_equal(approvals_of(&spool, "C3"), 0);
    spool_end(&spool);
}

static void an_approval_nobody_asked_for_is_rejected(void **state) {
    struct spool spool;
    (void)state;
    need_root();
    begin(&spool);
    spool_admit(&spool, "C1", "dev/a");  /* no policy */
    spool_admit(&spool, "C2", "prod/b"); /* over */
    spool_step(&spool, "C2", STATE_TERMINATED, "operator");
    approve(&spool, "approve_C1", "C1");
    approve(&spool, "approve_C2", "C2");
    /* A second name of the file: its owner may not know of this one. */
    spool_admit(&spool, "C3", "prod/c");
    approve(&spool, "approve_C3", "C3");
    assert_int_equal(linkat(spool.base->dirs[BASE_PREQUEUE], "approve_C3",
                            spool.base->dirs[BASE_TMP], "kept", 0),
                     0);
    spool_scan(&spool);
    assert_rejected(&spool, "approve_C1", "not-asked:");
    assert_rejected(&spool, "approve_C2", "ended:");
    assert_rejected(&spool, "approve_C3", "linked:");
    spool_assert_projected(&spool);
    spool_end(&spool);
}

int main(int argc, char **argv) {
    SPOOL_MAIN(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_no_approval_is_rejected),
        cmocka_unit_test(an_approval_that_nobody_signed_is_rejected),
        cmocka_unit_test(an_approval_is_about_one_set_and_its_content),
        cmocka_unit_test(an_approval_is_given_once),
        cmocka_unit_test(an_approval_waits_for_its_set_and_then_gives_up),
        cmocka_unit_test(an_approval_of_a_job_is_told_from_one_of_its_account),
        cmocka_unit_test(an_approval_nobody_asked_for_is_rejected),
    };
    config_sections_use(serve_sections, serve_section_count);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
