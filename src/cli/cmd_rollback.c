/* rollback: previews a rollback, and submits the set that performs it. */
#include "cli/commands.h"
#include "cli/call_connect.h"
#include "cli/console.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/fd.h"
#include "core/rollback.h"
#include "landing/pack.h"

/* The base's answer: a summary, then one line per member. */
struct preview {
    struct arena *arena;
    struct span summary;
    struct span *lines;
    size_t count, cap;
};

static bool take_line(void *ctx, struct span line) {
    struct preview *preview = ctx;
    struct span own = arena_span(preview->arena, line);
    if (preview->summary.p == NULL) {
        preview->summary = own;
        return true;
    }
    if (preview->count == preview->cap) {
        size_t cap = preview->cap ? preview->cap * 2 : 64;
        struct span *more = arena_alloc(preview->arena, cap * sizeof(*more));
        if (preview->count > 0)
            memcpy(more, preview->lines, preview->count * sizeof(*more));
        preview->lines = more;
        preview->cap = cap;
    }
    preview->lines[preview->count++] = own;
    return true;
}

/* Words may be prefixes of ids, or @last: the base resolves them. */
static bool full_id(struct call *call, struct client *client, const char *word,
                    struct text *out, struct err *err) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    if (!client_get(client, &reply, err, "/api/v1/jobs/%s",
                    client_word(&call->arena, word)))
        return false;
    text_addf(out, "%s%s", out->len > 0 ? "," : "",
              call_line_text(text_span(&reply), "id", &call->arena));
    return true;
}

static void preview_uri(struct call *call, struct text *ids, const char *path,
                        struct call_uri *ret_uri) {
    call_uri_begin(ret_uri, path);
    call_uri_add(ret_uri, "ids", text_string(ids));
    call_uri_add(ret_uri, "closure", call_value(call, "closure"));
    call_uri_add(ret_uri, "limit", call_value(call, "limit"));
}

static bool ask(struct call *call, struct client *client, struct text *ids,
                struct preview *preview, struct err *err) {
    struct client_lines lines = {.line = take_line, .ctx = preview};
    struct call_uri uri;
    for (size_t i = 0; i < call->word_count; i++)
        if (!full_id(call, client, call->words[i], ids, err))
            return false;
    preview_uri(call, ids, "/api/v1/rollback", &uri);
    bool ok = client_stream(client, API_GET, text_string(&uri.text), SPAN(""),
                            client_take_lines, &lines, err);
    if (ok)
        client_lines_end(&lines);
    text_clear(&lines.rest);
    text_clear(&uri.text);
    return ok &&
           (preview->summary.p != NULL ||
            err_set(err, ERR_UNAVAILABLE, "the server sent an empty answer"));
}

/* ---- the reverse merges, tried ------------------------------------------- */

struct merges {
    bool tried, clean;
    const char *reason; /* "" or why they fail: "rb-conflict" */
    const char *detail; /* a sentence; if they are clean, a note about members
                           of which nothing is left; or "" */
};

static bool try_merges(struct call *call, struct client *client,
                       const struct preview *preview, struct text *ids,
                       struct merges *ret_merges, struct err *err) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    struct call_uri uri;
    *ret_merges = (struct merges){0};
    if (call_line_number(preview->summary, "reverts") == 0)
        return true;
    preview_uri(call, ids, "/api/v1/rollback/merges", &uri);
    bool ok = client_call(client, API_GET, text_string(&uri.text), SPAN(""),
                          &reply, err);
    text_clear(&uri.text);
    if (!ok)
        return false;
    struct span line = text_span(&reply);
    const char *verdict = call_line_text(line, "verdict", &call->arena);
    const char *text = call_line_text(line, "text", &call->arena);
    const char *note = strchr(text, ' '); /* "COMMIT NOTE" */
    ret_merges->tried = verdict[0] != '\0';
    ret_merges->clean = strcmp(verdict, "done") == 0;
    ret_merges->reason = call_line_text(line, "reason", &call->arena);
    ret_merges->detail = !ret_merges->clean ? text
                         : note != NULL     ? note + 1
                                            : "";
    return true;
}

/* ---- showing ------------------------------------------------------------- */

static const char *fate_text(struct span line, struct arena *arena) {
    const char *fate = call_line_text(line, "fate", arena);
    const char *by = call_line_text(line, "rolled_back_by", arena);
    if (strcmp(fate, "revert") == 0)
        return "is reverted";
    if (strcmp(fate, "abandon") == 0)
        return "is abandoned";
    if (strcmp(fate, "stop") == 0)
        return "is stopped and abandoned";
    if (strcmp(fate, "stays") == 0)
        return "is unchanged";
    if (strcmp(fate, "restore") == 0)
        return "is restored";
    return by[0] != '\0' ? arena_printf(arena, "is rolled back by %s", by)
                         : "needs nothing";
}

