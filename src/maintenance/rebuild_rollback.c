/* Rollbacks of a rebuilt registry. The logs record which rollback put a set out
 * of effect and which sets were abandoned; for a finished rollback nothing else
 * is needed. A rollback that was under way may have reverted its members
 * although no log says so yet: its plan is computed again from relations, as
 * the first time, and the next start asks the target how it ended, as after any
 * crash. */
#include "core/reason.h"
#include "core/rollback.h"
#include "changes/facts.h"
#include "maintenance/rebuild_parts.h"
#include "scheduler/rollback_plan.h"

static const struct found_set *find_set(const struct rebuild *rebuild,
                                        struct span id) {
    return map_get(&rebuild->sets, id);
}

/* The marks that the end of a rollback sets are committed together with its own
 * last step. If that step was lost, so were the marks. */
static bool is_under_way(const struct rebuild *rebuild, struct span id) {
    const struct found_set *set = find_set(rebuild, id);
    return set && set->record.job.state == STATE_EXECUTING;
}

void rebuild_mark(struct rebuild *rebuild, struct found_set *set) {
    for (size_t i = 0; i < set->log.count; i++) {
        struct event_facts facts =
            facts_of(&set->log.events[i], &rebuild->arena);
        if (set->log.events[i].kind == EVENT_ROLLED_BACK &&
            !is_under_way(rebuild, facts.because))
            set->record.job.rolled_back_by = facts.rollback;
    }
}

void rebuild_take(struct rebuild *rebuild, struct found_set *set) {
    struct job *job = &set->record.job;
    if (job->state != STATE_ABANDONED || set->logged == STATE_ABANDONED)
        return;
    for (size_t i = 0; i < rebuild->count; i++) {
        const struct job *rb = &rebuild->order[i]->record.job;
        if (!job_has(rb, JOB_ROLLS_BACK) || rb->state != STATE_EXECUTING ||
            !span_equal(rb->target, job->target))
            continue;
        set->taken_by = rb->id;
        job->reason = SPAN(REASON_ROLLBACK);
        job->detail = rb->id;
    }
}

/* ---- plans --------------------------------------------------------------- */

struct plan {
    const struct found_set *rb;
    struct rollback_entry *entries;
    size_t count;
    struct wall begun;
};

static enum rollback_outcome outcome_of(const struct event_facts *facts,
                                        struct span rb) {
    if (span_equal(facts->rollback, rb))
        return ROLLBACK_REVERTED;
    if (!span_equal(facts->because, rb))
        return ROLLBACK_UNTOUCHED;
    return facts->rollback.len == 0 ? ROLLBACK_RESTORED : ROLLBACK_AGAIN;
}

/* A set's part in the rollback: reverted or restored by it, or abandoned. */
static bool find_part(const struct found_set *set, struct span rb,
                      struct arena *arena, struct rollback_entry *ret_entry) {
    bool has_part = set->taken_by.len > 0 && span_equal(set->taken_by, rb);
    *ret_entry = (struct rollback_entry){.num = set->num, .was = set->logged};
    for (size_t i = 0; i < set->log.count; i++) {
        const struct store_event *event = &set->log.events[i];
        struct event_facts facts = facts_of(event, arena);
        enum rollback_outcome outcome = outcome_of(&facts, rb);
        bool taken = outcome != ROLLBACK_UNTOUCHED &&
                     event->kind == EVENT_MOVE && event->to == STATE_ABANDONED;
        bool turned =
            outcome != ROLLBACK_UNTOUCHED && event->kind == EVENT_ROLLED_BACK;
        if (!taken && !turned)
            continue;
        has_part = true;
        ret_entry->was = turned ? STATE_DONE : event->from;
        ret_entry->outcome = turned ? outcome : ROLLBACK_UNTOUCHED;
    }
    /* It may have been restored since. */
    return has_part && (ret_entry->outcome != ROLLBACK_UNTOUCHED ||
                        set->record.job.state == STATE_ABANDONED);
}

