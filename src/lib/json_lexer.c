#include "lib/json_lexer.h"

#include <stdint.h>
#include <string.h>

#include "lib/utf8.h"

static bool fail(struct json_lexer *lexer, const char *what) {
    lexer->wrong = what;
    return false;
}

static bool is_digit(const struct json_lexer *lexer) {
    return lexer->p < lexer->end && *lexer->p >= '0' && *lexer->p <= '9';
}

static bool skip_digits(struct json_lexer *lexer) {
    if (!is_digit(lexer))
        return fail(lexer, "expected a digit");
    while (is_digit(lexer))
        lexer->p++;
    return true;
}

bool json_lexer_number(struct json_lexer *lexer) {
    if (!json_lexer_takes(lexer, '-') && !is_digit(lexer))
        return fail(lexer, "expected a value");
    if (json_lexer_takes(lexer, '0')) {
        if (is_digit(lexer))
            return fail(lexer, "a number may not begin with 0");
    } else if (!skip_digits(lexer)) {
        return false;
    }
    if (json_lexer_takes(lexer, '.') && !skip_digits(lexer))
        return false;
    if (json_lexer_takes(lexer, 'e') || json_lexer_takes(lexer, 'E')) {
        if (!json_lexer_takes(lexer, '+'))
            json_lexer_takes(lexer, '-');
        return skip_digits(lexer);
    }
    return true;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        return (c | 0x20) - 'a' + 10;
    return -1;
}

/* The four digits after \u; -1 if there are not four. */
static int hex_unit(const char *p, const char *end) {
    int unit = 0;

    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(p[i]);

        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static bool is_high(int unit) {
    return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low(int unit) {
    return unit >= 0xdc00 && unit < 0xe000;
}

/* Skips an escape after its backslash. */
static bool skip_escape(struct json_lexer *lexer) {
    int unit;

    if (lexer->p == lexer->end)
        return fail(lexer, "unterminated string");
    if (*lexer->p != 'u') {
        if (*lexer->p == '\0' || strchr("\"\\/bfnrt", *lexer->p) == NULL)
            return fail(lexer, "unknown escape");
        lexer->p++;
        return true;
    }
    unit = hex_unit(lexer->p + 1, lexer->end);
    if (unit < 0)
        return fail(lexer, "\\u needs four hexadecimal digits");
    if (is_low(unit))
        return fail(lexer, "half of a surrogate pair");
    lexer->p += 5;
    if (!is_high(unit))
        return true;
    if (lexer->end - lexer->p < 6 || lexer->p[0] != '\\' ||
        lexer->p[1] != 'u' || !is_low(hex_unit(lexer->p + 2, lexer->end)))
        return fail(lexer, "half of a surrogate pair");
    lexer->p += 6;
    return true;
}

/* Bytes of a string that stand for themselves. */
static bool is_plain(char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Skips the plain bytes at p, eight at a time while possible: most of what is
 * scanned is strings. */
static const char *skip_plain(const char *p, const char *end) {
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
    uint64_t w, quote, back;

    for (; end - p >= 8; p += 8) {
        memcpy(&w, p, 8);
        quote = w ^ (ones * '"');
        back = w ^ (ones * '\\');
        /* True if a byte has its high bit set, is 0x7f, is below 0x20, or is
         * zero in one of the two differences. There are no false negatives; a
         * hit is checked byte by byte. */
        if (((w | (w + ones) | ((w - ones * 0x20) & ~w) |
              ((quote - ones) & ~quote) | ((back - ones) & ~back)) &
             high) != 0)
            break;
    }
    while (p < end && is_plain(*p))
        p++;
    return p;
}

bool json_lexer_string(struct json_lexer *lexer) {
    if (!json_lexer_takes(lexer, '"'))
        return fail(lexer, "expected a string");
    for (;;) {
        const char *p = skip_plain(lexer->p, lexer->end), *end = lexer->end;
        unsigned char c;
        size_t len = 1;

        lexer->p = p;
        if (p == end)
            return fail(lexer, "unterminated string");
        c = (unsigned char)*p;
        if (c == '"') {
            lexer->p++;
            return true;
        }
        if (c < 0x20)
            return fail(lexer, "control byte in a string");
        if (c >= 0x80)
            len = utf8_character(lexer->p, lexer->end);
        if (len == 0)
            return fail(lexer, "invalid UTF-8");
        lexer->p += len;
        if (c == '\\' && !skip_escape(lexer))
            return false;
    }
}

static size_t encode(unsigned code, char bytes[4]) {
    size_t len = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    if (code < 0x80) {
        bytes[0] = (char)code;
        return 1;
    }
    for (size_t i = len - 1; i > 0; i--, code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)(0xf0 << (4 - len) | code);
    return len;
}

size_t json_lexer_unescape(const char **p, char ret_bytes[4]) {
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    const char *at = memchr(from, **p, sizeof(from) - 1);
    int unit;

    if (**p != 'u') {
        ret_bytes[0] = at != NULL ? to[at - from] : **p;
        *p += 1;
        return 1;
    }
    unit = hex_unit(*p + 1, *p + 5);
    *p += 5;
    if (is_high(unit)) {
        int low = hex_unit(*p + 2, *p + 6);

        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        *p += 6;
    }
    return encode((unsigned)unit, ret_bytes);
}
