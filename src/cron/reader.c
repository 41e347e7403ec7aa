#include "cron/reader.h"

#include <string.h>

void reader_init(struct reader *reader, const char *text, size_t bytes,
                 struct cron_err *err) {
    reader->text = reader->p = text;
    reader->end = text + bytes;
    reader->err = err;
    reader->at = 0;
    reader->string[0] = '\0';
}

static bool broken(struct reader *reader, const char *p, const char *what) {
    size_t at = (size_t)(p - reader->text);

    if (p == reader->end)
        return fault_at(reader->err, CRON_ERR_SYNTAX, reader->text, at,
                        "the text ends too soon: %s", what);
    return fault_at(reader->err, CRON_ERR_SYNTAX, reader->text, at,
                    "this is no JSON: %s", what);
}

static void skip_blanks(struct reader *reader) {
    const char *p = reader->p;

    while (p < reader->end &&
           (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
        p++;
    reader->p = p;
    reader->at = (size_t)(p - reader->text);
}

enum reader_kind reader_peek(struct reader *reader) {
    skip_blanks(reader);
    if (reader->p == reader->end)
        return READER_END;
    switch (*reader->p) {
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
        return *reader->p == '-' || (*reader->p >= '0' && *reader->p <= '9')
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
    return broken(reader, reader->p, "a value is wanted here");
}

bool reader_finish(struct reader *reader) {
    skip_blanks(reader);
    return reader->p == reader->end ||
           broken(reader, reader->p, "something stands behind the value");
}

/* ---- strings ------------------------------------------------------------- */

size_t reader_character(const char *p, const char *end) {
    const unsigned char *c = (const unsigned char *)p;
    size_t bytes = c[0] < 0x80    ? 1
                   : c[0] < 0xc2  ? 0
                   : c[0] < 0xe0  ? 2
                   : c[0] < 0xf0  ? 3
                   : c[0] <= 0xf4 ? 4
                                  : 0;

    if (bytes > (size_t)(end - p))
        return 0;
    for (size_t i = 1; i < bytes; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    if (bytes > 2 &&
        ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
         (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f)))
        return 0;
    return bytes;
}

static bool read_hex(struct reader *reader, uint32_t *ret_value) {
    uint32_t value = 0;

    for (int i = 0; i < 4; i++, reader->p++) {
        char c = reader->p < reader->end ? *reader->p : '\0';
        if (c >= '0' && c <= '9')
            value = value * 16 + (uint32_t)(c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            value = value * 16 + (uint32_t)((c | 32) - 'a') + 10;
        else
            return broken(reader, reader->p, "\\u wants four hex digits");
    }
    *ret_value = value;
    return true;
}

static size_t encode(uint32_t c, char *ret) {
    if (c < 0x80) {
        ret[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        ret[0] = (char)(0xc0 | c >> 6);
        ret[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        ret[0] = (char)(0xe0 | c >> 12);
        ret[1] = (char)(0x80 | (c >> 6 & 63));
        ret[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    ret[0] = (char)(0xf0 | c >> 18);
    ret[1] = (char)(0x80 | (c >> 12 & 63));
    ret[2] = (char)(0x80 | (c >> 6 & 63));
    ret[3] = (char)(0x80 | (c & 63));
    return 4;
}

/* Behind \u; surrogates come in pairs. NUL becomes U+FFFD: no word of ours has
 * one, and strings end with it. */
static bool read_unicode(struct reader *reader, char *ret, size_t *ret_bytes) {
    uint32_t c, low;

    if (!read_hex(reader, &c))
        return false;
    if (c >= 0xd800 && c < 0xdc00 && reader->end - reader->p >= 2 &&
        reader->p[0] == '\\' && reader->p[1] == 'u') {
        reader->p += 2;
        if (!read_hex(reader, &low))
            return false;
        if (low < 0xdc00 || low > 0xdfff)
            return broken(reader, reader->p, "half a pair of surrogates");
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    } else if (c >= 0xd800 && c <= 0xdfff) {
        return broken(reader, reader->p, "half a pair of surrogates");
    }
    *ret_bytes = encode(c == 0 ? 0xfffd : c, ret);
    return true;
}

static bool read_escape(struct reader *reader, char *ret, size_t *ret_bytes) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = reader->p < reader->end ? *reader->p : '\0';
    const char *found = c == '\0' ? NULL : strchr(from, c);

    if (c == 'u') {
        reader->p++;
        return read_unicode(reader, ret, ret_bytes);
    }
    if (found == NULL)
        return broken(reader, reader->p, "no such escape");
    reader->p++;
    ret[0] = to[found - from];
    *ret_bytes = 1;
    return true;
}

bool reader_string(struct reader *reader) {
    size_t len = 0;

    skip_blanks(reader);
    if (reader->p == reader->end || *reader->p != '"')
        return broken(reader, reader->p, "a string in quotes is wanted here");
    reader->p++;
    for (;;) {
        char c[4];
        size_t bytes = 0;

        if (reader->p == reader->end)
            return broken(reader, reader->p, "a string has no end");
        c[0] = *reader->p;
        if (c[0] == '"')
            break;
        if (c[0] == '\\') {
            reader->p++;
            if (!read_escape(reader, c, &bytes))
                return false;
        } else {
            bytes = reader_character(reader->p, reader->end);
            if (bytes == 0 || (unsigned char)c[0] < 0x20)
                return broken(reader, reader->p,
                              bytes == 0 ? "this is not UTF-8"
                                         : "a control byte in a string");
            memcpy(c, reader->p, bytes);
            reader->p += bytes;
        }
        if (len + bytes < sizeof(reader->string)) {
            memcpy(reader->string + len, c, bytes);
            len += bytes;
        }
    }
    reader->p++;
    reader->string[len] = '\0';
    return true;
}

/* ---- numbers ------------------------------------------------------------- */

static bool is_digit(const struct reader *reader) {
    return reader->p < reader->end && *reader->p >= '0' && *reader->p <= '9';
}

static bool not_an_integer(struct reader *reader, const char *what) {
    const char *p = reader->text + reader->at;
    int len = 0;

    while (p + len < reader->end && len < 40 && p[len] != '\0' &&
           strchr("+-.0123456789eE", p[len]) != NULL)
        len++;
    return fault_at(reader->err, CRON_ERR_ITEM, reader->text, reader->at,
                    "%s is a whole number of at most 64 bits, not %.*s", what,
                    len, p);
}

bool reader_integer(struct reader *reader, const char *what,
                    int64_t *ret_value) {
    bool negative, ok = true;
    uint64_t value = 0;

    skip_blanks(reader);
    negative = reader->p < reader->end && *reader->p == '-';
    reader->p += negative;
    if (!is_digit(reader))
        return broken(reader, reader->p, "a number is wanted here");
    if (*reader->p == '0' && reader->end - reader->p > 1 &&
        reader->p[1] >= '0' && reader->p[1] <= '9')
        return broken(reader, reader->p, "a number with a zero in front");
    for (; is_digit(reader); reader->p++) {
        uint64_t digit = (uint64_t)(*reader->p - '0');
        ok = ok && value <= (UINT64_MAX - digit) / 10;
        value = value * 10 + digit;
    }
    if (reader->p < reader->end && strchr(".eE", *reader->p) != NULL &&
        *reader->p != '\0')
        ok = false;
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
        if (reader->p == reader->end || *reader->p != open)
            return broken(reader, reader->p,
                          open == '{' ? "an object is wanted here"
                                      : "a list is wanted here");
        reader->p++;
        skip_blanks(reader);
    }
    *ret_more = reader->p == reader->end || *reader->p != close;
    if (!*ret_more) {
        reader->p++;
        return true;
    }
    if (was_first)
        return true;
    if (reader->p == reader->end || *reader->p != ',')
        return broken(reader, reader->p,
                      close == '}' ? "a comma or } is wanted here"
                                   : "a comma or ] is wanted here");
    reader->p++;
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
    if (reader->p == reader->end || *reader->p != ':')
        return broken(reader, reader->p, "a colon is wanted here");
    reader->p++;
    reader->at = at;
    return true;
}
