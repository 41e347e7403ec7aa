/* Configuration and settings. */
#include "cli/commands.h"
#include "cli/call_connect.h"
#include "cli/table.h"
#include "cli/console.h"

#include <string.h>

#include "base/base.h"
#include "http/http_server.h"
#include "schedules/schedule_config.h"
#include "landing/git.h"
#include "changes/policies.h"
#include "changes/policy_config.h"
#include "maintenance/target_config.h"
#include "wire/words.h"

/* ---- config -------------------------------------------------------------- */

static bool open_with(struct call *call, bool no_store, struct base **ret_base,
                      struct err *err) {
    struct base_open how = {.read_only = true, .no_store = no_store};
    const char *path;

    return call_operands(call, 0, 0, err) && call_base(call, &path, err) &&
           base_open(path, &how, ret_base, err);
}

static bool open_base(struct call *call, struct base **ret_base,
                      struct err *err) {
    return open_with(call, true, ret_base, err);
}

static void entry_line(const struct config_entry *entry, bool as_json) {
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    struct json json;

    if (!as_json)
        return;
    json_open(&json, &line);
    json_object(&json);
    json_key(&json, "section");
    json_string(&json, entry->section);
    json_key(&json, "label");
    if (entry->label.len > 0)
        json_span(&json, entry->label);
    else
        json_null(&json);
    json_key(&json, "key");
    json_span(&json, entry->key);
    json_key(&json, "value");
    json_span(&json, entry->value);
    json_key(&json, "file");
    json_string(&json, entry->origin.file);
    json_key(&json, "line");
    json_i64(&json, entry->origin.line);
    json_end(&json);
    text_addc(&line, '\n');
    (void)console_write(text_span(&line));
}

/* With the settings in the registry, which override the files. A registry that
 * cannot be opened does not keep anybody from checking the files. */
static bool open_in_force(struct call *call, struct base **ret_base,
                          struct text *errors, struct err *err) {
    struct err why = {0};
    if (open_with(call, false, ret_base, &why))
        return true;
    text_reset(errors);
    if (!open_with(call, true, ret_base, err))
        return false;
    console_note("pointsman: values changed by 'pointsman set' are not shown: "
                 "%s",
                 why.text);
    return true;
}

/* Everything that is wrong in the files, an error each. */
static int report_all(struct span lines, const struct err *first) {
    struct span line;
    struct err err = *first;

    if (lines.len == 0)
        return console_error(first);
    while (span_cut(&lines, '\n', &line))
        if (line.len > 0) {
            err_set(&err, ERR_CONFIG, "%.*s", (int)line.len, line.p);
            (void)console_error(&err);
        }
    return err_exit_status(ERR_CONFIG);
}

/* The listing of `config check` and `config show`. */
static int config_list(struct call *call) {
    CLEANUP(text_clear) struct text errors = TEXT_INIT;
    struct base *base = NULL;
    struct config_entry entry;
    struct err err = {0};
    struct config_cursor cursor = {0};

    config_collect(&errors);
    bool ok = open_in_force(call, &base, &errors, &err);
    config_collect(NULL);
    if (!ok)
        return report_all(text_span(&errors), &err);
    if (call_has(call, "json")) {
        while (config_next(&base->config, &cursor, &entry))
            entry_line(&entry, true);
    } else {
        CLEANUP(text_clear) struct text text = TEXT_INIT;
        config_format(&base->config, &text);
        (void)console_write(text_span(&text));
    }
    base_close(base);
    return console_finish(0);
}

static bool check_listen(struct call *call, const struct config_serve *serve,
                         struct err *err) {
    struct span listen = serve->listen;
    return listen.len == 0 || span_is(listen, "off") ||
           http_server_address_check(arena_string(&call->arena, listen), err) ||
           err_wrap(err, "%s:%u", serve->listen_origin.file,
                    serve->listen_origin.line);
}

/* Checks what the syntax alone does not: each schedule has a valid item and
 * zone and fires at all, the listen address is valid, the accounts and groups
 * that are named exist, and no two targets are one branch. */
static bool check_meaning(struct call *call, const struct base *base,
                          struct err *err) {
    return base_access_check(base, err) && schedule_config_check(base, err) &&
           target_config_is_apart(&base->config, base->path, err) &&
           target_config_has_users(&base->config, err) &&
           policies_check(base, err) &&
           check_listen(call, &base->config.serve, err);
}

/* A person of [access] needs no section [person], but one of a similar name
 * suggests a mistake. */
static size_t warn_of_persons(struct call *call, const struct base *base) {
    const struct config_person *person;
    size_t count = 0, warned = 0;
    while (policy_config_person_at(&base->config, count) != NULL)
        count++;
    const char **names =
        arena_alloc(&call->arena, (count + 1) * sizeof(*names));
    for (size_t i = 0;
         (person = policy_config_person_at(&base->config, i)) != NULL; i++)
        names[i] = arena_string(&call->arena, person->name);
    for (size_t i = 0; i < base->access.grant_count; i++) {
        const struct access_grant *grant = &base->access.grants[i];
        if (grant->who != ACCESS_PERSON)
            continue;
        const char *name =
            arena_string(&call->arena, access_actor_person_of(grant->name));
        const char *near = text_nearest(name, names, count);
        if (near == NULL || strcmp(near, name) == 0)
            continue;
        console_note(
            "warning: [access] names person:%s, but there is no section "
            "[person \"%s\"]; did you mean '%s'?",
            name, name, near);
        warned++;
    }
    return warned;
}

