/* The rows of one open write transaction, for apply.c. */
#include "store/sqlite_db.h"

#include <assert.h>

#include "store/event_pack.h"

static bool row_get(struct rows *rows, uint64_t num, struct row *ret_row,
                    bool *ret_found, struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement_num(db, SQL_ROW, num, err);
    if (!stmt || !sqlite_db_step(db, stmt, ret_found, err))
        return false;
    if (!*ret_found)
        return true;
    struct span id = sqlite_column_peek(stmt, 0);
    struct row *row = ret_row;
    *row = (struct row){
        .num = num,
        .state = sqlite_column_state(stmt, 2),
        .holds = sqlite_column_unsigned(stmt, 3),
        .attempt = sqlite_column_unsigned(stmt, 4),
        .temps = sqlite_column_unsigned(stmt, 5),
        .crashes = sqlite_column_unsigned(stmt, 6),
        .fails = sqlite_column_unsigned(stmt, 7),
        .tasks = sqlite_column_unsigned(stmt, 8),
        .tasks_done = sqlite_column_unsigned(stmt, 9),
        .since = sqlite_column_wall(stmt, 10),
        .not_before = sqlite_column_wall(stmt, 11),
        .state_seq = sqlite_column_u64(stmt, 12),
        .record_seq = sqlite_column_u64(stmt, 13),
        .event_seq = sqlite_column_u64(stmt, 14),
        .has_relations = sqlite_column_unsigned(stmt, 15) != 0,
        .cancel_asked = sqlite_column_unsigned(stmt, 16) != 0,
        .stale = sqlite_column_unsigned(stmt, 17) != 0,
        .run_attempt = sqlite_column_unsigned(stmt, 18),
        .attempt_kept = sqlite_column_unsigned(stmt, 19),
    };
    if (id.len == 0 || id.len > sizeof(row->id_text) ||
        !job_kind_parse(sqlite_column_peek(stmt, 1), &row->kind) ||
        row->state == STATE_NONE)
        return err_set(err, ERR_DATA,
                       "job number %llu in registry '%s' has an id, kind or "
                       "state that this program does not know",
                       (unsigned long long)num, db->path);
    memcpy(row->id_text, id.p, id.len);
    row->id = span_make(row->id_text, id.len);
    return true;
}

static bool job_find(struct rows *rows, struct span id, struct arena *arena,
                     struct job *ret_job, bool *ret_found, struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement(db, SQL_JOB_BY_ID, err);
    if (!stmt)
        return false;
    sqlite_bind_span(stmt, 1, id);
    return sqlite_db_step(db, stmt, ret_found, err) &&
           (!*ret_found || sqlite_column_job(stmt, arena, ret_job, err));
}

/* ---- a new job ---------------------------------------------------------- */

static bool insert_job(struct sqlite_db *db, const struct job *job,
                       uint64_t event_seq, struct err *err) {
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt =
        sqlite_db_statement_num(db, SQL_JOB_INSERT, job->num, err);
    if (!stmt)
        return false;
    sqlite_bind_span(stmt, 2, job->id);
    sqlite_bind_word(stmt, 3, job_kind_word(job->kind));
    sqlite_bind_word(stmt, 4, job_class_word(job->job_class));
    sqlite_bind_state(stmt, 5, job->state);
    sqlite_bind_span(stmt, 6, job->rank);
    sqlite_bind_span(stmt, 7, job->reason);
    sqlite_bind_span(stmt, 8, job->detail);
    const uint64_t numbers[] = {
        job->holds,
        job->attempt,
        job->temps,
        job->crashes,
        job->fails,
        job->tasks,
        job->tasks_done,
        (uint64_t)job->since.ns,
        (uint64_t)job->not_before.ns,
        job->state_seq,
        job->record_seq,
        event_seq,
        job->has_relations,
        job->cancel_asked,
        job->stale,
    };
    for (size_t i = 0; i < COUNT(numbers); i++)
        sqlite_bind_u64(stmt, 9 + (int)i, numbers[i]);
    return sqlite_db_do(db, stmt, err);
}

