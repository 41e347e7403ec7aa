#include "schedules/schedule_driver_inner.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/log.h"

enum { PAGE = 500, MOST_UNDER_WAY = 512, CLOCK_STEP_LOGGED_S = 2 };

static int64_t boot_s(struct boot boot) {
    return boot.ns / NS_PER_S;
}

/* ---- entries ------------------------------------------------------------- */

struct schedule_entry *schedule_entry_find(struct schedule_driver *driver,
                                           struct span name) {
    return map_get(&driver->entries, name);
}

void schedule_entry_stale(struct schedule_driver *driver,
                          struct schedule_entry *entry) {
    list_remove(&entry->link);
    list_push(&driver->stale, &entry->link);
}

static struct schedule_entry *entry_new(struct schedule_driver *driver,
                                        struct span name) {
    struct schedule_entry *entry = mem_alloc(sizeof(*entry) + name.len + 1);
    memcpy(entry->name, name.p, name.len);
    list_init(&entry->link);
    list_init(&entry->jobs);
    map_put(&driver->entries, name, entry);
    return entry;
}

static void entry_rest(struct schedule_driver *driver,
                       struct schedule_entry *entry) {
    if (entry->schedule)
        schedules_remove(driver->schedules, entry->schedule);
    entry->schedule = NULL;
}

static void entry_free(struct schedule_driver *driver,
                       struct schedule_entry *entry) {
    LIST_EACH (&entry->jobs, link)
        schedule_job_drop(driver,
                          LIST_OF(link, struct schedule_live_job, of_entry));
    entry_rest(driver, entry);
    list_remove(&entry->link);
    free(entry);
}

static bool read_rule(struct schedule_driver *driver,
                      const struct schedule_row *row, bool *ret_paused,
                      struct schedule_rule *ret_rule, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct schedule_spec spec;
    if (!schedule_spec_parse(row->spec, &arena, &spec, err))
        return false;
    *ret_paused = row->paused || spec.paused;
    return schedule_rule_make(&spec, row->name, row->seed, driver->zones,
                              ret_rule, err);
}

/* Updates the entry from the registry's row. */
static void entry_set(struct schedule_driver *driver,
                      struct schedule_entry *entry,
                      const struct schedule_row *row) {
    struct schedule_rule rule = {0};
    struct err err = {0};
    bool paused;
    entry_rest(driver, entry);
    entry->reading = ++driver->readings;
    if (entry->serial != row->serial)
        entry->looked = false;
    entry->serial = row->serial;
    if (!read_rule(driver, row, &paused, &rule, &err)) {
        log_error("schedule '%s' never fires: %s", entry->name, err.text);
        return;
    }
    struct schedule_place place = {row->high_s, row->offset_s, row->round};
    if (!paused)
        entry->schedule =
            schedules_add(driver->schedules, &rule, &place, entry);
    schedule_rule_clear(&rule);
    LIST_EACH (&entry->jobs, link)
        if (entry->schedule)
            schedule_add_live(entry->schedule, 1);
}

/* Reads the entries again that were reported as changed. */
static void refresh(struct schedule_driver *driver) {
    struct list *link;
    while ((link = list_pop(&driver->stale)) != NULL) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct schedule_entry *entry =
            LIST_OF(link, struct schedule_entry, link);
        struct schedule_row row;
        struct err err = {0};
        bool found;
        if (!schedule_row_find(driver->store, span_of(entry->name), &arena,
                               &row, &found, &err)) {
            log_error("cannot read schedule '%s', trying again: %s",
                      entry->name, err.text);
            schedule_entry_stale(driver, entry);
            driver->again_s = wall_s(driver->now) + 1;
            return;
        }
        if (found) {
            entry_set(driver, entry, &row);
        } else {
            map_remove(&driver->entries, span_of(entry->name));
            entry_free(driver, entry);
        }
    }
}

/* ---- events -------------------------------------------------------------- */

static void on_event(void *ctx, const struct store_event *event) {
    struct schedule_driver *driver = ctx;
    if (event->kind == EVENT_MOVE) {
        schedule_job_moved(driver, event);
        return;
    }
    if (event->kind != EVENT_SCHEDULE || event->id.len == 0)
        return;
    struct schedule_entry *entry = schedule_entry_find(driver, event->id);
    if (entry && span_equal(event->reason, schedule_event_word(SCHEDULE_RUN)))
        entry->looked = false; /* it was run by hand */
    if (schedule_event_changes(event->reason))
        schedule_entry_stale(driver,
                             entry ? entry : entry_new(driver, event->id));
}

/* ---- life ---------------------------------------------------------------- */

static int sooner(const void *a, const void *b) {
    const struct schedule_live_job *x = a, *y = b;
    return (x->deadline_s > y->deadline_s) - (x->deadline_s < y->deadline_s);
}

struct schedule_driver *
schedule_driver_new(struct store *store,
                    const struct schedule_driver_options *options,
                    struct wall now, struct boot boot) {
    struct schedule_driver *driver = mem_alloc(sizeof(*driver));
    driver->store = store;
    driver->base = options->base;
    driver->host = span_string(options->host);
    driver->zones = cron_zones_new(options->zones_s);
    driver->schedules = schedules_new(wall_s(now), boot_s(boot));
    driver->now = now;
    list_init(&driver->stale);
    heap_init(&driver->deadlines, offsetof(struct schedule_live_job, place),
              sooner);
    store_listen(store, on_event, driver);
    return driver;
}

