#include "wire/uri.h"

struct uri uri_split(struct span text) {
    struct uri uri = {.path = text};
    const char *mark = text.len == 0 ? NULL : memchr(text.p, '?', text.len);

    if (mark != NULL) {
        uri.path.len = (size_t)(mark - text.p);
        uri.query = span_make(mark + 1, text.len - uri.path.len - 1);
    }
    return uri;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool uri_decode(struct span text, bool plus, struct arena *arena,
                struct span *ret_text) {
    char *out = arena_alloc(arena, text.len + 1);
    size_t len = 0;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.p[i];
        if (c == '%') {
            if (text.len - i < 3)
                return false;
            int high = hex_digit(text.p[i + 1]);
            int low = hex_digit(text.p[i + 2]);
            if (high < 0 || low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        if (c == '\0')
            return false;
        out[len++] = c;
    }
    *ret_text = span_make(out, len);
    return span_is_utf8(*ret_text);
}

bool uri_next(struct span *rest, struct arena *arena, struct span *ret_key,
              struct span *ret_value, bool *ret_ok) {
    struct span pair;

    *ret_ok = true;
    do {
        if (rest->len == 0 || !span_cut(rest, '&', &pair))
            return false;
    } while (pair.len == 0);
    struct span value = pair, key;
    if (!span_cut(&value, '=', &key))
        return false;
    if (value.p == NULL)
        value = SPAN("");
    *ret_ok = uri_decode(key, true, arena, ret_key) &&
              uri_decode(value, true, arena, ret_value);
    return *ret_ok;
}

void uri_encode(struct span word, struct text *out) {
    for (size_t i = 0; i < word.len; i++) {
        char c = word.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     (c >= '0' && c <= '9') ||
                     (c != '\0' && strchr("-._~@", c) != NULL);
        if (plain)
            text_addc(out, c);
        else
            text_addf(out, "%%%02X", (unsigned char)c);
    }
}
