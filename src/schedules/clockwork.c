#include "schedules/clockwork_inner.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/log.h"

enum { PAGE = 500, MOST_UNDER_WAY = 512, STEP_TOLD_S = 2 };

static int64_t boot_s(struct boot boot) {
    return boot.ns / NS_PER_S;
}

/* ---- entries ------------------------------------------------------------- */

struct entry *entry_find(struct clockwork *clockwork, struct span name) {
    return map_get(&clockwork->entries, name);
}

void entry_stale(struct clockwork *clockwork, struct entry *entry) {
    list_remove(&entry->link);
    list_push(&clockwork->stale, &entry->link);
}

static struct entry *entry_new(struct clockwork *clockwork, struct span name) {
    struct entry *entry = mem_alloc(sizeof(*entry) + name.len + 1);
    memcpy(entry->name, name.p, name.len);
    list_init(&entry->link);
    list_init(&entry->jobs);
    map_put(&clockwork->entries, name, entry);
    return entry;
}

static void entry_rest(struct clockwork *clockwork, struct entry *entry) {
    if (entry->timed)
        timetable_remove(clockwork->timetable, entry->timed);
    entry->timed = NULL;
}

static void entry_free(struct clockwork *clockwork, struct entry *entry) {
    LIST_EACH (&entry->jobs, link)
        live_drop(clockwork, LIST_OF(link, struct live, of_entry));
    entry_rest(clockwork, entry);
    list_remove(&entry->link);
    free(entry);
}

static bool read_rule(struct clockwork *clockwork,
                      const struct store_schedule *row, bool *ret_paused,
                      struct timed_rule *ret_rule, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct schedule_spec spec;
    if (!schedule_spec_parse(row->spec, &arena, &spec, err))
        return false;
    *ret_paused = row->paused || spec.paused;
    return schedule_rule_make(&spec, row->name, row->seed, clockwork->zones,
                              ret_rule, err);
}

/* As the registry has it now. */
static void entry_set(struct clockwork *clockwork, struct entry *entry,
                      const struct store_schedule *row) {
    struct timed_rule rule = {0};
    struct err err = {0};
    bool paused;
    entry_rest(clockwork, entry);
    if (entry->serial != row->serial)
        entry->looked = false;
    entry->serial = row->serial;
    if (!read_rule(clockwork, row, &paused, &rule, &err)) {
        log_error("schedule '%s' never fires: %s", entry->name, err.text);
        return;
    }
    struct timed_place place = {row->high_s, row->offset_s, row->round};
    if (!paused)
        entry->timed =
            timetable_add(clockwork->timetable, &rule, &place, entry);
    schedule_rule_clear(&rule);
    LIST_EACH (&entry->jobs, link)
        if (entry->timed)
            timed_live(entry->timed, 1);
}

/* Reads again what was told to have changed. */
static void refresh(struct clockwork *clockwork) {
    struct list *link;
    while ((link = list_pop(&clockwork->stale)) != NULL) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct entry *entry = LIST_OF(link, struct entry, link);
        struct store_schedule row;
        struct err err = {0};
        bool found;
        if (!store_schedule(clockwork->store, span_of(entry->name), &arena,
                            &row, &found, &err)) {
            log_error("cannot read schedule '%s', trying again: %s",
                      entry->name, err.text);
            entry_stale(clockwork, entry);
            clockwork->again_s = wall_s(clockwork->now) + 1;
            return;
        }
        if (found) {
            entry_set(clockwork, entry, &row);
        } else {
            map_remove(&clockwork->entries, span_of(entry->name));
            entry_free(clockwork, entry);
        }
    }
}

/* ---- events -------------------------------------------------------------- */

static void on_event(void *ctx, const struct store_event *event) {
    struct clockwork *clockwork = ctx;
    if (event->kind == EVENT_MOVE) {
        live_moved(clockwork, event);
        return;
    }
    if (event->kind != EVENT_SCHEDULE || event->id.len == 0)
        return;
    struct entry *entry = entry_find(clockwork, event->id);
    if (entry && span_is(event->reason, "run"))
        entry->looked = false; /* somebody ran it by hand */
    bool defines =
        span_is(event->reason, "added") || span_is(event->reason, "changed") ||
        span_is(event->reason, "removed") || span_is(event->reason, "paused") ||
        span_is(event->reason, "resumed");
    if (defines)
        entry_stale(clockwork, entry ? entry : entry_new(clockwork, event->id));
}

/* ---- life ---------------------------------------------------------------- */

static int sooner(const void *a, const void *b) {
    const struct live *x = a, *y = b;
    return (x->deadline_s > y->deadline_s) - (x->deadline_s < y->deadline_s);
}

struct clockwork *clockwork_new(struct store *store,
                                const struct clockwork_options *options,
                                struct wall now, struct boot boot) {
    struct clockwork *clockwork = mem_alloc(sizeof(*clockwork));
    clockwork->store = store;
    clockwork->host = span_string(options->host);
    clockwork->zones = cron_zones_new(options->zones_s);
    clockwork->timetable = timetable_new(wall_s(now), boot_s(boot));
    clockwork->now = now;
    list_init(&clockwork->stale);
    heap_init(&clockwork->deadlines, offsetof(struct live, place), sooner);
    store_listen(store, on_event, clockwork);
    return clockwork;
}

