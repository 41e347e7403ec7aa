#include "store/sqlite_db.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const char *const statement_texts[] = {
#define STATEMENT(name, sql) sql,
#include "store/sqlite.def"
#undef STATEMENT
};

/* ---- errors ------------------------------------------------------------- */

bool sqlite_db_is_full(const struct sqlite_db *db) {
    int code = sqlite3_extended_errcode(db->sqlite);
    if ((code & 0xff) == SQLITE_FULL)
        return true;
    int sys = sqlite3_system_errno(db->sqlite);
    return (code & 0xff) == SQLITE_IOERR && code != SQLITE_IOERR_FSYNC &&
           code != SQLITE_IOERR_DIR_FSYNC && (sys == ENOSPC || sys == EDQUOT);
}

bool sqlite_db_is_busy(const struct sqlite_db *db) {
    int code = sqlite3_errcode(db->sqlite) & 0xff;
    return code == SQLITE_BUSY || code == SQLITE_LOCKED;
}

/* errno of a read that failed in this thread since the statement began. SQLite
 * reports EIO as SQLITE_CORRUPT, and forgets the errno. */
static _Thread_local int failed_read;

static ssize_t watched_pread(int fd, void *block, size_t bytes, off_t at) {
    ssize_t got = pread(fd, block, bytes, at);
    if (got < 0 && errno != EINTR)
        failed_read = errno;
    return got;
}

static ssize_t watched_read(int fd, void *block, size_t bytes) {
    ssize_t got = read(fd, block, bytes);
    if (got < 0 && errno != EINTR)
        failed_read = errno;
    return got;
}

/* SQLite writes to one byte in each 4 KiB of the file that it maps (the index
 * of the WAL), which reserves smaller blocks only in part: if the disk were
 * full, the first write to another one would end the process by SIGBUS. */
static void *reserved_mmap(void *at, size_t bytes, int access, int flags,
                           int fd, off_t begin) {
    int result = 0;
    if ((access & PROT_WRITE) != 0)
        do
            result = fallocate(fd, 0, begin, (off_t)bytes);
        while (result != 0 && errno == EINTR);
    /* Not every file system can reserve. */
    if (result != 0 && (errno == ENOSPC || errno == EDQUOT))
        return MAP_FAILED;
    return mmap(at, bytes, access, flags, fd, begin);
}

static void replace_calls(void) {
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    if (vfs == NULL || vfs->iVersion < 3)
        return;
    /* Whichever of these it was built to use. */
    vfs->xSetSystemCall(vfs, "pread", (sqlite3_syscall_ptr)watched_pread);
    vfs->xSetSystemCall(vfs, "pread64", (sqlite3_syscall_ptr)watched_pread);
    vfs->xSetSystemCall(vfs, "read", (sqlite3_syscall_ptr)watched_read);
    vfs->xSetSystemCall(vfs, "mmap", (sqlite3_syscall_ptr)reserved_mmap);
}

/* 0: the disk did not fail. */
static int disk_error(const struct sqlite_db *db) {
    int code = sqlite3_errcode(db->sqlite) & 0xff;
    int sys = sqlite3_system_errno(db->sqlite);
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
        return failed_read;
    if (code != SQLITE_IOERR || sqlite_db_is_full(db))
        return 0;
    return sys != 0 ? sys : failed_read != 0 ? failed_read : EIO;
}

int sqlite_db_take_failed_read(void) {
    int sys = failed_read;
    failed_read = 0;
    return sys;
}

static enum err_kind kind_of(const struct sqlite_db *db) {
    int sys = sqlite3_system_errno(db->sqlite);
    if (disk_error(db) != 0)
        return ERR_CANNOT;
    switch (sqlite3_errcode(db->sqlite) & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_NOMEM:
    case SQLITE_FULL:
        return ERR_TEMPORARY;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return ERR_DENIED;
    case SQLITE_CANTOPEN:
        return sys == EACCES || sys == EPERM ? ERR_DENIED : ERR_CANNOT;
    case SQLITE_IOERR:
        return sys == ENOSPC || sys == EDQUOT ? ERR_TEMPORARY : ERR_CANNOT;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return ERR_DATA;
    default:
        return ERR_INTERNAL;
    }
}

