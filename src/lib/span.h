/* `struct span` refers to bytes that it does not own. */
#ifndef POINTSMAN_LIB_SPAN_H
#define POINTSMAN_LIB_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span {
    const char *p; /* may be NULL when len is 0 */
    size_t len;
};

#define SPAN(literal) ((struct span){(literal), sizeof(literal) - 1})

struct span span_of(const char *string); /* NULL: empty */
struct span span_make(const void *p, size_t len);
bool span_is(struct span span, const char *string);
bool span_equal(struct span a, struct span b);
int span_compare(struct span a, struct span b); /* by bytes, then by length */
bool span_is_among(struct span span, const struct span *spans, size_t count);
bool span_starts(struct span span, const char *prefix);
bool span_ends(struct span span, const char *suffix);
struct span span_trim(struct span span); /* removes blanks at both ends */
/* Cuts the part before the first `c` off the front of *rest; *rest is what
 * follows it. False if *rest is exhausted (p is NULL then). "a,b," has 3 parts.
 */
bool span_cut(struct span *rest, char c, struct span *ret_part);
/* Parses a decimal number and nothing else; no sign for u64. False: not such a
 * number, or out of range. */
bool span_u64(struct span span, uint64_t *ret_value);
bool span_i64(struct span span, int64_t *ret_value);
bool span_is_utf8(struct span span); /* well-formed; may contain NULs */
/* Length of the well-formed UTF-8 character at the front; 0: there is none, or
 * text_addescaped would escape it (except a backslash). */
size_t span_printable(struct span span);
char *span_string(struct span span); /* a copy; the caller frees it */

#endif
