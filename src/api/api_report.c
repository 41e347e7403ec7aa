/* The outcome of jobs, in figures. */
#include "api/api_call.h"
#include "api/api_handlers.h"

#include "api/job_json.h"
#include "core/reason.h"
#include "core/report.h"
#include "scheduler/runner.h"

struct reporting {
    struct api_walk walk;
    struct wall since;
    struct report *report;
};

static void reporting_clear(struct api_call *call) {
    struct reporting *reporting = call->state;
    report_free(reporting->report);
}

/* What they used, and their times, which are those of the processes: an
 * assignment may wait for its start for long. If the server died, nobody saw
 * when the process started. */
static void add_attempts(const struct store_attempt *attempts, size_t count,
                         struct report_sample *sample) {
    for (size_t i = 0; i < count; i++) {
        const struct store_attempt *attempt = &attempts[i];
        bool lost =
            attempt->started.ns == 0 && attempt->ended.ns != 0 &&
            (attempt->status == TASK_LOST || attempt->status == TASK_DONE);
        report_sample_attempt(sample,
                              lost ? attempt->assigned : attempt->started,
                              lost ? (struct wall){0} : attempt->ended);
        sample->cpu_us += attempt->cpu_us;
        if (attempt->peak_kib > sample->peak_kib)
            sample->peak_kib = attempt->peak_kib;
    }
}

/* Its first process may be running: then its attempt has no times yet. */
static void add_running(struct api_call *call, const struct job *job,
                        struct report_sample *sample) {
    const struct api_roles *roles = call->api->options.roles;
    struct run_usage usage = {0};
    if (job->state == STATE_EXECUTING && roles != NULL && roles->usage != NULL)
        roles->usage(roles->ctx, job->num, &usage);
    report_sample_attempt(sample, usage.started, (struct wall){0});
}

/* True if it has rolled something back. */
static bool is_rollback(const struct job *job) {
    return job_has(job, JOB_ROLLS_BACK) && job->state == STATE_DONE &&
           !span_is(job->reason, REASON_RB_NOTHING);
}

static bool add_job(struct api_call *call, const struct job *job,
                    struct arena *arena, struct err *err) {
    struct reporting *reporting = call->state;
    struct store_attempt *attempts;
    size_t count;
    struct report_sample sample = {
        .admitted = job->admitted,
        .job_class = job->job_class,
        .state = job->state,
        .target = job->target,
        .reason = job->reason,
        .wait_ms = -1,
        .run_ms = -1,
        /* Its checks and landings. */
        .adds = job_has(job, JOB_LANDS) && !job_has(job, JOB_ROLLS_BACK),
        .inverted = !span_equal(job_rank(job), job->key),
        .rolled_back = job->rolled_back_by.len > 0,
        .rollback = is_rollback(job),
        .rollback_empty = span_is(job->reason, REASON_RB_EMPTY),
        .owed = job->owed.ns > 0,
        .overdue = job->owed.ns > 0 && job->owed.ns <= api_now(call).ns,
    };
    if (job->admitted.ns < reporting->since.ns)
        return true;
    if (job->attempt > 0) {
        if (!store_attempts(call->api->options.store, job->num, arena,
                            &attempts, &count, err))
            return false;
        add_attempts(attempts, count, &sample);
        add_running(call, job, &sample);
    }
    report_add(reporting->report, &sample);
    return true;
}

static void key_ms(struct json *json, const char *key, int64_t ms) {
    json_key(json, key);
    if (ms < 0)
        json_null(json);
    else
        json_i64(json, ms);
}

static void key_word(struct json *json, const char *key, struct span word) {
    json_key(json, key);
    if (word.len == 0)
        json_null(json);
    else
        json_span(json, word);
}

/* A set that was rolled back is no longer applied. */
static void groups_json(struct json *json, const struct report_group *group) {
    json_key(json, "groups");
    json_object(json);
    for (unsigned state = 0; state < JOB_STATES; state++) {
        const char *word = job_state_group((enum job_state)state);
        size_t count = 0;
        bool seen = false;
        for (unsigned i = 0; i < JOB_STATES; i++) {
            if (strcmp(job_state_group((enum job_state)i), word) != 0)
                continue;
            seen |= i < state;
            count += group->count[i];
        }
        if (seen)
            continue;
        json_key(json, word);
        json_i64(
            json,
            (int64_t)(count - (state == STATE_DONE ? group->rolled_back : 0)));
    }
    json_end(json);
}

