/* Zones by name. A table under a lock; the reference count of a found zone
 * is raised before the lock is released, so that a search continues with the
 * zone it began with while the table already holds a newer one. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cron/name_hash.h"
#include "cron/zone.h"
#include "cron/zone_file.h"

enum { INTERVAL_S = 60, SLOTS_LEAST = 64, REFUSED_MOST = 1024 };

/* A name and its zone. An unknown name is remembered too, since a suggestion
 * of the name that was perhaps meant reads the whole database. */
struct entry {
    struct entry *next;
    struct cron_zone *zone; /* NULL: `err` holds the reason */
    struct cron_err *err;
    char *path; /* NULL: no file */
    struct file_stamp stamp;
    uint64_t hash;
    char name[];
};

struct cron_zones {
    pthread_mutex_t lock;
    struct entry **slots;
    struct name_secret secret;
    size_t slot_count, count, refused;
    int64_t interval_s, looked_s;
    bool looked;
};

static void entry_free(struct entry *entry) {
    cron_zone_unref(entry->zone);
    free(entry->err);
    free(entry->path);
    free(entry);
}

struct cron_zones *cron_zones_new(int64_t interval_s) {
    struct cron_zones *zones = calloc(1, sizeof(*zones));

    if (zones == NULL)
        return NULL;
    zones->slots = calloc(SLOTS_LEAST, sizeof(struct entry *));
    if (zones->slots == NULL) {
        free(zones);
        return NULL;
    }
    zones->slot_count = SLOTS_LEAST;
    zones->secret = name_secret_draw();
    zones->interval_s = interval_s <= 0 ? INTERVAL_S : interval_s;
    pthread_mutex_init(&zones->lock, NULL);
    return zones;
}

void cron_zones_free(struct cron_zones *zones) {
    if (zones == NULL)
        return;
    for (size_t i = 0; i < zones->slot_count; i++)
        while (zones->slots[i] != NULL) {
            struct entry *entry = zones->slots[i];
            zones->slots[i] = entry->next;
            entry_free(entry);
        }
    pthread_mutex_destroy(&zones->lock);
    free(zones->slots);
    free(zones);
}

static struct entry **slot_of(const struct cron_zones *zones, uint64_t hash) {
    return &zones->slots[hash & (zones->slot_count - 1)];
}

static struct entry *find(const struct cron_zones *zones, const char *name,
                          uint64_t hash) {
    struct entry *entry = *slot_of(zones, hash);

    while (entry != NULL &&
           (entry->hash != hash || strcmp(entry->name, name) != 0))
        entry = entry->next;
    return entry;
}

/* Without memory for more slots the table only becomes slower. */
static void grow(struct cron_zones *zones) {
    size_t count = zones->slot_count * 2;
    struct entry **old = zones->slots, **slots;

    if (zones->count < zones->slot_count)
        return;
    slots = calloc(count, sizeof(struct entry *));
    if (slots == NULL)
        return;
    zones->slots = slots;
    for (size_t i = 0; i < zones->slot_count; i++)
        while (old[i] != NULL) {
            struct entry *entry = old[i];
            old[i] = entry->next;
            entry->next = slots[entry->hash & (count - 1)];
            slots[entry->hash & (count - 1)] = entry;
        }
    zones->slot_count = count;
    free(old);
}

/* Reads the current meaning of the entry's name. False: no memory. */
static bool load(struct entry *entry) {
    char path[ZONE_PATH_BYTES];
    struct cron_err err = {0};
    struct cron_zone *zone = NULL;

    if (!zone_file_open(entry->name, &zone, path, &entry->stamp, &err)) {
        if (err.kind == CRON_ERR_SYSTEM)
            path[0] = '\0';
        entry->err = malloc(sizeof(err));
        if (entry->err == NULL)
            return false;
        *entry->err = err;
        return true;
    }
    entry->zone = zone;
    if (path[0] != '\0') {
        entry->path = strdup(path);
        return entry->path != NULL;
    }
    return true;
}

