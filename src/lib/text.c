#include "lib/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/utf8.h"

static NORETURN void out_of_memory(void) {
    static const char line[] = "pointsman: out of memory\n";

    if (write(STDERR_FILENO, line, sizeof(line) - 1) < 0) {
        /* Nobody to tell. */
    }
    _exit(75); /* temporary: whoever watches us starts us again */
}

void *mem_alloc(size_t bytes) {
    void *p = calloc(1, bytes > 0 ? bytes : 1);

    if (p == NULL)
        out_of_memory();
    return p;
}

void *mem_grow(void *old, size_t count, size_t each) {
    size_t bytes;
    void *p;

    if (__builtin_mul_overflow(count, each, &bytes))
        out_of_memory();
    p = realloc(old, bytes > 0 ? bytes : 1);
    if (p == NULL)
        out_of_memory();
    return p;
}

char *mem_copy(const void *p, size_t bytes) {
    char *copy;

    if (bytes == SIZE_MAX)
        out_of_memory();
    copy = malloc(bytes + 1);
    if (copy == NULL)
        out_of_memory();
    if (bytes > 0)
        memcpy(copy, p, bytes);
    copy[bytes] = '\0';
    return copy;
}

char *mem_string(const char *string) {
    return string != NULL ? mem_copy(string, strlen(string)) : NULL;
}

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
        out_of_memory();
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

/* C1 controls (U+0080..9f) steer terminals just as C0 ones do. What cannot be
 * seen, and what turns the order of writing round, makes one name look like
 * another: soft hyphen, U+200b..200f, 2028..202e, 2060..206f, the byte order
 * mark. */
static bool character_prints(const unsigned char *p, size_t len) {
    if (len == 1)
        return p[0] >= 0x20 && p[0] != 0x7f;
    if (len == 2)
        return p[0] != 0xc2 || (p[1] >= 0xa0 && p[1] != 0xad);
    if (len != 3)
        return true;
    if (p[0] == 0xe2 && p[1] == 0x80)
        return p[2] < 0x8b || (p[2] > 0x8f && p[2] < 0xa8) || p[2] > 0xae;
    if (p[0] == 0xe2 && p[1] == 0x81)
        return p[2] < 0xa0 || p[2] > 0xaf;
    return p[0] != 0xef || p[1] != 0xbb || p[2] != 0xbf;
}

size_t span_printable(struct span span) {
    size_t len = utf8_character(span.p, span.p + span.len);
    bool prints =
        len > 0 && character_prints((const unsigned char *)span.p, len);
    return prints ? len : 0;
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

struct span span_of(const char *string) {
    return (struct span){string, string != NULL ? strlen(string) : 0};
}

struct span span_make(const void *p, size_t len) {
    return (struct span){p, len};
}

bool span_is(struct span span, const char *string) {
    return span_equal(span, span_of(string));
}

bool span_equal(struct span a, struct span b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

int span_compare(struct span a, struct span b) {
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len > 0 ? memcmp(a.p, b.p, len) : 0;

    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

bool span_starts(struct span span, const char *prefix) {
    size_t len = strlen(prefix);

    return span.len >= len && (len == 0 || memcmp(span.p, prefix, len) == 0);
}

bool span_ends(struct span span, const char *suffix) {
    size_t len = strlen(suffix);

    return span.len >= len &&
           (len == 0 || memcmp(span.p + span.len - len, suffix, len) == 0);
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct span span_trim(struct span span) {
    while (span.len > 0 && is_blank(span.p[0])) {
        span.p++;
        span.len--;
    }
    while (span.len > 0 && is_blank(span.p[span.len - 1]))
        span.len--;
    return span;
}

bool span_cut(struct span *rest, char c, struct span *ret_part) {
    const char *at;

    *ret_part = *rest;
    if (rest->p == NULL)
        return false;
    at = rest->len > 0 ? memchr(rest->p, c, rest->len) : NULL;
    if (at == NULL) {
        *rest = (struct span){0};
        return true;
    }
    ret_part->len = (size_t)(at - rest->p);
    rest->len -= ret_part->len + 1;
    rest->p = at + 1;
    return true;
}

bool span_u64(struct span span, uint64_t *ret_value) {
    uint64_t value = 0;

    *ret_value = 0;
    if (span.len == 0)
        return false;
    for (size_t i = 0; i < span.len; i++) {
        unsigned digit = (unsigned char)span.p[i] - (unsigned)'0';

        if (digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *ret_value = value;
    return true;
}

bool span_i64(struct span span, int64_t *ret_value) {
    bool minus = span.len > 0 && span.p[0] == '-';
    uint64_t value;

    *ret_value = 0;
    if (minus)
        span = span_make(span.p + 1, span.len - 1);
    if (!span_u64(span, &value) || value > (uint64_t)INT64_MAX + minus)
        return false;
    *ret_value = (int64_t)(minus ? UINT64_C(0) - value : value);
    return true;
}

bool span_is_utf8(struct span span) {
    while (span.len > 0) {
        size_t len = utf8_character(span.p, span.p + span.len);

        if (len == 0)
            return false;
        span.p += len;
        span.len -= len;
    }
    return true;
}

char *span_string(struct span span) {
    return mem_copy(span.p, span.len);
}

enum { NEAR_BYTES = 40 }; /* nobody mistypes longer words of ours */

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* Letters lost, added, changed, or two neighbours swapped; case is free. */
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

        /* A word of which nothing stayed was not meant. */
        if (distance < best && distance < len) {
            best = distance;
            nearest = candidates[i];
        }
    }
    return nearest;
}
