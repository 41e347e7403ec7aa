/* The live jobs of schedules: they forbid the next firing, are replaced by it,
 * or wait too long. */
#include "schedules/schedule_driver_inner.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/log.h"
#include "core/reason.h"

#define REPLACED "its schedule fired again"

static bool waits(enum job_state state) {
    return (STATES_WAITING & STATE_BIT(state)) != 0;
}

void schedule_job_add(struct schedule_driver *driver,
                      struct schedule_entry *entry, uint64_t num,
                      enum job_state state, int64_t deadline_s) {
    if (map_get(&driver->jobs, map_num_key(&num)))
        return;
    struct schedule_live_job *live = mem_alloc(sizeof(*live));
    *live = (struct schedule_live_job){
        .entry = entry, .num = num, .state = state, .deadline_s = deadline_s};
    list_push(&entry->jobs, &live->of_entry);
    map_put(&driver->jobs, map_num_key(&live->num), live);
    if (deadline_s > 0 && waits(state))
        heap_push(&driver->deadlines, live);
    if (entry->schedule)
        schedule_add_live(entry->schedule, 1);
}

void schedule_job_drop(struct schedule_driver *driver,
                       struct schedule_live_job *live) {
    if (live->entry->schedule)
        schedule_add_live(live->entry->schedule, -1);
    heap_remove(&driver->deadlines, live);
    list_remove(&live->of_entry);
    map_remove(&driver->jobs, map_num_key(&live->num));
    free(live);
}

/* ---- cancelling ---------------------------------------------------------- */

static void withdraw_job(struct store_batch *batch,
                         const struct schedule_live_job *live,
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

static struct store_batch *batch_of(struct schedule_driver *driver,
                                    const struct schedule_entry *entry) {
    struct store_batch *batch = store_batch_new(driver->store);
    char actor[SCHEDULE_NAME_BYTES + 16];
    snprintf(actor, sizeof(actor), "schedule:%s", entry->name);
    store_batch_actor(batch, driver->now, span_of(actor));
    return batch;
}

/* A job that was to be replaced and has moved on meanwhile is asked again. */
void schedule_job_moved(struct schedule_driver *driver,
                        const struct store_event *event) {
    struct schedule_live_job *live =
        map_get(&driver->jobs, map_num_key(&event->num));
    if (!live)
        return;
    live->state = event->to;
    if (job_state_is_final(event->to)) {
        schedule_job_drop(driver, live);
        return;
    }
    if (!waits(event->to))
        heap_remove(&driver->deadlines, live); /* it has started */
    if (!live->replaced)
        return;
    struct store_batch *batch = batch_of(driver, live->entry);
    withdraw_job(batch, live, SPAN(REASON_OPERATOR), SPAN(REPLACED));
    schedule_driver_submit(driver, batch);
}

void schedule_entry_replace(struct schedule_driver *driver,
                            struct schedule_entry *entry, uint64_t before_num) {
    struct store_batch *batch = batch_of(driver, entry);
    LIST_EACH (&entry->jobs, link) {
        struct schedule_live_job *live =
            LIST_OF(link, struct schedule_live_job, of_entry);
        if (live->replaced || live->num >= before_num)
            continue;
        withdraw_job(batch, live, SPAN(REASON_OPERATOR), SPAN(REPLACED));
        live->replaced = true;
    }
    schedule_driver_submit(driver, batch);
}

/* ---- jobs from before the start ------------------------------------------ */

/* True if the id is that of a firing: NAME.INSTANT. */
static bool is_firing(const struct schedule_entry *entry,
                      const struct job *job) {
    size_t len = strlen(entry->name);
    return job->id.len > len && job->id.p[len] == '.' &&
           memcmp(job->id.p, entry->name, len) == 0;
}

static void look_at(struct schedule_driver *driver,
                    struct schedule_entry *entry, const struct job *job) {
    int64_t deadline_s =
        entry->schedule ? schedule_rule(entry->schedule)->deadline_s : 0;
    if (deadline_s > 0)
        deadline_s += wall_s(job->admitted);
    schedule_job_add(driver, entry, job->num, job->state, deadline_s);
    if (job->cancel_asked) {
        struct schedule_live_job *live =
            map_get(&driver->jobs, map_num_key(&job->num));
        live->replaced = true;
    }
}

/* A crash may have come between a firing and the cancelling of older jobs. The
 * job of a missed instant replaces nothing. */
static void replace_older(struct schedule_driver *driver,
                          struct schedule_entry *entry, const struct job *job) {
    if (schedule_rule(entry->schedule)->overlap == OVERLAP_REPLACE &&
        is_firing(entry, job) && !span_ends(job->cause, CAUSE_LATE) &&
        !list_empty(&entry->jobs))
        schedule_entry_replace(driver, entry, job->num);
}

/* All live jobs count, for overlap and for the deadline; they are read in
 * order, since the newer replaces the older. */
void schedule_entry_recall(struct schedule_driver *driver,
                           struct schedule_entry *entry) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job *jobs;
    size_t count;
    struct err err = {0};
    if (entry->looked || !entry->schedule)
        return;
    const struct schedule_rule *rule = schedule_rule(entry->schedule);
    entry->looked = true;
    if (rule->deadline_s == 0 &&
        (rule->overlap == OVERLAP_ALLOW || rule->overlap == OVERLAP_QUEUE))
        return;
    if (!schedule_row_jobs(driver->store, span_of(entry->name), &arena, &jobs,
                           &count, &err)) {
        log_error("cannot read the live jobs of schedule '%s': %s", entry->name,
                  err.text);
        entry->looked = false;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        replace_older(driver, entry, &jobs[i]);
        look_at(driver, entry, &jobs[i]);
    }
}

/* ---- deadlines ----------------------------------------------------------- */

void schedule_deadlines_turn(struct schedule_driver *driver) {
    struct schedule_live_job *live;
    while ((live = heap_first(&driver->deadlines)) != NULL &&
           live->deadline_s < wall_s(driver->now)) {
        struct store_batch *batch = batch_of(driver, live->entry);
        heap_pop(&driver->deadlines);
        if (waits(live->state))
            withdraw_job(batch, live, SPAN("deadline"),
                         SPAN("not started in time; see the deadline of its "
                              "schedule"));
        schedule_driver_submit(driver, batch);
    }
}