static void insert(struct cron_zones *zones, struct entry *entry) {
    struct entry **slot;

    grow(zones);
    slot = slot_of(zones, entry->hash);
    entry->next = *slot;
    *slot = entry;
    zones->count++;
    zones->refused += entry->zone == NULL;
}

static bool answer(const struct entry *entry, struct cron_zone **ret_zone,
                   struct cron_err *err) {
    if (entry->zone == NULL) {
        if (err != NULL)
            *err = *entry->err;
        return false;
    }
    *ret_zone = cron_zone_ref(entry->zone);
    return true;
}

static bool find_new(struct cron_zones *zones, const char *name, uint64_t hash,
                     struct cron_zone **ret_zone, struct cron_err *err) {
    size_t bytes = strlen(name) + 1;
    struct entry *entry = calloc(1, sizeof(*entry) + bytes);
    bool ok;

    if (entry == NULL)
        return fault_memory(err);
    entry->hash = hash;
    memcpy(entry->name, name, bytes);
    if (!load(entry)) {
        entry_free(entry);
        return fault_memory(err);
    }
    ok = answer(entry, ret_zone, err);
    /* Unknown names from untrusted callers must not fill the memory. */
    if (entry->zone == NULL && zones->refused >= REFUSED_MOST)
        entry_free(entry);
    else
        insert(zones, entry);
    return ok;
}

bool cron_zones_find(struct cron_zones *zones, const char *name,
                     struct cron_zone **ret_zone, struct cron_err *err) {
    const char *wanted = name == NULL ? "" : name;
    uint64_t hash = name_hash(&zones->secret, wanted);
    struct entry *entry;
    bool ok;

    pthread_mutex_lock(&zones->lock);
    entry = find(zones, wanted, hash);
    ok = entry != NULL ? answer(entry, ret_zone, err)
                       : find_new(zones, wanted, hash, ret_zone, err);
    pthread_mutex_unlock(&zones->lock);
    return ok;
}

/* ---- what changed -------------------------------------------------------- */

static bool same_file(const struct file_stamp *a, const struct file_stamp *b) {
    return a->dev == b->dev && a->ino == b->ino && a->bytes == b->bytes &&
           a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec;
}

/* The system's zone may move to another place ($TZ); other names keep
 * theirs. True: the name now means another zone. */
static bool reload(struct entry *entry) {
    struct cron_zone *zone = entry->zone;
    struct file_stamp stamp, old_stamp = entry->stamp;
    char *path = entry->path;
    bool moved;

    if (entry->name[0] != '\0' &&
        (path == NULL ||
         (zone_file_stamp(path, &stamp) && same_file(&stamp, &old_stamp))))
        return false;
    entry->zone = NULL;
    entry->path = NULL;
    if (!load(entry) || entry->zone == NULL) {
        cron_zone_unref(entry->zone);
        free(entry->err);
        free(entry->path);
        entry->zone = zone;
        entry->err = NULL;
        entry->path = path;
        entry->stamp = old_stamp;
        return false;
    }
    moved = !zone_equal(zone, entry->zone);
    cron_zone_unref(zone);
    free(path);
    return moved;
}

/* Unknown names are forgotten, and looked up again when needed. */
static size_t reload_slot(struct cron_zones *zones, struct entry **place) {
    size_t changed = 0;

    while (*place != NULL) {
        struct entry *entry = *place;
        if (entry->zone != NULL) {
            changed += reload(entry);
            place = &entry->next;
            continue;
        }
        *place = entry->next;
        entry_free(entry);
        zones->count--;
        zones->refused--;
    }
    return changed;
}

size_t cron_zones_refresh(struct cron_zones *zones, int64_t monotonic_s) {
    size_t changed = 0;

    pthread_mutex_lock(&zones->lock);
    if (!zones->looked || monotonic_s - zones->looked_s >= zones->interval_s ||
        monotonic_s < zones->looked_s) {
        zones->looked = true;
        zones->looked_s = monotonic_s;
        for (size_t i = 0; i < zones->slot_count; i++)
            changed += reload_slot(zones, &zones->slots[i]);
    }
    pthread_mutex_unlock(&zones->lock);
    return changed;
}
