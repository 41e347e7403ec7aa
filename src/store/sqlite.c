/* The SQLite backend: opening and closing, the store thread, group commit.
 *
 * Batches submitted while a commit is under way go into the next one,
 * together: under load one sync serves many batches; without load each is
 * served at once. A full disk, or a lock held by another process, fails all
 * batches of that transaction and undoes them; any other failure of the file
 * ends the store, because what a failed sync left behind cannot be known
 * (the kernel may have dropped the pages and report success the next time). */
#include "store/sqlite.h"
#include "store/schema.h"
#include "store/simulated.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { BUSY_MS = 10000 };

/* ---- one transaction ---------------------------------------------------- */

static void batch_fail(struct store_batch *batch, const struct err *err) {
    batch->ok = false;
    batch->err = *err;
    store_batch_forget(batch);
}

static void fail_all(struct list *batches, const struct err *err) {
    LIST_EACH (batches, link)
        batch_fail(LIST_OF(link, struct store_batch, link), err);
}

/* Syncs the files that a batch refers to, before the lock is taken: others
 * may write meanwhile. False: only this batch fails. */
static bool files_sync(struct store_batch *batch) {
    const struct op *last = NULL;
    for (unsigned i = 0; batch->sync_count > 0 && i < batch->count; i++) {
        const struct op *op = &batch->ops[i];
        if (op->kind != OP_SYNC_FIRST || (last && op->sync.fd == last->sync.fd))
            continue;
        last = op;
        if ((op->sync.filesystem ? syncfs : fdatasync)(op->sync.fd) != 0)
            return err_errno(&batch->err, errno, "cannot sync output file");
    }
    return true;
}

static void set_committing(struct sqlite *sqlite, uint64_t seq) {
    pthread_mutex_lock(&sqlite->lock);
    sqlite->committing_seq = seq;
    pthread_mutex_unlock(&sqlite->lock);
}

/* The number changes when another connection commits, in any process. */
static bool data_version(struct sqlite_db *db, int64_t *ret_version,
                         struct err *err) {
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement(db, SQL_DATA_VERSION, err);
    bool row;
    if (!stmt || !sqlite_db_step(db, stmt, &row, err))
        return false;
    *ret_version = row ? sqlite3_column_int64(stmt, 0) : 0;
    return true;
}

static bool transact(struct sqlite *sqlite, struct list *batches,
                     struct err *err) {
    struct sqlite_db *db = &sqlite->writer;
    struct apply *apply = &sqlite->apply;
    struct head head;
    int64_t version;
    if (!sqlite_db_plain(db, SQL_BEGIN, err) ||
        !sqlite_db_head(db, &head, err) || !data_version(db, &version, err))
        return false;
    if (version != sqlite->written_version)
        apply_forget(apply);
    sqlite->written_version = version;
    set_committing(sqlite, head.seq + 1);
    apply_begin(apply, &head);
    LIST_EACH (batches, link) {
        struct store_batch *batch = LIST_OF(link, struct store_batch, link);
        if (batch->ok && !apply_batch(apply, batch, err))
            return false;
    }
    if (!apply_write(apply, err))
        return false;
    if (memcmp(&apply->head, &head, sizeof(head)) != 0 &&
        !sqlite_db_head_put(db, &apply->head, err))
        return false;
    return sqlite_db_plain(db, SQL_COMMIT, err);
}

/* After a failure: classifies it, and decides whether the store may live on. */
static void give_up(struct sqlite *sqlite, const struct err *err) {
    struct sqlite_db *db = &sqlite->writer;
    bool passes = sqlite_db_is_busy(db) || sqlite_db_is_full(db);
    apply_forget(&sqlite->apply);
    sqlite_rows_forget_events(db);
    if (!sqlite3_get_autocommit(db->sqlite) &&
        sqlite3_exec(db->sqlite, "ROLLBACK", NULL, NULL, NULL) != SQLITE_OK)
        passes = false;
    if (passes)
        return;
    sqlite->fatal = true;
    sqlite->fatal_err = *err;
    err_wrap(&sqlite->fatal_err, "the registry must be opened again");
}

/* Commits the whole list, which is not empty, as one transaction; each batch
 * gets its answer. */
