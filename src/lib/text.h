/* Bytes: `struct span` looks at some, `struct text` owns and grows them.
 *
 * A text is always NUL-terminated after its len bytes (which may hold NULs
 * themselves). Running out of memory ends the process (one line on stderr):
 * no caller of ours could do anything better. */
#ifndef POINTSMAN_LIB_TEXT_H
#define POINTSMAN_LIB_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/attr.h"

struct span {
    const char *p; /* may be NULL when len is 0 */
    size_t len;
};

#define SPAN(literal) ((struct span){(literal), sizeof(literal) - 1})

struct text {
    char *p; /* NULL while nothing was ever added */
    size_t len;
    size_t cap;
};

#define TEXT_INIT ((struct text){0})

/* Memory that never fails. Free with free(). */
void *mem_alloc(size_t bytes); /* zeroed */
void *mem_grow(void *old, size_t count, size_t each);
char *mem_copy(const void *p, size_t bytes); /* with a NUL behind */
char *mem_string(const char *string);        /* NULL stays NULL */

/* CLEANUP functions. */
void text_clear(struct text *text);   /* frees; may be used again */
void text_free_string(char **string); /* CLEANUP(text_free_string) char *s */

void text_reset(struct text *text); /* empty, keeps the memory */
void text_reserve(struct text *text, size_t more_bytes);
void text_add(struct text *text, const void *p, size_t bytes);
void text_adds(struct text *text, const char *string);
void text_addc(struct text *text, char c);
void text_addspan(struct text *text, struct span span);
void text_addf(struct text *text, const char *format, ...) PRINTF_LIKE(2, 3);
void text_addv(struct text *text, const char *format, va_list args)
    PRINTF_LIKE(2, 0);
/* One line of printable text: controls, what cannot be seen or turns the
 * writing round, invalid UTF-8 and backslash become \xNN (\n, \t, \\ their
 * short forms). */
void text_addescaped(struct text *text, struct span span);
/* The same for eyes only: a backslash stays as it is. */
void text_add_printable(struct text *text, struct span span);
const char *text_string(const struct text *text); /* never NULL */
char *text_take(struct text *text);               /* you free it; never NULL */
struct span text_span(const struct text *text);

struct span span_of(const char *string); /* NULL: empty */
struct span span_make(const void *p, size_t len);
bool span_is(struct span span, const char *string);
bool span_equal(struct span a, struct span b);
int span_compare(struct span a, struct span b); /* bytes, then length */
bool span_starts(struct span span, const char *prefix);
bool span_ends(struct span span, const char *suffix);
struct span span_trim(struct span span); /* blanks, both ends */
/* Cuts up to the first `c` off the front of *rest; *rest is what is behind it.
 * False when *rest is exhausted (p is NULL then). "a,b," has 3 parts. */
bool span_cut(struct span *rest, char c, struct span *ret_part);
/* Decimal, nothing else around it, no sign for u64. */
bool span_u64(struct span span, uint64_t *ret_value);
bool span_i64(struct span span, int64_t *ret_value);
bool span_is_utf8(struct span span);
/* Bytes of the well-formed UTF-8 character in front; 0: there is none, or
 * text_addescaped would escape it (but for a backslash). */
size_t span_printable(struct span span);
char *span_string(struct span span); /* copy; you free it */

/* The candidate nearest to `word` by edit distance when near enough to be
 * what was meant, else NULL. For "did you mean". */
const char *text_nearest(const char *word, const char *const *candidates,
                         size_t count);

#endif
