#include "nodes/standing_request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/reason.h"
#include "api/api_call.h"
#include "api/job_json.h"
#include "commands/command_admit.h"
#include "nodes/node_row.h"
#include "nodes/standing.h"
#include "nodes/standing_definition.h"
#include "nodes/standing_graph.h"
#include "nodes/standing_kind.h"
#include "nodes/standing_row.h"
#include "os/account.h"

enum {
    JOBS_MOST = 10000, /* added at once */
    TRIES = 5          /* if others change standing jobs meanwhile */
};

/* One job of a request that changes something. */
struct edited {
    struct standing_definition definition;
    struct span name, text; /* the definition as it is kept */
    struct span id;         /* of its job */
    uint32_t uid;           /* the account whose job it is */
    uint64_t version;       /* that it has afterwards */
    unsigned index;         /* of the operation on its row */
};

struct edit {
    void (*again)(struct api_call *call); /* after a conflict */
    struct node_settings settings;
    struct standing_graph graph;
    struct text errors;
    struct edited *jobs;
    size_t count;
    unsigned tries;
    bool is_many; /* the answer is a list */
};

static struct store *store_of(struct api_call *call) {
    return call->api->options.store;
}

/* ---- edits --------------------------------------------------------------- */

static void edit_reset(struct edit *edit) {
    standing_graph_clear(&edit->graph);
    text_clear(&edit->errors);
    edit->count = 0;
}

static void edit_clear(struct api_call *call) {
    edit_reset(call->state);
}

/* Reads what the definitions are checked against. Fails the call. */
static bool edit_open(struct api_call *call, size_t most,
                      void (*again)(struct api_call *call)) {
    struct base *base = call->api->options.base;
    struct edit *edit = call->state;
    struct err err = {0};

    if (base == NULL) {
        err_set(&err, ERR_UNAVAILABLE, "the base is not open");
        api_fail(call, &err);
        return false;
    }
    if (edit == NULL) {
        edit = arena_alloc(&call->arena, sizeof(*edit));
        call->state = edit;
        call->clear = edit_clear;
        edit->again = again;
    }
    edit_reset(edit);
    edit->jobs = arena_alloc(&call->arena, (most + 1) * sizeof(*edit->jobs));
    node_settings_read(&base->config, &edit->settings);
    if (standing_graph_read(&edit->graph, store_of(call), &edit->settings,
                            &err))
        return true;
    api_fail(call, &err);
    return false;
}

/* Fails the call with everything that is wrong. */
static void edit_refuse(struct api_call *call) {
    const struct edit *edit = call->state;
    struct span rest = text_span(&edit->errors), first, other;
    size_t more = 0;
    struct err err = {0};

    (void)span_cut(&rest, '\n', &first);
    while (span_cut(&rest, '\n', &other))
        more += other.len > 0;
    err_set(&err, ERR_DATA, "%.*s", (int)first.len, first.p);
    if (more > 0)
        err_set(&err, ERR_DATA, "%.*s (and %zu more)", (int)first.len, first.p,
                more);
    api_fail_lines(call, &err, text_span(&edit->errors));
}

/* Prefixes the lines added since `from` with the job that they are about. */
static void edit_name_errors(struct edit *edit, size_t from, struct span name) {
    CLEANUP(text_clear) struct text added = TEXT_INIT;
    struct span rest, line;

    if (edit->errors.len == from)
        return;
    text_add(&added, edit->errors.p + from, edit->errors.len - from);
    edit->errors.len = from;
    rest = text_span(&added);
    while (span_cut(&rest, '\n', &line))
        if (line.len > 0)
            text_addf(&edit->errors, "job '%.*s': %.*s\n", (int)name.len,
                      name.p, (int)line.len, line.p);
}

/* ---- checks -------------------------------------------------------------- */

/* The name of the caller's account. */
static struct span own_name(struct api_call *call) {
    char number[16];
    struct account account;

    snprintf(number, sizeof(number), "%u", (unsigned)call->request.actor.uid);
    if (account_find(span_of(number), &call->arena, &account, NULL))
        return span_of(account.name);
    return span_of(arena_string(&call->arena, span_of(number)));
}

/* Work is counted for the owner, so only an operator names somebody else. `was`
 * is the present owner; empty: there is none. */
