#include "api/job_json.h"

#include "lib/map.h"
#include "core/reason.h"
#include "wire/attempt_trace.h"
#include "wire/meta.h"
#include "wire/set_spec.h"
#include "wire/words.h"

void job_json_time(struct json *json, const char *key, struct wall wall) {
    char text[WALL_TEXT_BYTES];

    json_key(json, key);
    if (wall.ns == 0)
        json_null(json);
    else
        json_string(json, wall_format(wall, text));
}

static void key_state(struct json *json, const char *key,
                      enum job_state state) {
    json_key(json, key);
    if (state == STATE_NONE)
        json_null(json);
    else
        json_string(json, job_state_word(state));
}

static void key_holds(struct json *json, unsigned holds) {
    json_key(json, "holds");
    json_array(json);
    for (unsigned bit = 1; bit <= holds; bit <<= 1)
        if ((holds & bit) != 0)
            json_string(json, job_hold_word((enum job_hold)bit));
    json_end(json);
}

/* A string member of the submission. */
static struct span spec_string(const struct job *job, const char *key,
                               struct arena *arena) {
    struct json_value value;
    struct span string = {0};

    if (json_find(job->spec, key, &value))
        (void)json_get_string(value, arena, &string);
    return string;
}

struct span job_node(const struct job *job, struct arena *arena) {
    return spec_string(job, "node", arena);
}

static struct span command_line(const struct job *job, struct arena *arena) {
    struct json_value command, word;
    struct text line = TEXT_INIT;
    size_t cursor = 0;

    if (!json_find(job->spec, "command", &command) ||
        command.type != JSON_ARRAY)
        return (struct span){0};
    while (json_next(command, &cursor, arena, NULL, &word)) {
        struct span span;
        if (!json_get_string(word, arena, &span))
            continue;
        if (line.len > 0)
            text_addc(&line, ' ');
        word_quote(span, &line);
    }
    struct span result = arena_span(arena, text_span(&line));
    text_clear(&line);
    return result;
}

/* "roll back C1 and 3 more", for a rollback without a message. */
static struct span rollback_line(const struct job *job, struct arena *arena) {
    struct span text;
    struct meta meta;
    struct refusal why = {0};
    if (!job_has(job, JOB_ROLLS_BACK) ||
        !set_spec_meta(job->spec, arena, &text) ||
        !meta_parse(text, NULL, arena, &meta, &why) ||
        meta.dependencies.count == 0)
        return (struct span){0};
    struct span first = meta.dependencies.items[0];
    return span_of(
        meta.dependencies.count == 1
            ? arena_printf(arena, "roll back %.*s", (int)first.len, first.p)
            : arena_printf(arena, "roll back %.*s and %zu more", (int)first.len,
                           first.p, meta.dependencies.count - 1));
}

struct span job_what(const struct job *job, struct arena *arena) {
    if (job->name.len == 0)
        return command_line(job, arena);
    /* The id of a set without a message. */
    struct span title = spec_string(job, "title", arena);
    if (title.len > 0 && !span_equal(title, job->id))
        return title;
    struct span rollback = rollback_line(job, arena);
    return rollback.len > 0 ? rollback : title.len > 0 ? title : job->name;
}

void job_json_members(struct json *json, const struct job *job,
                      struct arena *arena) {
    json_put_span(json, "id", job->id);
    json_key(json, "kind");
    json_string(json, job_kind_word(job->kind));
    json_key(json, "class");
    json_string(json, job_class_word(job->job_class));
    key_state(json, "state", job->state);
    job_json_time(json, "since", job->since);
    json_key(json, "target");
    if (job->target.len > 0)
        json_span(json, job->target);
    else
        json_null(json);
    json_put_span(json, "reason", job->reason);
    json_put_i64(json, "attempt", job->attempt);
    json_put_span(json, "detail", job->detail);
    json_put_span(json, "what", job_what(job, arena));
    key_holds(json, job->holds);
    json_put_i64(json, "tasks", job->tasks);
    json_put_i64(json, "tasks_done", job->tasks_done);
    json_key(json, "max_running");
    if (job->max_running > 0)
        json_i64(json, job->max_running);
    else
        json_null(json);
    job_json_time(json, "admitted", job->admitted);
    job_json_time(json, "not_before", job->not_before);
    json_put_span(json, "actor", job->actor);
    json_key(json, "group");
    json_string(json, job_state_group(job->state));
    json_key(json, "rolled_back_by");
    if (job->rolled_back_by.len > 0)
        json_span(json, job->rolled_back_by);
    else
        json_null(json);
    job_json_time(json, "owed", job->owed);
    json_key(json, "num");
    json_u64_string(json, job->num);
}

