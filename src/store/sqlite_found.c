#include "store/sqlite_found.h"

#include <stdlib.h>

void *sqlite_found_more(struct sqlite_found *found) {
    if (found->count == found->cap) {
        found->cap = found->cap ? 2 * found->cap : 16;
        found->p = mem_grow(found->p, found->cap, found->each);
    }
    void *place = found->p + found->count++ * found->each;
    memset(place, 0, found->each);
    return place;
}

void sqlite_found_clear(struct sqlite_found *found) {
    free(found->p);
}

void *sqlite_found_give(const struct sqlite_found *found, struct arena *arena,
                        size_t *ret_count) {
    size_t bytes = found->count * found->each;
    void *given = arena_alloc(arena, bytes + 1);
    if (bytes > 0)
        memcpy(given, found->p, bytes);
    *ret_count = found->count;
    return given;
}

bool sqlite_found_read(struct sqlite_found *found, struct sqlite_db *db,
                       sqlite3_stmt *stmt, sqlite_row_reader *reader,
                       struct arena *arena, struct err *err) {
    for (;;) {
        bool row;
        if (!sqlite_db_step(db, stmt, &row, err))
            return false;
        if (!row)
            return true;
        if (!reader(db, stmt, arena, sqlite_found_more(found), err))
            return false;
    }
}

void *sqlite_found_list(struct sqlite_db *db, sqlite3_stmt *stmt,
                        sqlite_row_reader *reader, size_t each,
                        struct arena *arena, size_t *ret_count,
                        struct err *err) {
    CLEANUP(sqlite_found_clear) struct sqlite_found found = {.each = each};
    return sqlite_found_read(&found, db, stmt, reader, arena, err)
               ? sqlite_found_give(&found, arena, ret_count)
               : NULL;
}