static void check_owner(struct api_call *call, struct edited *job,
                        struct span was) {
    struct edit *edit = call->state;
    struct span *owner = &job->definition.owner;
    struct span own = own_name(call);

    if (owner->len == 0)
        *owner = was.len > 0 ? was : own;
    if (!span_equal(*owner, own) && !span_equal(*owner, was) &&
        call->request.actor.role < ACCESS_OPERATOR)
        text_addf(&edit->errors,
                  "owner: only an operator may let a job count for '%.*s'\n",
                  (int)owner->len, owner->p);
}

/* Checks a definition by itself and against the configuration, and formats what
 * is kept of it. */
static void check_job(struct api_call *call, struct edited *job,
                      struct span was) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct edit *edit = call->state;
    struct standing standing;
    struct err err = {0};

    check_owner(call, job, was);
    if (!command_may_run(call->api->options.base, &job->definition.job,
                         job->uid, &call->arena, &err))
        text_addf(&edit->errors, "%s\n", err.text);
    standing_definition_format(&job->definition, &text);
    job->text = arena_span(&call->arena, text_span(&text));
    struct standing_row row = {.name = job->name, .definition = job->text};
    if (standing_make_all(&row, &edit->settings, NULL, &standing,
                          &edit->errors))
        standing_clear(&standing);
    standing_graph_put(&edit->graph, job->name, &job->definition);
}

/* ---- the row ------------------------------------------------------------- */

static bool no_such(struct api_call *call, struct span name, struct err *err) {
    struct standing_row *rows;
    const char *near = NULL;
    size_t count = 0, live = 0;

    if (standing_row_list(store_of(call), 0, 0, &call->arena, &rows, &count,
                          NULL)) {
        const char **names =
            arena_alloc(&call->arena, (count + 1) * sizeof(*names));
        for (size_t i = 0; i < count; i++)
            if (!rows[i].deleted)
                names[live++] = arena_string(&call->arena, rows[i].name);
        near = text_nearest(arena_string(&call->arena, name), names, live);
    }
    return err_set(err, ERR_NO_JOB, "no standing job '%.*s'%s%s%s",
                   (int)name.len, name.p, near ? "; did you mean '" : "",
                   near ? near : "", near ? "'?" : "");
}

/* Fails the call. */
static bool find_row(struct api_call *call, struct standing_row *ret_row,
                     struct job *ret_job) {
    struct span name = call->params[0];
    struct err err = {0};
    bool found;

    if (standing_row_find(store_of(call), name, &call->arena, ret_row, &found,
                          &err) &&
        (found || no_such(call, name, &err)) &&
        store_job(store_of(call), ret_row->num, &call->arena, ret_job, &err))
        return true;
    api_fail(call, &err);
    return false;
}

/* The same, and the caller may do to it what the route does. */
static bool find_own(struct api_call *call, struct standing_row *ret_row,
                     struct job *ret_job) {
    struct err err = {0};

    if (!find_row(call, ret_row, ret_job))
        return false;
    if (api_allows(call, ret_job, &err))
        return true;
    api_fail(call, &err);
    return false;
}

/* ---- answers ------------------------------------------------------------- */

static void job_answer(struct json *json, const struct edited *job,
                       bool again) {
    json_object(json);
    json_put_span(json, "name", job->name);
    json_put_span(json, "id", job->id);
    json_put_i64(json, "version", (int64_t)job->version);
    json_put_bool(json, "again", again);
    json_end(json);
}

static void answer(struct api_call *call, bool again) {
    const struct edit *edit = call->state;
    struct json json;

    api_reply(call, again || !edit->is_many ? 200 : 201, api_json);
    json_open(&json, &call->out);
    if (edit->is_many) {
        json_object(&json);
        json_key(&json, "jobs");
        json_array(&json);
    }
    for (size_t i = 0; i < edit->count; i++)
        job_answer(&json, &edit->jobs[i], again);
    if (edit->is_many) {
        json_end(&json);
        json_end(&json);
    }
    text_addc(&call->out, '\n');
    api_end(call);
}

/* The first result that is not as it was to be. */
static enum store_result result_of(const struct edit *edit,
                                   const struct store_batch *batch,
                                   const struct edited **ret_job) {
    enum store_result result = STORE_DONE;

    /* If one cannot be done, the others are in conflict only because of it. */
    for (size_t i = 0; i < edit->count; i++) {
        enum store_result each = store_batch_result(batch, edit->jobs[i].index);
        if (each == STORE_DONE ||
            (result != STORE_DONE && each == STORE_CONFLICT))
            continue;
        result = each;
        *ret_job = &edit->jobs[i];
    }
    return result;
}

