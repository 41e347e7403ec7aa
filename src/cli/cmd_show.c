#include "cli/commands.h"
#include "cli/call_connect.h"
#include "cli/table.h"
#include "cli/console.h"
#include "cli/follow.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/reason.h"
#include "os/account.h"
#include "maintenance/target_check.h"
#include "os/clock.h"
#include "wire/uri.h"
#include "wire/words.h"

enum { LIST_SCREEN = 200 };

static bool is_local; /* the base of `status` is on this machine */

/* ---- how things look ----------------------------------------------------- */

/* "5s", "12m", "3h", "2d": time since. */
static const char *age(const char *when, struct arena *arena) {
    struct wall wall;

    if (!wall_parse(span_of(when), &wall))
        return "";
    int64_t s = wall_ms_since(clock_wall(), wall) / 1000;
    if (s < 0)
        s = 0;
    if (s < 120)
        return arena_printf(arena, "%" PRId64 "s", s);
    if (s < 7200)
        return arena_printf(arena, "%" PRId64 "m", s / 60);
    if (s < 172800)
        return arena_printf(arena, "%" PRId64 "h", s / 3600);
    return arena_printf(arena, "%" PRId64 "d", s / 86400);
}

static enum console_colour state_colour(const char *word) {
    enum job_state state = STATE_NONE;
    (void)job_state_parse(span_of(word), &state);
    switch (state) {
    case STATE_DONE:
        return CONSOLE_GOOD;
    case STATE_FAILED:
        return CONSOLE_BAD;
    case STATE_EXECUTING:
        return CONSOLE_BOLD;
    case STATE_TERMINATED:
    case STATE_ABANDONED:
        return CONSOLE_WARM;
    case STATE_QUEUED:
    case STATE_STAGED:
    case STATE_PENDING:
    case STATE_NONE:
        break;
    }
    return CONSOLE_PLAIN;
}

/* ---- list ---------------------------------------------------------------- */

static const char *const list_titles[] = {"ID",    "KIND",   "CLASS",  "STATE",
                                          "SINCE", "TARGET", "REASON", "WHAT"};

static struct table list_table;

/* When a command that waits is to begin; empty: at once, or it was tried. */
static const char *begins(struct span line, struct arena *arena) {
    const char *kind = call_line_text(line, "kind", arena);
    return strcmp(kind, "command") == 0 &&
                   call_line_number(line, "attempt") == 0
               ? call_line_text(line, "not_before", arena)
               : "";
}

static void list_row(struct span line, struct arena *arena) {
    struct table *table = &list_table;
    const char *state = call_line_text(line, "state", arena);
    struct json_value holds;
    bool held = json_find(line, "holds", &holds) && holds.raw.len > 2;

    table_cell(table, call_line_text(line, "id", arena), CONSOLE_PLAIN);
    table_cell(table, call_line_text(line, "kind", arena), CONSOLE_PLAIN);
    table_cell(table, call_line_text(line, "class", arena), CONSOLE_PLAIN);
    table_cell(
        table,
        held ? arena_printf(arena, "%s, held", state)
        : begins(line, arena)[0] != '\0'
            ? arena_printf(arena, "%s, begins %s", state, begins(line, arena))
        : call_line_text(line, "rolled_back_by", arena)[0] != '\0'
            ? "rolled back"
        : call_line_text(line, "owed", arena)[0] != '\0'
            ? arena_printf(arena, "%s, owes approval", state)
            : state,
        state_colour(state));
    table_cell(table, age(call_line_text(line, "since", arena), arena),
               CONSOLE_PLAIN);
    table_cell(table, call_line_text(line, "target", arena), CONSOLE_PLAIN);
    table_cell(table, call_line_text(line, "reason", arena), CONSOLE_PLAIN);
    table_cell(table, call_line_text(line, "what", arena), CONSOLE_PLAIN);
}

static char *filter_of(const struct call *call) {
    struct text filter = TEXT_INIT;

    for (size_t i = 0; i < call->word_count; i++)
        text_addf(&filter, "%s%s", i == 0 ? "" : " ", call->words[i]);
    return text_take(&filter);
}

