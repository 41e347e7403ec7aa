#include "maintenance/fsck.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "changes/prune.h"
#include "os/clock.h"
#include "support/spool.h"

static struct text problems;

static void on_problem(void *ctx, const char *sentence) {
    (void)ctx;
    text_addf(&problems, "%s\n", sentence);
}

static uint64_t check(struct spool *spool) {
    struct fsck_report report = {.problem = on_problem};
    text_reset(&problems);
    spool_check(spool, &report);
    return report.problems;
}

static void assert_clean(struct spool *spool) {
    if (check(spool) > 0)
        fail_msg("%s", text_string(&problems));
}

static uint64_t rebuild(struct spool *spool) {
    struct fsck_report report = {.problem = on_problem};
    struct err err = {0};
    text_reset(&problems);
    if (!rebuild_registry(spool->path, spool->now, &report, &err))
        fail_msg("%s", err.text);
    return report.problems;
}

static void lose_registry(struct spool *spool) {
    static const char *const ends[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < COUNT(ends); i++) {
        char path[4200];
        snprintf(path, sizeof(path), "%s/ctrl/registry.db%s", spool->path,
                 ends[i]);
        (void)unlink(path);
    }
}

static const char *name_of(struct spool *spool, const char *id) {
    static char names[4][256];
    static unsigned at;
    struct job job = spool_job(spool, id);
    char *name = names[at++ % 4];
    snprintf(name, 256, "%.*s", (int)job.name.len, job.name.p);
    return name;
}

/* Creates sets in every state, with relations, holds, attempts and a requested
 * cancellation. */
static void make_busy(struct spool *spool) {
    struct err err = {0};
    spool_begin(spool);
    spool_put_set(spool, "D1", "EM", "##message\nOne\n\nmore\n", "a b");
    spool_put_set(spool, "F1", "BF", "##dependencies\nD1\n", "b");
    spool_put_set(spool, "T1", "DC", "##deleted\nz\n", "c");
    spool_put_set(spool, "X1", "DC.100",
                  "##dependencies\nD1\nNOT-YET\n##precursors\nT1\nF1\n", "d");
    spool_put_set(spool, "P1", "DC", "##author\nA <a@b>\n##odd\n\\##x\n",
                  "e/f");
    spool_put_set(spool, "S1", "DC", "", "a");
    spool_put_set(spool, "Q1", "DC", "##precursors\nS1\n", "a");
    spool_scan(spool);
    spool_put_set(spool, "S2", "DC", "##supersedes\nT1\n", "c");
    static const char *const runners[] = {"D1", "F1", "X1"};
    for (size_t i = 0; i < COUNT(runners); i++) {
        spool_record(spool, runners[i], i ? "D1" : NULL);
        spool_step(spool, runners[i], STATE_STAGED, "staged");
        spool_step(spool, runners[i], STATE_PENDING, "ready");
        spool_step(spool, runners[i], STATE_EXECUTING, "start");
    }
    spool_step(spool, "X1", STATE_PENDING, "temp");
    spool_step(spool, "X1", STATE_EXECUTING, "start");
    spool_step(spool, "D1", STATE_DONE, "ok");
    spool_step(spool, "F1", STATE_FAILED, "exit-3");
    spool_step(spool, "T1", STATE_TERMINATED, "operator");
    spool_scan(spool);
    spool_record(spool, "P1", NULL);
    spool_step(spool, "P1", STATE_STAGED, "staged");
    spool_step(spool, "P1", STATE_PENDING, "ready");
    spool_record(spool, "S1", NULL);
    spool_step(spool, "S1", STATE_STAGED, "staged");
    struct store_batch *batch = store_batch_new(spool->base->store);
    store_batch_actor(batch, spool->now, SPAN("uid:77"));
    store_hold(batch, spool_job(spool, "P1").num, HOLD_OPERATOR,
               SPAN("not on a Friday"));
    store_hold(batch, spool_job(spool, "Q1").num, HOLD_OPERATOR, SPAN("x"));
    store_release(batch, spool_job(spool, "Q1").num, HOLD_OPERATOR, SPAN("y"));
    store_ask_cancel(batch, spool_job(spool, "X1").num, false, SPAN(""));
    assert_true(store_write(batch, &err));
    store_batch_free(batch);
    spool_run_until_idle(spool);
    spool_assert_projected(spool);
}

/* ---- registries as text, for comparison ------------------------------ */

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_sorted(struct text *out, char **lines, size_t count) {
    qsort(lines, count, sizeof(*lines), by_text);
    for (size_t i = 0; i < count; i++)
        text_adds(out, lines[i]);
}

