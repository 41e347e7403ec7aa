/* pointsman/cron.h: when next?
 *
 * An item is a pattern of instants, written in JSON:
 *
 *     {"hour": [10, 20], "minute": 0, "day_of_week": "Tue",
 *      "dst_fixes": ["unskip", "repeat_use_only_early"]}
 *
 * A zone says what the clocks on the walls show. Item and zone together are a
 * set of instants; cron_next() finds its first member at or after an instant.
 * The set never depends on where a search begins. pointsman-cron(3) tells what
 * every key of an item means.
 *
 * Instants are seconds since 1970-01-01T00:00:00Z, leap seconds not counted.
 * Items and zones never change once they are made: any number of threads may
 * use one at the same time. The library keeps no state of its own, and never
 * asks the C library what time it is anywhere.
 *
 * What can fail returns false, or CRON_FAILED, and says why in `err`, which may
 * be NULL. */
#ifndef POINTSMAN_CRON_H
#define POINTSMAN_CRON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CRON_API __attribute__((visibility("default")))
#else
#define CRON_API
#endif

/* ---- errors -------------------------------------------------------------- */

enum cron_err_kind {
    CRON_ERR_NONE,
    CRON_ERR_SYNTAX, /* the text is no JSON, no crontab line, ... */
    CRON_ERR_ITEM,   /* it is, but no item of ours */
    CRON_ERR_ZONE,   /* unknown or broken zone */
    CRON_ERR_RANGE,  /* an instant beyond what can be reckoned with */
    CRON_ERR_SYSTEM  /* no memory, a file that cannot be read */
};

enum { CRON_ERR_BYTES = 512 };

struct cron_err {
    enum cron_err_kind kind;
    int line, column;          /* in the text, from 1; 0: at no place of it */
    char text[CRON_ERR_BYTES]; /* one sentence, the place included */
};

/* ---- zones --------------------------------------------------------------- */

struct cron_zone;

/* By what people write: a name of the zone database ("Europe/London"), a POSIX
 * TZ string ("EST5EDT,M3.2.0,M11.1.0", whose sign counts westwards), or an
 * offset ("Z", "+02:00", east is plus). NULL and "": the system's own zone,
 * from $TZ, else /etc/localtime. The database is looked for in $ZONEINFO,
 * $TZDIR, /usr/share/zoneinfo and /usr/lib/zoneinfo. */
CRON_API bool cron_zone_open(const char *name, struct cron_zone **ret_zone,
                             struct cron_err *err);
/* Only a POSIX TZ string or an offset; no file is read. */
CRON_API bool cron_zone_parse(const char *text, struct cron_zone **ret_zone,
                              struct cron_err *err);
/* The content of a zone file: TZif version 2 and later, RFC 9636. */
CRON_API bool cron_zone_decode(const void *bytes, size_t byte_count,
                               struct cron_zone **ret_zone,
                               struct cron_err *err);
/* One more owner; returns the zone. */
CRON_API struct cron_zone *cron_zone_ref(struct cron_zone *zone);
/* One owner less; the last one frees it. NULL is fine. */
CRON_API void cron_zone_unref(struct cron_zone *zone);

/* What it was asked by; "" for the system's zone and for decoded bytes. */
CRON_API const char *cron_zone_name(const struct cron_zone *zone);
/* Whether it came from a POSIX TZ string (or an offset) instead of a file. */
CRON_API bool cron_zone_is_rule(const struct cron_zone *zone);
/* Seconds east of UTC at that instant. */
CRON_API int32_t cron_zone_offset_s(const struct cron_zone *zone, int64_t at);
/* The next change of the offset after `at`. False: there is none. */
CRON_API bool cron_zone_change(const struct cron_zone *zone, int64_t at,
                               int64_t *ret_at, int32_t *ret_before_s,
                               int32_t *ret_after_s);

/* Zones by name, each read once and read again when its file changes. All of
 * it may be used by several threads at once. */
struct cron_zones;

/* Files are looked at again no more often than every `interval_s` (0: 60). */
CRON_API struct cron_zones *cron_zones_new(int64_t interval_s);
CRON_API void cron_zones_free(struct cron_zones *zones);
/* As cron_zone_open(); the zone is yours to unref. */
CRON_API bool cron_zones_find(struct cron_zones *zones, const char *name,
                              struct cron_zone **ret_zone,
                              struct cron_err *err);
/* Looks for changed files, if the last look is long enough ago by the caller's
 * monotonic clock. Whoever searches goes on with the zone it has. Returns how
 * many names mean another zone now; a file that vanished or broke leaves the
 * zone as it was. */
CRON_API size_t cron_zones_refresh(struct cron_zones *zones,
                                   int64_t monotonic_s);

/* ---- items --------------------------------------------------------------- */

struct cron_item;

/* From JSON. Everything that is wrong is refused here, with its place and
 * perhaps what was meant; dates that never come, too. */
CRON_API bool cron_item_parse(const char *text, size_t bytes,
                              struct cron_item **ret_item,
                              struct cron_err *err);
CRON_API struct cron_item *cron_item_ref(struct cron_item *item);
CRON_API void cron_item_unref(struct cron_item *item);

