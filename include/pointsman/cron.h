/* pointsman/cron.h: when does a pattern fire next?
 *
 * An item is a pattern of instants, written in JSON:
 *
 *     {"hour": [10, 20], "minute": 0, "day_of_week": "Tue",
 *      "dst_fixes": ["unskip", "repeat_use_only_early"]}
 *
 * A zone maps instants to local times. An item and a zone together define a set
 * of instants; cron_next() finds the first one at or after a given instant. The
 * set never depends on where a search begins. pointsman-cron-item(5) describes
 * every key of an item.
 *
 * Instants are seconds since 1970-01-01T00:00:00Z, not counting leap seconds.
 * Items and zones are immutable: any number of threads may use one at the same
 * time. The library has no global state, and never asks the C library for a
 * local time.
 *
 * Functions that can fail return false, or CRON_FAILED, and describe the error
 * in `err`, which may be NULL. */
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

/* ---- version ------------------------------------------------------------- */

/* Of this header, as text and as a number: 1.2.3 is 10203. */
#define CRON_VERSION "0.1.0"
#define CRON_VERSION_NUMBER 100
/* The number of the library that the program runs with. */
CRON_API int cron_version(void);

/* ---- errors -------------------------------------------------------------- */

enum cron_err_kind {
    CRON_ERR_NONE,
    CRON_ERR_SYNTAX, /* the text is not JSON, not a crontab line, ... */
    CRON_ERR_ITEM,   /* valid JSON, but not an item */
    CRON_ERR_ZONE,   /* unknown or invalid zone */
    CRON_ERR_RANGE,  /* an instant outside the supported range */
    CRON_ERR_SYSTEM, /* out of memory, or a file cannot be read */
    CRON_ERR_OPTION  /* a struct of options of another version */
};

enum { CRON_ERR_BYTES = 512 };

struct cron_err {
    enum cron_err_kind kind;
    int line, column;          /* position in the text, from 1; 0: none */
    int sentence_at;           /* where in `text` the sentence begins, behind
                                  the position */
    char text[CRON_ERR_BYTES]; /* "line 1, column 12: " if there is a position,
                                  and one sentence */
};

/* The result of a search. */
enum cron_found {
    CRON_FAILED = -1,
    CRON_NONE = 0, /* there is no such instant */
    CRON_FOUND = 1
};

/* ---- zones --------------------------------------------------------------- */

struct cron_zone;

/* Opens a zone by a name of the zone database ("Europe/London"), by a POSIX TZ
 * string ("EST5EDT,M3.2.0,M11.1.0", whose sign counts westwards), or by an
 * offset ("Z", "+02:00", east is plus). NULL and "" mean the zone of the
 * system, from $TZ, else /etc/localtime. The database is searched for in
 * $ZONEINFO, $TZDIR, /usr/share/zoneinfo and /usr/lib/zoneinfo. */
CRON_API bool cron_zone_open(const char *name, struct cron_zone **ret_zone,
                             struct cron_err *err);
/* Accepts only a POSIX TZ string or an offset, and reads no file. */
CRON_API bool cron_zone_parse(const char *text, struct cron_zone **ret_zone,
                              struct cron_err *err);
/* Decodes the content of a zone file: TZif version 2 or later, RFC 9636. */
CRON_API bool cron_zone_decode(const void *bytes, size_t byte_count,
                               struct cron_zone **ret_zone,
                               struct cron_err *err);
/* Adds an owner; returns the zone. */
CRON_API struct cron_zone *cron_zone_ref(struct cron_zone *zone);
/* Removes an owner; removing the last one frees the zone. NULL is allowed. */
CRON_API void cron_zone_unref(struct cron_zone *zone);

/* The name it was opened by; "" for the zone of the system and for decoded
 * bytes. */
CRON_API const char *cron_zone_name(const struct cron_zone *zone);
/* True if it came from a POSIX TZ string or an offset instead of a file. */
CRON_API bool cron_zone_is_rule(const struct cron_zone *zone);
/* Instants beyond are too far for a zone: some 36,000 million years. */
#define CRON_ZONE_MOST (INT64_C(1) << 60)

/* The offset at an instant, in seconds east of UTC; beyond CRON_ZONE_MOST, in
 * either direction, that at CRON_ZONE_MOST. */
CRON_API int32_t cron_zone_offset_s(const struct cron_zone *zone, int64_t at);
/* Finds the next change of the offset after `at`, in whatever year.
 * CRON_FAILED: `at` is beyond CRON_ZONE_MOST (CRON_ERR_RANGE). */
CRON_API enum cron_found cron_zone_change(const struct cron_zone *zone,
                                          int64_t at, int64_t *ret_at,
                                          int32_t *ret_before_s,
                                          int32_t *ret_after_s,
                                          struct cron_err *err);

