/* The stream of events, and waiting for jobs to end. */
#include "api/api_call.h"
#include "api/api_handlers.h"

#include <inttypes.h>

#include "os/clock.h"
#include "api/job_json.h"
#include "scheduler/rollback_status.h"

/* ---- events -------------------------------------------------------------- */

enum { EVENTS_DEFAULT = 1000 };

struct stream {
    uint64_t num; /* of one job; 0: all */
    uint64_t after_seq, left;
    bool follows, sse;
};

static void event_line(struct api_call *call, const struct stream *stream,
                       const struct store_event *event) {
    struct json json;

    if (stream->sse)
        text_addf(&call->out, "id: %" PRIu64 "\nevent: %s\ndata: ", event->seq,
                  job_event_kind_word(event->kind));
    json_open(&json, &call->out);
    job_event_json(&json, event, NULL);
    text_adds(&call->out, stream->sse ? "\n\n" : "\n");
}

/* A dead listener is noticed by writing to it. */
static void keep_alive(struct api_call *call, const struct stream *stream) {
    struct mono now = clock_mono();

    if (call->out.len == 0 && call->beat.ns <= now.ns)
        text_adds(&call->out, stream->sse ? ": here\n\n" : "\n");
    if (call->out.len > 0)
        call->beat = mono_add_ms(now, API_BEAT_MS);
    api_turn_in(call, mono_ms_since(call->beat, now) + 1);
}

static void events_work(struct api_call *call) {
    struct stream *stream = call->state;
    size_t count = API_PAGE;

    while (count == API_PAGE && call->out.len < API_OUT_BYTES) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct store_event *events;
        struct err err = {0};
        size_t limit = stream->follows || stream->left > API_PAGE
                           ? API_PAGE
                           : (size_t)stream->left;
        count = 0;
        if (limit > 0 &&
            !store_events(call->api->options.store, stream->after_seq,
                          stream->num, limit, &arena, &events, &count, &err)) {
            api_fail(call, &err);
            return;
        }
        for (size_t i = 0; i < count; i++) {
            event_line(call, stream, &events[i]);
            stream->after_seq = events[i].seq;
        }
        if (!stream->follows) {
            stream->left -= count;
            if (count < API_PAGE)
                api_end(call);
        }
    }
    if (stream->follows && !call->ended)
        keep_alive(call, stream);
}

/* ?after= (seq) &tail= (about so many of the newest) &id= &limit= &follow=1 */
void api_events(struct api_call *call) {
    static const char *const keys[] = {"after", "tail",   "id",
                                       "limit", "follow", NULL};
    struct stream *stream = arena_alloc(&call->arena, sizeof *stream);
    struct store *store = call->api->options.store;
    struct span id = api_query(call, "id");
    uint64_t tail = UINT64_MAX, seq = store_seq(store);
    struct job job;

    stream->left = EVENTS_DEFAULT;
    stream->sse = call->request.wants_sse;
    stream->follows = stream->sse || api_query_flag(call, "follow");
    if (!api_query_check(call, keys) ||
        !api_query_u64(call, "after", UINT64_MAX, &stream->after_seq) ||
        !api_query_u64(call, "tail", UINT64_MAX, &tail) ||
        !api_query_u64(call, "limit", UINT64_MAX, &stream->left))
        return;
    if (tail < seq && stream->after_seq < seq - tail)
        stream->after_seq = seq - tail;
    if (call->request.last_event_id.len > 0 &&
        !span_u64(call->request.last_event_id, &stream->after_seq)) {
        struct err err = {0};
        err_set(&err, ERR_USAGE, "Last-Event-ID is not a number");
        api_fail(call, &err);
        return;
    }
    if (id.p != NULL) {
        call->params[0] = id;
        if (!api_job(call, &job))
            return;
        stream->num = job.num;
    }
    call->state = stream;
    call->work = events_work;
    call->is_long = stream->follows;
    call->beat = mono_add_ms(clock_mono(), API_BEAT_MS);
    if (stream->follows)
        api_watch(call, stream->num);
    api_reply(call, 200, stream->sse ? api_sse : api_lines);
}

/* ---- wait ---------------------------------------------------------------- */

