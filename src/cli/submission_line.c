#include "cli/submission_line.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/begin_time.h"
#include "os/dir.h"
#include "os/fd.h"
#include "wire/array_ranges.h"
#include "wire/set_name.h"

enum { ARRAY_BYTES = 64 << 20 };

/* Not every command with a submission has all of its options. */
static const char *value_given(const struct call *call, const char *option) {
    return call_knows(call, option) ? call_value(call, option) : NULL;
}

static struct lines lines_given(struct call *call, const char *option) {
    struct lines lines = {0};
    size_t cursor = 0;
    const char *value;

    if (!call_knows(call, option))
        return lines;
    lines.items =
        arena_alloc(&call->arena, call->given_count * sizeof *lines.items);
    while ((value = call_next(call, option, &cursor)) != NULL)
        lines.items[lines.count++] = span_of(value);
    return lines;
}

/* ---- environment --------------------------------------------------------- */

static void env_put(struct submission *submission, struct arena *arena,
                    struct span name, const char *value) {
    struct submission_env *env = arena_alloc(
        arena, (submission->env_count + 1) * sizeof *submission->env);

    for (size_t i = 0; i < submission->env_count; i++)
        if (span_equal(submission->env[i].name, name)) {
            submission->env[i].value = span_of(value);
            return;
        }
    if (submission->env_count > 0)
        memcpy(env, submission->env, submission->env_count * sizeof *env);
    env[submission->env_count++] =
        (struct submission_env){name, span_of(value)};
    submission->env = env;
}

/* --param NAME=VALUE */
static bool params_given(struct call *call, struct submission *submission,
                         struct err *err) {
    size_t cursor = 0;
    const char *word;

    submission->template = span_of(value_given(call, "template"));
    submission->params = arena_alloc(
        &call->arena, (call->given_count + 1) * sizeof *submission->params);
    while (call_knows(call, "param") &&
           (word = call_next(call, "param", &cursor)) != NULL) {
        struct span value = span_of(word), name;
        if (!span_cut(&value, '=', &name) || value.p == NULL || name.len == 0)
            return err_set(err, ERR_USAGE, "'--param %s' is not NAME=VALUE",
                           word);
        for (size_t i = 0; i < submission->param_count; i++)
            if (span_equal(submission->params[i].name, name))
                return err_set(err, ERR_USAGE, "'--param %.*s' is there twice",
                               (int)name.len, name.p);
        submission->params[submission->param_count++] =
            (struct submission_env){name, value};
    }
    if (submission->param_count > 0 && submission->template.p == NULL)
        return err_set(err, ERR_USAGE,
                       "--param is only for a template: write --template NAME");
    return submission->template.p == NULL || call->word_count == 0 ||
           err_set(err, ERR_USAGE,
                   "the command comes from the template; '%s' is in its place",
                   call->words[0]);
}

/* NAME=VALUE, or NAME: its value in the environment. */
static bool env_given(struct call *call, struct submission *submission,
                      struct err *err) {
    size_t cursor = 0;
    const char *word;

    while ((word = call_next(call, "env", &cursor)) != NULL) {
        const char *equals = strchr(word, '=');
        size_t len = equals == NULL ? strlen(word) : (size_t)(equals - word);
        const char *value = equals == NULL ? getenv(word) : equals + 1;
        if (len == 0)
            return err_set(err, ERR_USAGE, "'--env %s' has no name", word);
        if (value == NULL)
            return err_set(err, ERR_USAGE,
                           "'%s' is not set in the environment; write "
                           "--env %s=VALUE",
                           word, word);
        env_put(submission, &call->arena, span_make(word, len), value);
    }
    return true;
}

/* The registry stores UTF-8 text; other bytes would come back changed. */
static bool is_text(struct span span, const char *what, struct err *err) {
    return span_is_utf8(span) ||
           err_set(err, ERR_DATA, "%s is not UTF-8 text: '%.*s'", what,
                   (int)(span.len < 200 ? span.len : 200), span.p);
}