static void edited(void *ctx, struct store_batch *batch, bool ok,
                   const struct err *err) {
    struct api_call *call = ctx;
    const struct edited *job = NULL;
    struct err refused = {0};

    if (!api_unhold(call))
        return;
    struct edit *edit = call->state;
    enum store_result result =
        ok ? result_of(edit, batch, &job) : STORE_UNKNOWN;
    if (!ok) {
        api_fail(call, err);
    } else if (result == STORE_DONE) {
        api_trigger(call->api);
        answer(call, false);
    } else if (result == STORE_DUPLICATE) {
        err_set(&refused, ERR_REFUSED,
                "standing job '%.*s' exists already; `pointsman job set` "
                "changes it",
                (int)job->name.len, job->name.p);
        api_fail(call, &refused);
    } else if (++edit->tries < TRIES) {
        edit->again(call);
    } else {
        err_set(&refused, ERR_REFUSED,
                "others keep changing standing jobs; try again");
        api_fail(call, &refused);
    }
    api_poke(call);
}

static void submit(struct api_call *call, struct store_batch *batch) {
    api_hold(call);
    store_submit(batch, edited, call);
}

/* ---- add ----------------------------------------------------------------- */

static struct origin origin_of(struct api_call *call) {
    struct api *api = call->api;

    return (struct origin){
        .now = api_now(call),
        .uid = call->request.actor.uid,
        .actor = api_actor(call),
        .cause = SPAN(CAUSE_PERSON),
        .host = span_of(api->options.base->host),
        .seed = api->options.seed + ++api->made * UINT64_C(0x9e3779b97f4a7c15),
    };
}

static void add_job(struct api_call *call, struct store_batch *batch,
                    struct edited *edited) {
    const struct edit *edit = call->state;
    const struct standing_definition *d = &edited->definition;
    struct origin origin = origin_of(call);
    struct job job = {
        .kind = STANDING_KIND,
        .job_class = (enum job_class)d->job.class,
        .state = STATE_PENDING,
        .name = edited->name,
        .spec = SPAN("{}"),
        .holds = d->enabled ? 0 : HOLD_DISABLED,
    };

    command_set_origin(&job, d->job.sub_priority, &origin, &call->arena);
    edited->id = job.id;
    edited->version = 1;
    unsigned admission = store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    edited->index =
        standing_row_add(batch, admission,
                         &(struct standing_row){.name = edited->name,
                                                .definition = edited->text,
                                                .enabled = d->enabled},
                         /* What this batch adds itself has been checked. */
                         edited == edit->jobs ? edit->graph.seen : 0);
}

static void read_added(struct api_call *call, struct json_value value,
                       struct edited *job) {
    struct edit *edit = call->state;
    size_t from = edit->errors.len;

    if (value.type != JSON_OBJECT) {
        text_addf(&edit->errors, "job %zu is not an object\n", edit->count);
        return;
    }
    if (standing_definition_parse(value.raw, &call->arena, &job->definition,
                                  &edit->errors) &&
        job->definition.name.len == 0)
        (void)standing_name_check(SPAN(""), &edit->errors);
    job->name = job->definition.name;
    job->uid = call->request.actor.uid;
    for (size_t i = 0; &edit->jobs[i] != job; i++)
        if (job->name.len > 0 && span_equal(edit->jobs[i].name, job->name))
            text_addf(&edit->errors, "it is there twice\n");
    if (edit->errors.len == from)
        check_job(call, job, SPAN(""));
    edit_name_errors(
        edit, from,
        job->name.len > 0
            ? job->name
            : span_of(arena_printf(&call->arena, "%zu", edit->count)));
}

static bool read_jobs(struct api_call *call, struct json_value *ret_jobs,
                      size_t *ret_count) {
    static const char *const keys[] = {"jobs", NULL};
    struct json_value body, item;
    struct err err = {0};
    size_t cursor = 0;

    *ret_count = 0;
    if (!api_body_object(call, keys, &body))
        return false;
    if (!json_member(body, "jobs", ret_jobs) || ret_jobs->type != JSON_ARRAY) {
        err_set(&err, ERR_DATA, "'jobs' is not a list of definitions");
        api_fail(call, &err);
        return false;
    }
    while (json_next(*ret_jobs, &cursor, &call->arena, NULL, &item))
        ++*ret_count;
    if (*ret_count >= 1 && *ret_count <= JOBS_MOST)
        return true;
    err_set(&err, ERR_DATA, "'jobs' has %zu members; 1 to %d can be added",
            *ret_count, JOBS_MOST);
    api_fail(call, &err);
    return false;
}

