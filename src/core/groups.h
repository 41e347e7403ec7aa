/* Sets that land together (`##group`; doc/design/ordering.md, O13): who they
 * are, whether all have come, whom a landing takes along, and who fails with
 * whom. Pure.
 *
 * A group is a name on one target. `##group NAME COUNT` says how many sets it
 * has; without a count those belong to it that are there when it becomes ready
 * (members that need each other wait for each other anyway, and may do so in a
 * ring). A set that comes later begins the name anew.
 *
 *     Q S A   open: they are staged as one, when all have come
 *     P       ready: one landing takes them all
 *     X       landing
 *
 * When a member ends without having landed, every member that was admitted
 * before that moment fails, unless it is landing. The rule needs no memory but
 * the registry's, so that it holds across a crash. */
#ifndef POINTSMAN_CORE_GROUPS_H
#define POINTSMAN_CORE_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/text.h"
#include "lib/time.h"
#include "core/job.h"

struct groups;

struct groups *groups_new(void);
void groups_free(struct groups *groups); /* NULL is fine */

/* ---- what it is told ---------------------------------------------------- */

struct group_member {
    uint64_t num;
    struct span id, target, group;
    unsigned want; /* COUNT; 0 = not said */
    enum job_state state;
    unsigned holds;
    struct wall admitted;
    uint64_t admitted_seq;    /* the event of its admission */
    struct span key;          /* own order key */
    const struct span *needs; /* ids of its dependencies */
    size_t need_count;
};

/* A live member, or one that is undecided. Everything is copied; a num already
 * known is ignored. */
void groups_join(struct groups *groups, const struct group_member *entry);
/* Is the group known? Else the caller tells of members that ended before
 * (groups_ended) once the first live one has joined. */
bool groups_knows(const struct groups *groups, struct span target,
                  struct span group);
/* A member that ended without landing, by the event `seq`, now or before. */
void groups_ended(struct groups *groups, struct span target, struct span group,
                  struct span id, uint64_t seq);
/* A step that was committed by the event `seq`. Final ones leave. `undecided`:
 * abandoned, while its rollback is open. False: unknown num. */
bool groups_move(struct groups *groups, uint64_t num, enum job_state to,
                 uint64_t seq, bool undecided);
bool groups_hold(struct groups *groups, uint64_t num, unsigned holds);

/* ---- what it knows ------------------------------------------------------ */

bool groups_has(const struct groups *groups, uint64_t num);
/* Another live member of its group; 0 = none, or unknown num. */
uint64_t groups_other_member(const struct groups *groups, uint64_t num);
/* The entry of the order a member stands under, for the caller to keep; 0 at
 * first, and for an unknown num. */
uint64_t groups_entry(const struct groups *groups, uint64_t num);
void groups_enter(struct groups *groups, uint64_t num, uint64_t entry);
/* A live member that stands under the entry of `num`'s group; 0 = none. */
uint64_t groups_under(const struct groups *groups, uint64_t num,
                      uint64_t entry);
/* The least far state of those under the entry, not counting abandoned ones:
 * STATE_NONE, there is none. */
enum job_state groups_state(const struct groups *groups, uint64_t num,
                            uint64_t entry);
/* Its own; STATE_NONE: unknown num. */
enum job_state groups_member_state(const struct groups *groups, uint64_t num);
/* All members under the entry, the first to come first. */
size_t groups_members_under(const struct groups *groups, uint64_t num,
                            uint64_t entry, struct arena *arena,
                            uint64_t **ret_nums);
unsigned groups_holds(const struct groups *groups, uint64_t num,
                      uint64_t entry);
/* The open members of its group, the first to come first; 0: unknown num. */
size_t groups_open(const struct groups *groups, uint64_t num,
                   struct arena *arena, uint64_t **ret_nums);
/* May the open ones be staged: have all come, and is none held or undecided? */
bool groups_may_stage(const struct groups *groups, uint64_t num);
/* Whom a landing takes that begins with `num`: the ready ones in the order in
 * which they land (what one needs before it, else by key). 0: not now, since
 * one is held, landing, or not as far yet. */
size_t groups_landing(const struct groups *groups, uint64_t num,
                      struct arena *arena, uint64_t **ret_nums);
/* The ready one that stands for all: the first to come; 0 = none. */
uint64_t groups_leader(const struct groups *groups, uint64_t num);
/* May the job be picked for a start? A member only if it is the leader of its
 * group and a landing would take the group now. True for any other job. */
bool groups_may_start(const struct groups *groups, uint64_t num);
/* Which of the open members depends on `id`; 0 = none. */
uint64_t groups_member_needing(const struct groups *groups, uint64_t num,
                               struct span id);

/* ---- what it proposes ---------------------------------------------------- */

struct group_fail {
    uint64_t num;
    enum job_state from; /* Q S P */
    const char *reason;  /* "group-failed" or "group-incomplete" */
    struct span detail;  /* in the arena */
};
/* Who fails now. The same again until it has happened. */
size_t groups_scan(struct groups *groups, struct wall now, int64_t wait_ms,
                   struct arena *arena, struct group_fail **ret_fails);
/* When a group that is not complete gives up; WALL_NEVER: none. */
struct wall groups_next_time(const struct groups *groups, int64_t wait_ms);

/* A sentence why a member waits for its group; empty: it does not. */
struct span groups_why(const struct groups *groups, uint64_t num,
                       int64_t wait_ms, struct arena *arena);

#endif
