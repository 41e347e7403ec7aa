#include "wire/meta.h"

#include <stdio.h>
#include <stdlib.h>

#include "wire/ref_name.h"

enum {
    RB_LIMIT_MOST = 1000000,
    VALUE_BYTES = 4096 /* of an author or approval line */
};

/* The meta being filled, and its input. */
struct reader {
    const struct sections *sections;
    const struct path_limits *limits;
    struct arena *arena;
    struct meta *meta;
    struct refusal *why;
};

static bool refuse_value(struct reader *reader, const char *section,
                         struct span value, const char *what) {
    return refusal_set(reader->why, REFUSAL_META_VALUE, "##%s: '%.*s' %s",
                       section, (int)value.len, value.p ? value.p : "", what);
}

static const struct lines *lines_of(struct reader *reader,
                                    const char *section) {
    static const struct lines none;
    const struct section *found = sections_find(reader->sections, section);
    return found ? &found->lines : &none;
}

/* Reads a section of one line: false if there are more, empty if absent. */
static bool one_value(struct reader *reader, const char *section,
                      struct span *ret_value) {
    const struct section *found = sections_find(reader->sections, section);
    *ret_value = (struct span){0};
    if (!found || !found->lines.count)
        return true;
    if (found->lines.count > 1)
        return refusal_set(reader->why, REFUSAL_META_VALUE,
                           "##%s holds %zu values, one is allowed", section,
                           found->lines.count);
    *ret_value = found->lines.items[0];
    return true;
}

static int span_order(const void *a, const void *b) {
    return span_compare(*(const struct span *)a, *(const struct span *)b);
}

static int path_order(const void *a, const void *b) {
    return path_compare(*(const struct span *)a, *(const struct span *)b);
}

static void drop_duplicates(struct lines *lines) {
    size_t kept = 0;
    for (size_t i = 0; i < lines->count; i++)
        if (!kept || !span_equal(lines->items[kept - 1], lines->items[i]))
            lines->items[kept++] = lines->items[i];
    lines->count = kept;
}

static struct lines lines_copy(struct reader *reader,
                               const struct lines *lines) {
    struct lines copy = {
        arena_alloc(reader->arena, (lines->count + 1) * sizeof *copy.items),
        lines->count};
    if (lines->count)
        memcpy(copy.items, lines->items, lines->count * sizeof *copy.items);
    return copy;
}

static bool read_paths(struct reader *reader, const char *section,
                       struct lines *ret_paths) {
    *ret_paths = lines_copy(reader, lines_of(reader, section));
    for (size_t i = 0; i < ret_paths->count; i++)
        if (!path_check(ret_paths->items[i], reader->limits, reader->why))
            return refusal_wrap(reader->why, "##%s", section);
    if (ret_paths->count)
        qsort(ret_paths->items, ret_paths->count, sizeof *ret_paths->items,
              path_order);
    drop_duplicates(ret_paths);
    return true;
}

/* Reads an id, or the id of a full name. */
static bool read_id(struct reader *reader, const char *section,
                    struct span line, struct span *ret_id) {
    *ret_id = line;
    if (line.len && memchr(line.p, '_', line.len)) {
        struct set_name name;
        if (!set_name_parse(line, &name, reader->why)) {
            if (reader->why)
                reader->why->kind = REFUSAL_META_VALUE;
            return refusal_wrap(reader->why, "##%s", section);
        }
        *ret_id = name.csid;
    }
    if (set_csid_is_valid(*ret_id))
        return true;
    return refuse_value(reader, section, line, "is not the id of a job");
}

static bool read_ids(struct reader *reader, const char *section,
                     struct lines *ret_ids) {
    *ret_ids = lines_copy(reader, lines_of(reader, section));
    for (size_t i = 0; i < ret_ids->count; i++)
        if (!read_id(reader, section, ret_ids->items[i], &ret_ids->items[i]))
            return false;
    if (ret_ids->count)
        qsort(ret_ids->items, ret_ids->count, sizeof *ret_ids->items,
              span_order);
    drop_duplicates(ret_ids);
    return true;
}

static bool is_hex(struct span span) {
    for (size_t i = 0; i < span.len; i++)
        if (!strchr("0123456789abcdef", span.p[i]) || !span.p[i])
            return false;
    return true;
}

static bool is_object_name(struct span span) {
    return (span.len == 40 || span.len == 64) && is_hex(span);
}

static bool is_listed(const struct lines *ids, struct span id) {
    for (size_t i = 0; i < ids->count; i++)
        if (span_equal(ids->items[i], id))
            return true;
    return false;
}

