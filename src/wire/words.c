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