static void describe_relations(struct spool *spool, const struct job *job,
                               struct arena *arena, struct text *out) {
    struct job_edge *edges;
    struct job_touch *touches;
    size_t count;
    assert_true(store_edges_from(spool->base->store, job->num, arena, &edges,
                                 &count, NULL));
    char **lines = arena_alloc(arena, (count + 1) * sizeof(*lines));
    for (size_t i = 0; i < count; i++)
        lines[i] = arena_printf(arena, "  %s %.*s\n",
                                job_edge_kind_word(edges[i].kind),
                                (int)edges[i].to.len, edges[i].to.p);
    add_sorted(out, lines, count);
    assert_true(store_touches(spool->base->store, job->num, arena, &touches,
                              &count, NULL));
    lines = arena_alloc(arena, (count + 1) * sizeof(*lines));
    for (size_t i = 0; i < count; i++)
        lines[i] = arena_printf(arena, "  %s %.*s\n",
                                touches[i].deleted ? "deletes" : "touches",
                                (int)touches[i].path.len, touches[i].path.p);
    add_sorted(out, lines, count);
}

static void describe_history(struct spool *spool, const struct job *job,
                             struct arena *arena, struct text *out) {
    struct store_event *events;
    char at[WALL_TEXT_BYTES];
    size_t count;
    assert_true(store_events(spool->base->store, 0, job->num, 10000, arena,
                             &events, &count, NULL));
    for (size_t i = 0; i < count; i++) {
        const struct store_event *event = &events[i];
        text_addf(out, "  %llu %s %s %c%c %u %.*s %.*s / %.*s\n",
                  (unsigned long long)event->seq, wall_format(event->at, at),
                  job_event_kind_word(event->kind),
                  job_state_letter(event->from), job_state_letter(event->to),
                  event->attempt, (int)event->actor.len, event->actor.p,
                  (int)event->reason.len, event->reason.p,
                  (int)event->detail.len, event->detail.p);
    }
}

static void describe_job(struct spool *spool, const struct job *job,
                         struct arena *arena, struct text *out) {
    char since[WALL_TEXT_BYTES], admitted[WALL_TEXT_BYTES];
    text_addf(
        out,
        "%.*s %s %s %.*s %.*s %.*s size %llu holds %u attempt %u temps "
        "%u since %s admitted %s seqs %llu %llu %llu uid %u actor %.*s "
        "reason %.*s / %.*s cancel %d tasks %u %u\n",
        (int)job->id.len, job->id.p, job_state_word(job->state),
        job_class_word(job->job_class), (int)job->target.len, job->target.p,
        (int)job->name.len, job->name.p, (int)job->sum.len, job->sum.p,
        (unsigned long long)job->size_bytes, job->holds, job->attempt,
        job->temps, wall_format(job->since, since),
        wall_format(job->admitted, admitted),
        (unsigned long long)job->admitted_seq,
        (unsigned long long)job->state_seq, (unsigned long long)job->record_seq,
        job->uid, (int)job->actor.len, job->actor.p, (int)job->reason.len,
        job->reason.p, (int)job->detail.len, job->detail.p ? job->detail.p : "",
        job->cancel_asked, job->tasks, job->tasks_done);
    describe_relations(spool, job, arena, out);
    describe_history(spool, job, arena, out);
}

static char *describe(struct spool *spool) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct text out = TEXT_INIT;
    struct store_list list = {.kinds = 1u << JOB_CHANGE, .limit = 1000};
    struct job *jobs;
    size_t count;
    assert_true(
        store_jobs(spool->base->store, &list, &arena, &jobs, &count, NULL));
    for (size_t i = 0; i < count; i++)
        describe_job(spool, &jobs[i], &arena, &out);
    return text_take(&out);
}

/* Reports the first line that differs: the whole text is more than a page. */
static void assert_same_text(const char *before, const char *after) {
    struct span one = span_of(before), other = span_of(after), a, b;
    while (span_cut(&one, '\n', &a) && span_cut(&other, '\n', &b))
        if (!span_equal(a, b))
            fail_msg("'%.*s' became '%.*s'", (int)a.len, a.p, (int)b.len, b.p);
    assert_string_equal(before, after);
}

/* ---- tests ----------------------------------------------------------- */

static void a_healthy_base_is_clean(void **state) {
    struct spool spool;
    (void)state;
    make_busy(&spool);
    assert_clean(&spool);
    spool_end(&spool);
}