/* Jobs are waited for one after the other: all must end anyway. */
struct waiting {
    uint64_t *nums;
    size_t count, at;
};

static void wait_answer(struct api_call *call) {
    struct waiting *waiting = call->state;
    struct store *store = call->api->options.store;
    struct err err = {0};

    for (size_t i = 0; i < waiting->count; i++) {
        struct job job;
        int code = 0;
        if (!store_job(store, waiting->nums[i], &call->arena, &job, &err) ||
            !job_exit_code(store, &job, &call->arena, &code, &err)) {
            api_fail(call, &err);
            return;
        }
        struct json json;
        json_open(&json, &call->out);
        json_object(&json);
        job_json_members(&json, &job, &call->arena);
        json_key(&json, "exit_code");
        json_i64(&json, code);
        json_end(&json);
        text_addc(&call->out, '\n');
    }
    api_reply(call, 200, api_lines);
    api_end(call);
}

static void wait_too_long(struct api_call *call, const struct job *job,
                          const struct job *rollback) {
    struct err err = {0};

    if (rollback->num != 0)
        err_set(&err, ERR_TIMEOUT,
                "job '%.*s' has not ended: rollback '%.*s' has abandoned it, "
                "but has not ended itself",
                (int)job->id.len, job->id.p, (int)rollback->id.len,
                rollback->id.p);
    else
        err_set(&err, ERR_TIMEOUT, "job '%.*s' has not ended: %s",
                (int)job->id.len, job->id.p, job_state_word(job->state));
    api_fail(call, &err);
}

/* An undecided set is moved only by the rollback, if that succeeds. */
static void wait_on(struct api_call *call, const struct job *job,
                    const struct job *rollback) {
    struct mono now = clock_mono();

    if (call->deadline.ns <= now.ns) {
        wait_too_long(call, job, rollback);
        return;
    }
    api_watch(call, rollback->num != 0 ? rollback->num : job->num);
    if (call->deadline.ns != MONO_NEVER.ns)
        api_turn_in(call, mono_ms_since(call->deadline, now) + 1);
}

static void wait_work(struct api_call *call) {
    struct waiting *waiting = call->state;
    struct store *store = call->api->options.store;

    if (call->status != 0)
        return;
    for (; waiting->at < waiting->count; waiting->at++) {
        CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
        struct job job, rollback;
        bool ended;
        struct err err = {0};
        if (!store_job(store, waiting->nums[waiting->at], &arena, &job, &err) ||
            !rollback_status_of(store, &job, &arena, &ended, &rollback, &err)) {
            api_fail(call, &err);
            return;
        }
        if (ended)
            continue;
        wait_on(call, &job, &rollback);
        return;
    }
    wait_answer(call);
}

/* ?id=A&id=B &timeout=30s: one line per job, in their order, when all ended */
void api_wait(struct api_call *call) {
    static const char *const keys[] = {"id", "timeout", NULL};
    struct waiting *waiting = arena_alloc(&call->arena, sizeof *waiting);
    struct span timeout = api_query(call, "timeout");
    struct err err = {0};
    int64_t ms;

    if (!api_query_check(call, keys))
        return;
    waiting->nums =
        arena_alloc(&call->arena, call->query_count * sizeof *waiting->nums);
    for (size_t i = 0; i < call->query_count; i++) {
        struct job job;
        if (!span_is(call->query[i].key, "id"))
            continue;
        call->params[0] = call->query[i].value;
        if (!api_job(call, &job))
            return;
        waiting->nums[waiting->count++] = job.num;
    }
    if (waiting->count == 0)
        err_set(&err, ERR_USAGE, "'id' is missing: the jobs to wait for");
    else if (timeout.p != NULL && (!duration_parse(timeout, &ms) || ms < 0))
        err_set(&err, ERR_USAGE, "'%.*s' is not a time; write 90, 90s, 15m",
                (int)timeout.len, timeout.p);
    if (err.kind != ERR_NONE) {
        api_fail(call, &err);
        return;
    }
    if (timeout.p != NULL)
        call->deadline = mono_add_ms(clock_mono(), ms);
    call->state = waiting;
    call->work = wait_work;
    call->is_long = true;
}
