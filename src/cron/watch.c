#include "lib/utf8.h"
#include "cron/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cron/options.h"
#include "cron/reader.h"

enum { POLL_S = 60, SLOTS_LEAST = 64 };

struct cron_watch *cron_watch_new(const struct cron_watch_options *options,
                                  struct cron_err *err) {
    struct cron_watch_options ours = {.size = sizeof(ours)};
    struct cron_watch *watch;

    if (options != NULL &&
        !options_take(&ours, sizeof(ours), options, options->size, err))
        return NULL;
    watch = calloc(1, sizeof(*watch));
    if (watch != NULL)
        watch->names = calloc(SLOTS_LEAST, sizeof(struct watched *));
    if (watch == NULL || watch->names == NULL) {
        free(watch);
        fault_memory(err);
        return NULL;
    }
    watch->name_slots = SLOTS_LEAST;
    watch->secret = name_secret_draw();
    watch->options = ours;
    if (watch->options.poll_s <= 0)
        watch->options.poll_s = POLL_S;
    if (watch->options.boot_id != NULL)
        snprintf(watch->boot_id, sizeof(watch->boot_id), "%s",
                 watch->options.boot_id);
    pthread_mutex_init(&watch->lock, NULL);
    return watch;
}

static void watched_free(struct watched *watched) {
    cron_item_unref(watched->item);
    cron_zone_unref(watched->zone);
    cron_zone_unref(watched->new_zone);
    free(watched);
}

void cron_watch_free(struct cron_watch *watch) {
    if (watch == NULL)
        return;
    for (size_t i = 0; i < watch->count; i++)
        watched_free(watch->heap[i]);
    cron_zone_unref(watch->zone);
    cron_zone_unref(watch->new_zone);
    pthread_mutex_destroy(&watch->lock);
    free(watch->heap);
    free(watch->names);
    free(watch);
}

const struct cron_zone *watch_zone(const struct cron_watch *watch) {
    return watch->zone == NULL ? &zone_utc : watch->zone;
}

const struct cron_zone *watch_zone_of(const struct cron_watch *watch,
                                      const struct watched *watched) {
    if (!watched->own_zone)
        return watch_zone(watch);
    return watched->zone == NULL ? &zone_utc : watched->zone;
}

int64_t watch_search(const struct cron_watch *watch,
                     const struct watched *watched, int64_t from) {
    int64_t at;

    if (cron_next(watched->item, watch_zone_of(watch, watched),
                  from < CRON_OLDEST ? CRON_OLDEST : from, &at,
                  NULL) != CRON_FOUND)
        return AT_NEVER;
    return at;
}

/* ---- the heap ------------------------------------------------------------ */

static bool before(const struct watched *a, const struct watched *b) {
    return a->next != b->next ? a->next < b->next : a->order < b->order;
}

static void put(struct cron_watch *watch, size_t place,
                struct watched *watched) {
    watch->heap[place] = watched;
    watched->place = place;
}

static void sink(struct cron_watch *watch, struct watched *watched,
                 size_t place) {
    for (;;) {
        size_t child = 2 * place + 1;
        if (child + 1 < watch->count &&
            before(watch->heap[child + 1], watch->heap[child]))
            child++;
        if (child >= watch->count || !before(watch->heap[child], watched))
            break;
        put(watch, place, watch->heap[child]);
        place = child;
    }
    put(watch, place, watched);
}