static void a_rebuilt_registry_equals_the_lost_one(void **state) {
    struct spool spool;
    (void)state;
    make_busy(&spool);
    CLEANUP(text_free_string) char *before = describe(&spool);
    spool_close(&spool);
    lose_registry(&spool);
    assert_int_equal(rebuild(&spool), 0);
    spool_open(&spool);
    CLEANUP(text_free_string) char *after = describe(&spool);
    assert_same_text(before, after);
    assert_clean(&spool);
    spool_assert_projected(&spool);
    spool_admit(&spool, "NEXT", "n"); /* the base continues to work */
    spool_step(&spool, "X1", STATE_DONE, "ok");
    spool_assert_projected(&spool);
    assert_clean(&spool);
    spool_end(&spool);
}

static void a_rebuild_twice_changes_nothing(void **state) {
    struct spool spool;
    (void)state;
    make_busy(&spool);
    CLEANUP(text_free_string) char *before = describe(&spool);
    spool_close(&spool);
    lose_registry(&spool);
    assert_int_equal(rebuild(&spool), 0);
    spool.now = wall_add_ms(spool.now, 2000);
    assert_int_equal(rebuild(&spool), 0);
    spool_open(&spool);
    CLEANUP(text_free_string) char *after = describe(&spool);
    assert_same_text(before, after);
    spool_end(&spool);
}

static void the_old_registry_is_kept(void **state) {
    struct spool spool;
    char name[128];
    (void)state;
    make_busy(&spool);
    spool_close(&spool);
    rebuild(&spool);
    spool_open(&spool);
    snprintf(name, sizeof(name), "registry.db.before-rebuild-%lld",
             (long long)wall_s(spool.now));
    assert_true(spool_has(&spool, BASE_CTRL, name));
    assert_false(spool_has(&spool, BASE_CTRL, "registry.db.new"));
    assert_false(spool_has(&spool, BASE_CTRL, "registry.db.new-wal"));
    spool_end(&spool);
}

static void a_rebuild_is_logged_and_the_event_chain_is_valid(void **state) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct spool spool;
    struct store_event *events;
    struct err err = {0};
    size_t count;
    bool logged = false;
    (void)state;
    make_busy(&spool);
    spool_close(&spool);
    lose_registry(&spool);
    rebuild(&spool);
    spool_open(&spool);
    assert_true(store_verify(spool.base->store, &err));
    assert_true(store_events(spool.base->store, 0, 0, 10000, &arena, &events,
                             &count, NULL));
    for (size_t i = 0; i < count; i++)
        logged |= events[i].kind == EVENT_REBUILT;
    assert_true(logged);
    spool_end(&spool);
}

/* Moves C1 from queue/ to `dir` without a line in its log; then the registry is
 * lost and rebuilt. */
static void rebuild_with_c1_in(struct spool *spool, const char *dir) {
    spool_begin(spool);
    spool_admit(spool, "C1", "a");
    const char *name = name_of(spool, "C1");
    spool_close(spool);
    lose_registry(spool);
    char from[4200], to[4200];
    snprintf(from, sizeof(from), "%s/queue/%s", spool->path, name);
    snprintf(to, sizeof(to), "%s/%s/%s", spool->path, dir, name);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(rebuild(spool), 1);
    spool_open(spool);
}

static void the_directory_wins_if_the_log_differs(void **state) {
    struct spool spool;
    (void)state;
    rebuild_with_c1_in(&spool, "staging");
    assert_int_equal(spool_job(&spool, "C1").state, STATE_STAGED);
    spool_assert_projected(&spool);
    spool_end(&spool);
}

static void a_set_without_a_log_belongs_to_the_owner_of_the_base(void **state) {
    struct spool spool;
    char path[4200], actor[32];
    uid_t owner = geteuid() == 0 ? 4711 : geteuid();
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C1", "a");
    for (int dir = 0; dir < BASE_DIRS; dir++)
        assert_int_equal(fchown(spool.base->dirs[dir], owner, (gid_t)-1), 0);
    assert_int_equal(fchown(spool.base->fd, owner, (gid_t)-1), 0);
    spool_close(&spool);
    lose_registry(&spool);
    snprintf(path, sizeof(path), "%s/log/C1", spool.path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rebuild(&spool), 1);
    spool_open(&spool);
    snprintf(actor, sizeof(actor), "uid:%u", (unsigned)owner);
    struct job job = spool_job(&spool, "C1");
    assert_int_equal(job.uid, owner);
    assert_true(span_is(job.actor, actor));
    spool_end(&spool);
}

