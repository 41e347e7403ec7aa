/* Statements of nouns, on one connection. */
#include "store/noun.h"
#include "store/schema.h"
#include "store/sqlite.h"

#include <assert.h>
#include <stdlib.h>

static struct sqlite_db *db_of(struct store_tables *tables) {
    return (struct sqlite_db *)(void *)tables;
}

bool store_query_begin(struct store_query *query, struct store_tables *tables,
                       const struct store_noun *noun, unsigned statement,
                       const struct store_value *values, size_t count,
                       struct err *err) {
    struct sqlite_db *db = db_of(tables);
    struct sqlite_noun *kept = &db->nouns[store_noun_place(noun)];
    assert(statement < noun->statement_count);
    *query = (struct store_query){.tables = tables};
    if (!kept->statements) {
        kept->count = noun->statement_count;
        kept->statements = mem_alloc(kept->count * sizeof(*kept->statements));
    }
    sqlite3_stmt **stmt = &kept->statements[statement];
    if (!*stmt &&
        !sqlite_db_prepare(db, noun->statements[statement], stmt, err))
        return false;
    query->statement = *stmt;
    for (size_t i = 0; i < count; i++)
        if (values[i].is_text)
            sqlite_bind_span(*stmt, (int)i + 1, values[i].text);
        else
            sqlite3_bind_int64(*stmt, (int)i + 1, values[i].number);
    return true;
}

bool store_query_next(struct store_query *query, bool *ret_row,
                      struct err *err) {
    return sqlite_db_step(db_of(query->tables), query->statement, ret_row, err);
}

int64_t store_query_number(const struct store_query *query, int column) {
    return sqlite3_column_int64(query->statement, column);
}

struct span store_query_text(const struct store_query *query, int column,
                             struct arena *arena) {
    return sqlite_column_span(query->statement, column, arena);
}

bool store_query_jobs(struct store_query *query, struct arena *arena,
                      struct job **ret_jobs, size_t *ret_count,
                      struct err *err) {
    return sqlite_jobs_read(db_of(query->tables), query->statement, arena,
                            ret_jobs, ret_count, err);
}

void store_query_end(struct store_query *query) {
    if (query->statement)
        sqlite3_reset(query->statement);
    query->statement = NULL;
}

bool store_run(struct store_tables *tables, const struct store_noun *noun,
               unsigned statement, const struct store_value *values,
               size_t count, uint64_t *ret_changed, struct err *err) {
    struct sqlite_db *db = db_of(tables);
    CLEANUP(store_query_end) struct store_query query = {0};
    if (!store_query_begin(&query, tables, noun, statement, values, count,
                           err) ||
        !sqlite_db_do(db, query.statement, err))
        return false;
    if (ret_changed)
        *ret_changed = (uint64_t)sqlite3_changes(db->sqlite);
    return true;
}

void sqlite_nouns_close(struct sqlite_db *db) {
    for (size_t i = 0; i < STORE_NOUNS; i++) {
        for (size_t k = 0; k < db->nouns[i].count; k++)
            sqlite3_finalize(db->nouns[i].statements[k]);
        free(db->nouns[i].statements);
    }
}
