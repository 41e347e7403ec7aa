#include "wire/schedule_spec.h"

#include <inttypes.h>

#include "lib/json.h"

static const char *const overlap_words[] = {
    [OVERLAP_FORBID] = "forbid",
    [OVERLAP_ALLOW] = "allow",
    [OVERLAP_REPLACE] = "replace",
    [OVERLAP_QUEUE] = "queue",
};
static const char *const missed_words[] = {
    [MISSED_RUN] = "run",
    [MISSED_SKIP] = "skip",
};

const char *schedule_overlap_word(enum schedule_overlap overlap) {
    return overlap_words[overlap];
}

const char *schedule_missed_word(enum schedule_missed missed) {
    return missed_words[missed];
}

static bool word_among(struct span word, const char *const *words, size_t count,
                       size_t *ret) {
    for (*ret = 0; *ret < count; ++*ret)
        if (span_is(word, words[*ret]))
            return true;
    return false;
}

bool schedule_overlap_parse(struct span word, enum schedule_overlap *ret) {
    size_t at;
    bool found = word_among(word, overlap_words, COUNT(overlap_words), &at);
    if (found)
        *ret = (enum schedule_overlap)at;
    return found;
}

bool schedule_missed_parse(struct span word, enum schedule_missed *ret) {
    size_t at;
    bool found = word_among(word, missed_words, COUNT(missed_words), &at);
    if (found)
        *ret = (enum schedule_missed)at;
    return found;
}

void schedule_spec_init(struct schedule_spec *spec) {
    *spec = (struct schedule_spec){.max_shift_s = -1};
    submission_init(&spec->job);
}

static bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9');
}

bool schedule_name_check(struct span name, struct err *err) {
    bool fine = name.len > 0 && name.len <= SCHEDULE_NAME_BYTES &&
                is_letter_or_digit(name.p[0]);
    for (size_t i = 0; i < name.len && fine; i++)
        fine = is_letter_or_digit(name.p[i]) || name.p[i] == '-';
    return fine ||
           err_set(err, ERR_DATA,
                   "'%.*s' is not a valid name for a schedule: a letter or "
                   "digit, then letters, digits and '-', %d at most",
                   (int)name.len, name.p ? name.p : "", SCHEDULE_NAME_BYTES);
}

/* ---- times --------------------------------------------------------------- */

static bool seconds_of(struct span text, int64_t *ret_s) {
    int64_t ms;
    if (!duration_parse(text, &ms) || ms % 1000 != 0 ||
        ms / 1000 > SCHEDULE_SECONDS_MOST)
        return false;
    *ret_s = ms / 1000;
    return true;
}

bool schedule_offset_parse(struct span text, struct schedule_spec *spec) {
    struct span rest = span_trim(text), word;
    spec->hash = false;
    spec->offset_s = 0;
    if (span_is(rest, "off"))
        return true;
    if (!span_starts(rest, "hash"))
        return seconds_of(rest, &spec->offset_s);
    (void)span_cut(&rest, ' ', &word);
    spec->hash = true;
    rest = span_trim(rest);
    return span_is(word, "hash") &&
           (rest.len == 0 ||
            (seconds_of(rest, &spec->offset_s) && spec->offset_s > 0));
}

void schedule_offset_format(const struct schedule_spec *spec,
                            struct text *out) {
    if (spec->hash && spec->offset_s > 0)
        text_addf(out, "hash %" PRId64, spec->offset_s);
    else if (spec->hash)
        text_adds(out, "hash");
    else
        text_addf(out, "%" PRId64, spec->offset_s);
}

/* ---- reading ------------------------------------------------------------- */

enum { DIR_BYTES = 4096 };

enum key {
    KEY_ITEM,
    KEY_ZONE,
    KEY_OVERLAP,
    KEY_MISSED,
    KEY_MAX_SHIFT,
    KEY_OFFSET,
    KEY_JITTER,
    KEY_DEADLINE,
    KEY_PAUSED,
    KEY_IMPORT,
    KEY_DIR,
    KEY_JOB,
    KEYS
};

static const char *const key_names[KEYS] = {
    "item",   "zone",     "overlap", "missed", "max_shift", "offset",
    "jitter", "deadline", "paused",  "import", "dir",       "job"};

