/* cron import: a crontab becomes schedules.
 *
 * The name of a schedule is made from the text of its line and nothing else,
 * so that lines may be inserted and moved. Lines are sent a thousand at a time;
 * an import that was interrupted is completed by repeating it. */
#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pointsman/cron.h>
#include <stdio.h>

#include "cli/commands.h"
#include "cli/cron_query.h"
#include "cli/call_connect.h"
#include "cli/console.h"
#include "cli/crontab_job.h"
#include "os/dir.h"
#include "os/fd.h"
#include "schedules/schedule_rule.h"

enum {
    CRONTAB_BYTES = 256 << 20,
    PREFIX_BYTES = 20,
    HASH_BYTES = 7,
    NAME_BYTES = SCHEDULE_NAME_BYTES - 5, /* a number may follow */
    LINES_AT_ONCE = 1000,
    BYTES_AT_ONCE = 4 << 20,
    GONE_SHOWN = 3
};

struct import {
    struct call *call;
    struct client *client; /* NULL: only shown */
    const char *file;
    char *prefix;
    struct crontab_settings settings;
    struct cron_zones *zones;
    int64_t jitter_s; /* RANDOM_DELAY */
    bool at_least_once;
    enum schedule_missed missed;
    struct map names; /* of all schedules of this file */
    int64_t from_s;   /* next is after it */
    int status;

    /* What will be sent next. */
    struct arena arena;
    struct text body;
    unsigned numbers[LINES_AT_ONCE]; /* of the lines; 0: a removal */
    const char *shown[LINES_AT_ONCE];
    size_t count, answered;
    size_t added; /* schedules that the base has now */
};

static void complain_at(struct import *import, unsigned line, int column,
                        enum err_kind kind, const char *why) {
    struct err err = {0};

    if (column > 0)
        err_set(&err, kind, "%s:%u:%d: %s", import->file, line, column, why);
    else if (line > 0)
        err_set(&err, kind, "%s:%u: %s", import->file, line, why);
    else
        err_set(&err, kind, "%s: %s", import->file, why);
    import->status = console_error(&err);
}

static void complain(struct import *import, unsigned line,
                     const struct err *err) {
    complain_at(import, line, 0, err->kind, err->text);
}

/* ---- names --------------------------------------------------------------- */

/* Letters and digits of a word; everything between them becomes one '-'. */
static void add_slug(struct text *out, struct span word) {
    for (size_t i = 0; i < word.len; i++) {
        if (isalnum((unsigned char)word.p[i]))
            text_addc(out, word.p[i]);
        else if (out->len > 0 && out->p[out->len - 1] != '-')
            text_addc(out, '-');
    }
}

static void trim_slug(struct text *slug, size_t most) {
    while (slug->len > 0 && (slug->p[slug->len - 1] == '-' || slug->len > most))
        slug->len--;
}

/* Thirty-five bits: among 100,000 lines hardly two are alike by chance. */
static void add_hash(struct text *out, struct span item, struct span user,
                     struct span command) {
    static const char digits[33] = "abcdefghijklmnopqrstuvwxyz234567";
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    bool blank = false;

    for (size_t i = 0; i < item.len; i++) {
        bool is_blank = isspace((unsigned char)item.p[i]) != 0;
        if (!is_blank && blank)
            text_addc(&line, ' ');
        if (!is_blank)
            text_addc(&line, item.p[i]);
        blank = is_blank;
    }
    text_addf(&line, "\n%.*s\n%.*s", (int)user.len, user.p, (int)command.len,
              command.p);
    uint64_t hash =
        (uint64_t)cron_stable_offset(text_string(&line), 0, 1u << 20) << 15 |
        cron_stable_offset(text_string(&line), 1, 1u << 15);
    for (int i = 0; i < HASH_BYTES; i++, hash >>= 5)
        text_addc(out, digits[hash & 31]);
}

