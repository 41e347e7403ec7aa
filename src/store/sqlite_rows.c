/* The rows of one open write transaction, for apply.c. */
#include "store/sqlite_db.h"

#include <assert.h>

#include "store/event_pack.h"

static struct db *db_of(struct rows *rows) {
    return (struct db *)(void *)rows;
}

static bool row_get(struct rows *rows, uint64_t num, struct row *ret_row,
                    bool *ret_found, struct err *err) {
    struct db *db = db_of(rows);
    CLEANUP(stmt_end) sqlite3_stmt *stmt = db_statement(db, SQL_ROW, err);
    if (!stmt)
        return false;
    bind_u64(stmt, 1, num);
    if (!db_step(db, stmt, ret_found, err))
        return false;
    if (!*ret_found)
        return true;
    struct span id = column_peek(stmt, 0);
    struct row *row = ret_row;
    *row = (struct row){
        .num = num,
        .state = column_state(stmt, 2),
        .holds = column_unsigned(stmt, 3),
        .attempt = column_unsigned(stmt, 4),
        .temps = column_unsigned(stmt, 5),
        .crashes = column_unsigned(stmt, 6),
        .fails = column_unsigned(stmt, 7),
        .tasks = column_unsigned(stmt, 8),
        .tasks_done = column_unsigned(stmt, 9),
        .since = column_wall(stmt, 10),
        .not_before = column_wall(stmt, 11),
        .state_seq = column_u64(stmt, 12),
        .record_seq = column_u64(stmt, 13),
        .event_seq = column_u64(stmt, 14),
        .has_relations = column_unsigned(stmt, 15) != 0,
        .cancel_asked = column_unsigned(stmt, 16) != 0,
        .stale = column_unsigned(stmt, 17) != 0,
        .run_attempt = column_unsigned(stmt, 18),
        .attempt_kept = column_unsigned(stmt, 19),
    };
    if (id.len == 0 || id.len > sizeof(row->id_text) ||
        !job_kind_parse(column_peek(stmt, 1), &row->kind) ||
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
    struct db *db = db_of(rows);
    CLEANUP(stmt_end)
    sqlite3_stmt *stmt = db_statement(db, SQL_JOB_BY_ID, err);
    if (!stmt)
        return false;
    bind_span(stmt, 1, id);
    return db_step(db, stmt, ret_found, err) &&
           (!*ret_found || column_job(stmt, arena, ret_job, err));
}

/* ---- a new job ---------------------------------------------------------- */

static bool insert_job(struct db *db, const struct job *job, uint64_t event_seq,
                       struct err *err) {
    CLEANUP(stmt_end)
    sqlite3_stmt *stmt = db_statement(db, SQL_JOB_INSERT, err);
    if (!stmt)
        return false;
    bind_u64(stmt, 1, job->num);
    bind_span(stmt, 2, job->id);
    bind_word(stmt, 3, job_kind_word(job->kind));
    bind_word(stmt, 4, job_class_word(job->job_class));
    bind_state(stmt, 5, job->state);
    bind_span(stmt, 6, job->rank);
    bind_span(stmt, 7, job->reason);
    bind_span(stmt, 8, job->detail);
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
        bind_u64(stmt, 9 + (int)i, numbers[i]);
    return db_do(db, stmt, err);
}

static bool insert_submission(struct db *db, const struct job *job,
                              struct err *err) {
    CLEANUP(stmt_end)
    sqlite3_stmt *stmt = db_statement(db, SQL_SUBMISSION_INSERT, err);
    if (!stmt)
        return false;
    bind_u64(stmt, 1, job->num);
    /* Its own key is nearly always what it is scheduled with. */
    if (span_equal(job->key, job->rank))
        sqlite3_bind_null(stmt, 2);
    else
        bind_span(stmt, 2, job->key);
    bind_span(stmt, 3, job->target);
    bind_span(stmt, 4, job->name);
    bind_span(stmt, 5, job->actor);
    bind_span(stmt, 6, job->cause);
    bind_span(stmt, 7, job->sum);
    bind_u64(stmt, 8, job->size_bytes);
    bind_u64(stmt, 9, job->uid);
    bind_wall(stmt, 10, job->admitted);
    bind_u64(stmt, 11, job->admitted_seq);
    bind_span(stmt, 12, job->spec);
    bind_span(stmt, 13, job->rolled_back_by);
    bind_wall(stmt, 14, job->owed);
    return db_do(db, stmt, err);
}

static bool insert_edge(struct db *db, uint64_t num, enum edge_kind kind,
                        struct span to, struct err *err) {
    CLEANUP(stmt_end)
    sqlite3_stmt *stmt = db_statement(db, SQL_EDGE_INSERT, err);
    if (!stmt)
        return false;
    bind_u64(stmt, 1, num);
    bind_word(stmt, 2, edge_kind_word(kind));
    bind_span(stmt, 3, to);
    return db_do(db, stmt, err);
}

static bool insert_touch(struct db *db, uint64_t num,
                         const struct job_touch *touch, struct err *err) {
    CLEANUP(stmt_end)
    sqlite3_stmt *stmt = db_statement(db, SQL_TOUCH_INSERT, err);
    if (!stmt)
        return false;
    bind_u64(stmt, 1, num);
    bind_bytes(stmt, 2, touch->path);
    bind_u64(stmt, 3, touch->deleted);
    return db_do(db, stmt, err);
}

static bool insert_task(struct db *db, uint64_t num, struct span node,
                        size_t place, struct err *err) {
    CLEANUP(stmt_end)
    sqlite3_stmt *stmt = db_statement(db, SQL_TASK_INSERT, err);
    if (!stmt)
        return false;
    bind_u64(stmt, 1, num);
    bind_span(stmt, 2, node);
    bind_u64(stmt, 3, place);
    return db_do(db, stmt, err);
}

static bool row_insert(struct rows *rows, const struct op_admit *admit,
                       uint64_t event_seq, bool *ret_new, struct err *err) {
    struct db *db = db_of(rows);
    uint64_t num = admit->job.num;
    if (!insert_job(db, &admit->job, event_seq, err))
        return false;
    *ret_new = sqlite3_changes(db->sqlite) > 0;
    if (!*ret_new)
        return true;
    if (!insert_submission(db, &admit->job, err))
        return false;
    for (size_t i = 0; i < admit->edge_count; i++)
        if (!insert_edge(db, num, admit->edges[i].kind, admit->edges[i].to,
                         err))
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

static bool update_marks(struct db *db, const struct row *row,
                         struct err *err) {
    CLEANUP(stmt_end)
    sqlite3_stmt *stmt = db_statement(db, SQL_JOB_MARKS, err);
    if (!stmt)
        return false;
    bind_u64(stmt, 1, row->num);
    bind_wall(stmt, 2, row->not_before);
    bind_u64(stmt, 3, row->holds);
    bind_u64(stmt, 4, row->has_relations);
    bind_u64(stmt, 5, row->stale);
    return db_do(db, stmt, err);
}

static bool update_run(struct db *db, const struct row *row, struct err *err) {
    CLEANUP(stmt_end) sqlite3_stmt *stmt = db_statement(db, SQL_JOB_RUN, err);
    if (!stmt)
        return false;
    bind_u64(stmt, 1, row->num);
    bind_wall(stmt, 2, row->run_assigned);
    bind_span(stmt, 3, row->run_worker);
    return db_do(db, stmt, err);
}

static void bind_step(sqlite3_stmt *stmt, const struct row *row) {
    bind_u64(stmt, 9, row->temps);
    bind_u64(stmt, 10, row->crashes);
    bind_u64(stmt, 11, row->fails);
    bind_wall(stmt, 12, row->since);
    bind_u64(stmt, 13, row->state_seq);
    bind_state(stmt, 14, row->state);
    bind_span(stmt, 15, row->reason);
    bind_span(stmt, 16, row->detail);
}

static bool update_row(struct db *db, enum statement which,
                       const struct row *row, struct err *err) {
    CLEANUP(stmt_end) sqlite3_stmt *stmt = db_statement(db, which, err);
    if (!stmt)
        return false;
    bind_u64(stmt, 1, row->num);
    bind_u64(stmt, 2, row->attempt);
    bind_u64(stmt, 3, row->tasks_done);
    bind_u64(stmt, 4, row->record_seq);
    bind_u64(stmt, 5, row->event_seq);
    bind_u64(stmt, 6, row->cancel_asked);
    bind_u64(stmt, 7, row->run_attempt);
    bind_u64(stmt, 8, row->attempt_kept);
    if (which != SQL_JOB_REST)
        bind_step(stmt, row);
    if (which == SQL_JOB_START) {
        bind_wall(stmt, 17, row->run_assigned);
        bind_span(stmt, 18, row->run_worker);
    }
    return db_do(db, stmt, err);
}

bool sqlite_row_update(struct rows *rows, const struct row *row,
                       struct err *err) {
    struct db *db = db_of(rows);
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
    struct db *db = db_of(rows);
    CLEANUP(stmt_end)
    sqlite3_stmt *keep = db_statement(db, SQL_KEY_KEEP, err);
    CLEANUP(stmt_end) sqlite3_stmt *stmt = db_statement(db, SQL_JOB_RANK, err);
    if (!keep || !stmt)
        return false;
    bind_u64(keep, 1, num);
    bind_u64(stmt, 1, num);
    bind_span(stmt, 2, rank);
    if (!db_do(db, keep, err) || !db_do(db, stmt, err))
        return false;
    *ret_changed = sqlite3_changes(db->sqlite) > 0;
    return true;
}

static bool edges_replace(struct rows *rows, uint64_t num,
                          const struct op_record *record, struct err *err) {
    struct db *db = db_of(rows);
    CLEANUP(stmt_end)
    sqlite3_stmt *stmt = db_statement(db, SQL_EDGE_CLEAR, err);
    if (!stmt)
        return false;
    bind_u64(stmt, 1, num);
    bind_word(stmt, 2, edge_kind_word(EDGE_PRECURSOR));
    if (!db_do(db, stmt, err))
        return false;
    for (size_t i = 0; i < record->count; i++)
        if (!insert_edge(db, num, EDGE_PRECURSOR, record->ids[i], err))
            return false;
    return true;
}

/* ---- log, settings, leases ---------------------------------------------- */

void db_events_forget(struct db *db) {
    text_reset(&db->events.lines);
}

static bool events_settle(struct rows *rows, struct err *err) {
    struct db *db = db_of(rows);
    if (db->events.lines.len == 0)
        return true;
    CLEANUP(stmt_end)
    sqlite3_stmt *stmt = db_statement(db, SQL_EVENT_INSERT, err);
    if (!stmt)
        return false;
    bind_u64(stmt, 1, db->events.seq);
    bind_bytes(stmt, 2, text_span(&db->events.lines));
    bind_bytes(stmt, 3, span_make(db->events.hash, CHAIN_BYTES));
    bool well = db_do(db, stmt, err);
    db_events_forget(db);
    return well;
}

static bool event_insert(struct rows *rows, const struct store_event *event,
                         uint64_t prev, const unsigned char hash[CHAIN_BYTES],
                         struct err *err) {
    struct db *db = db_of(rows);
    event_pack_add(&db->events.lines, event, prev);
    db->events.seq = event->seq;
    memcpy(db->events.hash, hash, CHAIN_BYTES);
    return db->events.lines.len < EVENT_PACK_BYTES || events_settle(rows, err);
}

static bool setting_get(struct rows *rows, struct span name,
                        struct arena *arena, struct span *ret_value,
                        struct err *err) {
    struct db *db = db_of(rows);
    CLEANUP(stmt_end)
    sqlite3_stmt *stmt = db_statement(db, SQL_SETTING_GET, err);
    bool found;
    *ret_value = (struct span){NULL, 0};
    if (!stmt)
        return false;
    bind_span(stmt, 1, name);
    if (!db_step(db, stmt, &found, err))
        return false;
    if (found)
        *ret_value = column_span(stmt, 0, arena);
    return true;
}

static bool setting_put(struct rows *rows, struct span name, struct span value,
                        struct err *err) {
    struct db *db = db_of(rows);
    CLEANUP(stmt_end)
    sqlite3_stmt *stmt =
        db_statement(db, value.p ? SQL_SETTING_PUT : SQL_SETTING_REMOVE, err);
    if (!stmt)
        return false;
    bind_span(stmt, 1, name);
    if (value.p)
        bind_span(stmt, 2, value);
    return db_do(db, stmt, err);
}

static bool lease_get(struct rows *rows, struct span name, struct arena *arena,
                      struct span *ret_holder, uint64_t *ret_epoch,
                      struct wall *ret_until, bool *ret_found,
                      struct err *err) {
    struct db *db = db_of(rows);
    CLEANUP(stmt_end)
    sqlite3_stmt *stmt = db_statement(db, SQL_LEASE_GET, err);
    if (!stmt)
        return false;
    bind_span(stmt, 1, name);
    if (!db_step(db, stmt, ret_found, err))
        return false;
    if (*ret_found) {
        *ret_holder = column_span(stmt, 0, arena);
        *ret_epoch = column_u64(stmt, 1);
        *ret_until = column_wall(stmt, 2);
    }
    return true;
}

static bool lease_put(struct rows *rows, struct span name, struct span holder,
                      uint64_t epoch, struct wall until, struct err *err) {
    struct db *db = db_of(rows);
    CLEANUP(stmt_end)
    sqlite3_stmt *stmt = db_statement(db, SQL_LEASE_PUT, err);
    if (!stmt)
        return false;
    bind_span(stmt, 1, name);
    bind_span(stmt, 2, holder);
    bind_u64(stmt, 3, epoch);
    bind_wall(stmt, 4, until);
    return db_do(db, stmt, err);
}

/* ---- around an atomic batch --------------------------------------------- */

static bool save(struct rows *rows, struct err *err) {
    return db_plain(db_of(rows), SQL_SAVE, err);
}

static bool release(struct rows *rows, struct err *err) {
    return db_plain(db_of(rows), SQL_RELEASE, err);
}

static bool restore(struct rows *rows, struct err *err) {
    db_events_forget(db_of(rows));
    return db_plain(db_of(rows), SQL_RESTORE, err) &&
           db_plain(db_of(rows), SQL_RELEASE, err);
}

const struct rows_ops sqlite_rows = {
    .get = row_get,
    .find = job_find,
    .insert = row_insert,
    .update = sqlite_row_update,
    .update_rank = row_update_rank,
    .owed_get = sqlite_owed_get,
    .owed_put = sqlite_owed_put,
    .mark_get = sqlite_mark_get,
    .mark_put = sqlite_mark_put,
    .plan_put = sqlite_plan_put,
    .edges_replace = edges_replace,
    .task_get = sqlite_task_get,
    .task_put = sqlite_task_put,
    .attempt_status = sqlite_attempt_status,
    .attempt_insert = sqlite_attempt_insert,
    .attempt_end = sqlite_attempt_end,
    .attempt_remove = sqlite_attempt_remove,
    .prune = sqlite_prune,
    .event_insert = event_insert,
    .settle = events_settle,
    .setting_get = setting_get,
    .setting_put = setting_put,
    .lease_get = lease_get,
    .lease_put = lease_put,
    .schedule_get = sqlite_schedule_get,
    .schedule_put = sqlite_schedule_put,
    .schedule_remove = sqlite_schedule_remove,
    .schedule_job_put = sqlite_schedule_job_put,
    .save = save,
    .restore = restore,
    .release = release,
};