/* The log lacks the start of the attempt. */
static void a_set_in_run_has_an_attempt(void **state) {
    struct spool spool;
    (void)state;
    rebuild_with_c1_in(&spool, "run");
    assert_int_equal(spool_job(&spool, "C1").state, STATE_EXECUTING);
    assert_int_equal(spool_job(&spool, "C1").attempt, 1);
    spool_assert_projected(&spool);
    spool_end(&spool);
}

static void a_set_with_only_its_log_left_keeps_its_id(void **state) {
    struct spool spool;
    char path[4200];
    (void)state;
    make_busy(&spool);
    snprintf(path, sizeof(path), "%s/done/%s", spool.path,
             name_of(&spool, "D1"));
    spool_close(&spool);
    assert_int_equal(unlink(path), 0);
    lose_registry(&spool);
    assert_true(rebuild(&spool) > 0);
    spool_open(&spool);
    assert_int_equal(spool_job(&spool, "D1").state, STATE_DONE);
    const char *again = spool_put_set(&spool, "D1", "DC", "", "f");
    spool_scan(&spool);
    assert_true(spool_has(&spool, BASE_REJECT, again));
    spool_end(&spool);
}

static void
junk_among_job_files_and_logs_is_reported_and_ignored(void **state) {
    struct spool spool;
    (void)state;
    make_busy(&spool);
    CLEANUP(text_free_string) char *before = describe(&spool);
    spool_write(&spool, BASE_QUEUE, "junk", SPAN("\x01\x02"));
    spool_write(&spool, BASE_DONE, spool_name("Z1", "DC"), SPAN("##job\n"));
    spool_write(&spool, BASE_LOG, "Z2", SPAN("\xff no log"));
    spool_write(&spool, BASE_LOG, "Z3", SPAN(""));
    spool_close(&spool);
    lose_registry(&spool);
    assert_true(rebuild(&spool) >= 4);
    spool_open(&spool);
    CLEANUP(text_free_string) char *after = describe(&spool);
    assert_same_text(before, after);
    assert_false(spool_knows(&spool, "Z1"));
    assert_false(spool_knows(&spool, "Z2"));
    spool_end(&spool);
}

static void rebuild_refuses_a_base_in_use(void **state) {
    struct spool spool;
    struct fsck_report report = {0};
    struct err err = {0};
    (void)state;
    make_busy(&spool);
    assert_false(rebuild_registry(spool.path, spool.now, &report, &err));
    assert_int_equal(err.kind, ERR_RUNNING);
    spool_end(&spool);
}

static void each_kind_of_damage_is_reported(void **state) {
    struct spool spool;
    (void)state;
    make_busy(&spool);
    spool_write(&spool, BASE_DATA, name_of(&spool, "Q1"), SPAN("other"));
    assert_int_equal(check(&spool), 1);
    assert_non_null(strstr(problems.p, "sum"));
    assert_int_equal(
        unlinkat(spool.base->dirs[BASE_DATA], name_of(&spool, "Q1"), 0), 0);
    assert_int_equal(check(&spool), 1);
    assert_non_null(strstr(problems.p, "tarball"));
    spool_write(&spool, BASE_QUEUE, name_of(&spool, "Q1"), SPAN("##job\n"));
    assert_int_equal(check(&spool), 2);
    assert_non_null(strstr(problems.p, "damaged"));
    CLEANUP(fd_close)
    int log = openat(spool.base->dirs[BASE_LOG], "S1", O_RDWR);
    assert_int_equal(ftruncate(log, 40), 0);
    assert_int_equal(check(&spool), 3);
    assert_int_equal(
        unlinkat(spool.base->dirs[BASE_STAGING], name_of(&spool, "S1"), 0), 0);
    assert_int_equal(check(&spool), 4);
    assert_non_null(strstr(problems.p, "no directory"));
    spool_write(&spool, BASE_RUN, spool_name("N1", "DC"), SPAN("x"));
    assert_int_equal(check(&spool), 5);
    assert_non_null(strstr(problems.p, "of an unknown set"));
    spool_end(&spool);
}

/* Replaces the first `from` in a log by `to`, of the same length. */
static void log_alter(struct spool *spool, const char *id, const char *from,
                      const char *to) {
    CLEANUP(fd_close)
    int log = openat(spool->base->dirs[BASE_LOG], id, O_RDWR);
    char bytes[8192];
    ssize_t got = pread(log, bytes, sizeof(bytes), 0);
    assert_true(got > 0);
    const char *at = memmem(bytes, (size_t)got, from, strlen(from));
    assert_non_null(at);
    assert_true(pwrite(log, to, strlen(to), at - bytes) > 0);
}