void clockwork_free(struct clockwork *clockwork) {
    size_t cursor = 0;
    void *value;
    if (!clockwork)
        return;
    store_unlisten(clockwork->store, on_event, clockwork);
    while (map_next(&clockwork->entries, &cursor, NULL, &value))
        entry_free(clockwork, value);
    map_clear(&clockwork->entries);
    map_clear(&clockwork->jobs);
    heap_clear(&clockwork->deadlines);
    timetable_free(clockwork->timetable);
    cron_zones_free(clockwork->zones);
    free(clockwork->host);
    free(clockwork);
}

/* Before it fires: jobs of a former life may have something due. */
static bool needs_look(const struct timed_rule *rule) {
    return rule->deadline_s > 0 || rule->overlap == OVERLAP_REPLACE;
}

bool clockwork_start(struct clockwork *clockwork, struct err *err) {
    CLEANUP(text_clear) struct text after = TEXT_INIT;
    size_t count = PAGE;
    while (count == PAGE) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct store_schedule *rows;
        if (!store_schedules(clockwork->store, text_span(&after), PAGE, &arena,
                             &rows, &count, err))
            return err_wrap(err, "cannot load the schedules");
        for (size_t i = 0; i < count; i++) {
            struct entry *entry = entry_new(clockwork, rows[i].name);
            entry_set(clockwork, entry, &rows[i]);
            if (entry->timed && needs_look(timed_rule(entry->timed)))
                entry_recall(clockwork, entry);
        }
        if (count > 0) {
            text_reset(&after);
            text_addspan(&after, rows[count - 1].name);
        }
    }
    return true;
}

/* ---- a turn -------------------------------------------------------------- */

/* Names that mean another zone now. */
static void refresh_zones(struct clockwork *clockwork, struct boot boot) {
    size_t cursor = 0;
    void *value;
    if (cron_zones_refresh(clockwork->zones, boot_s(boot)) == 0)
        return;
    while (map_next(&clockwork->entries, &cursor, NULL, &value)) {
        struct entry *entry = value;
        struct cron_zone *zone;
        if (!entry->timed || !timed_rule(entry->timed)->zone ||
            !cron_zones_find(clockwork->zones,
                             cron_zone_name(timed_rule(entry->timed)->zone),
                             &zone, NULL))
            continue;
        timetable_zone(clockwork->timetable, entry->timed, zone);
        cron_zone_unref(zone);
    }
    log_info("rules of time zones have changed");
}

static void tick(struct clockwork *clockwork, struct boot boot) {
    refresh_zones(clockwork, boot);
    struct timetable_told told = timetable_tick(
        clockwork->timetable, wall_s(clockwork->now), boot_s(boot));
    if (told.clock_shift_s >= STEP_TOLD_S || told.clock_shift_s <= -STEP_TOLD_S)
        log_info("the clock was set by %" PRId64 " s", told.clock_shift_s);
}

static bool may_decide(const struct clockwork *clockwork) {
    return !clockwork->draining && clockwork->under_way < MOST_UNDER_WAY &&
           wall_s(clockwork->now) >= clockwork->again_s;
}

static void decide(struct clockwork *clockwork) {
    struct timed_decision decision;
    struct timed *timed;
    while (may_decide(clockwork) &&
           (timed = timetable_due(clockwork->timetable)) != NULL) {
        struct entry *entry = timed_data(timed);
        entry_recall(clockwork, entry);
        if (timetable_decide(clockwork->timetable, &decision))
            clockwork_carry_out(clockwork, &decision);
    }
}

static int64_t less_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static struct wall next_turn(const struct clockwork *clockwork) {
    int64_t next_s = clockwork->draining ? TIMETABLE_NEVER
                                         : timetable_next(clockwork->timetable);
    const struct live *live = heap_first(&clockwork->deadlines);
    if (live)
        next_s = less_of(next_s, live->deadline_s + 1);
    if (!list_empty(&clockwork->stale))
        next_s = wall_s(clockwork->now);
    if (wall_s(clockwork->now) < clockwork->again_s &&
        next_s < clockwork->again_s)
        next_s = clockwork->again_s;
    /* The answers of what is under way bring a turn by themselves. */
    if (clockwork->under_way >= MOST_UNDER_WAY || next_s == TIMETABLE_NEVER)
        return WALL_NEVER;
    return next_s > INT64_MAX / NS_PER_S ? WALL_NEVER : wall_from_s(next_s);
}

void clockwork_turn(struct clockwork *clockwork, struct wall now,
                    struct boot boot, struct wall *ret_next) {
    clockwork->now = now;
    if (wall_s(now) < clockwork->again_s - 5)
        clockwork->again_s = 0; /* the clock was set back */
    tick(clockwork, boot);
    if (wall_s(now) >= clockwork->again_s)
        refresh(clockwork);
    deadlines_turn(clockwork);
    decide(clockwork);
    *ret_next = next_turn(clockwork);
}

bool clockwork_idle(const struct clockwork *clockwork) {
    return clockwork->under_way == 0 && list_empty(&clockwork->stale) &&
           (clockwork->draining ||
            timetable_next(clockwork->timetable) > wall_s(clockwork->now));
}

void clockwork_drain(struct clockwork *clockwork) {
    clockwork->draining = true;
}
