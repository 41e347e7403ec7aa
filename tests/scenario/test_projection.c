#include "changes/projection.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "changes/prune.h"
#include "changes/set_record.h"
#include "support/spool.h"
#include "wire/job_file.h"

static void move_by_hand(struct spool *spool, const char *id,
                         enum base_dir from, enum base_dir to) {
    struct job job = spool_job(spool, id);
    char name[256];
    snprintf(name, sizeof(name), "%.*s", (int)job.name.len, job.name.p);
    assert_int_equal(
        renameat(spool->base->dirs[from], name, spool->base->dirs[to], name),
        0);
}

static void reconcile(struct spool *spool) {
    struct err err = {0};
    if (!projection_reconcile(spool->projection, spool->now, &err))
        fail_msg("%s", err.text);
    spool_run_until_idle(spool);
}

static const char *name_of(struct spool *spool, const char *id) {
    static char name[256];
    struct job job = spool_job(spool, id);
    snprintf(name, sizeof(name), "%.*s", (int)job.name.len, job.name.p);
    return name;
}

static bool has_event(struct spool *spool, const char *id,
                      enum event_kind kind) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_event *events;
    size_t count;
    struct job job = spool_job(spool, id);
    assert_true(store_events(spool->base->store, 0, job.num, 1000, &arena,
                             &events, &count, NULL));
    for (size_t i = 0; i < count; i++)
        if (events[i].kind == kind)
            return true;
    return false;
}

static void a_job_file_follows_the_state_of_its_set(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a b");
    assert_int_equal(spool_dirs(&spool, "C1"), STATE_BIT(STATE_QUEUED));
    spool_record(&spool, "C1", NULL);
    spool_step(&spool, "C1", STATE_STAGED, "staged");
    spool_assert_projected(&spool);
    spool_step(&spool, "C1", STATE_PENDING, "ready");
    spool_assert_projected(&spool);
    spool_step(&spool, "C1", STATE_EXECUTING, "start");
    spool_assert_projected(&spool);
    spool_step(&spool, "C1", STATE_DONE, "ok");
    spool_assert_projected(&spool);
    spool_end(&spool);
}

static void many_steps_between_two_passes_are_one_move(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    spool_record(&spool, "C1", "C0");
    spool_step_only(&spool, "C1", STATE_STAGED, "staged");
    spool_step_only(&spool, "C1", STATE_PENDING, "ready");
    spool_step_only(&spool, "C1", STATE_EXECUTING, "start");
    spool_run_until_idle(&spool);
    spool_assert_projected(&spool);
    assert_non_null(strstr(spool_text(&spool, BASE_RUN, name_of(&spool, "C1")),
                           "##precursors\nC0\n##precursors-computed "));
    spool_end(&spool);
}

static void the_job_file_holds_what_a_new_registry_needs(void **state) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct spool spool;
    struct job_file file;
    struct refusal why;
    (void)state;
    spool_begin(&spool);
    spool_put_set(&spool, "C1", "BF.200",
                  "##deleted\ngone\n##dependencies\nC0\n##author\nA <a@b>\n"
                  "##message\nFix it\n\nFor good.\n##odd\n\\##x\n",
                  "a b/c");
    spool_scan(&spool);
    const char *text = spool_text(&spool, BASE_QUEUE, name_of(&spool, "C1"));
    assert_true(job_file_parse(span_of(text), &arena, &file, &why));
    struct job job = spool_job(&spool, "C1");
    assert_true(span_equal(file.name.text, job.name));
    assert_true(span_equal(file.sha256, job.sum));
    assert_int_equal(file.seq, job.admitted_seq);
    assert_int_equal(file.size, job.size_bytes);
    assert_int_equal(file.meta.files.count, 2);
    assert_int_equal(file.meta.deleted.count, 1);
    assert_int_equal(file.meta.dependencies.count, 1);
    assert_true(span_is(file.meta.message, "Fix it\n\nFor good."));
    assert_false(file.computed);
    const struct section *odd = sections_find(&file.meta.sections, "odd");
    assert_non_null(odd);
    assert_true(span_is(odd->lines.items[0], "##x"));
    spool_end(&spool);
}

static void a_record_rewrites_the_file_in_place(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    spool_record(&spool, "C1", "C0");
    spool_run_until_idle(&spool);
    assert_non_null(strstr(
        spool_text(&spool, BASE_QUEUE, name_of(&spool, "C1")), "\nC0\n"));
    spool_step(&spool, "C1", STATE_STAGED, "staged");
    spool_record(&spool, "C1", "C9");
    spool_run_until_idle(&spool);
    assert_non_null(strstr(
        spool_text(&spool, BASE_STAGING, name_of(&spool, "C1")), "\nC9\n"));
    spool_assert_projected(&spool);
    spool_end(&spool);
}

