/* cron simulate: applies a written series of clock disturbances to a
 * pattern. Each line is one step; everything on one line happens before the
 * watch looks at its clocks again. */
#include "cli/commands.h"
#include "cli/cron_query.h"
#include "cli/call_connect.h"
#include "cli/console.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/time.h"

enum { EVENTS = 64, POLL_S = 60, STATE_BYTES = 65536 };
#define SPAN_MOST_S (INT64_C(36525) * 86400)

struct world {
    const struct call *call;
    struct cron_query *query;
    struct cron_watch *watch;
    struct cron_zone *zone;
    int64_t system_s, monotonic_s;
    long long poll_s;
    unsigned boot;
    uint64_t step;
    struct cron_event last; /* that was shown */
};

/* ---- what is shown ------------------------------------------------------- */

/* clang-format off */
static const char *const kind_names[] = {
    [CRON_ON_TIME] = "on_time",
    [CRON_LATE] = "late",
    [CRON_TZ_UNSKIPPED] = "tz_unskipped",
    [CRON_SKIPPED] = "skipped",
    [CRON_SUPPRESSED_REPEAT] = "suppressed_repeat",
};
/* clang-format on */

static void show_json(const struct world *world,
                      const struct cron_event *event) {
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    char at[CRON_INSTANT_BYTES];
    struct json json;

    json_open(&json, &line);
    json_object(&json);
    json_key(&json, "step");
    json_i64(&json, (int64_t)world->step);
    json_key(&json, "kind");
    json_string(&json, kind_names[event->kind]);
    json_key(&json, "at");
    json_string(&json, cron_instant_format(world->zone, event->at, at));
    json_key(&json, "epoch");
    json_i64(&json, event->at);
    json_key(&json, "until");
    json_i64(&json, event->until);
    json_key(&json, "shift");
    json_i64(&json, event->shift_s);
    json_end(&json);
    text_addc(&line, '\n');
    (void)console_write(text_span(&line));
}

/* How many there are from the first one on; of two patterns, as many as both
 * have. */
static uint64_t count_skipped(const struct world *world,
                              const struct cron_event *event) {
    uint64_t count = 0;

    (void)cron_count(event->data, world->zone, event->at,
                     event->until > CRON_NEWEST ? CRON_NEWEST
                                                : event->until + 1,
                     &count, NULL);
    return count;
}

static void show_skipped(const struct world *world,
                         const struct cron_event *event) {
    uint64_t count = count_skipped(world, event);
    char at[CRON_INSTANT_BYTES], until[CRON_INSTANT_BYTES];

    cron_instant_format(world->zone, event->at, at);
    if (count <= 1)
        (void)console_printf("  %s  is skipped\n", at);
    else
        (void)console_printf(
            "  %s  is skipped, with all until %s: %" PRIu64 " events\n", at,
            cron_instant_format(world->zone, event->until, until), count);
}

static void show_text(const struct world *world,
                      const struct cron_event *event) {
    char at[CRON_INSTANT_BYTES];

    cron_instant_format(world->zone, event->at, at);
    switch (event->kind) {
    case CRON_ON_TIME:
        (void)console_printf("  %s  fires\n", at);
        break;
    case CRON_LATE:
        (void)console_printf("  %s  fires late, by %" PRId64 " s\n", at,
                             event->shift_s);
        break;
    case CRON_TZ_UNSKIPPED:
        (void)console_printf("  %s  fires: the change of zone skipped it\n",
                             at);
        break;
    case CRON_SKIPPED:
        show_skipped(world, event);
        break;
    case CRON_SUPPRESSED_REPEAT:
        (void)console_printf("  %s  does not fire again\n", at);
        break;
    }
}

/* Two patterns of one crontab line that fire at the same time fire once. */
static void show(struct world *world, const struct cron_event *event) {
    if (event->kind != CRON_SKIPPED && event->at == world->last.at &&
        event->kind == world->last.kind &&
        strcmp(event->name, world->last.name) != 0)
        return;
    world->last = *event;
    if (call_has(world->call, "json"))
        show_json(world, event);
    else
        show_text(world, event);
}

static void show_tick(const struct world *world,
                      const struct cron_tick *outcome) {
    if (call_has(world->call, "json"))
        return;
    if (outcome->clock_shift_s != 0)
        (void)console_printf("  the clock was changed by %+" PRId64 " s\n",
                             outcome->clock_shift_s);
    if (outcome->zone_shift_s != 0 || outcome->rule_shift_s != 0)
        (void)console_printf(
            "  the change of zone moved the local time by %+" PRId64 " s\n",
            outcome->zone_shift_s);
}

static void tick(struct world *world) {
    struct cron_event events[EVENTS];
    struct cron_tick outcome = {.more = true};

    for (bool first = true; outcome.more; first = false) {
        size_t count =
            cron_watch_tick(world->watch, world->system_s, world->monotonic_s,
                            events, EVENTS, &outcome);
        if (first)
            show_tick(world, &outcome);
        for (size_t i = 0; i < count; i++)
            show(world, &events[i]);
    }
}

