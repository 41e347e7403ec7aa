#include "schedules/schedule_rule.h"

static bool find_shift(const struct schedule_spec *spec,
                       struct schedule_rule *rule, struct err *err) {
    rule->max_shift_s = spec->max_shift_s;
    if (rule->max_shift_s < 0)
        rule->max_shift_s = rule->repeat.max_shift_s;
    if (rule->max_shift_s < 0 && rule->repeat.is_crontab)
        rule->max_shift_s = CRONTAB_MAX_SHIFT_S;
    if (rule->max_shift_s >= 0)
        return true;
    struct span item = span_trim(spec->item);
    return err_set(
        err, ERR_DATA,
        "the item of a schedule must say how many seconds late it may fire; "
        "write {\"max_shift_seconds_for_unskip_and_do_not_repeat\": 3600, %.*s",
        (int)(item.len > 200 ? 0 : item.len - 1), item.p + 1);
}

static bool open_zone(const struct schedule_spec *spec,
                      struct cron_zones *zones, struct cron_zone **ret_zone,
                      struct err *err) {
    CLEANUP(text_free_string) char *name = span_string(spec->zone);
    struct cron_err cron_err;
    bool ok = zones ? cron_zones_find(zones, name, ret_zone, &cron_err)
                    : cron_zone_open(name, ret_zone, &cron_err);
    return ok || err_set(err, ERR_DATA, "%s", cron_err.text);
}

static int64_t hashed(const struct schedule_spec *spec, struct span name,
                      uint64_t seed, const struct schedule_rule *rule) {
    CLEANUP(text_free_string) char *string = span_string(name);
    int64_t span_s = spec->offset_s;
    if (span_s == 0) {
        int64_t gap_s = repeat_gap_s(&rule->repeat, rule->zone);
        span_s = gap_s == 0 || gap_s > HASH_SPAN_S ? HASH_SPAN_S : gap_s;
    }
    return cron_stable_offset(string, seed, (uint32_t)span_s);
}

bool schedule_rule_make(const struct schedule_spec *spec, struct span name,
                        uint64_t seed, struct cron_zones *zones,
                        struct schedule_rule *ret_rule, struct err *err) {
    CLEANUP(text_free_string) char *string = span_string(name);
    *ret_rule = (struct schedule_rule){
        .overlap = spec->overlap,
        .missed = spec->missed,
        .jitter_s = spec->jitter_s,
        .deadline_s = spec->deadline_s,
        .seed = seed,
    };
    if (!repeat_parse(&ret_rule->repeat, spec->item, string, err))
        return false;
    if (!find_shift(spec, ret_rule, err) ||
        !open_zone(spec, zones, &ret_rule->zone, err)) {
        schedule_rule_clear(ret_rule);
        return false;
    }
    ret_rule->offset_s =
        spec->hash ? hashed(spec, name, seed, ret_rule) : spec->offset_s;
    return true;
}

void schedule_rule_clear(struct schedule_rule *rule) {
    repeat_clear(&rule->repeat);
    cron_zone_unref(rule->zone);
    rule->zone = NULL;
}

bool schedule_fires_alike(const struct schedule_spec *a,
                          const struct schedule_spec *b) {
    return span_equal(a->item, b->item) && span_equal(a->zone, b->zone);
}

void schedule_begin(const struct schedule_spec *spec, struct cron_zones *zones,
                    int64_t at_s, int64_t *ret_high_s, int32_t *ret_offset_s) {
    struct cron_zone *zone = NULL;
    *ret_high_s = at_s;
    *ret_offset_s = open_zone(spec, zones, &zone, NULL)
                        ? cron_zone_offset_s(zone, at_s)
                        : 0;
    cron_zone_unref(zone);
}

bool schedule_rule_next(const struct schedule_rule *rule, int64_t now_s,
                        int64_t handled_s, int64_t *ret_due_s) {
    int64_t at, from = now_s - rule->offset_s - rule->jitter_s;
    if (handled_s > from && handled_s - now_s <= rule->max_shift_s)
        from = handled_s;
    while (repeat_next(&rule->repeat, rule->zone, from + 1, &at)) {
        *ret_due_s = schedule_due(rule, at);
        if (*ret_due_s > now_s)
            return true;
        from = at;
    }
    return false;
}

/* ---- text ---------------------------------------------------------------- */

char *schedule_instant_text(struct arena *arena, int64_t at) {
    char text[CRON_INSTANT_BYTES];
    struct span written = span_of(cron_instant_format(NULL, at, text));
    if (span_ends(written, "+00:00")) {
        text[written.len - 6] = 'Z';
        text[written.len - 5] = '\0';
    }
    return arena_string(arena, span_of(text));
}

char *schedule_firing_id(struct arena *arena, struct span name, int64_t at,
                         unsigned round) {
    char *bare = schedule_instant_text(arena, at);
    size_t len = 0;
    for (const char *c = bare; *c != '\0'; c++)
        if (*c != '-' && *c != ':')
            bare[len++] = *c;
    if (round == 0)
        return arena_printf(arena, "%.*s.%.*s", (int)name.len, name.p, (int)len,
                            bare);
    return arena_printf(arena, "%.*s.%.*s.r%u", (int)name.len, name.p, (int)len,
                        bare, round);
}