void job_json(struct json *json, const struct job *job, struct arena *arena) {
    json_object(json);
    job_json_members(json, job, arena);
    json_end(json);
}

void job_submission_json(struct json *json, struct span spec, bool with_values,
                         struct arena *arena) {
    struct json_value whole, value, part;
    struct span key, name;
    size_t cursor = 0;

    if (spec.len == 0 || !json_parse_object(spec, &whole, NULL)) {
        json_null(json);
        return;
    }
    json_object(json);
    while (json_next(whole, &cursor, arena, &key, &value)) {
        size_t at = 0;
        json_key(json, arena_string(arena, key));
        if (with_values || !span_is(key, "env") || value.type != JSON_OBJECT) {
            json_raw(json, value.raw);
            continue;
        }
        json_object(json);
        while (json_next(value, &at, arena, &name, &part)) {
            json_key(json, arena_string(arena, name));
            json_null(json);
        }
        json_end(json);
    }
    json_end(json);
}

static void attempt_event(struct json *json, const char *event,
                          struct wall at) {
    if (at.ns == 0)
        return;
    json_object(json);
    json_key(json, "event");
    json_string(json, event);
    job_json_time(json, "at", at);
    json_end(json);
}

/* If an event has no time of its own, the end's time is used. */
static struct wall event_time(const struct store_attempt *attempt, int64_t ms) {
    return ms < 0 ? attempt->ended : wall_add_ms(attempt->started, ms);
}

/* Registries of earlier programs do not say that an attempt was cut short. */
static bool is_cut(const struct store_attempt *attempt,
                   const struct attempt_trace *trace) {
    bool answered = attempt->exit_code >= 0 || attempt->signal > 0;
    return trace->cut ||
           (!answered && (attempt->status == TASK_LOST ||
                          span_is(attempt->reason, REASON_AT_MOST_ONCE)));
}

/* Timestamps and resource usage; few callers need them. The same attempt always
 * has the same events, in this order; one that runs has the first of them. */
static void attempt_events(struct json *json,
                           const struct store_attempt *attempt) {
    struct attempt_trace trace;
    attempt_trace_parse(attempt->trace, &trace);
    json_key(json, "events");
    json_array(json);
    bool ended = attempt->ended.ns != 0, began = attempt->started.ns != 0;
    attempt_event(json, "running", attempt->started);
    if (ended && is_cut(attempt, &trace)) {
        /* Later it was seen that no process of it was left. */
        attempt_event(json, "lost", attempt->ended);
    } else if (ended && !began) {
        attempt_event(json, "failed-to-start", attempt->ended);
    } else if (ended) {
        attempt_event(json, "exited", event_time(attempt, trace.exited_ms));
        attempt_event(json, "pipes-closed",
                      event_time(attempt, trace.closed_ms));
        if (trace.status)
            attempt_event(json, "got-status",
                          event_time(attempt, trace.closed_ms));
        if (!trace.survivors)
            attempt_event(json, "reaped", event_time(attempt, trace.gone_ms));
    }
    json_end(json);
    json_put_bool(json, "leftovers", trace.leftovers);
    json_put_bool(json, "survivors", trace.survivors);
    json_put_i64(json, "read_bytes", trace.read_bytes);
    json_put_i64(json, "written_bytes", trace.written_bytes);
    json_put_i64(json, "procs_peak", trace.procs);
}

void job_loss_json(struct json *json, const struct output_loss *loss) {
    json_put_i64(json, "lost_bytes", (int64_t)loss->bytes);
    json_put_bool(json, "lost_origins", loss->origins);
    json_key(json, "lost_reason");
    if (loss->any)
        json_string(json, loss->why);
    else
        json_null(json);
}

