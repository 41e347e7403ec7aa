/* Writes constant databases in D. J. Bernstein's cdb format (cr.yp.to/cdb),
 * which tinycdb and every other cdb tool can read. The file is built in memory;
 * the caller writes it. */
#ifndef POINTSMAN_WIRE_CDB_H
#define POINTSMAN_WIRE_CDB_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/text.h"

struct cdb_slot {
    uint32_t hash, at;
};

struct cdb {
    struct text bytes; /* head and records; tables once finished */
    struct cdb_slot *slots;
    size_t count, cap;
    bool too_large;
};

void cdb_init(struct cdb *cdb);
void cdb_clear(struct cdb *cdb); /* frees everything, cdb->bytes too */
/* Adds a record; a key may occur several times. */
void cdb_add(struct cdb *cdb, struct span key, struct span value);
/* Adds the tables; then cdb->bytes is the content of the file. Error: ERR_DATA
 * if it would be 4 GiB or more, which the format cannot hold. */
bool cdb_finish(struct cdb *cdb, struct err *err);

#endif