static void an_altered_event_is_named_by_its_number(void **state) {
    struct spool spool;
    struct arena arena = ARENA_INIT;
    struct store_event *events;
    size_t count;
    char words[64];
    (void)state;
    make_busy(&spool);
    assert_clean(&spool);
    uint64_t num = spool_job(&spool, "F1").num;
    assert_true(store_events(spool.base->store, 0, num, 0, &arena, &events,
                             &count, NULL));
    snprintf(words, sizeof(words), "set 'F1': event %llu was altered",
             (unsigned long long)events[count - 1].seq);
    log_alter(&spool, "F1", "exit-3", "exit-4");
    assert_int_equal(check(&spool), 1);
    assert_non_null(strstr(problems.p, words));
    log_alter(&spool, "F1", "exit-4", "exit-3");
    assert_clean(&spool);
    snprintf(words, sizeof(words), "set 'F1': event %llu was altered",
             (unsigned long long)events[0].seq);
    log_alter(&spool, "F1", "uid:", "uit:");
    assert_int_equal(check(&spool), 1);
    assert_non_null(strstr(problems.p, words));
    arena_clear(&arena);
    spool_end(&spool);
}

static void old_sets_are_archived_and_stay_known(void **state) {
    struct spool spool;
    struct prune_report report;
    struct err err = {0};
    (void)state;
    make_busy(&spool);
    const char *name = name_of(&spool, "D1");
    assert_true(prune(spool.base, spool.now, &report, &err));
    assert_int_equal(report.archived, 0);
    spool_write(&spool, BASE_TMP, "fresh", SPAN("x"));
    const char *orphan = spool_name("O1", "DC");
    spool_write(&spool, BASE_DATA, orphan, SPAN("x"));
    struct wall later = wall_add_ms(spool.now, INT64_C(91) * 24 * 3600 * 1000);
    assert_true(prune(spool.base, later, &report, &err));
    assert_int_equal(report.archived, 3); /* D1 F1 T1 */
    assert_int_equal(report.removed, 2);
    assert_true(spool_has(&spool, BASE_REJECT, orphan));
    assert_false(spool_has(&spool, BASE_DONE, name));
    assert_false(spool_has(&spool, BASE_DATA, name));
    assert_true(spool_has(&spool, BASE_ARCHIVE, name));
    assert_clean(&spool);
    CLEANUP(text_free_string) char *before = describe(&spool);
    spool_restart(&spool);
    assert_true(spool_has(&spool, BASE_ARCHIVE, name));
    assert_false(spool_has(&spool, BASE_DONE, name));
    spool_close(&spool);
    lose_registry(&spool);
    assert_int_equal(rebuild(&spool), 0);
    spool_open(&spool);
    CLEANUP(text_free_string) char *after = describe(&spool);
    assert_same_text(before, after);
    assert_clean(&spool);
    spool_end(&spool);
}