int cmd_list(struct call *call) {
    CLEANUP(text_free_string) char *filter = filter_of(call);
    struct client *client = NULL;
    struct call_uri uri;
    struct err err = {0};
    bool json = call_has(call, "json");
    bool asked = call_has(call, "limit"), screen = !json && !asked &&
                                                   !call_has(call, "all") &&
                                                   terminal_is(STDOUT_FILENO);
    long long limit = screen ? LIST_SCREEN : 1000000;

    if (!call_number(call, "limit", 0, 1000000, &limit, &err) ||
        !call_client(call, &client, &err))
        return console_error(&err);
    bool newest = screen || asked;
    call_uri_begin(&uri, "/api/v1/jobs");
    if (filter[0] != '\0')
        call_uri_add(&uri, "filter", filter);
    call_uri_add(&uri, "limit", arena_printf(&call->arena, "%lld", limit));
    call_uri_add(&uri, "order", newest ? "newest" : "oldest");
    if (!json)
        table_init(&list_table, list_titles, COUNT(list_titles));
    bool ok =
        call_show_lines(client, text_string(&uri.text), json, list_row, &err);
    if (!json) {
        size_t rows = list_table.count / COUNT(list_titles) - 1;
        table_print(&list_table, newest);
        if (screen && rows == LIST_SCREEN)
            console_note("only the newest %d are shown; --all shows all",
                         LIST_SCREEN);
    }
    text_clear(&uri.text);
    client_close(client);
    return ok ? console_finish(0) : console_error(&err);
}

int cmd_file(struct call *call) {
    struct client *client = NULL;
    struct call_uri uri;
    struct err err = {0};
    bool json = call_has(call, "json");

    if (!call_operands(call, 1, 1, &err) || !call_client(call, &client, &err))
        return console_error(&err);
    call_uri_begin(&uri, "/api/v1/files");
    call_uri_add(&uri, "path", call->words[0]);
    call_uri_add(&uri, "limit", call_value(call, "limit"));
    if (!json)
        table_init(&list_table, list_titles, COUNT(list_titles));
    bool ok =
        call_show_lines(client, text_string(&uri.text), json, list_row, &err);
    if (!json)
        table_print(&list_table, false);
    text_clear(&uri.text);
    client_close(client);
    return ok ? console_finish(0) : console_error(&err);
}

/* ---- status -------------------------------------------------------------- */

static void show_pair(const char *name, const char *value) {
    if (value[0] != '\0')
        (void)console_printf("%-11s %s\n", name, value);
}

static void show_relations(struct span line, struct arena *arena) {
    struct json_value object, list, item, value;
    size_t cursor = 0;

    if (!json_parse(line, &object, NULL))
        return;
    if (json_member(object, "relations", &list))
        while (json_next(list, &cursor, arena, NULL, &item)) {
            struct span relation = {0}, id = {0};
            if (json_member(item, "relation", &value))
                (void)json_get_string(value, arena, &relation);
            if (json_member(item, "id", &value))
                (void)json_get_string(value, arena, &id);
            int64_t share = call_line_number(item.raw, "share");
            show_pair(arena_string(arena, relation),
                      share == 0 ? arena_string(arena, id)
                                 : arena_printf(arena, "%.*s[%" PRId64 "%%]",
                                                (int)id.len, id.p, share));
        }
    cursor = 0;
    if (json_member(object, "members", &list))
        while (json_next(list, &cursor, arena, NULL, &item))
            show_pair(call_line_text(item.raw, "fate", arena),
                      call_line_text(item.raw, "id", arena));
    cursor = 0;
    if (json_member(object, "touches", &list))
        while (json_next(list, &cursor, arena, NULL, &item)) {
            struct span path = {0};
            bool deleted = false;
            if (json_member(item, "path", &value))
                (void)json_get_string(value, arena, &path);
            if (json_member(item, "deleted", &value))
                (void)json_get_bool(value, &deleted);
            show_pair(deleted ? "deletes" : "touches",
                      call_printable(arena_string(arena, path), arena));
        }
    show_pair("singleton", call_line_printable(line, "singleton", arena));
    cursor = 0;
    if (json_member(object, "holds", &list))
        while (json_next(list, &cursor, arena, NULL, &item)) {
            struct span hold;
            if (json_get_string(item, arena, &hold))
                show_pair("held", arena_string(arena, hold));
        }
}

/* "CPU 1.2 s, memory 34.0 MiB" */
static const char *uses(int64_t cpu_us, int64_t kib, struct arena *arena) {
    return arena_printf(arena, "CPU %.1f s, memory %.1f MiB",
                        (double)cpu_us / 1e6, (double)kib / 1024);
}

