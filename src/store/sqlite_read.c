/* All reads but the lists of jobs. */
#include "store/sqlite.h"

#include "store/sqlite_found.h"

static bool refuse_row(struct sqlite_db *db, const char *what,
                       struct err *err) {
    return err_set(err, ERR_DATA,
                   "registry '%s' has %s: it is damaged, or was written by a "
                   "newer program",
                   db->path, what);
}

/* ---- relations ---------------------------------------------------------- */

static bool read_edge(struct sqlite_db *db, sqlite3_stmt *stmt,
                      struct arena *arena, void *ret_row, struct err *err) {
    struct job_edge *edge = ret_row;
    edge->to = sqlite_column_span(stmt, 1, arena);
    edge->share = sqlite_column_unsigned(stmt, 2);
    return job_edge_kind_parse(sqlite_column_peek(stmt, 0), &edge->kind) ||
           refuse_row(db, "an invalid edge", err);
}

bool sqlite_edges_from(struct store *store, uint64_t num, struct arena *arena,
                       struct job_edge **ret_edges, size_t *ret_count,
                       struct err *err) {
    struct sqlite_db *db = sqlite_reader(store);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement_num(db, SQL_EDGES_FROM, num, err);
    if (!stmt)
        return false;
    *ret_edges = sqlite_found_list(db, stmt, read_edge, sizeof(**ret_edges),
                                   arena, ret_count, err);
    return *ret_edges != NULL;
}

static bool read_edge_to(struct sqlite_db *db, sqlite3_stmt *stmt,
                         struct arena *arena, void *ret_row, struct err *err) {
    struct store_edge_to *edge = ret_row;
    edge->num = sqlite_column_u64(stmt, 0);
    edge->id = sqlite_column_span(stmt, 2, arena);
    edge->state = sqlite_column_state(stmt, 3);
    return job_edge_kind_parse(sqlite_column_peek(stmt, 1), &edge->kind) ||
           refuse_row(db, "an invalid edge", err);
}

bool sqlite_edges_to(struct store *store, struct span id, uint64_t after_num,
                     size_t limit, struct arena *arena,
                     struct store_edge_to **ret_edges, size_t *ret_count,
                     struct err *err) {
    struct sqlite_db *db = sqlite_reader(store);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement(db, SQL_EDGES_TO, err);
    if (!stmt)
        return false;
    sqlite_bind_span(stmt, 1, id);
    sqlite_bind_u64(stmt, 2, after_num);
    sqlite_bind_limit(stmt, 3, limit);
    *ret_edges = sqlite_found_list(db, stmt, read_edge_to, sizeof(**ret_edges),
                                   arena, ret_count, err);
    return *ret_edges != NULL;
}

static bool read_touch(struct sqlite_db *db, sqlite3_stmt *stmt,
                       struct arena *arena, void *ret_row, struct err *err) {
    struct job_touch *touch = ret_row;
    (void)db, (void)err;
    touch->path = sqlite_column_span(stmt, 0, arena);
    touch->deleted = sqlite_column_unsigned(stmt, 1) != 0;
    return true;
}

bool sqlite_touches(struct store *store, uint64_t num, struct arena *arena,
                    struct job_touch **ret_touches, size_t *ret_count,
                    struct err *err) {
    struct sqlite_db *db = sqlite_reader(store);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement_num(db, SQL_TOUCHES, num, err);
    if (!stmt)
        return false;
    *ret_touches = sqlite_found_list(
        db, stmt, read_touch, sizeof(**ret_touches), arena, ret_count, err);
    return *ret_touches != NULL;
}

/* ---- tasks and attempts ------------------------------------------------- */