void watch_sift(struct cron_watch *watch, struct watched *watched) {
    size_t place = watched->place;

    while (place > 0 && before(watched, watch->heap[(place - 1) / 2])) {
        put(watch, place, watch->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    sink(watch, watched, place);
}

void watch_sift_all(struct cron_watch *watch) {
    for (size_t i = watch->count / 2; i-- > 0;)
        sink(watch, watch->heap[i], i);
}

/* ---- names --------------------------------------------------------------- */

static struct watched **slot_of(const struct cron_watch *watch,
                                const char *name) {
    struct watched **slot =
        &watch
             ->names[name_hash(&watch->secret, name) & (watch->name_slots - 1)];

    while (*slot != NULL && strcmp((*slot)->name, name) != 0)
        slot = &(*slot)->chain;
    return slot;
}

struct watched *watch_find(const struct cron_watch *watch, const char *name) {
    return *slot_of(watch, name);
}

/* Without memory for more slots the table only becomes slower. */
static void grow_names(struct cron_watch *watch) {
    size_t old_slots = watch->name_slots;
    struct watched **old = watch->names;

    if (watch->count < old_slots)
        return;
    watch->names = calloc(old_slots * 2, sizeof(struct watched *));
    if (watch->names == NULL) {
        watch->names = old;
        return;
    }
    watch->name_slots = old_slots * 2;
    for (size_t i = 0; i < old_slots; i++)
        while (old[i] != NULL) {
            struct watched *watched = old[i];
            old[i] = watched->chain;
            watched->chain = NULL;
            *slot_of(watch, watched->name) = watched;
        }
    free(old);
}

/* ---- items --------------------------------------------------------------- */

static void wake(const struct cron_watch *watch) {
    if (watch->wake != NULL)
        watch->wake(watch->user_ctx);
}

void watch_attach(struct cron_watch *watch, void (*call)(void *ctx),
                  void (*forget)(void *ctx, const char *name), void *ctx) {
    pthread_mutex_lock(&watch->lock);
    watch->wake = call;
    watch->forget = forget;
    watch->user_ctx = ctx;
    pthread_mutex_unlock(&watch->lock);
}

static bool make_room(struct cron_watch *watch) {
    size_t room = watch->room == 0 ? 16 : watch->room * 2;
    struct watched **heap;

    if (watch->count < watch->room)
        return true;
    heap = realloc(watch->heap, room * sizeof(struct watched *));
    if (heap == NULL)
        return false;
    watch->heap = heap;
    watch->room = room;
    return true;
}

/* True if a saved state can hold the name. */
static bool is_name(const char *name) {
    const char *end = name + strlen(name);

    if (name == end || end - name >= CRON_NAME_BYTES)
        return false;
    while (name < end) {
        size_t bytes = utf8_character(name, end);
        if (bytes == 0 || (unsigned char)*name < 0x20)
            return false;
        name += bytes;
    }
    return true;
}

/* `own_zone`: it follows `zone`, and not that of the watch. */
static bool add(struct cron_watch *watch, const char *name,
                struct cron_item *item, bool own_zone, struct cron_zone *zone,
                void *data, struct cron_err *err) {
    size_t bytes = strlen(name) + 1;
    struct watched *watched;

    if (!is_name(name))
        return fault_set(
            err, CRON_ERR_ITEM,
            "a name must be 1 to 255 bytes of UTF-8 without control bytes");
    if (watch_find(watch, name) != NULL)
        return fault_set(err, CRON_ERR_ITEM, "there is already an item '%s'",
                         name);
    watched = make_room(watch) ? calloc(1, sizeof(*watched) + bytes) : NULL;
    if (watched == NULL)
        return fault_memory(err);
    memcpy(watched->name, name, bytes);
    watched->name_bytes = bytes;
    watched->item = cron_item_ref(item);
    watched->data = data;
    watched->own_zone = own_zone;
    watched->zone = cron_zone_ref(zone);
    watch->own_zones += own_zone;
    watched->order = watch->orders++;
    watched->high = watch->busy ? watch->tick.system_s : watch->system_s;
    watched->next = watch->begun && !watch->restored
                        ? watch_search(watch, watched, watched->high + 1)
                        : AT_NEVER;
    watched->fresh = watch->restored;
    watched->place = watch->count;
    watch->heap[watch->count++] = watched;
    watch_sift(watch, watched);
    grow_names(watch);
    *slot_of(watch, name) = watched;
    if (watch->heap[0] == watched)
        wake(watch);
    return true;
}

static bool add_locked(struct cron_watch *watch, const char *name,
                       struct cron_item *item, bool own_zone,
                       struct cron_zone *zone, void *data,
                       struct cron_err *err) {
    bool ok;

    if (item->max_shift_s < 0)
        return fault_set(err, CRON_ERR_ITEM,
                         "item '%s' needs the key "
                         "'max_shift_seconds_for_unskip_and_do_not_repeat': "
                         "how long a suspension or clock change may be, in "
                         "seconds, for the item to make up for it",
                         name);
    pthread_mutex_lock(&watch->lock);
    ok = add(watch, name, item, own_zone, zone, data, err);
    pthread_mutex_unlock(&watch->lock);
    return ok;
}

bool cron_watch_add(struct cron_watch *watch, const char *name,
                    struct cron_item *item, void *data, struct cron_err *err) {
    return add_locked(watch, name, item, false, NULL, data, err);
}

bool cron_watch_add_in(struct cron_watch *watch, const char *name,
                       struct cron_item *item, struct cron_zone *zone,
                       void *data, struct cron_err *err) {
    return add_locked(watch, name, item, true, zone, data, err);
}

static void take_out(struct cron_watch *watch, struct watched **slot) {
    struct watched *watched = *slot, *last = watch->heap[--watch->count];

    *slot = watched->chain;
    watch->own_zones -= watched->own_zone;
    if (last != watched) {
        put(watch, watched->place, last);
        watch_sift(watch, last);
    }
    if (watch->forget != NULL)
        watch->forget(watch->user_ctx, watched->name);
    watched_free(watched);
}

bool cron_watch_remove(struct cron_watch *watch, const char *name) {
    struct watched **slot;
    bool found;

    pthread_mutex_lock(&watch->lock);
    slot = slot_of(watch, name);
    found = *slot != NULL;
    if (found)
        take_out(watch, slot);
    pthread_mutex_unlock(&watch->lock);
    return found;
}

void cron_watch_set_zone(struct cron_watch *watch, struct cron_zone *zone) {
    struct cron_zone *old;

    pthread_mutex_lock(&watch->lock);
    old = watch->new_zone;
    watch->new_zone = cron_zone_ref(zone);
    watch->zone_is_new = true;
    if (zone != watch->zone)
        wake(watch);
    pthread_mutex_unlock(&watch->lock);
    cron_zone_unref(old);
}

/* The watch is locked. */
static void give_zone(struct cron_watch *watch, struct watched *watched,
                      struct cron_zone *zone) {
    cron_zone_unref(watched->new_zone);
    watched->new_zone = cron_zone_ref(zone);
    watched->zone_is_new = watch->item_zone_is_new = true;
    if (zone != watched->zone)
        wake(watch);
}

bool cron_watch_set_zone_of(struct cron_watch *watch, const char *name,
                            struct cron_zone *zone) {
    struct watched *watched;

    pthread_mutex_lock(&watch->lock);
    watched = watch_find(watch, name);
    if (watched != NULL && !watched->own_zone)
        watched = NULL;
    if (watched != NULL)
        give_zone(watch, watched, zone);
    pthread_mutex_unlock(&watch->lock);
    return watched != NULL;
}

void watch_follow(struct cron_watch *watch, struct cron_zones *zones) {
    pthread_mutex_lock(&watch->lock);
    for (size_t i = 0; watch->own_zones > 0 && i < watch->count; i++) {
        struct watched *watched = watch->heap[i];
        struct cron_zone *zone;
        if (!watched->own_zone || watched->zone == NULL ||
            cron_zone_name(watched->zone)[0] == '\0' ||
            !cron_zones_find(zones, cron_zone_name(watched->zone), &zone, NULL))
            continue;
        if (zone != watched->zone)
            give_zone(watch, watched, zone);
        cron_zone_unref(zone);
    }
    pthread_mutex_unlock(&watch->lock);
}

bool cron_watch_next(struct cron_watch *watch, int64_t *ret_at) {
    bool found;

    pthread_mutex_lock(&watch->lock);
    found = watch->begun && !watch->restored && watch->count > 0 &&
            watch->heap[0]->next != AT_NEVER;
    if (found)
        *ret_at = watch->heap[0]->next;
    pthread_mutex_unlock(&watch->lock);
    return found;
}