/* Shows what the job has used in all, and what it uses now. */
static void show_usage(struct span line, struct arena *arena) {
    struct json_value live;
    int64_t cpu_us = call_line_number(line, "cpu_us");
    int64_t kib = call_line_number(line, "peak_kib");

    if (cpu_us > 0 || kib > 0)
        show_pair("used", uses(cpu_us, kib, arena));
    if (!json_find(line, "live", &live) || live.type != JSON_OBJECT)
        return;
    show_pair("progress", call_line_printable(live.raw, "progress", arena));
    if (call_line_number(live.raw, "procs") > 0)
        show_pair(
            "uses",
            arena_printf(arena, "%s, processes %" PRId64,
                         uses(call_line_number(live.raw, "cpu_us"),
                              call_line_number(live.raw, "memory_kib"), arena),
                         call_line_number(live.raw, "procs")));
}

/* "by alice", "by alice (retry of j...)": an account of another machine keeps
 * its number, because it may have another name here. */
static const char *submitter(struct span line, struct arena *arena) {
    const char *actor = call_line_printable(line, "actor", arena);
    const char *cause = call_line_text(line, "cause", arena);
    struct account account;
    struct err err;

    struct span person = access_actor_person_of(span_of(actor));
    if (person.len > 0)
        actor = arena_printf(arena, "person %.*s", (int)person.len, person.p);
    if (is_local && strncmp(actor, "uid:", 4) == 0 &&
        account_find(span_of(actor + 4), arena, &account, &err))
        actor = account.name;
    return strcmp(cause, CAUSE_PERSON) == 0
               ? arena_printf(arena, "by %s", actor)
               : arena_printf(arena, "by %s (%s)", actor, cause);
}

/* The base of `status`, opened when it is needed: for its owner only. */
static struct {
    struct call *call;
    struct base *base;
    bool is_tried;
} here;

static struct base *base_here(void) {
    struct base_open how = {.read_only = true};
    struct err err;
    const char *path;

    if (!here.is_tried && is_local && call_base(here.call, &path, &err))
        (void)base_open(path, &how, &here.base, &err);
    here.is_tried = true;
    return here.base;
}

/* A set that has landed may have left its branch since (a forced push). */
static const char *branch_fault(struct span line, struct arena *arena) {
    const char *id = call_line_text(line, "id", arena);
    enum job_state state;
    struct base *base;
    struct job job;
    bool found;

    if (!job_state_parse(span_of(call_line_text(line, "state", arena)),
                         &state) ||
        state != STATE_DONE ||
        call_line_text(line, "target", arena)[0] == '\0' ||
        (base = base_here()) == NULL ||
        !store_lookup(base->store, span_of(id), arena, &job, &found, NULL) ||
        !found)
        return NULL;
    return target_check_set(base, &job, arena);
}

/* The object of the API, with the member `branch` if there is a fault. */
static void print_job(struct span line, struct arena *arena) {
    const char *fault = branch_fault(line, arena);
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct json json;

    if (fault == NULL || fault[0] == '\0' || !span_ends(line, "}")) {
        (void)console_printf("%.*s\n", (int)line.len, line.p);
        return;
    }
    json_open(&json, &text);
    json_string(&json, fault);
    (void)console_printf("%.*s,\"branch\":%s}\n", (int)line.len - 1, line.p,
                         text_string(&text));
}

static void show_job(struct span line, struct arena *arena) {
    const char *state = call_line_text(line, "state", arena);
    const char *reason = call_line_text(line, "reason", arena);
    const char *detail = call_line_printable(line, "detail", arena);
    const char *fault;
    struct json_value progress, submission;

    (void)console_printf("%s%s%s\n", console_colour(CONSOLE_BOLD),
                         call_line_text(line, "id", arena),
                         console_colour(CONSOLE_PLAIN));
    show_pair("what", call_line_printable(line, "what", arena));
    show_pair("kind", arena_printf(arena, "%s, class %s",
                                   call_line_text(line, "kind", arena),
                                   call_line_text(line, "class", arena)));
    show_pair("state",
              arena_printf(arena, "%s%s%s since %s (%s ago)",
                           console_colour(state_colour(state)), state,
                           console_colour(CONSOLE_PLAIN),
                           call_line_text(line, "since", arena),
                           age(call_line_text(line, "since", arena), arena)));
    show_pair("reason", detail[0] == '\0'
                            ? reason
                            : arena_printf(arena, "%s: %s", reason, detail));
    show_pair("owed until", call_line_text(line, "owed", arena));
    show_pair("rolled back", call_line_text(line, "rolled_back_by", arena));
    show_pair("target", call_line_printable(line, "target", arena));
    if ((fault = branch_fault(line, arena)) != NULL)
        show_pair("branch", fault);
    show_pair("name", call_line_printable(line, "name", arena));
    if (json_find(line, "progress", &progress) && progress.type == JSON_OBJECT)
        show_pair("tasks", call_line_text(progress.raw, "line", arena));
    show_pair("max running", call_line_text(line, "max_running", arena));
    if (call_line_number(line, "attempt") > 0)
        show_pair("attempt", call_line_text(line, "attempt", arena));
    show_pair("not before", call_line_text(line, "not_before", arena));
    show_pair("exit code", call_line_text(line, "exit_code", arena));
    show_pair("lost", call_line_loss(line, arena));
    show_usage(line, arena);
    if (json_find(line, "submission", &submission))
        show_pair("template",
                  call_line_printable(submission.raw, "template", arena));
    show_pair("submitted", submitter(line, arena));
    show_pair("admitted", call_line_text(line, "admitted", arena));
    show_relations(line, arena);
}

