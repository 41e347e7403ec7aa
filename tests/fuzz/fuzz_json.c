/* Text that json_parse() accepts can be walked, decoded, and written again
 * as equivalent JSON. */
#include <assert.h>

#include "lib/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void rewrite(struct json *json, struct json_value value,
                    struct arena *arena);

static void rewrite_members(struct json *json, struct json_value value,
                            struct arena *arena) {
    struct json_value member;
    size_t cursor = 0;
    struct span key;

    if (value.type == JSON_OBJECT)
        json_object(json);
    else
        json_array(json);
    while (json_next(value, &cursor, arena, &key, &member)) {
        struct json_value found;

        if (value.type == JSON_OBJECT) {
            /* Keys may contain NULs, which json_key() cannot write. */
            char *name = arena_string(arena, key);

            json_key(json, name);
            if (strlen(name) == key.len)
                assert(json_member(value, name, &found) &&
                       found.raw.p == member.raw.p);
        }
        rewrite(json, member, arena);
    }
    json_end(json);
}

static void rewrite(struct json *json, struct json_value value,
                    struct arena *arena) {
    struct span string;
    int64_t number;

    switch (value.type) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        rewrite_members(json, value, arena);
        return;
    case JSON_STRING:
        if (json_get_string(value, arena, &string)) {
            assert(span_is_utf8(string));
            json_span(json, string);
            return;
        }
        break;
    case JSON_NUMBER:
        if (json_get_i64(value, &number)) {
            json_i64(json, number);
            return;
        }
        break;
    case JSON_NULL:
    case JSON_TRUE:
    case JSON_FALSE:
        break;
    }
    json_raw(json, value.raw);
}

/* Two keys with NULs may be truncated to the same key. */
static bool holds_nul_escape(struct span span) {
    return memmem(span.p, span.len, "\\u0000", 6) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(text_clear) struct text first = TEXT_INIT, second = TEXT_INIT;
    struct arena arena = ARENA_INIT;
    struct span input = span_make(data, bytes);
    struct json_value value;
    struct err err = {0};
    struct json json;

    if (!json_parse(input, &value, &err)) {
        assert(err.kind == ERR_DATA && err.text[0] != '\0');
        return 0;
    }
    json_open(&json, &first);
    rewrite(&json, value, &arena);
    if (!holds_nul_escape(input)) {
        assert(json_parse(text_span(&first), &value, NULL));
        json_open(&json, &second);
        rewrite(&json, value, &arena);
        assert(span_equal(text_span(&first), text_span(&second)));
    }
    arena_clear(&arena);
    return 0;
}