/* ---- the watch ----------------------------------------------------------- */

static bool open_watch(struct world *world, struct err *err) {
    static const char *const names[2] = {"first", "second"};
    char boot_id[16];
    struct cron_watch_options options = {.size = sizeof(options),
                                         .poll_s = world->poll_s,
                                         .all = call_has(world->call, "all"),
                                         .boot_id = boot_id};
    struct cron_err cron_err;

    snprintf(boot_id, sizeof(boot_id), "%u", world->boot);
    world->watch = cron_watch_new(&options, NULL);
    if (world->watch == NULL)
        return err_set(err, ERR_CANNOT, "out of memory");
    cron_watch_set_zone(world->watch, world->zone);
    for (size_t i = 0; i < world->query->count; i++)
        if (!cron_watch_add(world->watch, names[i], world->query->items[i],
                            world->query->items[i], &cron_err))
            return cron_query_err_set(err, &cron_err);
    return true;
}

/* Simulates a process that ends and is started again. */
static bool reopen_watch(struct world *world, struct err *err) {
    size_t len = cron_watch_save(world->watch, NULL, 0);
    CLEANUP(text_free_string) char *state = mem_alloc(len + 1);
    struct cron_err cron_err;

    (void)cron_watch_save(world->watch, state, len + 1);
    cron_watch_free(world->watch);
    return open_watch(world, err) &&
           (cron_watch_restore(world->watch, state, len, &cron_err) ||
            cron_query_err_set(err, &cron_err));
}

/* ---- steps --------------------------------------------------------------- */

static bool take_span(struct span word, int64_t *ret_s, struct err *err) {
    int64_t ms = 0;

    if (!duration_parse(word, &ms) || ms < 0 || ms / 1000 > SPAN_MOST_S)
        return err_set(
            err, ERR_DATA,
            "expected a duration such as 90s, 15m, 2h or 7d, at most "
            "a century, not '%.*s'",
            (int)(word.len > 80 ? 80 : word.len), word.p);
    *ret_s = ms / 1000;
    return true;
}

static bool is_within(const struct world *world, struct err *err) {
    if (world->system_s >= CRON_OLDEST && world->system_s <= CRON_NEWEST)
        return true;
    return err_set(err, ERR_DATA, "the clock would leave the years 0 to 10000");
}

/* Simulates a service: asleep until something is due, or for --poll. */
static bool step_wait(struct world *world, struct span word, struct err *err) {
    int64_t left = 0, due;

    if (!take_span(word, &left, err))
        return false;
    while (left > 0) {
        int64_t nap = left < world->poll_s ? left : world->poll_s;
        if (cron_watch_next(world->watch, &due) && due > world->system_s &&
            due - world->system_s < nap)
            nap = due - world->system_s;
        world->system_s += nap;
        world->monotonic_s += nap;
        left -= nap;
        if (!is_within(world, err))
            return false;
        tick(world);
    }
    return true;
}

static bool step_suspend(struct world *world, struct span word,
                         struct err *err) {
    int64_t time_s = 0;

    if (!take_span(word, &time_s, err))
        return false;
    world->system_s += time_s;
    world->monotonic_s += time_s;
    return true;
}

static bool step_set(struct world *world, struct span word, struct err *err) {
    CLEANUP(text_free_string) char *text = span_string(word);
    int64_t by = 0;

    if (text[0] == '+' || text[0] == '-') {
        if (!take_span(span_of(text + 1), &by, err))
            return false;
        world->system_s += text[0] == '-' ? -by : by;
        return true;
    }
    if (!cron_instant_parse(text, &world->system_s))
        return err_set(
            err, ERR_DATA,
            "'set' takes a duration to add (+1h, -30m) or a time such "
            "as 2026-03-08T01:59:30-08:00, not '%s'",
            text);
    return true;
}

static bool step_zone(struct world *world, struct span word, struct err *err) {
    CLEANUP(text_free_string) char *name = span_string(word);
    struct cron_zone *zone;
    struct cron_err cron_err;

    if (!cron_zone_open(name, &zone, &cron_err))
        return cron_query_err_set(err, &cron_err);
    cron_zone_unref(world->zone);
    world->zone = zone;
    cron_watch_set_zone(world->watch, zone);
    return true;
}

static bool step_restart(struct world *world, struct span word,
                         struct err *err) {
    return (word.len == 0 || step_suspend(world, word, err)) &&
           reopen_watch(world, err);
}

static bool step_reboot(struct world *world, struct span word,
                        struct err *err) {
    if (word.len > 0 && !step_suspend(world, word, err))
        return false;
    world->monotonic_s = 0;
    world->boot++;
    return reopen_watch(world, err);
}

