/* Care of a registry: verifying it, and copying it. */
#include "store/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- verify ------------------------------------------------------------- */

/* The first row of a PRAGMA that reports faults; no row, or `fine`, means
 * OK. */
static bool report(struct sqlite_db *db, const char *sql, const char *fine,
                   const char *what, struct err *err) {
    sqlite3_stmt *stmt = NULL;
    (void)sqlite_db_take_failed_read(); /* of an earlier statement */
    if (sqlite3_prepare_v2(db->sqlite, sql, -1, &stmt, NULL) != SQLITE_OK)
        return sqlite_db_fail(db, "read", err);
    int rc = sqlite3_step(stmt);
    bool well = rc == SQLITE_DONE;
    if (rc == SQLITE_ROW) {
        struct span first = sqlite_column_peek(stmt, 0);
        int sys = sqlite_db_take_failed_read();
        well = span_is(first, fine);
        if (!well && sys != 0)
            sqlite_db_disk_failed(db, "read", sys, err);
        else if (!well)
            err_set(err, ERR_DATA, "registry '%s': %s: %.*s", db->path, what,
                    (int)first.len, first.p);
    } else if (!well) {
        sqlite_db_fail(db, "read", err);
    }
    sqlite3_finalize(stmt);
    return well;
}

/* An event of admission names the job that it admitted. */
static bool verify_ids(struct sqlite_db *db,
                       const struct sqlite_event_row *pack, struct err *err) {
    for (size_t i = 0; i < pack->count; i++) {
        const struct store_event *event = &pack->events[i];
        if (event->num == 0 || event->kind != EVENT_MOVE ||
            event->from != STATE_NONE)
            continue;
        CLEANUP(sqlite_stmt_end)
        sqlite3_stmt *stmt = sqlite_db_statement(db, SQL_JOB_ID, err);
        bool row;
        if (!stmt)
            return false;
        sqlite_bind_u64(stmt, 1, event->num);
        if (!sqlite_db_step(db, stmt, &row, err))
            return false;
        if (row && !span_equal(sqlite_column_peek(stmt, 0), event->id))
            return err_set(err, ERR_DATA,
                           "event %" PRIu64 " admitted '%.*s', whose row has "
                           "another id",
                           event->seq, (int)event->id.len, event->id.p);
    }
    return true;
}

static bool verify_pack(const struct sqlite_event_row *pack, struct err *err) {
    uint64_t first = pack->events[0].seq;
    if (pack->fits && pack->changed == 0)
        return true;
    if (pack->changed > first)
        return err_set(err, ERR_DATA,
                       "the hash of event %" PRIu64
                       " does not match: it was changed",
                       pack->changed);
    if (pack->changed == first || first == pack->seq)
        return err_set(
            err, ERR_DATA,
            "the hash of event %" PRIu64
            " does not match: the event, or one before it, was changed",
            first);
    return err_set(
        err, ERR_DATA,
        "the hash of events %" PRIu64 " to %" PRIu64
        " does not match: one of them, or one before them, was changed",
        first, pack->seq);
}

static bool verify_chain(struct store *store, struct err *err) {
    struct sqlite_db *db = sqlite_reader(store);
    CLEANUP(sqlite_event_row_clear) struct sqlite_event_row pack;
    struct head head;
    bool more = true;
    sqlite_event_row_init(&pack);
    if (!sqlite_db_head(db, &head, err))
        return false;
    while (sqlite_event_row_read(&pack, db, pack.seq, &more, err) && more)
        if (!verify_pack(&pack, err) || !verify_ids(db, &pack, err))
            return false;
    if (more)
        return false;
    /* Events written during the walk lie beyond the head that was read. */
    if (pack.seq < head.seq || (pack.seq == head.seq &&
                                memcmp(pack.hash, head.hash, CHAIN_BYTES) != 0))
        return err_set(err, ERR_DATA,
                       "the log ends at event %" PRIu64
                       ", the head row says %" PRIu64 ": events are missing",
                       pack.seq, head.seq);
    return true;
}

