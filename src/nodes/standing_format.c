/* A definition written as JSON. */
#include "nodes/standing_definition.h"

#include <inttypes.h>
#include <stdio.h>

static void put_decimal(struct json *json, const char *key, uint64_t number,
                        unsigned digits) {
    char text[40];
    uint64_t unit = 1;
    int len;

    for (unsigned i = 0; i < digits; i++)
        unit *= 10;
    len = snprintf(text, sizeof(text), "%" PRIu64 ".%0*" PRIu64, number / unit,
                   (int)digits, number % unit);
    while (text[len - 1] == '0')
        len--;
    if (text[len - 1] == '.')
        len--;
    json_key(json, key);
    json_raw(json, span_make(text, (size_t)len));
}

static void put_list(struct json *json, const char *key,
                     const struct lines *list) {
    if (list->count == 0)
        return;
    json_key(json, key);
    json_array(json);
    for (size_t i = 0; i < list->count; i++)
        json_span(json, list->items[i]);
    json_end(json);
}

/* As it is after the last of its keys was set to nothing. */
static bool is_empty(const struct standing_filter *f) {
    return f->whitelist.count + f->blacklist.count + f->tags.count == 0 &&
           f->whitelist_regex.len + f->blacklist_regex.len == 0 &&
           f->fraction == 0;
}

static void put_filters(struct json *json,
                        const struct standing_definition *d) {
    size_t given = 0;

    for (size_t i = 0; i < d->filter_count; i++)
        given += !is_empty(&d->filters[i]);
    if (given == 0)
        return;
    json_key(json, "filters");
    json_object(json);
    for (size_t i = 0; i < d->filter_count; i++) {
        const struct standing_filter *f = &d->filters[i];
        if (is_empty(f))
            continue;
        CLEANUP(text_free_string) char *level = span_string(f->level);
        json_key(json, level);
        json_object(json);
        put_list(json, "whitelist", &f->whitelist);
        put_list(json, "blacklist", &f->blacklist);
        put_list(json, "tags", &f->tags);
        json_put_text(json, "whitelist_regex", f->whitelist_regex);
        json_put_text(json, "blacklist_regex", f->blacklist_regex);
        if (f->fraction > 0)
            put_decimal(json, "fraction", f->fraction, 6);
        json_end(json);
    }
    json_end(json);
}

static void put_backoff(struct json *json,
                        const struct standing_definition *d) {
    if (!d->has_backoff)
        return;
    json_key(json, "backoff");
    json_array(json);
    for (size_t i = 0; i < d->backoff_count; i++)
        json_i64(json, d->backoff_s[i]);
    json_string(json, d->backoff_fails ? "fail" : "repeat");
    json_end(json);
}

static void put_amounts(struct json *json,
                        const struct standing_definition *d) {
    if (d->amount_count == 0)
        return;
    json_key(json, "resources");
    json_object(json);
    for (size_t i = 0; i < d->amount_count; i++) {
        CLEANUP(text_free_string) char *name = span_string(d->amounts[i].name);
        json_put_i64(json, name, d->amounts[i].amount);
    }
    json_end(json);
}

static void put_kill_orphans(struct json *json,
                             const struct standing_definition *d) {
    if (!d->has_kill_orphans)
        return;
    json_key(json, "kill_orphans_after");
    if (d->kill_orphans_after_ms < 0)
        json_string(json, "never");
    else
        json_i64(json, d->kill_orphans_after_ms / 1000);
}

void standing_definition_format_job(
    const struct standing_definition *definition, struct text *out) {
    submission_format(&definition->job, out);
}

void standing_definition_format(const struct standing_definition *definition,
                                struct text *out) {
    CLEANUP(text_clear) struct text job = TEXT_INIT;
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const struct standing_definition *d = definition;
    struct json_value object, value;
    struct span key;
    struct json json;
    size_t cursor = 0;

    json_open(&json, out);
    json_object(&json);
    if (!d->enabled)
        json_put_bool(&json, "enabled", false);
    json_put_text(&json, "owner", d->owner);
    if (d->priority != STANDING_PRIORITY)
        put_decimal(&json, "priority", d->priority, 3);
    json_put_text(&json, "level", d->level);
    if (d->max_running > 0)
        json_put_i64(&json, "max_running", d->max_running);
    put_amounts(&json, d);
    put_filters(&json, d);
    put_backoff(&json, d);
    put_list(&json, "depends_on", &d->depends_on);
    put_list(&json, "after_all_nodes_of", &d->after_all_nodes_of);
    json_put_text(&json, "host", d->host);
    json_put_text(&json, "host_level", d->host_level);
    put_kill_orphans(&json, d);
    standing_definition_format_job(d, &job);
    if (json_parse_object(text_span(&job), &object, NULL))
        while (json_next(object, &cursor, &arena, &key, &value)) {
            json_key(&json, arena_string(&arena, key));
            json_raw(&json, value.raw);
        }
    json_end(&json);
}
