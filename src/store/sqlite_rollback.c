/* Rows about rollback: the mark on a done set, and plans; approvals owed. */
#include "store/sqlite.h"

bool sqlite_mark_get(struct rows *rows, uint64_t num, struct arena *arena,
                     struct span *ret_mark, struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement_num(db, SQL_MARK_GET, num, err);
    bool found;
    if (!stmt || !sqlite_db_step(db, stmt, &found, err))
        return false;
    *ret_mark = found ? sqlite_column_span(stmt, 0, arena) : SPAN("");
    return true;
}

bool sqlite_mark_put(struct rows *rows, uint64_t num, struct span mark,
                     struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement_num(db, SQL_MARK_PUT, num, err);
    if (!stmt)
        return false;
    sqlite_bind_span(stmt, 2, mark);
    return sqlite_db_do(db, stmt, err);
}

bool sqlite_owed_get(struct rows *rows, uint64_t num, struct wall *ret_owed,
                     struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement_num(db, SQL_OWED_GET, num, err);
    bool found;
    if (!stmt || !sqlite_db_step(db, stmt, &found, err))
        return false;
    *ret_owed = found ? sqlite_column_wall(stmt, 0) : (struct wall){0};
    return true;
}

bool sqlite_owed_put(struct rows *rows, uint64_t num, struct wall owed,
                     struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement_num(db, SQL_OWED_PUT, num, err);
    if (!stmt)
        return false;
    sqlite_bind_wall(stmt, 2, owed);
    return sqlite_db_do(db, stmt, err);
}

bool sqlite_plan_put(struct rows *rows, const struct store_rollback *plan,
                     struct err *err) {
    struct sqlite_db *db = sqlite_db_of(rows);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt =
        sqlite_db_statement_num(db, SQL_ROLLBACK_PUT, plan->num, err);
    if (!stmt)
        return false;
    sqlite_bind_span(stmt, 2, plan->phase);
    sqlite_bind_wall(stmt, 3, plan->begun);
    sqlite_bind_span(stmt, 4, plan->members);
    return sqlite_db_do(db, stmt, err);
}

bool sqlite_rollback(struct store *store, uint64_t num, struct arena *arena,
                     struct store_rollback *ret_rollback, bool *ret_found,
                     struct err *err) {
    struct sqlite_db *db = sqlite_reader(store);
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt =
        sqlite_db_statement_num(db, SQL_ROLLBACK_GET, num, err);
    if (!stmt || !sqlite_db_step(db, stmt, ret_found, err))
        return false;
    if (*ret_found)
        *ret_rollback = (struct store_rollback){
            .num = num,
            .phase = sqlite_column_span(stmt, 0, arena),
            .begun = sqlite_column_wall(stmt, 1),
            .members = sqlite_column_span(stmt, 2, arena),
        };
    return true;
}
