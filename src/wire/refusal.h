/* The answer "no, because": a word for machines, a sentence for people. Parsers
 * of submitted data return a refusal; struct err is for failures on our side.
 */
#ifndef POINTSMAN_WIRE_REFUSAL_H
#define POINTSMAN_WIRE_REFUSAL_H

#include <stdbool.h>

#include "lib/attr.h"
#include "lib/err.h"
#include "lib/text.h"

enum refusal_kind {
    REFUSAL_NONE = 0,
#define REFUSAL(name, word, meaning) REFUSAL_##name,
#include "wire/refusal.def"
#undef REFUSAL
    REFUSAL_KINDS
};

struct refusal {
    enum refusal_kind kind; /* REFUSAL_NONE: not refused */
    char text[ERR_TEXT_BYTES];
};

/* Sets it; like err_set. `refusal` may be NULL. Always returns false. */
bool refusal_set(struct refusal *refusal, enum refusal_kind kind,
                 const char *format, ...) PRINTF_LIKE(3, 4);
/* Puts "context: " in front of the sentence. Always returns false. */
bool refusal_wrap(struct refusal *refusal, const char *format, ...)
    PRINTF_LIKE(2, 3);

const char *refusal_word(enum refusal_kind kind); /* "bad-path"; "" for NONE */
/* False: no such word. */
bool refusal_find(struct span word, enum refusal_kind *ret_kind);

#endif
