/* The internals of picker.h, shared only by its two files: picker.c (slots,
 * lanes, picking) and picker_window.c (which of the ready jobs are held
 * here). */
#ifndef POINTSMAN_CORE_PICKER_INNER_H
#define POINTSMAN_CORE_PICKER_INNER_H

#include "lib/heap.h"
#include "lib/list.h"
#include "lib/map.h"
#include "core/picker.h"

/* A place in the order of the registry's ready jobs. */
struct picker_position {
    struct text rank;
    uint64_t num;
};

struct picker_entry {
    uint64_t num;
    struct picker_lane *lane;
    char *rank; /* its first byte, the class, as aged so far */
    size_t rank_bytes;
    unsigned char class_byte;  /* the original first byte */
    unsigned gain_max;         /* classes it may gain */
    struct wall admitted, due; /* due: not before, or the next ageing step */
    bool begins;               /* not_before stays if the clock is set back */
    size_t in_lane, in_worst, in_later, in_ageing;
};

struct picker_lane {
    struct span name; /* points into the key of schedule->lanes */
    unsigned limit;   /* 0: none */
    unsigned busy;
    uint64_t closed_by;       /* the rollback that has the target; 0: none */
    struct wall paused_until; /* 0: not paused */
    struct list in_paused;
    uint64_t yields_to; /* see picker_yield; 0: to none */
    unsigned char yield_urgency;
    struct list in_yielding;
    struct heap ready;
    size_t in_open;
    struct list assigned; /* oldest first */
    bool folded;          /* more of its jobs lie between fold and bound */
    struct picker_position fold;
    struct list hungry;
};

struct picker_assigned {
    uint64_t num;
    struct picker_lane *lane;
    struct list in_lane;
    bool lasting;
};

enum picker_refill { REFILL_NONE, REFILL_BOUND, REFILL_FOLD, REFILL_PROBE };

struct picker {
    struct picker_limits limits;
    struct map entries;  /* num -> struct picker_entry, ready or later */
    struct map assigned; /* num -> struct picker_assigned */
    struct map lanes;    /* name -> struct picker_lane */
    struct heap open;    /* lanes with room and a ready job */
    struct heap worst;   /* all ready entries, last one first */
    struct heap later;   /* entries before their time */
    struct heap ageing;  /* ready entries that will gain a class */
    bool more;           /* there are ready jobs beyond the bound */
    struct picker_position bound;
    struct list hungry; /* folded lanes that are running low */
    struct list paused; /* paused lanes */
    struct list yielding;
    bool all_yield; /* see picker_yield_all */
    unsigned char yield_urgency;
    enum picker_refill refill;
    struct picker_lane *refill_lane;
    struct picker_position last; /* where this refill began, or ended */
    size_t refill_limit;
    unsigned probe_class;
    struct wall next_probe, next_look;
    struct text after; /* lent to the caller of needs_refill */
    unsigned lasting;
    int64_t mean_us; /* recent mean; 0 = unknown */
    unsigned streak; /* short ends in a row */
};

/* ---- picker.c --------------------------------------------------------- */

/* True if the lane's best job has to wait for a more urgent one. */
static inline bool picker_lane_yields(const struct picker_lane *lane) {
    const struct picker_entry *best = heap_first(&lane->ready);

    return lane->yields_to > 0 && best != NULL && best->rank_bytes > 0 &&
           (unsigned char)best->rank[0] > lane->yield_urgency;
}
static inline bool picker_lane_is_full(const struct picker_lane *lane) {
    return lane->closed_by > 0 || lane->paused_until.ns > 0 ||
           (lane->limit > 0 && lane->busy >= lane->limit) ||
           picker_lane_yields(lane);
}
struct picker_lane *picker_lane_find(struct picker *picker, struct span target);
/* Call when its first job, its room or its number of jobs may have changed. */
void picker_lane_changed(struct picker *picker, struct picker_lane *lane);

/* ---- picker_window.c -------------------------------------------------- */

void picker_window_init(struct picker *picker);
void picker_window_clear(struct picker *picker);
struct picker_lane *picker_lane_new(unsigned limit);
void picker_lane_free(struct picker_lane *lane);
/* Few of its jobs are in the window, and more are in the registry. */
bool picker_lane_is_low(const struct picker_lane *lane);
void picker_entry_drop(struct picker *picker, struct picker_entry *entry);
/* Takes in the jobs whose time has come by `now`. */
void picker_window_tick(struct picker *picker, struct wall now);

#endif
