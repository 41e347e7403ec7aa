/* Groups: sets that land together (`##group`; doc/design/ordering.md, O13).
 * This module knows the members of a group, whether the group is complete,
 * which members a landing takes along, and which members fail together. Pure.
 *
 * A group has a name on one target, for the sets of one submitter: nobody adds
 * a set to the group of somebody else, or makes it fail with one. `##group NAME
 * COUNT` says how many sets the group has, and one that has them takes no more;
 * without a count its members are the sets staged when it becomes ready
 * (members that depend on each other wait for each other anyway, and may form a
 * cycle). A set that comes later starts a new group of that name, and several
 * of them may wait at once (group_life.h).
 *
 *     Q S A   open: staged together when the group is complete
 *     P       ready: one landing takes them all
 *     X       landing
 *
 * When a member ends without having landed, all others of its group fail,
 * unless they are landing. The rules depend only on what the registry stores,
 * so they hold across a crash. */
#ifndef POINTSMAN_CORE_GROUPS_H
#define POINTSMAN_CORE_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/text.h"
#include "lib/time.h"
#include "core/group_life.h"
#include "core/job.h"

struct groups;

struct groups *groups_new(void);
void groups_free(struct groups *groups); /* NULL is fine */

/* ---- input
 * ---------------------------------------------------------------- */

struct group_id {
    struct span target, submitter, name; /* submitter: of struct job */
};

struct group_member {
    struct group_life life; /* ended_seq and group: 0 */
    struct span id;
    struct group_id group;
    enum job_state state;
    unsigned holds;
    struct wall admitted;
    struct span key;          /* its own order key */
    const struct span *needs; /* ids of its dependencies */
    size_t need_count;
    const struct span *replaces; /* ids of the sets it supersedes, at any
                                    depth */
    size_t replace_count;
};

/* Adds a live or undecided member. Everything is copied; a num already known is
 * ignored. */
void groups_join(struct groups *groups, const struct group_member *entry);
/* True if a live set of that name is known. If not, the caller reports the sets
 * that ended earlier (groups_ended) once the first live one has joined. */
bool groups_knows(const struct groups *groups, const struct group_id *id);
/* Reports a set that ended without landing before it could join. Ignored if its
 * num is known, or no set of the name. */
void groups_ended(struct groups *groups, const struct group_id *of,
                  struct span id, const struct group_life *life);
/* Reports a step that was committed with the event `seq`. Members in a final
 * state leave. `undecided`: abandoned while its rollback is open. False:
 * unknown num. */
bool groups_move(struct groups *groups, uint64_t num, enum job_state to,
                 uint64_t seq, bool undecided);
bool groups_hold(struct groups *groups, uint64_t num, unsigned holds);
/* This member is proposed to become ready: sets that come from now on begin
 * another group, until groups_settle. */
void groups_propose(struct groups *groups, uint64_t num);
/* The proposals were committed or not, and their steps have been reported:
 * takes a name for which there were some, and returns one of its live sets (0:
 * none lives). The sets that came meanwhile join the group if it did not become
 * ready. False: there is no such name. */
bool groups_settle(struct groups *groups, uint64_t *ret_num);

/* ---- queries
 * -------------------------------------------------------------- */

bool groups_has(const struct groups *groups, uint64_t num);
/* Another live member of the same group, or otherwise of another group of the
 * name; 0 = none, or unknown num. */
uint64_t groups_other_member(const struct groups *groups, uint64_t num);
/* The entry of the order that a member is filed under, kept here for the
 * caller; 0 at first, and for an unknown num. */
uint64_t groups_entry(const struct groups *groups, uint64_t num);
void groups_enter(struct groups *groups, uint64_t num, uint64_t entry);
/* A live set of the name of `num` that is filed under this entry, perhaps `num`
 * itself; 0 = none. */
uint64_t groups_under(const struct groups *groups, uint64_t num,
                      uint64_t entry);
/* The entry is gone: all that were filed under it are filed under none. */
void groups_dissolve(struct groups *groups, uint64_t num, uint64_t entry);
/* The live sets of the name of `num` that need an entry: they have none, it is
 * that of another group too, or the open ones of a group have several. */
size_t groups_strays(const struct groups *groups, uint64_t num,
                     struct arena *arena, uint64_t **ret_nums);
/* True if all live members of the group of `num` are filed under this entry. */
bool groups_is_whole(const struct groups *groups, uint64_t num, uint64_t entry);
/* The earliest state of the members under the entry, not counting abandoned
 * ones; STATE_NONE: there is no such member. */
enum job_state groups_state(const struct groups *groups, uint64_t num,
                            uint64_t entry);
/* The state of this member; STATE_NONE: unknown num. */
enum job_state groups_member_state(const struct groups *groups, uint64_t num);
/* All members under the entry, in order of admission. */
size_t groups_members_under(const struct groups *groups, uint64_t num,
                            uint64_t entry, struct arena *arena,
                            uint64_t **ret_nums);
unsigned groups_holds(const struct groups *groups, uint64_t num,
                      uint64_t entry);
/* The open members of its group, in order of admission; 0: unknown num. */
size_t groups_open(const struct groups *groups, uint64_t num,
                   struct arena *arena, uint64_t **ret_nums);
/* True if the open members may be staged: the group is complete, and no member
 * is held or undecided. */
bool groups_may_stage(const struct groups *groups, uint64_t num);
/* The members that a landing of `num` takes along: the ready ones in the order
 * in which they land (dependencies first, otherwise by key). 0: not now,
 * because a member is held, is landing, or is not ready yet. */
size_t groups_landing(const struct groups *groups, uint64_t num,
                      struct arena *arena, uint64_t **ret_nums);
/* The ready member that represents the group: the first admitted; 0 = none. */
uint64_t groups_leader(const struct groups *groups, uint64_t num);
/* True if the job may be picked for a start. A member may be picked only if it
 * leads its group and a landing would take the group now. True for any other
 * job. */
bool groups_may_start(const struct groups *groups, uint64_t num);
/* The member under the same entry as `num` that is open or ready and depends on
 * `id`; 0 = none. */
uint64_t groups_member_needing(const struct groups *groups, uint64_t num,
                               struct span id);

/* ---- proposals
 * ------------------------------------------------------------ */

struct group_fail {
    uint64_t num;
    enum job_state from; /* Q S P */
    const char *reason;  /* "group-failed" or "group-incomplete" */
    struct span detail;  /* in the arena */
};
/* The members that fail now. Returns the same ones again until it has
 * happened. */
size_t groups_scan(struct groups *groups, struct wall now, int64_t wait_ms,
                   struct arena *arena, struct group_fail **ret_fails);
/* When an incomplete group gives up; WALL_NEVER: none does. */
struct wall groups_next_time(const struct groups *groups, int64_t wait_ms);
/* The clock was set back by so much: missing sets are waited for no longer
 * than before. */
void groups_set_back(struct groups *groups, int64_t ms);

/* A sentence that explains why a member waits for its group; empty: it does not
 * wait. */
struct span groups_why(const struct groups *groups, uint64_t num,
                       int64_t wait_ms, struct arena *arena);

#endif
