/* One connection to a registry file, its prepared statements, and the
 * encoding of values: what the sqlite_*.c files share. */
#ifndef POINTSMAN_STORE_SQLITE_DB_H
#define POINTSMAN_STORE_SQLITE_DB_H

#include <sqlite3.h>

#include "store/backend.h"
#include "store/rows.h"
#include "store/schema.h"

/* Columns in the order of sqlite_column_job() are STORE_JOB_COLUMNS. */
#define JOB_SPEC_COLUMN 39 /* s.spec or '' follows the job's columns */

enum statement {
#define STATEMENT(name, sql) SQL_##name,
#include "store/sqlite.def"
#undef STATEMENT
    STATEMENTS
};

enum { LIST_STATEMENTS = 32 };

struct sqlite_noun {
    sqlite3_stmt **statements; /* as many as the noun has; NULL: not prepared */
    size_t count;
};

struct sqlite_db {
    sqlite3 *sqlite;
    char *path;
    unsigned busy_ms;
    sqlite3_stmt *statements[STATEMENTS];
    /* Statements of lists, whose text depends on the query; the oldest is
     * dropped to make room. */
    struct {
        char *sql;
        sqlite3_stmt *stmt;
    } lists[LIST_STATEMENTS];
    unsigned next_list;
    struct sqlite_noun nouns[STORE_NOUNS]; /* by store_noun_place */
    /* Events of the open transaction that have not been written to a row
     * yet. */
    struct {
        struct text lines;
        uint64_t seq; /* of the last one */
        unsigned char hash[CHAIN_BYTES];
    } events;
};

/* Opens a connection with the settings that all of them share; flags of
 * sqlite3_open_v2. */
bool sqlite_db_open(struct sqlite_db *db, const char *path, int flags,
                    unsigned busy_ms, struct err *err);
void sqlite_db_close(struct sqlite_db *db);
/* Runs one or more statements without values or rows. */
bool sqlite_db_run(struct sqlite_db *db, const char *sql, struct err *err);
/* Reads the only row and column of a PRAGMA or query without values. */
bool sqlite_db_number(struct sqlite_db *db, const char *sql,
                      int64_t *ret_number, struct err *err);
/* Sets err with SQLite's message: ERR_TEMPORARY for locked and full,
 * ERR_DATA for a file that is not (or no longer) a database, … Returns
 * false. */
bool sqlite_db_fail(struct sqlite_db *db, const char *what, struct err *err);
/* The same for a call that failed with this errno: ERR_CANNOT. */
bool sqlite_db_disk_failed(struct sqlite_db *db, const char *what, int sys,
                           struct err *err);
/* errno of the last read of a registry that failed in this thread, forgotten by
 * the call; 0: none. SQLite reports such an error as damage. */
int sqlite_db_take_failed_read(void);
/* The disk or quota is full: the operation can be tried again. */
bool sqlite_db_is_full(const struct sqlite_db *db);
bool sqlite_db_is_busy(const struct sqlite_db *db);

bool sqlite_db_prepare(struct sqlite_db *db, const char *sql,
                       sqlite3_stmt **ret_stmt, struct err *err);
/* The statement, ready for values; NULL: err says why. The caller ends it
 * with sqlite_stmt_end (CLEANUP): an open statement would hold its snapshot. */
sqlite3_stmt *sqlite_db_statement(struct sqlite_db *db, enum statement which,
                                  struct err *err);
/* The same with value 1 set. */
sqlite3_stmt *sqlite_db_statement_num(struct sqlite_db *db,
                                      enum statement which, uint64_t num,
                                      struct err *err);
/* The same for a statement whose text is built at run time. */
sqlite3_stmt *sqlite_db_list_statement(struct sqlite_db *db, const char *sql,
                                       struct err *err);
void sqlite_stmt_end(sqlite3_stmt **stmt);
/* Steps the statement; *ret_row: there is another row. */
bool sqlite_db_step(struct sqlite_db *db, sqlite3_stmt *stmt, bool *ret_row,
                    struct err *err);
/* Steps a statement that returns no row. */
bool sqlite_db_do(struct sqlite_db *db, sqlite3_stmt *stmt, struct err *err);

