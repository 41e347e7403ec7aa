#include "cron/zone.h"

#include <stdlib.h>
#include <string.h>

#include "cron/civil.h"

static const int32_t utc_offsets[1] = {0};
const struct cron_zone zone_utc = {
    .refs = 1,
    .is_rule = true,
    .offsets = (int32_t *)(uintptr_t)utc_offsets,
    .name = (char *)(uintptr_t) "UTC",
};

/* ---- life ---------------------------------------------------------------- */

struct cron_zone *cron_zone_ref(struct cron_zone *zone) {
    if (zone != NULL)
        __atomic_add_fetch(&zone->refs, 1, __ATOMIC_RELAXED);
    return zone;
}

void cron_zone_unref(struct cron_zone *zone) {
    if (zone == NULL ||
        __atomic_sub_fetch(&zone->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    free(zone->times);
    free(zone->offsets);
    free(zone->index);
    free(zone->name);
    free(zone);
}

bool zone_set_name(struct cron_zone *zone, const char *name,
                   struct cron_err *err) {
    char *copy = strdup(name);

    if (copy == NULL)
        return fault_memory(err);
    free(zone->name);
    zone->name = copy;
    return true;
}

const char *cron_zone_name(const struct cron_zone *zone) {
    return zone->name == NULL ? "" : zone->name;
}

bool cron_zone_is_rule(const struct cron_zone *zone) {
    return zone->is_rule;
}

/* ---- stretches ----------------------------------------------------------- */

enum { INDEX_SHIFT = 23, INDEX_MOST = 8192 };

/* The number of changes up to then: the index of the stretch. */
static size_t find(const struct cron_zone *zone, int64_t at) {
    size_t low = 0, high = zone->count, span;

    if (high == 0 || at < zone->times[0])
        return 0;
    if (zone->index_count > 0) {
        span = (size_t)((uint64_t)(at - zone->times[0]) >> INDEX_SHIFT);
        if (span + 1 >= zone->index_count)
            return high;
        low = zone->index[span];
        high = zone->index[span + 1];
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zone->times[middle] <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The last span begins after the last change. Without an index, for lack of
 * memory or because the changes lie too far apart, searches are only slower. */
static void make_index(struct cron_zone *zone) {
    size_t count = zone->count, spans, change = 0;
    int64_t first;

    if (count < 8 || count > UINT32_MAX)
        return;
    first = zone->times[0];
    spans = (size_t)((zone->times[count - 1] - first) >> INDEX_SHIFT) + 2;
    if (spans > INDEX_MOST)
        return;
    zone->index = malloc(spans * sizeof(*zone->index));
    if (zone->index == NULL)
        return;
    zone->index_count = spans;
    for (size_t span = 0; span < spans; span++) {
        int64_t start = first + ((int64_t)span << INDEX_SHIFT);
        while (change < count && zone->times[change] <= start)
            change++;
        zone->index[span] = (uint32_t)change;
    }
}

static struct stretch stretch_at(const struct cron_zone *zone, size_t index,
                                 int64_t moved_s) {
    return (struct stretch){
        .start = index == 0 ? INT64_MIN : zone->times[index - 1] + moved_s,
        .end = index == zone->count ? INT64_MAX : zone->times[index] + moved_s,
        .offset_s = zone->offsets[index],
        .index = index,
        .moved_s = moved_s,
    };
}

struct stretch zone_stretch(const struct cron_zone *zone, int64_t at) {
    int64_t moved_s = 0, passed;

    at = at > CRON_ZONE_MOST    ? CRON_ZONE_MOST
         : at < -CRON_ZONE_MOST ? -CRON_ZONE_MOST
                                : at;
    if (zone->cycles) {
        passed = at - zone->cycle_start;
        if (passed >= CYCLE_S || (passed < 0 && zone->cycles_back))
            moved_s = floor_div(passed, CYCLE_S) * CYCLE_S;
    }
    return stretch_at(zone, find(zone, at - moved_s), moved_s);
}

struct stretch zone_stretch_after(const struct cron_zone *zone,
                                  const struct stretch *stretch) {
    size_t index = stretch->index + 1;

    /* The table continues for years beyond the cycle; its end is not the
     * cycle's end. */
    if (zone->cycles && (index >= zone->count ||
                         zone->times[index - 1] - zone->cycle_start >= CYCLE_S))
        return zone_stretch(zone, stretch->end);
    return stretch_at(zone, index, stretch->moved_s);
}

struct stretch zone_stretch_before(const struct cron_zone *zone,
                                   const struct stretch *stretch) {
    return zone_stretch(zone, stretch->start - 1);
}

int32_t cron_zone_offset_s(const struct cron_zone *zone, int64_t at) {
    return zone_stretch(zone, at).offset_s;
}

enum cron_found cron_zone_change(const struct cron_zone *zone, int64_t at,
                                 int64_t *ret_at, int32_t *ret_before_s,
                                 int32_t *ret_after_s, struct cron_err *err) {
    struct stretch now;

    if (at > CRON_ZONE_MOST || at < -CRON_ZONE_MOST) {
        fault_set(err, CRON_ERR_RANGE,
                  "instant %lld is too far to know the offsets of a zone",
                  (long long)at);
        return CRON_FAILED;
    }
    now = zone_stretch(zone, at);
    if (now.end == INT64_MAX)
        return CRON_NONE;
    *ret_at = now.end;
    *ret_before_s = now.offset_s;
    *ret_after_s = zone_stretch_after(zone, &now).offset_s;
    return CRON_FOUND;
}

bool zone_equal(const struct cron_zone *a, const struct cron_zone *b) {
    return a->count == b->count && a->cycles == b->cycles &&
           a->cycles_back == b->cycles_back &&
           a->cycle_start == b->cycle_start &&
           (a->count == 0 ||
            memcmp(a->times, b->times, a->count * sizeof(*a->times)) == 0) &&
           memcmp(a->offsets, b->offsets,
                  (a->count + 1) * sizeof(*a->offsets)) == 0;
}

/* ---- making one ---------------------------------------------------------- */

static bool draft_room(struct zone_draft *draft, struct cron_err *err) {
    size_t room = draft->room == 0 ? 64 : draft->room * 2;
    int64_t *times;
    int32_t *offsets;

    if (draft->count < draft->room)
        return true;
    times = realloc(draft->times, room * sizeof(*times));
    if (times == NULL)
        return fault_memory(err);
    draft->times = times;
    offsets = realloc(draft->offsets, room * sizeof(*offsets));
    if (offsets == NULL)
        return fault_memory(err);
    draft->offsets = offsets;
    draft->room = room;
    return true;
}

bool zone_draft_add(struct zone_draft *draft, int64_t at, int32_t offset_s,
                    struct cron_err *err) {
    draft->last = at;
    draft->any = true;
    /* Of two changes at the same time the last one counts. */
    if (draft->count > 0 && draft->times[draft->count - 1] == at)
        draft->count--;
    if (offset_s ==
        (draft->count == 0 ? draft->first_s : draft->offsets[draft->count - 1]))
        return true;
    if (!draft_room(draft, err))
        return false;
    draft->times[draft->count] = at;
    draft->offsets[draft->count++] = offset_s;
    return true;
}

void zone_draft_clear(struct zone_draft *draft) {
    free(draft->times);
    free(draft->offsets);
    *draft = (struct zone_draft){0};
}

/* The table holds this many years on both sides of the cycle: each stretch
 * near the seam has its neighbours, and they come from the rule. */
enum { MARGIN_YEARS = 10 };

struct summer {
    int64_t start, end;
};

static bool draft_summer(struct zone_draft *draft, const struct tz_rule *rule,
                         struct summer summer, int64_t after,
                         struct cron_err *err) {
    return (summer.start <= after ||
            zone_draft_add(draft, summer.start, rule->summer_s, err)) &&
           (summer.end <= after ||
            zone_draft_add(draft, summer.end, rule->standard_s, err));
}

static bool is_southern(const struct tz_rule *rule, int32_t year) {
    return tz_rule_start(rule, year) > tz_rule_end(rule, year);
}

/* Writes out the rule: all its changes after `after`. South of the equator a
 * summer ends in the following year. Summers that meet or overlap are one. */
static bool draft_rule(struct zone_draft *draft, const struct tz_rule *rule,
                       int64_t after, int32_t year, struct cron_err *err) {
    int32_t last = year + CYCLE_YEARS + 2 * MARGIN_YEARS;
    int32_t later = is_southern(rule, year);
    struct summer now = {INT64_MIN, INT64_MIN};

    for (year -= later; year <= last; year++) {
        struct summer next = {tz_rule_start(rule, year),
                              tz_rule_end(rule, year + later)};
        if (next.start >= next.end)
            continue;
        if (next.start <= now.end) {
            now.end = next.end > now.end ? next.end : now.end;
            continue;
        }
        if (!draft_summer(draft, rule, now, after, err))
            return false;
        now = next;
    }
    return draft_summer(draft, rule, now, after, err);
}

static int32_t year_of(int64_t at) {
    int64_t day = floor_div(at, DAY_S);

    /* If the table's last change lies in another age, the rule would begin
     * there; no real zone has such a change. */
    day = day < -4000000 ? -4000000 : day > 4000000 ? 4000000 : day;
    return civil_of_day((int32_t)day).year;
}

/* Summer all year round: the rule has changes, but they meet. The table then
 * ends in a change that never comes. */
static bool drop_still_cycle(struct zone_draft *draft, int64_t cycle_start,
                             bool always) {
    size_t kept = 0;

    while (kept < draft->count && draft->times[kept] < cycle_start)
        kept++;
    if (kept < draft->count && draft->times[kept] - cycle_start < CYCLE_S)
        return false;
    if (always && kept > 0)
        draft->first_s = draft->offsets[kept - 1];
    draft->count = always ? 0 : kept;
    return true;
}

static bool draft_future(struct zone_draft *draft, const struct tz_rule *rule,
                         struct cron_zone *zone, struct cron_err *err) {
    bool always = !draft->any;
    int64_t last = always ? INT64_MIN : draft->last;
    int32_t year = always ? YEAR_LEAST : year_of(last) - 1;

    if (!rule->has_summer) {
        if (always)
            draft->first_s = rule->standard_s;
        return always || zone_draft_add(draft, last, rule->standard_s, err);
    }
    if (always)
        draft->first_s = rule->standard_s;
    /* The rule is written out from the last change on, for 400 years; from
     * there, the calendar of civil.h would not reach. */
    if (last > CRON_NEWEST)
        return fault_set(err, CRON_ERR_ZONE,
                         "a change after the year 10000 is not supported");
    zone->cycle_start =
        (int64_t)day_of_civil(year + MARGIN_YEARS, 1, 1) * DAY_S;
    if (!draft_rule(draft, rule, last, year, err))
        return false;
    zone->cycles = !drop_still_cycle(draft, zone->cycle_start, always);
    zone->cycles_back = zone->cycles && always;
    return true;
}

static void measure(struct cron_zone *zone) {
    zone->least_s = zone->most_s = zone->offsets[0];
    for (size_t i = 1; i <= zone->count; i++) {
        if (zone->offsets[i] < zone->least_s)
            zone->least_s = zone->offsets[i];
        if (zone->offsets[i] > zone->most_s)
            zone->most_s = zone->offsets[i];
    }
    zone->span_s = zone->most_s - zone->least_s;
}

bool zone_make(struct zone_draft *draft, const struct tz_rule *rule,
               struct cron_zone **ret_zone, struct cron_err *err) {
    struct cron_zone *zone = calloc(1, sizeof(*zone));
    bool ok = zone != NULL || fault_memory(err);

    ok = ok && (rule == NULL || draft_future(draft, rule, zone, err));
    if (ok) {
        zone->offsets = malloc((draft->count + 1) * sizeof(*zone->offsets));
        ok = zone->offsets != NULL || fault_memory(err);
    }
    if (!ok) {
        free(zone);
        zone_draft_clear(draft);
        return false;
    }
    zone->refs = 1;
    zone->offsets[0] = draft->first_s;
    if (draft->count > 0)
        memcpy(zone->offsets + 1, draft->offsets,
               draft->count * sizeof(*zone->offsets));
    zone->count = draft->count;
    zone->times = draft->times;
    draft->times = NULL;
    zone_draft_clear(draft);
    measure(zone);
    make_index(zone);
    *ret_zone = zone;
    return true;
}

/* ---- zones without files ------------------------------------------------- */

static bool two_digits(const char **p, int32_t *ret_value) {
    const char *c = *p;

    if (c[0] < '0' || c[0] > '9' || c[1] < '0' || c[1] > '9')
        return false;
    *ret_value = (c[0] - '0') * 10 + (c[1] - '0');
    *p += 2;
    return true;
}

bool zone_offset_parse(const char *text, int32_t *ret_offset_s) {
    int32_t h, m = 0, s = 0;
    const char *p = text + 1;

    if (strcmp(text, "Z") == 0 || strcmp(text, "z") == 0) {
        *ret_offset_s = 0;
        return true;
    }
    if ((text[0] != '+' && text[0] != '-') || !two_digits(&p, &h))
        return false;
    if (*p != '\0') {
        p += *p == ':';
        if (!two_digits(&p, &m))
            return false;
    }
    if (*p != '\0') {
        p += *p == ':';
        if (!two_digits(&p, &s) || *p != '\0')
            return false;
    }
    if (h > 24 || m > 59 || s > 59)
        return false;
    s += h * 3600 + m * 60;
    *ret_offset_s = text[0] == '-' ? -s : s;
    return true;
}

bool cron_zone_parse(const char *text, struct cron_zone **ret_zone,
                     struct cron_err *err) {
    struct zone_draft draft = {0};
    struct tz_rule rule = {0};
    struct cron_zone *zone;

    if (!zone_offset_parse(text, &rule.standard_s) &&
        !tz_rule_parse(text, strlen(text), &rule, err))
        return false;
    if (!zone_make(&draft, &rule, &zone, err))
        return false;
    zone->is_rule = true;
    if (!zone_set_name(zone, text, err)) {
        cron_zone_unref(zone);
        return false;
    }
    *ret_zone = zone;
    return true;
}
