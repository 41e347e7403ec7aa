/* `struct text` owns bytes and grows them; lib/span.h refers to bytes.
 *
 * A text is always NUL-terminated after its len bytes, which may contain NULs
 * themselves. */
#ifndef POINTSMAN_LIB_TEXT_H
#define POINTSMAN_LIB_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/attr.h"
#include "lib/mem.h"
#include "lib/span.h"

struct text {
    char *p; /* NULL until something was added */
    size_t len;
    size_t cap;
};

#define TEXT_INIT ((struct text){0})

/* CLEANUP functions. */
void text_clear(struct text *text);   /* frees; may be used again */
void text_free_string(char **string); /* CLEANUP(text_free_string) char *s */

void text_reset(struct text *text); /* empties it, keeps the memory */
/* Makes room for that many bytes and the NUL behind them; len stays. Lack of
 * memory ends the process, as in all functions below. */
void text_reserve(struct text *text, size_t more_bytes);
/* Each appends to the text; the source must not be part of it. */
void text_add(struct text *text, const void *p, size_t bytes);
void text_adds(struct text *text, const char *string);
void text_addc(struct text *text, char c);
void text_addspan(struct text *text, struct span span);
void text_addf(struct text *text, const char *format, ...) PRINTF_LIKE(2, 3);
void text_addv(struct text *text, const char *format, va_list args)
    PRINTF_LIKE(2, 0);
/* Appends one line of printable text: control characters, invisible ones, those
 * that change the direction of writing, invalid UTF-8 and backslash become \xNN
 * (\n, \t, \\ their short forms). */
void text_addescaped(struct text *text, struct span span);
/* The same for display only: a backslash stays as it is. */
void text_add_printable(struct text *text, struct span span);

/* "s", or "" if the count is 1: the end of a regular noun. */
const char *text_plural(uint64_t count);
const char *text_string(const struct text *text); /* never NULL */
char *text_take(struct text *text); /* the caller frees it; never NULL */
struct span text_span(const struct text *text);

/* The candidate nearest to `word` by edit distance if it is near enough to be
 * what was meant, else NULL. For "did you mean". */
const char *text_nearest(const char *word, const char *const *candidates,
                         size_t count);

#endif
