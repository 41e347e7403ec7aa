#include "support/spool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"
#include "changes/placement.h"
#include "changes/set_log.h"
#include "serve/tables.h"
#include "support/tarball.h"

/* These replace the functions of libc, also for SQLite: the data of these tests
 * need not survive a power failure, and on a busy disk the tests would take
 * minutes. */
int fsync(int fd) {
    (void)fd;
    return 0;
}
int fdatasync(int fd) {
    (void)fd;
    return 0;
}
int syncfs(int fd) {
    (void)fd;
    return 0;
}

static void must(bool ok, const struct err *err) {
    if (!ok)
        fail_msg("%s", err->text);
}

static char *keep(const char *text) {
    static char *ring[16];
    static unsigned at;
    at = (at + 1) % 16;
    free(ring[at]);
    return ring[at] = mem_string(text);
}

void spool_begin(struct spool *spool) {
    static unsigned count;
    struct err err = {0};
    struct text path = TEXT_INIT;
    struct base_target target = {.name = SPAN("main"),
                                 .git = SPAN("nowhere.git")};
    text_addf(&path, "%s/base%u", test_dir(), count++);
    *spool = (struct spool){.path = text_take(&path), .now = clock_wall()};
    struct base_init init = {
        .path = spool->path, .targets = &target, .target_count = 1};
    must(base_init(&init, &err), &err);
    spool_open(spool);
}

void spool_open(struct spool *spool) {
    struct err err = {0};
    struct base_open how = {0};
    prequeue_kinds_use(serve_entry_kinds, serve_entry_kind_count);
    must(base_open(spool->path, &how, &spool->base, &err), &err);
    spool->checker = checker_new(spool->base, NULL, NULL);
    must(projection_open(spool->base, &spool->projection, &err), &err);
    must(projection_recover(spool->projection, spool->now, &err), &err);
    spool_run_until_idle(spool);
    spool->prequeue =
        prequeue_new(spool->base, spool->checker, spool->projection);
}

void spool_close(struct spool *spool) {
    prequeue_free(spool->prequeue);
    checker_free(spool->checker);
    projection_close(spool->projection);
    base_close(spool->base);
    spool->prequeue = NULL;
    spool->checker = NULL;
    spool->projection = NULL;
    spool->base = NULL;
}

void spool_end(struct spool *spool) {
    if (spool->base)
        spool_close(spool);
    free(spool->path);
}

void spool_restart(struct spool *spool) {
    spool_close(spool);
    spool_open(spool);
}

/* ---- making sets ----------------------------------------------------- */

const char *spool_name(const char *id, const char *set_class) {
    static int64_t second;
    char tai[TAI_TEXT_BYTES], name[256];
    struct wall at = wall_from_s(1700000000 + second++);
    snprintf(name, sizeof(name), "%s_%s_17_here_%s", id, tai_format(at, tai),
             set_class);
    return keep(name);
}

void spool_tar(struct text *out, const char *set_class, const char *sections,
               const char *files) {
    CLEANUP(text_clear) struct text meta = TEXT_INIT;
    struct span rest = span_of(files), path;
    text_addf(&meta, "##movetype\n%s\n##target\nmain\n", set_class);
    if (files[0])
        text_adds(&meta, "##files\n");
    while (span_cut(&rest, ' ', &path))
        if (path.len > 0)
            text_addf(&meta, "%.*s\n", (int)path.len, path.p);
    text_adds(&meta, sections);
    tarball_file(out, "meta", text_string(&meta));
    rest = span_of(files);
    while (span_cut(&rest, ' ', &path)) {
        char name[512];
        snprintf(name, sizeof(name), "lroot/%.*s", (int)path.len, path.p);
        if (path.len > 0)
            tarball_file(out, name, "content\n");
    }
    tarball_end(out);
}

void spool_write(struct spool *spool, enum base_dir dir, const char *name,
                 struct span bytes) {
    struct err err = {0};
    must(dir_write(spool->base->dirs[BASE_TMP], spool->base->dirs[dir], name,
                   bytes, 0640, DIR_LAZY, &err),
         &err);
}

void spool_put(struct spool *spool, const char *name, struct span tar) {
    spool_write(spool, BASE_DATA, name, tar);
    spool_write(spool, BASE_PREQUEUE, name, SPAN(""));
}

const char *spool_put_set(struct spool *spool, const char *id,
                          const char *set_class, const char *sections,
                          const char *files) {
    CLEANUP(text_clear) struct text tar = TEXT_INIT;
    const char *name = spool_name(id, set_class);
    char plain[3] = {set_class[0], set_class[1], 0};
    spool_tar(&tar, plain, sections, files);
    spool_put(spool, name, text_span(&tar));
    return name;
}

void spool_scan(struct spool *spool) {
    struct err err = {0};
    do {
        must(prequeue_scan(spool->prequeue, spool->now, &spool->next, &err),
             &err);
    } while (prequeue_is_due(spool->prequeue));
    spool_run_until_idle(spool);
}

void spool_admit(struct spool *spool, const char *id, const char *files) {
    (void)spool_put_set(spool, id, "DC", "", files);
    spool_scan(spool);
    assert_true(spool_knows(spool, id));
}

/* ---- steps ----------------------------------------------------------- */

