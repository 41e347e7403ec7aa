#include "lib/json.h"

#include <stdlib.h>

#include "lib/json_lexer.h"
#include "lib/map.h"

/* Reading. The checker is a recursive descent over the bytes with bounded
 * depth; the functions below rely on its checks. */

struct scan {
    struct json_lexer lexer;
    const char *start;
    unsigned depth;
    struct key *keys; /* of all open objects, the innermost last */
    size_t key_count, key_cap;
    struct err *err;
};

struct key {
    uint64_t hash; /* of the decoded key */
    struct span raw;
};

static bool fail(struct scan *scan, const char *what) {
    return err_set(scan->err, ERR_DATA, "bad JSON at byte %zu: %s",
                   (size_t)(scan->lexer.p - scan->start), what);
}

static bool lexed(struct scan *scan, bool fine) {
    return fine || fail(scan, scan->lexer.wrong);
}

/* The characters of a checked string: the input itself if it has no escape,
 * otherwise decoded into `scratch`. */
static struct span string_decode(struct span raw, struct text *scratch) {
    const char *p = raw.p + 1, *end = raw.p + raw.len - 1;
    size_t len = (size_t)(end - p);

    if (len == 0 || memchr(p, '\\', len) == NULL)
        return span_make(p, len);
    text_reset(scratch);
    while (p < end) {
        const char *escape = memchr(p, '\\', (size_t)(end - p));

        if (escape == NULL)
            escape = end;
        text_add(scratch, p, (size_t)(escape - p));
        p = escape;
        if (p < end) {
            char bytes[4];

            p++;
            text_add(scratch, bytes, json_lexer_unescape(&p, bytes));
        }
    }
    return text_span(scratch);
}

static void key_note(struct scan *scan, struct span raw) {
    CLEANUP(text_clear) struct text scratch = TEXT_INIT;
    struct span key = string_decode(raw, &scratch);

    if (scan->key_count == scan->key_cap) {
        scan->key_cap = scan->key_cap > 0 ? 2 * scan->key_cap : 16;
        scan->keys = mem_grow(scan->keys, scan->key_cap, sizeof(*scan->keys));
    }
    scan->keys[scan->key_count++] =
        (struct key){map_hash_bytes(key.p, key.len), raw};
}

static int key_order(const void *a, const void *b) {
    CLEANUP(text_clear) struct text scratch_a = TEXT_INIT;
    CLEANUP(text_clear) struct text scratch_b = TEXT_INIT;
    const struct key *x = a, *y = b;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return span_compare(string_decode(x->raw, &scratch_a),
                        string_decode(y->raw, &scratch_b));
}

/* Sorts equal hashes next to each other. Ordinary objects have a handful of
 * keys with different hashes: then no sorting is needed. */
static bool hashes_differ(struct key *keys, size_t count) {
    enum { FEW = 16 };

    if (count > FEW) {
        qsort(keys, count, sizeof(*keys), key_order);
        return false;
    }
    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (keys[k].hash == keys[i].hash) {
                qsort(keys, count, sizeof(*keys), key_order);
                return false;
            }
    return true;
}

/* The keys of the object that ends here are keys[first..]. */
static bool keys_differ(struct scan *scan, size_t first) {
    size_t count = scan->key_count - first;
    struct key *keys;

    scan->key_count = first;
    if (count < 2)
        return true;
    keys = scan->keys + first;
    if (hashes_differ(keys, count))
        return true;
    for (size_t i = 1; i < count; i++) {
        if (key_order(&keys[i - 1], &keys[i]) == 0)
            return err_set(scan->err, ERR_DATA,
                           "bad JSON at byte %zu: key %.*s occurs twice",
                           (size_t)(scan->lexer.p - scan->start),
                           (int)(keys[i].raw.len < 80 ? keys[i].raw.len : 80),
                           keys[i].raw.p);
    }
    return true;
}

static bool scan_value(struct scan *scan, struct json_value *ret_value);