void job_attempt_json(struct json *json, const struct job *job,
                      const struct store_attempt *attempt,
                      const struct output_loss *loss) {
    json_object(json);
    json_put_span(json, "job", job->id);
    json_key(json, "node");
    if (attempt->node.len > 0)
        json_span(json, attempt->node);
    else
        json_null(json);
    json_put_i64(json, "attempt", attempt->attempt);
    json_key(json, "status");
    json_string(json, job_task_status_word(attempt->status));
    job_json_time(json, "assigned", attempt->assigned);
    job_json_time(json, "started", attempt->started);
    job_json_time(json, "ended", attempt->ended);
    json_key(json, "exit_code");
    if (attempt->exit_code >= 0)
        json_i64(json, attempt->exit_code);
    else
        json_null(json);
    json_key(json, "signal");
    if (attempt->signal > 0)
        json_i64(json, attempt->signal);
    else
        json_null(json);
    json_put_span(json, "reason", attempt->reason);
    json_put_span(json, "detail", attempt->detail);
    json_put_span(json, "worker", attempt->worker);
    json_put_i64(json, "output_bytes", (int64_t)attempt->output_bytes);
    job_loss_json(json, loss);
    json_put_i64(json, "cpu_us", (int64_t)attempt->cpu_us);
    json_put_i64(json, "peak_kib", (int64_t)attempt->peak_kib);
    attempt_events(json, attempt);
    json_end(json);
}

static void usage_member(struct json *json, const char *key, uint64_t value) {
    json_key(json, key);
    if (value == 0)
        json_null(json);
    else
        json_i64(json, (int64_t)value);
}

void job_usage_json(struct json *json, uint64_t cpu_us, uint64_t peak_kib) {
    usage_member(json, "cpu_us", cpu_us);
    usage_member(json, "peak_kib", peak_kib);
}

void job_event_json(struct json *json, const struct store_event *event,
                    const struct store_attempt *ended) {
    json_object(json);
    json_key(json, "seq");
    json_u64_string(json, event->seq);
    job_json_time(json, "at", event->at);
    json_key(json, "kind");
    json_string(json, job_event_kind_word(event->kind));
    json_put_span(json, "id", event->id);
    key_state(json, "from", event->from);
    key_state(json, "to", event->to);
    json_put_i64(json, "attempt", event->attempt);
    json_put_span(json, "actor", event->actor);
    json_put_span(json, "reason", event->reason);
    json_put_span(json, "detail", event->detail);
    if (ended != NULL)
        job_usage_json(json, ended->cpu_us, ended->peak_kib);
    if (event->facts.len > 0) {
        json_key(json, "facts");
        json_raw(json, event->facts);
    }
    json_end(json);
}

/* ---- exit codes ---------------------------------------------------------- */

static int attempt_code(const struct store_attempt *attempt) {
    if (attempt->signal > 0)
        return 128 + attempt->signal;
    if (attempt->exit_code > 0)
        return attempt->exit_code;
    return 0;
}

/* The exit code of the first task that failed, from its last attempt. */
static int command_code(struct store_attempt *attempts, size_t count) {
    struct map last = MAP_INIT; /* of each node */
    int code = 0;

    for (size_t i = 0; i < count; i++) {
        const struct store_attempt *before = map_get(&last, attempts[i].node);
        if (before == NULL || before->attempt < attempts[i].attempt)
            (void)map_put(&last, attempts[i].node, &attempts[i]);
    }
    for (size_t i = 0; i < count && code == 0; i++)
        if (attempts[i].status != TASK_DONE &&
            map_get(&last, attempts[i].node) == &attempts[i])
            code = attempt_code(&attempts[i]);
    map_clear(&last);
    return code;
}

/* The job was cancelled while it waited, perhaps for another attempt: the
 * end of a former attempt does not count then. */
static bool ended_while_running(struct store *store, const struct job *job,
                                struct arena *arena) {
    struct store_event *events;
    size_t count;

    return store_events(store, job->state_seq - 1, job->num, 1, arena, &events,
                        &count, NULL) &&
           count == 1 && events[0].from == STATE_EXECUTING;
}

bool job_exit_code(struct store *store, const struct job *job,
                   struct arena *arena, int *ret_code, struct err *err) {
    struct store_attempt *attempts;
    size_t count;
    int code = 0;

    *ret_code = 0;
    if (job->state == STATE_DONE)
        return true;
    if (job->state == STATE_ABANDONED) {
        *ret_code = 125;
        return true;
    }
    if (job->state == STATE_TERMINATED &&
        !ended_while_running(store, job, arena)) {
        *ret_code = 143;
        return true;
    }
    int otherwise = job->state == STATE_TERMINATED      ? 143
                    : span_is(job->reason, REASON_PERM) ? 127
                                                        : 1;
    if (!job_has(job, JOB_HAS_EXIT_CODE)) {
        *ret_code = job->state == STATE_TERMINATED ? 143 : 1;
        return true;
    }
    if (!store_attempts(store, job->num, arena, &attempts, &count, err))
        return false;
    code = command_code(attempts, count);
    *ret_code = code != 0 ? code : otherwise;
    return true;
}