static void the_inode_stays_from_pending_on(void **state) {
    struct spool spool;
    struct stat before, after;
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    spool_record(&spool, "C1", NULL);
    spool_step(&spool, "C1", STATE_STAGED, "staged");
    spool_step(&spool, "C1", STATE_PENDING, "ready");
    const char *name = name_of(&spool, "C1");
    assert_int_equal(fstatat(spool.base->dirs[BASE_PENDING], name, &before, 0),
                     0);
    spool_step(&spool, "C1", STATE_EXECUTING, "start");
    spool_step(&spool, "C1", STATE_PENDING, "temp");
    spool_step(&spool, "C1", STATE_EXECUTING, "start");
    assert_int_equal(fstatat(spool.base->dirs[BASE_RUN], name, &after, 0), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    spool_end(&spool);
}

static void files_left_by_a_crash_are_moved_at_the_start(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    spool_admit(&spool, "C2", "b");
    spool_record(&spool, "C1", NULL);
    spool_step_only(&spool, "C1", STATE_STAGED, "staged");
    spool_step_only(&spool, "C1", STATE_PENDING, "ready");
    spool_step_only(&spool, "C2", STATE_TERMINATED, "operator");
    spool_restart(&spool);
    spool_assert_projected(&spool);
    assert_false(has_event(&spool, "C1", EVENT_ALARM));
    spool_end(&spool);
}

static void two_names_of_one_file_become_one(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    const char *name = name_of(&spool, "C1");
    spool_step_only(&spool, "C1", STATE_STAGED, "staged");
    assert_int_equal(linkat(spool.base->dirs[BASE_QUEUE], name,
                            spool.base->dirs[BASE_STAGING], name, 0),
                     0);
    spool_restart(&spool);
    spool_assert_projected(&spool);
    spool_end(&spool);
}

static void a_lost_job_file_is_recreated_with_an_alarm(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    const char *name = name_of(&spool, "C1");
    assert_int_equal(unlinkat(spool.base->dirs[BASE_QUEUE], name, 0), 0);
    reconcile(&spool);
    assert_true(has_event(&spool, "C1", EVENT_ALARM));
    spool_assert_projected(&spool);
    spool_step_only(&spool, "C1", STATE_STAGED, "staged");
    assert_int_equal(unlinkat(spool.base->dirs[BASE_QUEUE], name, 0), 0);
    spool_restart(&spool);
    spool_assert_projected(&spool);
    spool_end(&spool);
}

static void an_empty_or_torn_job_file_is_recreated(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    spool_step_only(&spool, "C1", STATE_STAGED, "staged");
    spool_write(&spool, BASE_QUEUE, name_of(&spool, "C1"), SPAN("##job\nfo"));
    spool_restart(&spool);
    spool_assert_projected(&spool);
    spool_end(&spool);
}

static void an_inexplicable_file_holds_the_set(void **state) {
    struct spool spool;
    struct err err = {0};
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    spool_step_only(&spool, "C1", STATE_STAGED, "staged");
    move_by_hand(&spool, "C1", BASE_QUEUE, BASE_DONE);
    spool_restart(&spool);
    struct job job = spool_job(&spool, "C1");
    assert_int_equal(job.holds, HOLD_AMBIGUOUS);
    assert_int_equal(job.state, STATE_STAGED);
    assert_int_equal(spool_dirs(&spool, "C1"), STATE_BIT(STATE_DONE));
    spool_restart(&spool); /* the second start changes nothing */
    assert_int_equal(spool_dirs(&spool, "C1"), STATE_BIT(STATE_DONE));
    struct store_batch *batch = store_batch_new(spool.base->store);
    store_batch_actor(batch, spool.now, SPAN("uid:1"));
    store_release(batch, job.num, HOLD_AMBIGUOUS, SPAN("looked"));
    assert_true(store_write(batch, &err));
    store_batch_free(batch);
    spool_run_until_idle(&spool);
    spool_assert_projected(&spool);
    spool_end(&spool);
}

/* Sets the times of the state directories back. */
static void age_dirs(struct spool *spool, int64_t seconds) {
    for (int state = 0; state < JOB_STATES; state++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        now.tv_sec -= seconds;
        struct timespec times[2] = {now, now};
        assert_int_equal(futimens(spool->base->dirs[state], times), 0);
    }
}

static void a_move_by_hand_is_noticed_despite_other_moves(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    spool_admit(&spool, "C2", "b");
    age_dirs(&spool, 120);
    reconcile(&spool);
    move_by_hand(&spool, "C1", BASE_QUEUE, BASE_TERM);
    age_dirs(&spool, 60);
    spool_step(&spool, "C2", STATE_STAGED, "staged"); /* runs a pass */
    reconcile(&spool);
    assert_int_equal(spool_job(&spool, "C1").state, STATE_TERMINATED);
    spool_assert_projected(&spool);
    /* The same while no server was running. */
    move_by_hand(&spool, "C2", BASE_STAGING, BASE_DONE);
    age_dirs(&spool, 30);
    spool_restart(&spool);
    spool_assert_projected(&spool);
    spool_end(&spool);
}

static void a_file_moved_to_term_by_hand_cancels(void **state) {
    static const enum job_state from[] = {STATE_QUEUED, STATE_STAGED,
                                          STATE_PENDING};
    (void)state;
    for (size_t i = 0; i < COUNT(from); i++) {
        struct spool spool;
        char actor[32];
        spool_begin(&spool);
        spool_admit(&spool, "C1", "a");
        if (i > 0)
            spool_step(&spool, "C1", STATE_STAGED, "staged");
        if (i > 1)
            spool_step(&spool, "C1", STATE_PENDING, "ready");
        move_by_hand(&spool, "C1", (enum base_dir)from[i], BASE_TERM);
        reconcile(&spool);
        assert_int_equal(spool_job(&spool, "C1").state, STATE_TERMINATED);
        spool_assert_projected(&spool);
        snprintf(actor, sizeof(actor), " fs:%ld ", (long)geteuid());
        assert_non_null(strstr(spool_text(&spool, BASE_LOG, "C1"), actor));
        spool_end(&spool);
    }
}

static void any_other_move_by_hand_is_undone_and_noted(void **state) {
    static const enum base_dir to[] = {BASE_STAGING, BASE_PENDING,
                                       BASE_RUN,     BASE_DONE,
                                       BASE_FAIL,    BASE_ABANDON};
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    for (size_t i = 0; i < COUNT(to); i++) {
        move_by_hand(&spool, "C1", BASE_QUEUE, to[i]);
        reconcile(&spool);
        assert_int_equal(spool_job(&spool, "C1").state, STATE_QUEUED);
        spool_assert_projected(&spool);
    }
    assert_true(has_event(&spool, "C1", EVENT_ILLEGAL_MOVE));
    spool_step(&spool, "C1", STATE_TERMINATED, "operator");
    move_by_hand(&spool, "C1", BASE_TERM, BASE_QUEUE);
    reconcile(&spool);
    spool_assert_projected(&spool);
    spool_end(&spool);
}

static void a_running_set_is_not_cancelled_by_moving_its_file(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    spool_step(&spool, "C1", STATE_STAGED, "staged");
    spool_step(&spool, "C1", STATE_PENDING, "ready");
    spool_step(&spool, "C1", STATE_EXECUTING, "start");
    move_by_hand(&spool, "C1", BASE_RUN, BASE_TERM);
    reconcile(&spool);
    assert_int_equal(spool_job(&spool, "C1").state, STATE_EXECUTING);
    spool_assert_projected(&spool);
    spool_end(&spool);
}

static void a_copy_by_hand_goes_to_reject(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    const char *name = name_of(&spool, "C1");
    spool_write(&spool, BASE_DONE, name,
                span_of(spool_text(&spool, BASE_QUEUE, name)));
    reconcile(&spool);
    spool_assert_projected(&spool);
    assert_true(spool_has(&spool, BASE_REJECT, name));
    spool_end(&spool);
}

static void a_file_of_an_unknown_set_stays(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    const char *name = spool_name("X9", "DC");
    spool_write(&spool, BASE_QUEUE, name, SPAN("?"));
    spool_write(&spool, BASE_DONE, "no name\n", SPAN("?"));
    reconcile(&spool);
    reconcile(&spool);
    assert_true(spool_has(&spool, BASE_QUEUE, name));
    assert_true(spool_has(&spool, BASE_DONE, "no name\n"));
    spool_end(&spool);
}

static void the_log_records_a_hold(void **state) {
    struct spool spool;
    struct err err = {0};
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    struct job job = spool_job(&spool, "C1");
    struct store_batch *batch = store_batch_new(spool.base->store);
    store_batch_actor(batch, spool.now, SPAN("user:a b"));
    store_hold(batch, job.num, HOLD_OPERATOR, SPAN("wait: for\nme \\o/"));
    assert_true(store_write(batch, &err));
    store_batch_free(batch);
    spool_run_until_idle(&spool);
    spool_assert_projected(&spool);
    spool_end(&spool);
}

static void a_torn_log_line_is_removed(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    CLEANUP(fd_close)
    int fd = openat(spool.base->dirs[BASE_LOG], "C1", O_WRONLY | O_APPEND);
    assert_true(dir_write_file(fd, SPAN("@40000000"), NULL));
    spool_step(&spool, "C1", STATE_STAGED, "staged");
    spool_assert_projected(&spool);
    assert_int_equal(ftruncate(fd, 0), 0); /* a log without any line */
    spool_step(&spool, "C1", STATE_PENDING, "ready");
    spool_assert_projected(&spool);
    spool_end(&spool);
}

static int full(int dir, const char *name, int flags, mode_t mode) {
    (void)dir, (void)name, (void)flags, (void)mode;
    errno = ENOSPC;
    return -1;
}

static void a_full_disk_only_delays_moves(void **state) {
    struct spool spool;
    const struct disk *whole = disk;
    struct disk broken = *whole;
    struct err err = {0};
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    spool_admit(&spool, "C2", "a");
    spool_record(&spool, "C1", "C0");
    spool_step_only(&spool, "C2", STATE_TERMINATED, "operator");
    broken.openat = full;
    disk = &broken;
    assert_false(projection_pass(spool.projection, spool.now, &err));
    disk = whole;
    assert_int_equal(err.kind, ERR_TEMPORARY);
    assert_true(projection_is_due(spool.projection));
    spool_run_until_idle(&spool);
    spool_assert_projected(&spool);
    spool_end(&spool);
}

/* C waits for B, and B for A. When B leaves, C inherits A, and its job file
 * must show that, because a lost registry is rebuilt from it. */
static void an_inherited_precursor_is_in_the_job_file(void **state) {
    struct spool spool;
    struct err err = {0};
    struct span heir = SPAN("A");
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "A", "f");
    spool_admit(&spool, "B", "f");
    spool_admit(&spool, "C", "f");
    spool_record(&spool, "A", NULL);
    spool_record(&spool, "B", "A");
    spool_record(&spool, "C", "B");
    spool_step(&spool, "B", STATE_STAGED, "staged");
    spool_step(&spool, "C", STATE_STAGED, "staged");
    struct job b = spool_job(&spool, "B");
    uint64_t num = b.num;
    struct store_batch *batch = store_batch_new(spool.base->store);
    store_batch_actor(batch, spool.now, SPAN("daemon:test"));
    store_move(batch, &(struct store_move){.num = num,
                                           .from = STATE_STAGED,
                                           .to = STATE_TERMINATED,
                                           .reason = SPAN("operator")});
    store_splice(batch, spool_job(&spool, "C").num, &heir, 1);
    assert_true(store_write(batch, &err));
    store_batch_free(batch);
    spool_run_until_idle(&spool);
    assert_non_null(
        strstr(spool_text(&spool, BASE_STAGING, name_of(&spool, "C")),
               "##precursors\nA\n"));
    spool_assert_projected(&spool);
    spool_end(&spool);
}