static void read_parts(const struct rebuild *rebuild, struct plan *plan,
                       struct arena *arena) {
    plan->entries =
        arena_alloc(arena, (rebuild->count + 1) * sizeof(*plan->entries));
    for (size_t i = 0; i < rebuild->count; i++)
        if (find_part(rebuild->order[i], plan->rb->id, arena,
                      &plan->entries[plan->count]))
            plan->count++;
    for (size_t i = 0; i < plan->rb->log.count; i++) {
        const struct store_event *event = &plan->rb->log.events[i];
        if (event->kind == EVENT_MOVE && event->to == STATE_EXECUTING)
            plan->begun = event->at;
    }
}

static bool has_entry(const struct plan *plan, uint64_t num) {
    for (size_t i = 0; i < plan->count; i++)
        if (plan->entries[i].num == num)
            return true;
    return false;
}

/* The other members, which have landed: no log mentions them before the
 * rollback ends. */
static bool plan_again(struct rebuild *rebuild, struct plan *plan,
                       struct arena *arena, struct err *err) {
    const struct base *base = rebuild->base;
    struct rollback_plan_limits limits = {.files = base->config.queue.closure ==
                                                   CLOSURE_DEPS_FILES};
    struct rollback_plan found;
    struct job rb;
    for (size_t i = 0; i < plan->count; i++)
        plan->entries[i].outcome = ROLLBACK_UNTOUCHED;
    if (!store_job(base->store, plan->rb->num, arena, &rb, err))
        return false;
    bool ok = rollback_plan_make(base->store, &rb, &limits, plan->entries,
                                 plan->count, &found, err);
    const struct rollback_decision *decision = &found.decision;
    struct rollback_entry *entries = arena_alloc(
        arena, (plan->count + decision->count + 1) * sizeof(*entries));
    memcpy(entries, plan->entries, plan->count * sizeof(*entries));
    plan->entries = entries;
    for (size_t i = 0; ok && i < decision->count; i++) {
        const struct rollback_member *member = &decision->members[i];
        if (member->fate <= ROLLBACK_STOP && !has_entry(plan, member->node.num))
            entries[plan->count++] = (struct rollback_entry){
                .num = member->node.num, .was = member->node.state};
    }
    rollback_plan_clear(&found);
    return ok;
}

static void write_plan(const struct plan *plan, enum rollback_phase phase,
                       struct store_batch *batch) {
    CLEANUP(text_clear) struct text members = TEXT_INIT;
    for (size_t i = 0; i < plan->count; i++)
        rollback_entry_format(&plan->entries[i], &members);
    store_plan(batch, &(struct store_rollback){
                          .num = plan->rb->num,
                          .phase = span_of(rollback_phase_word(phase)),
                          .begun = plan->begun,
                          .members = text_span(&members),
                      });
}

static bool rebuild_plan(struct rebuild *rebuild, const struct found_set *rb,
                         struct store_batch *batch, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct plan plan = {.rb = rb};
    bool under_way = rb->record.job.state == STATE_EXECUTING;
    if (!under_way && rb->record.job.state != STATE_DONE)
        return true; /* it took nothing */
    read_parts(rebuild, &plan, &arena);
    if (under_way && !plan_again(rebuild, &plan, &arena, err))
        return false;
    write_plan(&plan, under_way ? ROLLBACK_STOPPING : ROLLBACK_OVER, batch);
    return true;
}

bool rebuild_plans(struct rebuild *rebuild, struct err *err) {
    struct store_batch *batch = store_batch_new(rebuild->base->store);
    bool ok = true;
    store_batch_actor(batch, rebuild->now, SPAN("daemon:fsck"));
    for (size_t i = 0; ok && i < rebuild->count; i++)
        if (job_has(&rebuild->order[i]->record.job, JOB_ROLLS_BACK))
            ok = rebuild_plan(rebuild, rebuild->order[i], batch, err);
    ok = ok && (store_batch_count(batch) == 0 || store_write(batch, err));
    store_batch_free(batch);
    return ok || err_wrap(err, "cannot rebuild the plans of rollbacks");
}