/* PREFIX-COMMAND-HASH. A line that occurs twice is two schedules. */
static const char *make_name(struct import *import, struct span item,
                             struct span user, struct span command) {
    CLEANUP(text_clear) struct text slug = TEXT_INIT;
    struct span rest = span_trim(command), word;
    char *name;

    (void)span_cut(&rest, ' ', &word);
    for (size_t i = word.len; i > 0; i--)
        if (word.p[i - 1] == '/') {
            word = span_make(word.p + i, word.len - i);
            break;
        }
    text_adds(&slug, import->prefix);
    text_addc(&slug, '-');
    add_slug(&slug, word);
    trim_slug(&slug, NAME_BYTES - HASH_BYTES - 1);
    text_addc(&slug, '-');
    add_hash(&slug, item, user, command);
    name = arena_string(&import->arena, text_span(&slug));
    for (unsigned i = 2; map_get(&import->names, span_of(name)) != NULL; i++)
        name = arena_printf(&import->arena, "%s-%u", text_string(&slug), i);
    map_put(&import->names, span_of(name), import);
    return name;
}

/* "crontab" of "/etc/crontab" */
static char *prefix_of(const struct import *import) {
    CLEANUP(text_clear) struct text slug = TEXT_INIT;
    const char *given = call_value(import->call, "prefix");
    const char *slash = strrchr(import->file, '/');

    add_slug(&slug, span_of(given != NULL   ? given
                            : slash != NULL ? slash + 1
                                            : import->file));
    trim_slug(&slug, PREFIX_BYTES);
    return arena_string(&import->call->arena,
                        slug.len > 0 ? text_span(&slug) : SPAN("crontab"));
}

/* ---- sending ------------------------------------------------------------- */

/* The answer to the next of the lines that were sent. */
static bool take_answer(void *ctx, struct span line) {
    struct import *import = ctx;
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    enum err_kind kind = ERR_DATA;

    if (import->answered == import->count)
        return true;
    const char *why = call_line_text(line, "error", &arena);
    unsigned number = import->numbers[import->answered];
    const char *shown = import->shown[import->answered++];
    if (why[0] != '\0') {
        (void)err_find(call_line_text(line, "kind", &arena), &kind);
        complain_at(import, number, 0, kind, why);
    } else if (number == 0) {
        console_note("%s: removed; it is no longer in %s", shown, import->file);
    } else {
        import->added++;
        (void)console_printf("%s\n", shown);
    }
    return true;
}

static void send(struct import *import) {
    struct client_lines lines = {.line = take_answer, .ctx = import};
    struct call_uri uri;
    struct err err = {0};

    if (import->count == 0)
        return;
    call_uri_begin(&uri, "/api/v1/schedules");
    if (call_has(import->call, "replace"))
        call_uri_add(&uri, "replace", "1");
    call_uri_add(&uri, "since", call_value(import->call, "since"));
    import->answered = 0;
    bool ok = client_stream(import->client, API_POST, text_string(&uri.text),
                            text_span(&import->body), client_take_lines, &lines,
                            &err);
    client_lines_end(&lines);
    if (!ok)
        complain(import, 0, &err);
    else if (import->answered < import->count)
        complain_at(import, 0, 0, ERR_UNAVAILABLE,
                    "the server did not answer all lines; repeat the import");
    text_clear(&uri.text);
    text_reset(&import->body);
    import->count = 0;
    arena_clear(&import->arena);
}

static void add(struct import *import, unsigned number, const char *shown) {
    text_addc(&import->body, '\n');
    import->numbers[import->count] = number;
    import->shown[import->count++] = shown;
    if (import->count == LINES_AT_ONCE || import->body.len > BYTES_AT_ONCE)
        send(import);
}

static void add_schedule(struct import *import, unsigned number,
                         const char *name, const struct schedule_spec *spec,
                         const char *shown) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct json json;

    schedule_spec_format(spec, &text);
    json_open(&json, &import->body);
    json_object(&json);
    json_key(&json, "name");
    json_string(&json, name);
    json_key(&json, "schedule");
    json_raw(&json, text_span(&text));
    json_end(&json);
    add(import, number, shown);
}

/* ---- a line -------------------------------------------------------------- */

static const char *shown_line(struct import *import, const char *name,
                              const struct schedule_spec *spec,
                              const struct schedule_rule *rule) {
    char text[CRON_INSTANT_BYTES];
    int64_t at;
    const char *next = schedule_rule_next(rule, import->from_s, 0, &at)
                           ? cron_instant_format(rule->zone, at, text)
                           : "never";

    return arena_printf(&import->arena, "%s\t%s\t%.*s", name, next,
                        (int)spec->item.len, spec->item.p);
}

