/* New schedules, one by one or a thousand in one transaction. */
#include "schedules/schedule_put.h"

#include "api/api_call.h"
#include "os/clock.h"
#include "commands/command_admit.h"
#include "schedules/schedule_config.h"
#include "schedules/schedule_dir.h"
#include "schedules/schedule_rule.h"
#include "schedules/schedule_row.h"

enum { LINES_AT_ONCE = 1000 };

struct put {
    struct span name;
    bool refused; /* before it reached the store: */
    struct err err;
    unsigned index; /* for store_batch_result */
    bool removes;
};

/* A request. */
struct puts {
    struct cron_zones *zones; /* each is read once */
    struct span rest;         /* of the body */
    int64_t high_s;           /* new schedules fire after it */
    struct put *puts;         /* those of the transaction in progress */
    size_t count;
};

static void puts_clear(struct api_call *call) {
    struct puts *puts = call->state;
    cron_zones_free(puts->zones);
}

/* The last instant that a new schedule does not fire at: now, or the second
 * before ?since=. */
static bool read_since(struct api_call *call, int64_t *ret_high_s) {
    struct span text = api_query(call, "since");
    char *word = arena_string(&call->arena, text);
    struct err err = {0};
    *ret_high_s = wall_s(api_now(call));
    if (text.p == NULL)
        return true;
    if (cron_instant_parse(word, ret_high_s)) {
        *ret_high_s -= *ret_high_s > INT64_MIN;
        return true;
    }
    err_set(&err, ERR_USAGE,
            "'%s' is neither seconds since 1970 nor a time such as "
            "2026-03-08T01:59:30-08:00",
            word);
    api_fail(call, &err);
    return false;
}

/* Fails the call if the query is wrong. */
static bool puts_open(struct api_call *call, size_t most,
                      struct puts **ret_puts) {
    static const char *const keys[] = {"replace", "since", NULL};
    struct puts *puts = arena_alloc(&call->arena, sizeof(*puts));
    if (!api_query_check(call, keys) || !read_since(call, &puts->high_s))
        return false;
    puts->zones = cron_zones_new(0);
    puts->puts = arena_alloc(&call->arena, most * sizeof(*puts->puts));
    call->state = puts;
    call->clear = puts_clear;
    *ret_puts = puts;
    return true;
}

/* ---- one of them --------------------------------------------------------- */

static bool read_row(struct api_call *call, struct span name, struct span text,
                     struct schedule_row *ret_row,
                     struct schedule_spec *ret_spec, struct err *err) {
    CLEANUP(text_clear) struct text spec = TEXT_INIT;
    const struct puts *puts = call->state;
    struct schedule_rule rule;
    if (!schedule_name_check(name, err) ||
        !schedule_spec_parse(text, &call->arena, ret_spec, err) ||
        !submission_check_node(&ret_spec->job, err) ||
        !command_may_run(call->api->options.base, &ret_spec->job,
                         call->request.actor.uid, &call->arena, err) ||
        !schedule_rule_make(ret_spec, name, 0, puts->zones, &rule, err))
        return false;
    schedule_rule_clear(&rule);
    if (call->api->options.base != NULL)
        schedule_dir_relate(ret_spec, call->api->options.base->path,
                            &call->arena);
    schedule_spec_format(ret_spec, &spec);
    *ret_row = (struct schedule_row){
        .name = name,
        .spec = arena_span(&call->arena, text_span(&spec)),
        .origin = api_actor(call),
        .uid = call->request.actor.uid,
        .seed = clock_seed(),
    };
    return true;
}

/* A name of the files cannot be used, whether or not the role "clock" has read
 * them yet; but a schedule that was added before stays one's own. */
static bool find_own(struct api_call *call, struct span name,
                     struct schedule_row *ret_row, bool *ret_found,
                     struct err *err) {
    const struct base *base = call->api->options.base;
    if (!schedule_row_find(call->api->options.store, name, &call->arena,
                           ret_row, ret_found, err))
        return false;
    bool of_config =
        *ret_found
            ? span_is(ret_row->origin, SCHEDULE_OF_CONFIG)
            : base != NULL && schedule_config_find(&base->config, name) != NULL;
    return !of_config || schedule_config_refuse(base, name, "defined", err);
}