static bool scan_member(struct scan *scan, bool object) {
    const char *key = scan->lexer.p;

    if (object) {
        if (!lexed(scan, json_lexer_string(&scan->lexer)))
            return false;
        key_note(scan, span_make(key, (size_t)(scan->lexer.p - key)));
        json_lexer_blanks(&scan->lexer);
        if (!json_lexer_takes(&scan->lexer, ':'))
            return fail(scan, "expected ':'");
        json_lexer_blanks(&scan->lexer);
    }
    return scan_value(scan, NULL);
}

static bool scan_members(struct scan *scan, bool object) {
    char end = object ? '}' : ']';
    size_t first_key = scan->key_count;

    if (scan->depth == JSON_DEPTH)
        return fail(scan, "nested too deeply");
    scan->depth++;
    scan->lexer.p++;
    json_lexer_blanks(&scan->lexer);
    if (!json_lexer_takes(&scan->lexer, end)) {
        do {
            json_lexer_blanks(&scan->lexer);
            if (!scan_member(scan, object))
                return false;
            json_lexer_blanks(&scan->lexer);
        } while (json_lexer_takes(&scan->lexer, ','));
        if (!json_lexer_takes(&scan->lexer, end))
            return fail(scan,
                        object ? "expected ',' or '}'" : "expected ',' or ']'");
    }
    scan->depth--;
    return !object || keys_differ(scan, first_key);
}

static bool scan_word(struct scan *scan, const char *word) {
    if (!span_starts(
            span_make(scan->lexer.p, (size_t)(scan->lexer.end - scan->lexer.p)),
            word))
        return fail(scan, "expected a value");
    scan->lexer.p += strlen(word);
    return true;
}

static enum json_type type_of(char c) {
    switch (c) {
    case 'n':
        return JSON_NULL;
    case 'f':
        return JSON_FALSE;
    case 't':
        return JSON_TRUE;
    case '"':
        return JSON_STRING;
    case '[':
        return JSON_ARRAY;
    case '{':
        return JSON_OBJECT;
    default:
        return JSON_NUMBER;
    }
}

static bool scan_by_type(struct scan *scan, enum json_type type) {
    switch (type) {
    case JSON_NULL:
        return scan_word(scan, "null");
    case JSON_FALSE:
        return scan_word(scan, "false");
    case JSON_TRUE:
        return scan_word(scan, "true");
    case JSON_STRING:
        return lexed(scan, json_lexer_string(&scan->lexer));
    case JSON_ARRAY:
    case JSON_OBJECT:
        return scan_members(scan, type == JSON_OBJECT);
    case JSON_NUMBER:
        return lexed(scan, json_lexer_number(&scan->lexer));
    }
    return false;
}

static bool scan_value(struct scan *scan, struct json_value *ret_value) {
    const char *from = scan->lexer.p;
    enum json_type type;

    if (scan->lexer.p == scan->lexer.end)
        return fail(scan, "expected a value, found the end");
    type = type_of(*from);
    if (!scan_by_type(scan, type))
        return false;
    if (ret_value != NULL)
        *ret_value = (struct json_value){
            type, span_make(from, (size_t)(scan->lexer.p - from))};
    return true;
}

bool json_parse(struct span text, struct json_value *ret_value,
                struct err *err) {
    static const char nothing[] = "";
    const char *p = text.p != NULL ? text.p : nothing;
    struct scan scan = {
        .lexer = {.p = p, .end = p + text.len}, .start = p, .err = err};
    struct json_value value;
    bool fine;

    *ret_value = (struct json_value){JSON_NULL, SPAN("null")};
    json_lexer_blanks(&scan.lexer);
    fine = scan_value(&scan, &value);
    if (fine) {
        json_lexer_blanks(&scan.lexer);
        if (scan.lexer.p < scan.lexer.end)
            fine = fail(&scan, "unexpected text after the value");
        else
            *ret_value = value;
    }
    free(scan.keys);
    return fine;
}

bool json_parse_object(struct span text, struct json_value *ret_object,
                       struct err *err) {
    return json_parse(text, ret_object, err) &&
           (ret_object->type == JSON_OBJECT ||
            err_set(err, ERR_DATA, "not a JSON object"));
}