static const char *advice(enum err_kind kind, bool busy, bool full) {
    if (busy)
        return ": another process is writing, try again";
    if (full)
        return ": free some space, then try again";
    return kind == ERR_DATA
               ? ": restore it from a backup, or rebuild it with fsck --rebuild"
               : "";
}

bool sqlite_db_disk_failed(struct sqlite_db *db, const char *what, int sys,
                           struct err *err) {
    err_set(err, ERR_CANNOT,
            "cannot %s registry '%s': %s: check the disk and the log of the "
            "kernel",
            what, db->path, strerrordesc_np(sys));
    if (err)
        err->sys = sys;
    return false;
}

bool sqlite_db_fail(struct sqlite_db *db, const char *what, struct err *err) {
    enum err_kind kind = kind_of(db);
    int sys = sqlite3_system_errno(db->sqlite), disk_sys = disk_error(db);
    (void)sqlite_db_take_failed_read();
    if (disk_sys != 0)
        return sqlite_db_disk_failed(db, what, disk_sys, err);
    /* The text is printed before err_set: its format may not refer to err
     * itself. */
    err_set(err, kind, "cannot %s registry '%s': %s%s%s%s%s", what, db->path,
            sqlite3_errmsg(db->sqlite), sys ? " (" : "",
            sys ? strerror(sys) : "", sys ? ")" : "",
            advice(kind, sqlite_db_is_busy(db), sqlite_db_is_full(db)));
    if (err)
        err->sys = sys;
    return false;
}

/* ---- open and close ----------------------------------------------------- */

/* Short waits first: writers hold the lock for milliseconds. Each wait
 * counts with the time it asked for, so the sum is bounded. */
static int wait_for_lock(void *ctx, int tries) {
    static const unsigned waits_ms[] = {1, 2, 5, 10, 15, 20, 25, 50};
    const struct sqlite_db *db = ctx;
    unsigned waited_ms = 0;
    for (int i = 0; i < tries; i++) {
        size_t at =
            (size_t)i < COUNT(waits_ms) ? (size_t)i : COUNT(waits_ms) - 1;
        waited_ms += waits_ms[at];
        if (waited_ms >= db->busy_ms)
            return 0;
    }
    size_t at =
        (size_t)tries < COUNT(waits_ms) ? (size_t)tries : COUNT(waits_ms) - 1;
    struct timespec pause = {0, (long)waits_ms[at] * 1000000L};
    nanosleep(&pause, NULL);
    return 1;
}

bool sqlite_db_run(struct sqlite_db *db, const char *sql, struct err *err) {
    failed_read = 0;
    if (sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL) == SQLITE_OK)
        return true;
    return sqlite_db_fail(db, "use", err);
}

bool sqlite_db_number(struct sqlite_db *db, const char *sql,
                      int64_t *ret_number, struct err *err) {
    CLEANUP(sqlite_stmt_end) sqlite3_stmt *stmt = NULL;
    failed_read = 0;
    bool well =
        sqlite3_prepare_v2(db->sqlite, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW;
    if (well)
        *ret_number = sqlite3_column_int64(stmt, 0);
    else
        sqlite_db_fail(db, "read", err);
    sqlite3_finalize(stmt);
    stmt = NULL;
    return well;
}

/* Counting every byte under a global lock costs a tenth of each statement.
 * An error means only that SQLite was already in use: slower, not wrong. */
static void configure(void) {
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 1200, 400);
    replace_calls();
}

static pthread_once_t configured = PTHREAD_ONCE_INIT;

