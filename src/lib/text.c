#include "lib/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

void text_clear(struct text *text) {
    free(text->p);
    *text = TEXT_INIT;
}

void text_free_string(char **string) {
    free(*string);
    *string = NULL;
}

void text_reset(struct text *text) {
    text->len = 0;
    if (text->p != NULL)
        text->p[0] = '\0';
}

void text_reserve(struct text *text, size_t more_bytes) {
    size_t need, cap;

    if (__builtin_add_overflow(text->len + 1, more_bytes, &need))
        need = SIZE_MAX; /* mem_grow ends the process */
    if (need <= text->cap)
        return;
    cap = text->cap < 48 ? 48 : text->cap + text->cap / 2;
    text->cap = cap > need ? cap : need;
    text->p = mem_grow(text->p, text->cap, 1);
    text->p[text->len] = '\0';
}

void text_add(struct text *text, const void *p, size_t bytes) {
    text_reserve(text, bytes);
    if (bytes > 0)
        memcpy(text->p + text->len, p, bytes);
    text->len += bytes;
    text->p[text->len] = '\0';
}

void text_adds(struct text *text, const char *string) {
    text_add(text, string, strlen(string));
}

void text_addc(struct text *text, char c) {
    if (text->len + 1 >= text->cap)
        text_reserve(text, 1);
    text->p[text->len++] = c;
    text->p[text->len] = '\0';
}

const char *text_plural(uint64_t count) {
    return count == 1 ? "" : "s";
}

void text_addspan(struct text *text, struct span span) {
    text_add(text, span.p, span.len);
}

void text_addf(struct text *text, const char *format, ...) {
    va_list args;

    va_start(args, format);
    text_addv(text, format, args);
    va_end(args);
}

void text_addv(struct text *text, const char *format, va_list args) {
    va_list again;
    int len;

    va_copy(again, args);
    text_reserve(text, 0);
    len = vsnprintf(text->p + text->len, text->cap - text->len, format, args);
    if (len > 0 && (size_t)len >= text->cap - text->len) {
        text_reserve(text, (size_t)len);
        len = vsnprintf(text->p + text->len, text->cap - text->len, format,
                        again);
    }
    va_end(again);
    if (len > 0)
        text->len += (size_t)len;
    text->p[text->len] = '\0';
}

static void add_escaped_byte(struct text *text, unsigned char c) {
    switch (c) {
    case '\n':
        text_add(text, "\\n", 2);
        return;
    case '\t':
        text_add(text, "\\t", 2);
        return;
    case '\\':
        text_add(text, "\\\\", 2);
        return;
    default:
        text_addf(text, "\\x%02x", c);
    }
}

static void add_one_line(struct text *text, struct span span, bool exact) {
    text_reserve(text, span.len);
    while (span.len > 0) {
        size_t len = span_printable(span);

        if (len > 0 && !(exact && span.p[0] == '\\')) {
            text_add(text, span.p, len);
        } else {
            len = 1;
            add_escaped_byte(text, (unsigned char)span.p[0]);
        }
        span.p += len;
        span.len -= len;
    }
}

void text_addescaped(struct text *text, struct span span) {
    add_one_line(text, span, true);
}

void text_add_printable(struct text *text, struct span span) {
    add_one_line(text, span, false);
}

const char *text_string(const struct text *text) {
    return text->p != NULL ? text->p : "";
}

char *text_take(struct text *text) {
    char *p = text->p != NULL ? text->p : mem_copy("", 0);

    *text = TEXT_INIT;
    return p;
}

struct span text_span(const struct text *text) {
    return (struct span){text_string(text), text->len};
}

enum { NEAR_BYTES = 40 }; /* we have no longer words to mistype */

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* Counts letters lost, added or changed, and swapped neighbours; ignores case.
 */
static unsigned edit_distance(const char *a, const char *b) {
    unsigned rows[3][NEAR_BYTES + 1];
    size_t a_len = strlen(a), b_len = strlen(b);

    if (a_len > NEAR_BYTES || b_len > NEAR_BYTES)
        return NEAR_BYTES + 1;
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a_len; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3];
        const unsigned *two_above = rows[(i + 1) % 3];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_len; j++) {
            int x = tolower((unsigned char)a[i - 1]);
            int y = tolower((unsigned char)b[j - 1]);

            row[j] =
                least(above[j - 1] + (x != y), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                y == tolower((unsigned char)a[i - 2]))
                row[j] = least(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_len % 3][b_len];
}

const char *text_nearest(const char *word, const char *const *candidates,
                         size_t count) {
    size_t len = strlen(word);
    unsigned best = (unsigned)least(1 + (unsigned)(len / 4), 3) + 1;
    const char *nearest = NULL;

    if (len > NEAR_BYTES)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        unsigned distance = edit_distance(word, candidates[i]);

        /* A candidate that shares no letter with the word was not meant. */
        if (distance < best && distance < len) {
            best = distance;
            nearest = candidates[i];
        }
    }
    return nearest;
}