/* Skips the string that begins at p: it ends at the first quote that is
 * preceded by an even number of backslashes. */
static const char *skip_string(const char *p) {
    const char *start = p + 1;

    for (p = start;; p++) {
        p = rawmemchr(p, '"');
        const char *before = p;
        while (before > start && before[-1] == '\\')
            before--;
        if ((p - before) % 2 == 0)
            return p + 1;
    }
}

/* Skips the value that begins at p; the input is known to be well-formed. */
static const char *skip_value(const char *p, const char *end) {
    unsigned depth = 0;

    do {
        switch (*p) {
        case '"':
            p = skip_string(p);
            continue;
        case '[':
        case '{':
            depth++;
            break;
        case ']':
        case '}':
            depth--;
            break;
        default:
            if (depth == 0) {
                while (p < end && strchr(",]} \t\r\n", *p) == NULL)
                    p++;
                return p;
            }
        }
        p++;
    } while (depth > 0);
    return p;
}

static const char *skip_to(const char *p, const char *end) {
    while (p < end && (json_is_blank(*p) || *p == ',' || *p == ':'))
        p++;
    return p;
}

/* json_next() with the key as written in the input. */
static bool member_next(struct json_value container, size_t *cursor,
                        struct span *ret_raw_key,
                        struct json_value *ret_value) {
    const char *start = container.raw.p, *end = start + container.raw.len;
    const char *p;

    if (container.type != JSON_OBJECT && container.type != JSON_ARRAY)
        return false;
    p = skip_to(start + (*cursor > 0 ? *cursor : 1), end);
    if (p >= end - 1) /* the closing brace */
        return false;
    if (container.type == JSON_OBJECT) {
        const char *behind = skip_string(p);

        *ret_raw_key = span_make(p, (size_t)(behind - p));
        p = skip_to(behind, end);
    }
    ret_value->type = type_of(*p);
    ret_value->raw.p = p;
    p = skip_value(p, end);
    ret_value->raw.len = (size_t)(p - ret_value->raw.p);
    *cursor = (size_t)(p - start);
    return true;
}

bool json_next(struct json_value container, size_t *cursor, struct arena *arena,
               struct span *ret_key, struct json_value *ret_value) {
    CLEANUP(text_clear) struct text scratch = TEXT_INIT;
    struct span raw = {0};

    if (!member_next(container, cursor, &raw, ret_value))
        return false;
    if (ret_key != NULL)
        *ret_key = raw.p != NULL
                       ? arena_span(arena, string_decode(raw, &scratch))
                       : (struct span){0};
    return true;
}

bool json_member(struct json_value object, const char *key,
                 struct json_value *ret_value) {
    CLEANUP(text_clear) struct text scratch = TEXT_INIT;
    size_t cursor = 0;
    struct span raw = {0};

    while (object.type == JSON_OBJECT &&
           member_next(object, &cursor, &raw, ret_value))
        if (span_is(string_decode(raw, &scratch), key))
            return true;
    *ret_value = (struct json_value){JSON_NULL, SPAN("null")};
    return false;
}

bool json_find(struct span text, const char *key,
               struct json_value *ret_value) {
    struct json_value whole;
    (void)json_parse(text, &whole, NULL);
    return json_member(whole, key, ret_value);
}

bool json_get_string(struct json_value value, struct arena *arena,
                     struct span *ret_string) {
    CLEANUP(text_clear) struct text scratch = TEXT_INIT;
    struct span string;

    *ret_string = (struct span){0};
    if (value.type != JSON_STRING)
        return false;
    string = string_decode(value.raw, &scratch);
    if (string.len > 0 && memchr(string.p, '\0', string.len) != NULL)
        return false;
    *ret_string = arena_span(arena, string);
    return true;
}

bool json_get_i64(struct json_value value, int64_t *ret_value) {
    *ret_value = 0;
    return value.type == JSON_NUMBER && span_i64(value.raw, ret_value);
}

bool json_get_bool(struct json_value value, bool *ret_value) {
    *ret_value = value.type == JSON_TRUE;
    return value.type == JSON_TRUE || value.type == JSON_FALSE;
}