/* Steps a statement without values: BEGIN, COMMIT and so on. */
bool sqlite_db_plain(struct sqlite_db *db, enum statement which,
                     struct err *err);
/* Begins several reads of one state of the registry. sqlite_db_read_end
 * undoes nothing. */
bool sqlite_db_read_begin(struct sqlite_db *db, struct err *err);
void sqlite_db_read_end(struct sqlite_db *db);

/* Values: places count from 1, columns from 0. */
void sqlite_bind_span(sqlite3_stmt *stmt, int place, struct span span);
void sqlite_bind_bytes(sqlite3_stmt *stmt, int place, struct span span);
void sqlite_bind_word(sqlite3_stmt *stmt, int place, const char *word);
void sqlite_bind_state(sqlite3_stmt *stmt, int place, enum job_state state);
void sqlite_bind_u64(sqlite3_stmt *stmt, int place, uint64_t value);
void sqlite_bind_limit(sqlite3_stmt *stmt, int place,
                       size_t limit); /* 0: none */
void sqlite_bind_wall(sqlite3_stmt *stmt, int place, struct wall wall);

/* A view of the column's bytes, valid until the statement's next step. */
struct span sqlite_column_peek(sqlite3_stmt *stmt, int column);
struct span sqlite_column_span(sqlite3_stmt *stmt, int column,
                               struct arena *arena);
uint64_t sqlite_column_u64(sqlite3_stmt *stmt, int column);
unsigned sqlite_column_unsigned(sqlite3_stmt *stmt, int column);
struct wall sqlite_column_wall(sqlite3_stmt *stmt, int column);
enum job_state sqlite_column_state(sqlite3_stmt *stmt, int column);
/* A row of STORE_JOB_COLUMNS and the specification. A word unknown to this
 * program is ERR_DATA. */
bool sqlite_column_job(sqlite3_stmt *stmt, struct arena *arena,
                       struct job *ret_job, struct err *err);

/* Reads the head as it stands in the connection's transaction. */
bool sqlite_db_head(struct sqlite_db *db, struct head *ret_head,
                    struct err *err);
bool sqlite_db_head_put(struct sqlite_db *db, const struct head *head,
                        struct err *err);

extern const struct rows_ops
    sqlite_rows; /* struct rows is a struct sqlite_db */
static inline struct sqlite_db *sqlite_db_of(struct rows *rows) {
    return (struct sqlite_db *)(void *)rows;
}
bool sqlite_row_update(struct rows *rows, const struct row *row,
                       struct err *err);
/* Forgets the gathered events: they must not be written. */
void sqlite_rows_forget_events(struct sqlite_db *db);
/* sqlite_task.c */
bool sqlite_task_get(struct rows *rows, uint64_t num, struct span node,
                     struct store_task *ret_task, bool *ret_found,
                     struct err *err);
bool sqlite_task_put(struct rows *rows, uint64_t num,
                     const struct store_task *task, struct err *err);
bool sqlite_task_record(struct rows *rows, uint64_t num,
                        const struct store_task *task, struct err *err);
bool sqlite_tasks_at_once(struct rows *rows, uint64_t num, struct err *err);
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
bool sqlite_limit_put(struct rows *rows, uint64_t num, unsigned max_running,
                      bool *ret_changed, struct err *err);
bool sqlite_mark_get(struct rows *rows, uint64_t num, struct arena *arena,
                     struct span *ret_mark, struct err *err);
bool sqlite_mark_put(struct rows *rows, uint64_t num, struct span mark,
                     struct err *err);
bool sqlite_plan_put(struct rows *rows, const struct store_rollback *plan,
                     struct err *err);

/* sqlite_list.c: all remaining rows, as sqlite_column_job reads them. */
bool sqlite_jobs_read(struct sqlite_db *db, sqlite3_stmt *stmt,
                      struct arena *arena, struct job **ret_jobs,
                      size_t *ret_count, struct err *err);
/* sqlite_noun.c */
void sqlite_nouns_close(struct sqlite_db *db);

/* Creates or migrates the schema; with only_check, ERR_REFUSED if there is
 * anything to do. */
bool sqlite_migrate(struct sqlite_db *db, bool only_check, struct err *err);

#endif
