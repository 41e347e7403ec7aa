/* The inside of a watch.
 *
 * The next event of each item is known and lies in a heap, so that a tick
 * looks only at due items. Everything up to `system_s` has been handled. If
 * the events of an item must not be repeated after the clock was set back,
 * its `high` lies beyond `system_s`: nothing at or before `high` fires
 * (again).
 *
 * When the zone changes, an item that follows the calendar moves with it:
 * its `high` stands for a local time, and becomes the instant at which the
 * new zone's clock shows the same local time. A zone that moved the local
 * time forward then looks like a clock that was set forward, and so on. */
#ifndef POINTSMAN_CRON_WATCH_H
#define POINTSMAN_CRON_WATCH_H

#include <pthread.h>

#include "cron/name_hash.h"
#include "cron/item.h"
#include "cron/zone.h"

/* No event. */
#define AT_NEVER INT64_MAX

/* What each event needs comes first: of many items few are in the cache. */
struct watched {
    int64_t next;   /* the next event is not before this time; AT_NEVER: none */
    uint64_t order; /* the order in which the items were added */
    size_t place;   /* in the heap */
    int64_t high;
    struct cron_item *item;
    void *data;
    size_t name_bytes; /* with the NUL */
    bool behind;   /* restored: `high` may lie before the watch's system_s */
    bool fresh;    /* nothing was restored: begins at the next tick */
    bool own_zone; /* it does not follow the zone of the watch: */
    bool zone_is_new, is_shifted, has_offset;
    int32_t offset_s;       /* restored: of its zone at the watch's system_s */
    struct cron_zone *zone; /* NULL: UTC */
    struct cron_zone *new_zone; /* for the next tick, if zone_is_new */
    /* If is_shifted, in the tick that is being handed out: by how much its zone
     * moved the local time, and up to where it moved over its labels. */
    int64_t shift_s, lost_until;
    struct watched *chain; /* of the table of names */
    char name[];
};

/* The tick that is being handed out. */
struct tick {
    int64_t system_s, monotonic_s;
    /* Up to here the zone moved over the labels. */
    int64_t lost_until;
    struct cron_tick reported;
};

struct cron_watch {
    pthread_mutex_t lock;
    struct cron_watch_options options;
    char boot_id[64];

    struct watched **heap; /* by next, then order */
    size_t count, room;
    struct watched **names;
    size_t name_slots;
    struct name_secret secret;
    uint64_t orders;

    bool begun;     /* there was a tick, or a state to continue from */
    bool restored;  /* the latter: */
    bool same_boot; /* its monotonic time is of this boot */
    int64_t system_s, monotonic_s;
    int32_t offset_s;           /* of the zone at system_s */
    struct cron_zone *zone;     /* of the last tick; NULL: UTC, or unknown */
    struct cron_zone *new_zone; /* for the next one */
    bool zone_is_new;
    size_t own_zones;         /* items with a zone of their own */
    bool item_zone_is_new;    /* one of them has a new zone, */
    bool item_zone_was_moved; /* or is_shifted */
    bool busy;                /* a tick is being handed out */

    /* Called, with the lock, when something may be due sooner than the last
     * answer of cron_watch_next(). NULL: no thread sleeps on it. */
    void (*wake)(void *ctx);
    /* Called, with the lock, before the item with that name (the pointer
     * that its events have) is freed. NULL: no events are kept anywhere. */
    void (*forget)(void *ctx, const char *name);
    void *user_ctx;

    struct tick tick;
};

/* The zone of the watch, and that of an item, for searches; never NULL. */
const struct cron_zone *watch_zone(const struct cron_watch *watch);
const struct cron_zone *watch_zone_of(const struct cron_watch *watch,
                                      const struct watched *watched);
/* Looks up the zones of items that have one with a name. */
void watch_follow(struct cron_watch *watch, struct cron_zones *zones);
/* The first event of the item at or after `from`, else AT_NEVER. */
int64_t watch_search(const struct cron_watch *watch,
                     const struct watched *watched, int64_t from);
/* Moves the item to its right place in the heap after a change of `next`. */
void watch_sift(struct cron_watch *watch, struct watched *watched);
void watch_sift_all(struct cron_watch *watch);
void watch_attach(struct cron_watch *watch, void (*wake)(void *ctx),
                  void (*forget)(void *ctx, const char *name), void *ctx);
/* cron_watch_tick() for a caller that already holds the lock. */
size_t watch_tick(struct cron_watch *watch, int64_t system_s,
                  int64_t monotonic_s, struct cron_event *events, size_t most,
                  struct cron_tick *ret_tick);
struct watched *watch_find(const struct cron_watch *watch, const char *name);

#endif