bool sqlite_db_open(struct sqlite_db *db, const char *path, int flags,
                    unsigned busy_ms, struct err *err) {
    *db = (struct sqlite_db){.path = mem_string(path), .busy_ms = busy_ms};
    pthread_once(&configured, configure);
    if (sqlite3_open_v2(path, &db->sqlite, flags | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK)
        return sqlite_db_fail(db, "open", err);
    sqlite3_extended_result_codes(db->sqlite, 1);
    sqlite3_busy_handler(db->sqlite, wait_for_lock, db);
    /* The WAL file stays when the last connection closes: a user who may
     * only read can then open the registry although no other process has it
     * open. */
    int keep = 1;
    sqlite3_file_control(db->sqlite, "main", SQLITE_FCNTL_PERSIST_WAL, &keep);
    return sqlite_db_run(db,
                         "PRAGMA synchronous = FULL;"
                         "PRAGMA cache_size = -32768;"
                         "PRAGMA temp_store = MEMORY;"
                         "PRAGMA secure_delete = OFF;"
                         "PRAGMA wal_autocheckpoint = 4000;"
                         "PRAGMA journal_size_limit = 67108864;"
                         "PRAGMA trusted_schema = OFF",
                         err);
}

void sqlite_db_close(struct sqlite_db *db) {
    for (size_t i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(db->statements[i]);
    for (size_t i = 0; i < LIST_STATEMENTS; i++) {
        sqlite3_finalize(db->lists[i].stmt);
        free(db->lists[i].sql);
    }
    sqlite_nouns_close(db);
    int rc = sqlite3_close(db->sqlite);
    assert(rc == SQLITE_OK); /* else a statement was not ended */
    free(db->path);
    text_clear(&db->events.lines);
    *db = (struct sqlite_db){0};
}

/* ---- statements --------------------------------------------------------- */

bool sqlite_db_prepare(struct sqlite_db *db, const char *sql,
                       sqlite3_stmt **ret_stmt, struct err *err) {
    failed_read = 0;
    return sqlite3_prepare_v3(db->sqlite, sql, -1, SQLITE_PREPARE_PERSISTENT,
                              ret_stmt, NULL) == SQLITE_OK ||
           sqlite_db_fail(db, "read", err);
}

sqlite3_stmt *sqlite_db_statement(struct sqlite_db *db, enum statement which,
                                  struct err *err) {
    sqlite3_stmt **stmt = &db->statements[which];
    if (!*stmt)
        sqlite_db_prepare(db, statement_texts[which], stmt, err);
    return *stmt;
}

sqlite3_stmt *sqlite_db_list_statement(struct sqlite_db *db, const char *sql,
                                       struct err *err) {
    for (size_t i = 0; i < LIST_STATEMENTS; i++)
        if (db->lists[i].sql && strcmp(db->lists[i].sql, sql) == 0)
            return db->lists[i].stmt;
    sqlite3_stmt *stmt = NULL;
    if (!sqlite_db_prepare(db, sql, &stmt, err))
        return NULL;
    unsigned place = db->next_list++ % LIST_STATEMENTS;
    sqlite3_finalize(db->lists[place].stmt);
    free(db->lists[place].sql);
    db->lists[place].stmt = stmt;
    db->lists[place].sql = mem_string(sql);
    return stmt;
}

sqlite3_stmt *sqlite_db_statement_num(struct sqlite_db *db,
                                      enum statement which, uint64_t num,
                                      struct err *err) {
    sqlite3_stmt *stmt = sqlite_db_statement(db, which, err);
    if (stmt)
        sqlite_bind_u64(stmt, 1, num);
    return stmt;
}

void sqlite_stmt_end(sqlite3_stmt **stmt) {
    if (*stmt)
        sqlite3_reset(*stmt);
}

bool sqlite_db_step(struct sqlite_db *db, sqlite3_stmt *stmt, bool *ret_row,
                    struct err *err) {
    failed_read = 0;
    int rc = sqlite3_step(stmt);
    *ret_row = rc == SQLITE_ROW;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ||
           sqlite_db_fail(db, "read", err);
}

bool sqlite_db_do(struct sqlite_db *db, sqlite3_stmt *stmt, struct err *err) {
    failed_read = 0;
    int rc = sqlite3_step(stmt);
    assert(rc != SQLITE_ROW);
    return rc == SQLITE_DONE || sqlite_db_fail(db, "write to", err);
}

bool sqlite_db_plain(struct sqlite_db *db, enum statement which,
                     struct err *err) {
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement(db, which, err);
    return stmt && sqlite_db_do(db, stmt, err);
}

bool sqlite_db_read_begin(struct sqlite_db *db, struct err *err) {
    return sqlite_db_plain(db, SQL_READ, err);
}

void sqlite_db_read_end(struct sqlite_db *db) {
    sqlite_db_plain(db, SQL_COMMIT, NULL);
}

/* ---- values ------------------------------------------------------------- */

void sqlite_bind_span(sqlite3_stmt *stmt, int place, struct span span) {
    sqlite3_bind_text64(stmt, place, span.p ? span.p : "", span.len,
                        SQLITE_STATIC, SQLITE_UTF8);
}

void sqlite_bind_bytes(sqlite3_stmt *stmt, int place, struct span span) {
    sqlite3_bind_blob64(stmt, place, span.p ? span.p : "", span.len,
                        SQLITE_STATIC);
}

void sqlite_bind_word(sqlite3_stmt *stmt, int place, const char *word) {
    sqlite_bind_span(stmt, place, span_of(word));
}

void sqlite_bind_state(sqlite3_stmt *stmt, int place, enum job_state state) {
    sqlite_bind_span(stmt, place, job_state_letter_span(state));
}

void sqlite_bind_u64(sqlite3_stmt *stmt, int place, uint64_t value) {
    sqlite3_bind_int64(stmt, place, (sqlite3_int64)value);
}

void sqlite_bind_limit(sqlite3_stmt *stmt, int place, size_t limit) {
    sqlite3_bind_int64(stmt, place, limit ? (sqlite3_int64)limit : INT64_MAX);
}

void sqlite_bind_wall(sqlite3_stmt *stmt, int place, struct wall wall) {
    sqlite3_bind_int64(stmt, place, wall.ns);
}

struct span sqlite_column_peek(sqlite3_stmt *stmt, int column) {
    const void *p = sqlite3_column_blob(stmt, column);
    int bytes = sqlite3_column_bytes(stmt, column);
    return p ? span_make(p, (size_t)bytes) : SPAN("");
}

struct span sqlite_column_span(sqlite3_stmt *stmt, int column,
                               struct arena *arena) {
    struct span span = sqlite_column_peek(stmt, column);
    return span.len ? arena_span(arena, span) : SPAN("");
}

uint64_t sqlite_column_u64(sqlite3_stmt *stmt, int column) {
    return (uint64_t)sqlite3_column_int64(stmt, column);
}

unsigned sqlite_column_unsigned(sqlite3_stmt *stmt, int column) {
    return (unsigned)sqlite3_column_int64(stmt, column);
}

struct wall sqlite_column_wall(sqlite3_stmt *stmt, int column) {
    return (struct wall){sqlite3_column_int64(stmt, column)};
}

enum job_state sqlite_column_state(sqlite3_stmt *stmt, int column) {
    struct span letter = sqlite_column_peek(stmt, column);
    enum job_state state = STATE_NONE;
    if (letter.len == 1)
        job_state_of_letter(letter.p[0], &state);
    return state;
}

static bool column_words(sqlite3_stmt *stmt, struct job *job, struct err *err) {
    job->state = sqlite_column_state(stmt, 4);
    if (job_kind_parse(sqlite_column_peek(stmt, 2), &job->kind) &&
        job_class_parse(sqlite_column_peek(stmt, 3), &job->job_class) &&
        job->state != STATE_NONE)
        return true;
    return err_set(err, ERR_DATA,
                   "job '%.*s' in the registry has a kind, class or state that "
                   "this program does not know",
                   (int)job->id.len, job->id.p);
}

bool sqlite_column_job(sqlite3_stmt *stmt, struct arena *arena,
                       struct job *ret_job, struct err *err) {
    struct job *job = ret_job;
    *job = (struct job){
        .num = sqlite_column_u64(stmt, 0),
        .id = sqlite_column_span(stmt, 1, arena),
        .rank = sqlite_column_span(stmt, 5, arena),
        .reason = sqlite_column_span(stmt, 6, arena),
        .detail = sqlite_column_span(stmt, 7, arena),
        .holds = sqlite_column_unsigned(stmt, 8),
        .attempt = sqlite_column_unsigned(stmt, 9),
        .temps = sqlite_column_unsigned(stmt, 10),
        .crashes = sqlite_column_unsigned(stmt, 11),
        .fails = sqlite_column_unsigned(stmt, 12),
        .tasks = sqlite_column_unsigned(stmt, 13),
        .tasks_done = sqlite_column_unsigned(stmt, 14),
        .since = sqlite_column_wall(stmt, 15),
        .not_before = sqlite_column_wall(stmt, 16),
        .state_seq = sqlite_column_u64(stmt, 17),
        .record_seq = sqlite_column_u64(stmt, 18),
        .has_relations = sqlite_column_unsigned(stmt, 19) != 0,
        .cancel_asked = sqlite_column_unsigned(stmt, 20) != 0,
        .stale = sqlite_column_unsigned(stmt, 21) != 0,
        .target = sqlite_column_span(stmt, 23, arena),
        .name = sqlite_column_span(stmt, 24, arena),
        .actor = sqlite_column_span(stmt, 25, arena),
        .cause = sqlite_column_span(stmt, 26, arena),
        .sum = sqlite_column_span(stmt, 27, arena),
        .size_bytes = sqlite_column_u64(stmt, 28),
        .uid = (uint32_t)sqlite_column_u64(stmt, 29),
        .admitted = sqlite_column_wall(stmt, 30),
        .admitted_seq = sqlite_column_u64(stmt, 31),
        .rolled_back_by = sqlite_column_span(stmt, 32, arena),
        .owed = sqlite_column_wall(stmt, 33),
        .retries = sqlite_column_unsigned(stmt, 34),
        .flags = sqlite_column_unsigned(stmt, 35),
        .group_size = sqlite_column_unsigned(stmt, 36),
        .seen = sqlite_column_span(stmt, 37, arena),
        .max_running = sqlite_column_unsigned(stmt, 38),
        .spec = sqlite_column_span(stmt, JOB_SPEC_COLUMN, arena),
    };
    job->key = sqlite3_column_type(stmt, 22) == SQLITE_NULL
                   ? job->rank
                   : sqlite_column_span(stmt, 22, arena);
    return column_words(stmt, job, err);
}

/* ---- the head ----------------------------------------------------------- */

bool sqlite_db_head(struct sqlite_db *db, struct head *ret_head,
                    struct err *err) {
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement(db, SQL_HEAD, err);
    bool found;
    if (!stmt || !sqlite_db_step(db, stmt, &found, err))
        return false;
    struct span hash = found ? sqlite_column_peek(stmt, 2) : SPAN("");
    if (hash.len != CHAIN_BYTES)
        return err_set(err, ERR_DATA, "registry '%s' has lost its head row",
                       db->path);
    ret_head->seq = sqlite_column_u64(stmt, 0);
    ret_head->num = sqlite_column_u64(stmt, 1);
    memcpy(ret_head->hash, hash.p, CHAIN_BYTES);
    for (int i = 0; i < JOB_STATES; i++)
        ret_head->tally.count[i] = sqlite_column_u64(stmt, 3 + i);
    ret_head->tally.held = sqlite_column_u64(stmt, 3 + JOB_STATES);
    return true;
}

bool sqlite_db_head_put(struct sqlite_db *db, const struct head *head,
                        struct err *err) {
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt =
        sqlite_db_statement_num(db, SQL_HEAD_PUT, head->seq, err);
    if (!stmt)
        return false;
    sqlite_bind_u64(stmt, 2, head->num);
    sqlite_bind_bytes(stmt, 3, span_make(head->hash, CHAIN_BYTES));
    for (int i = 0; i < JOB_STATES; i++)
        sqlite_bind_u64(stmt, 4 + i, head->tally.count[i]);
    sqlite_bind_u64(stmt, 4 + JOB_STATES, head->tally.held);
    return sqlite_db_do(db, stmt, err);
}
