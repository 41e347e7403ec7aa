#include "nodes/node_source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "nodes/node_line.h"
#include "os/dir.h"

enum { FILE_BYTES = 512 << 20 };

struct making {
    const struct config_node_source *source;
    struct node_list *list;
    unsigned level;
    bool enabled;
};

static bool add(const struct making *making, struct span name,
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

/* ---- lines --------------------------------------------------------------- */

static bool add_line(const struct making *making, struct span text,
                     struct err *err) {
    struct node_line line;

    return node_line_parse(text, &line, err) &&
           add(making, line.name, line.parent, span_of(line.tags),
               line.disabled, err);
}

static bool add_listed(const struct making *making, struct err *err) {
    const struct config_list *nodes = &making->source->node;

    for (size_t i = 0; i < nodes->count; i++)
        if (!add_line(making, nodes->items[i].text, err))
            return false;
    return true;
}

/* Blank lines, and those that begin with #, are skipped. */
static bool add_text(const struct making *making, struct span text,
                     const char *file, struct err *err) {
    struct span line;

    for (unsigned number = 1; span_cut(&text, '\n', &line); number++) {
        line = span_trim(line);
        if (line.len > 0 && line.p[0] != '#' && !add_line(making, line, err))
            return err_wrap(err, "%s:%u", file, number);
    }
    return true;
}

static bool add_file(const struct base *base, const struct making *making,
                     struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    CLEANUP(fd_close) int fd = -1;
    const char *path = base_resolve(base->path, making->source->file, &arena);

    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", path);
    return dir_read_file(fd, FILE_BYTES, &text, err) &&
           add_text(making, text_span(&text), path, err);
}

/* ---- ranges -------------------------------------------------------------- */

/* "{parent}__{i}" */
static void name_format(struct span format, struct span parent, uint64_t number,
                        struct text *out) {
    text_reset(out);
    while (format.len > 0) {
        if (span_starts(format, "{parent}")) {
            text_addspan(out, parent);
            format = span_make(format.p + 8, format.len - 8);
        } else if (span_starts(format, "{i}")) {
            text_addf(out, "%" PRIu64, number);
            format = span_make(format.p + 3, format.len - 3);
        } else {
            text_addc(out, *format.p);
            format = span_make(format.p + 1, format.len - 1);
        }
    }
}

static bool add_numbers(const struct making *making, struct span parent,
                        struct err *err) {
    CLEANUP(text_clear) struct text name = TEXT_INIT;
    const struct config_node_source *source = making->source;
    uint64_t first = 0, last = 0;

    if (!node_config_range(source->range, &first, &last))
        return err_set(err, ERR_DATA, "its range is not valid");
    for (uint64_t i = first;; i++) {
        name_format(source->format,
                    parent.len > 0 ? parent : SPAN(NODE_INSTANCE), i, &name);
        if (!node_line_check_name(text_span(&name), err))
            return err_wrap(err, "name '%s'", text_string(&name));
        if (!add(making, text_span(&name), parent, SPAN(""), false, err))
            return false;
        if (i == last)
            return true;
    }
}

/* Below each node of the level of parents, once for each name. */
static bool add_range(const struct making *making, struct err *err) {
    struct node_list *list = making->list;
    size_t count = list->count;

    if (span_is(making->source->parents, NODE_INSTANCE))
        return add_numbers(making, SPAN(""), err);
    for (size_t i = 0; i < count; i++) {
        struct span name = list->rows[i].name;
        if (span_equal(list->rows[i].level, making->source->parents) &&
            node_list_is_first(list, i) && !add_numbers(making, name, err))
            return false;
    }
    return true;
}

bool node_source_make(const struct base *base,
                      const struct config_node_source *source,
                      struct node_list *list, struct err *err) {
    struct making making = {.source = source,
                            .list = list,
                            .enabled = config_is_yes(source->enabled)};

    if (!node_config_level(&base->config, source->level, &making.level))
        return err_set(err, ERR_DATA, "there is no level '%.*s'",
                       (int)source->level.len, source->level.p);
    if (source->file.len > 0)
        return add_file(base, &making, err);
    if (source->range.len > 0)
        return add_range(&making, err);
    return add_listed(&making, err);
}
