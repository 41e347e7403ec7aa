#include "wire/words.h"

#include <stdlib.h>

/* Walks once over the line; every finished word ends in a NUL inside `bytes`.
 */
struct splitter {
    struct span line;
    size_t at;
    struct text bytes;
    size_t count;
    struct err *err;
};

static void splitter_clear(struct splitter *splitter) {
    text_clear(&splitter->bytes);
}

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool more(const struct splitter *splitter) {
    return splitter->at < splitter->line.len;
}

static char next(struct splitter *splitter) {
    return splitter->line.p[splitter->at++];
}

static bool refuse(struct splitter *splitter, const char *what) {
    return err_set(splitter->err, ERR_DATA, "%s in '%.*s'", what,
                   (int)splitter->line.len, splitter->line.p);
}

static bool take_single(struct splitter *splitter) {
    while (more(splitter)) {
        char c = next(splitter);
        if (c == '\'')
            return true;
        text_addc(&splitter->bytes, c);
    }
    return refuse(splitter, "unterminated '");
}

static bool take_double(struct splitter *splitter) {
    while (more(splitter)) {
        char c = next(splitter);
        if (c == '"')
            return true;
        if (c == '\\' && more(splitter) &&
            strchr("\"\\$`", splitter->line.p[splitter->at]))
            c = next(splitter);
        text_addc(&splitter->bytes, c);
    }
    return refuse(splitter, "unterminated \"");
}

static bool take_word(struct splitter *splitter) {
    while (more(splitter) && !is_space(splitter->line.p[splitter->at])) {
        char c = next(splitter);
        if (c == '\'') {
            if (!take_single(splitter))
                return false;
        } else if (c == '"') {
            if (!take_double(splitter))
                return false;
        } else if (c == '\\') {
            if (!more(splitter))
                return refuse(splitter, "a backslash at the end");
            text_addc(&splitter->bytes, next(splitter));
        } else {
            text_addc(&splitter->bytes, c);
        }
    }
    text_addc(&splitter->bytes, '\0');
    splitter->count++;
    return true;
}

bool words_split(struct span line, struct arena *arena, char ***ret_words,
                 size_t *ret_count, struct err *err) {
    CLEANUP(splitter_clear)
    struct splitter splitter = {.line = line, .err = err};
    *ret_words = NULL;
    *ret_count = 0;
    if (line.len && memchr(line.p, '\0', line.len))
        return refuse(&splitter, "a NUL");
    while (more(&splitter)) {
        if (is_space(line.p[splitter.at]))
            splitter.at++;
        else if (!take_word(&splitter))
            return false;
    }
    *ret_count = splitter.count;
    *ret_words = arena_alloc(arena, (splitter.count + 1) * sizeof **ret_words);
    char *at = arena_string(arena, text_span(&splitter.bytes));
    for (size_t i = 0; i < splitter.count; i++) {
        (*ret_words)[i] = at;
        at += strlen(at) + 1;
    }
    return true;
}

/* ---- what only a shell understands --------------------------------------- */

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* The end of the quoted part, or of the escaped byte, that begins at `at`;
 * `at` itself if none does. */
static size_t behind_quoted(struct span line, size_t at) {
    char quote = line.p[at];
    if (quote == '\\')
        return at + 2;
    if (quote != '\'' && quote != '"')
        return at;
    for (at++; at < line.len && line.p[at] != quote; at++)
        if (quote == '"' && line.p[at] == '\\')
            at++;
    return at + 1;
}

static bool is_expansion(struct span line, size_t at) {
    char next = at + 1 < line.len ? line.p[at + 1] : '\0';
    return line.p[at] == '`' ||
           (line.p[at] == '$' &&
            (is_letter(next) || next == '(' || next == '{'));
}

/* "&&", "2>&1", ">file", but not "a&b", which may be an address. */
static bool is_operator(struct span word) {
    while (word.len > 0 && is_digit(word.p[0]))
        word = span_make(word.p + 1, word.len - 1);
    return word.len > 0 && memchr("<>|&;", word.p[0], 5) != NULL;
}

/* "make;", "server&" */
static bool ends_command(struct span word) {
    char last = word.p[word.len - 1];
    return (last == ';' || last == '&') &&
           (word.len < 2 || word.p[word.len - 2] != '\\');
}

static bool is_assignment(struct span word) {
    size_t at = 0;
    while (at < word.len &&
           (is_letter(word.p[at]) || (at > 0 && is_digit(word.p[at]))))
        at++;
    return at > 0 && at < word.len && word.p[at] == '=';
}

/* An expansion inside the word; a shell expands it in double quotes too. */
static bool has_expansion(struct span word) {
    bool in_double = false;
    for (size_t at = 0; at < word.len; at++) {
        if (word.p[at] == '"')
            in_double = !in_double;
        else if (word.p[at] == '\\')
            at++;
        else if (word.p[at] == '\'' && !in_double)
            at = behind_quoted(word, at) - 1;
        else if (is_expansion(word, at))
            return true;
    }
    return false;
}

bool words_find_shell(struct span line, struct span *ret_part) {
    bool is_first = true;
    for (size_t at = 0; at < line.len; at++) {
        size_t start = at, behind;
        while (at < line.len && !is_space(line.p[at]))
            at = (behind = behind_quoted(line, at)) > at ? behind : at + 1;
        if (at > line.len)
            at = line.len;
        struct span word = span_make(line.p + start, at - start);
        if (word.len == 0)
            continue;
        *ret_part = word;
        if (is_operator(word) || ends_command(word) || has_expansion(word) ||
            (is_first && is_assignment(word)))
            return true;
        is_first = false;
    }
    return false;
}

static bool is_plain(struct span word) {
    if (!word.len)
        return false;
    for (size_t i = 0; i < word.len; i++) {
        char c = word.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              (c >= '0' && c <= '9') || (c && strchr("%+,-./:=@_", c)) ||
              (unsigned char)c >= 0x80))
            return false;
    }
    return true;
}

void word_quote(struct span word, struct text *out) {
    if (is_plain(word)) {
        text_addspan(out, word);
        return;
    }
    text_addc(out, '\'');
    for (size_t i = 0; i < word.len; i++) {
        if (word.p[i] == '\'')
            text_adds(out, "'\\''");
        else
            text_addc(out, word.p[i]);
    }
    text_addc(out, '\'');
}