/* A new pattern starts now; a new command for the old pattern does not change
 * its times. */
static enum schedule_mode mode_of(struct api_call *call,
                                  const struct schedule_row *old,
                                  const struct schedule_spec *spec) {
    struct schedule_spec before;
    if (!api_query_flag(call, "replace"))
        return SCHEDULE_ADD;
    if (api_query(call, "since").p != NULL ||
        !schedule_spec_parse(old->spec, &call->arena, &before, NULL) ||
        !schedule_fires_alike(&before, spec))
        return SCHEDULE_RENEW;
    return SCHEDULE_REPLACE;
}

static bool add_put(struct api_call *call, struct store_batch *batch,
                    struct span text, struct put *put) {
    const struct puts *puts = call->state;
    enum schedule_mode mode = SCHEDULE_ADD;
    struct schedule_row row, old;
    struct schedule_spec spec;
    bool found;
    if (!read_row(call, put->name, text, &row, &spec, &put->err) ||
        !find_own(call, put->name, &old, &found, &put->err))
        return false;
    if (found)
        mode = mode_of(call, &old, &spec);
    schedule_begin(&spec, puts->zones, puts->high_s, &row.high_s,
                   &row.offset_s);
    put->index = schedule_row_set(batch, &row, mode);
    return true;
}

static bool add_removal(struct api_call *call, struct store_batch *batch,
                        struct put *put) {
    struct schedule_row old;
    bool found;
    put->removes = true;
    if (!find_own(call, put->name, &old, &found, &put->err))
        return false;
    put->index = schedule_row_remove(batch, put->name);
    return true;
}

/* The answer of the store: true if the schedule is as it was to be. */
static bool take_result(struct put *put, const struct store_batch *batch,
                        enum store_result *ret_result) {
    enum store_result result = store_batch_result(batch, put->index);
    *ret_result = result;
    if (result == STORE_DONE || result == STORE_SAME)
        return true;
    if (result == STORE_UNKNOWN && put->removes)
        return err_set(&put->err, ERR_NO_JOB, "no schedule '%.*s'",
                       (int)put->name.len, put->name.p);
    if (result == STORE_DUPLICATE)
        return err_set(&put->err, ERR_REFUSED,
                       "schedule '%.*s' exists already, with another pattern, "
                       "command or option; `pointsman cron list %.*s` shows "
                       "it, --replace replaces it",
                       (int)put->name.len, put->name.p, (int)put->name.len,
                       put->name.p);
    return err_set(&put->err, ERR_REFUSED,
                   "somebody else has just changed it; check it and try again");
}

/* ---- one schedule -------------------------------------------------------- */

static void one_done(void *ctx, struct store_batch *batch, bool ok,
                     const struct err *err) {
    struct api_call *call = ctx;
    enum store_result result = STORE_UNKNOWN;
    struct json json;
    if (!api_unhold(call))
        return;
    struct puts *puts = call->state;
    if (!ok) {
        api_fail(call, err);
    } else if (!take_result(&puts->puts[0], batch, &result)) {
        api_fail(call, &puts->puts[0].err);
    } else {
        api_trigger(call->api);
        api_reply(call, 200, api_json);
        json_open(&json, &call->out);
        json_object(&json);
        json_key(&json, "again");
        json_bool(&json, result == STORE_SAME);
        json_end(&json);
        text_addc(&call->out, '\n');
        api_end(call);
    }
    api_poke(call);
}

/* ?replace: an existing schedule of that name may be replaced. ?since=:
 * instants from then on count as missed. Body: wire/schedule_spec.h. */
void schedule_put_one(struct api_call *call) {
    struct puts *puts;
    if (!puts_open(call, 1, &puts))
        return;
    struct put *put = &puts->puts[0];
    struct store_batch *batch = api_batch(call);
    put->name = call->params[0];
    if (!api_has_account(call, &put->err) ||
        !add_put(call, batch, text_span(&call->body), put)) {
        store_batch_free(batch);
        api_fail(call, &put->err);
        return;
    }
    api_hold(call);
    store_submit(batch, one_done, call);
}

