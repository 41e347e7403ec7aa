/* The tables that capabilities plug into, built from their rows. */
#ifndef POINTSMAN_SERVE_TABLES_H
#define POINTSMAN_SERVE_TABLES_H

#include "api/api.h"
#include "scheduler/work_kind.h"
#include "store/noun.h"
#include "base/role.h"

/* The roles in the order of their turns, with NULL at the end. */
extern const struct role *const serve_roles[];
extern const struct work_kinds serve_kinds;
extern const struct api_tables serve_tables;

/* The capabilities' parts of the registry, for store_nouns_use. */
extern const struct store_noun *const serve_nouns[];
extern const size_t serve_noun_count;

#endif
