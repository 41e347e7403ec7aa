#include "toy/toy_admit.h"

#include "lib/json.h"
#include "os/sum.h"
#include "toy/toy_kind.h"
#include "toy/toy_row.h"
#include "wire/set_name.h"

enum { NAME_BYTES = 40 };

bool toy_name_check(struct span name, struct err *err) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    bool ok = name.len > 0 && name.len <= NAME_BYTES;
    for (size_t i = 0; ok && i < name.len; i++)
        ok = memchr(allowed, name.p[i], sizeof(allowed) - 1) != NULL;
    return ok || err_set(err, ERR_DATA,
                         "a toy's name has 1 to %d small letters, digits and "
                         "dashes",
                         NAME_BYTES);
}

struct span toy_id(struct span name, struct arena *arena) {
    return span_of(arena_printf(arena, "toy-%.*s", (int)name.len, name.p));
}

static struct span spec_of(struct span name, struct arena *arena) {
    CLEANUP(text_clear) struct text spec = TEXT_INIT;
    struct json json;
    json_open(&json, &spec);
    json_object(&json);
    json_key(&json, "toy");
    json_span(&json, name);
    json_end(&json);
    return arena_span(arena, text_span(&spec));
}

static struct span key_of(struct span id, const struct origin *origin,
                          struct arena *arena) {
    unsigned char key[SET_KEY_BYTES];
    struct set_name name = {
        .csid = id,
        .tai = origin->now,
        .host = origin->host,
        .class = SET_DC,
        .sub_priority = SET_SUB_PRIORITY,
    };
    size_t bytes = set_key(&name, key);
    return arena_span(arena, span_make(key, bytes));
}

unsigned toy_admit(struct store_batch *batch, struct span name,
                   const struct origin *origin) {
    struct arena *arena = store_batch_arena(batch);
    char sum[SUM_TEXT_BYTES];
    struct span id = toy_id(name, arena), spec = spec_of(name, arena);
    sum_bytes(spec, sum);
    struct job job = {
        .id = id,
        .kind = TOY_KIND,
        .job_class = (enum job_class)SET_DC,
        .state = STATE_PENDING,
        .key = key_of(id, origin, arena),
        .actor = origin->actor,
        .cause = origin->cause,
        .sum = span_of(sum),
        .spec = spec,
        .admitted = origin->now,
        .uid = origin->uid,
    };
    unsigned index = store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    toy_row_add(batch, name, index);
    return index;
}
