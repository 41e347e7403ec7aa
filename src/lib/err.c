#include "lib/err.h"

#include <errno.h>
#include <stdio.h>

#include "lib/text.h"

static const struct {
    int exit_status, http_status;
    bool again;
    const char *meaning;
} kinds[ERR_KINDS] = {
    {0, 200, false, "no error"},
#define ERR_KIND(name, exit, http, again, meaning) {exit, http, again, meaning},
#include "lib/err.def"
#undef ERR_KIND
};

/* Spelled as in err.def until names_spell() has run, before main(). */
static char names[ERR_KINDS][16] = {
    "NONE",
#define ERR_KIND(name, exit, http, again, meaning) #name,
#include "lib/err.def"
#undef ERR_KIND
};

static void __attribute__((constructor)) names_spell(void) {
    for (size_t kind = 0; kind < ERR_KINDS; kind++)
        for (char *c = names[kind]; *c != '\0'; c++)
            *c = *c == '_' ? '-' : (char)(*c | 0x20);
}

/* Sets the sentence: one line of printable UTF-8, cut between characters. A
 * backslash is not escaped, or wrapping would escape it again. */
static void sentence_put(struct err *err, struct span span) {
    static const char more[] = "...";
    const size_t room = sizeof(err->text) - sizeof(more);
    size_t at = 0;

    while (span.len > 0) {
        size_t len = span_printable(span);
        unsigned char c = (unsigned char)span.p[0];
        bool plain = len > 0;

        if (at + (plain ? len : 4) > room) {
            memcpy(err->text + at, more, sizeof(more));
            return;
        }
        if (plain)
            memcpy(err->text + at, span.p, len);
        else
            snprintf(err->text + at, 5, "\\x%02x", c);
        at += plain ? len : 4;
        len = len > 0 ? len : 1;
        span = span_make(span.p + len, span.len - len);
    }
    err->text[at] = '\0';
}

bool err_set(struct err *err, enum err_kind kind, const char *format, ...) {
    va_list args;

    va_start(args, format);
    err_vset(err, kind, format, args);
    va_end(args);
    return false;
}

bool err_vset(struct err *err, enum err_kind kind, const char *format,
              va_list args) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;

    if (err == NULL)
        return false;
    text_addv(&text, format, args);
    err->kind = kind;
    err->sys = 0;
    sentence_put(err, text_span(&text));
    return false;
}

bool err_wrap(struct err *err, const char *format, ...) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    va_list args;

    if (err == NULL)
        return false;
    va_start(args, format);
    text_addv(&text, format, args);
    va_end(args);
    text_addf(&text, ": %s", err->text);
    sentence_put(err, text_span(&text));
    return false;
}

static enum err_kind kind_of_errno(int sys) {
    switch (sys) {
    case ENOSPC:
    case EDQUOT:
    case EAGAIN:
    case EINTR:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
        return ERR_TEMPORARY;
    case EACCES:
    case EPERM:
        return ERR_DENIED;
    default:
        return ERR_CANNOT;
    }
}

bool err_errno(struct err *err, int sys, const char *format, ...) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    const char *why = strerrordesc_np(sys);
    va_list args;

    if (err == NULL)
        return false;
    va_start(args, format);
    text_addv(&text, format, args);
    va_end(args);
    if (why != NULL)
        text_addf(&text, ": %s", why);
    else
        text_addf(&text, ": error %d", sys);
    err->kind = kind_of_errno(sys);
    err->sys = sys;
    sentence_put(err, text_span(&text));
    return false;
}

void err_clear(struct err *err) {
    if (err != NULL)
        *err = (struct err){0};
}

static enum err_kind kind_known(enum err_kind kind) {
    return (unsigned)kind < ERR_KINDS ? kind : ERR_INTERNAL;
}

const char *err_name(enum err_kind kind) {
    return names[kind_known(kind)];
}

int err_exit_status(enum err_kind kind) {
    return kinds[kind_known(kind)].exit_status;
}

int err_http_status(enum err_kind kind) {
    return kinds[kind_known(kind)].http_status;
}

bool err_try_again(enum err_kind kind) {
    return kinds[kind_known(kind)].again;
}

const char *err_meaning(enum err_kind kind) {
    return kinds[kind_known(kind)].meaning;
}

bool err_find(const char *name, enum err_kind *ret_kind) {
    for (unsigned kind = 0; kind < ERR_KINDS; kind++)
        if (strcmp(names[kind], name) == 0) {
            *ret_kind = (enum err_kind)kind;
            return true;
        }
    return false;
}
