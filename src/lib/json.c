#include "lib/json.h"

#include <assert.h>
#include <inttypes.h>

#include "lib/utf8.h"

/* Writing. */

void json_open(struct json *json, struct text *out) {
    *json = (struct json){.out = out};
}

static uint64_t level_bit(const struct json *json) {
    return UINT64_C(1) << (json->depth - 1);
}

/* Writes the separator between a value and the one before it. */
static void separate(struct json *json) {
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if (json->depth == 0)
        return;
    if (json->more & level_bit(json))
        text_addc(json->out, ',');
    json->more |= level_bit(json);
}

static void begin(struct json *json, bool object) {
    separate(json);
    assert(json->depth < JSON_DEPTH);
    json->depth++;
    json->more &= ~level_bit(json);
    json->objects &= ~level_bit(json);
    if (object)
        json->objects |= level_bit(json);
    text_addc(json->out, object ? '{' : '[');
}

void json_object(struct json *json) {
    begin(json, true);
}

void json_array(struct json *json) {
    begin(json, false);
}

void json_end(struct json *json) {
    assert(json->depth > 0 && !json->after_key);
    text_addc(json->out, json->objects & level_bit(json) ? '}' : ']');
    json->depth--;
}

static void add_short(struct text *out, unsigned char c) {
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *at = memchr(from, c, sizeof(from) - 1);

    if (at != NULL)
        text_addf(out, "\\%c", to[at - from]);
    else
        text_addf(out, "\\u%04x", c);
}

static void add_quoted(struct text *out, struct span span) {
    size_t at = 0, plain = 0;

    text_reserve(out, span.len + 2);
    text_addc(out, '"');
    while (at < span.len) {
        unsigned char c = (unsigned char)span.p[at];
        size_t len = 1;

        if (c >= 0x80)
            len = utf8_character(span.p + at, span.p + span.len);
        else if (c < 0x20 || c == '"' || c == '\\')
            len = 0;
        if (len > 0) {
            at += len;
            continue;
        }
        text_add(out, span.p + plain, at - plain);
        if (c >= 0x80)
            text_adds(out, "\xef\xbf\xbd");
        else
            add_short(out, c);
        plain = ++at;
    }
    if (at > plain)
        text_add(out, span.p + plain, at - plain);
    text_addc(out, '"');
}

void json_key(struct json *json, const char *key) {
    assert(json->depth > 0 && json->objects & level_bit(json));
    separate(json);
    add_quoted(json->out, span_of(key));
    text_addc(json->out, ':');
    json->after_key = true;
}

void json_string(struct json *json, const char *string) {
    if (string == NULL)
        json_null(json);
    else
        json_span(json, span_of(string));
}

void json_span(struct json *json, struct span span) {
    separate(json);
    add_quoted(json->out, span);
}

void json_i64(struct json *json, int64_t value) {
    separate(json);
    text_addf(json->out, "%" PRId64, value);
}

void json_u64_string(struct json *json, uint64_t value) {
    separate(json);
    text_addf(json->out, "\"%" PRIu64 "\"", value);
}

void json_bool(struct json *json, bool value) {
    json_raw(json, value ? SPAN("true") : SPAN("false"));
}

void json_null(struct json *json) {
    json_raw(json, SPAN("null"));
}

void json_raw(struct json *json, struct span valid_json) {
    separate(json);
    text_addspan(json->out, valid_json);
}

void json_put_span(struct json *json, const char *key, struct span value) {
    json_key(json, key);
    json_span(json, value);
}

void json_put_i64(struct json *json, const char *key, int64_t value) {
    json_key(json, key);
    json_i64(json, value);
}

void json_put_bool(struct json *json, const char *key, bool value) {
    json_key(json, key);
    json_bool(json, value);
}

void json_put_text(struct json *json, const char *key, struct span value) {
    if (value.len > 0)
        json_put_span(json, key, value);
}

void json_put_time(struct json *json, const char *key, struct wall value) {
    char text[WALL_TEXT_BYTES];

    if (value.ns == 0)
        return;
    json_key(json, key);
    json_string(json, wall_format(value, text));
}

void json_put_flag(struct json *json, const char *key, bool value) {
    if (value)
        json_put_bool(json, key, true);
}
