/* The state of a watch in writing:
 *
 *     {"version": 1, "boot": "...", "system": S0, "monotonic": M0,
 *      "offset": seconds east of UTC at S0,
 *      "items": {"name": {"item": "fingerprint", "high": instant,
 *                         "offset": of its own zone at S0}, ...}}
 *
 * "high" stands only where an item has dealt with more, or with less, than all
 * up to "system", and "offset" only where an item has a zone of its own. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cron/reader.h"
#include "cron/watch.h"
#include "cron/words.h"

/* ---- writing ------------------------------------------------------------- */

static void add_string(struct words *words, const char *string) {
    words_add(words, "\"");
    for (; *string != '\0'; string++) {
        if (*string == '"' || *string == '\\')
            words_add(words, "\\");
        words_add(words, "%c", *string);
    }
    words_add(words, "\"");
}

static void add_watched(struct words *words, const struct cron_watch *watch,
                        const struct watched *watched, int64_t system_s) {
    add_string(words, watched->name);
    words_add(words, ": {\"item\": \"%016" PRIx64 "\"",
              watched->item->fingerprint);
    /* If a tick was not handed out whole, the rest is still due. */
    if (watched->next <= system_s)
        words_add(words, ", \"high\": %" PRId64, watched->next - 1);
    else if (watched->high > system_s)
        words_add(words, ", \"high\": %" PRId64, watched->high);
    if (watched->own_zone)
        words_add(
            words, ", \"offset\": %d",
            (int)cron_zone_offset_s(watch_zone_of(watch, watched), system_s));
    words_add(words, "}");
}

static void add_state(struct words *words, const struct cron_watch *watch) {
    int64_t system_s = watch->busy ? watch->tick.system_s : watch->system_s;

    words_add(words, "{\"version\": 1, \"boot\": ");
    add_string(words, watch->boot_id);
    words_add(words,
              ", \"system\": %" PRId64 ", \"monotonic\": %" PRId64
              ", \"offset\": %d, \"items\": {",
              system_s,
              watch->busy ? watch->tick.monotonic_s : watch->monotonic_s,
              (int)cron_zone_offset_s(watch_zone(watch), system_s));
    for (size_t i = 0; i < watch->count; i++) {
        words_add(words, i == 0 ? "" : ", ");
        add_watched(words, watch, watch->heap[i], system_s);
    }
    words_add(words, "}}");
}

size_t cron_watch_save(struct cron_watch *watch, char *buffer, size_t bytes) {
    struct words words;

    words_init(&words, buffer, bytes);
    pthread_mutex_lock(&watch->lock);
    if (watch->begun && !watch->restored)
        add_state(&words, watch);
    else
        words_add(&words, "{\"version\": 1}");
    pthread_mutex_unlock(&watch->lock);
    return words.len;
}

/* ---- reading ------------------------------------------------------------- */

enum key {
    KEY_VERSION,
    KEY_BOOT,
    KEY_SYSTEM,
    KEY_MONOTONIC,
    KEY_OFFSET,
    KEY_ITEMS,
    KEYS
};
static const char *const key_names[KEYS] = {"version",   "boot",   "system",
                                            "monotonic", "offset", "items"};

struct state {
    char boot_id[64];
    int64_t system_s, monotonic_s, offset_s;
    unsigned given; /* bits of keys */
};

static bool wrong(struct reader *reader, const char *what) {
    return fault_at(reader->err, CRON_ERR_SYNTAX, reader->text, reader->at,
                    "a saved state is broken: %s", what);
}

static bool read_fingerprint(struct reader *reader, uint64_t *ret) {
    char *end;

    if (!reader_string(reader))
        return false;
    if (strlen(reader->string) != 16 ||
        strspn(reader->string, "0123456789abcdef") != 16)
        return wrong(reader, "a fingerprint must be 16 hex digits");
    *ret = strtoull(reader->string, &end, 16);
    return true;
}

/* One item of the state; an item whose name is unknown, or that has changed,
 * is read and dropped. `watch` NULL: only checked. */
static bool read_item(struct cron_watch *watch, struct reader *reader,
                      int64_t system_s) {
    struct watched *watched =
        watch == NULL ? NULL : watch_find(watch, reader->string);
    bool first = true, more, has_high = false, has_item = false;
    bool has_offset = false;
    uint64_t fingerprint = 0;
    int64_t high = system_s, offset_s = 0;

    for (;;) {
        if (!reader_member(reader, &first, &more))
            return false;
        if (!more)
            break;
        if (strcmp(reader->string, "item") == 0) {
            has_item = true;
            if (!read_fingerprint(reader, &fingerprint))
                return false;
        } else if (strcmp(reader->string, "high") == 0) {
            has_high = true;
            if (!reader_integer(reader, "high", &high))
                return false;
        } else if (strcmp(reader->string, "offset") == 0) {
            has_offset = true;
            if (!reader_integer(reader, "offset", &offset_s))
                return false;
        } else {
            return wrong(reader, "an item must have a fingerprint and a high");
        }
    }
    if (!has_item || high > system_s + INT64_C(4000000000) ||
        high < CRON_OLDEST || offset_s > 100000 || offset_s < -100000)
        return wrong(reader, "an item is invalid");
    if (watched != NULL && watched->item->fingerprint == fingerprint) {
        watched->fresh = false;
        watched->behind = has_high;
        watched->high = high;
        watched->has_offset = has_offset && watched->own_zone;
        watched->offset_s = (int32_t)offset_s;
    }
    return true;
}