/* The texts of the job are valid for the next seven calls. */
struct job spool_job(struct spool *spool, const char *id) {
    static struct arena ring[8];
    static unsigned at;
    struct arena *arena = &ring[at++ % COUNT(ring)];
    struct err err = {0};
    struct job job;
    bool found;
    arena_clear(arena);
    must(store_lookup(spool->base->store, span_of(id), arena, &job, &found,
                      &err),
         &err);
    if (!found)
        fail_msg("no set '%s'", id);
    return job;
}

bool spool_knows(struct spool *spool, const char *id) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct err err = {0};
    struct job job;
    bool found;
    must(store_lookup(spool->base->store, span_of(id), &arena, &job, &found,
                      &err),
         &err);
    return found;
}

void spool_step_only(struct spool *spool, const char *id, enum job_state to,
                     const char *reason) {
    struct err err = {0};
    struct job job = spool_job(spool, id);
    struct store_batch *batch = store_batch_new(spool->base->store);
    store_batch_actor(batch, spool->now, SPAN("daemon:test"));
    unsigned index = store_move(
        batch, &(struct store_move){.num = job.num,
                                    .from = job.state,
                                    .to = to,
                                    .reason = span_of(reason),
                                    .temps = strcmp(reason, "temp") == 0,
                                    .begin_attempt = to == STATE_EXECUTING});
    must(store_write(batch, &err), &err);
    assert_int_equal(store_batch_result(batch, index), STORE_DONE);
    store_batch_free(batch);
}

void spool_step(struct spool *spool, const char *id, enum job_state to,
                const char *reason) {
    spool_step_only(spool, id, to, reason);
    spool_run_until_idle(spool);
}

void spool_record(struct spool *spool, const char *id, const char *precursor) {
    struct err err = {0};
    struct job job = spool_job(spool, id);
    struct span to = span_of(precursor);
    struct store_batch *batch = store_batch_new(spool->base->store);
    store_batch_actor(batch, spool->now, SPAN("daemon:test"));
    store_record(batch, job.num, &to, precursor ? 1 : 0);
    must(store_write(batch, &err), &err);
    store_batch_free(batch);
}

void spool_run_until_idle(struct spool *spool) {
    struct err err = {0};
    must(projection_finish(spool->projection, spool->now, &err), &err);
}

/* ---- checks ---------------------------------------------------------- */

bool spool_has(struct spool *spool, enum base_dir dir, const char *name) {
    struct err err = {0};
    struct stat st;
    bool there;
    must(dir_stat(spool->base->dirs[dir], name, &st, &there, &err), &err);
    return there;
}

unsigned spool_dirs(struct spool *spool, const char *id) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job job = spool_job(spool, id);
    const char *name = arena_string(&arena, job.name);
    unsigned dirs = 0;
    for (int state = 0; state < JOB_STATES; state++)
        if (spool_has(spool, state, name))
            dirs |= STATE_BIT(state);
    return dirs;
}

static void assert_one(struct spool *spool, const struct job *job) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const char *id = arena_string(&arena, job->id);
    struct err err = {0};
    struct set_log log;
    struct store_event *events;
    size_t count;
    if (spool_dirs(spool, id) != STATE_BIT(job->state))
        fail_msg("set %s is %s, but is in the directories %#x", id,
                 job_state_word(job->state), spool_dirs(spool, id));
    assert_false(job->stale);
    assert_true(placement_is_good(spool->base, job->state, job));
    must(set_log_read(spool->base, job->id, &arena, &log, &err), &err);
    must(store_events(spool->base->store, 0, job->num, 10000, &arena, &events,
                      &count, &err),
         &err);
    assert_int_equal(log.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(log.events[i].seq, events[i].seq);
        assert_int_equal(log.events[i].kind, events[i].kind);
        assert_int_equal(log.events[i].from, events[i].from);
        assert_int_equal(log.events[i].to, events[i].to);
        assert_int_equal(log.events[i].attempt, events[i].attempt);
        assert_true(span_equal(log.events[i].actor, events[i].actor));
        assert_true(span_equal(log.events[i].reason, events[i].reason));
        assert_true(span_equal(log.events[i].detail, events[i].detail));
    }
}

void spool_assert_projected(struct spool *spool) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct err err = {0};
    struct store_list list = {.kinds = 1u << JOB_CHANGE, .limit = 100000};
    struct job *jobs;
    size_t count;
    must(store_jobs(spool->base->store, &list, &arena, &jobs, &count, &err),
         &err);
    for (size_t i = 0; i < count; i++)
        assert_one(spool, &jobs[i]);
}

const char *spool_text(struct spool *spool, enum base_dir dir,
                       const char *name) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct err err = {0};
    must(dir_read(spool->base->dirs[dir], name, 8 << 20, &text, &err), &err);
    return keep(text_string(&text));
}

unsigned spool_count(struct spool *spool, enum base_dir dir) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct err err = {0};
    struct span *names;
    size_t count;
    must(dir_list(spool->base->dirs[dir], &arena, &names, &count, &err), &err);
    return (unsigned)count;
}

void spool_check(struct spool *spool, struct fsck_report *report) {
    struct config *config = &spool->base->config;
    size_t targets = config->target_count;
    struct err err = {0};

    config->target_count = 0;
    if (!fsck_check(spool->base, report, &err))
        fail_msg("%s", err.text);
    config->target_count = targets;
}
