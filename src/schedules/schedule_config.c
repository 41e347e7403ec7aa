#include "schedules/schedule_config.h"

#include "lib/json.h"
#include "lib/log.h"
#include "os/account.h"
#include "os/clock.h"
#include "schedules/schedule_rule.h"
#include "schedules/schedule_row.h"

enum { PAGE = 500 };

/* ---- the section --------------------------------------------------------- */

static const struct config_key keys[] = {
#define CONFIG_KEY(...) CONFIG_ROW(struct config_schedule, __VA_ARGS__),
#include "schedules/config_schedule.def"
};

static bool check_label(struct span label, const struct config_spot *spot) {
    struct err why = {0};
    return schedule_name_check(label, &why) ||
           config_refuse(spot, "%s", why.text);
}

static bool finish(const struct config *config, const void *section,
                   struct err *err) {
    const struct config_schedule *schedule = section;
    (void)config;
    struct config_spot spot = {schedule->origin.file, schedule->origin.line,
                               err};
    const char *lacks = schedule->item.len == 0    ? "item"
                        : schedule->run.count == 0 ? "run"
                                                   : NULL;
    return lacks == NULL ||
           config_refuse(&spot, "schedule '%.*s' has no '%s'",
                         (int)schedule->name.len, schedule->name.p, lacks);
}

const struct config_section schedule_section = {
    .name = "schedule",
    .keys = keys,
    .key_count = COUNT(keys),
    .bytes = sizeof(struct config_schedule),
    .check_label = check_label,
    .origin_at = offsetof(struct config_schedule, origin),
    .finish = finish,
};

const struct config_schedule *schedule_config_at(const struct config *config,
                                                 size_t index) {
    return config_added(config, &schedule_section, index);
}

const struct config_schedule *schedule_config_find(const struct config *config,
                                                   struct span name) {
    return config_added_find(config, &schedule_section, name);
}

bool schedule_config_refuse(const struct base *base, struct span name,
                            const char *what, struct err *err) {
    const struct config_schedule *schedule =
        base != NULL ? schedule_config_find(&base->config, name) : NULL;
    if (schedule != NULL)
        return err_set(err, ERR_REFUSED,
                       "schedule '%.*s' is %s in %s:%u; change it there",
                       (int)name.len, name.p, what, schedule->origin.file,
                       schedule->origin.line);
    return err_set(err, ERR_REFUSED,
                   "schedule '%.*s' is %s in pointsman.conf or conf.d/; change "
                   "it there",
                   (int)name.len, name.p, what);
}

/* ---- one schedule -------------------------------------------------------- */

static void key_number(struct json *json, const char *key, int64_t value) {
    if (value <= 0)
        return;
    json_key(json, key);
    json_i64(json, value);
}

static bool is_absolute(struct span dir) {
    return dir.len > 0 && dir.p[0] == '/';
}

static void job_json(struct json *json,
                     const struct config_schedule *schedule) {
    json_key(json, "job");
    json_object(json);
    json_key(json, "command");
    json_array(json);
    for (size_t i = 0; i < schedule->run.count; i++)
        json_string(json, schedule->run.words[i]);
    json_end(json);
    if (is_absolute(schedule->dir))
        json_put_text(json, "dir", schedule->dir);
    json_put_text(json, "class", schedule->class);
    key_number(json, "retries", schedule->retries);
    key_number(json, "timeout", schedule->timeout_s);
    json_put_text(json, "user", schedule->user);
    if (config_is_yes(schedule->at_most_once)) {
        json_key(json, "at_most_once");
        json_bool(json, true);
    }
    json_end(json);
}

/* The words are those of `cron add`, and the same parser reads them. */
static void schedule_json(const struct config_schedule *schedule,
                          struct text *out) {
    struct json json;
    json_open(&json, out);
    json_object(&json);
    json_put_text(&json, "item", schedule->item);
    json_put_text(&json, "zone", schedule->zone);
    json_key(&json, "overlap");
    json_string(
        &json, schedule_overlap_word((enum schedule_overlap)schedule->overlap));
    json_key(&json, "missed");
    json_string(&json,
                schedule_missed_word((enum schedule_missed)schedule->missed));
    json_put_text(&json, "max_shift", schedule->max_shift);
    json_put_text(&json, "offset", schedule->offset);
    key_number(&json, "jitter", schedule->jitter_s);
    key_number(&json, "deadline", schedule->deadline_s);
    json_key(&json, "paused");
    json_bool(&json, config_is_yes(schedule->paused));
    if (!is_absolute(schedule->dir))
        json_put_text(&json, "dir",
                      schedule->dir.len > 0 ? schedule->dir : SPAN("."));
    job_json(&json, schedule);
    json_end(&json);
}

/* "FILE:LINE: schedule 'NAME'", the line of the key, or of the section. */
static bool refuse(const struct config_schedule *schedule,
                   struct config_origin key, struct err *err) {
    struct config_spot spot = config_spot_of(key, schedule->origin, err);
    if (err)
        err->kind = ERR_CONFIG;
    return err_wrap(err, "%s:%u: schedule '%.*s'", spot.file, spot.line,
                    (int)schedule->name.len, schedule->name.p);
}

/* Reports the line of the file and no position within the item. */
static bool check_item(const struct config_schedule *schedule,
                       struct arena *arena, struct err *err) {
    struct cron_err why;
    struct repeat repeat;
    if (!repeat_parse_fault(&repeat, schedule->item,
                            arena_string(arena, schedule->name), &why)) {
        err_set(err, ERR_CONFIG, "%s", why.text + why.sentence_at);
        return refuse(schedule, schedule->item_origin, err);
    }
    repeat_clear(&repeat);
    return true;
}