/* Rare: targets whose sets wait. */
static void show_outages(struct span line, struct arena *arena) {
    struct json_value outages, outage;
    size_t cursor = 0;
    if (!json_find(line, "unavailable", &outages))
        return;
    while (json_next(outages, &cursor, arena, NULL, &outage))
        (void)console_printf("%-11s %s: %s\n", "unavailable",
                             call_line_printable(outage.raw, "target", arena),
                             call_line_printable(outage.raw, "reason", arena));
}

static void show_counts(struct span line, struct arena *arena) {
    for (unsigned state = 0; state < JOB_STATES; state++) {
        const char *word = job_state_word((enum job_state)state);
        (void)console_printf("%-11s %s\n", word,
                             call_line_text(line, word, arena));
    }
    (void)console_printf("%-11s %s\n", "held",
                         call_line_text(line, "held", arena));
    if (call_line_text(line, "config_refused", arena)[0] != '\0')
        (void)console_printf(
            "%-11s not reloaded: %s\n", "config",
            call_line_printable(line, "config_refused", arena));
    if (call_line_text(line, "upgrade_waits_for", arena)[0] != '\0')
        (void)console_printf(
            "%-11s waits for %s\n", "upgrade",
            call_line_printable(line, "upgrade_waits_for", arena));
    const char *restored = call_line_text(line, "restored", arena);
    if (restored[0] != '\0')
        (void)console_printf("%-11s %s; what was in the backup is held, and "
                             "schedules do not fire (pointsman restore "
                             "--resume)\n",
                             "restored", restored);
    /* Sets that landed before their approval: rare, so shown only if any. */
    if (call_line_number(line, "owed") > 0)
        (void)console_printf("%-11s %s\n", "owed",
                             call_line_text(line, "owed", arena));
    show_outages(line, arena);
}

int cmd_status(struct call *call) {
    struct client *client = NULL;
    struct err err = {0};

    is_local = !call_has(call, "server");
    if (call->word_count > 0) {
        here.call = call;
        int status =
            call_take_each(call, "/api/v1/jobs/%",
                           call_has(call, "json") ? print_job : show_job);
        base_close(here.base);
        return status;
    }
    if (!call_client(call, &client, &err))
        return console_error(&err);
    bool json = call_has(call, "json");
    bool ok =
        call_show_lines(client, "/api/v1/counts", json, show_counts, &err);
    if (ok && !json && client_base_path(client) != NULL)
        (void)console_printf(
            "%-11s %s\n%-11s %s\n", "base", client_base_path(client), "server",
            client_has_server(client) ? "running" : "not running");
    client_close(client);
    return ok ? console_finish(0) : console_error(&err);
}

/* ---- why, depends, history ------------------------------------------------
 */

static void show_reason(struct span line, struct arena *arena) {
    (void)console_printf("%s: %s\n", call_line_text(line, "job", arena),
                         call_line_printable(line, "text", arena));
}

int cmd_why(struct call *call) {
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    const char *node = call_value(call, "node");
    text_adds(&path, "/api/v1/jobs/%/why");
    if (node != NULL) {
        text_adds(&path, "?node=");
        uri_encode(span_of(node), &path);
    }
    return call_show_each(call, text_string(&path), show_reason);
}

