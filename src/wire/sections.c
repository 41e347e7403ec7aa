#include "wire/sections.h"

#include <stdlib.h>

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static struct span trim_end(struct span line) {
    while (line.len && is_blank(line.p[line.len - 1]))
        line.len--;
    return line;
}

static bool name_is_valid(struct span name) {
    if (!name.len || name.len > SECTION_NAME_BYTES)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'))
            return false;
    }
    return true;
}

static bool keeps_empty_lines(struct span section_name) {
    return span_is(section_name, "message");
}

/* Arrays that grow during parsing; copied into the arena at the end. */
struct reader {
    struct section *sections;
    size_t section_count, section_cap;
    struct span *lines; /* of all sections, one after another */
    size_t line_count, line_cap;
    size_t *first_line; /* per section; as many as section_cap */
};

static void reader_clear(struct reader *reader) {
    free(reader->sections);
    free(reader->lines);
    free(reader->first_line);
}

static void add_line(struct reader *reader, struct span line) {
    if (reader->line_count == reader->line_cap) {
        reader->line_cap = reader->line_cap ? 2 * reader->line_cap : 64;
        reader->lines =
            mem_grow(reader->lines, reader->line_cap, sizeof *reader->lines);
    }
    reader->lines[reader->line_count++] = line;
}

static bool add_section(struct reader *reader, struct span line,
                        struct refusal *why) {
    struct span name = {line.p + 2, 0};
    while (name.len < line.len - 2 && !is_blank(name.p[name.len]))
        name.len++;
    if (!name_is_valid(name))
        return refusal_set(why, REFUSAL_META_TEXT,
                           "'%.*s' is not the name of a section (lower-case "
                           "letters, digits, dashes)",
                           (int)name.len, name.p);
    if (reader->section_count == reader->section_cap) {
        size_t cap = reader->section_cap ? 2 * reader->section_cap : 16;
        reader->sections =
            mem_grow(reader->sections, cap, sizeof *reader->sections);
        reader->first_line =
            mem_grow(reader->first_line, cap, sizeof *reader->first_line);
        reader->section_cap = cap;
    }
    struct span behind = span_make(name.p + name.len, line.len - 2 - name.len);
    reader->first_line[reader->section_count] = reader->line_count;
    reader->sections[reader->section_count++] =
        (struct section){.name = name, .argument = span_trim(behind)};
    return true;
}

static bool take_line(struct reader *reader, struct span line,
                      struct refusal *why) {
    line = trim_end(line);
    if (span_starts(line, "##"))
        return add_section(reader, line, why);
    if (!reader->section_count) {
        if (!line.len)
            return true;
        return refusal_set(why, REFUSAL_META_TEXT,
                           "text before the first section: '%.*s'",
                           (int)line.len, line.p);
    }
    if (!line.len) {
        struct section *last = &reader->sections[reader->section_count - 1];
        if (keeps_empty_lines(last->name))
            add_line(reader, line);
        return true;
    }
    if (line.p[0] == '\\')
        line = span_make(line.p + 1, line.len - 1);
    add_line(reader, line);
    return true;
}

static void keep(const struct reader *reader, struct arena *arena,
                 struct sections *ret) {
    size_t count = reader->section_count;
    struct span *lines =
        arena_alloc(arena, (reader->line_count + 1) * sizeof *lines);
    ret->items = arena_alloc(arena, (count + 1) * sizeof *ret->items);
    ret->count = count;
    if (reader->line_count)
        memcpy(lines, reader->lines, reader->line_count * sizeof *lines);
    for (size_t i = 0; i < count; i++) {
        size_t first = reader->first_line[i];
        size_t end =
            i + 1 < count ? reader->first_line[i + 1] : reader->line_count;
        ret->items[i] = reader->sections[i];
        ret->items[i].lines = (struct lines){lines + first, end - first};
    }
}

bool sections_parse(struct span text, struct arena *arena,
                    struct sections *ret_sections, struct refusal *why) {
    *ret_sections = (struct sections){0};
    if (text.len && memchr(text.p, '\0', text.len))
        return refusal_set(why, REFUSAL_META_TEXT, "text contains a NUL");
    if (!span_is_utf8(text))
        return refusal_set(why, REFUSAL_META_TEXT, "text is not UTF-8");
    CLEANUP(reader_clear) struct reader reader = {0};
    struct span line;
    for (struct span rest = text; span_cut(&rest, '\n', &line);) {
        /* There is no line after the last LF. */
        if (!rest.p && !line.len)
            break;
        if (!take_line(&reader, line, why))
            return false;
    }
    keep(&reader, arena, ret_sections);
    return true;
}

static void line_format(struct span section_name, struct span line,
                        struct text *out) {
    bool bare_empty = !line.len && keeps_empty_lines(section_name);
    if (!bare_empty &&
        (!line.len || line.p[0] == '\\' || span_starts(line, "##")))
        text_addc(out, '\\');
    text_addspan(out, line);
    text_addc(out, '\n');
}

void section_format(const struct section *section, struct text *out) {
    text_adds(out, "##");
    text_addspan(out, section->name);
    if (section->argument.len) {
        text_addc(out, ' ');
        text_addspan(out, section->argument);
    }
    text_addc(out, '\n');
    for (size_t i = 0; i < section->lines.count; i++)
        line_format(section->name, section->lines.items[i], out);
}

void sections_format(const struct sections *sections, struct text *out) {
    for (size_t i = 0; i < sections->count; i++)
        section_format(&sections->items[i], out);
}

const struct section *sections_find(const struct sections *sections,
                                    const char *name) {
    for (size_t i = 0; i < sections->count; i++)
        if (span_is(sections->items[i].name, name))
            return &sections->items[i];
    return NULL;
}
