/* Tasks and attempts in a write transaction.
 *
 * The running attempt of a one-task job has no row yet: it is kept in the
 * job's row, and usually becomes a row only when it ends. */
#include "store/sqlite_db.h"

bool sqlite_task_get(struct rows *rows, uint64_t num, struct span node,
                     struct store_task *ret_task, bool *ret_found,
                     struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement_num(db, SQL_TASK_GET, num, err);
    if (!stmt)
        return false;
    sqlite_bind_span(stmt, 2, node);
    if (!sqlite_db_step(db, stmt, ret_found, err))
        return false;
    if (!*ret_found)
        return true;
    *ret_task = (struct store_task){
        .at = sqlite_column_u64(stmt, 0),
        .attempt = sqlite_column_unsigned(stmt, 2),
        .not_before = sqlite_column_wall(stmt, 3),
    };
    return job_task_status_parse(sqlite_column_peek(stmt, 1),
                                 &ret_task->status) ||
           err_set(err, ERR_DATA,
                   "a task in registry '%s' has an unknown status", db->path);
}

bool sqlite_task_put(struct rows *rows, uint64_t num,
                     const struct store_task *task, struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement_num(db, SQL_TASK_PUT, num, err);
    if (!stmt)
        return false;
    sqlite_bind_span(stmt, 2, task->node);
    sqlite_bind_word(stmt, 3, job_task_status_word(task->status));
    sqlite_bind_u64(stmt, 4, task->attempt);
    sqlite_bind_wall(stmt, 5, task->not_before);
    return sqlite_db_do(db, stmt, err);
}

bool sqlite_task_record(struct rows *rows, uint64_t num,
                        const struct store_task *task, struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement_num(db, SQL_TASK_RECORD, num, err);
    if (!stmt)
        return false;
    sqlite_bind_span(stmt, 2, task->node);
    sqlite_bind_u64(stmt, 3, task->at);
    sqlite_bind_word(stmt, 4, job_task_status_word(task->status));
    sqlite_bind_u64(stmt, 5, task->attempt);
    sqlite_bind_wall(stmt, 6, task->not_before);
    sqlite_bind_u64(stmt, 7, task->temps);
    sqlite_bind_u64(stmt, 8, task->fails);
    sqlite_bind_u64(stmt, 9, task->crashes);
    sqlite_bind_u64(stmt, 10, task->incompletes);
    sqlite_bind_u64(stmt, 11, task->flags);
    sqlite_bind_u64(stmt, 12, (uint64_t)task->begun_s);
    return sqlite_db_do(db, stmt, err);
}

bool sqlite_tasks_at_once(struct rows *rows, uint64_t num, struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt =
        sqlite_db_statement_num(db, SQL_TASKS_AT_ONCE, num, err);
    return stmt && sqlite_db_do(db, stmt, err);
}

bool sqlite_limit_put(struct rows *rows, uint64_t num, unsigned max_running,
                      bool *ret_changed, struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement_num(db, SQL_LIMIT_PUT, num, err);
    if (!stmt)
        return false;
    sqlite_bind_u64(stmt, 2, max_running);
    if (!sqlite_db_do(db, stmt, err))
        return false;
    *ret_changed = sqlite3_changes(db->sqlite) > 0;
    return true;
}

static bool is_kept_with_job(const struct row *row, struct span node,
                             unsigned attempt) {
    return node.len == 0 && attempt == row->run_attempt;
}

/* The attempt holds nothing that the job's row could not keep. */
static bool is_plain(const struct store_attempt *attempt) {
    return attempt->node.len == 0 && attempt->status == TASK_RUNNING &&
           attempt->started.ns == 0 && attempt->ended.ns == 0 &&
           attempt->exit_code == -1 && attempt->signal == 0 &&
           attempt->reason.len == 0 && attempt->detail.len == 0 &&
           attempt->output.len == 0 && attempt->output_bytes == 0 &&
           attempt->cpu_us == 0 && attempt->peak_kib == 0 &&
           attempt->trace.len == 0;
}

static void kept(struct row *row, struct span node, unsigned attempt) {
    if (node.len == 0 && attempt > row->attempt_kept)
        row->attempt_kept = attempt;
}

static sqlite3_stmt *attempt_statement(struct sqlite_db *db,
                                       enum statement which, uint64_t num,
                                       struct span node, unsigned attempt,
                                       struct err *err) {
    sqlite3_stmt *stmt = sqlite_db_statement_num(db, which, num, err);
    if (!stmt)
        return NULL;
    sqlite_bind_span(stmt, 2, node);
    sqlite_bind_u64(stmt, 3, attempt);
    return stmt;
}

