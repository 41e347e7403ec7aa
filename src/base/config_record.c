#include "base/config_record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

#include "lib/map.h"
#include "os/dir.h"
#include "os/fd.h"

#define SEEN "config.seen"

/* The second bounds what an event repeats of a value. */
enum { SEEN_BYTES = 16 << 20, VALUE_BYTES = 600 };

/* "queue.poll", "target.main.git" */
static struct span name_of(const struct config_entry *entry,
                           struct arena *arena) {
    return span_of(arena_printf(arena, "%s%s%.*s.%.*s", entry->section,
                                entry->label.len > 0 ? "." : "",
                                (int)entry->label.len, entry->label.p,
                                (int)entry->key.len, entry->key.p));
}

/* "NAME TAB VALUE" */
static void parse(struct span rest, struct arena *arena, struct map *seen) {
    struct span line, name;
    while (span_cut(&rest, '\n', &line)) {
        struct span *value = arena_alloc(arena, sizeof(*value));
        *value = line;
        if (span_cut(value, '\t', &name) && name.len < line.len)
            (void)map_put(seen, name, value);
    }
}

static struct span brief(struct span value, struct arena *arena) {
    size_t len = VALUE_BYTES;
    if (value.len <= len)
        return value;
    while (len > 0 && ((unsigned char)value.p[len] & 0xc0) == 0x80)
        len--;
    return span_of(arena_printf(arena, "%.*s...", (int)len, value.p));
}

static void add_event(struct store_batch *batch, struct span name,
                      const char *reason, const struct span *was,
                      struct span value, struct span from) {
    struct arena *arena = store_batch_arena(batch);
    struct event_facts facts = {.from = from};
    if (was != NULL)
        facts.was = brief(*was, arena);
    store_note(batch, EVENT_CONFIG, 0, name, span_of(reason),
               brief(value, arena));
    store_note_facts(batch, &facts);
}

/* Takes what the files set off `seen`; what is left there is set no more. */
static void compare(struct store_batch *batch, struct config *files,
                    struct map *seen, struct text *ret_lines) {
    struct arena *arena = store_batch_arena(batch);
    struct config_entry entry;
    struct span name;
    struct config_cursor cursor = {0};
    size_t left = 0;
    void *was;
    while (config_next(files, &cursor, &entry)) {
        if (entry.origin.file == NULL)
            continue;
        name = name_of(&entry, arena);
        text_addf(ret_lines, "%s\t%.*s\n", name.p, (int)entry.value.len,
                  entry.value.p);
        was = map_remove(seen, name);
        if (was != NULL && span_equal(*(struct span *)was, entry.value))
            continue;
        add_event(batch, name, "set", was, entry.value,
                  span_of(arena_printf(arena, "%s:%u", entry.origin.file,
                                       entry.origin.line)));
    }
    while (map_next(seen, &left, &name, &was))
        add_event(batch, name, "removed", was, SPAN(""), SPAN(""));
}

/* If this process is root's, the owner of the base must still be able to read
 * it. */
static bool write_seen(const struct base *base, struct span lines,
                       struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    int ctrl = base->dirs[BASE_CTRL];
    return dir_write(base->dirs[BASE_TMP], ctrl, SEEN, lines, 0600, DIR_DURABLE,
                     err) &&
           dir_open_file(ctrl, SEEN, O_RDONLY, 0, &fd, err) &&
           base_give_file(base, fd, err);
}

bool config_record_update(const struct base *base, struct wall now,
                          struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(text_clear) struct text before = TEXT_INIT, after = TEXT_INIT;
    CLEANUP(map_clear) struct map seen = MAP_INIT;
    struct config files;
    struct err why = {0};
    bool is_first =
        !dir_read(base->dirs[BASE_CTRL], SEEN, SEEN_BYTES, &before, &why);
    if (is_first && why.sys != ENOENT)
        return err_set(err, why.kind, "%s", why.text);
    if (!base_read_files(base, &files, err))
        return false;
    parse(text_span(&before), &arena, &seen);
    struct store_batch *batch = store_batch_new(base->store);
    store_batch_actor(batch, now, SPAN("config"));
    compare(batch, &files, &seen, &after);
    config_clear(&files);
    bool ok =
        is_first || store_batch_count(batch) == 0 || store_write(batch, err);
    bool changed = is_first || store_batch_count(batch) > 0;
    store_batch_free(batch);
    return ok && (!changed || write_seen(base, text_span(&after), err));
}