/* A cache of zones by name. Each zone is read once, and again when its file has
 * changed. Several threads may use the cache at the same time. */
struct cron_zones;

/* Files are checked for changes at most once every `interval_s` (0: 60). */
CRON_API struct cron_zones *cron_zones_new(int64_t interval_s);
CRON_API void cron_zones_free(struct cron_zones *zones);
/* Like cron_zone_open(), using the cache. The caller must unref the zone. */
CRON_API bool cron_zones_find(struct cron_zones *zones, const char *name,
                              struct cron_zone **ret_zone,
                              struct cron_err *err);
/* Checks the files for changes, if the last check was at least `interval_s` ago
 * by the monotonic clock of the caller. Running searches continue with the zone
 * they have. Returns the number of names that now refer to a different zone; if
 * a file has disappeared or is invalid, the zone stays as it was. */
CRON_API size_t cron_zones_refresh(struct cron_zones *zones,
                                   int64_t monotonic_s);

/* ---- items --------------------------------------------------------------- */

struct cron_item;

/* Parses an item from JSON. All mistakes are rejected here, with their position
 * and sometimes a suggestion; so are items that never fire. */
CRON_API bool cron_item_parse(const char *text, size_t bytes,
                              struct cron_item **ret_item,
                              struct cron_err *err);
CRON_API struct cron_item *cron_item_ref(struct cron_item *item);
CRON_API void cron_item_unref(struct cron_item *item);

/* False for items of "epoch", which need no zone. */
CRON_API bool cron_item_is_timezone_dependent(const struct cron_item *item);
/* The value of "max_shift_seconds_for_unskip_and_do_not_repeat", or -1. */
CRON_API int64_t cron_item_max_shift_s(const struct cron_item *item);
/* Writes the item as JSON in a fixed form: the same keys in the same order
 * whatever the text that it was parsed from looked like. Parsing the result
 * gives an equal item. Like snprintf: writes at most `bytes`, and returns the
 * full length. */
CRON_API size_t cron_item_format(const struct cron_item *item, char *buffer,
                                 size_t bytes);
/* Describes the item in words. Like snprintf: writes at most `bytes`, and
 * returns the full length. */
CRON_API size_t cron_item_explain(const struct cron_item *item, char *buffer,
                                  size_t bytes);

/* ---- searches ------------------------------------------------------------ */

/* For calendar items, searches accept instants of the years 0 to 10000 (others:
 * CRON_ERR_RANGE), and the items fire in the years 1969 to 9999. Epoch items
 * accept any instant. `zone` NULL is UTC. */
#define CRON_OLDEST INT64_C(-62167219200)
#define CRON_NEWEST INT64_C(253433923199)

/* Finds the first instant at or after `from`. */
CRON_API enum cron_found cron_next(const struct cron_item *item,
                                   const struct cron_zone *zone, int64_t from,
                                   int64_t *ret_at, struct cron_err *err);
/* Finds the last instant at or before `from`. */
CRON_API enum cron_found cron_prev(const struct cron_item *item,
                                   const struct cron_zone *zone, int64_t from,
                                   int64_t *ret_at, struct cron_err *err);
/* True if the item fires at exactly `at`. */
CRON_API bool cron_matches(const struct cron_item *item,
                           const struct cron_zone *zone, int64_t at);
/* Finds up to `most` instants at or after `from`, in order; *ret_count is their
 * number. CRON_NONE: there is none (or `most` is 0); CRON_FAILED as from
 * cron_next(). */
CRON_API enum cron_found cron_next_n(const struct cron_item *item,
                                     const struct cron_zone *zone, int64_t from,
                                     int64_t *ret_at, size_t most,
                                     size_t *ret_count, struct cron_err *err);
/* Counts the instants in [from, until). The periods between two clock changes
 * are computed, not walked. */
CRON_API bool cron_count(const struct cron_item *item,
                         const struct cron_zone *zone, int64_t from,
                         int64_t until, uint64_t *ret_count,
                         struct cron_err *err);

/* ---- instants as text ---------------------------------------------------- */

enum { CRON_INSTANT_BYTES = 32 };

/* Writes an instant as RFC 3339 with the offset of the zone (NULL: UTC). If RFC
 * 3339 cannot express the year, writes the number; if the offset has seconds,
 * writes UTC. Returns ret. */
CRON_API char *cron_instant_format(const struct cron_zone *zone, int64_t at,
                                   char ret[CRON_INSTANT_BYTES]);
/* Parses seconds since 1970, or RFC 3339; fractions of a second are dropped. */
CRON_API bool cron_instant_parse(const char *text, int64_t *ret_at);

