#include "wire/ini.h"

#include <stdlib.h>

struct reader {
    const char *file;
    unsigned line;
    struct ini_item *items;
    size_t count, cap;
    struct span section, label;
    struct err *err;
};

static void reader_clear(struct reader *reader) {
    free(reader->items);
}

static bool refuse(struct reader *reader, const char *what, struct span thing) {
    return err_set(reader->err, ERR_CONFIG, "%s:%u: %s '%.*s'", reader->file,
                   reader->line, what, (int)thing.len, thing.p);
}

static void add(struct reader *reader, struct span key, struct span value) {
    if (reader->count == reader->cap) {
        reader->cap = reader->cap ? 2 * reader->cap : 64;
        reader->items =
            mem_grow(reader->items, reader->cap, sizeof *reader->items);
    }
    reader->items[reader->count++] = (struct ini_item){
        reader->section, reader->label, key, value, reader->line};
}

static bool is_name(struct span span, const char *others) {
    if (!span.len)
        return false;
    for (size_t i = 0; i < span.len; i++) {
        char c = span.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              (c >= '0' && c <= '9') || (c && strchr(others, c))))
            return false;
    }
    return true;
}

/* "label": no escapes, so no quote inside. */
static bool take_label(struct reader *reader, struct span text,
                       struct span line) {
    if (text.len < 2 || text.p[0] != '"' || text.p[text.len - 1] != '"')
        return refuse(
            reader,
            "a label must be quoted, as in [target \"main\"]; it is not in",
            line);
    reader->label = span_make(text.p + 1, text.len - 2);
    if (!reader->label.len || memchr(reader->label.p, '"', reader->label.len))
        return refuse(reader, "empty label or quote in a label in", line);
    return true;
}

static bool take_section(struct reader *reader, struct span line) {
    if (line.p[line.len - 1] != ']')
        return refuse(reader, "no ']' at the end of", line);
    struct span inside = span_trim(span_make(line.p + 1, line.len - 2));
    struct span name = inside;
    for (name.len = 0; name.len < inside.len; name.len++)
        if (name.p[name.len] == ' ' || name.p[name.len] == '\t' ||
            name.p[name.len] == '"')
            break;
    if (!is_name(name, "-_"))
        return refuse(reader, "no section name in", line);
    reader->section = name;
    reader->label = (struct span){0};
    struct span behind =
        span_trim(span_make(inside.p + name.len, inside.len - name.len));
    if (behind.len && !take_label(reader, behind, line))
        return false;
    add(reader, (struct span){0}, (struct span){0});
    return true;
}

static bool take_key(struct reader *reader, struct span line) {
    const char *equals = memchr(line.p, '=', line.len);
    if (!equals)
        return refuse(reader,
                      "neither section, 'key = value' nor comment:", line);
    struct span key = span_trim(span_make(line.p, (size_t)(equals - line.p)));
    struct span value = span_trim(
        span_make(equals + 1, line.len - (size_t)(equals + 1 - line.p)));
    if (!is_name(key, "-_."))
        return refuse(reader, "not a key:", key);
    if (!reader->section.len)
        return refuse(reader, "there must be a section before key", key);
    add(reader, key, value);
    return true;
}

static bool take_line(struct reader *reader, struct span line) {
    line = span_trim(line);
    if (!line.len || line.p[0] == '#' || line.p[0] == ';')
        return true;
    for (size_t i = 0; i < line.len; i++)
        if (((unsigned char)line.p[i] < ' ' && line.p[i] != '\t') ||
            line.p[i] == 0x7f)
            return refuse(reader, "control byte in", line);
    if (line.p[0] == '[')
        return take_section(reader, line);
    return take_key(reader, line);
}

bool ini_parse(struct span text, const char *file, struct arena *arena,
               struct ini *ret_ini, struct err *err) {
    CLEANUP(reader_clear) struct reader reader = {.file = file, .err = err};
    *ret_ini = (struct ini){0};
    if (text.len > INI_BYTES)
        return err_set(err, ERR_CONFIG, "%s: more than %d bytes", file,
                       INI_BYTES);
    if (!span_is_utf8(text))
        return err_set(err, ERR_CONFIG, "%s: not UTF-8 text", file);
    struct span kept = arena_span(arena, text), line;
    for (struct span rest = kept; span_cut(&rest, '\n', &line);) {
        reader.line++;
        if (!take_line(&reader, line))
            return false;
    }
    ret_ini->count = reader.count;
    ret_ini->items =
        arena_alloc(arena, (reader.count + 1) * sizeof *ret_ini->items);
    if (reader.count)
        memcpy(ret_ini->items, reader.items,
               reader.count * sizeof *ret_ini->items);
    return true;
}