/* False for items of "epoch", which need no zone. */
CRON_API bool cron_item_is_timezone_dependent(const struct cron_item *item);
/* "max_shift_seconds_for_unskip_and_do_not_repeat", or -1. */
CRON_API int64_t cron_item_max_shift_s(const struct cron_item *item);
/* In words. As snprintf: the length it would have, at most `bytes` written. */
CRON_API size_t cron_item_explain(const struct cron_item *item, char *buffer,
                                  size_t bytes);

/* ---- searches ------------------------------------------------------------ */

enum cron_found {
    CRON_FAILED = -1,
    CRON_NONE = 0, /* there is no such instant */
    CRON_FOUND = 1
};

/* Calendar items can be asked about instants of the years 0 to 10000; their
 * labels lie in 1969 to 9999. Beyond: CRON_ERR_RANGE. Epoch items answer any.
 * `zone` NULL is UTC. */
#define CRON_OLDEST INT64_C(-62167219200)
#define CRON_NEWEST INT64_C(253433923199)

/* The least instant at or after `from`. */
CRON_API enum cron_found cron_next(const struct cron_item *item,
                                   const struct cron_zone *zone, int64_t from,
                                   int64_t *ret_at, struct cron_err *err);
/* The greatest instant at or before `from`. */
CRON_API enum cron_found cron_prev(const struct cron_item *item,
                                   const struct cron_zone *zone, int64_t from,
                                   int64_t *ret_at, struct cron_err *err);
/* Whether it fires at that very second. */
CRON_API bool cron_matches(const struct cron_item *item,
                           const struct cron_zone *zone, int64_t at);
/* Up to `most` instants at or after `from`, in order; how many. */
CRON_API size_t cron_next_n(const struct cron_item *item,
                            const struct cron_zone *zone, int64_t from,
                            int64_t *ret_at, size_t most);
/* How many instants lie in [from, until). Whole stretches between two changes
 * of the clock are reckoned, not walked. */
CRON_API bool cron_count(const struct cron_item *item,
                         const struct cron_zone *zone, int64_t from,
                         int64_t until, uint64_t *ret_count,
                         struct cron_err *err);

/* ---- instants in writing ------------------------------------------------- */

enum { CRON_INSTANT_BYTES = 32 };

/* RFC 3339 with the offset of the zone (NULL: UTC); of an instant whose year it
 * cannot write, the number. An offset with seconds is written as UTC. Returns
 * ret. */
CRON_API char *cron_instant_format(const struct cron_zone *zone, int64_t at,
                                   char ret[CRON_INSTANT_BYTES]);
/* Seconds since 1970, or RFC 3339; parts of a second are dropped. */
CRON_API bool cron_instant_parse(const char *text, int64_t *ret_at);

/* ---- crontab lines ------------------------------------------------------- */

enum cron_line {
    CRON_LINE_EMPTY,   /* blank, or a comment */
    CRON_LINE_SETTING, /* NAME = value */
    CRON_LINE_TIMES
};

struct cron_crontab {
    enum cron_line kind;
    /* Items in JSON; two when both day fields are restricted and either is
     * enough. What they mean together is a set: an instant of both is one. */
    char *items[2];
    size_t item_count;
    const char *rest; /* of the line: behind the times, or the setting */
};

/* Five columns, or @hourly, @daily, @midnight, @weekly, @monthly, @yearly,
 * @annually, @every TIME. When the minute or the hour begins with a star the
 * item has skip and repeat_use_both, else unskip and repeat_use_only_early:
 * Vixie's heuristic, except that he runs a lost job just behind the jump. H in
 * a column is a value taken from `hash_name` (NULL: refused). Clear it. */
CRON_API bool cron_crontab_parse(const char *line, const char *hash_name,
                                 struct cron_crontab *ret_crontab,
                                 struct cron_err *err);
CRON_API void cron_crontab_clear(struct cron_crontab *crontab);

/* ---- spreading ----------------------------------------------------------- */

/* A number below `span` that depends on name and seed alone: an offset in
 * seconds that spreads jobs and never moves. 0 when `span` is. */
CRON_API uint32_t cron_stable_offset(const char *name, uint64_t seed,
                                     uint32_t span);
/* A number below `span` that is another one for each instant: a delay in
 * seconds as if drawn by chance, yet the same when it is asked for again. 0
 * when `span` is. */
CRON_API uint32_t cron_random_delay(const char *name, uint64_t seed, int64_t at,
                                    uint32_t span);

/* ---- keeping watch ------------------------------------------------------- */

/* A watch follows many items through time as it really passes: while the
 * process sleeps, while somebody sets the system's clock, while the zone
 * changes. It is asked (a tick) with the time of a clock that people set and of
 * one that only runs, and tells what is due.
 *
 * What disturbed the time since the tick before is reckoned from both clocks
 * and the zones, and only the sum counts: an hour of suspension during which
 * the clock was set back by an hour is nothing. Each item says in
 * max_shift_seconds_for_unskip_and_do_not_repeat how far it goes along with a
 * disturbance: events that are late by no more fire late, events that would
 * come again after no more do not. Changes of the clock by law (summer time)
 * are no disturbance; dst_fixes deals with them.
 *
 * All functions may be called by any thread at any time. */