static bool insert_submission(struct sqlite_db *db, const struct job *job,
                              struct err *err) {
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt =
        sqlite_db_statement_num(db, SQL_SUBMISSION_INSERT, job->num, err);
    if (!stmt)
        return false;
    /* The job's own key is nearly always its rank. */
    if (span_equal(job->key, job->rank))
        sqlite3_bind_null(stmt, 2);
    else
        sqlite_bind_span(stmt, 2, job->key);
    sqlite_bind_span(stmt, 3, job->target);
    sqlite_bind_span(stmt, 4, job->name);
    sqlite_bind_span(stmt, 5, job->actor);
    sqlite_bind_span(stmt, 6, job->cause);
    sqlite_bind_span(stmt, 7, job->sum);
    sqlite_bind_u64(stmt, 8, job->size_bytes);
    sqlite_bind_u64(stmt, 9, job->uid);
    sqlite_bind_wall(stmt, 10, job->admitted);
    sqlite_bind_u64(stmt, 11, job->admitted_seq);
    sqlite_bind_span(stmt, 12, job->spec);
    sqlite_bind_span(stmt, 13, job->rolled_back_by);
    sqlite_bind_wall(stmt, 14, job->owed);
    sqlite_bind_u64(stmt, 15, job->retries);
    sqlite_bind_u64(stmt, 16, job->flags);
    sqlite_bind_u64(stmt, 17, job->group_size);
    sqlite_bind_span(stmt, 18, job->seen);
    sqlite_bind_u64(stmt, 19, job->max_running);
    return sqlite_db_do(db, stmt, err);
}

static bool insert_edge(struct sqlite_db *db, uint64_t num,
                        const struct job_edge *edge, struct err *err) {
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement_num(db, SQL_EDGE_INSERT, num, err);
    if (!stmt)
        return false;
    sqlite_bind_word(stmt, 2, job_edge_kind_word(edge->kind));
    sqlite_bind_span(stmt, 3, edge->to);
    sqlite_bind_u64(stmt, 4, edge->share);
    return sqlite_db_do(db, stmt, err);
}

static bool insert_touch(struct sqlite_db *db, uint64_t num,
                         const struct job_touch *touch, struct err *err) {
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt =
        sqlite_db_statement_num(db, SQL_TOUCH_INSERT, num, err);
    if (!stmt)
        return false;
    sqlite_bind_bytes(stmt, 2, touch->path);
    sqlite_bind_u64(stmt, 3, touch->deleted);
    return sqlite_db_do(db, stmt, err);
}

static bool insert_task(struct sqlite_db *db, uint64_t num, struct span node,
                        size_t place, struct err *err) {
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement_num(db, SQL_TASK_INSERT, num, err);
    if (!stmt)
        return false;
    sqlite_bind_span(stmt, 2, node);
    sqlite_bind_u64(stmt, 3, place);
    return sqlite_db_do(db, stmt, err);
}

static bool row_insert(struct rows *rows, const struct op_admit *admit,
                       uint64_t event_seq, bool *ret_new, struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    uint64_t num = admit->job.num;
    if (!insert_job(db, &admit->job, event_seq, err))
        return false;
    *ret_new = sqlite3_changes(db->sqlite) > 0;
    if (!*ret_new)
        return true;
    if (!insert_submission(db, &admit->job, err))
        return false;
    for (size_t i = 0; i < admit->edge_count; i++)
        if (!insert_edge(db, num, &admit->edges[i], err))
            return false;
    for (size_t i = 0; i < admit->touch_count; i++)
        if (!insert_touch(db, num, &admit->touches[i], err))
            return false;
    for (size_t i = 0; i < admit->node_count; i++)
        if (!insert_task(db, num, admit->nodes[i], i, err))
            return false;
    return true;
}

/* ---- a job changes ------------------------------------------------------ */

static bool update_marks(struct sqlite_db *db, const struct row *row,
                         struct err *err) {
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt =
        sqlite_db_statement_num(db, SQL_JOB_MARKS, row->num, err);
    if (!stmt)
        return false;
    sqlite_bind_wall(stmt, 2, row->not_before);
    sqlite_bind_u64(stmt, 3, row->holds);
    sqlite_bind_u64(stmt, 4, row->has_relations);
    sqlite_bind_u64(stmt, 5, row->stale);
    return sqlite_db_do(db, stmt, err);
}

static bool update_run(struct sqlite_db *db, const struct row *row,
                       struct err *err) {
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt =
        sqlite_db_statement_num(db, SQL_JOB_RUN, row->num, err);
    if (!stmt)
        return false;
    sqlite_bind_wall(stmt, 2, row->run_assigned);
    sqlite_bind_span(stmt, 3, row->run_worker);
    return sqlite_db_do(db, stmt, err);
}