/* A set of a stack names the set below it and the tree that it makes; it must
 * not land before that set. */
static bool read_base_set(struct reader *reader) {
    struct meta *meta = reader->meta;
    struct span value;
    if (!one_value(reader, "base-set", &value) ||
        !one_value(reader, "base-tree", &meta->base_tree))
        return false;
    if (value.len && !read_id(reader, "base-set", value, &meta->base_set))
        return false;
    if (meta->base_tree.len && !is_object_name(meta->base_tree))
        return refuse_value(reader, "base-tree", meta->base_tree,
                            "is not a tree id (40 or 64 lower-case hex "
                            "digits)");
    if (!meta->base_set.len != !meta->base_tree.len)
        return refusal_set(reader->why, REFUSAL_META_SECTION,
                           "##base-set and ##base-tree belong together; one of "
                           "them is missing");
    if (meta->base_set.len && meta->movetype == SET_RB)
        return refuse_value(reader, "base-set", value,
                            "is not allowed in a rollback");
    if (meta->base_set.len && !is_listed(&meta->dependencies, meta->base_set))
        return refuse_value(reader, "base-set", value,
                            "is not in ##dependencies");
    return true;
}

static bool read_base(struct reader *reader) {
    struct meta *meta = reader->meta;
    if (!one_value(reader, "base", &meta->base))
        return false;
    if (!meta->base.len || is_object_name(meta->base))
        return true;
    return refuse_value(reader, "base", meta->base,
                        "is not a commit id (40 or 64 lower-case hex digits)");
}

/* True if a byte is a control character, or with `blanks` a blank. */
static bool has_control(struct span text, bool blanks) {
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c < 0x20 || c == 0x7f || (blanks && c == ' '))
            return true;
    }
    return false;
}

/* Name <mail>: a form that git accepts, without bytes that would end a header
 * line or that the commit would leave out, so that the author of the commit is
 * who the approvals take for the author. */
static bool author_is_valid(struct span author) {
    const char *open = memchr(author.p, '<', author.len);
    if (!open || open == author.p || open[-1] != ' ' ||
        author.len > VALUE_BYTES || author.p[author.len - 1] != '>')
        return false;
    size_t behind = author.len - 1 - (size_t)(open + 1 - author.p);
    return !has_control(author, false) &&
           !has_control(span_make(open + 1, behind), true) &&
           !memchr(open + 1, '<', behind) && !memchr(open + 1, '>', behind) &&
           !memchr(author.p, '>', (size_t)(open - author.p)) &&
           span_trim(span_make(author.p, (size_t)(open - author.p))).len;
}

static bool read_authorship(struct reader *reader) {
    struct meta *meta = reader->meta;
    if (!one_value(reader, "author", &meta->author) ||
        !one_value(reader, "date", &meta->date))
        return false;
    if (meta->author.len && !author_is_valid(meta->author))
        return refuse_value(reader, "author", meta->author,
                            "is not of the form 'Name <mail>', without control "
                            "characters and without blanks in the mail");
    if (meta->date.len && !wall_parse(meta->date, &meta->date_wall))
        return refuse_value(reader, "date", meta->date,
                            "is not a time like 2026-11-21T19:20:21+01:00");
    return true;
}

static void read_message(struct reader *reader) {
    const struct lines *lines = lines_of(reader, "message");
    size_t first = 0, end = lines->count, bytes = 0;
    while (first < end && !lines->items[first].len)
        first++;
    while (end > first && !lines->items[end - 1].len)
        end--;
    for (size_t i = first; i < end; i++)
        bytes += lines->items[i].len + 1;
    char *message = arena_alloc(reader->arena, bytes + 1), *at = message;
    for (size_t i = first; i < end; i++) {
        if (i > first)
            *at++ = '\n';
        if (lines->items[i].len)
            memcpy(at, lines->items[i].p, lines->items[i].len);
        at += lines->items[i].len;
    }
    reader->meta->message = span_make(message, (size_t)(at - message));
}

enum { GROUP_MAX = 1000 };

/* "NAME" or "NAME COUNT". */
static bool read_group(struct reader *reader) {
    struct meta *meta = reader->meta;
    struct span line, name;
    if (!one_value(reader, "group", &line))
        return false;
    if (!line.len)
        return true;
    struct span count = line;
    if (!span_cut(&count, ' ', &name) || !set_csid_is_valid(name))
        return refuse_value(reader, "group", line,
                            "is not a name of letters, digits, '.', '-'");
    count = span_trim(count);
    if (count.len && (!span_u64(count, &meta->group_size) ||
                      meta->group_size < 1 || meta->group_size > GROUP_MAX))
        return refuse_value(
            reader, "group", line,
            "has no number of sets from 1 to 1000 after the name");
    if (meta->movetype == SET_RB)
        return refuse_value(
            reader, "group", line,
            "is not allowed in a rollback, which is always one step");
    meta->group = name;
    return true;
}