struct reader {
    struct arena *arena;
    struct schedule_spec *spec;
    struct err *err;
};

static bool refuse(struct reader *reader, enum key key, const char *what) {
    return err_set(reader->err, ERR_DATA, "'%s' %s", key_names[key], what);
}

static bool read_seconds(struct reader *reader, enum key key,
                         struct json_value value, int64_t *ret_s) {
    struct span text;
    int64_t number;
    if (json_get_i64(value, &number) && number >= 0 &&
        number <= SCHEDULE_SECONDS_MOST) {
        *ret_s = number;
        return true;
    }
    if (json_get_string(value, reader->arena, &text) && seconds_of(text, ret_s))
        return true;
    return refuse(reader, key,
                  "is neither seconds nor a time such as \"15m\", a year at "
                  "most");
}

static bool read_offset(struct reader *reader, struct json_value value) {
    struct span text;
    if (value.type == JSON_NUMBER)
        return read_seconds(reader, KEY_OFFSET, value, &reader->spec->offset_s);
    if (json_get_string(value, reader->arena, &text) &&
        schedule_offset_parse(text, reader->spec))
        return true;
    return refuse(reader, KEY_OFFSET,
                  "is not off, hash, \"hash 15m\" or a time such as \"90s\"");
}

static bool read_item(struct reader *reader, struct json_value value) {
    if (value.type == JSON_OBJECT) {
        reader->spec->item = value.raw;
        return true;
    }
    return json_get_string(value, reader->arena, &reader->spec->item) ||
           refuse(reader, KEY_ITEM,
                  "is neither an object nor a crontab line in a string");
}

static bool read_key(struct reader *reader, enum key key,
                     struct json_value value) {
    struct schedule_spec *spec = reader->spec;
    struct span word = {0};
    if (key == KEY_ITEM)
        return read_item(reader, value);
    if (key == KEY_ZONE)
        return json_get_string(value, reader->arena, &spec->zone) ||
               refuse(reader, key, "is not a string");
    if (key == KEY_OVERLAP)
        return (json_get_string(value, reader->arena, &word) &&
                schedule_overlap_parse(word, &spec->overlap)) ||
               refuse(reader, key,
                      "is not one of forbid, allow, replace, queue");
    if (key == KEY_MISSED)
        return (json_get_string(value, reader->arena, &word) &&
                schedule_missed_parse(word, &spec->missed)) ||
               refuse(reader, key, "is neither run nor skip");
    if (key == KEY_MAX_SHIFT)
        return read_seconds(reader, key, value, &spec->max_shift_s);
    if (key == KEY_OFFSET)
        return read_offset(reader, value);
    if (key == KEY_JITTER)
        return read_seconds(reader, key, value, &spec->jitter_s);
    if (key == KEY_DEADLINE)
        return read_seconds(reader, key, value, &spec->deadline_s);
    if (key == KEY_PAUSED)
        return json_get_bool(value, &spec->paused) ||
               refuse(reader, key, "is neither true nor false");
    if (key == KEY_IMPORT)
        return json_get_string(value, reader->arena, &spec->import) ||
               refuse(reader, key, "is not a string");
    if (key == KEY_DIR)
        return json_get_string(value, reader->arena, &spec->dir) ||
               refuse(reader, key, "is not a string");
    return submission_parse(value.raw, SUBMISSION_BODY, reader->arena,
                            &spec->job, reader->err) ||
           err_wrap(reader->err, "job");
}

static bool read_member(struct reader *reader, struct span name,
                        struct json_value value) {
    size_t key;
    if (word_among(name, key_names, KEYS, &key))
        return value.type == JSON_NULL ||
               read_key(reader, (enum key)key, value);
    CLEANUP(text_free_string) char *copy = span_string(name);
    const char *near = text_nearest(copy, key_names, KEYS);
    return err_set(reader->err, ERR_DATA, "unknown key '%s'%s%s%s", copy,
                   near ? ", did you mean '" : "", near ? near : "",
                   near ? "'?" : "");
}