static void group_json(struct api_call *call,
                       const struct report_group *group) {
    struct json json;
    json_open(&json, &call->out);
    json_object(&json);
    key_word(&json, "day", group->day);
    key_word(&json, "class", group->job_class);
    key_word(&json, "target", group->target);
    json_key(&json, "jobs");
    json_i64(&json, (int64_t)group->jobs);
    for (unsigned state = 0; state < JOB_STATES; state++) {
        json_key(&json, job_state_word((enum job_state)state));
        json_i64(&json, (int64_t)group->count[state]);
    }
    groups_json(&json, group);
    json_key(&json, "rolled_back");
    json_i64(&json, (int64_t)group->rolled_back);
    json_key(&json, "rollbacks");
    json_i64(&json, (int64_t)group->rollbacks);
    json_key(&json, "rollbacks_empty");
    json_i64(&json, (int64_t)group->rollbacks_empty);
    json_key(&json, "owed");
    json_i64(&json, (int64_t)group->owed);
    json_key(&json, "overdue");
    json_i64(&json, (int64_t)group->overdue);
    json_key(&json, "inversions");
    json_i64(&json, (int64_t)group->inverted);
    key_ms(&json, "wait_p50_ms", group->wait_p50_ms);
    key_ms(&json, "wait_p95_ms", group->wait_p95_ms);
    key_ms(&json, "run_p50_ms", group->run_p50_ms);
    key_ms(&json, "run_p95_ms", group->run_p95_ms);
    job_usage_json(&json, group->cpu_us, group->peak_kib);
    json_key(&json, "failures");
    json_object(&json);
    for (size_t i = 0; i < group->failure_count; i++) {
        CLEANUP(text_clear) struct text reason = TEXT_INIT;
        text_addspan(&reason, group->failures[i].reason);
        json_key(&json, text_string(&reason));
        json_i64(&json, (int64_t)group->failures[i].count);
    }
    json_end(&json);
    json_end(&json);
    text_addc(&call->out, '\n');
}

static void print_groups(struct api_call *call) {
    struct reporting *reporting = call->state;
    struct report_group *groups;
    size_t count;
    report_finish(reporting->report, &call->arena, &groups, &count);
    for (size_t i = 0; i < count; i++)
        group_json(call, &groups[i]);
}

static bool parse_by(struct span list, struct report_by *ret_by,
                     struct err *err) {
    struct span word;
    *ret_by = (struct report_by){0};
    while (list.len > 0 && span_cut(&list, ',', &word)) {
        if (span_is(word, "day"))
            ret_by->day = true;
        else if (span_is(word, "class"))
            ret_by->job_class = true;
        else if (span_is(word, "target"))
            ret_by->target = true;
        else
            return err_set(err, ERR_USAGE,
                           "'--by' takes day, class and target, not '%.*s'",
                           (int)word.len, word.p);
    }
    return true;
}

/* ?since= (RFC 3339) &by=day,class,target */
void api_report(struct api_call *call) {
    static const char *const keys[] = {"since", "by", NULL};
    struct reporting *reporting = arena_alloc(&call->arena, sizeof(*reporting));
    struct span since = api_query(call, "since"), by = api_query(call, "by");
    struct report_by groups;
    struct err err = {0};
    if (!api_query_check(call, keys))
        return;
    bool ok = parse_by(by.p ? by : SPAN("class,target"), &groups, &err);
    if (ok && since.p && !wall_parse(since, &reporting->since))
        ok = err_set(&err, ERR_USAGE,
                     "'--since' is a time like 2026-07-01T00:00:00Z, not "
                     "'%.*s'",
                     (int)since.len, since.p);
    if (!ok) {
        api_fail(call, &err);
        return;
    }
    reporting->walk = (struct api_walk){.visit = add_job, .last = print_groups};
    reporting->report = report_new(&groups);
    api_walk(call, &reporting->walk);
    call->clear = reporting_clear;
    api_reply(call, 200, api_lines);
}