void standing_request_add(struct api_call *call) {
    static const char *const keys[] = {"check", NULL};
    struct json_value jobs, item;
    struct err err = {0};
    size_t count, cursor = 0;

    if (!api_query_check(call, keys) || !read_jobs(call, &jobs, &count) ||
        !edit_open(call, count, standing_request_add))
        return;
    struct edit *edit = call->state;
    edit->is_many = true;
    if (!api_has_account(call, &err)) {
        api_fail(call, &err);
        return;
    }
    while (json_next(jobs, &cursor, &call->arena, NULL, &item))
        read_added(call, item, &edit->jobs[edit->count++]);
    for (size_t i = 0; edit->errors.len == 0 && i < edit->count; i++) {
        (void)standing_graph_check(&edit->graph, edit->jobs[i].name,
                                   &edit->errors);
        edit_name_errors(edit, 0, edit->jobs[i].name);
    }
    if (edit->errors.len > 0) {
        edit_refuse(call);
        return;
    }
    if (api_query_flag(call, "check")) {
        answer(call, true);
        return;
    }
    struct store_batch *batch = api_batch(call);
    store_batch_atomic(batch);
    for (size_t i = 0; i < edit->count; i++)
        add_job(call, batch, &edit->jobs[i]);
    submit(call, batch);
}

/* ---- set ----------------------------------------------------------------- */

/* Adds the next version; the row of the job follows. */
static void add_version(struct api_call *call, struct store_batch *batch,
                        struct edited *edited, const struct standing_row *was,
                        enum standing_event event) {
    const struct edit *edit = call->state;
    bool enabled = edited->definition.enabled;

    edited->version = was->version + 1;
    store_batch_atomic(batch);
    edited->index = standing_row_change(
        batch,
        &(struct standing_row){.num = was->num,
                               .version = was->version,
                               .name = was->name,
                               .definition = edited->text,
                               .enabled = enabled},
        event, event == STANDING_CHANGED ? edit->graph.seen : 0);
    if (enabled && !was->enabled)
        (void)store_release(batch, was->num, HOLD_DISABLED,
                            standing_event_word(STANDING_ENABLED));
    else if (!enabled && was->enabled)
        (void)store_hold(batch, was->num, HOLD_DISABLED,
                         standing_event_word(STANDING_DISABLED));
}

static unsigned level_of(const struct edit *edit, struct span name) {
    unsigned level = edit->settings.level_count - 1;

    if (name.len > 0)
        (void)node_config_level(edit->settings.config, name, &level);
    return level;
}

/* Fails the call if somebody else has changed it since the caller looked. */
static bool check_version(struct api_call *call, const struct edited *job,
                          const struct standing_row *was) {
    struct err err = {0};

    if (job->definition.version == 0 || job->definition.version == was->version)
        return true;
    err_set(
        &err, ERR_REFUSED,
        "standing job '%.*s' is at version %" PRIu64 " by %.*s, not %" PRIu64
        "; look at `pointsman job show %.*s`, then repeat the change",
        (int)was->name.len, was->name.p, was->version, (int)was->actor.len,
        was->actor.p, job->definition.version, (int)was->name.len, was->name.p);
    api_fail(call, &err);
    return false;
}

/* An operator may change when and where the tasks of another person run. What
 * runs under the account of that person is another matter. */
static void check_submission(struct api_call *call, const struct edited *job,
                             struct standing_definition *was) {
    CLEANUP(text_clear) struct text before = TEXT_INIT;
    CLEANUP(text_clear) struct text after = TEXT_INIT;
    struct edit *edit = call->state;

    if (call->request.actor.uid == job->uid ||
        call->request.actor.role >= ACCESS_ADMIN)
        return;
    was->job.class = job->definition.job.class;
    was->job.sub_priority = job->definition.job.sub_priority;
    was->job.timeout_ms = job->definition.job.timeout_ms;
    standing_definition_format_job(was, &before);
    standing_definition_format_job(&job->definition, &after);
    if (!span_equal(text_span(&before), text_span(&after)))
        text_addf(&edit->errors,
                  "command: only its submitter or an admin may change the "
                  "command and its options\n");
}