static void show_member(struct span line, struct arena *arena) {
    (void)console_printf(
        "%*s%s  %s, %s%s\n", 2 * (int)call_line_number(line, "depth"), "",
        call_line_text(line, "id", arena), call_line_text(line, "state", arena),
        fate_text(line, arena),
        call_line_flag(line, "by_file")    ? " (same file)"
        : call_line_flag(line, "by_group") ? " (same group)"
                                           : "");
}

/* {"merges":"clean","detail":""}, or why they fail, as the line after the
 * members. */
static void merges_json(const struct merges *merges) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct json json;
    json_open(&json, &out);
    json_object(&json);
    json_key(&json, "merges");
    json_string(&json, merges->clean               ? "clean"
                       : merges->reason[0] == '\0' ? "failed"
                                                   : merges->reason);
    json_key(&json, "detail");
    json_string(&json, merges->detail);
    json_end(&json);
    (void)console_printf("%s\n", text_string(&out));
}

static void show_merges(struct call *call, const struct merges *merges) {
    const char *detail = call_printable(merges->detail, &call->arena);
    if (call_has(call, "json"))
        merges_json(merges);
    else if (merges->clean)
        (void)console_printf("the reverse merges are clean%s%s\n",
                             detail[0] != '\0' ? "; " : "", detail);
    else
        (void)console_printf("the reverse merges fail: %s%s%s\n",
                             merges->reason,
                             merges->reason[0] != '\0' ? ": " : "", detail);
}

static void show(struct call *call, const struct preview *preview) {
    struct arena *arena = &call->arena;
    int64_t restores = call_line_number(preview->summary, "restores");
    int64_t files = call_line_number(preview->summary, "files");
    if (call_has(call, "json")) {
        (void)console_printf("%s\n", arena_string(arena, preview->summary));
        for (size_t i = 0; i < preview->count; i++)
            (void)console_printf("%s\n",
                                 arena_string(arena, preview->lines[i]));
        return;
    }
    for (size_t i = 0; i < preview->count; i++)
        show_member(preview->lines[i], arena);
    (void)console_printf(
        "%" PRId64 " reverted, %" PRId64 " abandoned, %" PRId64
        " stopped, %s%" PRId64 " file%s\n",
        call_line_number(preview->summary, "reverts"),
        call_line_number(preview->summary, "abandons"),
        call_line_number(preview->summary, "stops"),
        restores == 0 ? ""
                      : arena_printf(arena, "%" PRId64 " restored, ", restores),
        files, text_plural((uint64_t)files));
}

/* ---- the deed ------------------------------------------------------------ */

/* All of it is rolled back already: the rollback succeeds and does nothing. */
static bool is_nothing(struct call *call, const struct preview *preview) {
    return strcmp(call_line_text(preview->summary, "verdict", &call->arena),
                  rollback_verdict_reason(ROLLBACK_NOTHING)) == 0;
}

static bool verdict_is_good(struct call *call, const struct preview *preview,
                            struct err *err) {
    const char *verdict =
        call_line_text(preview->summary, "verdict", &call->arena);
    const char *detail =
        call_line_text(preview->summary, "detail", &call->arena);
    if (strcmp(verdict, "go") == 0 || is_nothing(call, preview))
        return true;
    return err_set(err,
                   strcmp(verdict, rollback_verdict_reason(ROLLBACK_UNKNOWN)) ==
                           0
                       ? ERR_NO_JOB
                       : ERR_REFUSED,
                   "%s: %s", verdict, detail);
}

static const char *const *split_ids(struct call *call, struct text *ids,
                                    size_t *ret_count) {
    const char **items =
        arena_alloc(&call->arena, (call->word_count + 1) * sizeof(*items));
    struct span rest = text_span(ids), one;
    *ret_count = 0;
    while (span_cut(&rest, ',', &one))
        items[(*ret_count)++] = arena_string(&call->arena, one);
    return items;
}

static bool send_set(struct client *client, struct pack_result *result,
                     struct err *err) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    CLEANUP(fd_close) int fd = open(result->path, O_RDONLY | O_CLOEXEC);
    struct call_uri uri;
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", result->path);
    call_uri_begin(&uri, "/api/v1/changes");
    call_uri_add(&uri, "name", result->name);
    bool ok = client_send_file(client, text_string(&uri.text), fd, &reply, err);
    text_clear(&uri.text);
    return ok;
}

