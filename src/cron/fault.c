#include "cron/fault.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Messages are one line whatever they quote. */
static void make_printable(char *ret, size_t bytes, const char *text) {
    size_t len = 0;

    for (; *text != '\0' && len + 5 < bytes; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7f)
            len += (size_t)snprintf(ret + len, bytes - len, "\\x%02x", c);
        else
            ret[len++] = *text;
    }
    /* Do not cut in the middle of a character. */
    if (*text != '\0')
        while (len > 0 && ((unsigned char)ret[len - 1] & 0xc0) == 0x80)
            len--;
    ret[len] = '\0';
}

static bool set(struct cron_err *err, enum cron_err_kind kind, int line,
                int column, const char *format, va_list args) FAULT_LIKE(5, 0);

static bool set(struct cron_err *err, enum cron_err_kind kind, int line,
                int column, const char *format, va_list args) {
    char raw[CRON_ERR_BYTES];
    int len = 0;

    if (err == NULL)
        return false;
    err->kind = kind;
    err->line = line;
    err->column = column;
    if (line > 0)
        len = snprintf(raw, sizeof(raw), "line %d, column %d: ", line, column);
    err->sentence_at = len;
    vsnprintf(raw + len, sizeof(raw) - (size_t)len, format, args);
    make_printable(err->text, sizeof(err->text), raw);
    return false;
}

bool fault_set(struct cron_err *err, enum cron_err_kind kind,
               const char *format, ...) {
    va_list args;

    va_start(args, format);
    set(err, kind, 0, 0, format, args);
    va_end(args);
    return false;
}

bool fault_at(struct cron_err *err, enum cron_err_kind kind, const char *text,
              size_t at, const char *format, ...) {
    int line = 1, column = 1;
    va_list args;

    for (size_t i = 0; i < at; i++) {
        if (text[i] == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)text[i] & 0xc0) != 0x80) {
            column++; /* counted in characters */
        }
    }
    va_start(args, format);
    set(err, kind, line, column, format, args);
    va_end(args);
    return false;
}

bool fault_memory(struct cron_err *err) {
    return fault_set(err, CRON_ERR_SYSTEM, "out of memory");
}

/* ---- what was meant ------------------------------------------------------ */

enum { WORD_MOST = 64 };

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

unsigned fault_word_distance(const char *a, const char *b) {
    size_t a_len = strlen(a), b_len = strlen(b);
    unsigned rows[3][WORD_MOST];
    unsigned *before = rows[0], *last = rows[1], *now = rows[2];

    if (a_len >= WORD_MOST || b_len >= WORD_MOST)
        return 99;
    for (size_t j = 0; j <= b_len; j++)
        now[j] = (unsigned)j;
    for (size_t i = 1; i <= a_len; i++) {
        unsigned *free_row = before;
        before = last;
        last = now;
        now = free_row;
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= b_len; j++) {
            int x = tolower((unsigned char)a[i - 1]);
            int y = tolower((unsigned char)b[j - 1]);
            now[j] =
                least(least(last[j], now[j - 1]) + 1, last[j - 1] + (x != y));
            if (i > 1 && j > 1 && x != y &&
                x == tolower((unsigned char)b[j - 2]) &&
                y == tolower((unsigned char)a[i - 2]))
                now[j] = least(now[j], before[j - 2] + 1);
        }
    }
    return now[b_len];
}

static bool begins(const char *word, const char *beginning) {
    size_t len = strlen(beginning);

    return len >= 3 && strncasecmp(word, beginning, len) == 0;
}

const char *fault_nearest_word(const char *word, const char *const *candidates,
                               size_t count) {
    unsigned best = 99, limit = (unsigned)(strlen(word) + 2) / 3;
    const char *found = NULL;

    for (size_t i = 0; i < count; i++)
        if (begins(candidates[i], word) || begins(word, candidates[i]))
            return candidates[i];
    for (size_t i = 0; i < count; i++) {
        unsigned distance = fault_word_distance(word, candidates[i]);
        if (distance < best) {
            best = distance;
            found = candidates[i];
        }
    }
    return best <= limit ? found : NULL;
}
