#include <inttypes.h>
#include <stdlib.h>

#include "lib/log.h"
#include "scheduler/scheduler_inner.h"

/* Waiting cards save a read when a job is picked; more than this many would
 * only cost memory. */
enum { CARDS_WAITING = 8192 };

struct span num_key(const uint64_t *num) {
    return span_make(num, sizeof(*num));
}

void log_read_failure(const char *what, uint64_t num, const struct err *err) {
    log_error("cannot read %s of job %" PRIu64 ": %s", what, num, err->text);
}

struct card *card_get(struct scheduler *scheduler, uint64_t num) {
    return map_get(&scheduler->cards, num_key(&num));
}

static struct span copy_span(char **at, struct span span) {
    struct span copy = {*at, span.len};
    if (span.len)
        memcpy(*at, span.p, span.len);
    (*at)[span.len] = '\0';
    *at += span.len + 1;
    return copy;
}

/* One block a card: the struct, then the bytes of its spans. */
static struct card *card_new(const struct job *job) {
    const struct span *spans[] = {
        &job->id,    &job->key,   &job->rank, &job->target, &job->name,
        &job->actor, &job->cause, &job->sum,  &job->spec,
    };
    size_t bytes = 0;
    for (size_t i = 0; i < COUNT(spans); i++)
        bytes += spans[i]->len + 1;
    struct card *card = mem_alloc(sizeof(*card) + bytes);
    char *at = (char *)(card + 1);
    card->num = job->num;
    card->job = *job;
    card->job.reason = card->job.detail = (struct span){0};
    card->job.id = copy_span(&at, job->id);
    card->job.key = copy_span(&at, job->key);
    card->job.rank = copy_span(&at, job->rank);
    card->job.target = copy_span(&at, job->target);
    card->job.name = copy_span(&at, job->name);
    card->job.actor = copy_span(&at, job->actor);
    card->job.cause = copy_span(&at, job->cause);
    card->job.sum = copy_span(&at, job->sum);
    card->job.spec = copy_span(&at, job->spec);
    list_init(&card->link);
    return card;
}

struct card *card_keep(struct scheduler *scheduler, const struct job *job) {
    struct card *old = card_get(scheduler, job->num);
    if (old && old->executing)
        return old;
    struct card *card = card_new(job);
    if (old)
        card_drop(scheduler, old);
    map_put(&scheduler->cards, num_key(&card->num), card);
    list_push(&scheduler->waiting, &card->link);
    if (++scheduler->waiting_count > CARDS_WAITING)
        card_drop(scheduler,
                  LIST_OF(scheduler->waiting.next, struct card, link));
    return card;
}

struct card *card_pending(struct scheduler *scheduler, uint64_t num) {
    struct card *card = card_get(scheduler, num);
    if (card && card->job.spec.len > 0)
        return card;
    struct arena arena = ARENA_INIT;
    struct job job;
    struct err err;
    card = NULL;
    if (!store_job(scheduler->store, num, &arena, &job, &err))
        log_read_failure("the row", num, &err);
    else if (job.state == STATE_PENDING && job.holds == 0)
        card = card_keep(scheduler, &job);
    arena_clear(&arena);
    return card;
}

void card_execute(struct scheduler *scheduler, struct card *card) {
    if (card->executing)
        return;
    card->executing = true;
    list_remove(&card->link);
    scheduler->waiting_count--;
}

void card_drop(struct scheduler *scheduler, struct card *card) {
    if (!card->executing)
        scheduler->waiting_count--;
    map_remove(&scheduler->cards, num_key(&card->num));
    list_remove(&card->link);
    array_free(card->array);
    free(card);
}

void cards_clear(struct scheduler *scheduler) {
    size_t cursor = 0;
    void *value;
    struct span key;
    while (map_next(&scheduler->cards, &cursor, &key, &value)) {
        struct card *card = value;
        array_free(card->array);
        free(card);
    }
    map_clear(&scheduler->cards);
}

void offer_job(struct scheduler *scheduler, const struct job *job) {
    if (!(scheduler->options.parts & SCHEDULER_STARTS))
        return;
    due_expect(scheduler, job->not_before);
    if (job->holds != 0 || !group_may_offer(scheduler, job->num))
        return;
    struct schedule_job offer = {
        .num = job->num,
        .rank = job->rank.len ? job->rank : job->key,
        .job_class = job->job_class,
        .target = job_is_rollback(job) ? rollback_lane : job->target,
        .admitted = job->admitted,
        .not_before = job->not_before,
    };
    schedule_offer(scheduler->schedule, &offer, scheduler->now);
    if (job_is_rollback(job))
        rollback_offer(scheduler, job);
    card_keep(scheduler, job); /* frees an old card, which may hold `job` */
}

void offer_num(struct scheduler *scheduler, uint64_t num) {
    struct arena arena = ARENA_INIT;
    struct job job;
    struct err err;
    if (!store_job(scheduler->store, num, &arena, &job, &err))
        log_read_failure("the row", num, &err);
    else if (job.state == STATE_PENDING)
        offer_job(scheduler, &job);
    arena_clear(&arena);
}
