#include "bench/waiting.h"

#include <inttypes.h>
#include <stdio.h>

#include "bench/figure.h"
#include "os/clock.h"

enum { BATCH = 10000 };

static struct store_batch *batch_new(struct store *store) {
    struct store_batch *batch = store_batch_new(store);
    store_batch_actor(batch, clock_wall(), SPAN("uid:1000"));
    return batch;
}

static void write_all(struct store_batch *batch) {
    struct err err;
    if (!store_write(batch, &err))
        bench_die("%s", err.text);
    for (unsigned i = 0; i < store_batch_count(batch); i++)
        if (store_batch_result(batch, i) != STORE_DONE)
            bench_die("a job was not added");
    store_batch_free(batch);
}

static void add_command(struct store_batch *batch, uint64_t i,
                        struct span spec) {
    char id[32], key[48];
    snprintf(id, sizeof(id), "j%016" PRIx64, i * UINT64_C(0x9e3779b97f4a7c15));
    snprintf(key, sizeof(key), "4@40000000%016" PRIx64, i);
    struct job job = {
        .id = span_of(id),
        .kind = JOB_COMMAND,
        .job_class = CLASS_DC,
        .state = STATE_PENDING,
        .key = span_of(key),
        .actor = SPAN("uid:1000"),
        .cause = SPAN("person"),
        .spec = spec,
        .uid = 1000,
    };
    store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
}

void waiting_add_commands(struct store *store, uint64_t from, uint64_t to,
                          struct span spec) {
    while (from < to) {
        struct store_batch *batch = batch_new(store);
        for (int i = 0; i < BATCH && from < to; i++)
            add_command(batch, ++from, spec);
        write_all(batch);
    }
}

static void add_set(struct store_batch *batch, uint64_t i, const char *path) {
    char id[32], key[48];
    snprintf(id, sizeof(id), "C%" PRIu64, i);
    snprintf(key, sizeof(key), "4@40000000%016" PRIx64, i);
    struct job_touch touch = {.path = span_of(path)};
    struct job job = {
        .id = span_of(id),
        .kind = JOB_CHANGE,
        .job_class = CLASS_DC,
        .state = STATE_QUEUED,
        .key = span_of(key),
        .target = SPAN("main"),
        .name = span_of(id),
        .actor = SPAN("uid:1000"),
        .cause = SPAN("person"),
        .uid = 1000,
    };
    store_admit(batch, &job, NULL, 0, &touch, 1, NULL, 0);
}

void waiting_add_sets(struct store *store, uint64_t count, const char *path) {
    for (uint64_t i = 0; i < count;) {
        struct store_batch *batch = batch_new(store);
        for (int k = 0; k < BATCH && i < count; k++)
            add_set(batch, ++i, path);
        write_all(batch);
    }
}
