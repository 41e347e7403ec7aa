/* Schedules in memory. */
#include "store/memory.h"

#include <stdlib.h>

static struct memory *of(struct rows *rows) {
    return (struct memory *)(void *)rows;
}

static struct store_schedule *copy(const struct store_schedule *schedule,
                                   struct arena *arena) {
    struct store_schedule *own = arena_alloc(arena, sizeof(*own));
    *own = *schedule;
    own->name = arena_span(arena, schedule->name);
    own->spec = arena_span(arena, schedule->spec);
    own->origin = arena_span(arena, schedule->origin);
    return own;
}

bool memory_schedule_get(struct rows *rows, struct span name,
                         struct arena *arena,
                         struct store_schedule *ret_schedule, bool *ret_found,
                         struct err *err) {
    const struct store_schedule *found = map_get(&of(rows)->schedules, name);
    (void)err;
    *ret_found = found != NULL;
    if (found)
        *ret_schedule = *copy(found, arena);
    return true;
}

/* What an atomic batch may have to put back. */
static void remember(struct memory *memory, struct span name) {
    if (!memory->saving)
        return;
    struct memory_undo *undo = arena_alloc(&memory->arena, sizeof(*undo));
    undo->name = arena_span(&memory->arena, name);
    undo->schedule = map_get(&memory->schedules, name);
    undo->next = memory->schedule_undo;
    memory->schedule_undo = undo;
}

bool memory_schedule_put(struct rows *rows,
                         const struct store_schedule *schedule,
                         struct err *err) {
    struct memory *memory = of(rows);
    (void)err;
    remember(memory, schedule->name);
    map_put(&memory->schedules, schedule->name, copy(schedule, &memory->arena));
    return true;
}

bool memory_schedule_remove(struct rows *rows, struct span name,
                            struct err *err) {
    struct memory *memory = of(rows);
    (void)err;
    remember(memory, name);
    map_remove(&memory->schedules, name);
    memory_schedule_forget(memory, name);
    return true;
}

void memory_schedules_undo(struct memory *memory) {
    const struct memory_undo *undo;
    while ((undo = memory->schedule_undo) != NULL) {
        memory->schedule_undo = undo->next;
        if (undo->schedule)
            map_put(&memory->schedules, undo->name, undo->schedule);
        else
            map_remove(&memory->schedules, undo->name);
    }
}

bool memory_schedule(struct store *store, struct span name, struct arena *arena,
                     struct store_schedule *ret_schedule, bool *ret_found,
                     struct err *err) {
    return memory_schedule_get((struct rows *)(void *)memory_of(store), name,
                               arena, ret_schedule, ret_found, err);
}

static int by_name(const void *a, const void *b) {
    const struct store_schedule *x = a, *y = b;
    return span_compare(x->name, y->name);
}

bool memory_schedules(struct store *store, struct span after, size_t limit,
                      struct arena *arena,
                      struct store_schedule **ret_schedules, size_t *ret_count,
                      struct err *err) {
    struct memory *memory = memory_of(store);
    size_t cursor = 0, count = 0;
    struct span name;
    void *value;
    (void)err;
    struct store_schedule *found =
        arena_alloc(arena, (map_count(&memory->schedules) + 1) * sizeof *found);
    while (map_next(&memory->schedules, &cursor, &name, &value))
        if (span_compare(name, after) > 0)
            found[count++] = *copy(value, arena);
    qsort(found, count, sizeof *found, by_name);
    *ret_schedules = found;
    *ret_count = limit && count > limit ? limit : count;
    return true;
}