bool schedule_config_read(const struct config_schedule *schedule,
                          struct cron_zones *zones, struct arena *arena,
                          struct schedule_spec *ret_spec, struct err *err) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct schedule_rule rule;
    if (!check_item(schedule, arena, err))
        return false;
    schedule_json(schedule, &text);
    if (!schedule_spec_parse(arena_span(arena, text_span(&text)), arena,
                             ret_spec, err) ||
        !schedule_rule_make(ret_spec, schedule->name, 0, zones, &rule, err))
        return refuse(schedule, schedule->origin, err);
    schedule_rule_clear(&rule);
    return true;
}

bool schedule_config_check(const struct base *base, struct err *err) {
    struct cron_zones *zones = cron_zones_new(0);
    const struct config_schedule *schedule;
    bool ok = true;
    for (size_t i = 0;
         ok && (schedule = schedule_config_at(&base->config, i)) != NULL; i++) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct schedule_spec spec;
        struct account account;
        struct err why = {0};
        ok = schedule_config_read(schedule, zones, &arena, &spec, err);
        if (ok && schedule->user.len > 0 &&
            !account_find(schedule->user, &arena, &account, &why))
            ok = err_set(err, ERR_CONFIG, "%s:%u: user of schedule '%.*s': %s",
                         schedule->user_origin.file, schedule->user_origin.line,
                         (int)schedule->name.len, schedule->name.p, why.text);
    }
    cron_zones_free(zones);
    return ok;
}

/* ---- into the registry --------------------------------------------------- */

static struct schedule_row row_of(const struct base *base,
                                  const struct config_schedule *schedule,
                                  const struct schedule_spec *spec,
                                  struct cron_zones *zones, struct wall now,
                                  struct arena *arena) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct schedule_row row = {
        .name = schedule->name,
        .origin = SPAN(SCHEDULE_OF_CONFIG),
        .uid = base->uid,
        .seed = clock_seed(),
    };
    schedule_spec_format(spec, &text);
    row.spec = arena_span(arena, text_span(&text));
    schedule_begin(spec, zones, wall_s(now), &row.high_s, &row.offset_s);
    return row;
}

/* A new pattern starts now; otherwise the schedule continues from its place. */
static enum schedule_mode mode_of(const struct schedule_row *old,
                                  const struct schedule_spec *spec,
                                  struct arena *arena) {
    struct schedule_spec before;
    if (!schedule_spec_parse(old->spec, arena, &before, NULL) ||
        !schedule_fires_alike(&before, spec))
        return SCHEDULE_RENEW;
    return SCHEDULE_REPLACE;
}

static bool put_one(struct base *base, struct store_batch *batch,
                    const struct config_schedule *schedule,
                    struct cron_zones *zones, struct wall now,
                    struct err *err) {
    struct arena *arena = store_batch_arena(batch);
    enum schedule_mode mode = SCHEDULE_ADD;
    struct schedule_row old, row;
    struct schedule_spec spec;
    bool found;
    if (!schedule_config_read(schedule, zones, arena, &spec, err) ||
        !schedule_row_find(base->store, schedule->name, arena, &old, &found,
                           err))
        return false;
    row = row_of(base, schedule, &spec, zones, now, arena);
    if (found && !span_is(old.origin, SCHEDULE_OF_CONFIG)) {
        log_error(
            "schedule '%.*s' of %s:%u is ignored: %.*s has added a schedule of "
            "that name; remove it with `pointsman cron remove %.*s`",
            (int)row.name.len, row.name.p, schedule->origin.file,
            schedule->origin.line, (int)old.origin.len, old.origin.p,
            (int)row.name.len, row.name.p);
        return true;
    }
    if (found && span_equal(old.spec, row.spec) && old.uid == row.uid)
        return true;
    if (found)
        mode = mode_of(&old, &spec, arena);
    schedule_row_set(batch, &row, mode);
    return true;
}

static bool remove_others(struct base *base, struct store_batch *batch,
                          struct err *err) {
    struct arena *kept = store_batch_arena(batch);
    struct span after = SPAN("");
    size_t count = PAGE;
    while (count == PAGE) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct schedule_row *rows;
        if (!schedule_row_list(base->store, after, PAGE, &arena, &rows, &count,
                               err))
            return false;
        for (size_t i = 0; i < count; i++)
            if (span_is(rows[i].origin, SCHEDULE_OF_CONFIG) &&
                schedule_config_find(&base->config, rows[i].name) == NULL)
                schedule_row_remove(batch, rows[i].name);
        if (count > 0)
            after = arena_span(kept, rows[count - 1].name);
    }
    return true;
}

bool schedule_config_store(struct base *base, struct wall now,
                           struct err *err) {
    struct store_batch *batch = store_batch_new(base->store);
    struct cron_zones *zones = cron_zones_new(0);
    const struct config_schedule *schedule;
    bool ok = true;
    store_batch_actor(batch, now, SPAN(SCHEDULE_OF_CONFIG));
    for (size_t i = 0;
         ok && (schedule = schedule_config_at(&base->config, i)) != NULL; i++)
        ok = put_one(base, batch, schedule, zones, now, err);
    cron_zones_free(zones);
    ok = ok && remove_others(base, batch, err);
    if (ok && store_batch_count(batch) > 0)
        ok = store_write(batch, err);
    store_batch_free(batch);
    return ok;
}
