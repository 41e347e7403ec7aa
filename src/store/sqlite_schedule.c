/* Rows of schedules. */
#include "store/sqlite.h"

#include <inttypes.h>
#include <stdlib.h>

static struct sqlite_db *db_of(struct rows *rows) {
    return (struct sqlite_db *)(void *)rows;
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
        .name = sqlite_column_span(stmt, 0, arena),
        .spec = sqlite_column_span(stmt, 1, arena),
        .origin = sqlite_column_span(stmt, 2, arena),
        .uid = (uint32_t)sqlite_column_u64(stmt, 3),
        .serial = sqlite_column_u64(stmt, 4),
        .seed = sqlite_column_u64(stmt, 5),
        .paused = sqlite_column_u64(stmt, 6) != 0,
        .high_s = sqlite3_column_int64(stmt, 7),
        .offset_s = (int32_t)sqlite3_column_int64(stmt, 8),
        .fired = sqlite_column_u64(stmt, 9),
        .missed = sqlite_column_u64(stmt, 10),
        .round = sqlite_column_unsigned(stmt, 12),
    };
    read_recent(sqlite_column_peek(stmt, 11), &found);
    return found;
}

bool sqlite_schedule_get(struct rows *rows, struct span name,
                         struct arena *arena,
                         struct store_schedule *ret_schedule, bool *ret_found,
                         struct err *err) {
    struct sqlite_db *db = db_of(rows);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement(db, SQL_SCHEDULE_GET, err);
    if (!stmt)
        return false;
    sqlite_bind_span(stmt, 1, name);
    if (!sqlite_db_step(db, stmt, ret_found, err))
        return false;
    if (*ret_found)
        *ret_schedule = column_schedule(stmt, arena);
    return true;
}

bool sqlite_schedule_put(struct rows *rows,
                         const struct store_schedule *schedule,
                         struct err *err) {
    struct sqlite_db *db = db_of(rows);
    CLEANUP(text_clear) struct text recent = TEXT_INIT;
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement(db, SQL_SCHEDULE_PUT, err);
    if (!stmt)
        return false;
    add_recent(schedule, &recent);
    sqlite_bind_span(stmt, 1, schedule->name);
    sqlite_bind_span(stmt, 2, schedule->spec);
    sqlite_bind_span(stmt, 3, schedule->origin);
    sqlite_bind_u64(stmt, 4, schedule->uid);
    sqlite_bind_u64(stmt, 5, schedule->serial);
    sqlite_bind_u64(stmt, 6, schedule->seed);
    sqlite_bind_u64(stmt, 7, schedule->paused);
    sqlite3_bind_int64(stmt, 8, schedule->high_s);
    sqlite3_bind_int64(stmt, 9, schedule->offset_s);
    sqlite_bind_u64(stmt, 10, schedule->fired);
    sqlite_bind_u64(stmt, 11, schedule->missed);
    sqlite_bind_span(stmt, 12, text_span(&recent));
    sqlite_bind_u64(stmt, 13, schedule->round);
    return sqlite_db_do(db, stmt, err);
}

static bool do_named(struct sqlite_db *db, enum statement which,
                     struct span name, struct err *err) {
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement(db, which, err);
    if (!stmt)
        return false;
    sqlite_bind_span(stmt, 1, name);
    return sqlite_db_do(db, stmt, err);
}

bool sqlite_schedule_remove(struct rows *rows, struct span name,
                            struct err *err) {
    struct sqlite_db *db = db_of(rows);
    return do_named(db, SQL_SCHEDULE_JOBS_REMOVE, name, err) &&
           do_named(db, SQL_SCHEDULE_REMOVE, name, err);
}

/* Of the oldest, those that have ended go: a few with each that comes, so that
 * as many go as come, and none is costly. */
bool sqlite_schedule_job_put(struct rows *rows, struct span name, uint64_t num,
                             struct err *err) {
    struct sqlite_db *db = db_of(rows);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement(db, SQL_SCHEDULE_JOB_PUT, err);
    if (!stmt)
        return false;
    sqlite_bind_span(stmt, 1, name);
    sqlite_bind_u64(stmt, 2, num);
    return sqlite_db_do(db, stmt, err) &&
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
    struct sqlite_db *db = db_of(reader_of(store));
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement(db, SQL_SCHEDULES, err);
    struct store_schedule *found = NULL;
    size_t count = 0, cap = 0;
    bool row, ok = stmt != NULL;
    if (!stmt)
        return false;
    sqlite_bind_span(stmt, 1, after);
    sqlite_bind_limit(stmt, 2, limit);
    while ((ok = sqlite_db_step(db, stmt, &row, err)) && row) {
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
