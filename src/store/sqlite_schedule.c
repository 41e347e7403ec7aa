/* Rows of schedules. */
#include "store/sqlite.h"

#include <inttypes.h>
#include <stdlib.h>

static struct db *db_of(struct rows *rows) {
    return (struct db *)(void *)rows;
}

static struct rows *reader_of(struct store *store) {
    return (struct rows *)(void *)sqlite_reader(store);
}

/* "12 15 99" */
static void read_recent(struct span text, struct store_schedule *ret) {
    struct span part;
    ret->recent_count = 0;
    while (ret->recent_count < STORE_RECENT && text.len > 0 &&
           span_cut(&text, ' ', &part))
        if (span_u64(part, &ret->recent[ret->recent_count]))
            ret->recent_count++;
}

static void add_recent(const struct store_schedule *schedule,
                       struct text *out) {
    for (size_t i = 0; i < schedule->recent_count; i++)
        text_addf(out, "%s%" PRIu64, i > 0 ? " " : "", schedule->recent[i]);
}

static struct store_schedule column_schedule(sqlite3_stmt *stmt,
                                             struct arena *arena) {
    struct store_schedule found = {
        .name = column_span(stmt, 0, arena),
        .spec = column_span(stmt, 1, arena),
        .origin = column_span(stmt, 2, arena),
        .uid = (uint32_t)column_u64(stmt, 3),
        .serial = column_u64(stmt, 4),
        .seed = column_u64(stmt, 5),
        .paused = column_u64(stmt, 6) != 0,
        .high_s = sqlite3_column_int64(stmt, 7),
        .offset_s = (int32_t)sqlite3_column_int64(stmt, 8),
        .fired = column_u64(stmt, 9),
        .missed = column_u64(stmt, 10),
        .round = column_unsigned(stmt, 12),
    };
    read_recent(column_peek(stmt, 11), &found);
    return found;
}

bool sqlite_schedule_get(struct rows *rows, struct span name,
                         struct arena *arena,
                         struct store_schedule *ret_schedule, bool *ret_found,
                         struct err *err) {
    struct db *db = db_of(rows);
    CLEANUP(stmt_end)
    sqlite3_stmt *stmt = db_statement(db, SQL_SCHEDULE_GET, err);
    if (!stmt)
        return false;
    bind_span(stmt, 1, name);
    if (!db_step(db, stmt, ret_found, err))
        return false;
    if (*ret_found)
        *ret_schedule = column_schedule(stmt, arena);
    return true;
}

bool sqlite_schedule_put(struct rows *rows,
                         const struct store_schedule *schedule,
                         struct err *err) {
    struct db *db = db_of(rows);
    CLEANUP(text_clear) struct text recent = TEXT_INIT;
    CLEANUP(stmt_end)
    sqlite3_stmt *stmt = db_statement(db, SQL_SCHEDULE_PUT, err);
    if (!stmt)
        return false;
    add_recent(schedule, &recent);
    bind_span(stmt, 1, schedule->name);
    bind_span(stmt, 2, schedule->spec);
    bind_span(stmt, 3, schedule->origin);
    bind_u64(stmt, 4, schedule->uid);
    bind_u64(stmt, 5, schedule->serial);
    bind_u64(stmt, 6, schedule->seed);
    bind_u64(stmt, 7, schedule->paused);
    sqlite3_bind_int64(stmt, 8, schedule->high_s);
    sqlite3_bind_int64(stmt, 9, schedule->offset_s);
    bind_u64(stmt, 10, schedule->fired);
    bind_u64(stmt, 11, schedule->missed);
    bind_span(stmt, 12, text_span(&recent));
    bind_u64(stmt, 13, schedule->round);
    return db_do(db, stmt, err);
}

static bool do_named(struct db *db, enum statement which, struct span name,
                     struct err *err) {
    CLEANUP(stmt_end) sqlite3_stmt *stmt = db_statement(db, which, err);
    if (!stmt)
        return false;
    bind_span(stmt, 1, name);
    return db_do(db, stmt, err);
}

bool sqlite_schedule_remove(struct rows *rows, struct span name,
                            struct err *err) {
    struct db *db = db_of(rows);
    return do_named(db, SQL_SCHEDULE_JOBS_REMOVE, name, err) &&
           do_named(db, SQL_SCHEDULE_REMOVE, name, err);
}

/* Of the oldest, those that have ended go: a few with each that comes, so that
 * as many go as come, and none is costly. */
bool sqlite_schedule_job_put(struct rows *rows, struct span name, uint64_t num,
                             struct err *err) {
    struct db *db = db_of(rows);
    CLEANUP(stmt_end)
    sqlite3_stmt *stmt = db_statement(db, SQL_SCHEDULE_JOB_PUT, err);
    if (!stmt)
        return false;
    bind_span(stmt, 1, name);
    bind_u64(stmt, 2, num);
    return db_do(db, stmt, err) &&
           do_named(db, SQL_SCHEDULE_JOBS_CLEAR, name, err);
}

bool sqlite_schedule(struct store *store, struct span name, struct arena *arena,
                     struct store_schedule *ret_schedule, bool *ret_found,
                     struct err *err) {
    return sqlite_schedule_get(reader_of(store), name, arena, ret_schedule,
                               ret_found, err);
}

bool sqlite_schedules(struct store *store, struct span after, size_t limit,
                      struct arena *arena,
                      struct store_schedule **ret_schedules, size_t *ret_count,
                      struct err *err) {
    struct db *db = db_of(reader_of(store));
    CLEANUP(stmt_end)
    sqlite3_stmt *stmt = db_statement(db, SQL_SCHEDULES, err);
    struct store_schedule *found = NULL;
    size_t count = 0, cap = 0;
    bool row, ok = stmt != NULL;
    if (!stmt)
        return false;
    bind_span(stmt, 1, after);
    bind_limit(stmt, 2, limit);
    while ((ok = db_step(db, stmt, &row, err)) && row) {
        if (count == cap) {
            cap = cap ? 2 * cap : 16;
            found = mem_grow(found, cap, sizeof(*found));
        }
        found[count++] = column_schedule(stmt, arena);
    }
    *ret_schedules = arena_alloc(arena, (count + 1) * sizeof(*found));
    if (count > 0)
        memcpy(*ret_schedules, found, count * sizeof(*found));
    *ret_count = count;
    free(found);
    return ok;
}
