/* Toys in the registry: a row for each toy that was wound up. */
#ifndef POINTSMAN_TOY_TOY_ROW_H
#define POINTSMAN_TOY_TOY_ROW_H

#include "store/noun.h"

extern const struct store_noun toy_noun;

struct toy_row {
    struct span name;
    uint64_t num; /* of its job */
    bool squeaked;
};

/* Adds the toy whose job the operation `job` of the batch admits. */
unsigned toy_row_add(struct store_batch *batch, struct span name, unsigned job);
/* Marks the toy as heard; CONFLICT if it had squeaked before. */
unsigned toy_row_squeak(struct store_batch *batch, struct span name);
/* All toys by name, or only those whose job is done but that have not
 * squeaked. */
bool toy_row_list(struct store *store, bool only_due, struct arena *arena,
                  struct toy_row **ret_rows, size_t *ret_count,
                  struct err *err);

#endif
