/* Errors that people can read: a kind and one sentence.
 *
 * A function that can fail returns bool and takes `struct err *err` last:
 *
 *     if (!dir_open(path, &dir, err))
 *         return err_wrap(err, "cannot open base '%s'", path);
 *
 * Sentences are lower case, say what failed first, quote the object, have no
 * full stop and no line feed (control bytes are written as \xNN). `err` may be
 * NULL: then only the result false remains. */
#ifndef POINTSMAN_LIB_ERR_H
#define POINTSMAN_LIB_ERR_H

#include <stdarg.h>
#include <stdbool.h>

#include "lib/attr.h"

enum err_kind {
    ERR_NONE = 0,
#define ERR_KIND(name, exit, http, again, meaning) ERR_##name,
#include "lib/err.def"
#undef ERR_KIND
    ERR_KINDS
};

enum { ERR_TEXT_BYTES = 512 };

struct err {
    enum err_kind kind;
    int sys; /* errno of the failure, or 0 */
    char text[ERR_TEXT_BYTES];
};

/* Sets kind and sentence. Always returns false. */
bool err_set(struct err *err, enum err_kind kind, const char *format, ...)
    PRINTF_LIKE(3, 4);
bool err_vset(struct err *err, enum err_kind kind, const char *format,
              va_list args) PRINTF_LIKE(3, 0);

/* Puts "context: " in front of the sentence; the kind stays. Returns false. */
bool err_wrap(struct err *err, const char *format, ...) PRINTF_LIKE(2, 3);

/* "SENTENCE: strerror(sys)"; ENOSPC, EDQUOT, EAGAIN, EINTR, ENOMEM, EMFILE and
 * ENFILE are ERR_TEMPORARY, EACCES and EPERM ERR_DENIED, others ERR_CANNOT.
 * For os/ and store/. Returns false. */
bool err_errno(struct err *err, int sys, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* Resets it to no error. */
void err_clear(struct err *err);

const char *err_name(enum err_kind kind);    /* "no-job" */
int err_exit_status(enum err_kind kind);     /* 66 */
int err_http_status(enum err_kind kind);     /* 404 */
bool err_try_again(enum err_kind kind);      /* false */
const char *err_meaning(enum err_kind kind); /* "no such job" */
/* Finds a kind by its name; false: there is no such kind. */
bool err_find(const char *name, enum err_kind *ret_kind);

#endif