static bool read_single_values(struct reader *reader) {
    struct meta *meta = reader->meta;
    struct span value;
    if (!one_value(reader, "movetype", &value))
        return false;
    if (!value.len)
        return refusal_set(reader->why, REFUSAL_META_SECTION,
                           "section ##movetype is missing");
    if (!set_class_parse(value, &meta->movetype))
        return refuse_value(reader, "movetype", value,
                            "is not one of RB, EM, BF, DC");
    if (!one_value(reader, "target", &meta->target))
        return false;
    if (meta->target.len && !ref_name_is_valid(meta->target))
        return refuse_value(reader, "target", meta->target,
                            "is not a valid name for a git branch");
    if (!read_group(reader))
        return false;
    if (!one_value(reader, "supersedes", &value))
        return false;
    if (value.len && !read_id(reader, "supersedes", value, &meta->supersedes))
        return false;
    if (!one_value(reader, "rb-limit", &value))
        return false;
    if (value.len && (!span_u64(value, &meta->rb_limit) || !meta->rb_limit ||
                      meta->rb_limit > RB_LIMIT_MOST))
        return refuse_value(reader, "rb-limit", value,
                            "is not a number from 1 to 1000000");
    return true;
}

static bool refuse_clash(struct reader *reader, struct span file,
                         struct span other, const char *what) {
    return refusal_set(reader->why, REFUSAL_PATH_CLASH,
                       "path '%.*s' is in ##files, and '%.*s' is %s",
                       (int)file.len, file.p, (int)other.len, other.p, what);
}

/* Both lists are sorted, so the paths below a path directly follow it. */
static bool check_paths(struct reader *reader) {
    const struct lines *files = &reader->meta->files;
    const struct lines *deleted = &reader->meta->deleted;
    for (size_t i = 1; i < files->count; i++)
        if (path_is_below(files->items[i], files->items[i - 1]))
            return refuse_clash(reader, files->items[i - 1], files->items[i],
                                "below it too");
    for (size_t f = 0, d = 0; f < files->count && d < deleted->count;) {
        int order = path_compare(files->items[f], deleted->items[d]);
        if (!order)
            return refuse_clash(reader, files->items[f], deleted->items[d],
                                "in ##deleted too");
        if (order < 0)
            f++;
        else
            d++;
    }
    return true;
}

static bool check_amount(struct reader *reader) {
    const struct meta *meta = reader->meta;
    size_t paths = meta->files.count + meta->deleted.count;
    if (meta->movetype == SET_RB) {
        if (paths)
            return refusal_set(reader->why, REFUSAL_META_SECTION,
                               "a rollback (RB) has neither ##files nor "
                               "##deleted");
        if (!meta->dependencies.count)
            return refusal_set(reader->why, REFUSAL_EMPTY,
                               "a rollback (RB) names the sets to roll back in "
                               "##dependencies, which is empty");
        return true;
    }
    if (!paths)
        return refusal_set(reader->why, REFUSAL_EMPTY,
                           "neither ##files nor ##deleted lists a path");
    return true;
}

static bool check_no_duplicates(struct reader *reader) {
    static const char *const known[] = {
        "movetype", "target",   "files",        "deleted",
        "base",     "approval", "precursors",   "supersedes",
        "group",    "rb-limit", "author",       "date",
        "message",  "job",      "dependencies", "precursors-computed",
        "base-set", "base-tree"};
    for (size_t k = 0; k < COUNT(known); k++) {
        size_t times = 0;
        for (size_t i = 0; i < reader->sections->count; i++)
            times += span_is(reader->sections->items[i].name, known[k]);
        if (times > 1)
            return refusal_set(reader->why, REFUSAL_META_SECTION,
                               "section ##%s occurs %zu times", known[k],
                               times);
    }
    return true;
}

