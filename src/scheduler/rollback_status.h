/* A set in A has not ended while the rollback that abandoned it is open: if
 * that rollback fails, the set is put back where it was
 * (doc/design/rollback.md, R5, R6). */
#ifndef POINTSMAN_SCHEDULER_ROLLBACK_STATUS_H
#define POINTSMAN_SCHEDULER_ROLLBACK_STATUS_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"
#include "core/job.h"
#include "store/store.h"

/* *ret_ended: whether this state is final. *ret_rollback (may be NULL): if the
 * set is undecided, the rollback that decides; otherwise its num is 0. Errors
 * of the store only. */
bool rollback_status_of(struct store *store, const struct job *job,
                        struct arena *arena, bool *ret_ended,
                        struct job *ret_rollback, struct err *err);

/* For an executing set: *ret_rollback is the rollback that is stopping it, or
 * its num is 0. Errors of the store only. */
bool rollback_status_stopped_by(struct store *store, const struct job *job,
                                struct arena *arena, struct job *ret_rollback,
                                struct err *err);
/* For an executing rollback: appends ": waits until C3, C4 have stopped" or ":
 * makes the reverse merges"; nothing if it is about to. Errors of the store
 * only. */
bool rollback_status_describe(struct store *store, const struct job *rollback,
                              struct arena *arena, struct text *out,
                              struct err *err);

/* A member of a rollback. */
struct rollback_fated {
    struct job job;
    const char *fate; /* rollback_entry_fate */
};

/* All members of a rollback that has begun, then the sets that it names and
 * that had nothing to roll back. None if it has not begun. Errors of the store
 * only. */
bool rollback_status_members(struct store *store, const struct job *rollback,
                             struct arena *arena,
                             struct rollback_fated **ret_members,
                             size_t *ret_count, struct err *err);

#endif
