/* Schedules: lists them and acts on one of them. */
#include "schedules/schedule_request.h"

#include "core/reason.h"
#include "api/api_call.h"
#include "os/clock.h"
#include "commands/command_admit.h"
#include "schedules/schedule_config.h"
#include "schedules/schedule_dir.h"
#include "schedules/schedule_rule.h"
#include "schedules/schedule_row.h"
#include "wire/words.h"

enum { STRIP = 10 /* number of its newest jobs shown */ };

/* ---- one schedule as JSON ------------------------------------------------ */

static void key_instant(struct api_call *call, struct json *json,
                        const char *key, const struct cron_zone *zone,
                        int64_t at) {
    char text[CRON_INSTANT_BYTES];

    json_key(json, key);
    json_string(json, zone == NULL ? schedule_instant_text(&call->arena, at)
                                   : cron_instant_format(zone, at, text));
}

static void key_command(struct json *json, const struct submission *job) {
    CLEANUP(text_clear) struct text line = TEXT_INIT;

    for (size_t i = 0; i < job->command.count; i++) {
        if (i > 0)
            text_addc(&line, ' ');
        word_quote(job->command.items[i], &line);
    }
    json_key(json, "what");
    json_span(json, text_span(&line));
}

/* Its newest jobs, when the last one was made, and "DDF": a letter for the
 * state of each, the newest last. */
static void key_strip(struct api_call *call, struct json *json,
                      const struct schedule_row *row,
                      const struct cron_zone *zone) {
    struct wall last = {0};
    size_t from = row->recent_count > STRIP ? row->recent_count - STRIP : 0;
    char strip[STRIP + 1];
    size_t len = 0;

    json_key(json, "jobs");
    json_array(json);
    for (size_t i = from; i < row->recent_count; i++) {
        struct job job;
        if (!store_job(call->api->options.store, row->recent[i], &call->arena,
                       &job, NULL))
            continue;
        strip[len++] = job_state_letter(job.state);
        last = job.admitted;
        json_object(json);
        json_key(json, "id");
        json_span(json, job.id);
        json_key(json, "state");
        json_string(json, job_state_word(job.state));
        json_end(json);
    }
    json_end(json);
    if (len > 0) {
        key_instant(call, json, "last_at", NULL, wall_s(last));
        key_instant(call, json, "last_local", zone, wall_s(last));
    }
    json_key(json, "last");
    json_span(json, span_make(strip, len));
}

static void spec_json(struct api_call *call, struct json *json,
                      const struct schedule_spec *spec,
                      const struct schedule_rule *rule) {
    CLEANUP(text_clear) struct text offset = TEXT_INIT, job = TEXT_INIT;

    json_key(json, "item");
    json_span(json, spec->item);
    json_key(json, "zone");
    json_span(json, spec->zone);
    key_command(json, &spec->job);
    json_key(json, "overlap");
    json_string(json, schedule_overlap_word(spec->overlap));
    json_key(json, "missed");
    json_string(json, schedule_missed_word(spec->missed));
    json_key(json, "max_shift_s");
    json_i64(json, rule->max_shift_s);
    schedule_offset_format(spec, &offset);
    json_key(json, "offset");
    json_span(json, arena_span(&call->arena, text_span(&offset)));
    json_key(json, "offset_s");
    json_i64(json, rule->offset_s);
    json_key(json, "jitter_s");
    json_i64(json, spec->jitter_s);
    json_key(json, "deadline_s");
    json_i64(json, spec->deadline_s);
    json_key(json, "import");
    json_span(json, spec->import);
    submission_format(&spec->job, &job);
    json_key(json, "job");
    json_raw(json, text_span(&job));
}

static void resolve_dir(const struct api_call *call, struct schedule_spec *spec,
                        struct arena *arena) {
    const struct base *base = call->api->options.base;

    if (base != NULL)
        schedule_dir_resolve(spec, base->path, arena);
}