bool sqlite_attempt_status(struct rows *rows, const struct row *row,
                           struct span node, unsigned attempt,
                           enum task_status *ret_status, bool *ret_found,
                           struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    if (is_kept_with_job(row, node, attempt)) {
        *ret_status = TASK_RUNNING;
        *ret_found = true;
        return true;
    }
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt =
        attempt_statement(db, SQL_ATTEMPT_STATUS, row->num, node, attempt, err);
    if (!stmt || !sqlite_db_step(db, stmt, ret_found, err))
        return false;
    return !*ret_found ||
           job_task_status_parse(sqlite_column_peek(stmt, 0), ret_status) ||
           err_set(err, ERR_DATA,
                   "an attempt in registry '%s' has an unknown status",
                   db->path);
}

static bool attempt_write(struct sqlite_db *db, enum statement which,
                          const struct store_attempt *attempt, bool *ret_wrote,
                          struct err *err) {
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = attempt_statement(
        db, which, attempt->num, attempt->node, attempt->attempt, err);
    if (!stmt)
        return false;
    sqlite_bind_word(stmt, 4, job_task_status_word(attempt->status));
    sqlite_bind_wall(stmt, 5, attempt->assigned);
    sqlite_bind_wall(stmt, 6, attempt->started);
    sqlite_bind_wall(stmt, 7, attempt->ended);
    sqlite3_bind_int(stmt, 8, attempt->exit_code);
    sqlite3_bind_int(stmt, 9, attempt->signal);
    sqlite_bind_span(stmt, 10, attempt->reason);
    sqlite_bind_span(stmt, 11, attempt->detail);
    sqlite_bind_span(stmt, 12, attempt->worker);
    sqlite_bind_span(stmt, 13, attempt->output);
    sqlite_bind_u64(stmt, 14, attempt->output_bytes);
    sqlite_bind_u64(stmt, 15, attempt->cpu_us);
    sqlite_bind_u64(stmt, 16, attempt->peak_kib);
    sqlite_bind_span(stmt, 17, attempt->trace);
    if (!sqlite_db_do(db, stmt, err))
        return false;
    *ret_wrote = sqlite3_changes(db->sqlite) > 0;
    return true;
}

/* Another attempt begins before this one ended: it becomes a row after all. */
static bool attempt_spill(struct rows *rows, struct row *row, struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    if (row->run_attempt == 0)
        return true;
    if (row->dirty && !sqlite_row_update(rows, row, err))
        return false;
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt =
        sqlite_db_statement_num(db, SQL_ATTEMPT_SPILL, row->num, err);
    if (!stmt)
        return false;
    kept(row, SPAN(""), row->run_attempt);
    row->run_attempt = 0;
    return sqlite_db_do(db, stmt, err);
}

bool sqlite_attempt_insert(struct rows *rows, struct row *row,
                           const struct store_attempt *attempt, bool *ret_new,
                           struct err *err) {
    *ret_new = false;
    if (is_kept_with_job(row, attempt->node, attempt->attempt))
        return true;
    if (is_plain(attempt) && attempt->attempt > row->attempt_kept) {
        if (!attempt_spill(rows, row, err))
            return false;
        row->run_attempt = attempt->attempt;
        row->run_assigned = attempt->assigned;
        row->run_worker = attempt->worker;
        *ret_new = true;
        return true;
    }
    kept(row, attempt->node, attempt->attempt);
    return attempt_write(sqlite_db_of(rows), SQL_ATTEMPT_INSERT, attempt,
                         ret_new, err);
}

bool sqlite_attempt_end(struct rows *rows, struct row *row,
                        const struct store_attempt *attempt, bool *ret_found,
                        struct err *err) {
    if (!is_kept_with_job(row, attempt->node, attempt->attempt))
        return attempt_write(sqlite_db_of(rows), SQL_ATTEMPT_END, attempt,
                             ret_found, err);
    row->run_attempt = 0;
    kept(row, attempt->node, attempt->attempt);
    return attempt_write(sqlite_db_of(rows), SQL_ATTEMPT_INSERT, attempt,
                         ret_found, err);
}

bool sqlite_attempt_remove(struct rows *rows, struct row *row, struct span node,
                           unsigned attempt, struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    if (is_kept_with_job(row, node, attempt)) {
        row->run_attempt = 0;
        return true;
    }
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt =
        attempt_statement(db, SQL_ATTEMPT_REMOVE, row->num, node, attempt, err);
    return stmt && sqlite_db_do(db, stmt, err);
}