static void a_one_shot_command_moves_the_job_files_it_changed(void **state) {
    struct spool spool;
    struct err err = {0};
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    spool_admit(&spool, "C2", "a");
    spool_step_only(&spool, "C1", STATE_TERMINATED, "operator");
    spool_step_only(&spool, "C2", STATE_STAGED, "staged");
    assert_true(projection_catch_up(spool.base, spool.now, &err));
    spool_assert_projected(&spool);
    assert_true(projection_catch_up(spool.base, spool.now, &err));
    spool_run_until_idle(&spool); /* the projection has nothing left to do */
    spool_assert_projected(&spool);
    spool_end(&spool);
}

/* The job file is in archive/, so it is not missing. */
static void an_event_about_an_archived_set_restores_no_file(void **state) {
    struct spool spool;
    struct prune_report report;
    struct err err = {0};
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    spool_record(&spool, "C1", NULL);
    spool_step(&spool, "C1", STATE_STAGED, "staged");
    spool_step(&spool, "C1", STATE_PENDING, "ready");
    spool_step(&spool, "C1", STATE_EXECUTING, "start");
    spool_step(&spool, "C1", STATE_DONE, "ok");
    spool.now = wall_add_ms(spool.now, INT64_C(100) * 24 * 3600 * 1000);
    assert_true(prune(spool.base, spool.now, &report, &err));
    assert_int_equal(report.archived, 1);
    struct store_batch *batch = store_batch_new(spool.base->store);
    store_batch_actor(batch, spool.now, SPAN("daemon:test"));
    store_owe(batch, spool_job(&spool, "C1").num, spool.now, SPAN("late"),
              SPAN(""));
    assert_true(store_write(batch, &err));
    store_batch_free(batch);
    spool_run_until_idle(&spool);
    assert_int_equal(spool_dirs(&spool, "C1"), 0);
    assert_false(has_event(&spool, "C1", EVENT_ALARM));
    assert_false(spool_job(&spool, "C1").stale);
    spool_end(&spool);
}