/* ---- crontab lines ------------------------------------------------------- */

enum cron_line {
    CRON_LINE_EMPTY,   /* blank, or a comment */
    CRON_LINE_SETTING, /* NAME = value */
    CRON_LINE_TIMES
};

/* How the two day columns of a line combine. */
enum cron_days {
    CRON_DAYS_PLAIN,  /* at most one of them restricts the days */
    CRON_DAYS_EITHER, /* one match is enough: neither begins with a star */
    CRON_DAYS_BOTH    /* both must match: one of them begins with a star */
};

struct cron_crontab {
    enum cron_line kind;
    enum cron_days days;
    /* Items in JSON. There are two if both day columns are restricted and one
     * match is enough; an instant at which both fire counts once. */
    char *items[2];
    size_t item_count;
    const char *rest; /* of the line, after the times; or the setting */
};

/* Parses a line with five columns, or @hourly, @daily, @midnight, @weekly,
 * @monthly, @yearly, @annually, @every TIME. If the minute or the hour begins
 * with a star, the item has skip and repeat_use_both, otherwise unskip and
 * repeat_use_only_early. This is the heuristic of Vixie cron, except that Vixie
 * cron runs a job that the clock jumped over just after the jump. H in a column
 * is a value derived from `hash_name` (NULL: H is rejected). The caller must
 * clear the result. */
CRON_API bool cron_crontab_parse(const char *line, const char *hash_name,
                                 struct cron_crontab *ret_crontab,
                                 struct cron_err *err);
CRON_API void cron_crontab_clear(struct cron_crontab *crontab);

/* ---- spreading ----------------------------------------------------------- */

/* Returns a number below `span` that depends only on name and seed: an offset
 * in seconds that spreads jobs and never changes. Returns 0 if `span` is 0. */
CRON_API uint32_t cron_stable_offset(const char *name, uint64_t seed,
                                     uint32_t span);
/* Returns a number below `span` that differs for each instant: a delay in
 * seconds that looks random, but is always the same for the same arguments.
 * Returns 0 if `span` is 0. */
CRON_API uint32_t cron_random_delay(const char *name, uint64_t seed, int64_t at,
                                    uint32_t span);

/* ---- watches ------------------------------------------------------------- */

/* A watch tracks many items in real time, while the process sleeps, the system
 * clock is set, or the zone changes. At each tick the caller passes the time of
 * the system clock, which can be set, and of a monotonic clock, which cannot;
 * the watch returns the events that are due.
 *
 * The watch computes from both clocks and the zones how the time was disturbed
 * since the previous tick. Only the sum counts: an hour of suspension during
 * which the clock was set back by an hour has no effect. The key
 * max_shift_seconds_for_unskip_and_do_not_repeat of each item says which
 * disturbances it compensates for: events that are late by at most this much
 * fire late, and after a step back of at most this much no event fires again.
 * Daylight saving time is not a disturbance; dst_fixes handles it.
 *
 * All functions may be called by any thread at any time. */
struct cron_watch;

/* Structs of options begin with their size, so that a program and a library of
 * different versions understand each other: options that the program does not
 * know have their defaults. Options that the library does not know are refused
 * unless they are 0. */
struct cron_watch_options {
    size_t size; /* sizeof(struct cron_watch_options) */
    /* The longest normal interval between ticks (0: 60). An event that is late
     * by at most this much is on time. */
    int64_t poll_s;
    /* Return every event separately, including skipped and repeated ones, and
     * let the caller decide what to do. */
    bool all;
    /* Identifies the current boot of the machine; NULL: unknown. */
    const char *boot_id;
};

/* `options` NULL: the defaults. NULL: an error; CRON_ERR_SYSTEM, or
 * CRON_ERR_OPTION if the size is wrong. */
CRON_API struct cron_watch *
cron_watch_new(const struct cron_watch_options *options, struct cron_err *err);
CRON_API void cron_watch_free(struct cron_watch *watch);
/* The item must have a max_shift; the watch adds a reference of its own. Names
 * must be unique. An item added later starts at the last tick. */
CRON_API bool cron_watch_add(struct cron_watch *watch, const char *name,
                             struct cron_item *item, void *data,
                             struct cron_err *err);
/* The same for an item that follows a zone of its own instead of that of the
 * watch. NULL is UTC. */
CRON_API bool cron_watch_add_in(struct cron_watch *watch, const char *name,
                                struct cron_item *item, struct cron_zone *zone,
                                void *data, struct cron_err *err);
/* Removes an item: once this has returned, no tick and no take that is called
 * returns an event of it. An event that another thread took before is its own,
 * and so is the name in it; what `data` points to must live until that thread
 * is done with it. False: there is no item of that name. */
