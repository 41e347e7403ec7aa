#include "cron/reader.h"

#include <string.h>

void reader_init(struct reader *reader, const char *text, size_t bytes,
                 struct cron_err *err) {
    reader->lexer = (struct json_lexer){.p = text, .end = text + bytes};
    reader->text = text;
    reader->err = err;
    reader->at = 0;
    reader->string[0] = '\0';
}

static bool broken(struct reader *reader, const char *what) {
    const struct json_lexer *lexer = &reader->lexer;
    size_t at = (size_t)(lexer->p - reader->text);

    if (lexer->p == lexer->end)
        return fault_at(reader->err, CRON_ERR_SYNTAX, reader->text, at,
                        "the text ends too soon: %s", what);
    return fault_at(reader->err, CRON_ERR_SYNTAX, reader->text, at,
                    "not JSON: %s", what);
}

static bool lexed(struct reader *reader, bool fine) {
    return fine || broken(reader, reader->lexer.wrong);
}

static void skip_blanks(struct reader *reader) {
    json_lexer_blanks(&reader->lexer);
    reader->at = (size_t)(reader->lexer.p - reader->text);
}

enum reader_kind reader_peek(struct reader *reader) {
    skip_blanks(reader);
    if (reader->lexer.p == reader->lexer.end)
        return READER_END;
    switch (*reader->lexer.p) {
    case '{':
        return READER_OBJECT;
    case '[':
        return READER_ARRAY;
    case '"':
        return READER_STRING;
    case 't':
    case 'f':
    case 'n':
        return READER_WORD;
    default:
        return *reader->lexer.p == '-' ||
                       (*reader->lexer.p >= '0' && *reader->lexer.p <= '9')
                   ? READER_NUMBER
                   : READER_END;
    }
}

const char *reader_kind_name(enum reader_kind kind) {
    static const char *const names[] = {
        [READER_END] = "nothing",     [READER_OBJECT] = "an object",
        [READER_ARRAY] = "a list",    [READER_STRING] = "a string",
        [READER_NUMBER] = "a number", [READER_WORD] = "true, false or null",
    };

    return names[kind];
}

bool reader_no_value(struct reader *reader) {
    return broken(reader, "expected a value");
}

bool reader_finish(struct reader *reader) {
    skip_blanks(reader);
    return reader->lexer.p == reader->lexer.end ||
           broken(reader, "unexpected text after the value");
}

/* Appends as many of the whole characters from p to end as fit. Returns the new
 * length. */
static size_t keep_run(struct reader *reader, size_t len, const char *p,
                       const char *end) {
    size_t room = sizeof(reader->string) - 1 - len, bytes = (size_t)(end - p);

    if (bytes > room) {
        bytes = room;
        while (bytes > 0 && ((unsigned char)p[bytes] & 0xc0) == 0x80)
            bytes--;
    }
    memcpy(reader->string + len, p, bytes);
    return len + bytes;
}

/* Keeps as much of the string as fits. NUL becomes U+FFFD: no known word
 * contains one, and strings end with it. */
static void keep_string(struct reader *reader, const char *p, const char *end) {
    size_t len = 0;

    while (p < end) {
        const char *escape = memchr(p, '\\', (size_t)(end - p)), *from;
        char unescaped[4];
        size_t bytes;

        len = keep_run(reader, len, p, escape != NULL ? escape : end);
        if (escape == NULL)
            break;
        p = escape + 1;
        bytes = json_lexer_unescape(&p, unescaped);
        from = unescaped;
        if (*from == '\0') {
            from = "\xef\xbf\xbd";
            bytes = 3;
        }
        len = keep_run(reader, len, from, from + bytes);
    }
    reader->string[len] = '\0';
}

bool reader_string(struct reader *reader) {
    skip_blanks(reader);
    const char *start = reader->lexer.p;

    if (!lexed(reader, json_lexer_string(&reader->lexer)))
        return false;
    keep_string(reader, start + 1, reader->lexer.p - 1);
    return true;
}

static bool not_an_integer(struct reader *reader, const char *what) {
    int len = (int)(reader->lexer.p - reader->text - (ptrdiff_t)reader->at);

    return fault_at(reader->err, CRON_ERR_ITEM, reader->text, reader->at,
                    "%s must be a whole number of at most 64 bits, not %.*s",
                    what, len < 40 ? len : 40, reader->text + reader->at);
}

bool reader_integer(struct reader *reader, const char *what,
                    int64_t *ret_value) {
    uint64_t value = 0;

    skip_blanks(reader);
    if (!lexed(reader, json_lexer_number(&reader->lexer)))
        return false;
    const char *p = reader->text + reader->at;
    bool negative = *p == '-', ok = true;
    for (p += negative; p < reader->lexer.p && ok; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        ok = digit <= 9 && value <= (UINT64_MAX - digit) / 10;
        value = value * 10 + digit;
    }
    if (!ok || value > (uint64_t)INT64_MAX + negative)
        return not_an_integer(reader, what);
    *ret_value = (int64_t)(negative ? 0 - value : value);
    return true;
}

/* ---- lists and objects --------------------------------------------------- */

static bool step(struct reader *reader, char open, char close, bool *first,
                 bool *ret_more) {
    bool was_first = *first;

    skip_blanks(reader);
    *first = false;
    if (was_first) {
        if (!json_lexer_takes(&reader->lexer, open))
            return broken(reader, open == '{' ? "expected an object"
                                              : "expected a list");
        skip_blanks(reader);
    }
    *ret_more = !json_lexer_takes(&reader->lexer, close);
    if (!*ret_more || was_first)
        return true;
    if (!json_lexer_takes(&reader->lexer, ','))
        return broken(reader, close == '}' ? "expected ',' or '}'"
                                           : "expected ',' or ']'");
    skip_blanks(reader);
    return true;
}

bool reader_element(struct reader *reader, bool *first, bool *ret_more) {
    return step(reader, '[', ']', first, ret_more);
}

bool reader_member(struct reader *reader, bool *first, bool *ret_more) {
    size_t at;

    if (!step(reader, '{', '}', first, ret_more))
        return false;
    if (!*ret_more)
        return true;
    at = reader->at;
    if (!reader_string(reader))
        return false;
    skip_blanks(reader);
    if (!json_lexer_takes(&reader->lexer, ':'))
        return broken(reader, "expected ':'");
    reader->at = at;
    return true;
}