static bool take_times(struct import *import, struct span line,
                       const char *rest, unsigned number, struct err *err) {
    struct arena *arena = &import->arena;
    struct schedule_spec spec;
    struct schedule_rule rule;
    struct span command;

    schedule_spec_init(&spec);
    spec.item = span_trim(span_make(line.p, (size_t)(rest - line.p)));
    spec.zone = crontab_settings_find(&import->settings, "CRON_TZ");
    const char *zone = call_value(import->call, "zone");
    if (spec.zone.len == 0 && zone != NULL)
        spec.zone = span_of(zone);
    spec.missed = import->missed;
    spec.overlap = OVERLAP_ALLOW; /* as cron does */
    spec.jitter_s = import->jitter_s;
    spec.import = span_of(import->prefix);
    if (!crontab_job_make(&import->settings, span_trim(span_of(rest)), arena,
                          &spec.job, &command, err))
        return false;
    spec.job.at_most_once = !import->at_least_once;
    const char *name =
        make_name(import, spec.item, spec.job.task.user, command);
    if (!schedule_spec_check(&spec, err) ||
        !schedule_rule_make(&spec, span_of(name), 0, import->zones, &rule, err))
        return false;
    const char *shown = shown_line(import, name, &spec, &rule);
    schedule_rule_clear(&rule);
    if (import->client != NULL) {
        add_schedule(import, number, name, &spec, shown);
        return true;
    }
    (void)console_printf("%s\n", shown);
    arena_clear(arena);
    return true;
}

/* Some settings mean something to cron itself. */
static void take_setting(struct import *import, struct span line,
                         unsigned number) {
    struct span name, value;
    uint64_t minutes;

    crontab_settings_take(&import->settings, line, &name, &value);
    if (span_is(name, "MAILTO") && value.len > 0) {
        console_note("%s:%u: MAILTO: nothing is mailed to %.*s; `pointsman "
                     "logs` shows the output of each run",
                     import->file, number, (int)value.len, value.p);
    } else if (span_is(name, "LOGNAME") || span_is(name, "USER")) {
        console_note("%s:%u: %.*s is ignored, as by cron: it is the account "
                     "that the command runs as",
                     import->file, number, (int)name.len, name.p);
    } else if (span_is(name, "RANDOM_DELAY")) {
        if (!span_u64(value, &minutes) ||
            minutes > SCHEDULE_SECONDS_MOST / 60) {
            complain_at(import, number, 0, ERR_DATA,
                        "RANDOM_DELAY must be a number of minutes");
            return;
        }
        import->jitter_s = (int64_t)minutes * 60;
        console_note("%s:%u: RANDOM_DELAY: the next schedules fire up to "
                     "%" PRIu64 " minutes later, by another delay each time",
                     import->file, number, minutes);
    }
}

static void take_line(struct import *import, struct span text,
                      unsigned number) {
    CLEANUP(text_free_string) char *line = span_string(text);
    struct cron_crontab crontab;
    struct cron_err why;
    struct err err = {0};

    if (!cron_crontab_parse(line, import->prefix, &crontab, &why)) {
        complain_at(import, number, why.column, ERR_DATA,
                    why.text + why.sentence_at);
        return;
    }
    if (crontab.kind == CRON_LINE_SETTING) {
        take_setting(import, span_of(line), number);
    } else if (crontab.kind == CRON_LINE_TIMES) {
        struct span kept = arena_span(&import->arena, span_of(line));
        if (!take_times(import, kept, kept.p + (crontab.rest - line), number,
                        &err))
            complain(import, number, &err);
    }
    cron_crontab_clear(&crontab);
}

/* ---- what the file no longer has ----------------------------------------- */

struct gone {
    struct import *import;
    struct text names; /* one a line */
    size_t count;
};

static bool take_known(void *ctx, struct span line) {
    struct gone *gone = ctx;
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const char *name = call_line_text(line, "name", &arena);

    if (name[0] != '\0' &&
        map_get(&gone->import->names, span_of(name)) == NULL) {
        text_addf(&gone->names, "%s\n", name);
        gone->count++;
    }
    return true;
}

static void remove_gone(struct import *import, const struct gone *gone) {
    struct span rest = text_span(&gone->names), name;
    struct json json;

    while (rest.len > 0 && span_cut(&rest, '\n', &name)) {
        json_open(&json, &import->body);
        json_object(&json);
        json_key(&json, "name");
        json_span(&json, name);
        json_key(&json, "remove");
        json_bool(&json, true);
        json_end(&json);
        add(import, 0, arena_string(&import->arena, name));
    }
    send(import);
}

