/* Turns a toy into a job and a row of the registry. */
#ifndef POINTSMAN_TOY_TOY_ADMIT_H
#define POINTSMAN_TOY_TOY_ADMIT_H

#include "base/origin.h"
#include "store/store.h"

/* Letters, digits and dashes; at most 40. ERR_DATA. */
bool toy_name_check(struct span name, struct err *err);
/* The id of its job, "toy-NAME". */
struct span toy_id(struct span name, struct arena *arena);
/* Adds the admission to the batch and returns the index of the job there; it is
 * DUPLICATE if the toy exists. */
unsigned toy_admit(struct store_batch *batch, struct span name,
                   const struct origin *origin);

#endif