static void next_json(struct api_call *call, struct json *json,
                      const struct schedule_rule *rule, bool rests,
                      int64_t handled_s) {
    int64_t due;
    bool comes =
        !rests &&
        schedule_rule_next(rule, wall_s(api_now(call)), handled_s, &due);

    if (comes) {
        key_instant(call, json, "next", NULL, due);
        key_instant(call, json, "next_local", rule->zone, due);
        return;
    }
    json_key(json, "next");
    json_null(json);
    json_key(json, "next_local");
    json_null(json);
}

struct listing {
    struct text after;
    struct cron_zones *zones; /* each is read once */
    struct span import;       /* only the names of those from it; else NULL */
    bool is_restored;         /* the base, so nothing fires yet */
};

/* Whether `cron import` made it from that crontab; a line with its name. */
static void row_name(struct api_call *call, const struct schedule_row *row) {
    const struct listing *listing = call->state;
    struct json_value import;
    struct span word;
    struct json json;

    if (!json_find(row->spec, "import", &import) ||
        !json_get_string(import, &call->arena, &word) ||
        !span_equal(word, listing->import))
        return;
    json_open(&json, &call->out);
    json_object(&json);
    json_key(&json, "name");
    json_span(&json, row->name);
    json_end(&json);
    text_addc(&call->out, '\n');
}

static void row_json(struct api_call *call, const struct schedule_row *row) {
    struct listing *listing = call->state;
    struct schedule_spec spec;
    struct schedule_rule rule = {0};
    struct err err = {0};
    struct json json;

    json_open(&json, &call->out);
    json_object(&json);
    json_key(&json, "name");
    json_span(&json, row->name);
    if (schedule_spec_parse(row->spec, &call->arena, &spec, &err) &&
        schedule_rule_make(&spec, row->name, row->seed, listing->zones, &rule,
                           &err)) {
        next_json(call, &json, &rule,
                  row->paused || spec.paused || listing->is_restored,
                  row->high_s);
        resolve_dir(call, &spec, &call->arena);
        spec_json(call, &json, &spec, &rule);
    } else {
        json_key(&json, "error");
        json_string(&json, err.text);
    }
    json_key(&json, "paused");
    json_bool(&json, row->paused || spec.paused);
    json_key(&json, "restored");
    json_bool(&json, listing->is_restored);
    json_key(&json, "from");
    json_span(&json, row->origin);
    json_key(&json, "uid");
    json_i64(&json, row->uid);
    key_instant(call, &json, "handled_until", NULL, row->high_s);
    json_key(&json, "round");
    json_i64(&json, row->round);
    json_key(&json, "fired");
    json_i64(&json, (int64_t)row->fired);
    json_key(&json, "left_out");
    json_i64(&json, (int64_t)row->missed);
    key_strip(call, &json, row, rule.zone);
    schedule_rule_clear(&rule);
    json_end(&json);
    text_addc(&call->out, '\n');
}

/* ---- the list ------------------------------------------------------------ */

static void listing_clear(struct api_call *call) {
    struct listing *listing = call->state;

    text_clear(&listing->after);
    cron_zones_free(listing->zones);
}

static void listing_work(struct api_call *call) {
    struct listing *listing = call->state;

    while (call->out.len < API_OUT_BYTES && !call->ended) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct schedule_row *rows;
        struct err err = {0};
        size_t count;
        if (!schedule_row_list(call->api->options.store,
                               text_span(&listing->after), API_PAGE, &arena,
                               &rows, &count, &err)) {
            api_fail(call, &err);
            return;
        }
        for (size_t i = 0; i < count; i++)
            (listing->import.p == NULL ? row_json : row_name)(call, &rows[i]);
        if (count < API_PAGE) {
            api_end(call);
            return;
        }
        text_reset(&listing->after);
        text_addspan(&listing->after, rows[count - 1].name);
    }
}

static bool is_kept(struct api_call *call, struct span name) {
    struct schedule_row row;
    bool found;

    return schedule_row_find(call->api->options.store, name, &call->arena, &row,
                             &found, NULL) &&
           found;
}

