#include "nodes/node_source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "nodes/node_line.h"
#include "os/dir.h"

enum { FILE_BYTES = 512 << 20 };

static bool add(struct node_making *making, struct span name,
                struct span parent, struct span tags, bool disabled,
                struct err *err) {
    const struct node_row row = {.name = name,
                                 .parent = parent,
                                 .level = making->source->level,
                                 .source = making->source->name,
                                 .enabled = making->enabled && !disabled,
                                 .tags = tags};

    return node_list_add(making->list, &row, making->level, err);
}

/* True if this step may look at one more row. */
static bool spend(struct node_making *making) {
    if (making->budget == 0)
        return false;
    making->budget--;
    return true;
}

/* ---- lines --------------------------------------------------------------- */

static bool add_line(struct node_making *making, struct span text,
                     struct err *err) {
    struct node_line line;

    if (!node_line_parse(text, &line, err))
        return false;
    if (making->has_output && line.has_parent)
        return err_set(err, ERR_DATA,
                       "node '%.*s': the script was run for one parent, so it "
                       "cannot say below=",
                       (int)line.name.len, line.name.p);
    return add(making, line.name,
               making->has_output ? making->parent : line.parent,
               span_of(line.tags), line.disabled, err);
}

static bool add_listed(struct node_making *making, struct err *err) {
    const struct config_list *nodes = &making->source->node;

    for (; making->listed < nodes->count; making->listed++) {
        if (!spend(making))
            return true;
        if (!add_line(making, nodes->items[making->listed].text, err))
            return false;
    }
    making->is_done = true;
    return true;
}

/* Blank lines, and those that begin with #, are skipped. */
static bool add_lines(struct node_making *making, struct err *err) {
    struct span line;

    while (spend(making)) {
        if (!span_cut(&making->rest, '\n', &line)) {
            making->is_done = true;
            return true;
        }
        line = span_trim(line);
        making->line++;
        if (line.len > 0 && line.p[0] != '#' && !add_line(making, line, err))
            return err_wrap(err, "%s:%u", making->file, making->line);
    }
    return true;
}

