/* One connection to a registry file, its statements kept prepared, and the
 * spelling of values: what sqlite_*.c share. */
#ifndef POINTSMAN_STORE_SQLITE_DB_H
#define POINTSMAN_STORE_SQLITE_DB_H

#include <sqlite3.h>

#include "store/backend.h"
#include "store/rows.h"

/* Columns in the order of column_job(). */
#define JOB_COLUMNS                                               \
    "j.num, j.id, j.kind, j.class, j.state, j.rank, j.reason, "   \
    "j.detail, j.holds, j.attempt, j.temps, j.crashes, j.fails, " \
    "j.tasks, j.tasks_done, j.since, j.not_before, j.state_seq, " \
    "j.record_seq, j.has_relations, j.cancel_asked, j.stale, "    \
    "s.own_key, s.target, s.name, s.actor, s.cause, s.sum, "      \
    "s.size_bytes, s.uid, s.admitted, s.admitted_seq, "           \
    "s.rolled_back_by, s.owed"
#define JOB_SPEC_COLUMN 34 /* s.spec or '' behind them */

enum statement {
#define STATEMENT(name, sql) SQL_##name,
#include "store/sqlite.def"
#undef STATEMENT
    STATEMENTS
};

enum { LIST_STATEMENTS = 32 };

struct db {
    sqlite3 *sqlite;
    char *path;
    unsigned busy_ms;
    sqlite3_stmt *statements[STATEMENTS];
    /* Lists whose text depends on what is asked for; the oldest makes room. */
    struct {
        char *sql;
        sqlite3_stmt *stmt;
    } lists[LIST_STATEMENTS];
    unsigned next_list;
    /* Events of the open transaction that are not a row yet. */
    struct {
        struct text lines;
        uint64_t seq; /* of the last one */
        unsigned char hash[CHAIN_BYTES];
    } events;
};

/* Opens, with the settings of every connection; flags of sqlite3_open_v2. */
bool db_open(struct db *db, const char *path, int flags, unsigned busy_ms,
             struct err *err);
void db_close(struct db *db);
/* One or many statements without values or rows. */
bool db_run(struct db *db, const char *sql, struct err *err);
/* The one row and column of a PRAGMA or query without values. */
bool db_number(struct db *db, const char *sql, int64_t *ret_number,
               struct err *err);
/* ERR_TEMPORARY for locked and full, ERR_DATA for what is not (or no longer) a
 * database, … with what SQLite says. Returns false. */
bool db_fail(struct db *db, const char *what, struct err *err);
/* Full disk or quota: what was tried can be tried again. */
bool db_is_full(const struct db *db);
bool db_is_busy(const struct db *db);

/* The statement, ready for values; NULL: err says why. Whoever takes it ends
 * with stmt_end (CLEANUP): an open one would hold its snapshot. */
sqlite3_stmt *db_statement(struct db *db, enum statement which,
                           struct err *err);
/* The same for a statement whose text was put together at run time. */
sqlite3_stmt *db_list_statement(struct db *db, const char *sql,
                                struct err *err);
void stmt_end(sqlite3_stmt **stmt);
/* One row more? */
bool db_step(struct db *db, sqlite3_stmt *stmt, bool *ret_row, struct err *err);
/* Steps a statement that gives no row. */
bool db_do(struct db *db, sqlite3_stmt *stmt, struct err *err);

/* Steps one without values: BEGIN, COMMIT and so on. */
bool db_plain(struct db *db, enum statement which, struct err *err);
/* Several reads of one state of the registry. db_read_end undoes nothing. */
bool db_read_begin(struct db *db, struct err *err);
void db_read_end(struct db *db);

/* Values: places count from 1, columns from 0. */
void bind_span(sqlite3_stmt *stmt, int place, struct span span);
void bind_bytes(sqlite3_stmt *stmt, int place, struct span span);
void bind_word(sqlite3_stmt *stmt, int place, const char *word);
void bind_state(sqlite3_stmt *stmt, int place, enum job_state state);
void bind_u64(sqlite3_stmt *stmt, int place, uint64_t value);
void bind_limit(sqlite3_stmt *stmt, int place, size_t limit); /* 0: none */
void bind_wall(sqlite3_stmt *stmt, int place, struct wall wall);

/* Looks at what the statement holds until its next step. */
struct span column_peek(sqlite3_stmt *stmt, int column);
struct span column_span(sqlite3_stmt *stmt, int column, struct arena *arena);
uint64_t column_u64(sqlite3_stmt *stmt, int column);
unsigned column_unsigned(sqlite3_stmt *stmt, int column);
struct wall column_wall(sqlite3_stmt *stmt, int column);
enum job_state column_state(sqlite3_stmt *stmt, int column);
/* A row of JOB_COLUMNS and the specification. A word that this program does
 * not know is ERR_DATA. */
bool column_job(sqlite3_stmt *stmt, struct arena *arena, struct job *ret_job,
                struct err *err);

/* The head as it stands in the connection's transaction. */
bool db_head(struct db *db, struct head *ret_head, struct err *err);
bool db_head_put(struct db *db, const struct head *head, struct err *err);

extern const struct rows_ops sqlite_rows; /* struct rows is a struct db */
bool sqlite_row_update(struct rows *rows, const struct row *row,
                       struct err *err);
/* What was gathered is not to be written. */
void db_events_forget(struct db *db);
/* sqlite_task.c */
bool sqlite_task_get(struct rows *rows, uint64_t num, struct span node,
                     struct store_task *ret_task, bool *ret_found,
                     struct err *err);
bool sqlite_task_put(struct rows *rows, uint64_t num,
                     const struct store_task *task, struct err *err);
bool sqlite_attempt_status(struct rows *rows, const struct row *row,
                           struct span node, unsigned attempt,
                           enum task_status *ret_status, bool *ret_found,
                           struct err *err);
bool sqlite_attempt_insert(struct rows *rows, struct row *row,
                           const struct store_attempt *attempt, bool *ret_new,
                           struct err *err);
bool sqlite_attempt_end(struct rows *rows, struct row *row,
                        const struct store_attempt *attempt, bool *ret_found,
                        struct err *err);
bool sqlite_attempt_remove(struct rows *rows, struct row *row, struct span node,
                           unsigned attempt, struct err *err);
/* sqlite_rollback.c */
bool sqlite_owed_get(struct rows *rows, uint64_t num, struct wall *ret_owed,
                     struct err *err);
bool sqlite_owed_put(struct rows *rows, uint64_t num, struct wall owed,
                     struct err *err);
bool sqlite_mark_get(struct rows *rows, uint64_t num, struct arena *arena,
                     struct span *ret_mark, struct err *err);
bool sqlite_mark_put(struct rows *rows, uint64_t num, struct span mark,
                     struct err *err);
bool sqlite_plan_put(struct rows *rows, const struct store_rollback *plan,
                     struct err *err);
bool sqlite_prune(struct rows *rows, struct row *row, bool *ret_changed,
                  struct err *err);

/* sqlite_schedule.c */
bool sqlite_schedule_get(struct rows *rows, struct span name,
                         struct arena *arena,
                         struct store_schedule *ret_schedule, bool *ret_found,
                         struct err *err);
bool sqlite_schedule_put(struct rows *rows,
                         const struct store_schedule *schedule,
                         struct err *err);
bool sqlite_schedule_remove(struct rows *rows, struct span name,
                            struct err *err);
bool sqlite_schedule_job_put(struct rows *rows, struct span name, uint64_t num,
                             struct err *err);

/* Creates or migrates; only checks when read_only. */
bool db_migrate(struct db *db, bool read_only, struct err *err);

#endif