static bool hand_in(struct call *call, struct client *client,
                    const struct preview *preview, struct text *ids,
                    struct pack_result *ret_packed, struct err *err) {
    const char *tmp = getenv("TMPDIR");
    char *dir = arena_printf(&call->arena, "%s/pointsman-XXXXXX",
                             tmp == NULL || tmp[0] == '\0' ? "/tmp" : tmp);
    long long limit = 0;
    struct pack_options options = {
        .rollback = true,
        .target = call_line_text(preview->summary, "target", &call->arena),
        .closure = call_value(call, "closure"),
        .message = call_value(call, "because"),
    };
    if (!call_number(call, "limit", 1, 1000000, &limit, err))
        return false;
    options.rb_limit = (uint64_t)limit;
    options.depends = split_ids(call, ids, &options.depends_count);
    if (mkdtemp(dir) == NULL)
        return err_errno(err, errno, "cannot create a directory like '%s'",
                         dir);
    options.output = dir;
    bool ok = pack_write(&options, ret_packed, err) &&
              send_set(client, ret_packed, err);
    if (ret_packed->path != NULL)
        (void)unlink(ret_packed->path);
    (void)rmdir(dir);
    return ok;
}

static int only_preview(struct call *call, struct client *client,
                        const struct preview *preview, struct text *ids,
                        struct err *err) {
    struct merges merges;
    show(call, preview);
    if (!verdict_is_good(call, preview, err))
        return console_error(err);
    if (is_nothing(call, preview) && !call_has(call, "json"))
        (void)console_printf(
            "%s\n", call_line_text(preview->summary, "detail", &call->arena));
    if (!try_merges(call, client, preview, ids, &merges, err))
        return console_error(err);
    if (merges.tried)
        show_merges(call, &merges);
    return console_finish(merges.tried && !merges.clean ? 1 : 0);
}

/* What the rollback is about to do: it may still fail, or wait for an
 * approval. */
static void say_queued(struct call *call, const struct preview *preview,
                       const char *id) {
    if (is_nothing(call, preview))
        console_note("rollback %s is queued: %s", id,
                     call_line_text(preview->summary, "detail", &call->arena));
    else
        console_note("rollback %s is queued: %" PRId64 " to revert, %" PRId64
                     " to abandon, %" PRId64 " to stop",
                     id, call_line_number(preview->summary, "reverts"),
                     call_line_number(preview->summary, "abandons"),
                     call_line_number(preview->summary, "stops"));
}

struct approval_note {
    struct call *call;
    const char *id;
};

static bool say_approval(void *ctx, struct span line) {
    const struct approval_note *note = ctx;
    struct arena *arena = &note->call->arena;
    if (strcmp(call_line_text(line, "kind", arena), "approval") == 0)
        console_note("rollback %s waits for %s; to give it: "
                     "pointsman approve %s",
                     note->id, call_line_printable(line, "text", arena),
                     note->id);
    return true;
}

/* It is submitted already: what cannot be told now, `why` tells later. */
static void say_approvals(struct call *call, struct client *client,
                          const char *id) {
    struct approval_note note = {call, id};
    struct client_lines lines = {.line = say_approval, .ctx = &note};
    const char *uri = arena_printf(&call->arena, "/api/v1/jobs/%s/why", id);
    struct err err = {0};
    if (client_stream(client, API_GET, uri, SPAN(""), client_take_lines, &lines,
                      &err))
        client_lines_end(&lines);
    text_clear(&lines.rest);
}

int cmd_rollback(struct call *call) {
    CLEANUP(text_clear) struct text ids = TEXT_INIT;
    struct preview preview = {.arena = &call->arena};
    struct pack_result result = {0};
    struct client *client = NULL;
    struct err err = {0};
    int status;

    if (!call_operands(call, 1, SIZE_MAX, &err) ||
        !call_client(call, &client, &err))
        return console_error(&err);
    if (!ask(call, client, &ids, &preview, &err)) {
        status = console_error(&err);
    } else if (call_has(call, "preview")) {
        status = only_preview(call, client, &preview, &ids, &err);
    } else if (!verdict_is_good(call, &preview, &err) ||
               !hand_in(call, client, &preview, &ids, &result, &err)) {
        status = console_error(&err);
    } else {
        (void)console_printf("%s\n", result.id);
        say_queued(call, &preview, result.id);
        say_approvals(call, client, result.id);
        status = console_finish(0);
    }
    pack_result_clear(&result);
    client_close(client);
    return status;
}
