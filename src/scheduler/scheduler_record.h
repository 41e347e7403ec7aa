/* The records of precursors after a crash: what a job waits for if one of its
 * precursors has ended and the scheduler died before it recorded what follows
 * from that (doc/design/ordering.md, O6). */
#ifndef POINTSMAN_SCHEDULER_SCHEDULER_RECORD_H
#define POINTSMAN_SCHEDULER_SCHEDULER_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "core/job.h"
#include "store/store.h"

/* The job has ended and may have passed on what it waited for to those whose
 * record names it and was made at `record_seq`. False for a set that landed: it
 * waited for nothing any more. No errors. */
bool scheduler_record_passes_on(const struct job *job, uint64_t record_seq);
/* The edges of the job, in the arena. *ret_inherits: its record is not
 * complete; the edges contain what the records of its precursors say. Errors:
 * those of the store. */
bool scheduler_record_edges(struct store *store, const struct job *job,
                            struct arena *arena, struct job_edge **ret_edges,
                            size_t *ret_count, bool *ret_inherits,
                            struct err *err);

#endif