/* ---- many schedules ------------------------------------------------------ */

static void answer_line(struct api_call *call, const struct store_batch *batch,
                        struct put *put) {
    enum store_result result = STORE_UNKNOWN;
    struct json json;
    if (!put->refused)
        put->refused = !take_result(put, batch, &result);
    json_open(&json, &call->out);
    json_object(&json);
    json_key(&json, "name");
    json_span(&json, put->name);
    if (put->refused) {
        json_key(&json, "error");
        json_string(&json, put->err.text);
        json_key(&json, "kind");
        json_string(&json, err_name(put->err.kind));
    } else {
        json_key(&json, "again");
        json_bool(&json, result == STORE_SAME);
    }
    json_end(&json);
    text_addc(&call->out, '\n');
}

static bool read_line(struct api_call *call, struct span line, struct put *put,
                      struct span *ret_schedule) {
    struct json_value whole, value;
    size_t cursor = 0;
    struct span key;
    *ret_schedule = (struct span){0};
    if (!json_parse_object(line, &whole, &put->err))
        return false;
    while (json_next(whole, &cursor, &call->arena, &key, &value)) {
        bool fine = true;
        if (span_is(key, "name"))
            fine = json_get_string(value, &call->arena, &put->name);
        else if (span_is(key, "schedule"))
            *ret_schedule = value.raw;
        else if (span_is(key, "remove"))
            fine = json_get_bool(value, &put->removes);
        else
            fine = false;
        if (!fine)
            return err_set(&put->err, ERR_DATA,
                           "a line has a name, and a schedule or "
                           "\"remove\": true; '%.*s' is wrong",
                           (int)(key.len > 80 ? 80 : key.len), key.p);
    }
    return (put->name.len > 0 && (ret_schedule->p != NULL) != put->removes) ||
           err_set(&put->err, ERR_DATA,
                   "a line has a name, and either a schedule or \"remove\": "
                   "true");
}

static void add_line(struct api_call *call, struct store_batch *batch,
                     struct span line) {
    struct puts *puts = call->state;
    struct put *put = &puts->puts[puts->count++];
    struct span schedule;
    *put = (struct put){0};
    put->refused = !api_has_account(call, &put->err) ||
                   !read_line(call, line, put, &schedule) ||
                   !(put->removes ? add_removal(call, batch, put)
                                  : add_put(call, batch, schedule, put));
}

static void many_next(struct api_call *call);

static void answer_lines(struct api_call *call,
                         const struct store_batch *batch) {
    struct puts *puts = call->state;
    if (call->status == 0)
        api_reply(call, 200, api_lines);
    for (size_t i = 0; i < puts->count; i++)
        answer_line(call, batch, &puts->puts[i]);
}

static void many_done(void *ctx, struct store_batch *batch, bool ok,
                      const struct err *err) {
    struct api_call *call = ctx;
    if (!api_unhold(call))
        return;
    if (ok) {
        api_trigger(call->api);
        answer_lines(call, batch);
        many_next(call);
    } else {
        api_fail(call, err);
    }
    api_poke(call);
}

/* The next lines, in one transaction. */
static void many_next(struct api_call *call) {
    struct puts *puts = call->state;
    while (puts->rest.len > 0) {
        struct store_batch *batch = api_batch(call);
        struct span line;
        puts->count = 0;
        while (puts->count < LINES_AT_ONCE && puts->rest.len > 0 &&
               span_cut(&puts->rest, '\n', &line))
            add_line(call, batch, line);
        if (store_batch_count(batch) > 0) {
            api_hold(call);
            store_submit(batch, many_done, call);
            return;
        }
        answer_lines(call, batch);
        store_batch_free(batch);
    }
    if (call->status == 0)
        api_reply(call, 200, api_lines);
    api_end(call);
}

void schedule_put_many(struct api_call *call) {
    struct puts *puts;
    if (!puts_open(call, LINES_AT_ONCE, &puts))
        return;
    puts->rest = text_span(&call->body);
    many_next(call);
}