static bool read_items(struct cron_watch *watch, struct reader *reader,
                       int64_t system_s) {
    bool first = true, more;

    for (;;) {
        if (!reader_member(reader, &first, &more))
            return false;
        if (!more)
            return true;
        if (!read_item(watch, reader, system_s))
            return false;
    }
}

static bool find_key(struct reader *reader, struct state *state,
                     enum key *ret_key) {
    for (enum key key = 0; key < KEYS; key++) {
        if (strcmp(reader->string, key_names[key]) != 0)
            continue;
        if ((state->given >> key & 1) != 0)
            return wrong(reader, "a key is given twice");
        state->given |= 1u << key;
        *ret_key = key;
        return true;
    }
    return wrong(reader, "an unknown key");
}

static bool read_key(struct cron_watch *watch, struct reader *reader,
                     struct state *state, enum key key) {
    int64_t version;

    switch (key) {
    case KEY_VERSION:
        return reader_integer(reader, "version", &version) &&
               (version == 1 || wrong(reader, "its version is not 1"));
    case KEY_BOOT:
        if (!reader_string(reader))
            return false;
        snprintf(state->boot_id, sizeof(state->boot_id), "%.63s",
                 reader->string);
        return true;
    case KEY_SYSTEM:
        return reader_integer(reader, "system", &state->system_s);
    case KEY_MONOTONIC:
        return reader_integer(reader, "monotonic", &state->monotonic_s);
    case KEY_OFFSET:
        return reader_integer(reader, "offset", &state->offset_s);
    case KEY_ITEMS:
        /* The instants of items are compared with "system", which must come
         * first. */
        return ((state->given >> KEY_SYSTEM & 1) != 0 ||
                wrong(reader, "items comes before system")) &&
               read_items(watch, reader, state->system_s);
    case KEYS:
        break;
    }
    return false;
}

static bool read_state(struct cron_watch *watch, const char *text, size_t bytes,
                       struct state *state, struct cron_err *err) {
    const int64_t most = INT64_C(1) << 60;
    struct reader reader;
    bool first = true, more;
    enum key key = KEY_VERSION;

    *state = (struct state){.given = 0};
    reader_init(&reader, text, bytes, err);
    for (;;) {
        if (!reader_member(&reader, &first, &more))
            return false;
        if (!more)
            break;
        if (!find_key(&reader, state, &key) ||
            !read_key(watch, &reader, state, key))
            return false;
    }
    if ((state->given & 1) == 0)
        return wrong(&reader, "it has no version");
    if (state->given != 1 && state->given != (1u << KEYS) - 1)
        return wrong(&reader, "a key is missing");
    if (state->system_s > most || state->system_s < -most ||
        state->monotonic_s > most || state->monotonic_s < -most ||
        state->offset_s > 100000 || state->offset_s < -100000)
        return wrong(&reader, "a time is invalid");
    return reader_finish(&reader);
}

static void take_over(struct cron_watch *watch, const struct state *state) {
    watch->begun = watch->restored = true;
    watch->system_s = state->system_s;
    watch->monotonic_s = state->monotonic_s;
    watch->offset_s = (int32_t)state->offset_s;
    watch->same_boot = watch->boot_id[0] != '\0' &&
                       strcmp(watch->boot_id, state->boot_id) == 0;
}

bool cron_watch_restore(struct cron_watch *watch, const char *text,
                        size_t bytes, struct cron_err *err) {
    struct state state;
    bool ok;

    /* The whole state is checked before any of it is used. */
    if (!read_state(NULL, text, bytes, &state, err))
        return false;
    if (state.given == 1)
        return true; /* the state of a watch that never ticked */
    pthread_mutex_lock(&watch->lock);
    ok = !watch->begun;
    if (ok) {
        for (size_t i = 0; i < watch->count; i++)
            watch->heap[i]->fresh = true;
        ok = read_state(watch, text, bytes, &state, err);
        take_over(watch, &state);
    } else {
        fault_set(err, CRON_ERR_ITEM,
                  "a saved state can be loaded only before the first tick");
    }
    pthread_mutex_unlock(&watch->lock);
    return ok;
}