void schedule_driver_free(struct schedule_driver *driver) {
    size_t cursor = 0;
    void *value;
    if (!driver)
        return;
    store_unlisten(driver->store, on_event, driver);
    while (map_next(&driver->entries, &cursor, NULL, &value))
        entry_free(driver, value);
    map_clear(&driver->entries);
    map_clear(&driver->jobs);
    heap_clear(&driver->deadlines);
    schedules_free(driver->schedules);
    cron_zones_free(driver->zones);
    free(driver->host);
    free(driver);
}

/* Before it fires: jobs from before the start may have something due. */
static bool needs_look(const struct schedule_rule *rule) {
    return rule->deadline_s > 0 || rule->overlap == OVERLAP_REPLACE;
}

bool schedule_driver_start(struct schedule_driver *driver, struct err *err) {
    CLEANUP(text_clear) struct text after = TEXT_INIT;
    size_t count = PAGE;
    while (count == PAGE) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct schedule_row *rows;
        if (!schedule_row_list(driver->store, text_span(&after), PAGE, &arena,
                               &rows, &count, err))
            return err_wrap(err, "cannot load the schedules");
        for (size_t i = 0; i < count; i++) {
            struct schedule_entry *entry = entry_new(driver, rows[i].name);
            entry_set(driver, entry, &rows[i]);
            if (entry->schedule && needs_look(schedule_rule(entry->schedule)))
                schedule_entry_recall(driver, entry);
        }
        if (count > 0) {
            text_reset(&after);
            text_addspan(&after, rows[count - 1].name);
        }
    }
    return true;
}

/* ---- a turn -------------------------------------------------------------- */

/* Finds zone names that now mean another zone. */
static void refresh_zones(struct schedule_driver *driver, struct boot boot) {
    size_t cursor = 0;
    void *value;
    if (cron_zones_refresh(driver->zones, boot_s(boot)) == 0)
        return;
    while (map_next(&driver->entries, &cursor, NULL, &value)) {
        struct schedule_entry *entry = value;
        struct cron_zone *zone;
        if (!entry->schedule || !schedule_rule(entry->schedule)->zone ||
            !cron_zones_find(
                driver->zones,
                cron_zone_name(schedule_rule(entry->schedule)->zone), &zone,
                NULL))
            continue;
        schedules_zone(driver->schedules, entry->schedule, zone);
        cron_zone_unref(zone);
    }
    log_info("rules of time zones have changed");
}

static void tick(struct schedule_driver *driver, struct boot boot) {
    refresh_zones(driver, boot);
    struct schedules_disturbance disturbance =
        schedules_tick(driver->schedules, wall_s(driver->now), boot_s(boot));
    if (disturbance.clock_shift_s >= CLOCK_STEP_LOGGED_S ||
        disturbance.clock_shift_s <= -CLOCK_STEP_LOGGED_S)
        log_info("the clock was set by %" PRId64 " s",
                 disturbance.clock_shift_s);
}

static bool may_decide(const struct schedule_driver *driver) {
    return !driver->draining && driver->under_way < MOST_UNDER_WAY &&
           wall_s(driver->now) >= driver->again_s;
}

static void decide(struct schedule_driver *driver) {
    struct schedule_decision decision;
    struct schedule *schedule;
    while (may_decide(driver) &&
           (schedule = schedules_due(driver->schedules)) != NULL) {
        struct schedule_entry *entry = schedule_data(schedule);
        schedule_entry_recall(driver, entry);
        if (schedules_decide(driver->schedules, &decision))
            schedule_driver_carry_out(driver, &decision);
    }
}

static int64_t less_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static struct wall next_turn(const struct schedule_driver *driver) {
    int64_t next_s =
        driver->draining ? SCHEDULES_NEVER : schedules_next(driver->schedules);
    const struct schedule_live_job *live = heap_first(&driver->deadlines);
    if (live)
        next_s = less_of(next_s, live->deadline_s + 1);
    if (!list_empty(&driver->stale))
        next_s = wall_s(driver->now);
    if (wall_s(driver->now) < driver->again_s && next_s < driver->again_s)
        next_s = driver->again_s;
    /* The answers to the batches in progress cause a turn by themselves. */
    if (driver->under_way >= MOST_UNDER_WAY || next_s == SCHEDULES_NEVER)
        return WALL_NEVER;
    return next_s > INT64_MAX / NS_PER_S ? WALL_NEVER : wall_from_s(next_s);
}

void schedule_driver_turn(struct schedule_driver *driver, struct wall now,
                          struct boot boot, struct wall *ret_next) {
    driver->now = now;
    if (wall_s(now) < driver->again_s - 5)
        driver->again_s = 0; /* the clock was set back */
    tick(driver, boot);
    if (wall_s(now) >= driver->again_s)
        refresh(driver);
    schedule_deadlines_turn(driver);
    decide(driver);
    *ret_next = next_turn(driver);
}

bool schedule_driver_idle(const struct schedule_driver *driver) {
    return driver->under_way == 0 && list_empty(&driver->stale) &&
           (driver->draining ||
            schedules_next(driver->schedules) > wall_s(driver->now));
}

void schedule_driver_drain(struct schedule_driver *driver) {
    driver->draining = true;
}
