/* The jobs of schedules that live: they forbid the next firing, are replaced by
 * it, or wait too long. */
#include "schedules/clockwork_inner.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/log.h"

#define REPLACED "its schedule fired again"

struct span num_key_of(const uint64_t *num) {
    return span_make(num, sizeof(*num));
}

static bool waits(enum job_state state) {
    return (STATES_WAITING & STATE_BIT(state)) != 0;
}

void live_add(struct clockwork *clockwork, struct entry *entry, uint64_t num,
              enum job_state state, int64_t deadline_s) {
    if (map_get(&clockwork->jobs, num_key_of(&num)))
        return;
    struct live *live = mem_alloc(sizeof(*live));
    *live = (struct live){
        .entry = entry, .num = num, .state = state, .deadline_s = deadline_s};
    list_push(&entry->jobs, &live->of_entry);
    map_put(&clockwork->jobs, num_key_of(&live->num), live);
    if (deadline_s > 0 && waits(state))
        heap_push(&clockwork->deadlines, live);
    if (entry->timed)
        timed_live(entry->timed, 1);
}

void live_drop(struct clockwork *clockwork, struct live *live) {
    if (live->entry->timed)
        timed_live(live->entry->timed, -1);
    heap_remove(&clockwork->deadlines, live);
    list_remove(&live->of_entry);
    map_remove(&clockwork->jobs, num_key_of(&live->num));
    free(live);
}

/* ---- taking back --------------------------------------------------------- */

static void take_back(struct store_batch *batch, const struct live *live,
                      struct span reason, struct span detail) {
    if (live->state == STATE_EXECUTING) {
        store_ask_cancel(batch, live->num, false, detail);
        return;
    }
    store_move(batch, &(struct store_move){.num = live->num,
                                           .from = live->state,
                                           .to = STATE_TERMINATED,
                                           .reason = reason,
                                           .detail = detail});
}

static struct store_batch *batch_of(struct clockwork *clockwork,
                                    const struct entry *entry) {
    struct store_batch *batch = store_batch_new(clockwork->store);
    char actor[STORE_SCHEDULE_NAME_BYTES + 16];
    snprintf(actor, sizeof(actor), "schedule:%s", entry->name);
    store_batch_actor(batch, clockwork->now, span_of(actor));
    return batch;
}

/* What was to be replaced and has moved on meanwhile is asked again. */
void live_moved(struct clockwork *clockwork, const struct store_event *event) {
    struct live *live = map_get(&clockwork->jobs, num_key_of(&event->num));
    if (!live)
        return;
    live->state = event->to;
    if (job_state_is_final(event->to)) {
        live_drop(clockwork, live);
        return;
    }
    if (!waits(event->to))
        heap_remove(&clockwork->deadlines, live); /* it has started */
    if (!live->replaced)
        return;
    struct store_batch *batch = batch_of(clockwork, live->entry);
    take_back(batch, live, SPAN("operator"), SPAN(REPLACED));
    clockwork_submit(clockwork, batch);
}

void entry_replace(struct clockwork *clockwork, struct entry *entry,
                   uint64_t before_num) {
    struct store_batch *batch = batch_of(clockwork, entry);
    LIST_EACH (&entry->jobs, link) {
        struct live *live = LIST_OF(link, struct live, of_entry);
        if (live->replaced || live->num >= before_num)
            continue;
        take_back(batch, live, SPAN("operator"), SPAN(REPLACED));
        live->replaced = true;
    }
    clockwork_submit(clockwork, batch);
}

/* ---- former lives -------------------------------------------------------- */

/* What the id of a firing says: NAME.INSTANT. */
static bool is_firing(const struct entry *entry, const struct job *job) {
    size_t len = strlen(entry->name);
    return job->id.len > len && job->id.p[len] == '.' &&
           memcmp(job->id.p, entry->name, len) == 0;
}

static void look_at(struct clockwork *clockwork, struct entry *entry,
                    const struct job *job) {
    int64_t deadline_s =
        entry->timed ? timed_rule(entry->timed)->deadline_s : 0;
    if (deadline_s > 0)
        deadline_s += wall_s(job->admitted);
    live_add(clockwork, entry, job->num, job->state, deadline_s);
    if (job->cancel_asked) {
        struct live *live = map_get(&clockwork->jobs, num_key_of(&job->num));
        live->replaced = true;
    }
}

/* A crash may have come between a firing and the end of those it replaces. */
static void replace_older(struct clockwork *clockwork, struct entry *entry,
                          const struct job *job) {
    if (timed_rule(entry->timed)->overlap == OVERLAP_REPLACE &&
        is_firing(entry, job) && !list_empty(&entry->jobs))
        entry_replace(clockwork, entry, job->num);
}

/* All that live count: for who forbids or replaces, and for the deadline; in
 * their order, since the newer replaces the older. */
void entry_recall(struct clockwork *clockwork, struct entry *entry) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job *jobs;
    size_t count;
    struct err err = {0};
    if (entry->looked || !entry->timed)
        return;
    const struct timed_rule *rule = timed_rule(entry->timed);
    entry->looked = true;
    if (rule->deadline_s == 0 &&
        (rule->overlap == OVERLAP_ALLOW || rule->overlap == OVERLAP_QUEUE))
        return;
    if (!store_schedule_jobs(clockwork->store, span_of(entry->name), &arena,
                             &jobs, &count, &err)) {
        log_error("cannot read what lives of schedule '%s': %s", entry->name,
                  err.text);
        entry->looked = false;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        replace_older(clockwork, entry, &jobs[i]);
        look_at(clockwork, entry, &jobs[i]);
    }
}

/* ---- in time ------------------------------------------------------------- */

void deadlines_turn(struct clockwork *clockwork) {
    struct live *live;
    while ((live = heap_first(&clockwork->deadlines)) != NULL &&
           live->deadline_s < wall_s(clockwork->now)) {
        struct store_batch *batch = batch_of(clockwork, live->entry);
        heap_pop(&clockwork->deadlines);
        if (waits(live->state))
            take_back(batch, live, SPAN("deadline"),
                      SPAN("not started in time; see the deadline of its "
                           "schedule"));
        clockwork_submit(clockwork, batch);
    }
}