/* Adds schedules of a file that no role "clock" has read yet. */
static void list_unkept(struct api_call *call) {
    const struct base *base = call->api->options.base;
    const struct listing *listing = call->state;
    const struct config_schedule *schedule;

    for (size_t i = 0;
         base != NULL &&
         (schedule = schedule_config_at(&base->config, i)) != NULL;
         i++) {
        CLEANUP(text_clear) struct text text = TEXT_INIT;
        struct schedule_spec spec;
        struct schedule_row row = {
            .name = schedule->name,
            .origin = SPAN(SCHEDULE_OF_CONFIG),
        };
        if (is_kept(call, row.name) ||
            !schedule_config_read(schedule, listing->zones, &call->arena, &spec,
                                  NULL))
            continue;
        schedule_spec_format(&spec, &text);
        row.spec = text_span(&text);
        row_json(call, &row);
    }
}

/* ?import=PREFIX: only the names of the schedules that were imported from the
 * crontab with that prefix. */
void schedule_request_list(struct api_call *call) {
    static const char *const keys[] = {"import", NULL};
    struct listing *listing = arena_alloc(&call->arena, sizeof *listing);
    const struct base *base = call->api->options.base;
    struct span since = SPAN("");
    struct err err = {0};

    if (!api_query_check(call, keys))
        return;
    if (base != NULL && !base_restored(base, &call->arena, &since, &err)) {
        api_fail(call, &err);
        return;
    }
    listing->is_restored = since.len > 0;
    listing->zones = cron_zones_new(0);
    call->state = listing;
    call->clear = listing_clear;
    call->work = listing_work;
    listing->import = api_query(call, "import");
    api_reply(call, 200, api_lines);
    if (listing->import.p == NULL)
        list_unkept(call);
}

/* ---- finding ------------------------------------------------------------- */

/* The role "clock" of this base may not have read its file yet. */
static bool find_configured(struct api_call *call, struct span name,
                            struct err *err) {
    struct base *base = call->api->options.base;

    return base == NULL || schedule_config_find(&base->config, name) == NULL ||
           schedule_config_store(base, api_now(call), err);
}

static bool no_such(struct api_call *call, struct span name, struct err *err) {
    struct schedule_row *rows;
    size_t count = 0;
    const char *near = NULL;

    if (schedule_row_list(call->api->options.store, SPAN(""), 1000,
                          &call->arena, &rows, &count, NULL)) {
        const char **names =
            arena_alloc(&call->arena, (count + 1) * sizeof *names);
        for (size_t i = 0; i < count; i++)
            names[i] = arena_string(&call->arena, rows[i].name);
        near = text_nearest(arena_string(&call->arena, name), names, count);
    }
    return err_set(err, ERR_NO_JOB, "no schedule '%.*s'%s%s%s", (int)name.len,
                   name.p, near ? "; did you mean '" : "", near ? near : "",
                   near ? "'?" : "");
}

static bool find_row(struct api_call *call, struct schedule_row *ret_row) {
    struct store *store = call->api->options.store;
    struct span name = call->params[0];
    struct err err = {0};
    bool found = false;
    bool ok =
        schedule_row_find(store, name, &call->arena, ret_row, &found, &err);

    if (ok && !found)
        ok =
            find_configured(call, name, &err) &&
            schedule_row_find(store, name, &call->arena, ret_row, &found, &err);
    if (ok && !found)
        ok = no_such(call, name, &err);
    if (!ok)
        api_fail(call, &err);
    return ok;
}

/* ---- actions ------------------------------------------------------------- */

static const char *refusal_of(enum store_result result) {
    if (result == STORE_UNKNOWN)
        return "the schedule was removed meanwhile";
    return "somebody else has just changed it; check it and try again";
}

static void ordered(void *ctx, struct store_batch *batch, bool ok,
                    const struct err *err) {
    struct api_call *call = ctx;
    struct err refused = {0};
    struct json json;

    if (!api_unhold(call))
        return;
    enum store_result result = STORE_DONE;
    if (ok)
        result = store_batch_result(batch, store_batch_count(batch) - 1);
    bool well = result == STORE_DONE || result == STORE_SAME;
    if (ok && !well)
        err_set(&refused, ERR_REFUSED, "%s", refusal_of(result));
    if (!ok || !well) {
        api_fail(call, ok ? &refused : err);
        api_poke(call);
        return;
    }
    api_trigger(call->api);
    api_reply(call, 200, api_json);
    json_open(&json, &call->out);
    json_object(&json);
    json_key(&json, "again");
    json_bool(&json, result == STORE_SAME);
    if (call->state != NULL) {
        json_key(&json, "id");
        json_string(&json, call->state); /* id of the job */
    }
    json_end(&json);
    text_addc(&call->out, '\n');
    api_end(call);
    api_poke(call);
}