static const struct {
    const char *word;
    bool (*step)(struct world *world, struct span word, struct err *err);
} steps[] = {
    {"wait", step_wait}, {"suspend", step_suspend}, {"set", step_set},
    {"zone", step_zone}, {"restart", step_restart}, {"reboot", step_reboot},
};
enum { STEPS = sizeof(steps) / sizeof(*steps) };

static bool unknown_step(struct span word, struct err *err) {
    CLEANUP(text_free_string) char *text = span_string(word);
    const char *names[STEPS], *meant;

    for (size_t i = 0; i < STEPS; i++)
        names[i] = steps[i].word;
    meant = text_nearest(text, names, STEPS);
    if (meant != NULL)
        return err_set(err, ERR_DATA,
                       "'%.80s' is not a step; did you mean '%s'?", text,
                       meant);
    return err_set(err, ERR_DATA,
                   "'%.80s' is not a step; use wait, suspend, set, zone, "
                   "restart or reboot",
                   text);
}

static bool do_step(struct world *world, struct span part, struct err *err) {
    struct span rest = part, word;

    if (!span_cut(&rest, ' ', &word))
        word = part;
    for (size_t i = 0; i < STEPS; i++)
        if (span_is(word, steps[i].word))
            return steps[i].step(world, span_trim(rest), err) &&
                   is_within(world, err);
    return unknown_step(word, err);
}

/* "suspend 1h, set -1h": does both, then looks at the clocks. */
static bool do_line(struct world *world, struct span line, struct err *err) {
    struct span rest = line, part;
    char now[CRON_INSTANT_BYTES];

    world->step++;
    if (!call_has(world->call, "json"))
        (void)console_printf(
            "%s  %.*s\n",
            cron_instant_format(world->zone, world->system_s, now),
            (int)line.len, line.p);
    while (span_cut(&rest, ',', &part))
        if (!do_step(world, span_trim(part), err))
            return err_wrap(err, "step %" PRIu64, world->step);
    tick(world);
    return true;
}

static bool do_lines(struct world *world, struct span text, struct err *err) {
    struct span line;

    while (span_cut(&text, '\n', &line)) {
        line = span_trim(line);
        if (line.len > 0 && line.p[0] != '#' && !do_line(world, line, err))
            return false;
    }
    return true;
}

static bool do_all(struct world *world, struct err *err) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    size_t cursor = 0;
    const char *step;

    tick(world);
    if (call_has(world->call, "step")) {
        while ((step = call_next(world->call, "step", &cursor)) != NULL)
            if (!do_lines(world, span_of(step), err))
                return false;
        return true;
    }
    if (strcmp(world->call->words[0], "-") == 0)
        return err_set(
            err, ERR_USAGE,
            "standard input cannot hold both the item and the steps; "
            "give the steps with --step");
    return cron_query_input(&text, err) &&
           do_lines(world, text_span(&text), err);
}

/* ---- the command --------------------------------------------------------- */

/* A crontab line cannot specify max_shift_s, so --max-shift adds it. */
static bool add_max_shift(const struct call *call, struct cron_query *query,
                          struct err *err) {
    long long max_shift_ms = 0;

    if (!call_duration(call, "max-shift", &max_shift_ms, err))
        return false;
    for (size_t i = 0; i < query->count; i++) {
        CLEANUP(text_clear) struct text text = TEXT_INIT;
        struct cron_err cron_err;
        const char *close = strrchr(query->texts[i], '}');
        if (cron_item_max_shift_s(query->items[i]) >= 0)
            continue;
        if (!call_has(call, "max-shift"))
            return err_set(err, ERR_USAGE,
                           "the item does not set "
                           "max_shift_seconds_for_unskip_and_do_not_repeat; "
                           "set it with --max-shift");
        text_add(&text, query->texts[i], (size_t)(close - query->texts[i]));
        text_addf(&text,
                  ", \"max_shift_seconds_for_unskip_and_do_not_repeat\": "
                  "%lld}",
                  max_shift_ms / 1000);
        cron_item_unref(query->items[i]);
        query->items[i] = NULL;
        if (!cron_item_parse(text_string(&text), text.len, &query->items[i],
                             &cron_err))
            return cron_query_err_set(err, &cron_err);
    }
    return true;
}

int cmd_cron_simulate(struct call *call) {
    struct cron_query query = {0};
    struct world world = {.call = call,
                          .query = &query,
                          .poll_s = POLL_S,
                          .last = {.at = INT64_MIN}};
    struct err err = {0};
    bool ok = cron_query_item(call, &query, &err) &&
              add_max_shift(call, &query, &err) &&
              call_number(call, "poll", 1, 86400, &world.poll_s, &err) &&
              cron_query_zone(call, &world.zone, &err) &&
              cron_query_from(call, &world.system_s, &err) &&
              is_within(&world, &err) && open_watch(&world, &err) &&
              do_all(&world, &err);

    cron_watch_free(world.watch);
    cron_zone_unref(world.zone);
    cron_query_clear(&query);
    return ok ? console_finish(0) : console_error(&err);
}
