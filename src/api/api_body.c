/* Bodies of commands: small objects with known keys. */
#include "api/api_call.h"

/* Reads an object whose keys must all be among the given ones; fails the
 * call otherwise. An empty body is an empty object. */
bool api_body_object(struct api_call *call, const char *const *keys,
                     struct json_value *ret_object) {
    struct err err = {0};
    struct span body = span_trim(text_span(&call->body));

    if (body.len == 0)
        body = SPAN("{}");
    if (!json_parse(body, ret_object, &err)) {
        api_fail(call, &err);
        return false;
    }
    struct span key;
    struct json_value value;
    size_t cursor = 0;
    if (ret_object->type != JSON_OBJECT) {
        err_set(&err, ERR_DATA, "the body is not a JSON object");
        api_fail(call, &err);
        return false;
    }
    while (json_next(*ret_object, &cursor, &call->arena, &key, &value)) {
        size_t known = 0;
        while (keys[known] != NULL && !span_is(key, keys[known]))
            known++;
        if (keys[known] != NULL)
            continue;
        err_set(&err, ERR_DATA, "unknown key '%.*s'", (int)key.len, key.p);
        api_fail(call, &err);
        return false;
    }
    return true;
}

bool api_body_string(struct api_call *call, struct json_value object,
                     const char *key, struct span *ret_value) {
    struct json_value value;
    struct err err = {0};

    *ret_value = (struct span){0};
    if (!json_member(object, key, &value) ||
        json_get_string(value, &call->arena, ret_value))
        return true;
    err_set(&err, ERR_DATA, "'%s' is not a string", key);
    api_fail(call, &err);
    return false;
}

bool api_body_flag(struct api_call *call, struct json_value object,
                   const char *key, bool *ret_value) {
    struct json_value value;
    struct err err = {0};

    *ret_value = false;
    if (!json_member(object, key, &value) || json_get_bool(value, ret_value))
        return true;
    err_set(&err, ERR_DATA, "'%s' is neither true nor false", key);
    api_fail(call, &err);
    return false;
}
