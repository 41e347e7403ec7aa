/* Text in sections, the grammar of `meta` and of job files (change-sets.md):
 *
 *     ##files
 *     src/a.c
 *     \##odd
 *     ##message
 *     Fix it
 *
 *     For good.
 *
 * UTF-8, LF (CRLF is accepted too), no NUL. A line beginning with ## starts a
 * section; its name ends at white space, and the rest is its argument. White
 * space at the end of a line is removed, and so are empty lines (except in
 * ##message). A leading backslash in a body line is removed, so that a line may
 * begin with ##. */
#ifndef POINTSMAN_WIRE_SECTIONS_H
#define POINTSMAN_WIRE_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/arena.h"
#include "lib/text.h"
#include "wire/refusal.h"

enum { SECTION_NAME_BYTES = 64 };

struct lines {
    struct span *items;
    size_t count;
};

struct section {
    struct span name;     /* [a-z0-9-]+ */
    struct span argument; /* rest of the ## line, trimmed */
    struct lines lines;   /* without the leading backslash */
};

struct sections {
    struct section *items; /* in the order of the text; names may repeat */
    size_t count;
};

/* The result lives in the arena or in `text`. */
bool sections_parse(struct span text, struct arena *arena,
                    struct sections *ret_sections, struct refusal *why);
/* Appends a text that parses to the same sections. */
void sections_format(const struct sections *sections, struct text *out);
void section_format(const struct section *section, struct text *out);

/* The first section of that name, or NULL. */
const struct section *sections_find(const struct sections *sections,
                                    const char *name);

#endif