/* Reads an attempt without the number of its job. */
static bool read_attempt(struct sqlite_db *db, sqlite3_stmt *stmt,
                         struct arena *arena, void *ret_row, struct err *err) {
    struct store_attempt *attempt = ret_row;
    *attempt = (struct store_attempt){
        .node = sqlite_column_span(stmt, 0, arena),
        .attempt = sqlite_column_unsigned(stmt, 1),
        .assigned = sqlite_column_wall(stmt, 3),
        .started = sqlite_column_wall(stmt, 4),
        .ended = sqlite_column_wall(stmt, 5),
        .exit_code = sqlite3_column_int(stmt, 6),
        .signal = sqlite3_column_int(stmt, 7),
        .reason = sqlite_column_span(stmt, 8, arena),
        .detail = sqlite_column_span(stmt, 9, arena),
        .worker = sqlite_column_span(stmt, 10, arena),
        .output = sqlite_column_span(stmt, 11, arena),
        .output_bytes = sqlite_column_u64(stmt, 12),
        .cpu_us = sqlite_column_u64(stmt, 13),
        .peak_kib = sqlite_column_u64(stmt, 14),
        .trace = sqlite_column_span(stmt, 15, arena),
    };
    return job_task_status_parse(sqlite_column_peek(stmt, 2),
                                 &attempt->status) ||
           refuse_row(db, "an attempt with an invalid status", err);
}

/* The running attempt, which is kept in its job's row. */
static bool running_attempt(struct sqlite_db *db, uint64_t num,
                            struct arena *arena,
                            struct store_attempt *ret_attempt, bool *ret_found,
                            struct err *err) {
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt =
        sqlite_db_statement_num(db, SQL_ATTEMPT_RUNNING, num, err);
    if (!stmt || !sqlite_db_step(db, stmt, ret_found, err))
        return false;
    if (*ret_found)
        *ret_attempt = (struct store_attempt){
            .num = num,
            .node = SPAN(""),
            .attempt = sqlite_column_unsigned(stmt, 0),
            .status = TASK_RUNNING,
            .assigned = sqlite_column_wall(stmt, 1),
            .exit_code = -1,
            .reason = SPAN(""),
            .detail = SPAN(""),
            .worker = sqlite_column_span(stmt, 2, arena),
            .output = SPAN(""),
            .trace = SPAN(""),
        };
    return true;
}

/* Inserts it in its place: attempts without a node come first, by number. */
static void put_running(struct sqlite_found *found,
                        const struct store_attempt *running) {
    size_t last = found->count;
    sqlite_found_more(found);
    struct store_attempt *attempts = (struct store_attempt *)(void *)found->p;
    for (; last > 0; last--) {
        const struct store_attempt *before = &attempts[last - 1];
        if (before->node.len == 0 && before->attempt < running->attempt)
            break;
        attempts[last] = *before;
    }
    attempts[last] = *running;
}

static bool read_attempts(struct sqlite_db *db, sqlite3_stmt *stmt,
                          uint64_t num, struct sqlite_found *found,
                          struct arena *arena, struct err *err) {
    if (!sqlite_found_read(found, db, stmt, read_attempt, arena, err))
        return false;
    struct store_attempt *attempts = (struct store_attempt *)(void *)found->p;
    for (size_t i = 0; i < found->count; i++)
        attempts[i].num = num;
    return true;
}

static bool ended_attempts(struct sqlite_db *db, uint64_t num,
                           struct sqlite_found *found, struct arena *arena,
                           struct err *err) {
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement_num(db, SQL_ATTEMPTS, num, err);
    return stmt && read_attempts(db, stmt, num, found, arena, err);
}

bool sqlite_attempts(struct store *store, uint64_t num, struct arena *arena,
                     struct store_attempt **ret_attempts, size_t *ret_count,
                     struct err *err) {
    struct sqlite_db *db = sqlite_reader(store);
    CLEANUP(sqlite_found_clear)
    struct sqlite_found found = {.each = sizeof(struct store_attempt)};
    struct store_attempt running;
    bool runs = false;
    if (!sqlite_db_read_begin(db,
                              err)) /* both from one state of the registry */
        return false;
    bool well = ended_attempts(db, num, &found, arena, err) &&
                running_attempt(db, num, arena, &running, &runs, err);
    sqlite_db_read_end(db);
    if (!well)
        return false;
    if (runs)
        put_running(&found, &running);
    *ret_attempts = sqlite_found_give(&found, arena, ret_count);
    return true;
}