static void commit_group(struct sqlite *sqlite, struct list *batches) {
    struct err err = {0};
    bool any = false;
    if (sqlite->read_only) {
        err_set(&err, ERR_DENIED,
                "cannot write to registry '%s': it was opened for reading",
                sqlite->reader->path);
        fail_all(batches, &err);
        return;
    }
    if (sqlite->fatal) {
        fail_all(batches, &sqlite->fatal_err);
        return;
    }
    LIST_EACH (batches, link) {
        struct store_batch *batch = LIST_OF(link, struct store_batch, link);
        batch->ok = files_sync(batch);
        batch->unsynced = !batch->ok;
        any = any || (batch->ok && batch->count > batch->sync_count);
    }
    if (any && !transact(sqlite, batches, &err)) {
        give_up(sqlite, &err);
        fail_all(batches, &err);
    }
}

/* ---- the store thread --------------------------------------------------- */

static void splice(struct list *from, struct list *to) {
    struct list *link;
    while ((link = list_pop(from)) != NULL)
        list_push(to, link);
}

/* Commits one group, if anything is queued. Called and left with the lock
 * held. */
static void one_group(struct sqlite *sqlite) {
    struct list group;
    list_init(&group);
    splice(&sqlite->queued, &group);
    if (list_empty(&group))
        return;
    pthread_mutex_unlock(&sqlite->lock);
    commit_group(sqlite, &group);
    pthread_mutex_lock(&sqlite->lock);
    sqlite->committing_seq = 0;
    splice(&group, &sqlite->answered);
}

static void *store_thread(void *arg) {
    struct sqlite *sqlite = arg;
    pthread_mutex_lock(&sqlite->lock);
    for (;;) {
        while (list_empty(&sqlite->queued) && !sqlite->stop)
            pthread_cond_wait(&sqlite->work, &sqlite->lock);
        if (list_empty(&sqlite->queued))
            break;
        one_group(sqlite);
        pthread_cond_signal(&sqlite->answer);
        pthread_mutex_unlock(&sqlite->lock);
        if (sqlite->wake)
            sqlite->wake(sqlite->wake_ctx);
        pthread_mutex_lock(&sqlite->lock);
    }
    pthread_mutex_unlock(&sqlite->lock);
    return NULL;
}

