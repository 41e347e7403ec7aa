/* The memory backend: for the simulator, and as a model of what the SQLite
 * backend must do. store_turn commits what was submitted, in order. */
#include "store/memory.h"
#include "store/schema.h"
#include "store/simulated.h"

#include <stdlib.h>

static void backend_submit(struct store *store, struct store_batch *batch) {
    struct memory *memory = memory_of(store);
    list_push(&memory->queued, &batch->link);
    memory->under_way++;
}

static void commit_one(struct memory *memory, struct store_batch *batch) {
    apply_begin(&memory->apply, &memory->head);
    batch->ok = apply_batch(&memory->apply, batch, &batch->err) &&
                apply_flush(&memory->apply, &batch->err);
    memory->head = memory->apply.head;
}

static void backend_commit(struct store *store, bool wait) {
    struct memory *memory = memory_of(store);
    struct list *link;
    (void)wait; /* everything is done at once */
    while ((link = list_pop(&memory->queued)) != NULL) {
        commit_one(memory, LIST_OF(link, struct store_batch, link));
        list_push(&memory->answered, link);
    }
}

static struct store_batch *backend_take(struct store *store) {
    struct memory *memory = memory_of(store);
    struct list *link = list_pop(&memory->answered);
    if (!link)
        return NULL;
    memory->under_way--;
    return LIST_OF(link, struct store_batch, link);
}

static bool backend_is_idle(struct store *store) {
    return memory_of(store)->under_way == 0;
}

static bool backend_changed(struct store *store, bool *ret_changed,
                            struct err *err) {
    (void)store, (void)err;
    *ret_changed = false; /* there are no other processes */
    return true;
}

static uint64_t backend_own_first_seq(struct store *store) {
    LIST_EACH (&memory_of(store)->answered, link) {
        struct store_batch *batch = LIST_OF(link, struct store_batch, link);
        if (batch->ok && batch->event_count > 0)
            return batch->events[0].seq;
    }
    return UINT64_MAX;
}

static bool backend_last_seq(struct store *store, uint64_t *ret_seq,
                             struct err *err) {
    (void)err;
    *ret_seq = memory_of(store)->head.seq;
    return true;
}

static bool backend_count(struct store *store, struct store_tally *ret_tally,
                          struct err *err) {
    (void)err;
    *ret_tally = memory_of(store)->head.tally;
    return true;
}

static bool backend_backup(struct store *store, const char *path,
                           struct err *err) {
    (void)store;
    return err_set(err, ERR_CANNOT,
                   "cannot back up to '%s': this registry is in memory only",
                   path);
}

static int backend_version(struct store *store) {
    (void)store;
    return store_last_step();
}

static void drop_all(struct memory *memory, struct list *batches) {
    struct list *link;
    while ((link = list_pop(batches)) != NULL) {
        store_batch_free(LIST_OF(link, struct store_batch, link));
        memory->under_way--;
    }
}

static void backend_close(struct store *store) {
    struct memory *memory = memory_of(store);
    drop_all(memory, &memory->queued);
    drop_all(memory, &memory->answered);
    apply_clear(&memory->apply);
    map_clear(&memory->by_id);
    map_clear(&memory->settings);
    map_clear(&memory->leases);
    free(memory->jobs);
    free(memory->events);
    free(memory->touched);
    free(memory->changes);
    arena_clear(&memory->arena);
    free(memory);
}

static void backend_overtake(struct store *store) {
    store_overtake(&memory_of(store)->queued);
}

static void backend_crash(struct store *store) {
    struct memory *memory = memory_of(store);
    drop_all(memory, &memory->queued);
    drop_all(memory, &memory->answered);
    store_forget(store, memory->head.seq);
}

static const struct store_backend memory_backend = {
    .close = backend_close,
    .submit = backend_submit,
    .commit = backend_commit,
    .take = backend_take,
    .is_idle = backend_is_idle,
    .overtake = backend_overtake,
    .crash = backend_crash,
    .changed = backend_changed,
    .own_first_seq = backend_own_first_seq,
    .last_seq = backend_last_seq,
    .by_num = memory_by_num,
    .by_id = memory_by_id,
    .last = memory_last,
    .ids = memory_ids,
    .jobs = memory_jobs,
    .ready = memory_ready,
    .edges_from = memory_edges_from,
    .edges_to = memory_edges_to,
    .touches = memory_touches,
    .touching = memory_touching,
    .attempts = memory_attempts,
    .attempts_latest = memory_attempts_latest,
    .attempt_find = memory_attempt_find,
    .tasks = memory_tasks,
    .task_find = memory_task_find,
    .task_counts = memory_task_counts,
    .tasks_ended = memory_tasks_ended,
    .events = memory_events,
    .rollback = memory_rollback,
    .setting = memory_setting,
    .settings = memory_settings,
    .count = backend_count,
    .verify = memory_verify,
    .backup = backend_backup,
    .version = backend_version,
};

struct store *store_memory_new(void) {
    struct memory *memory = mem_alloc(sizeof(*memory));
    store_init(&memory->store, &memory_backend, 0);
    list_init(&memory->queued);
    list_init(&memory->answered);
    list_init(&memory->live);
    apply_init(&memory->apply, &memory_rows, (struct rows *)(void *)memory);
    return &memory->store;
}
