#include "wire/set_spec.h"

#include "lib/json.h"

/* The first line of the message, or the id. */
static struct span title_of(const struct set_name *name,
                            const struct meta *meta) {
    struct span rest = meta->message, line;
    if (span_cut(&rest, '\n', &line) && line.len > 0)
        return line;
    return name->csid;
}

struct span set_spec_make(const struct set_name *name, const struct meta *meta,
                          struct span seen, struct arena *arena) {
    CLEANUP(text_clear) struct text spec = TEXT_INIT;
    CLEANUP(text_clear) struct text sections = TEXT_INIT;
    struct json json;
    sections_format(&meta->sections, &sections);
    json_open(&json, &spec);
    json_object(&json);
    json_key(&json, "title");
    json_span(&json, title_of(name, meta));
    json_key(&json, "author");
    json_span(&json, meta->author);
    json_key(&json, "base");
    json_span(&json, meta->base);
    json_key(&json, "files");
    json_i64(&json, (int64_t)(meta->files.count + meta->deleted.count));
    if (seen.len > 0) {
        json_key(&json, "seen");
        json_span(&json, seen);
    }
    if (meta->group_size > 0) {
        json_key(&json, "group_size");
        json_i64(&json, (int64_t)meta->group_size);
    }
    json_key(&json, "meta");
    json_span(&json, text_span(&sections));
    json_end(&json);
    return arena_span(arena, text_span(&spec));
}

bool set_spec_meta(struct span spec, struct arena *arena,
                   struct span *ret_meta) {
    struct json_value member;
    return json_find(spec, "meta", &member) &&
           json_get_string(member, arena, ret_meta);
}
