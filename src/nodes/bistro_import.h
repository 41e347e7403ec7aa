/* A configuration file of Bistro, one JSON object with `bistro_settings` and a
 * member `bistro_job->NAME` for each job, as sections of pointsman.conf and
 * standing jobs. */
#ifndef POINTSMAN_NODES_BISTRO_IMPORT_H
#define POINTSMAN_NODES_BISTRO_IMPORT_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/text.h"

enum { BISTRO_BYTES = 8 << 20 /* largest file */ };

/* Appends the sections, with a comment for each setting that has no
 * counterpart and needs none, and the definitions as members of a JSON list,
 * separated by commas. False: a line in `errors` for everything that cannot be
 * converted or is wrong, apart from what the configuration decides. */
bool bistro_import(struct span text, struct text *sections, struct text *jobs,
                   struct text *errors);

#endif
