#include "wire/refusal.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const words[REFUSAL_KINDS] = {
    [REFUSAL_NONE] = "",
#define REFUSAL(name, word, meaning) [REFUSAL_##name] = (word),
#include "wire/refusal.def"
#undef REFUSAL
};

/* Uses err's functions to make one printable line. */
static void take_text(struct refusal *refusal, const struct err *err) {
    memcpy(refusal->text, err->text, sizeof refusal->text);
}

bool refusal_set(struct refusal *refusal, enum refusal_kind kind,
                 const char *format, ...) {
    if (!refusal)
        return false;
    struct err err = {0};
    va_list args;
    va_start(args, format);
    err_vset(&err, ERR_DATA, format, args);
    va_end(args);
    refusal->kind = kind;
    take_text(refusal, &err);
    return false;
}

bool refusal_wrap(struct refusal *refusal, const char *format, ...) {
    if (!refusal)
        return false;
    struct err err = {0};
    va_list args;
    va_start(args, format);
    err_vset(&err, ERR_DATA, format, args);
    va_end(args);
    struct err whole = {0};
    err_set(&whole, ERR_DATA, "%s: %s", err.text, refusal->text);
    take_text(refusal, &whole);
    return false;
}

const char *refusal_word(enum refusal_kind kind) {
    return kind < REFUSAL_KINDS ? words[kind] : "";
}

bool refusal_find(struct span word, enum refusal_kind *ret_kind) {
    for (int kind = REFUSAL_NONE + 1; kind < REFUSAL_KINDS; kind++) {
        if (span_is(word, words[kind])) {
            *ret_kind = (enum refusal_kind)kind;
            return true;
        }
    }
    return false;
}
