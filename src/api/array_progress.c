#include "api/array_progress.h"

#include <inttypes.h>

#include "api/api_call.h"
#include "api/api_handlers.h"

bool array_progress_find(struct store *store, const struct job *job,
                         struct wall now, struct array_progress *ret_progress,
                         struct err *err) {
    size_t counts[TASK_STATUSES], ended;
    int64_t ms = wall_ms_since(now, job->since);

    if (!store_task_counts(store, job, counts, err))
        return false;
    *ret_progress = (struct array_progress){.tasks = job->tasks,
                                            .done = counts[TASK_DONE],
                                            .failed = counts[TASK_FAILED],
                                            .running = counts[TASK_RUNNING],
                                            .left_s = -1};
    if (job->state != STATE_EXECUTING || ms <= 0)
        return true;
    if (!store_tasks_ended(store, job->num, job->since, &ended, err))
        return false;
    ret_progress->per_s = (double)ended * 1000 / (double)ms;
    size_t over = ret_progress->done + ret_progress->failed;
    if (ended > 0 && over <= job->tasks)
        ret_progress->left_s =
            (int64_t)((double)(job->tasks - over) / ret_progress->per_s + 0.5);
    return true;
}

/* "41/s", "2.5/s", "12/min", "3/h" */
static void rate_format(double per_s, struct text *out) {
    if (per_s >= 10)
        text_addf(out, "%.0f/s", per_s);
    else if (per_s >= 1)
        text_addf(out, "%.1f/s", per_s);
    else if (per_s * 60 >= 1)
        text_addf(out, "%.0f/min", per_s * 60);
    else
        text_addf(out, "%.1f/h", per_s * 3600);
}

/* "45s", "12m", "3h 20m", "2d 4h" */
static void left_format(int64_t s, struct text *out) {
    if (s < 120)
        text_addf(out, "%" PRId64 "s", s);
    else if (s < 7200)
        text_addf(out, "%" PRId64 "m", (s + 30) / 60);
    else if (s < 172800)
        text_addf(out, "%" PRId64 "h %" PRId64 "m", s / 3600, s % 3600 / 60);
    else
        text_addf(out, "%" PRId64 "d %" PRId64 "h", s / 86400,
                  s % 86400 / 3600);
}

static void line_format(const struct array_progress *progress,
                        struct text *out) {
    text_addf(out, "%zu of %zu done", progress->done, progress->tasks);
    if (progress->failed > 0)
        text_addf(out, ", %zu failed", progress->failed);
    if (progress->running > 0)
        text_addf(out, ", %zu running", progress->running);
    if (progress->per_s > 0) {
        text_adds(out, ", ");
        rate_format(progress->per_s, out);
    }
    if (progress->left_s >= 0) {
        text_adds(out, ", about ");
        left_format(progress->left_s, out);
        text_adds(out, " left");
    }
}

static size_t percent(const struct array_progress *progress) {
    return progress->tasks == 0
               ? 0
               : (progress->done + progress->failed) * 100 / progress->tasks;
}

static bool runs(const struct job *job) {
    return job->state == STATE_EXECUTING && (job->flags & JOB_ARRAY) != 0;
}

void array_progress_line(struct api_call *call, uint64_t num,
                         struct text *out) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store *store = call->api->options.store;
    struct array_progress progress;
    struct job job;

    if (!store_job(store, num, &arena, &job, NULL) || !runs(&job) ||
        !array_progress_find(store, &job, api_now(call), &progress, NULL))
        return;
    text_addf(out, "%zu%% ", percent(&progress));
    line_format(&progress, out);
}

void array_progress_json(struct json *json,
                         const struct array_progress *progress) {
    CLEANUP(text_clear) struct text line = TEXT_INIT;

    json_put_i64(json, "tasks", (int64_t)progress->tasks);
    json_put_i64(json, "done", (int64_t)progress->done);
    json_put_i64(json, "failed", (int64_t)progress->failed);
    json_put_i64(json, "running", (int64_t)progress->running);
    json_put_i64(json, "percent", (int64_t)percent(progress));
    json_put_i64(json, "per_hour", (int64_t)(progress->per_s * 3600 + 0.5));
    json_key(json, "left_s");
    if (progress->left_s >= 0)
        json_i64(json, progress->left_s);
    else
        json_null(json);
    line_format(progress, &line);
    json_put_span(json, "line", text_span(&line));
}

/* An empty object for a job that is no array, or that does not execute. */
void api_progress(struct api_call *call) {
    static const char *const keys[] = {NULL};
    struct array_progress progress;
    struct err err = {0};
    struct job job;
    struct json json;

    if (!api_query_check(call, keys) || !api_job(call, &job))
        return;
    bool shows = runs(&job);
    if (shows && !array_progress_find(call->api->options.store, &job,
                                      api_now(call), &progress, &err)) {
        api_fail(call, &err);
        return;
    }
    api_reply(call, 200, api_json);
    json_open(&json, &call->out);
    json_object(&json);
    if (shows)
        array_progress_json(&json, &progress);
    json_end(&json);
    text_addc(&call->out, '\n');
    api_end(call);
}