static void bind_step(sqlite3_stmt *stmt, const struct row *row) {
    sqlite_bind_u64(stmt, 9, row->temps);
    sqlite_bind_u64(stmt, 10, row->crashes);
    sqlite_bind_u64(stmt, 11, row->fails);
    sqlite_bind_wall(stmt, 12, row->since);
    sqlite_bind_u64(stmt, 13, row->state_seq);
    sqlite_bind_state(stmt, 14, row->state);
    sqlite_bind_span(stmt, 15, row->reason);
    sqlite_bind_span(stmt, 16, row->detail);
}

static bool update_row(struct sqlite_db *db, enum statement which,
                       const struct row *row, struct err *err) {
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement_num(db, which, row->num, err);
    if (!stmt)
        return false;
    sqlite_bind_u64(stmt, 2, row->attempt);
    sqlite_bind_u64(stmt, 3, row->tasks_done);
    sqlite_bind_u64(stmt, 4, row->record_seq);
    sqlite_bind_u64(stmt, 5, row->event_seq);
    sqlite_bind_u64(stmt, 6, row->cancel_asked);
    sqlite_bind_u64(stmt, 7, row->run_attempt);
    sqlite_bind_u64(stmt, 8, row->attempt_kept);
    if (which != SQL_JOB_REST)
        bind_step(stmt, row);
    if (which == SQL_JOB_START) {
        sqlite_bind_wall(stmt, 17, row->run_assigned);
        sqlite_bind_span(stmt, 18, row->run_worker);
    }
    return sqlite_db_do(db, stmt, err);
}

bool sqlite_row_update(struct rows *rows, const struct row *row,
                       struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    bool step = row->dirty & ROW_STEP, run = row->dirty & ROW_RUN;
    enum statement which = !step ? SQL_JOB_REST
                           : run ? SQL_JOB_START
                                 : SQL_JOB_STEP;
    if ((row->dirty & ROW_MARKS) && !update_marks(db, row, err))
        return false;
    if (run && !step && !update_run(db, row, err))
        return false;
    return row->dirty == ROW_MARKS || update_row(db, which, row, err);
}

static bool row_update_rank(struct rows *rows, uint64_t num, struct span rank,
                            bool *ret_changed, struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *keep = sqlite_db_statement(db, SQL_KEY_KEEP, err);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement(db, SQL_JOB_RANK, err);
    if (!keep || !stmt)
        return false;
    sqlite_bind_u64(keep, 1, num);
    sqlite_bind_u64(stmt, 1, num);
    sqlite_bind_span(stmt, 2, rank);
    if (!sqlite_db_do(db, keep, err) || !sqlite_db_do(db, stmt, err))
        return false;
    *ret_changed = sqlite3_changes(db->sqlite) > 0;
    return true;
}

static bool edges_replace(struct rows *rows, uint64_t num,
                          const struct op_record *record, struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement_num(db, SQL_EDGE_CLEAR, num, err);
    if (!stmt)
        return false;
    sqlite_bind_word(stmt, 2, job_edge_kind_word(EDGE_PRECURSOR));
    if (!sqlite_db_do(db, stmt, err))
        return false;
    for (size_t i = 0; i < record->count; i++)
        if (!insert_edge(db, num,
                         &(struct job_edge){EDGE_PRECURSOR, record->ids[i], 0},
                         err))
            return false;
    return true;
}

/* ---- log, settings, leases ---------------------------------------------- */

void sqlite_rows_forget_events(struct sqlite_db *db) {
    text_reset(&db->events.lines);
}

static bool events_write_gathered(struct rows *rows, struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    if (db->events.lines.len == 0)
        return true;
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt =
        sqlite_db_statement_num(db, SQL_EVENT_INSERT, db->events.seq, err);
    if (!stmt)
        return false;
    sqlite_bind_bytes(stmt, 2, text_span(&db->events.lines));
    sqlite_bind_bytes(stmt, 3, span_make(db->events.hash, CHAIN_BYTES));
    bool well = sqlite_db_do(db, stmt, err);
    sqlite_rows_forget_events(db);
    return well;
}

static bool event_insert(struct rows *rows, const struct store_event *event,
                         uint64_t prev, const unsigned char hash[CHAIN_BYTES],
                         struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    event_pack_add(&db->events.lines, event, prev, hash);
    db->events.seq = event->seq;
    memcpy(db->events.hash, hash, CHAIN_BYTES);
    return db->events.lines.len < EVENT_PACK_BYTES ||
           events_write_gathered(rows, err);
}

