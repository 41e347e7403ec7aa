/* The projection starts on a base that changed while no process ran. */
#include "changes/projection.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "support/spool.h"

static const char *name_of(struct spool *spool, const char *id) {
    static char name[256];
    struct job job = spool_job(spool, id);
    snprintf(name, sizeof(name), "%.*s", (int)job.name.len, job.name.p);
    return name;
}

static void move_by_hand(struct spool *spool, const char *id,
                         enum base_dir from, enum base_dir to) {
    const char *name = name_of(spool, id);
    assert_int_equal(
        renameat(spool->base->dirs[from], name, spool->base->dirs[to], name),
        0);
}

/* Writes an event without a pass after it, as if the process had been killed.
 */
static void note(struct spool *spool, enum event_kind kind, const char *id) {
    struct err err = {0};
    struct store_batch *batch = store_batch_new(spool->base->store);
    store_batch_actor(batch, spool->now, SPAN("daemon:test"));
    store_note(batch, kind, *id ? spool_job(spool, id).num : 0,
               *id ? SPAN("") : SPAN("junk"), SPAN("word"), SPAN("sentence"));
    assert_true(store_write(batch, &err));
    store_batch_free(batch);
}

/* The last event is about another entry, and the files do not show its number.
 * That does not concern the files of these sets. */
static void a_move_by_hand_is_not_taken_for_a_crash(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    spool_admit(&spool, "C2", "b");
    note(&spool, EVENT_REJECT, "");
    move_by_hand(&spool, "C1", BASE_QUEUE, BASE_TERM);
    move_by_hand(&spool, "C2", BASE_QUEUE, BASE_DONE);
    spool_restart(&spool);
    assert_int_equal(spool_job(&spool, "C1").state, STATE_TERMINATED);
    assert_int_equal(spool_job(&spool, "C2").state, STATE_QUEUED);
    assert_int_equal(spool_job(&spool, "C1").holds, 0);
    assert_int_equal(spool_job(&spool, "C2").holds, 0);
    spool_assert_projected(&spool);
    spool_end(&spool);
}

/* The files do not show the last step of the set, so the previous directory of
 * its file is not known. */
static void a_move_by_hand_after_an_unfinished_step_is_ambiguous(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    spool_step_only(&spool, "C1", STATE_STAGED, "staged");
    move_by_hand(&spool, "C1", BASE_QUEUE, BASE_DONE);
    spool_restart(&spool);
    assert_int_equal(spool_job(&spool, "C1").holds, HOLD_AMBIGUOUS);
    assert_int_equal(spool_dirs(&spool, "C1"), STATE_BIT(STATE_DONE));
    spool_end(&spool);
}

static void an_event_about_a_finished_set_reaches_its_log(void **state) {
    static const enum event_kind kinds[] = {EVENT_ILLEGAL_MOVE, EVENT_ALARM,
                                            EVENT_OWED, EVENT_APPROVED,
                                            EVENT_REJECT};
    (void)state;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        struct spool spool;
        spool_begin(&spool);
        spool_admit(&spool, "C1", "a");
        spool_admit(&spool, "C2", "b");
        spool_step(&spool, "C1", STATE_TERMINATED, "operator");
        note(&spool, kinds[i], "C1");
        note(&spool, kinds[i], "C2");
        spool_restart(&spool);
        spool_assert_projected(&spool);
        spool_end(&spool);
    }
}

static void a_torn_event_is_written_again(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    spool_step(&spool, "C1", STATE_TERMINATED, "operator");
    note(&spool, EVENT_ILLEGAL_MOVE, "C1");
    CLEANUP(fd_close)
    int fd = openat(spool.base->dirs[BASE_LOG], "C1",
                    O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_true(dir_write_file(fd, SPAN("@4000000065"), NULL));
    spool_restart(&spool);
    spool_assert_projected(&spool);
    spool_end(&spool);
}

/* ctrl/projected only saves work: if it is damaged or its number is too large,
 * everything is checked again. */
static void a_damaged_progress_mark_is_ignored(void **state) {
    static const char *const texts[] = {"", "x\n", "-1\n", "1 2\n",
                                        "99999999999999999999999\n"};
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct spool spool;
        spool_begin(&spool);
        spool_admit(&spool, "C1", "a");
        spool_admit(&spool, "C2", "b");
        spool_step(&spool, "C2", STATE_TERMINATED, "operator");
        spool_write(&spool, BASE_CTRL, "projected", span_of(texts[i]));
        spool_step_only(&spool, "C1", STATE_STAGED, "staged");
        note(&spool, EVENT_ALARM, "C2");
        spool_restart(&spool);
        spool_assert_projected(&spool);
        assert_true(
            strtoull(spool_text(&spool, BASE_CTRL, "projected"), NULL, 10) > 1);
        spool_end(&spool);
    }
}