bool schedule_spec_parse(struct span text, struct arena *arena,
                         struct schedule_spec *ret_spec, struct err *err) {
    struct reader reader = {arena, ret_spec, err};
    struct json_value whole, value;
    struct span name;
    schedule_spec_init(ret_spec);
    if (!submission_open(text, &whole, err))
        return false;
    for (size_t at = 0; json_next(whole, &at, arena, &name, &value);)
        if (!read_member(&reader, name, value))
            return false;
    return schedule_spec_check(ret_spec, err);
}

bool schedule_spec_check(const struct schedule_spec *spec, struct err *err) {
    if (spec->item.len == 0)
        return err_set(err, ERR_DATA, "a schedule needs an item");
    if (spec->item.len > SUBMISSION_BYTES / 8)
        return err_set(err, ERR_DATA, "the item is longer than 1 MiB");
    if (memchr(spec->item.p, '\0', spec->item.len) ||
        (spec->zone.len > 0 && memchr(spec->zone.p, '\0', spec->zone.len)))
        return err_set(err, ERR_DATA, "item or zone contains a NUL");
    if (spec->dir.len > 0 &&
        (spec->dir.p[0] == '/' || spec->job.dir.len > 0 ||
         spec->dir.len > DIR_BYTES || memchr(spec->dir.p, '\0', spec->dir.len)))
        return err_set(err, ERR_DATA,
                       "'dir' of a schedule is relative to the base; write an "
                       "absolute one into its job");
    if (spec->job.id.len > 0 || spec->job.array.count > 0 || spec->job.hold ||
        spec->job.begin.ns > 0 || spec->job.template.len > 0 ||
        spec->job.after.count + spec->job.after_any.count +
                spec->job.after_failed.count >
            0)
        return err_set(err, ERR_DATA,
                       "the job of a schedule cannot have id, after, begin, "
                       "template, array or hold");
    return submission_check(&spec->job, err) || err_wrap(err, "job");
}

/* ---- writing ------------------------------------------------------------- */

static void format_seconds(struct json *json, enum key key, int64_t seconds) {
    if (seconds <= 0)
        return;
    json_key(json, key_names[key]);
    json_i64(json, seconds);
}

static void format_words(struct json *json, const struct schedule_spec *spec) {
    if (spec->zone.len > 0) {
        json_key(json, key_names[KEY_ZONE]);
        json_span(json, spec->zone);
    }
    if (spec->overlap != OVERLAP_FORBID) {
        json_key(json, key_names[KEY_OVERLAP]);
        json_string(json, overlap_words[spec->overlap]);
    }
    if (spec->missed != MISSED_RUN) {
        json_key(json, key_names[KEY_MISSED]);
        json_string(json, missed_words[spec->missed]);
    }
}

static void format_offset(struct json *json, const struct schedule_spec *spec) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    if (!spec->hash) {
        format_seconds(json, KEY_OFFSET, spec->offset_s);
        return;
    }
    schedule_offset_format(spec, &text);
    json_key(json, key_names[KEY_OFFSET]);
    json_span(json, text_span(&text));
}

void schedule_spec_format(const struct schedule_spec *spec, struct text *out) {
    CLEANUP(text_clear) struct text job = TEXT_INIT;
    struct json json;
    json_open(&json, out);
    json_object(&json);
    json_key(&json, key_names[KEY_ITEM]);
    json_span(&json, spec->item);
    format_words(&json, spec);
    if (spec->max_shift_s >= 0) {
        json_key(&json, key_names[KEY_MAX_SHIFT]);
        json_i64(&json, spec->max_shift_s);
    }
    format_offset(&json, spec);
    format_seconds(&json, KEY_JITTER, spec->jitter_s);
    format_seconds(&json, KEY_DEADLINE, spec->deadline_s);
    if (spec->paused) {
        json_key(&json, key_names[KEY_PAUSED]);
        json_bool(&json, true);
    }
    if (spec->import.len > 0) {
        json_key(&json, key_names[KEY_IMPORT]);
        json_span(&json, spec->import);
    }
    if (spec->dir.len > 0) {
        json_key(&json, key_names[KEY_DIR]);
        json_span(&json, spec->dir);
    }
    submission_format(&spec->job, &job);
    json_key(&json, key_names[KEY_JOB]);
    json_raw(&json, text_span(&job));
    json_end(&json);
}
