/* The inside of schedule.h, shared by its two files only: schedule.c (slots,
 * lanes, picking) and schedule_window.c (which of the ready jobs are here). */
#ifndef POINTSMAN_CORE_SCHEDULE_INNER_H
#define POINTSMAN_CORE_SCHEDULE_INNER_H

#include "lib/heap.h"
#include "lib/list.h"
#include "lib/map.h"
#include "core/schedule.h"

/* A place in the order of the registry's ready jobs. */
struct position {
    struct text rank;
    uint64_t num;
};

struct entry {
    uint64_t num;
    struct lane *lane;
    char *rank; /* with its first byte, the class, as aged so far */
    size_t rank_bytes;
    unsigned char class_byte;  /* the first one as given */
    unsigned gain_max;         /* classes it may gain */
    struct wall admitted, due; /* due: not before, or the next ageing step */
    size_t in_lane, in_worst, in_later, in_ageing;
};

struct lane {
    struct span name; /* points into the key of schedule->lanes */
    unsigned limit;   /* 0: none */
    unsigned busy;
    uint64_t closed_by;       /* a rollback that has the target; 0: none */
    struct wall paused_until; /* 0: it is not */
    struct list in_paused;
    struct heap ready;
    size_t in_open;
    struct list assigned; /* oldest first */
    bool folded;          /* more of it lie between fold and the bound */
    struct position fold;
    struct list hungry;
};

struct assigned {
    uint64_t num;
    struct lane *lane;
    struct list in_lane;
    bool lasting;
};

enum refill { REFILL_NONE, REFILL_BOUND, REFILL_FOLD, REFILL_PROBE };

struct schedule {
    struct schedule_limits limits;
    struct map entries;  /* num -> struct entry, ready or later */
    struct map assigned; /* num -> struct assigned */
    struct map lanes;    /* name -> struct lane */
    struct heap open;    /* lanes with a ready job and room for it */
    struct heap worst;   /* all ready entries, last one first */
    struct heap later;   /* entries before their time */
    struct heap ageing;  /* ready entries that will gain a class */
    bool more;           /* there are ready jobs beyond the bound */
    struct position bound;
    struct list hungry; /* folded lanes that run low */
    struct list paused; /* lanes that are */
    enum refill refill;
    struct lane *refill_lane;
    struct position last; /* offered during this refill */
    size_t refill_limit;
    unsigned probe_class;
    struct wall next_probe, next_look;
    struct text after; /* lent to the caller of needs_refill */
    unsigned lasting;
    int64_t mean_us; /* of late; 0 = nothing known */
    unsigned streak; /* short ends in a row */
};

static inline struct span num_key(const uint64_t *num) {
    return span_make(num, sizeof(*num));
}

/* ---- schedule.c --------------------------------------------------------- */

static inline bool lane_is_full(const struct lane *lane) {
    return lane->closed_by > 0 || lane->paused_until.ns > 0 ||
           (lane->limit > 0 && lane->busy >= lane->limit);
}
struct lane *lane_of(struct schedule *schedule, struct span target);
/* Its first job, its room or its number of jobs may have changed. */
void lane_changed(struct schedule *schedule, struct lane *lane);

/* ---- schedule_window.c -------------------------------------------------- */

void window_init(struct schedule *schedule);
void window_clear(struct schedule *schedule);
struct lane *lane_new(unsigned limit);
void lane_free(struct lane *lane);
/* Few of its jobs are here, and more in the registry. */
bool lane_is_low(const struct lane *lane);
void entry_drop(struct schedule *schedule, struct entry *entry);
/* Takes in those whose time has come by `now`. */
void window_tick(struct schedule *schedule, struct wall now);

#endif
