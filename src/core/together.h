/* Sets that land together (`##group`; spec/change-queue.md §3.4, D24): who they
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
#ifndef POINTSMAN_CORE_TOGETHER_H
#define POINTSMAN_CORE_TOGETHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/text.h"
#include "lib/time.h"
#include "core/job.h"

struct together;

struct together *together_new(void);
void together_free(struct together *together); /* NULL is fine */

/* ---- what it is told ---------------------------------------------------- */

struct together_member {
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

/* A live member, or one in limbo. Everything is copied; a num already known is
 * ignored. */
void together_join(struct together *together,
                   const struct together_member *entry);
/* Is the group known? Else the caller tells of members that ended before
 * (together_ended) once the first live one has joined. */
bool together_knows(const struct together *together, struct span target,
                    struct span group);
/* A member that ended without landing, by the event `seq`, now or before. */
void together_ended(struct together *together, struct span target,
                    struct span group, struct span id, uint64_t seq);
/* A step that was committed by the event `seq`. Final ones leave. `limbo`:
 * abandoned, while its rollback is open. False: unknown num. */
bool together_move(struct together *together, uint64_t num, enum job_state to,
                   uint64_t seq, bool limbo);
bool together_hold(struct together *together, uint64_t num, unsigned holds);

/* ---- what it knows ------------------------------------------------------ */

bool together_has(const struct together *together, uint64_t num);
/* Another live member of its group; 0 = none, or unknown num. */
uint64_t together_other(const struct together *together, uint64_t num);
/* The entry of the order a member stands under, for the caller to keep; 0 at
 * first, and for an unknown num. */
uint64_t together_entry(const struct together *together, uint64_t num);
void together_enter(struct together *together, uint64_t num, uint64_t entry);
/* A live member that stands under the entry of `num`'s group; 0 = none. */
uint64_t together_under(const struct together *together, uint64_t num,
                        uint64_t entry);
/* The least far state of those under the entry, not counting abandoned ones:
 * STATE_NONE, there is none. */
enum job_state together_state(const struct together *together, uint64_t num,
                              uint64_t entry);
/* Its own; STATE_NONE: unknown num. */
enum job_state together_state_of(const struct together *together, uint64_t num);
/* All members under the entry, the first to come first. */
size_t together_all_under(const struct together *together, uint64_t num,
                          uint64_t entry, struct arena *arena,
                          uint64_t **ret_nums);
unsigned together_holds(const struct together *together, uint64_t num,
                        uint64_t entry);
/* The open members of its group, the first to come first; 0: unknown num. */
size_t together_open(const struct together *together, uint64_t num,
                     struct arena *arena, uint64_t **ret_nums);
/* May the open ones be staged: have all come, and is none held or in limbo? */
bool together_may_stage(const struct together *together, uint64_t num);
/* Whom a landing takes that begins with `num`: the ready ones in the order in
 * which they land (what one needs before it, else by key). 0: not now, since
 * one is held, landing, or not as far yet. */
size_t together_landing(const struct together *together, uint64_t num,
                        struct arena *arena, uint64_t **ret_nums);
/* The ready one that stands for all: the first to come; 0 = none. */
uint64_t together_leader(const struct together *together, uint64_t num);
/* Which of the open members depends on `id`; 0 = none. */
uint64_t together_who_needs(const struct together *together, uint64_t num,
                            struct span id);

/* ---- what it proposes ---------------------------------------------------- */

struct together_fail {
    uint64_t num;
    enum job_state from; /* Q S P */
    const char *reason;  /* "group-failed" or "group-incomplete" */
    struct span detail;  /* in the arena */
};
/* Who fails now. The same again until it has happened. */
size_t together_scan(struct together *together, struct wall now,
                     int64_t wait_ms, struct arena *arena,
                     struct together_fail **ret_fails);
/* When a group that is not complete gives up; WALL_NEVER: none. */
struct wall together_next_time(const struct together *together,
                               int64_t wait_ms);

/* A sentence why a member waits for its group; empty: it does not. */
struct span together_why(const struct together *together, uint64_t num,
                         int64_t wait_ms, struct arena *arena);

#endif
