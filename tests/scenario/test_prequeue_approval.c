/* Approvals that arrive as files (doc/design/approval.md): which are given to
 * their set, which wait, and which are rejected for what reason. */
#include "changes/prequeue.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "changes/approvals.h"
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
        cmocka_unit_test(an_approval_nobody_asked_for_is_rejected),
    };
    config_sections_use(serve_sections, serve_section_count);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