static bool thread_start(struct sqlite *sqlite, struct err *err) {
    sigset_t all, before;
    sigfillset(&all); /* signals are the owner's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&sqlite->thread, NULL, store_thread, sqlite);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc == 0 || err_errno(err, rc, "cannot start the store thread");
}

static void backend_submit(struct store *store, struct store_batch *batch) {
    struct sqlite *sqlite = sqlite_of(store);
    pthread_mutex_lock(&sqlite->lock);
    list_push(&sqlite->queued, &batch->link);
    sqlite->under_way++;
    pthread_cond_signal(&sqlite->work);
    pthread_mutex_unlock(&sqlite->lock);
}

static void backend_commit(struct store *store, bool wait) {
    struct sqlite *sqlite = sqlite_of(store);
    pthread_mutex_lock(&sqlite->lock);
    if (!sqlite->own_thread)
        one_group(sqlite);
    else if (wait)
        while (list_empty(&sqlite->answered) && sqlite->under_way > 0)
            pthread_cond_wait(&sqlite->answer, &sqlite->lock);
    pthread_mutex_unlock(&sqlite->lock);
}

static struct store_batch *backend_take(struct store *store) {
    struct sqlite *sqlite = sqlite_of(store);
    pthread_mutex_lock(&sqlite->lock);
    struct list *link = list_pop(&sqlite->answered);
    sqlite->under_way -= link != NULL;
    pthread_mutex_unlock(&sqlite->lock);
    return link ? LIST_OF(link, struct store_batch, link) : NULL;
}

static bool backend_is_idle(struct store *store) {
    struct sqlite *sqlite = sqlite_of(store);
    pthread_mutex_lock(&sqlite->lock);
    bool idle = sqlite->under_way == 0;
    pthread_mutex_unlock(&sqlite->lock);
    return idle;
}

static uint64_t backend_own_first_seq(struct store *store) {
    struct sqlite *sqlite = sqlite_of(store);
    uint64_t seq = UINT64_MAX;
    pthread_mutex_lock(&sqlite->lock);
    if (sqlite->committing_seq != 0)
        seq = sqlite->committing_seq;
    LIST_EACH (&sqlite->answered, link) {
        struct store_batch *batch = LIST_OF(link, struct store_batch, link);
        if (!batch->ok || batch->event_count == 0)
            continue;
        seq = batch->events[0].seq;
        break;
    }
    pthread_mutex_unlock(&sqlite->lock);
    return seq;
}

/* ---- what others did ---------------------------------------------------- */

static bool backend_changed(struct store *store, bool *ret_changed,
                            struct err *err) {
    struct sqlite *sqlite = sqlite_of(store);
    int64_t version;
    if (!data_version(sqlite->reader, &version, err))
        return false;
    *ret_changed = version != sqlite->seen_version;
    sqlite->seen_version = version;
    return true;
}

static bool backend_last_seq(struct store *store, uint64_t *ret_seq,
                             struct err *err) {
    struct head head;
    if (!sqlite_db_head(sqlite_reader(store), &head, err))
        return false;
    *ret_seq = head.seq;
    return true;
}

static bool backend_count(struct store *store, struct store_tally *ret_tally,
                          struct err *err) {
    struct head head;
    if (!sqlite_db_head(sqlite_reader(store), &head, err))
        return false;
    *ret_tally = head.tally;
    return true;
}

static struct store_tables *backend_tables(struct store *store) {
    return (struct store_tables *)(void *)sqlite_reader(store);
}

static int backend_version(struct store *store) {
    (void)store; /* every other version is refused or migrated when opened */
    return store_last_step();
}

/* ---- open and close ----------------------------------------------------- */

static const struct store_backend sqlite_backend;

static struct sqlite *sqlite_new(void) {
    struct sqlite *sqlite = mem_alloc(sizeof(*sqlite));
    sqlite->reader = &sqlite->own_reader;
    pthread_mutex_init(&sqlite->lock, NULL);
    pthread_cond_init(&sqlite->work, NULL);
    pthread_cond_init(&sqlite->answer, NULL);
    list_init(&sqlite->queued);
    list_init(&sqlite->answered);
    apply_init(&sqlite->apply, &sqlite_rows,
               (struct rows *)(void *)&sqlite->writer);
    store_init(&sqlite->store, &sqlite_backend, 0);
    return sqlite;
}

static void sqlite_free(struct sqlite *sqlite) {
    /* After a failed sync nothing more may be written, least of all by a
     * last checkpoint. */
    if (sqlite->fatal) {
        sqlite3_db_config(sqlite->writer.sqlite,
                          SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        sqlite3_db_config(sqlite->reader->sqlite,
                          SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    }
    sqlite_db_close(&sqlite->own_reader);
    sqlite_db_close(&sqlite->writer);
    apply_clear(&sqlite->apply);
    pthread_mutex_destroy(&sqlite->lock);
    pthread_cond_destroy(&sqlite->work);
    pthread_cond_destroy(&sqlite->answer);
    free(sqlite);
}

static void drop_all(struct sqlite *sqlite, struct list *batches) {
    struct list *link;
    while ((link = list_pop(batches)) != NULL) {
        store_batch_free(LIST_OF(link, struct store_batch, link));
        sqlite->under_way--;
    }
}

static void backend_close(struct store *store) {
    struct sqlite *sqlite = sqlite_of(store);
    if (sqlite->own_thread) {
        pthread_mutex_lock(&sqlite->lock);
        sqlite->stop = true;
        pthread_cond_signal(&sqlite->work);
        pthread_mutex_unlock(&sqlite->lock);
        pthread_join(sqlite->thread, NULL);
    } else {
        backend_commit(store, true);
    }
    drop_all(sqlite, &sqlite->answered);
    sqlite_free(sqlite);
}

static bool open_writer(struct sqlite *sqlite, const char *path, bool create,
                        bool keep_version, unsigned busy_ms, struct err *err) {
    int flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0);
    struct sqlite_db *db = &sqlite->writer;
    return sqlite_db_open(db, path, flags, busy_ms, err) &&
           sqlite_db_run(db, "PRAGMA journal_mode = WAL", err) &&
           sqlite_migrate(db, keep_version, err);
}

static bool open_reader(struct sqlite *sqlite, const char *path,
                        unsigned busy_ms, struct err *err) {
    int flags =
        sqlite->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    struct sqlite_db *db = sqlite->reader;
    return sqlite_db_open(db, path, flags, busy_ms, err) &&
           sqlite_db_run(db, "PRAGMA query_only = ON", err) &&
           sqlite_migrate(db, true, err);
}

static bool file_is_there(const char *path, bool read_only, struct err *err) {
    if (access(path, read_only ? R_OK : R_OK | W_OK) == 0)
        return true;
    if (errno == ENOENT)
        return err_set(err, ERR_CANNOT,
                       "no registry '%s': create one with `pointsman init`",
                       path);
    return err_errno(err, errno, "cannot open registry '%s'", path);
}

bool store_sqlite_open(const char *path, const struct store_options *options,
                       struct store **ret_store, struct err *err) {
    static const struct store_options usual = {0};
    const struct store_options *o = options ? options : &usual;
    unsigned busy_ms = o->busy_ms ? o->busy_ms : BUSY_MS;
    bool create = o->create && !o->read_only;
    if (!create && !file_is_there(path, o->read_only, err))
        return false;
    struct sqlite *sqlite = sqlite_new();
    sqlite->read_only = o->read_only;
    sqlite->wake = o->wake;
    sqlite->wake_ctx = o->wake_ctx;
    uint64_t seq = 0;
    bool well = (o->read_only || open_writer(sqlite, path, create,
                                             o->keep_version, busy_ms, err)) &&
                open_reader(sqlite, path, busy_ms, err) &&
                backend_last_seq(&sqlite->store, &seq, err);
    sqlite->store.seq = seq;
    if (well && o->own_thread && !o->read_only)
        well = sqlite->own_thread = thread_start(sqlite, err);
    if (!well) {
        sqlite_free(sqlite);
        return false;
    }
    *ret_store = &sqlite->store;
    return true;
}

/* ---- in memory ---------------------------------------------------------- */

/* One connection serves both: two would not see the same database. */
struct store *store_new_sqlite(void) {
    enum { FLAGS = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE };
    struct sqlite *sqlite = sqlite_new();
    struct sqlite_db *db = sqlite->reader = &sqlite->writer;
    struct err err;
    bool well = sqlite_db_open(db, ":memory:", FLAGS, BUSY_MS, &err) &&
                sqlite_migrate(db, false, &err);
    assert(well); /* no file could be wrong */
    return &sqlite->store;
}

static void backend_overtake(struct store *store) {
    struct sqlite *sqlite = sqlite_of(store);
    assert(!sqlite->own_thread);
    store_overtake(&sqlite->queued);
}

static void backend_crash(struct store *store) {
    struct sqlite *sqlite = sqlite_of(store);
    uint64_t seq = 0;
    assert(!sqlite->own_thread);
    drop_all(sqlite, &sqlite->queued);
    drop_all(sqlite, &sqlite->answered);
    bool well = backend_last_seq(store, &seq, NULL);
    assert(well);
    store_forget(store, seq);
}

static const struct store_backend sqlite_backend = {
    .close = backend_close,
    .submit = backend_submit,
    .commit = backend_commit,
    .take = backend_take,
    .is_idle = backend_is_idle,
    .overtake = backend_overtake,
    .crash = backend_crash,
    .changed = backend_changed,
    .own_first_seq = backend_own_first_seq,
    .last_seq = backend_last_seq,
    .by_num = sqlite_by_num,
    .by_id = sqlite_by_id,
    .last = sqlite_last,
    .ids = sqlite_ids,
    .jobs = sqlite_jobs,
    .ready = sqlite_ready,
    .edges_from = sqlite_edges_from,
    .edges_to = sqlite_edges_to,
    .touches = sqlite_touches,
    .touching = sqlite_touching,
    .attempts = sqlite_attempts,
    .attempts_latest = sqlite_attempts_latest,
    .attempt_find = sqlite_attempt_find,
    .tasks = sqlite_tasks,
    .task_find = sqlite_task_find,
    .task_counts = sqlite_task_counts,
    .tasks_ended = sqlite_tasks_ended,
    .events = sqlite_events,
    .rollback = sqlite_rollback,
    .setting = sqlite_setting,
    .settings = sqlite_settings,
    .tables = backend_tables,
    .count = backend_count,
    .verify = sqlite_verify,
    .backup = sqlite_backup,
    .version = backend_version,
};