/* The command itself writes the log: the registry may be lost before any other
 * process runs. */
static void a_hold_by_a_one_shot_command_is_in_the_log(void **state) {
    struct spool spool;
    struct err err = {0};
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    struct store_batch *batch = store_batch_new(spool.base->store);
    store_batch_actor(batch, spool.now, SPAN("uid:1"));
    store_hold(batch, spool_job(&spool, "C1").num, HOLD_OPERATOR,
               SPAN("look first"));
    assert_true(store_write(batch, &err));
    store_batch_free(batch);
    assert_true(projection_catch_up(spool.base, spool.now, &err));
    assert_non_null(
        strstr(spool_text(&spool, BASE_LOG, "C1"), "hold:look first"));
    assert_false(spool_job(&spool, "C1").stale);
    spool_end(&spool);
}

/* Roles in separate processes: the registry and the directories show the
 * effects of another role before its events arrive in this process. */
static void steps_of_another_process_are_not_ambiguous(void **state) {
    struct spool spool, other;
    struct err err = {0};
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    other = (struct spool){.path = spool.path, .now = spool.now};
    spool_open(&other);
    spool_record(&spool, "C1", NULL);
    assert_true(store_poll(other.base->store, &err));
    spool_step(&other, "C1", STATE_STAGED, "staged");
    spool_step_only(&other, "C1", STATE_PENDING, "ready");
    spool_run_until_idle(&spool);
    assert_int_equal(spool_job(&spool, "C1").holds, 0);
    spool_run_until_idle(&other);
    spool_assert_projected(&spool);
    spool_close(&other);
    spool_end(&spool);
}