static bool verify_tally(struct sqlite_db *db, struct err *err) {
    struct head head;
    if (!sqlite_db_head(db, &head, err))
        return false;
    for (unsigned i = 0; i < JOB_STATES; i++) {
        char sql[96];
        int64_t count;
        snprintf(sql, sizeof(sql),
                 "SELECT count(*) FROM job WHERE state = "
                 "'%c'",
                 job_state_letter((enum job_state)i));
        if (!sqlite_db_number(db, sql, &count, err))
            return false;
        if ((uint64_t)count != head.tally.count[i])
            return err_set(err, ERR_DATA,
                           "the head row counts %" PRIu64
                           " jobs that are %s, but there are %" PRId64,
                           head.tally.count[i],
                           job_state_word((enum job_state)i), count);
    }
    int64_t held;
    if (!sqlite_db_number(
            db,
            "SELECT count(*) FROM job WHERE holds <> 0 AND state IN "
            "('Q', 'S', 'P', 'X')",
            &held, err))
        return false;
    return (uint64_t)held == head.tally.held ||
           err_set(err, ERR_DATA,
                   "the head row counts %" PRIu64
                   " jobs that are held, but there are %" PRId64,
                   head.tally.held, held);
}

bool sqlite_verify(struct store *store, struct err *err) {
    struct sqlite_db *db = sqlite_reader(store);
    if (!report(db, "PRAGMA integrity_check(1)", "ok", "the file is damaged",
                err) ||
        !report(db, "PRAGMA foreign_key_check", "",
                "rows without their job in table", err) ||
        !verify_chain(store, err) || !sqlite_db_read_begin(db, err))
        return false;
    bool well = verify_tally(db, err);
    sqlite_db_read_end(db);
    return well;
}

/* ---- backup ------------------------------------------------------------- */

static bool same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

/* All pages in one step: one snapshot, whatever is written meanwhile. */
static bool copy_pages(struct sqlite_db *from, const char *path,
                       struct err *err) {
    struct sqlite_db to;
    bool well = false;
    int keep = 0;
    if (sqlite_db_open(&to, path, SQLITE_OPEN_READWRITE, from->busy_ms, err)) {
        sqlite3_file_control(to.sqlite, "main", SQLITE_FCNTL_PERSIST_WAL,
                             &keep);
        sqlite3_backup *backup =
            sqlite3_backup_init(to.sqlite, "main", from->sqlite, "main");
        well = backup && sqlite3_backup_step(backup, -1) == SQLITE_DONE;
        sqlite3_backup_finish(backup);
        /* The copy is a single file that needs no other beside it. */
        well = well && sqlite3_exec(to.sqlite, "PRAGMA journal_mode = DELETE",
                                    NULL, NULL, NULL) == SQLITE_OK;
        if (!well)
            sqlite_db_fail(&to, "copy to", err);
    }
    sqlite_db_close(&to);
    return well;
}

static bool sync_path(const char *path, int flags, struct err *err) {
    int fd = open(path, flags | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", path);
    bool well = fsync(fd) == 0;
    if (!well)
        err_errno(err, errno, "cannot sync '%s'", path);
    close(fd);
    return well;
}

static bool put_in_place(const char *temp, const char *path, struct err *err) {
    CLEANUP(text_free_string) char *copy = mem_string(path);
    if (!sync_path(temp, O_RDONLY, err))
        return false;
    if (rename(temp, path) != 0)
        return err_errno(err, errno, "cannot rename '%s' to '%s'", temp, path);
    return sync_path(dirname(copy), O_RDONLY | O_DIRECTORY, err);
}

/* Creates an empty file, which is a valid database. No other user may read
 * its contents. */
static bool make_private(const char *path, struct err *err) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_errno(err, errno, "cannot create '%s'", path);
    close(fd);
    return true;
}

/* Also removes the files that SQLite keeps beside it during a write. */
static void copy_remove(const char *path) {
    static const char *const ends[] = {"", "-journal", "-wal", "-shm"};
    for (size_t i = 0; i < COUNT(ends); i++) {
        CLEANUP(text_clear) struct text name = TEXT_INIT;
        text_addf(&name, "%s%s", path, ends[i]);
        unlink(text_string(&name));
    }
}

bool sqlite_backup(struct store *store, const char *path, struct err *err) {
    struct sqlite_db *db = sqlite_reader(store);
    struct arena arena = ARENA_INIT;
    if (same_file(db->path, path))
        return err_set(err, ERR_CANNOT,
                       "backup '%s' is the registry itself: name another file",
                       path);
    char *temp = arena_printf(&arena, "%s.tmp", path);
    copy_remove(temp); /* left by a process that died */
    bool well = make_private(temp, err) && copy_pages(db, temp, err) &&
                put_in_place(temp, path, err);
    if (!well)
        copy_remove(temp);
    arena_clear(&arena);
    return well || err_wrap(err, "cannot back up registry '%s' to '%s'",
                            db->path, path);
}