bool meta_read(const struct sections *sections,
               const struct path_limits *limits, struct arena *arena,
               struct meta *ret_meta, struct refusal *why) {
    struct path_limits usual = PATH_LIMITS;
    struct reader reader = {sections, limits ? limits : &usual, arena, ret_meta,
                            why};
    *ret_meta = (struct meta){.sections = *sections};
    if (!check_no_duplicates(&reader) || !read_single_values(&reader) ||
        !read_paths(&reader, "files", &ret_meta->files) ||
        !read_paths(&reader, "deleted", &ret_meta->deleted) ||
        !read_base(&reader) ||
        !read_ids(&reader, "dependencies", &ret_meta->dependencies) ||
        !read_ids(&reader, "precursors", &ret_meta->precursors) ||
        !read_base_set(&reader) || !read_authorship(&reader) ||
        !check_paths(&reader) || !check_amount(&reader))
        return false;
    ret_meta->approval = *lines_of(&reader, "approval");
    read_message(&reader);
    return true;
}

bool meta_parse(struct span text, const struct path_limits *limits,
                struct arena *arena, struct meta *ret_meta,
                struct refusal *why) {
    static const char *const ours[] = {"job", "precursors-computed"};
    struct sections sections;
    *ret_meta = (struct meta){0};
    if (text.len > META_BYTES)
        return refusal_set(why, REFUSAL_TOO_BIG,
                           "meta has %zu bytes, at most %d are allowed",
                           text.len, META_BYTES);
    if (!sections_parse(text, arena, &sections, why))
        return refusal_wrap(why, "meta");
    for (size_t i = 0; i < COUNT(ours); i++)
        if (sections_find(&sections, ours[i]))
            return refusal_set(
                why, REFUSAL_META_SECTION,
                "meta: section ##%s is written by the queue only; remove it",
                ours[i]);
    if (!meta_read(&sections, limits, arena, ret_meta, why))
        return refusal_wrap(why, "meta");
    return true;
}

bool meta_match_name(const struct meta *meta, const struct set_name *name,
                     struct refusal *why) {
    if (meta->movetype != name->class)
        return refusal_set(
            why, REFUSAL_CLASS_MISMATCH, "##movetype is %s, the name says %s",
            set_class_name(meta->movetype), set_class_name(name->class));
    const char *section =
        is_listed(&meta->dependencies, name->csid) ? "dependencies"
        : is_listed(&meta->precursors, name->csid) ? "precursors"
        : span_equal(meta->supersedes, name->csid) ? "supersedes"
                                                   : NULL;
    if (!section)
        return true;
    return refusal_set(why, REFUSAL_META_VALUE,
                       "##%s names the set itself, '%.*s'", section,
                       (int)name->csid.len, name->csid.p);
}

static void put_lines(const char *name, const struct lines *lines,
                      struct text *out) {
    if (!lines->count)
        return;
    struct section section = {.name = span_of(name), .lines = *lines};
    section_format(&section, out);
}

static void put_value(const char *name, struct span value, struct text *out) {
    if (value.len)
        put_lines(name, &(struct lines){&value, 1}, out);
}

static void put_message(struct span message, struct text *out) {
    if (!message.len)
        return;
    size_t count = 1;
    for (size_t i = 0; i < message.len; i++)
        count += message.p[i] == '\n';
    struct lines lines = {mem_alloc(count * sizeof(struct span)), 0};
    for (struct span rest = message, line; span_cut(&rest, '\n', &line);)
        lines.items[lines.count++] = line;
    put_lines("message", &lines, out);
    free(lines.items);
}

static void put_group(const struct meta *meta, struct text *out) {
    CLEANUP(text_clear) struct text value = TEXT_INIT;
    text_addspan(&value, meta->group);
    if (meta->group.len && meta->group_size)
        text_addf(&value, " %llu", (unsigned long long)meta->group_size);
    put_value("group", text_span(&value), out);
}

void meta_format(const struct meta *meta, struct text *out) {
    put_value("movetype", span_of(set_class_name(meta->movetype)), out);
    put_value("target", meta->target, out);
    put_value("base", meta->base, out);
    put_value("base-set", meta->base_set, out);
    put_value("base-tree", meta->base_tree, out);
    put_value("supersedes", meta->supersedes, out);
    put_group(meta, out);
    if (meta->rb_limit) {
        char number[24];
        int len = snprintf(number, sizeof number, "%llu",
                           (unsigned long long)meta->rb_limit);
        put_value("rb-limit", span_make(number, (size_t)len), out);
    }
    put_lines("dependencies", &meta->dependencies, out);
    put_lines("precursors", &meta->precursors, out);
    put_lines("approval", &meta->approval, out);
    put_value("author", meta->author, out);
    put_value("date", meta->date, out);
    put_lines("files", &meta->files, out);
    put_lines("deleted", &meta->deleted, out);
    put_message(meta->message, out);
}