CRON_API bool cron_watch_remove(struct cron_watch *watch, const char *name);
/* Takes effect at the next tick. NULL is UTC, the initial zone. */
CRON_API void cron_watch_set_zone(struct cron_watch *watch,
                                  struct cron_zone *zone);
/* The same for an item with a zone of its own. False: there is no item of that
 * name, or it follows the zone of the watch. */
CRON_API bool cron_watch_set_zone_of(struct cron_watch *watch, const char *name,
                                     struct cron_zone *zone);

enum cron_event_kind {
    CRON_ON_TIME,
    CRON_LATE,             /* suspension, or the clock was set forward */
    CRON_TZ_UNSKIPPED,     /* a change of the zone jumped over it */
    CRON_SKIPPED,          /* too late: must not be fired */
    CRON_SUPPRESSED_REPEAT /* returned before: must not be fired */
};

enum { CRON_NAME_BYTES = 256 };

struct cron_event {
    enum cron_event_kind kind;
    char name[CRON_NAME_BYTES]; /* of the item */
    void *data;
    int64_t at;      /* when it was due */
    int64_t until;   /* CRON_SKIPPED: the last of them; else `at` */
    int64_t label;   /* local time of its zone at `at`, as seconds */
    int64_t shift_s; /* from `at` to the tick */
};

/* What happened since the previous tick. */
struct cron_tick {
    int64_t passed_s;         /* real time */
    int64_t clock_shift_s;    /* how far the system clock was set */
    int64_t zone_shift_s;     /* how far the zone of the watch moved the local
                                 time, as of the previous tick */
    int64_t rule_shift_s;     /* ... as of this tick; includes changed rules */
    bool monotonic_went_back; /* a broken clock; treated as stopped */
    bool more; /* more events are due: call again before time passes */
};

/* Returns up to `most` events, ordered by instant and then by item, and their
 * number. The very first tick returns nothing; it only sets the start. If there
 * are more events, the next call continues this tick and ignores its times. The
 * cost depends on the number of returned events and disturbed items, not on the
 * time that passed. `ret_tick` may be NULL. */
CRON_API size_t cron_watch_tick(struct cron_watch *watch, int64_t system_s,
                                int64_t monotonic_s, struct cron_event *events,
                                size_t most, struct cron_tick *ret_tick);
/* Finds when the next event is due by the system clock. False: never, or there
 * was no tick yet. */
CRON_API bool cron_watch_next(struct cron_watch *watch, int64_t *ret_at);

/* Writes the state as JSON. Like snprintf: returns the full length. */
CRON_API size_t cron_watch_save(struct cron_watch *watch, char *buffer,
                                size_t bytes);
/* Restores a saved state. Call it after adding the items and before the first
 * tick. An item that is new or has changed starts at the first tick. */
CRON_API bool cron_watch_restore(struct cron_watch *watch, const char *text,
                                 size_t bytes, struct cron_err *err);

/* ---- a thread that watches ----------------------------------------------- */

struct cron_clocks {
    int64_t (*system_s)(void *ctx);
    int64_t (*monotonic_s)(void *ctx);
    void *ctx;
};

struct cron_thread_options {
    size_t size;                      /* sizeof(struct cron_thread_options) */
    const struct cron_clocks *clocks; /* NULL: those of Linux, where
                                         suspension counts as passed time */
    size_t queue_most;                /* 0: 1024 */
    struct cron_zones *zones;         /* NULL: the caller sets the zones */
    const char *zone_name;            /* else kept up to date from zones, as are
                                         the zones of items that have a name */
};

struct cron_thread;

/* Starts a thread that ticks whenever something is due, when the clock is set,
 * when the zone changes or an item is added, and at least every poll_s. Until
 * it is stopped, nobody else may tick or free the watch. If the queue is full,
 * the thread waits; no event is lost. */
CRON_API struct cron_thread *
cron_thread_start(struct cron_watch *watch,
                  const struct cron_thread_options *options,
                  struct cron_err *err);
/* Takes the next event. False: none arrived in that time (-1: wait for ever),
 * or the thread was stopped. */
CRON_API bool cron_thread_take(struct cron_thread *thread, int timeout_ms,
                               struct cron_event *ret_event);
/* A descriptor that is readable as long as an event waits to be taken, for
 * poll() and its like; take with a timeout of 0. It belongs to the thread: do
 * not read or close it. */
CRON_API int cron_thread_fd(const struct cron_thread *thread);
/* Stops the thread and drops queued events. NULL is allowed. */
CRON_API void cron_thread_stop(struct cron_thread *thread);

#ifdef __cplusplus
}
#endif

#endif