static void show_relation(struct span line, struct arena *arena) {
    const char *state = call_line_text(line, "state", arena);
    const char *fate = call_line_text(line, "fate", arena);
    bool tells = fate[0] != '\0' && strcmp(fate, state) != 0;

    (void)console_printf(
        "%-11s %s  %s%s%s  %s\n", call_line_text(line, "relation", arena),
        call_line_text(line, "id", arena), state[0] == '\0' ? "unknown" : state,
        tells ? ", " : "", tells ? fate : "",
        call_line_printable(line, "what", arena));
}

/* The same as a tree: two blanks a step away. */
static void show_branch(struct span line, struct arena *arena) {
    const char *state = call_line_text(line, "state", arena);
    bool seen = call_line_flag(line, "again");
    (void)console_printf(
        "%*s%s  %s%s%s%s\n", 2 * (int)call_line_number(line, "depth"), "",
        call_line_text(line, "id", arena), console_colour(state_colour(state)),
        state[0] == '\0' ? "unknown" : state, console_colour(CONSOLE_PLAIN),
        seen ? " (see above)" : "");
}

int cmd_depends(struct call *call) {
    return call_has(call, "tree")
               ? call_show_each(call, "/api/v1/jobs/%/depends?tree",
                                show_branch)
               : call_show_each(call, "/api/v1/jobs/%/depends", show_relation);
}

int cmd_dependents(struct call *call) {
    return call_has(call, "tree")
               ? call_show_each(call, "/api/v1/jobs/%/dependents?tree",
                                show_branch)
               : call_show_each(call, "/api/v1/jobs/%/dependents",
                                show_relation);
}

/* " from job j1", or "": most requests come from people. */
static const char *event_from(struct span line, struct arena *arena) {
    struct json_value facts;
    if (!json_find(line, "facts", &facts))
        return "";
    const char *from = call_line_printable(facts.raw, "from", arena);
    return strcmp(from, "socket") == 0 || strcmp(from, "command line") == 0 ||
                   from[0] == '\0'
               ? ""
               : arena_printf(arena, " from %s", from);
}

/* " (was 4)", or "" */
static const char *event_was(struct span line, struct arena *arena) {
    struct json_value facts;
    if (!json_find(line, "facts", &facts))
        return "";
    const char *was = call_line_printable(facts.raw, "was", arena);
    return was[0] == '\0' ? "" : arena_printf(arena, " (was %s)", was);
}

/* " (CPU 1.2 s, memory 34.0 MiB)": what the attempt used that ended; or "" */
static const char *event_used(struct span line, struct arena *arena) {
    int64_t cpu_us = call_line_number(line, "cpu_us");
    int64_t kib = call_line_number(line, "peak_kib");
    return cpu_us == 0 && kib == 0
               ? ""
               : arena_printf(arena, " (%s)", uses(cpu_us, kib, arena));
}

/* Of a schedule that was added or changed, its pattern and its command: the
 * rest, such as the environment, is in --json. */
static const char *event_detail(struct span line, struct arena *arena) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct span spec = span_of(call_line_text(line, "detail", arena)), word;
    struct json_value item, job, command, one;
    size_t cursor = 0;

    if (strcmp(call_line_text(line, "kind", arena), "schedule") != 0 ||
        !json_find(spec, "item", &item) || !json_find(spec, "job", &job) ||
        !json_find(job.raw, "command", &command))
        return call_line_printable(line, "detail", arena);
    if (item.type != JSON_STRING || !json_get_string(item, arena, &word))
        word = item.raw;
    text_addspan(&text, word);
    text_addc(&text, ':');
    while (json_next(command, &cursor, arena, NULL, &one))
        if (json_get_string(one, arena, &word)) {
            text_addc(&text, ' ');
            word_quote(word, &text);
        }
    return call_printable(text_string(&text), arena);
}

static void show_event(struct span line, struct arena *arena) {
    const char *kind = call_line_text(line, "kind", arena);
    const char *from = call_line_text(line, "from", arena);
    const char *to = call_line_text(line, "to", arena);
    const char *detail = event_detail(line, arena);
    const char *reason = call_line_text(line, "reason", arena);
    bool moves = strcmp(kind, "move") == 0;

    (void)console_printf(
        "%s %s %s %s%s%s%s%s%s%s%s\n", call_line_text(line, "at", arena),
        call_line_text(line, "id", arena),
        moves ? arena_printf(arena, "%s%s%s%s%s", from[0] == '\0' ? "-" : from,
                             " > ", console_colour(state_colour(to)), to,
                             console_colour(CONSOLE_PLAIN))
              : kind,
        reason, reason[0] == '\0' ? "" : " ",
        call_line_printable(line, "actor", arena), event_from(line, arena),
        detail[0] == '\0' ? "" : ": ", detail, event_was(line, arena),
        event_used(line, arena));
}

