/* The rows of a statement, gathered before they go to an arena. */
#ifndef POINTSMAN_STORE_SQLITE_FOUND_H
#define POINTSMAN_STORE_SQLITE_FOUND_H

#include "store/sqlite.h"

/* Clear it in any case. */
struct sqlite_found {
    char *p;
    size_t count, cap, each; /* each: bytes of a row */
};

/* Reads the current row; *ret_row is zeroed. */
typedef bool sqlite_row_reader(struct sqlite_db *db, sqlite3_stmt *stmt,
                               struct arena *arena, void *ret_row,
                               struct err *err);

void sqlite_found_clear(struct sqlite_found *found);
/* A new zeroed row at the end. */
void *sqlite_found_more(struct sqlite_found *found);
/* Adds all rows of the statement. */
bool sqlite_found_read(struct sqlite_found *found, struct sqlite_db *db,
                       sqlite3_stmt *stmt, sqlite_row_reader *reader,
                       struct arena *arena, struct err *err);
void *sqlite_found_give(const struct sqlite_found *found, struct arena *arena,
                        size_t *ret_count);
/* All rows of a statement; NULL: err says why. */
void *sqlite_found_list(struct sqlite_db *db, sqlite3_stmt *stmt,
                        sqlite_row_reader *reader, size_t each,
                        struct arena *arena, size_t *ret_count,
                        struct err *err);

#endif
