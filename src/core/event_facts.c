#include "core/event_facts.h"

#include "core/job.h"
#include "lib/json.h"

static void put_holds(struct json *json, unsigned holds) {
    CLEANUP(text_clear) struct text words = TEXT_INIT;
    for (unsigned bit = 1; (bit & HOLDS_ALL) != 0; bit <<= 1)
        if (holds & bit)
            text_addf(&words, "%s%s", words.len > 0 ? " " : "",
                      job_hold_word((enum job_hold)bit));
    json_put_text(json, "holds", text_span(&words));
}

static void put_number(struct json *json, const char *key, int64_t number) {
    if (number != 0)
        json_put_i64(json, key, number);
}

struct span event_facts_format(const struct event_facts *facts,
                               struct arena *arena) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct json json;
    json_open(&json, &text);
    json_object(&json);
    put_holds(&json, facts->holds);
#define PUT_TEXT json_put_text
#define PUT_TIME json_put_time
#define PUT_NUMBER put_number
#define PUT_FLAG json_put_flag
#define EVENT_FACT(type, name) PUT_##type(&json, #name, facts->name);
#include "core/event_facts.def"
    json_end(&json);
    return text.len > 2 ? arena_span(arena, text_span(&text)) : SPAN("");
}

static bool get_time(struct json_value value, struct arena *arena,
                     struct wall *ret) {
    struct span text;
    return json_get_string(value, arena, &text) && wall_parse(text, ret);
}

static bool get_number(struct json_value value, struct arena *arena,
                       int64_t *ret) {
    (void)arena;
    return json_get_i64(value, ret);
}

static bool get_flag(struct json_value value, struct arena *arena, bool *ret) {
    (void)arena;
    return json_get_bool(value, ret);
}

static bool get_holds(struct json_value value, struct arena *arena,
                      unsigned *ret) {
    struct span rest, word;
    if (!json_get_string(value, arena, &rest))
        return false;
    while (span_cut(&rest, ' ', &word))
        for (unsigned bit = 1; (bit & HOLDS_ALL) != 0; bit <<= 1)
            if (span_is(word, job_hold_word((enum job_hold)bit)))
                *ret |= bit;
    return true;
}

bool event_facts_parse(struct span text, struct arena *arena,
                       struct event_facts *ret_facts) {
    struct json_value whole, value;
    struct span key;
    size_t cursor = 0;
    bool ok =
        text.len <= EVENT_FACTS_BYTES && json_parse_object(text, &whole, NULL);
    *ret_facts = (struct event_facts){0};
    while (ok && json_next(whole, &cursor, arena, &key, &value)) {
        /* clang-format off */
        if (span_is(key, "holds"))
            ok = get_holds(value, arena, &ret_facts->holds);
#define GET_TEXT json_get_string
#define GET_TIME get_time
#define GET_NUMBER get_number
#define GET_FLAG get_flag
#define EVENT_FACT(type, name) else if (span_is(key, #name)) \
            ok = GET_##type(value, arena, &ret_facts->name);
#include "core/event_facts.def"
        /* clang-format on */
    }
    return ok;
}

struct span event_facts_add_from(struct span text, struct span from,
                                 struct arena *arena) {
    struct event_facts facts = {0};
    if (text.len > 0 && !event_facts_parse(text, arena, &facts))
        return text;
    facts.from = from;
    return event_facts_format(&facts, arena);
}