/* A lost registry is rebuilt from the job files. */
static void assert_precursors(struct spool *spool, const char *id,
                              const char *lines) {
    struct job job = spool_job(spool, id);
    CLEANUP(text_clear) struct text wanted = TEXT_INIT;
    text_addf(&wanted, "##precursors\n%s##precursors-computed", lines);
    if (!strstr(spool_text(spool, (enum base_dir)job.state, name_of(spool, id)),
                text_string(&wanted)))
        fail_msg("the job file of %s does not have the record", id);
}

/* When the set is recorded, its file is not in queue/ or staging/ yet. */
static void
a_record_made_after_an_undone_rollback_is_in_the_file(void **state) {
    static const enum job_state from[] = {STATE_PENDING, STATE_ABANDONED};
    (void)state;
    for (size_t i = 0; i < COUNT(from); i++) {
        struct spool spool;
        spool_begin(&spool);
        spool_admit(&spool, "C1", "a");
        spool_record(&spool, "C1", NULL);
        spool_step(&spool, "C1", STATE_STAGED, "staged");
        spool_step(&spool, "C1", STATE_PENDING, "ready");
        spool_step_only(&spool, "C1", STATE_ABANDONED, "rollback");
        if (from[i] == STATE_ABANDONED)
            spool_run_until_idle(&spool);
        spool_step_only(&spool, "C1", STATE_STAGED, "rb-undone");
        spool_record(&spool, "C1", "C0");
        spool_run_until_idle(&spool);
        assert_precursors(&spool, "C1", "C0\n");
        spool_assert_projected(&spool);
        spool_end(&spool);
    }
}

/* It was in P or A before its file could be rewritten. */
static void a_set_that_comes_back_gets_the_record_it_had(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    spool_record(&spool, "C1", NULL);
    spool_step(&spool, "C1", STATE_STAGED, "staged");
    spool_step(&spool, "C1", STATE_PENDING, "ready");
    spool_step(&spool, "C1", STATE_ABANDONED, "rollback");
    spool_step_only(&spool, "C1", STATE_STAGED, "rb-undone");
    spool_record(&spool, "C1", "C0");
    spool_step_only(&spool, "C1", STATE_PENDING, "ready");
    spool_step(&spool, "C1", STATE_ABANDONED, "rollback");
    spool_step(&spool, "C1", STATE_STAGED, "rb-undone");
    assert_precursors(&spool, "C1", "C0\n");
    spool_assert_projected(&spool);
    spool_end(&spool);
}

/* The file was written before the crash, the record came after it. */
static void
a_record_made_soon_after_the_admission_is_in_the_file(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    spool_write(&spool, BASE_CTRL, "projected", SPAN("0\n"));
    spool_close(&spool);
    spool_open(&spool);
    spool_write(&spool, BASE_CTRL, "projected", SPAN("0\n"));
    spool_record(&spool, "C1", "C0");
    spool_restart(&spool);
    assert_precursors(&spool, "C1", "C0\n");
    spool_end(&spool);
}

/* ---- without a restart --------------------------------------------------- */

static int no_sync(int fd) {
    (void)fd;
    errno = EIO;
    return -1;
}

/* The files were moved, but perhaps not on the disk: the sets stay stale, and
 * the next pass has to finish them without waiting for another event. */
static void a_sync_that_fails_is_made_up_for_by_the_next_pass(void **state) {
    const struct disk *whole = disk;
    struct disk broken = *whole;
    struct spool spool;
    struct err err = {0};
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    spool_admit(&spool, "C2", "b");
    spool_step_only(&spool, "C1", STATE_STAGED, "staged");
    spool_step_only(&spool, "C2", STATE_TERMINATED, "operator");
    broken.syncfs = no_sync;
    disk = &broken;
    assert_false(projection_pass(spool.projection, spool.now, &err));
    disk = whole;
    assert_true(projection_is_due(spool.projection));
    spool_run_until_idle(&spool);
    assert_false(projection_is_due(spool.projection));
    spool_assert_projected(&spool);
    spool_end(&spool);
}

int main(int argc, char **argv) {
    SPOOL_MAIN(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_move_by_hand_is_not_taken_for_a_crash),
        cmocka_unit_test(a_move_by_hand_after_an_unfinished_step_is_ambiguous),
        cmocka_unit_test(an_event_about_a_finished_set_reaches_its_log),
        cmocka_unit_test(a_torn_event_is_written_again),
        cmocka_unit_test(a_record_made_after_an_undone_rollback_is_in_the_file),
        cmocka_unit_test(a_set_that_comes_back_gets_the_record_it_had),
        cmocka_unit_test(a_record_made_soon_after_the_admission_is_in_the_file),
        cmocka_unit_test(a_sync_that_fails_is_made_up_for_by_the_next_pass),
        cmocka_unit_test(a_damaged_progress_mark_is_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