static void check_changed(struct api_call *call, struct edited *job,
                          const struct standing_row *row) {
    CLEANUP(text_clear) struct text ignored = TEXT_INIT;
    struct edit *edit = call->state;
    struct standing_definition was;

    (void)standing_definition_parse(row->definition, &call->arena, &was,
                                    &ignored);
    if (job->definition.name.len > 0 &&
        !span_equal(job->definition.name, row->name))
        text_addf(&edit->errors, "name: it is '%.*s' and cannot be changed\n",
                  (int)row->name.len, row->name.p);
    if (level_of(edit, was.level) != level_of(edit, job->definition.level))
        text_addf(&edit->errors,
                  "level: its tasks stay on their level; delete the job and "
                  "add it again\n");
    check_job(call, job, was.owner);
    check_submission(call, job, &was);
    if (edit->errors.len == 0)
        (void)standing_graph_check(&edit->graph, row->name, &edit->errors);
}

void standing_request_set(struct api_call *call) {
    static const char *const keys[] = {NULL};
    struct standing_row was;
    struct job row;

    if (!api_query_check(call, keys) || !find_own(call, &was, &row) ||
        !edit_open(call, 1, standing_request_set))
        return;
    struct edit *edit = call->state;
    struct edited *job = &edit->jobs[edit->count++];
    job->name = was.name;
    job->id = row.id;
    job->uid = row.uid;
    if (standing_definition_parse(text_span(&call->body), &call->arena,
                                  &job->definition, &edit->errors)) {
        if (!check_version(call, job, &was))
            return;
        check_changed(call, job, &was);
    }
    if (edit->errors.len > 0) {
        edit_name_errors(edit, 0, was.name);
        edit_refuse(call);
        return;
    }
    if (span_equal(job->text, was.definition)) {
        job->version = was.version;
        answer(call, true);
        return;
    }
    struct store_batch *batch = api_batch(call);
    add_version(call, batch, job, &was, STANDING_CHANGED);
    submit(call, batch);
}

/* ---- enable, disable, delete, forgive ------------------------------------ */

static void set_enabled(struct api_call *call, bool enabled,
                        void (*again)(struct api_call *call)) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    static const char *const keys[] = {NULL};
    struct json_value body;
    struct standing_row was;
    struct job row;

    if (!api_body_object(call, keys, &body) || !find_own(call, &was, &row) ||
        !edit_open(call, 1, again))
        return;
    struct edit *edit = call->state;
    struct edited *job = &edit->jobs[edit->count++];
    job->name = was.name;
    job->id = row.id;
    job->version = was.version;
    if (!standing_definition_parse(was.definition, &call->arena,
                                   &job->definition, &edit->errors)) {
        edit_refuse(call);
        return;
    }
    if (was.enabled == enabled) {
        answer(call, true);
        return;
    }
    job->definition.enabled = enabled;
    standing_definition_format(&job->definition, &text);
    job->text = arena_span(&call->arena, text_span(&text));
    struct store_batch *batch = api_batch(call);
    add_version(call, batch, job, &was,
                enabled ? STANDING_ENABLED : STANDING_DISABLED);
    submit(call, batch);
}

void standing_request_enable(struct api_call *call) {
    set_enabled(call, true, standing_request_enable);
}

void standing_request_disable(struct api_call *call) {
    set_enabled(call, false, standing_request_disable);
}

/* The scheduler ends the job of tasks that run when the last one has ended. */
void standing_request_delete(struct api_call *call) {
    CLEANUP(text_clear) struct text others = TEXT_INIT;
    static const char *const keys[] = {NULL};
    struct json_value body;
    struct standing_row was;
    struct job row;
    struct err err = {0};

    if (!api_body_object(call, keys, &body) || !find_own(call, &was, &row) ||
        !edit_open(call, 1, standing_request_delete))
        return;
    struct edit *edit = call->state;
    struct edited *job = &edit->jobs[edit->count++];
    job->name = was.name;
    job->id = row.id;
    job->version = was.version + 1;
    standing_graph_dependents(&edit->graph, was.name, &others);
    if (others.len > 0) {
        err_set(&err, ERR_REFUSED, "standing job '%.*s' is needed by %s",
                (int)was.name.len, was.name.p, text_string(&others));
        api_fail(call, &err);
        return;
    }
    struct store_batch *batch = api_batch(call);
    store_batch_atomic(batch);
    was.deleted = true;
    job->index =
        standing_row_change(batch, &was, STANDING_DELETED, edit->graph.seen);
    if (row.state == STATE_PENDING)
        (void)store_move(batch,
                         &(struct store_move){.num = row.num,
                                              .from = STATE_PENDING,
                                              .to = STATE_TERMINATED,
                                              .reason = SPAN(REASON_OPERATOR),
                                              .detail = SPAN("deleted")});
    submit(call, batch);
}

