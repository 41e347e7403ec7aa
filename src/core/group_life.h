/* Which of the sets that name one group (##group) belong to the same one
 * (doc/design/ordering.md, O13). Pure. */
#ifndef POINTSMAN_CORE_GROUP_LIFE_H
#define POINTSMAN_CORE_GROUP_LIFE_H

#include <stddef.h>
#include <stdint.h>

#include "core/job.h"

/* What decides which group of its name a set belongs to. The events: 0: it has
 * not happened. */
struct group_life {
    uint64_t num;
    uint64_t admitted_seq;          /* never 0 */
    uint64_t staged_seq, ready_seq; /* the first steps to S and to P */
    uint64_t ended_seq;             /* the end, if it did not land */
    unsigned want;                  /* its COUNT; 0: not given */
    uint64_t group; /* result: the num of the first set of its group */
};
/* Keeps the first step of each kind. */
void group_life_step(struct group_life *life, enum job_state to, uint64_t seq);
/* Divides the sets of one name, in order of admission, into groups. A set
 * belongs to the newest group, until that has as many members as the largest
 * COUNT among them, or a member of it becomes ready or ends without having
 * landed; the next set begins another group, and so do those that had come but
 * were not staged when it became ready. Groups of which all sets landed may be
 * left out. */
void group_life_divide(struct group_life *lives, size_t count);

#endif
