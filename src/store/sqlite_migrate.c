/* Brings an empty file, or an older registry, to this program's schema. */
#include "store/sqlite_db.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The steps that this program knows, and those that the registry has taken. */
struct steps {
    const struct store_step **steps; /* by number */
    bool *taken;
    size_t count, taken_count;
};

static void steps_clear(struct steps *steps) {
    free(steps->steps);
    free(steps->taken);
}

/* A database that belongs to another program is refused. */
static bool is_registry(struct sqlite_db *db, bool *ret_empty,
                        struct err *err) {
    int64_t ours, tables;
    if (!sqlite_db_number(
            db,
            "SELECT count(*) FROM sqlite_master WHERE type = 'table' "
            "AND name IN ('migration', 'head')",
            &ours, err))
        return false;
    *ret_empty = ours != 2;
    if (ours == 2)
        return true;
    if (!sqlite_db_number(db, "SELECT count(*) FROM sqlite_master", &tables,
                          err))
        return false;
    return tables == 0 ||
           err_set(err, ERR_DATA,
                   "'%s' is a database, but not a registry: name another file",
                   db->path);
}

static bool mark_taken(struct steps *steps, int64_t number) {
    for (size_t i = 0; i < steps->count; i++)
        if (steps->steps[i]->number == number) {
            steps->taken_count += !steps->taken[i];
            steps->taken[i] = true;
            return true;
        }
    return false;
}

static bool steps_look(struct steps *steps, struct sqlite_db *db,
                       struct err *err) {
    CLEANUP(sqlite_stmt_end) sqlite3_stmt *stmt = NULL;
    bool empty, row, ok;
    steps->taken_count = 0;
    memset(steps->taken, 0, steps->count * sizeof(*steps->taken));
    if (!is_registry(db, &empty, err))
        return false;
    if (empty)
        return true;
    stmt = sqlite_db_list_statement(db, "SELECT version FROM migration", err);
    if (!stmt)
        return false;
    while ((ok = sqlite_db_step(db, stmt, &row, err)) && row) {
        int64_t number = sqlite3_column_int64(stmt, 0);
        if (!mark_taken(steps, number))
            return err_set(err, ERR_DATA,
                           "registry '%s' has schema step %" PRId64
                           ", which this program does not know: use a newer "
                           "program",
                           db->path, number);
    }
    return ok;
}

static bool steps_take(struct steps *steps, struct sqlite_db *db,
                       struct err *err) {
    for (size_t i = 0; i < steps->count; i++) {
        int number = steps->steps[i]->number;
        char note[128];
        if (steps->taken[i])
            continue;
        snprintf(note, sizeof(note),
                 "INSERT INTO migration (version, at) VALUES (%d, "
                 "CAST(strftime('%%s', 'now') AS INTEGER) * 1000000000)",
                 number);
        if (!sqlite_db_run(db, steps->steps[i]->sql, err) ||
            !sqlite_db_run(db, note, err))
            return err_wrap(err, "cannot apply schema step %d", number);
    }
    return true;
}

bool sqlite_migrate(struct sqlite_db *db, bool only_check, struct err *err) {
    CLEANUP(steps_clear) struct steps steps = {0};
    steps.steps = store_steps(&steps.count);
    steps.taken = mem_alloc(steps.count * sizeof(*steps.taken));
    if (!steps_look(&steps, db, err))
        return false;
    if (steps.taken_count == steps.count)
        return true;
    if (only_check)
        return steps.taken_count == 0
                   ? err_set(err, ERR_DATA,
                             "'%s' is empty: no registry was ever made there",
                             db->path)
                   : err_set(err, ERR_REFUSED,
                             "registry '%s' is of an older version", db->path);
    /* Another process may be doing the same: check again under the lock. */
    if (!sqlite_db_run(db, "BEGIN IMMEDIATE", err))
        return false;
    bool well = steps_look(&steps, db, err) && steps_take(&steps, db, err) &&
                sqlite_db_run(db, "COMMIT", err);
    if (!well)
        sqlite3_exec(db->sqlite, "ROLLBACK", NULL, NULL, NULL);
    return well;
}