static void tell_gone(const struct import *import, const struct gone *gone) {
    struct span rest = text_span(&gone->names), name;

    /* The line of a schedule may be one of those that are invalid now. */
    if (import->status != 0) {
        if (call_has(import->call, "replace"))
            console_note("nothing was removed because of the errors");
        return;
    }

    for (int i = 0;
         i < GONE_SHOWN && rest.len > 0 && span_cut(&rest, '\n', &name); i++)
        console_note("%.*s: from an earlier import with the prefix '%s', and "
                     "not in %s",
                     (int)name.len, name.p, import->prefix, import->file);
    if (gone->count > GONE_SHOWN)
        console_note("and %zu others", gone->count - GONE_SHOWN);
    console_note("repeat the import with --replace if they are to be removed; "
                 "--prefix keeps several crontabs apart");
}

static bool find_gone(struct import *import, struct gone *gone,
                      struct err *err) {
    struct client_lines lines = {.line = take_known, .ctx = gone};
    struct call_uri uri;

    call_uri_begin(&uri, "/api/v1/schedules");
    call_uri_add(&uri, "import", import->prefix);
    bool ok = client_stream(import->client, API_GET, text_string(&uri.text),
                            (struct span){0}, client_take_lines, &lines, err);
    client_lines_end(&lines);
    text_clear(&uri.text);
    return ok;
}

/* Schedules of an earlier import of this crontab whose lines are gone. */
static void end_gone(struct import *import) {
    struct gone gone = {.import = import};
    struct err err = {0};

    if (!find_gone(import, &gone, &err))
        complain(import, 0, &err);
    else if (gone.count > 0 && import->status == 0 &&
             call_has(import->call, "replace"))
        remove_gone(import, &gone);
    else if (gone.count > 0)
        tell_gone(import, &gone);
    text_clear(&gone.names);
}

/* Both cron and Pointsman would run the commands. */
static void end_crontab(const struct import *import) {
    if (import->added == 0)
        return;
    if (import->settings.users)
        console_note("now remove %s, or cron runs the commands as well",
                     import->file);
    else
        console_note("now remove the crontab, or cron runs the commands as "
                     "well: crontab -r");
}

/* ---- the file ------------------------------------------------------------ */

static bool read_file(const char *file, struct text *text, struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    if (!call_open_input(file, &fd, err))
        return false;
    return dir_read_file(fd, CRONTAB_BYTES, text, err) ||
           err_wrap(err, "file '%s'", file);
}

static bool has_users(const struct call *call, const char *file) {
    return call_has(call, "system") || strcmp(file, "/etc/crontab") == 0 ||
           strncmp(file, "/etc/cron.d/", 12) == 0;
}

static bool import_begin(struct import *import, struct call *call,
                         struct err *err) {
    const char *missed = call_value(call, "missed");

    import->call = call;
    import->file = call->words[0];
    import->prefix = prefix_of(import);
    import->zones = cron_zones_new(0);
    import->at_least_once = call_has(call, "at-least-once");
    if (missed != NULL &&
        !schedule_missed_parse(span_of(missed), &import->missed))
        return err_set(err, ERR_USAGE,
                       "'--missed' must be run or skip, not '%s'", missed);
    return crontab_settings_init(&import->settings,
                                 has_users(call, import->file), err) &&
           (call_has(call, "dry-run") ||
            call_client(call, &import->client, err));
}

static void import_clear(struct import *import) {
    client_close(import->client);
    crontab_settings_clear(&import->settings);
    cron_zones_free(import->zones);
    map_clear(&import->names);
    text_clear(&import->body);
    arena_clear(&import->arena);
}

int cmd_cron_import(struct call *call) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct import *import = arena_alloc(&call->arena, sizeof *import);
    struct err err = {0};
    unsigned number = 0;

    import->arena = ARENA_INIT;
    if (!call_operands(call, 1, 1, &err) ||
        !cron_query_from(call, &import->from_s, &err) ||
        !read_file(call->words[0], &text, &err))
        return console_error(&err);
    if (!import_begin(import, call, &err)) {
        import_clear(import);
        return console_error(&err);
    }
    struct span rest = text_span(&text), line;
    while (rest.len > 0 && span_cut(&rest, '\n', &line))
        take_line(import, span_trim(line), ++number);
    if (import->client != NULL) {
        send(import);
        end_gone(import);
        end_crontab(import);
    }
    import_clear(import);
    return console_finish(import->status);
}