static bool setting_get(struct rows *rows, struct span name,
                        struct arena *arena, struct span *ret_value,
                        struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement(db, SQL_SETTING_GET, err);
    bool found;
    *ret_value = (struct span){NULL, 0};
    if (!stmt)
        return false;
    sqlite_bind_span(stmt, 1, name);
    if (!sqlite_db_step(db, stmt, &found, err))
        return false;
    if (found)
        *ret_value = sqlite_column_span(stmt, 0, arena);
    return true;
}

static bool setting_put(struct rows *rows, struct span name, struct span value,
                        struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement(
        db, value.p ? SQL_SETTING_PUT : SQL_SETTING_REMOVE, err);
    if (!stmt)
        return false;
    sqlite_bind_span(stmt, 1, name);
    if (value.p)
        sqlite_bind_span(stmt, 2, value);
    return sqlite_db_do(db, stmt, err);
}

static bool lease_get(struct rows *rows, struct span name, struct arena *arena,
                      struct span *ret_holder, uint64_t *ret_epoch,
                      struct wall *ret_until, bool *ret_found,
                      struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement(db, SQL_LEASE_GET, err);
    if (!stmt)
        return false;
    sqlite_bind_span(stmt, 1, name);
    if (!sqlite_db_step(db, stmt, ret_found, err))
        return false;
    if (*ret_found) {
        *ret_holder = sqlite_column_span(stmt, 0, arena);
        *ret_epoch = sqlite_column_u64(stmt, 1);
        *ret_until = sqlite_column_wall(stmt, 2);
    }
    return true;
}

static bool lease_put(struct rows *rows, struct span name, struct span holder,
                      uint64_t epoch, struct wall until, struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement(db, SQL_LEASE_PUT, err);
    if (!stmt)
        return false;
    sqlite_bind_span(stmt, 1, name);
    sqlite_bind_span(stmt, 2, holder);
    sqlite_bind_u64(stmt, 3, epoch);
    sqlite_bind_wall(stmt, 4, until);
    return sqlite_db_do(db, stmt, err);
}

static bool set_back(struct rows *rows, struct wall now, int64_t ms,
                     struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement(
        db, ms > 0 ? SQL_SET_BACK : SQL_SET_BACK_UNSEEN, err);
    if (!stmt)
        return false;
    sqlite_bind_wall(stmt, 1, now);
    if (ms > 0)
        sqlite_bind_wall(stmt, 2, wall_add_ms((struct wall){0}, ms));
    return sqlite_db_do(db, stmt, err);
}

/* ---- around an atomic batch --------------------------------------------- */

static bool save(struct rows *rows, struct err *err) {
    return sqlite_db_plain(sqlite_db_of(rows), SQL_SAVE, err);
}

static bool release(struct rows *rows, struct err *err) {
    return sqlite_db_plain(sqlite_db_of(rows), SQL_RELEASE, err);
}

static bool restore(struct rows *rows, struct err *err) {
    sqlite_rows_forget_events(sqlite_db_of(rows));
    return sqlite_db_plain(sqlite_db_of(rows), SQL_RESTORE, err) &&
           sqlite_db_plain(sqlite_db_of(rows), SQL_RELEASE, err);
}

static struct store_tables *tables_of(struct rows *rows) {
    return (struct store_tables *)(void *)rows;
}

const struct rows_ops sqlite_rows = {
    .get = row_get,
    .find = job_find,
    .insert = row_insert,
    .update = sqlite_row_update,
    .update_rank = row_update_rank,
    .owed_get = sqlite_owed_get,
    .owed_put = sqlite_owed_put,
    .limit_put = sqlite_limit_put,
    .mark_get = sqlite_mark_get,
    .mark_put = sqlite_mark_put,
    .plan_put = sqlite_plan_put,
    .edges_replace = edges_replace,
    .task_get = sqlite_task_get,
    .set_back = set_back,
    .task_put = sqlite_task_put,
    .task_record = sqlite_task_record,
    .tasks_at_once = sqlite_tasks_at_once,
    .attempt_status = sqlite_attempt_status,
    .attempt_insert = sqlite_attempt_insert,
    .attempt_end = sqlite_attempt_end,
    .attempt_remove = sqlite_attempt_remove,
    .event_insert = event_insert,
    .write_gathered = events_write_gathered,
    .setting_get = setting_get,
    .setting_put = setting_put,
    .lease_get = lease_get,
    .lease_put = lease_put,
    .tables = tables_of,
    .save = save,
    .restore = restore,
    .release = release,
};
