/* The tables that capabilities plug into, built from their rows. */
#ifndef POINTSMAN_SERVE_TABLES_H
#define POINTSMAN_SERVE_TABLES_H

#include "api/api.h"
#include "scheduler/work_kind.h"
#include "store/noun.h"
#include "base/role.h"
#include "wire/config_section.h"

struct entry_kind; /* changes/prequeue_entry.h */

/* The roles in the order of their turns, with NULL at the end. */
extern const struct role *const serve_roles[];
extern const struct work_kinds serve_kinds;
extern const struct api_tables serve_tables;

/* The capabilities' parts of the registry, for store_nouns_use. */
extern const struct store_noun *const serve_nouns[];
extern const size_t serve_noun_count;

/* The capabilities' sections of the configuration, for config_sections_use. */
extern const struct config_section *const serve_sections[];
extern const size_t serve_section_count;

/* The kinds of entries in the drop directories, for prequeue_kinds_use. */
extern const struct entry_kind *const serve_entry_kinds[];
extern const size_t serve_entry_kind_count;

#endif
