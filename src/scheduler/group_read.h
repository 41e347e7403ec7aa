/* Which sets are one group (##group), from the registry alone. */
#ifndef POINTSMAN_SCHEDULER_GROUP_READ_H
#define POINTSMAN_SCHEDULER_GROUP_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "core/groups.h"
#include "core/job.h"
#include "store/store.h"

/* The name of the group in these edges; empty: there is none. */
struct span group_of_edges(const struct job_edge *edges, size_t count);
/* Reads the events of a set that decide which group it belongs to. A set that
 * is abandoned counts as ended. False: the registry cannot be read. */
bool group_life_read(struct store *store, const struct job *job,
                     struct group_life *ret_life, struct err *err);
/* Reads all sets of the group of `job`, which is among them, in order of
 * admission, whatever became of them; none if it has no group. The rows are in
 * the arena. False: the registry cannot be read. */
bool group_members_read(struct store *store, const struct job *job,
                        struct arena *arena, struct job **ret_members,
                        size_t *ret_count, struct err *err);

#endif