/* What is valid, but probably not meant. */
static size_t warn_of_shell(struct base *base) {
    struct config_entry entry;
    struct config_cursor cursor = {0};
    size_t count = 0;
    struct span part;

    while (config_next(&base->config, &cursor, &entry)) {
        CLEANUP(text_clear) struct text line = TEXT_INIT;
        if (!entry.is_command || !words_find_shell(entry.value, &part))
            continue;
        word_quote(entry.value, &line);
        console_note("warning: %s:%u: no shell reads this line, so '%.*s' is "
                     "an ordinary word; for a shell write %.*s = sh -c %s",
                     entry.origin.file, entry.origin.line, (int)part.len,
                     part.p, (int)entry.key.len, entry.key.p,
                     text_string(&line));
        count++;
    }
    return count;
}

static size_t warn_of_targets(struct call *call, const struct base *base) {
    size_t count = 0;

    for (size_t i = 0; i < base->config.target_count; i++) {
        const struct config_target *target = &base->config.targets[i];
        if (target->git.len == 0)
            continue;
        const char *git = base_resolve(base->path, target->git, &call->arena);
        const char *why =
            target_config_obstacle(git, target->branch, &call->arena);
        const char *others =
            target_config_branches(git, target->branch, &call->arena);
        if (memmem(target->git.p, target->git.len, "://", 3) != NULL)
            why = arena_printf(&call->arena,
                               "'%.*s' is a URL, but sets land in a repository "
                               "on this machine: create one with 'git clone "
                               "--bare URL DIR' and set git = DIR",
                               (int)target->git.len, target->git.p);
        else if (!git_is_repository(git))
            why = arena_printf(&call->arena, "no git repository '%s' yet", git);
        count += why != NULL || others != NULL;
        if (why == NULL && others != NULL)
            console_note("warning: target '%.*s': '%s' has no branch '%.*s'; "
                         "it has %s",
                         (int)target->name.len, target->name.p, git,
                         (int)target->branch.len, target->branch.p, others);
        if (why == NULL)
            continue;
        console_note("warning: target '%.*s' is unavailable, its change sets "
                     "wait: %s",
                     (int)target->name.len, target->name.p, why);
    }
    return count;
}

static size_t warn_of_policies(const struct base *base) {
    const struct config_approval *policy;
    size_t warned = 0;

    for (size_t i = 0; (policy = policy_config_at(&base->config, i)) != NULL;
         i++) {
        if (policy->count > 0 || policy->ticket.len > 0)
            continue;
        console_note("warning: policy '%.*s' asks for nothing: count = 0, and "
                     "no ticket",
                     (int)policy->name.len, policy->name.p);
        warned++;
    }
    return warned;
}

int cmd_config_check(struct call *call) {
    int status = config_list(call);
    struct base *base = NULL;
    struct err err = {0};

    if (status != 0)
        return status;
    if (!open_base(call, &base, &err))
        return console_error(&err);
    if (check_meaning(call, base, &err)) {
        size_t count = warn_of_shell(base) + warn_of_targets(call, base) +
                       warn_of_persons(call, base) + warn_of_policies(base);
        console_note(count == 0 ? "configuration OK"
                                : "configuration OK, with warnings");
    } else {
        status = console_error(&err);
    }
    base_close(base);
    return status;
}

int cmd_config_show(struct call *call) {
    return config_list(call);
}

/* ---- settings ------------------------------------------------------------ */

static void show_setting(struct span line, struct arena *arena) {
    const char *value = call_line_text(line, "value", arena);
    const char *name = call_line_text(line, "name", arena);
    /* A long value, such as a path, has a line of its own. */
    if (strlen(value) > 12) {
        (void)console_printf("%-22s %s\n", name, value);
        name = value = "";
    }
    (void)console_printf("%-22s %-12s %-20s %s\n", name, value,
                         call_line_text(line, "from", arena),
                         call_line_text(line, "meaning", arena));
}

int cmd_settings(struct call *call) {
    struct client *client = NULL;
    struct err err = {0};

    if (!call_operands(call, 0, 0, &err) || !call_client(call, &client, &err))
        return console_error(&err);
    bool ok = call_show_lines(client, "/api/v1/settings",
                              call_has(call, "json"), show_setting, &err);
    client_close(client);
    return ok ? console_finish(0) : console_error(&err);
}

int cmd_set(struct call *call) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    struct client *client = NULL;
    struct err err = {0};

    if (!call_operands(call, 1, 2, &err) || !call_client(call, &client, &err))
        return console_error(&err);
    const char *uri = arena_printf(&call->arena, "/api/v1/settings/%s",
                                   client_word(&call->arena, call->words[0]));
    bool ok = client_call(client, API_PUT, uri,
                          span_of(call->word_count > 1 ? call->words[1] : NULL),
                          &reply, &err);
    client_close(client);
    return ok ? console_finish(0) : console_error(&err);
}