int cmd_history(struct call *call) {
    struct client *client = NULL;
    struct err err = {0};
    struct call_uri uri;
    long long limit = -1;
    bool json = call_has(call, "json");

    if (!call_number(call, "limit", 0, 1000000000, &limit, &err))
        return console_error(&err);
    if (limit < 0 && !json && terminal_is(STDOUT_FILENO))
        limit = LIST_SCREEN;
    const char *tail =
        limit < 0 ? NULL : arena_printf(&call->arena, "%lld", limit);
    if (call->word_count > 0)
        return call_show_each(
            call,
            tail == NULL
                ? "/api/v1/jobs/%/history"
                : arena_printf(&call->arena, "/api/v1/jobs/%%/history?tail=%s",
                               tail),
            show_event);
    if (!call_client(call, &client, &err))
        return console_error(&err);
    call_uri_begin(&uri, "/api/v1/events");
    call_uri_add(&uri, "tail", tail);
    call_uri_add(&uri, "limit", "1000000000");
    bool ok =
        call_show_lines(client, text_string(&uri.text), json, show_event, &err);
    text_clear(&uri.text);
    client_close(client);
    return ok ? console_finish(0) : console_error(&err);
}

/* Events as they happen, from the last one that was shown. */
struct following {
    struct client_lines lines;
    bool json;
    uint64_t after;
};

static bool on_event(void *ctx, struct span line) {
    struct following *following = ctx;
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;

    if (following->json)
        (void)(console_write(line) && console_printf("\n"));
    else
        show_event(line, &arena);
    (void)span_u64(span_of(call_line_text(line, "seq", &arena)),
                   &following->after);
    return console_flush();
}

static bool on_last_event(void *ctx, struct span line) {
    struct following *following = ctx;
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;

    return span_u64(span_of(call_line_text(line, "seq", &arena)),
                    &following->after);
}

static char *following_uri(void *ctx) {
    const struct following *following = ctx;
    struct text uri = TEXT_INIT;

    text_addf(&uri, "/api/v1/events?follow=1&after=%" PRIu64, following->after);
    return text_take(&uri);
}

static bool following_take(void *ctx, struct span bytes) {
    struct following *following = ctx;
    return client_take_lines(&following->lines, bytes);
}

static void following_broken(void *ctx) {
    struct following *following = ctx;
    text_reset(&following->lines.rest);
}

/* Without --after: from now on, whatever server is asked next. */
static bool follow_begin(struct client *client, const char *after,
                         struct following *following, struct err *err) {
    struct client_lines last = {.line = on_last_event, .ctx = following};

    if (after != NULL)
        return span_u64(span_of(after), &following->after) ||
               err_set(err, ERR_USAGE, "'--after' must be a number, not '%s'",
                       after);
    bool ok = client_stream(client, API_GET, "/api/v1/events?tail=1",
                            (struct span){0}, client_take_lines, &last, err);
    client_lines_end(&last);
    return ok;
}

static bool follow_events(struct client *client, const char *after, bool json,
                          struct err *err) {
    struct following following = {.json = json};

    following.lines =
        (struct client_lines){.line = on_event, .ctx = &following};
    bool ok = follow_begin(client, after, &following, err) &&
              follow_stream(&(struct follow){.client = client,
                                             .uri = following_uri,
                                             .take = following_take,
                                             .broken = following_broken,
                                             .ctx = &following,
                                             .until = MONO_NEVER},
                            err);
    client_lines_end(&following.lines);
    return ok;
}

int cmd_events(struct call *call) {
    struct client *client = NULL;
    struct err err = {0};
    struct call_uri uri;
    const char *after = call_value(call, "after");
    bool json = call_has(call, "json"), ok;

    if (!call_operands(call, 0, 0, &err) || !call_client(call, &client, &err))
        return console_error(&err);
    if (call_has(call, "follow")) {
        ok = follow_events(client, after, json, &err);
    } else {
        call_uri_begin(&uri, "/api/v1/events");
        call_uri_add(&uri, "after", after);
        call_uri_add(&uri, "limit", "1000000000");
        ok = call_show_lines(client, text_string(&uri.text), json, show_event,
                             &err);
        text_clear(&uri.text);
    }
    client_close(client);
    return ok ? console_finish(0) : console_error(&err);
}
