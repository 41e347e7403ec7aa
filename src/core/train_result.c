#include "core/train_result.h"

enum { FORMAT_VERSION = 1 };

/* The length in front keeps "ab" + "c" apart from "a" + "bc". */
static void add_part(struct text *out, struct span part) {
    text_addf(out, "%zu:", part.len);
    text_addspan(out, part);
}

static void add_parts(struct text *out, const struct span *parts,
                      size_t count) {
    text_addf(out, "%zu;", count);
    for (size_t i = 0; i < count; i++)
        add_part(out, parts[i]);
}

void train_key_format(const struct train_key *key, struct text *out) {
    bool by_set = key->remember == TRAIN_REMEMBER_SET;

    text_addf(out, "check-result %d;", FORMAT_VERSION);
    add_part(out, key->target);
    text_addf(out, "%zu;", key->check_count);
    for (size_t i = 0; i < key->check_count; i++) {
        add_part(out, key->checks[i].name);
        add_parts(out, key->checks[i].words, key->checks[i].word_count);
    }
    add_part(out, key->user);
    add_part(out, key->environment);
    add_part(out, key->path);
    add_part(out, key->lang);
    add_part(out, key->tz);
    add_part(out, key->kernel);
    add_part(out, key->machine);
    add_part(out, key->tree);
    add_parts(out, key->ids, by_set ? key->id_count : 0);
}

/* A run with this key failed after, or at the time of, the newest pass. */
static bool is_disputed(const struct train_record *record) {
    return record->passed.ns > 0 && record->failed.ns >= record->passed.ns;
}

bool train_record_is_reusable(const struct train_record *record,
                              int64_t remember_for_ms, struct wall now) {
    if (record->passed.ns == 0 || is_disputed(record))
        return false;
    return remember_for_ms == 0 ||
           wall_ms_since(now, record->passed) <= remember_for_ms;
}