static void submit(struct api_call *call, struct store_batch *batch) {
    api_hold(call);
    store_submit(batch, ordered, call);
}

/* True if the schedule belongs to a file, which fails the call. */
static bool of_config(struct api_call *call, const struct schedule_row *row,
                      const char *what) {
    struct err err = {0};

    if (!span_is(row->origin, SCHEDULE_OF_CONFIG))
        return false;
    schedule_config_refuse(call->api->options.base, row->name, what, &err);
    api_fail(call, &err);
    return true;
}

static void set_paused(struct api_call *call, bool paused) {
    struct schedule_row row;
    struct schedule_spec spec;
    int64_t high_s = 0;
    int32_t offset_s = 0;

    if (!find_row(call, &row))
        return;
    if (schedule_spec_parse(row.spec, &call->arena, &spec, NULL)) {
        if (!paused && spec.paused && of_config(call, &row, "paused"))
            return;
        schedule_begin(&spec, NULL, wall_s(api_now(call)), &high_s, &offset_s);
    }
    struct store_batch *batch = api_batch(call);
    schedule_row_pause(batch, row.name, paused, high_s, offset_s);
    submit(call, batch);
}

void schedule_request_pause(struct api_call *call) {
    set_paused(call, true);
}

void schedule_request_resume(struct api_call *call) {
    set_paused(call, false);
}

void schedule_request_remove(struct api_call *call) {
    struct schedule_row row;

    if (!find_row(call, &row) || of_config(call, &row, "defined"))
        return;
    struct store_batch *batch = api_batch(call);
    schedule_row_remove(batch, row.name);
    submit(call, batch);
}

/* ---- now ----------------------------------------------------------------- */

static bool add_run(struct api_call *call, struct store_batch *batch,
                    const struct schedule_row *row, unsigned *ret_job,
                    struct span *ret_id, struct err *err) {
    struct arena *arena = store_batch_arena(batch);
    struct api *api = call->api;
    struct schedule_spec spec;

    if (!schedule_spec_parse(row->spec, arena, &spec, err))
        return false;
    resolve_dir(call, &spec, arena);
    if (spec.overlap != OVERLAP_ALLOW)
        submission_touch(
            &spec.job, arena,
            span_of(arena_printf(arena, "schedule/%.*s", (int)row->name.len,
                                 row->name.p)));
    struct origin origin = {
        .now = api_now(call),
        .uid = row->uid,
        .actor = api_actor(call),
        .cause = span_of(arena_printf(arena, CAUSE_SCHEDULE "%.*s, run by hand",
                                      (int)row->name.len, row->name.p)),
        .host = api->options.base == NULL ? SPAN("localhost")
                                          : span_of(api->options.base->host),
        .seed = api->options.seed + ++api->made * UINT64_C(0x9e3779b97f4a7c15),
    };
    return command_admit(batch, api->options.base, &spec.job, &origin, ret_job,
                         ret_id, err);
}

void schedule_request_run(struct api_call *call) {
    struct schedule_row row;
    struct err err = {0};
    struct span id;
    unsigned job;

    if (!find_row(call, &row))
        return;
    struct store_batch *batch = api_batch(call);
    store_batch_atomic(batch);
    if (!add_run(call, batch, &row, &job, &id, &err)) {
        store_batch_free(batch);
        api_fail(call, &err);
        return;
    }
    call->state = arena_string(&call->arena, id);
    schedule_row_mark(batch, &(struct schedule_mark){
                                 .name = row.name,
                                 .job = job,
                                 .reason = schedule_event_word(SCHEDULE_RUN),
                                 .detail = id});
    submit(call, batch);
}