struct cron_watch;

struct cron_watch_options {
    /* Ticks come at least that often when nothing is wrong (0: 60). An event
     * up to that late is on time. */
    int64_t poll_s;
    /* Hand out every event by itself, also those that were skipped or are not
     * repeated, and leave the policy to the caller. */
    bool all;
    /* What tells this start of the machine from others; NULL: unknown. */
    const char *boot_id;
};

CRON_API struct cron_watch *
cron_watch_new(const struct cron_watch_options *options);
CRON_API void cron_watch_free(struct cron_watch *watch);
/* The item must have a max_shift; the watch takes a reference of its own. Names
 * are unique. An item added later begins at the last tick. */
CRON_API bool cron_watch_add(struct cron_watch *watch, const char *name,
                             struct cron_item *item, void *data,
                             struct cron_err *err);
/* A thread of the watch hands out no event of the item any more; events that
 * cron_watch_tick() or cron_thread_take() returned before have a name that is
 * freed now. False: there is none of that name. */
CRON_API bool cron_watch_remove(struct cron_watch *watch, const char *name);
/* Counts from the next tick on. NULL is UTC, as at the beginning. */
CRON_API void cron_watch_set_zone(struct cron_watch *watch,
                                  struct cron_zone *zone);

enum cron_event_kind {
    CRON_ON_TIME,
    CRON_LATE,             /* the process slept, or the clock was set forward */
    CRON_TZ_UNSKIPPED,     /* the zone changed over it */
    CRON_SKIPPED,          /* too late: not to be fired */
    CRON_SUPPRESSED_REPEAT /* it was handed out before: not to be fired */
};

struct cron_event {
    enum cron_event_kind kind;
    const char *name; /* of the item, as long as it is there */
    void *data;
    int64_t at;      /* when it should have been */
    int64_t until;   /* CRON_SKIPPED: all from `at` to here; else `at` */
    int64_t label;   /* what the clock on the wall shows at `at`, as seconds */
    int64_t shift_s; /* from `at` to the tick */
};

/* What happened since the tick before. */
struct cron_tick {
    int64_t passed_s;         /* real time */
    int64_t clock_shift_s;    /* the system's clock was set by */
    int64_t zone_shift_s;     /* the zone moved the local time by, seen from the
                                 tick before */
    int64_t rule_shift_s;     /* ... seen from this one: also changed rules */
    bool monotonic_went_back; /* a broken clock; taken as standing still */
    bool more; /* not all was handed out: ask again before time goes on */
};

/* Hands out up to `most` events, in the order of their instants, then of their
 * items; how many. The first tick of all only begins. When there is more, the
 * next call goes on with this very tick, whatever times it is given. The work
 * depends on the events that are handed out and the items that are disturbed,
 * not on the time that passed. `ret_tick` may be NULL. */
CRON_API size_t cron_watch_tick(struct cron_watch *watch, int64_t system_s,
                                int64_t monotonic_s, struct cron_event *events,
                                size_t most, struct cron_tick *ret_tick);
/* When the next event is due by the system's clock. False: never, or there was
 * no tick yet. */
CRON_API bool cron_watch_next(struct cron_watch *watch, int64_t *ret_at);

/* The state in JSON. As snprintf: the length it would have. */
CRON_API size_t cron_watch_save(struct cron_watch *watch, char *buffer,
                                size_t bytes);
/* Takes over a saved state, before the first tick and after the items were
 * added. An item that is new or has changed begins at the first tick. */
CRON_API bool cron_watch_restore(struct cron_watch *watch, const char *text,
                                 size_t bytes, struct cron_err *err);

/* ---- a thread that keeps watch ------------------------------------------- */

struct cron_clocks {
    int64_t (*system_s)(void *ctx);
    int64_t (*monotonic_s)(void *ctx);
    void *ctx;
};

struct cron_thread_options {
    const struct cron_clocks *clocks; /* NULL: those of Linux; suspension
                                         counts as time that passed */
    size_t queue_most;                /* 0: 1024 */
    struct cron_zones *zones; /* NULL: the watch's zone is the caller's */
    const char *zone_name;    /* else kept up to date from there */
};

struct cron_thread;

/* Ticks whenever something is due, when somebody sets the clock, the zone or a
 * new item, and at least every poll_s. Nobody else may tick or free the watch
 * meanwhile. When the queue is full it waits; nothing is lost. */
CRON_API struct cron_thread *
cron_thread_start(struct cron_watch *watch,
                  const struct cron_thread_options *options,
                  struct cron_err *err);
/* The next event. False: none came in that time (-1: for ever), or the thread
 * was stopped. */
CRON_API bool cron_thread_take(struct cron_thread *thread, int timeout_ms,
                               struct cron_event *ret_event);
/* Ends the thread; what is still queued is dropped. NULL is fine. */
CRON_API void cron_thread_stop(struct cron_thread *thread);

#ifdef __cplusplus
}
#endif

#endif