static bool lines_are_text(const struct lines *lines, const char *what,
                           struct err *err) {
    for (size_t i = 0; i < lines->count; i++)
        if (!is_text(lines->items[i], what, err))
            return false;
    return true;
}

static bool all_is_text(const struct submission *submission, struct err *err) {
    for (size_t i = 0; i < submission->env_count; i++)
        if (!is_text(submission->env[i].name, "a variable's name", err) ||
            !is_text(submission->env[i].value, "a variable's value", err))
            return false;
    for (size_t i = 0; i < submission->param_count; i++)
        if (!is_text(submission->params[i].name, "a parameter's name", err) ||
            !is_text(submission->params[i].value, "a parameter's value", err))
            return false;
    return is_text(submission->template, "the template's name", err) &&
           is_text(submission->dir, "the directory's name", err) &&
           lines_are_text(&submission->command, "an argument", err) &&
           is_text(submission->singleton, "the key of --singleton", err) &&
           lines_are_text(&submission->touches, "a key of --touches", err) &&
           lines_are_text(&submission->array, "a line of --array", err);
}

bool submission_fill(struct submission *submission, struct arena *arena,
                     struct err *err) {
    static const char *const kept[] = {"PATH", "HOME", "LANG", "TZ"};

    if (submission->dir.len == 0) {
        CLEANUP(text_free_string) char *here = getcwd(NULL, 0);
        if (here == NULL)
            return err_errno(err, errno,
                             "cannot determine the current directory");
        submission->dir = arena_span(arena, span_of(here));
    }
    if (submission->umask < 0) {
        mode_t mask = umask(077);
        (void)umask(mask);
        submission->umask = (int)mask;
    }
    for (size_t i = 0; i < COUNT(kept) && !submission->clean; i++) {
        const char *value = getenv(kept[i]);
        /* The HOME of the current user is wrong for another one. */
        bool other =
            submission->task.user.len > 0 && strcmp(kept[i], "HOME") == 0;
        bool there = value == NULL || other;
        for (size_t k = 0; k < submission->env_count; k++)
            there |= span_is(submission->env[k].name, kept[i]);
        if (!there)
            env_put(submission, arena, span_of(kept[i]),
                    arena_string(arena, span_of(value)));
    }
    return all_is_text(submission, err);
}

/* ---- other options ------------------------------------------------------- */

static bool read_array(struct call *call, struct submission *submission,
                       struct err *err) {
    const char *file = value_given(call, "array");
    CLEANUP(text_clear) struct text text = TEXT_INIT;

    if (file == NULL)
        return true;
    if (array_ranges_are_meant(span_of(file))) {
        if (array_ranges_parse(span_of(file), &call->arena, &submission->array,
                               err))
            return true;
        err->kind = ERR_USAGE;
        return err_wrap(err, "--array");
    }
    CLEANUP(fd_close) int fd = -1;
    if (!call_open_input(file, &fd, err))
        return false;
    if (!dir_read_file(fd, ARRAY_BYTES, &text, err))
        return err_wrap(err, "file '%s'", file);
    struct span rest = arena_span(&call->arena, text_span(&text)), line;
    size_t most = 1;
    for (size_t i = 0; i < rest.len; i++)
        most += rest.p[i] == '\n';
    submission->array.items =
        arena_alloc(&call->arena, most * sizeof *submission->array.items);
    while (rest.len > 0 && span_cut(&rest, '\n', &line)) {
        if (span_ends(line, "\r"))
            line.len--;
        if (line.len > 0)
            submission->array.items[submission->array.count++] = line;
    }
    if (submission->array.count == 0)
        return err_set(err, ERR_DATA,
                       "'%s' holds no lines: an array has one task per line",
                       file);
    return true;
}

static bool read_class(const struct call *call, struct submission *submission,
                       struct err *err) {
    const char *word = call_value(call, "class");

    if (word == NULL || set_priority_parse(span_of(word), &submission->class,
                                           &submission->sub_priority))
        return true;
    return err_set(err, ERR_USAGE,
                   "'%s' is not a class: use RB, EM, BF or DC, and .NNN after "
                   "it for a priority within the class",
                   word);
}