bool sqlite_attempts_latest(struct store *store, uint64_t num, struct span node,
                            size_t limit, struct arena *arena,
                            struct store_attempt **ret_attempts,
                            size_t *ret_count, struct err *err) {
    struct sqlite_db *db = sqlite_reader(store);
    CLEANUP(sqlite_found_clear)
    struct sqlite_found found = {.each = sizeof(struct store_attempt)};
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt =
        sqlite_db_statement_num(db, SQL_ATTEMPTS_LATEST, num, err);
    if (!stmt)
        return false;
    sqlite_bind_span(stmt, 2, node);
    sqlite_bind_limit(stmt, 3, limit);
    if (!read_attempts(db, stmt, num, &found, arena, err))
        return false;
    *ret_attempts = sqlite_found_give(&found, arena, ret_count);
    return true;
}

static bool recorded_attempt(struct sqlite_db *db, uint64_t num,
                             struct span node, unsigned attempt,
                             struct arena *arena,
                             struct store_attempt *ret_attempt, bool *ret_found,
                             struct err *err) {
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt =
        sqlite_db_statement_num(db, SQL_ATTEMPT_FIND, num, err);
    if (!stmt)
        return false;
    sqlite_bind_span(stmt, 2, node);
    sqlite_bind_u64(stmt, 3, attempt);
    if (!sqlite_db_step(db, stmt, ret_found, err))
        return false;
    if (*ret_found && !read_attempt(db, stmt, arena, ret_attempt, err))
        return false;
    if (*ret_found)
        ret_attempt->num = num;
    return true;
}

bool sqlite_attempt_find(struct store *store, uint64_t num, struct span node,
                         unsigned attempt, struct arena *arena,
                         struct store_attempt *ret_attempt, bool *ret_found,
                         struct err *err) {
    struct sqlite_db *db = sqlite_reader(store);
    if (!sqlite_db_read_begin(db, err))
        return false;
    bool well = recorded_attempt(db, num, node, attempt, arena, ret_attempt,
                                 ret_found, err);
    if (well && !*ret_found && node.len == 0) {
        well = running_attempt(db, num, arena, ret_attempt, ret_found, err);
        *ret_found = *ret_found && ret_attempt->attempt == attempt;
    }
    sqlite_db_read_end(db);
    return well;
}

static bool read_task(struct sqlite_db *db, sqlite3_stmt *stmt,
                      struct arena *arena, void *ret_row, struct err *err) {
    struct store_task *task = ret_row;
    task->node = sqlite_column_span(stmt, 0, arena);
    task->at = sqlite_column_u64(stmt, 1);
    task->attempt = sqlite_column_unsigned(stmt, 3);
    task->not_before = sqlite_column_wall(stmt, 4);
    task->temps = sqlite_column_unsigned(stmt, 5);
    task->fails = sqlite_column_unsigned(stmt, 6);
    task->crashes = sqlite_column_unsigned(stmt, 7);
    task->incompletes = sqlite_column_unsigned(stmt, 8);
    task->flags = sqlite_column_unsigned(stmt, 9);
    task->begun_s = (int64_t)sqlite_column_u64(stmt, 10);
    return job_task_status_parse(sqlite_column_peek(stmt, 2), &task->status) ||
           refuse_row(db, "a task with an invalid status", err);
}

bool sqlite_task_find(struct store *store, uint64_t num, struct span node,
                      struct arena *arena, struct store_task *ret_task,
                      bool *ret_found, struct err *err) {
    struct sqlite_db *db = sqlite_reader(store);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement_num(db, SQL_TASK_FIND, num, err);
    if (!stmt)
        return false;
    sqlite_bind_span(stmt, 2, node);
    return sqlite_db_step(db, stmt, ret_found, err) &&
           (!*ret_found || read_task(db, stmt, arena, ret_task, err));
}

bool sqlite_task_counts(struct store *store, uint64_t num,
                        size_t ret_counts[TASK_STATUSES], struct err *err) {
    struct sqlite_db *db = sqlite_reader(store);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement_num(db, SQL_TASK_COUNTS, num, err);
    enum task_status status;
    bool row;
    memset(ret_counts, 0, TASK_STATUSES * sizeof(*ret_counts));
    if (!stmt)
        return false;
    for (;;) {
        if (!sqlite_db_step(db, stmt, &row, err))
            return false;
        if (!row)
            return true;
        if (!job_task_status_parse(sqlite_column_peek(stmt, 0), &status))
            return refuse_row(db, "a task with an unknown status", err);
        ret_counts[status] = (size_t)sqlite_column_u64(stmt, 1);
    }
}