static bool is_there(const struct spool *spool, enum base_dir dir,
                     const char *name) {
    struct stat st;
    return fstatat(spool->base->dirs[dir], name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* After 36 hours, nothing that was refused or left is in tmp/ and data/. What a
 * live job needs stays, however old it is. */
static void leftovers_are_removed_in_time(void **state) {
    struct spool spool;
    struct prune_report report;
    struct err err = {0};
    (void)state;
    make_busy(&spool);
    const char *orphan = spool_name("O1", "DC"),
               *waits = spool_name("W1", "DC");
    const char *refused = spool_name("B1", "XX");
    spool_write(&spool, BASE_DATA, orphan, SPAN("x"));
    spool_write(&spool, BASE_DATA, "not a name", SPAN("x"));
    spool_put(&spool, refused, SPAN("x"));
    spool_scan(&spool);
    assert_false(is_there(&spool, BASE_DATA, refused));
    spool_write(&spool, BASE_PREQUEUE, waits, SPAN(""));
    spool_write(&spool, BASE_DATA, waits, SPAN("x"));
    int tmp = spool.base->dirs[BASE_TMP];
    static const char *const dirs[] = {"land.X1.1", "land.X1.1/tree",
                                       "land.D1.1", "land.D1.1/tree"};
    for (size_t i = 0; i < COUNT(dirs); i++)
        assert_int_equal(mkdirat(tmp, dirs[i], 0700), 0);
    static const char *const files[] = {
        "drop.999999999.1", "upload", "revert.X1", "move.1-2.main"};
    for (size_t i = 0; i < COUNT(files); i++)
        spool_write(&spool, BASE_TMP, files[i], SPAN("x"));
    /* A time that its owner has set says nothing. */
    const struct timespec future[2] = {{.tv_sec = INT32_MAX},
                                       {.tv_sec = INT32_MAX}};
    const struct timespec past[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    assert_int_equal(utimensat(tmp, "upload", past, 0), 0);
    assert_int_equal(utimensat(tmp, "drop.999999999.1", future, 0), 0);

    assert_true(prune(spool.base, clock_wall(), &report, &err));
    assert_int_equal(report.removed, 0);
    assert_true(is_there(&spool, BASE_TMP, "upload"));
    assert_true(prune(spool.base,
                      wall_add_ms(clock_wall(), INT64_C(37) * 3600 * 1000),
                      &report, &err));
    assert_false(is_there(&spool, BASE_DATA, orphan));
    assert_true(is_there(&spool, BASE_REJECT, orphan));
    assert_false(is_there(&spool, BASE_DATA, "not a name"));
    assert_true(is_there(&spool, BASE_DATA, waits));
    assert_false(is_there(&spool, BASE_TMP, "drop.999999999.1"));
    assert_false(is_there(&spool, BASE_TMP, "upload"));
    assert_false(is_there(&spool, BASE_TMP, "land.D1.1"));
    assert_true(is_there(&spool, BASE_TMP, "land.X1.1/tree"));
    assert_true(is_there(&spool, BASE_TMP, "revert.X1"));
    assert_true(is_there(&spool, BASE_TMP, "move.1-2.main"));
    assert_int_equal(report.removed, 5);
    spool_end(&spool);
}

/* One that cannot be moved away does not keep the others. */
static void leftover_that_cannot_be_removed_keeps_no_other(void **state) {
    struct spool spool;
    struct prune_report report;
    struct err err = {0};
    (void)state;
    spool_begin(&spool);
    const char *first = spool_name("A1", "DC"), *last = spool_name("Z1", "DC");
    spool_write(&spool, BASE_DATA, first, SPAN("x"));
    spool_write(&spool, BASE_DATA, last, SPAN("x"));
    spool_write(&spool, BASE_TMP, "upload", SPAN("x"));
    /* The note that says why cannot be written. */
    char why[300];
    snprintf(why, sizeof(why), "%s.why", first);
    assert_int_equal(mkdirat(spool.base->dirs[BASE_REJECT], why, 0700), 0);
    assert_true(prune(spool.base,
                      wall_add_ms(clock_wall(), INT64_C(37) * 3600 * 1000),
                      &report, &err));
    assert_true(is_there(&spool, BASE_DATA, first));
    assert_false(is_there(&spool, BASE_DATA, last));
    assert_false(is_there(&spool, BASE_TMP, "upload"));
    assert_int_equal(report.removed, 2);
    spool_end(&spool);
}

static int clear_problems(void **state) {
    (void)state;
    text_clear(&problems);
    return 0;
}

int main(int argc, char **argv) {
    SPOOL_MAIN(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_healthy_base_is_clean),
        cmocka_unit_test(a_rebuilt_registry_equals_the_lost_one),
        cmocka_unit_test(a_rebuild_twice_changes_nothing),
        cmocka_unit_test(a_set_without_a_log_belongs_to_the_owner_of_the_base),
        cmocka_unit_test(the_old_registry_is_kept),
        cmocka_unit_test(a_rebuild_is_logged_and_the_event_chain_is_valid),
        cmocka_unit_test(the_directory_wins_if_the_log_differs),
        cmocka_unit_test(a_set_in_run_has_an_attempt),
        cmocka_unit_test(a_set_with_only_its_log_left_keeps_its_id),
        cmocka_unit_test(junk_among_job_files_and_logs_is_reported_and_ignored),
        cmocka_unit_test(rebuild_refuses_a_base_in_use),
        cmocka_unit_test(each_kind_of_damage_is_reported),
        cmocka_unit_test(an_altered_event_is_named_by_its_number),
        cmocka_unit_test(old_sets_are_archived_and_stay_known),
        cmocka_unit_test(leftovers_are_removed_in_time),
        cmocka_unit_test(leftover_that_cannot_be_removed_keeps_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, clear_problems);
}