int main(int argc, char **argv) {
    SPOOL_MAIN(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_file_follows_the_state_of_its_set),
        cmocka_unit_test(many_steps_between_two_passes_are_one_move),
        cmocka_unit_test(the_job_file_holds_what_a_new_registry_needs),
        cmocka_unit_test(a_record_rewrites_the_file_in_place),
        cmocka_unit_test(the_inode_stays_from_pending_on),
        cmocka_unit_test(files_left_by_a_crash_are_moved_at_the_start),
        cmocka_unit_test(two_names_of_one_file_become_one),
        cmocka_unit_test(a_lost_job_file_is_recreated_with_an_alarm),
        cmocka_unit_test(an_empty_or_torn_job_file_is_recreated),
        cmocka_unit_test(an_inexplicable_file_holds_the_set),
        cmocka_unit_test(a_move_by_hand_is_noticed_despite_other_moves),
        cmocka_unit_test(a_file_moved_to_term_by_hand_cancels),
        cmocka_unit_test(any_other_move_by_hand_is_undone_and_noted),
        cmocka_unit_test(a_running_set_is_not_cancelled_by_moving_its_file),
        cmocka_unit_test(a_copy_by_hand_goes_to_reject),
        cmocka_unit_test(a_file_of_an_unknown_set_stays),
        cmocka_unit_test(the_log_records_a_hold),
        cmocka_unit_test(a_torn_log_line_is_removed),
        cmocka_unit_test(a_full_disk_only_delays_moves),
        cmocka_unit_test(an_inherited_precursor_is_in_the_job_file),
        cmocka_unit_test(a_one_shot_command_moves_the_job_files_it_changed),
        cmocka_unit_test(an_event_about_an_archived_set_restores_no_file),
        cmocka_unit_test(a_hold_by_a_one_shot_command_is_in_the_log),
        cmocka_unit_test(steps_of_another_process_are_not_ambiguous),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