static bool check_node(struct api_call *call, struct span node) {
    struct err err = {0};
    bool found;

    if (node.len == 0)
        return true;
    if (node_row_exists(store_of(call), node, &found, &err) &&
        (found ||
         err_set(&err, ERR_NO_JOB, "no node '%.*s'", (int)node.len, node.p)))
        return true;
    api_fail(call, &err);
    return false;
}

void standing_request_forgive(struct api_call *call) {
    static const char *const keys[] = {"node", NULL};
    struct json_value body;
    struct standing_row was;
    struct span node = {0};
    struct job row;

    if (!api_body_object(call, keys, &body) ||
        !api_body_string(call, body, "node", &node) ||
        !find_own(call, &was, &row) || !check_node(call, node) ||
        !edit_open(call, 1, standing_request_forgive))
        return;
    struct edit *edit = call->state;
    struct edited *job = &edit->jobs[edit->count++];
    job->name = was.name;
    job->id = row.id;
    job->version = was.version;
    struct store_batch *batch = api_batch(call);
    job->index = standing_row_forgive(batch, was.num, node);
    submit(call, batch);
}

/* ---- list and show ------------------------------------------------------- */

static bool row_json(struct api_call *call, const struct standing_row *row,
                     struct err *err) {
    CLEANUP(text_clear) struct text errors = TEXT_INIT;
    struct standing_definition definition;
    struct json json;
    struct job job;

    if (!store_job(store_of(call), row->num, &call->arena, &job, err))
        return false;
    (void)standing_definition_parse(row->definition, &call->arena, &definition,
                                    &errors);
    json_open(&json, &call->out);
    json_object(&json);
    json_put_span(&json, "name", row->name);
    json_put_span(&json, "id", job.id);
    json_put_i64(&json, "version", (int64_t)row->version);
    json_put_bool(&json, "enabled", row->enabled);
    json_key(&json, "state");
    json_string(&json, job_state_word(job.state));
    json_put_span(&json, "owner", definition.owner);
    json_put_span(&json, "level", definition.level);
    json_put_span(&json, "changed_by", row->actor);
    job_json_time(&json, "changed", row->at);
    json_end(&json);
    text_addc(&call->out, '\n');
    return true;
}

static int by_name(const void *a, const void *b) {
    const struct standing_row *one = a, *other = b;

    return span_compare(one->name, other->name);
}

void standing_request_list(struct api_call *call) {
    static const char *const keys[] = {NULL};
    struct standing_row *rows;
    struct err err = {0};
    size_t count;

    if (!api_query_check(call, keys))
        return;
    if (!standing_row_list(store_of(call), 0, 0, &call->arena, &rows, &count,
                           &err)) {
        api_fail(call, &err);
        return;
    }
    if (count > 1)
        qsort(rows, count, sizeof(*rows), by_name);
    api_reply(call, 200, api_lines);
    for (size_t i = 0; i < count; i++)
        if (!rows[i].deleted && !row_json(call, &rows[i], &err)) {
            api_fail(call, &err);
            return;
        }
    api_end(call);
}

static void show(struct api_call *call, const struct standing_row *row,
                 const struct job *job) {
    struct json json;

    api_reply(call, 200, api_json);
    json_open(&json, &call->out);
    json_object(&json);
    json_put_span(&json, "name", row->name);
    json_put_i64(&json, "version", (int64_t)row->version);
    json_put_span(&json, "id", job->id);
    json_key(&json, "state");
    json_string(&json, job_state_word(job->state));
    json_put_span(&json, "changed_by", row->actor);
    job_json_time(&json, "changed", row->at);
    json_key(&json, "definition");
    job_submission_json(&json, row->definition, api_sees_values(call, job),
                        &call->arena);
    json_end(&json);
    text_addc(&call->out, '\n');
    api_end(call);
}

void standing_request_show(struct api_call *call) {
    static const char *const keys[] = {"version", NULL};
    uint64_t version = 0;
    struct standing_row row;
    struct job job;
    struct err err = {0};
    bool found = true;

    if (!api_query_check(call, keys) ||
        !api_query_u64(call, "version", INT64_MAX, &version) ||
        !find_row(call, &row, &job))
        return;
    if (version == 0 ||
        (standing_row_version(store_of(call), row.num, version, &call->arena,
                              &row, &found, &err) &&
         (found || err_set(&err, ERR_NO_JOB,
                           "standing job '%.*s' has no version %" PRIu64,
                           (int)row.name.len, row.name.p, version))))
        show(call, &row, &job);
    else
        api_fail(call, &err);
}