static bool read_file(struct node_making *making, struct err *err) {
    CLEANUP(fd_close) int fd = -1;

    making->file = base_resolve(making->means->base->path, making->source->file,
                                &making->list->arena);
    fd = open(making->file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", making->file);
    if (!dir_read_file(fd, FILE_BYTES, &making->text, err))
        return false;
    making->rest = text_span(&making->text);
    return true;
}

static bool add_file(struct node_making *making, struct err *err) {
    if (making->file == NULL)
        return read_file(making, err);
    return add_lines(making, err);
}

/* ---- below each parent --------------------------------------------------- */

/* Moves to the next node of the level of parents, each name once; has_parent is
 * false if there is none, or the step has done enough. */
static void next_parent(struct node_making *making) {
    const struct node_list *list = making->list;

    making->has_parent = false;
    if (span_is(making->source->parents, NODE_INSTANCE)) {
        making->has_parent = making->parent_at == 0;
        making->parent = SPAN("");
        making->parent_at = making->parents_end = 1;
        return;
    }
    while (making->parent_at < making->parents_end && spend(making)) {
        size_t at = making->parent_at++;
        if (span_equal(list->rows[at].level, making->source->parents) &&
            node_list_is_first(list, at)) {
            making->has_parent = true;
            making->parent = list->rows[at].name;
            return;
        }
    }
}

/* True if it is at a parent; otherwise all of them were there (is_done), or the
 * step has done enough. */
static bool at_parent(struct node_making *making) {
    if (!making->has_parent)
        next_parent(making);
    making->is_done =
        !making->has_parent && making->parent_at == making->parents_end;
    return making->has_parent;
}

/* The words {parent} and `key` of the format are replaced. */
static bool format_name(const struct node_making *making, const char *key,
                        const char *value, struct text *out, struct err *err) {
    struct span format = making->source->format, word = span_of(key);
    struct span parent =
        making->parent.len > 0 ? making->parent : SPAN(NODE_INSTANCE);

    text_reset(out);
    while (format.len > 0) {
        struct span found = SPAN("{parent}");
        if (span_starts(format, "{parent}")) {
            text_addspan(out, parent);
        } else if (span_starts(format, key)) {
            text_adds(out, value);
            found = word;
        } else {
            text_addc(out, *format.p);
            found.len = 1;
        }
        format = span_make(format.p + found.len, format.len - found.len);
    }
    return node_line_check_name(text_span(out), err) ||
           err_wrap(err, "name '%s'", text_string(out));
}

static bool add_number(struct node_making *making, struct err *err) {
    CLEANUP(text_clear) struct text name = TEXT_INIT;
    char number[24];

    snprintf(number, sizeof(number), "%" PRIu64, making->number);
    return format_name(making, "{i}", number, &name, err) &&
           add(making, text_span(&name), making->parent, SPAN(""), false, err);
}

static bool begin_numbers(struct node_making *making, struct err *err) {
    return node_config_range(making->source->range, &making->number,
                             &making->number_end) ||
           err_set(err, ERR_DATA, "its range is not valid");
}

static bool add_range(struct node_making *making, struct err *err) {
    while (at_parent(making) && spend(making)) {
        if (!add_number(making, err))
            return false;
        if (making->number++ == making->number_end) {
            making->has_parent = false;
            if (!begin_numbers(making, err))
                return false;
        }
    }
    return true;
}

/* ---- scripts ------------------------------------------------------------- */

/* The last line that it printed on its standard error. */
static const char *last_line(struct span errors, struct arena *arena) {
    struct span line, last = SPAN("");
    char *text;

    while (span_cut(&errors, '\n', &line))
        last = line;
    text = arena_string(arena, last);
    for (char *c = text; *c != '\0'; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    return text;
}

static void judge(struct node_making *making,
                  const struct subprocess_end *end) {
    const struct config_node_source *source = making->source;
    struct err *err = &making->script_err;
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const char *said = last_line(end->errors, &arena);
    uint64_t lines = 0;

    if (end->how != SUBPROCESS_EXITED) {
        err_set(err, ERR_DATA, "%s", end->why);
        return;
    }
    if (end->exit_code != 0) {
        err_set(err, ERR_DATA, "exit status %d%s%s", end->exit_code,
                said[0] != '\0' ? ": " : "", said);
        return;
    }
    for (size_t i = 0; i < end->answer.len; i++)
        lines += end->answer.p[i] == '\n' ? 1 : 0;
    if (lines > (uint64_t)source->max_lines)
        err_set(err, ERR_DATA,
                "printed more than %" PRId64 " lines (max-lines)",
                source->max_lines);
}

static void on_end(void *ctx, const struct subprocess_end *end) {
    struct node_making *making = ctx;

    making->waits = false;
    making->has_output = true;
    judge(making, end);
    text_reset(&making->text);
    text_addspan(&making->text, end->answer);
    making->rest = text_span(&making->text);
    making->line = 0;
    if (making->means->wake != NULL)
        making->means->wake(making->means->ctx);
}

static void start_script(struct node_making *making) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const struct config_node_source *source = making->source;
    size_t count = source->script.count;
    const char **words = arena_alloc(&arena, (count + 1) * sizeof(*words));

    for (size_t i = 0; i < count; i++)
        words[i] = source->script.words[i];
    words[count] = arena_string(
        &arena, making->parent.len > 0 ? making->parent : SPAN(NODE_INSTANCE));
    making->file = source->script.words[0];
    making->waits = true;
    subprocesses_run(
        making->means->subprocesses,
        &(struct subprocess){.kind = SUBPROCESS_PROGRAM,
                             .words = words,
                             .word_count = count + 1,
                             .stdin_fd = -1,
                             .timeout_ms = source->timeout_s * 1000,
                             .answer_max = (uint64_t)source->max_bytes},
        on_end, making);
}

/* One parent after the other. */
static bool add_script(struct node_making *making, struct err *err) {
    struct span parent;

    if (!at_parent(making))
        return true;
    if (!making->has_output) {
        start_script(making);
        return true;
    }
    parent = making->parent.len > 0 ? making->parent : SPAN(NODE_INSTANCE);
    if (making->script_err.text[0] != '\0')
        *err = making->script_err;
    if (making->script_err.text[0] != '\0' || !add_lines(making, err))
        return err_wrap(err, "script '%s' for '%.*s'", making->file,
                        (int)parent.len, parent.p);
    if (making->is_done) /* with this parent */
        making->has_parent = making->has_output = false;
    (void)at_parent(making);
    return true;
}

/* ---- life ---------------------------------------------------------------- */

bool node_making_begin(struct node_making *making,
                       const struct node_means *means,
                       const struct config_node_source *source,
                       struct node_list *list, struct err *err) {
    *making = (struct node_making){.means = means,
                                   .source = source,
                                   .list = list,
                                   .enabled = config_is_yes(source->enabled),
                                   .parents_end = list->count};
    if (span_is(source->parents, NODE_INSTANCE))
        making->parents_end = 1;
    if (!node_config_level(&means->base->config, source->level, &making->level))
        return err_set(err, ERR_DATA, "there is no level '%.*s'",
                       (int)source->level.len, source->level.p);
    return source->range.len == 0 || begin_numbers(making, err);
}

void node_making_clear(struct node_making *making) {
    if (making->waits)
        subprocesses_drop(making->means->subprocesses, making);
    text_clear(&making->text);
    *making = (struct node_making){0};
}

bool node_making_step(struct node_making *making, struct err *err) {
    const struct config_node_source *source = making->source;

    making->budget = NODE_STEP_ROWS;
    if (source->file.len > 0)
        return add_file(making, err);
    if (source->range.len > 0)
        return add_range(making, err);
    if (source->script.count > 0)
        return add_script(making, err);
    return add_listed(making, err);
}
