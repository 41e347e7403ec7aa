/* cancel, retry, hold, release: for the given jobs, or for all that match;
 * limit: for the given jobs. */
#include "cli/commands.h"
#include "cli/call_connect.h"
#include "cli/console.h"

#include <inttypes.h>
#include <string.h>

#include "core/job.h"
#include "wire/submission.h"

static void add_flag(const struct call *call, const char *flag,
                     struct json *json) {
    if (!call_knows(call, flag) || !call_has(call, flag))
        return;
    json_key(json, flag);
    json_bool(json, true);
}

static void add_max_running(const struct call *call, struct json *json) {
    uint64_t number;
    if (!call_knows(call, "max-running") ||
        !span_u64(span_of(call_value(call, "max-running")), &number))
        return;
    json_key(json, "max_running");
    json_i64(json, (int64_t)number);
}

static void control_body(const struct call *call, struct text *body) {
    const char *because = call_value(call, "because");
    struct json json;

    json_open(&json, body);
    json_object(&json);
    if (because != NULL) {
        json_key(&json, "reason");
        json_string(&json, because);
    }
    add_flag(call, "kill", &json);
    add_flag(call, "failed", &json);
    add_max_running(call, &json);
    json_end(&json);
}

/* The ids, separated by blanks, of failed jobs among those that the job depends
 * on (`path` is "depends") or that depend on it ("dependents"). */
static const char *failed_around(struct call *call, struct client *client,
                                 const char *id, const char *path) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT, ids = TEXT_INIT;
    if (!client_get(client, &reply, NULL, "/api/v1/jobs/%s/%s", id, path))
        return "";
    struct span rest = text_span(&reply), line;
    while (span_cut(&rest, '\n', &line) && line.len > 0) {
        const char *state = call_line_text(line, "state", &call->arena);
        enum edge_kind kind;
        if (job_edge_kind_parse(
                span_of(call_line_text(line, "relation", &call->arena)),
                &kind) &&
            (kind == EDGE_DEPENDENCY || kind == EDGE_AFTER_SHARE) &&
            (strcmp(state, "failed") == 0 || strcmp(state, "terminated") == 0))
            text_addf(&ids, "%s%s", ids.len > 0 ? " " : "",
                      call_line_text(line, "id", &call->arena));
    }
    return arena_string(&call->arena, text_span(&ids));
}

/* A retry neither repeats what the job depends on nor what depends on it. */
static void note_retry(struct call *call, struct client *client,
                       const char *word) {
    const char *id = client_word(&call->arena, word);
    const char *before = failed_around(call, client, id, "depends");
    const char *after = failed_around(call, client, id, "dependents");
    if (before[0] != '\0')
        console_note("pointsman: %s fails again while its dependencies have "
                     "not succeeded: pointsman retry %s",
                     word, before);
    if (after[0] != '\0')
        console_note("pointsman: failed jobs that depend on %s are not retried "
                     "with it: pointsman retry %s",
                     word, after);
}

static int control_named(struct call *call, struct client *client) {
    CLEANUP(text_clear) struct text body = TEXT_INIT, reply = TEXT_INIT;
    int status = 0;

    control_body(call, &body);
    for (size_t i = 0; i < call->word_count; i++) {
        struct err err = {0};
        const char *uri = arena_printf(
            &call->arena, "/api/v1/jobs/%s/%s",
            client_word(&call->arena, call->words[i]), call->command->name);
        if (!client_call(client, API_POST, uri, text_span(&body), &reply,
                         &err)) {
            int failed = console_error(&err);
            status = status == 0 ? failed : status;
        } else if (strcmp(call->command->name, "retry") == 0) {
            note_retry(call, client, call->words[i]);
        }
    }
    return status;
}

static bool bulk_call(struct call *call, struct client *client, bool dry,
                      int64_t count, struct text *reply, struct err *err) {
    CLEANUP(text_clear) struct text body = TEXT_INIT;
    const char *because = call_value(call, "because");
    struct json json;

    json_open(&json, &body);
    json_object(&json);
    json_key(&json, "verb");
    json_string(&json, call->command->name);
    json_key(&json, "filter");
    json_string(&json, call_value(call, "match"));
    if (because != NULL) {
        json_key(&json, "reason");
        json_string(&json, because);
    }
    add_flag(call, "kill", &json);
    if (dry) {
        json_key(&json, "dry_run");
        json_bool(&json, true);
    } else {
        json_key(&json, "count");
        json_i64(&json, count);
    }
    json_end(&json);
    return client_call(client, API_POST, "/api/v1/bulk", text_span(&body),
                       reply, err);
}

static int control_matching(struct call *call, struct client *client) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    struct err err = {0};

    if (!bulk_call(call, client, true, 0, &reply, &err))
        return console_error(&err);
    int64_t count = call_line_number(text_span(&reply), "count");
    if (!call_has(call, "yes")) {
        (void)console_printf("%" PRId64 "\n", count);
        if (count == 0)
            console_note("no job matches");
        else
            console_note("%" PRId64
                         " job%s; nothing was done, repeat with --yes",
                         count, count == 1 ? " matches" : "s match");
        return 0;
    }
    if (!bulk_call(call, client, false, count, &reply, &err))
        return console_error(&err);
    (void)console_printf("%" PRId64 "\n",
                         call_line_number(text_span(&reply), "done"));
    int64_t passed = call_line_number(text_span(&reply), "passed");
    if (passed > 0)
        console_note("%" PRId64
                     " of them had changed meanwhile and were skipped",
                     passed);
    return 0;
}

static int order(struct call *call) {
    struct client *client = NULL;
    struct err err = {0};
    const char *filter =
        call_knows(call, "match") ? call_value(call, "match") : NULL;
    bool ok = true;

    /* "--yes" and "-y" are rather options than words to exclude. */
    if (filter != NULL && filter[0] == '-' &&
        (filter[1] == '-' || strlen(filter) == 2))
        ok = err_set(&err, ERR_USAGE,
                     "'--match' needs a filter before '%s' (%s --match "
                     "state:pending --yes)",
                     filter, call->command->name);
    else if (filter != NULL && call->word_count > 0)
        ok = err_set(&err, ERR_USAGE, "give IDs or --match, not both: '%s'",
                     call->words[0]);
    else if (filter == NULL && call->word_count == 0)
        ok = err_set(&err, ERR_USAGE, "'%s' needs an ID%s", call->command->name,
                     call_knows(call, "match") ? ", or --match FILTER" : "");
    else if (filter != NULL && call_knows(call, "failed") &&
             call_has(call, "failed"))
        ok = err_set(&err, ERR_USAGE,
                     "--failed needs the IDs of arrays; it cannot be combined "
                     "with --match");
    ok = ok && call_operands_not_empty(call, SIZE_MAX, &err);
    if (!ok || !call_client(call, &client, &err))
        return console_error(&err);
    int status = filter == NULL ? control_named(call, client)
                                : control_matching(call, client);
    client_close(client);
    return console_finish(status);
}

int cmd_limit(struct call *call) {
    struct err err = {0};
    long long most = -1;

    if (!call_number(call, "max-running", 0, SUBMISSION_RUNNING, &most, &err))
        return console_error(&err);
    if (most < 0) {
        err_set(&err, ERR_USAGE,
                "say how many tasks may run at once: --max-running N; 0: as "
                "many as there are slots");
        return console_error(&err);
    }
    return order(call);
}

int cmd_cancel(struct call *call) {
    return order(call);
}

int cmd_retry(struct call *call) {
    return order(call);
}

int cmd_hold(struct call *call) {
    return order(call);
}

int cmd_release(struct call *call) {
    return order(call);
}
