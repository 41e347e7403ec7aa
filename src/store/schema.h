/* The steps that create a registry, for the store and for all nouns. The
 * store's own are src/store/schema/NNN.sql, embedded when the program is
 * built. */
#ifndef POINTSMAN_STORE_SCHEMA_H
#define POINTSMAN_STORE_SCHEMA_H

#include "store/noun.h"

enum { STORE_NOUNS = 32 }; /* at most */

extern const struct store_step store_schema_steps[]; /* ends with number 0 */

/* All steps by number. The array is the caller's: free it. */
const struct store_step **store_steps(size_t *ret_count);
int store_last_step(void); /* its number */
/* The noun's place in the array given to store_nouns_use. */
size_t store_noun_place(const struct store_noun *noun);

#endif
