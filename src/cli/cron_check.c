#include "cli/cron_check.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

enum {
    YEAR_S = 31556952,
    LOOK_YEARS = 2, /* for changes of the clock */
    FAR_YEARS = 5,
    EVENTS = 1000, /* looked at for bursts */
    BURST_LEAST = 10
};

struct check {
    const struct cron_query *query;
    const struct cron_zone *zone;
    int64_t from;
    cron_finding *finding;
    void *ctx;
    bool well;
};

static void find(struct check *check, const char *name, bool bad,
                 const char *format, ...) PRINTF_LIKE(4, 5);

static void find(struct check *check, const char *name, bool bad,
                 const char *format, ...) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    va_list args;

    va_start(args, format);
    text_addv(&text, format, args);
    va_end(args);
    check->well &= !bad;
    check->finding(check->ctx, name, bad, text_string(&text));
}

/* ---- the zone ------------------------------------------------------------ */

/* The name by which the zone was requested; the system's zone may be a rule
 * in $TZ. */
static const char *query_name(const struct check *check) {
    const char *name = cron_zone_name(check->zone), *system = getenv("TZ");

    return name[0] == '\0' && system != NULL ? system : name;
}

/* "MST-07" is seven hours east, which may surprise; "Etc/GMT-7" is a file
 * with the same meaning. */
static void check_zone(struct check *check) {
    const char *name = query_name(check), *word = name;
    int32_t offset = cron_zone_offset_s(check->zone, check->from);
    size_t letters = 0;

    if (strncmp(word, "Etc/", 4) == 0)
        word += 4;
    else if (!cron_zone_is_rule(check->zone))
        return;
    while (isalpha((unsigned char)word[letters]))
        letters++;
    find(check, "zone", false, "zone '%s' has the offset %c%02d:%02d then",
         name, offset < 0 ? '-' : '+', (offset < 0 ? -offset : offset) / 3600,
         (offset < 0 ? -offset : offset) / 60 % 60);
    if (letters < 3 || offset == 0 ||
        (word[letters] != '-' && word[letters] != '+'))
        return;
    find(check, "zone-sign", true,
         "in a POSIX TZ string the sign counts westwards: '%s' is %s of "
         "Greenwich; write %c%02d:%02d if the opposite was meant",
         name, offset > 0 ? "east" : "west", offset > 0 ? '-' : '+',
         (offset < 0 ? -offset : offset) / 3600,
         (offset < 0 ? -offset : offset) / 60 % 60);
}

/* ---- changes of the clock ------------------------------------------------ */

/* In UTC labels are instants, so labels can be counted there. */
static uint64_t labels_between(const struct check *check, int64_t from,
                               int64_t until) {
    uint64_t count = 0, one;

    for (size_t i = 0; i < check->query->count; i++)
        if (cron_item_is_timezone_dependent(check->query->items[i]) &&
            cron_count(check->query->items[i], NULL, from, until, &one, NULL))
            count += one;
    return count;
}

static bool fires_at(const struct check *check, int64_t at) {
    for (size_t i = 0; i < check->query->count; i++)
        if (cron_matches(check->query->items[i], check->zone, at))
            return true;
    return false;
}

static void check_jump(struct check *check, int64_t at, int32_t before,
                       int32_t after) {
    uint64_t lost = labels_between(check, at + before, at + after);
    char text[CRON_INSTANT_BYTES], then[CRON_INSTANT_BYTES];

    if (lost == 0)
        return;
    cron_instant_format(check->zone, at, text);
    if (fires_at(check, at - 1))
        find(check, "gap", false,
             "%" PRIu64 " run%s in the time the clock skips at %s: fires once "
             "in the second before, %s",
             lost, lost == 1 ? "" : "s", text,
             cron_instant_format(check->zone, at - 1, then));
    else
        find(check, "gap", lost == 1,
             "%" PRIu64 " run%s in the time the clock skips at %s: skipped%s",
             lost, lost == 1 ? "" : "s", text,
             lost == 1 ? "; 'unskip' would fire just before" : "");
}

static void check_repeat(struct check *check, int64_t at, int32_t before,
                         int32_t after) {
    uint64_t twice = labels_between(check, at + after, at + before), fired = 0;
    char text[CRON_INSTANT_BYTES];

    if (twice == 0)
        return;
    for (size_t i = 0; i < check->query->count; i++) {
        uint64_t one;
        if (cron_count(check->query->items[i], check->zone,
                       at - (before - after), at + (before - after), &one,
                       NULL))
            fired += one;
    }
    find(check, "repeat", fired > twice && twice == 1,
         "the clock is turned back at %s: %" PRIu64
         " run%s occur%s twice; fires %" PRIu64 " time%s",
         cron_instant_format(check->zone, at, text), twice,
         twice == 1 ? "" : "s", twice == 1 ? "s" : "", fired,
         fired == 1 ? "" : "s");
}

static void check_changes(struct check *check) {
    int64_t at = check->from, end = check->from + LOOK_YEARS * YEAR_S;
    int32_t before, after;

    while (cron_zone_change(check->zone, at, &at, &before, &after) &&
           at < end) {
        if (after > before)
            check_jump(check, at, before, after);
        else
            check_repeat(check, at, before, after);
    }
}

/* ---- events -------------------------------------------------------------- */

/* Many runs in a row, then a long silence: `* 3 * * *` instead of the
 * intended `0 3 * * *`. */
static void check_bursts(struct check *check, int64_t first) {
    int64_t last = first, at, gap = 0;
    uint64_t run = 1;

    for (int i = 0; i < EVENTS; i++) {
        if (cron_query_next(check->query, check->zone, last + 1, &at, NULL) !=
            CRON_FOUND)
            return;
        if (run >= BURST_LEAST && at - last >= 10 * gap) {
            find(check, "burst", gap <= 60,
                 "fires %" PRIu64 " times in a row, %" PRId64
                 " s apart, then not for %" PRId64 " s",
                 run, gap, at - last);
            return;
        }
        if (at - last != gap)
            run = 1;
        gap = at - last;
        last = at;
        run++;
    }
}

static bool check_events(struct check *check, struct err *err) {
    char text[CRON_INSTANT_BYTES];
    int64_t at;
    enum cron_found found =
        cron_query_next(check->query, check->zone, check->from, &at, err);

    if (found == CRON_FAILED)
        return false;
    if (found == CRON_NONE) {
        find(check, "never", true, "never fires after %s",
             cron_instant_format(check->zone, check->from, text));
        return true;
    }
    cron_instant_format(check->zone, at, text);
    if (at - check->from > FAR_YEARS * (int64_t)YEAR_S)
        find(check, "far", true, "first fires at %s, in more than %d years",
             text, FAR_YEARS);
    check_bursts(check, at);
    return true;
}

bool cron_check(const struct cron_query *query, const struct cron_zone *zone,
                int64_t from, cron_finding *finding, void *ctx, bool *ret_well,
                struct err *err) {
    struct check check = {query, zone, from, finding, ctx, true};

    check_zone(&check);
    if (!check_events(&check, err))
        return false;
    check_changes(&check);
    *ret_well = check.well;
    return true;
}
