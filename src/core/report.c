#include "core/report.h"

#include <stdlib.h>

#include "lib/map.h"

enum { DAY_BYTES = 10 };

struct series {
    int64_t *p;
    size_t count, cap;
};

struct bucket {
    struct report_group group;
    struct series waits, runs;
    struct map failures; /* to struct report_failure */
};

struct report {
    struct report_by by;
    struct arena arena;
    struct map buckets; /* to struct bucket */
};

/* A clock that was set back makes no negative times. */
static int64_t ms_between(struct wall from, struct wall to) {
    int64_t ms = wall_ms_since(to, from);
    return ms > 0 ? ms : 0;
}

void report_sample_attempt(struct report_sample *sample, struct wall started,
                           struct wall ended) {
    if (started.ns == 0)
        return;
    int64_t wait_ms = ms_between(sample->admitted, started);
    if (sample->wait_ms < 0 || wait_ms < sample->wait_ms)
        sample->wait_ms = wait_ms;
    if (ended.ns == 0 || (ended.ns < sample->ended.ns && !sample->adds))
        return;
    int64_t before_ms = sample->adds && sample->run_ms > 0 ? sample->run_ms : 0;
    sample->ended = ended;
    sample->run_ms = before_ms + ms_between(started, ended);
}

struct report *report_new(const struct report_by *by) {
    struct report *report = mem_alloc(sizeof(*report));
    report->by = *by;
    return report;
}

void report_free(struct report *report) {
    size_t cursor = 0;
    void *value;
    if (!report)
        return;
    while (map_next(&report->buckets, &cursor, NULL, &value)) {
        struct bucket *bucket = value;
        free(bucket->waits.p);
        free(bucket->runs.p);
        map_clear(&bucket->failures);
    }
    map_clear(&report->buckets);
    arena_clear(&report->arena);
    free(report);
}

static void series_add(struct series *series, int64_t value) {
    if (value < 0)
        return;
    if (series->count == series->cap) {
        series->cap = series->cap ? series->cap * 2 : 16;
        series->p = mem_grow(series->p, series->cap, sizeof(*series->p));
    }
    series->p[series->count++] = value;
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The smallest value that this percentage of samples does not exceed. */
static int64_t percentile(struct series *series, unsigned percent) {
    if (series->count == 0)
        return -1;
    qsort(series->p, series->count, sizeof(*series->p), by_value);
    size_t rank = (series->count * percent + 99) / 100;
    return series->p[rank > 0 ? rank - 1 : 0];
}

static struct bucket *bucket_of(struct report *report,
                                const struct report_sample *sample) {
    CLEANUP(text_clear) struct text key = TEXT_INIT;
    char when[WALL_TEXT_BYTES];
    struct report_group group = {0};
    if (report->by.day)
        group.day = span_make(wall_format(sample->admitted, when), DAY_BYTES);
    if (report->by.job_class)
        group.job_class = span_of(job_class_word(sample->job_class));
    if (report->by.target)
        group.target = sample->target;
    text_addspan(&key, group.day);
    text_addc(&key, '\n');
    /* Sorts by urgency, not alphabetically. */
    text_addc(&key,
              (char)('0' + (int)sample->job_class * (int)report->by.job_class));
    text_addc(&key, '\n');
    text_addspan(&key, group.target);
    struct bucket *bucket = map_get(&report->buckets, text_span(&key));
    if (bucket)
        return bucket;
    bucket = arena_alloc(&report->arena, sizeof(*bucket));
    bucket->group = group;
    bucket->group.day = arena_span(&report->arena, group.day);
    bucket->group.target = arena_span(&report->arena, group.target);
    map_put(&report->buckets, text_span(&key), bucket);
    return bucket;
}

static void failure_add(struct report *report, struct bucket *bucket,
                        struct span reason) {
    struct report_failure *failure = map_get(&bucket->failures, reason);
    if (!failure) {
        failure = arena_alloc(&report->arena, sizeof(*failure));
        failure->reason = arena_span(&report->arena, reason);
        map_put(&bucket->failures, reason, failure);
    }
    failure->count++;
}

void report_add(struct report *report, const struct report_sample *sample) {
    struct bucket *bucket = bucket_of(report, sample);
    bucket->group.jobs++;
    bucket->group.count[sample->state]++;
    bucket->group.rolled_back += sample->rolled_back;
    bucket->group.rollbacks += sample->rollback;
    bucket->group.rollbacks_empty += sample->rollback_empty;
    bucket->group.inverted += sample->inverted;
    bucket->group.owed += sample->owed;
    bucket->group.overdue += sample->overdue;
    bucket->group.cpu_us += sample->cpu_us;
    if (sample->peak_kib > bucket->group.peak_kib)
        bucket->group.peak_kib = sample->peak_kib;
    series_add(&bucket->waits, sample->wait_ms);
    series_add(&bucket->runs, sample->run_ms);
    if (sample->state == STATE_FAILED)
        failure_add(report, bucket, sample->reason);
}

static int most_frequent(const void *a, const void *b) {
    const struct report_failure *x = a, *y = b;
    if (x->count != y->count)
        return (x->count < y->count) - (x->count > y->count);
    return span_compare(x->reason, y->reason);
}

static void finish_failures(struct bucket *bucket, struct arena *arena) {
    size_t count = map_count(&bucket->failures), cursor = 0, at = 0;
    struct report_failure *failures =
        arena_alloc(arena, (count + 1) * sizeof(*failures));
    void *value;
    while (map_next(&bucket->failures, &cursor, NULL, &value))
        failures[at++] = *(const struct report_failure *)value;
    qsort(failures, count, sizeof(*failures), most_frequent);
    bucket->group.failures = failures;
    bucket->group.failure_count = count;
}

struct sorted {
    struct span key;
    struct bucket *bucket;
};

static int by_key(const void *a, const void *b) {
    return span_compare(((const struct sorted *)a)->key,
                        ((const struct sorted *)b)->key);
}

void report_finish(struct report *report, struct arena *arena,
                   struct report_group **ret_groups, size_t *ret_count) {
    size_t count = map_count(&report->buckets), cursor = 0, at = 0;
    struct sorted *sorted = arena_alloc(arena, (count + 1) * sizeof(*sorted));
    struct span key;
    void *value;
    while (map_next(&report->buckets, &cursor, &key, &value))
        sorted[at++] = (struct sorted){key, value};
    qsort(sorted, count, sizeof(*sorted), by_key);
    *ret_groups = arena_alloc(arena, (count + 1) * sizeof(**ret_groups));
    *ret_count = count;
    for (size_t i = 0; i < count; i++) {
        struct bucket *bucket = sorted[i].bucket;
        struct report_group *group = &bucket->group;
        group->wait_p50_ms = percentile(&bucket->waits, 50);
        group->wait_p95_ms = percentile(&bucket->waits, 95);
        group->run_p50_ms = percentile(&bucket->runs, 50);
        group->run_p95_ms = percentile(&bucket->runs, 95);
        finish_failures(bucket, arena);
        (*ret_groups)[i] = *group;
    }
}