static bool read_node(const struct call *call, struct submission *submission,
                      struct err *err) {
    submission->node = span_of(value_given(call, "node"));
    if (submission_check_node(submission, err))
        return true;
    err->kind = ERR_USAGE;
    return false;
}

/* The option of a key has '-' in place of '_'. */
static bool task_given(struct call *call, struct task_options *options,
                       struct err *err) {
    const struct task_option *option;

    for (size_t i = 0; (option = task_option_at(i)) != NULL; i++) {
        char *name = arena_string(&call->arena, span_of(option->key));
        for (char *c = name; *c != '\0'; c++)
            if (*c == '_')
                *c = '-';
        size_t cursor = 0;
        const char *value;
        while (call_knows(call, name) &&
               (value = call_next(call, name, &cursor)) != NULL)
            if (!task_option_set(options, span_of(option->key), span_of(value),
                                 err)) {
                err->kind = ERR_USAGE;
                return false;
            }
    }
    return true;
}

/* Members of a submission are named as the options that give them: 'kill_wait'
 * becomes '--kill-wait'. Returns false. */
static bool name_options(struct call *call, struct err *err) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    const char *p = err->text, *end;

    while (*p != '\0') {
        text_addc(&out, *p);
        if (*p++ != '\'' || (end = strchr(p, '\'')) == NULL)
            continue;
        char *name =
            arena_string(&call->arena, span_make(p, (size_t)(end - p)));
        for (char *c = name; *c != '\0'; c++)
            if (*c == '_')
                *c = '-';
        bool is_value = out.len > 3 && out.p[out.len - 3] == '=';
        if (!is_value && call_knows(call, name))
            text_addf(&out, "--%s", name);
        else
            text_add(&out, p, (size_t)(end - p));
        text_addc(&out, '\'');
        p = end + 1;
    }
    return err_set(err, err->kind, "%s", text_string(&out));
}

bool submission_of_call(struct call *call, struct submission *ret_submission,
                        struct err *err) {
    struct submission submission;
    long long retries = 0, timeout_ms = 0, running = 0;

    submission_init(&submission);
    if (!params_given(call, &submission, err))
        return false;
    if (call->word_count == 0 && submission.template.p == NULL)
        return err_set(err, ERR_USAGE,
                       "'%s' needs a command; write pointsman %s -- COMMAND",
                       call->command->name, call->command->name);
    submission.id = span_of(value_given(call, "id"));
    submission.after = lines_given(call, "after");
    submission.after_any = lines_given(call, "after-any");
    submission.after_failed = lines_given(call, "after-failed");
    submission.singleton = span_of(value_given(call, "singleton"));
    submission.touches = lines_given(call, "touches");
    submission.clean = call_has(call, "clean");
    submission.at_most_once = value_given(call, "at-most-once") != NULL;
    submission.command.items =
        arena_alloc(&call->arena,
                    (call->word_count + 1) * sizeof *submission.command.items);
    for (size_t i = 0; i < call->word_count; i++)
        submission.command.items[submission.command.count++] =
            span_of(call->words[i]);
    if (!call_number(call, "retries", 0, SUBMISSION_RETRIES, &retries, err) ||
        !call_duration(call, "timeout", &timeout_ms, err) ||
        (call_knows(call, "max-running") &&
         !call_number(call, "max-running", 0, SUBMISSION_RUNNING, &running,
                      err)) ||
        !begin_time_given(call, &submission.begin, err) ||
        !read_class(call, &submission, err) ||
        !read_node(call, &submission, err) ||
        !env_given(call, &submission, err) ||
        !read_array(call, &submission, err))
        return false;
    submission.retries = (unsigned)retries;
    submission.timeout_ms = timeout_ms;
    submission.max_running = (unsigned)running;
    if (!task_given(call, &submission.task, err) ||
        !submission_fill(&submission, &call->arena, err) ||
        !submission_check(&submission, err))
        return name_options(call, err);
    *ret_submission = submission;
    return true;
}
