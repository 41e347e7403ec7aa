/* JSON, reading and writing without trees.
 *
 * Writing: a stream that adds commas and quotes as needed.
 *     struct json j; json_open(&j, &text);
 *     json_object(&j); json_key(&j, "id"); json_string(&j, id); json_end(&j);
 * Callers choose to write 64-bit ids as strings (json_u64_string). Invalid
 * UTF-8 becomes U+FFFD.
 *
 * Reading: a strict one-pass scanner (RFC 8259; UTF-8, no duplicate keys in an
 * object, depth at most 64) that returns values as spans of the input. Nothing
 * is copied until it is requested. */
#ifndef POINTSMAN_LIB_JSON_H
#define POINTSMAN_LIB_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"
#include "lib/time.h"

enum { JSON_DEPTH = 64 };

struct json {
    struct text *out;
    uint64_t more;    /* bit per level: needs a comma before the next value */
    uint64_t objects; /* bit per level: it is an object */
    unsigned depth;
    bool after_key;
};

/* Starts writing at the end of `out`, which stays the caller's. Needs no
 * close. */
void json_open(struct json *json, struct text *out);
/* Each writes the beginning of a value or a whole value. Keys and values must
 * alternate in an object; the depth is at most JSON_DEPTH (asserted). */
void json_object(struct json *json);
void json_array(struct json *json);
void json_end(struct json *json); /* of the innermost object or array */
void json_key(struct json *json, const char *key);
void json_string(struct json *json, const char *string); /* NULL: null */
void json_span(struct json *json, struct span span);     /* as a string */
void json_i64(struct json *json, int64_t value);
void json_u64_string(struct json *json, uint64_t value); /* "123" */
void json_bool(struct json *json, bool value);
void json_null(struct json *json);
void json_raw(struct json *json, struct span valid_json);
/* Each writes a key and its value. */
void json_put_span(struct json *json, const char *key, struct span value);
void json_put_i64(struct json *json, const char *key, int64_t value);
void json_put_bool(struct json *json, const char *key, bool value);
/* The same, but nothing if the value is empty, or 0, or false. Times are
 * written as wall_format writes them. */
void json_put_text(struct json *json, const char *key, struct span value);
void json_put_time(struct json *json, const char *key, struct wall value);
void json_put_flag(struct json *json, const char *key, bool value);

enum json_type {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

struct json_value {
    enum json_type type;
    struct span raw; /* the bytes of the value, including quotes and braces */
};

/* Checks that `text` is exactly one value, with optional blanks around it.
 * Error: ERR_DATA with the byte's position. */
bool json_parse(struct span text, struct json_value *ret_value,
                struct err *err);
/* The same for an object; anything else is ERR_DATA. */
bool json_parse_object(struct span text, struct json_value *ret_object,
                       struct err *err);
/* Iterates over a checked object or array: *cursor starts at 0. `ret_key` (NULL
 * for arrays) is the decoded key, in the arena. False at the end. */
bool json_next(struct json_value container, size_t *cursor, struct arena *arena,
               struct span *ret_key, struct json_value *ret_value);
/* Finds a member by key; false if absent (*ret is then JSON_NULL). */
bool json_member(struct json_value object, const char *key,
                 struct json_value *ret_value);
/* Finds a member of the object in `text`; false also if that is not JSON. */
bool json_find(struct span text, const char *key, struct json_value *ret_value);
/* Returns the decoded string; false: not a string, or it contains \u0000. */
bool json_get_string(struct json_value value, struct arena *arena,
                     struct span *ret_string);
/* False: another type; for i64 also a fraction, an exponent, or out of range.
 */
bool json_get_i64(struct json_value value, int64_t *ret_value);
bool json_get_bool(struct json_value value, bool *ret_value);

#endif
