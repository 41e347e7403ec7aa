/* The smallest parts of JSON (RFC 8259): blanks, strings and numbers. All code
 * that reads JSON is based on these functions: lib/json.h checks whole values
 * with them, and the cron library, which this file is also compiled into, reads
 * its items with them. Nothing is allocated here.
 *
 * A function that returns false has set `wrong` and left `p` at the invalid
 * byte, or at the end. */
#ifndef POINTSMAN_LIB_JSON_LEXER_H
#define POINTSMAN_LIB_JSON_LEXER_H

#include <stdbool.h>
#include <stddef.h>

struct json_lexer {
    const char *p, *end;
    const char *wrong; /* what is wrong at p: "expected a digit" */
};

static inline bool json_is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static inline void json_lexer_blanks(struct json_lexer *lexer) {
    while (lexer->p < lexer->end && json_is_blank(*lexer->p))
        lexer->p++;
}

/* If the next byte is `c`, moves past it and returns true. */
static inline bool json_lexer_takes(struct json_lexer *lexer, char c) {
    if (lexer->p == lexer->end || *lexer->p != c)
        return false;
    lexer->p++;
    return true;
}

bool json_lexer_string(struct json_lexer *lexer);
bool json_lexer_number(struct json_lexer *lexer);

/* Decodes one escape of a string that json_lexer_string accepted: *p is behind
 * its backslash and is moved behind the escape. Returns the number of bytes
 * written to `ret_bytes`. */
size_t json_lexer_unescape(const char **p, char ret_bytes[4]);

#endif