bool sqlite_tasks_ended(struct store *store, uint64_t num, struct wall since,
                        size_t *ret_count, struct err *err) {
    struct sqlite_db *db = sqlite_reader(store);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement_num(db, SQL_TASKS_ENDED, num, err);
    bool row;
    if (!stmt)
        return false;
    sqlite_bind_wall(stmt, 2, since);
    if (!sqlite_db_step(db, stmt, &row, err))
        return false;
    *ret_count = row ? (size_t)sqlite_column_u64(stmt, 0) : 0;
    return true;
}

bool sqlite_tasks(struct store *store, uint64_t num, struct arena *arena,
                  struct store_task **ret_tasks, size_t *ret_count,
                  struct err *err) {
    struct sqlite_db *db = sqlite_reader(store);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement_num(db, SQL_TASKS, num, err);
    if (!stmt)
        return false;
    *ret_tasks = sqlite_found_list(db, stmt, read_task, sizeof(**ret_tasks),
                                   arena, ret_count, err);
    return *ret_tasks != NULL;
}

/* ---- settings ----------------------------------------------------------- */

bool sqlite_setting(struct store *store, struct span name, struct arena *arena,
                    struct span *ret_value, struct err *err) {
    return sqlite_rows.setting_get((struct rows *)(void *)sqlite_reader(store),
                                   name, arena, ret_value, err);
}

struct setting {
    struct span name, value;
};

static bool read_setting(struct sqlite_db *db, sqlite3_stmt *stmt,
                         struct arena *arena, void *ret_row, struct err *err) {
    struct setting *setting = ret_row;
    (void)db, (void)err;
    setting->name = sqlite_column_span(stmt, 0, arena);
    setting->value = sqlite_column_span(stmt, 1, arena);
    return true;
}

bool sqlite_settings(struct store *store, struct arena *arena,
                     struct span **ret_names, struct span **ret_values,
                     size_t *ret_count, struct err *err) {
    struct sqlite_db *db = sqlite_reader(store);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement(db, SQL_SETTINGS, err);
    if (!stmt)
        return false;
    struct setting *settings = sqlite_found_list(
        db, stmt, read_setting, sizeof(*settings), arena, ret_count, err);
    if (!settings)
        return false;
    *ret_names = arena_alloc(arena, (*ret_count + 1) * sizeof(**ret_names));
    *ret_values = arena_alloc(arena, (*ret_count + 1) * sizeof(**ret_values));
    for (size_t i = 0; i < *ret_count; i++) {
        (*ret_names)[i] = settings[i].name;
        (*ret_values)[i] = settings[i].value;
    }
    return true;
}

/* ---- ids ---------------------------------------------------------------- */

static bool read_id(struct sqlite_db *db, sqlite3_stmt *stmt,
                    struct arena *arena, void *ret_row, struct err *err) {
    (void)db, (void)err;
    *(struct span *)ret_row = sqlite_column_span(stmt, 0, arena);
    return true;
}

bool sqlite_ids(struct store *store, struct span prefix, size_t limit,
                struct arena *arena, struct span **ret_ids, size_t *ret_count,
                struct err *err) {
    struct sqlite_db *db = sqlite_reader(store);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement(db, SQL_IDS, err);
    if (!stmt)
        return false;
    /* Ids are ASCII: all ids with this prefix sort before the prefix
     * followed by a byte that no id contains. */
    struct span end =
        span_of(arena_printf(arena, "%.*s\x7f", (int)prefix.len, prefix.p));
    sqlite_bind_span(stmt, 1, prefix);
    sqlite_bind_span(stmt, 2, end);
    sqlite_bind_limit(stmt, 3, limit);
    *ret_ids = sqlite_found_list(db, stmt, read_id, sizeof(**ret_ids), arena,
                                 ret_count, err);
    return *ret_ids != NULL;
}
