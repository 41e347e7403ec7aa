/* One decision becomes one batch: the job of a firing, and the mark. */
#include <inttypes.h>
#include <stdio.h>

#include "lib/log.h"
#include "core/reason.h"
#include "schedules/schedule_dir.h"
#include "schedules/schedule_driver_inner.h"
#include "commands/command_admit.h"

enum { AGAIN_S = 1 };

/* A decision while it is carried out; lives in its batch. */
struct firing {
    struct schedule_driver *driver;
    struct schedule_decision decision;
    uint64_t serial, reading;
    unsigned job, mark;   /* operations */
    enum job_state state; /* the state in which the job is admitted */
    char name[SCHEDULE_NAME_BYTES + 1];
};

static void done_alone(void *ctx, struct store_batch *batch, bool ok,
                       const struct err *err) {
    struct schedule_driver *driver = ctx;
    (void)batch;
    driver->under_way--;
    if (!ok)
        log_error("a schedule could not withdraw its jobs: %s", err->text);
}

void schedule_driver_submit(struct schedule_driver *driver,
                            struct store_batch *batch) {
    driver->under_way++;
    store_submit(batch, done_alone, driver);
}

/* ---- the texts of a firing ----------------------------------------------- */

static const char *why_not(struct arena *arena,
                           const struct schedule_decision *decision) {
    const struct schedule_rule *rule = schedule_rule(decision->schedule);
    switch (decision->reason) {
    case SCHEDULE_SKIP:
        return "no server was running, and missed = skip";
    case SCHEDULE_STALE:
        return arena_printf(arena, "more than max_shift (%" PRId64 " s) late",
                            rule->max_shift_s);
    case SCHEDULE_DEADLINE:
        return arena_printf(arena, "past the deadline (%" PRId64 " s)",
                            rule->deadline_s);
    case SCHEDULE_OVERLAP:
        return "the previous job has not ended, and overlap = forbid";
    case SCHEDULE_ON_TIME:
    case SCHEDULE_LATE:
        break;
    }
    return "its id is taken";
}

static struct span sentence(struct arena *arena,
                            const struct schedule_decision *decision,
                            const char *why) {
    const char *from = schedule_instant_text(arena, decision->at);
    if (decision->count == 1)
        return span_of(arena_printf(arena, "%s: %s", from, why));
    return span_of(
        arena_printf(arena, "%" PRIu64 " times, %s to %s: %s", decision->count,
                     from, schedule_instant_text(arena, decision->until), why));
}

static struct span cause_of(struct arena *arena, const struct firing *firing) {
    const struct schedule_decision *decision = &firing->decision;
    if (decision->reason == SCHEDULE_ON_TIME)
        return span_of(
            arena_printf(arena, CAUSE_SCHEDULE "%s at %s", firing->name,
                         schedule_instant_text(arena, decision->at)));
    return span_of(arena_printf(
        arena, CAUSE_SCHEDULE "%s at %s, %" PRId64 CAUSE_LATE, firing->name,
        schedule_instant_text(arena, decision->at), decision->late_s));
}

/* ---- the batch ----------------------------------------------------------- */

/* `reason` empty: it fires. `detail`: why not, in a sentence. */
static unsigned add_mark(struct store_batch *batch, const struct firing *firing,
                         struct span reason, struct span detail) {
    const struct schedule_decision *decision = &firing->decision;
    struct schedule_mark mark = {
        .name = span_of(firing->name),
        .serial = firing->serial,
        .moves = true,
        .from_s = decision->from.high_s,
        .high_s = decision->to.high_s,
        .offset_s = decision->to.offset_s,
        .round = decision->to.round,
        .job = firing->job,
        .missed = reason.len > 0 ? decision->count : 0,
        .reason = reason,
        .detail = detail,
    };
    return schedule_row_mark(batch, &mark);
}

static bool add_job(struct store_batch *batch, struct firing *firing,
                    const struct schedule_row *row, struct err *err) {
    struct arena *arena = store_batch_arena(batch);
    struct schedule_driver *driver = firing->driver;
    struct schedule_spec spec;
    struct span id;
    if (!schedule_spec_parse(row->spec, arena, &spec, err))
        return false;
    if (driver->base != NULL)
        schedule_dir_resolve(&spec, driver->base->path, arena);
    spec.job.id = span_of(schedule_firing_id(
        arena, row->name, firing->decision.at, firing->decision.to.round));
    if (spec.overlap != OVERLAP_ALLOW)
        submission_touch(
            &spec.job, arena,
            span_of(arena_printf(arena, "schedule/%s", firing->name)));
    firing->state = spec.job.touches.count > 0 ? STATE_QUEUED : STATE_PENDING;
    struct origin origin = {
        .now = driver->now,
        .uid = row->uid,
        .actor = span_of(arena_printf(arena, "schedule:%s", firing->name)),
        .cause = cause_of(arena, firing),
        .host = span_of(driver->host),
    };
    return command_admit(batch, driver->base, &spec.job, &origin, &firing->job,
                         &id, err);
}

static void firing_begin(const struct firing *firing,
                         struct store_batch *batch) {
    char actor[SCHEDULE_NAME_BYTES + 16];
    snprintf(actor, sizeof(actor), "schedule:%s", firing->name);
    store_batch_actor(batch, firing->driver->now, span_of(actor));
    store_batch_atomic(batch);
}

/* ---- the answer ---------------------------------------------------------- */

static store_done fired;

static void submit(struct firing *firing, struct store_batch *batch) {
    firing->driver->under_way++;
    store_submit(batch, fired, firing);
}

/* The job's id is taken by another job: the instant is skipped and reported. */
static void leave_out(struct firing *firing) {
    struct store_batch *batch = store_batch_new(firing->driver->store);
    struct arena *arena = store_batch_arena(batch);
    struct firing *again = arena_alloc(arena, sizeof(*again));
    *again = *firing;
    firing_begin(again, batch);
    again->decision.fires = false;
    again->job = SCHEDULE_NO_JOB;
    again->mark =
        add_mark(batch, again, schedule_event_word(SCHEDULE_TAKEN),
                 sentence(arena, &again->decision, "its id is taken"));
    submit(again, batch);
}

static void recorded(struct firing *firing, struct schedule_entry *entry,
                     const struct store_batch *batch) {
    struct schedule_driver *driver = firing->driver;
    const struct schedule_decision *decision = &firing->decision;
    if (decision->fires &&
        store_batch_result(batch, firing->job) == STORE_DONE) {
        const struct schedule_rule *rule = schedule_rule(decision->schedule);
        int64_t deadline_s =
            rule->deadline_s > 0
                ? schedule_due(rule, decision->at) + rule->deadline_s
                : 0;
        driver->fired++;
        if (decision->replaces)
            schedule_entry_replace(driver, entry, UINT64_MAX);
        schedule_job_add(driver, entry, store_batch_num(batch, firing->job),
                         firing->state, deadline_s);
    }
    schedules_recorded(driver->schedules, decision->schedule);
}

/* Nothing of it is in the registry: try again a little later. */
static void failed(struct firing *firing, const struct err *err) {
    struct schedule_driver *driver = firing->driver;
    log_error("schedule '%s' cannot fire, trying again: %s", firing->name,
              err->text);
    driver->again_s = wall_s(driver->now) + AGAIN_S;
}

static void fired(void *ctx, struct store_batch *batch, bool ok,
                  const struct err *err) {
    struct firing *firing = ctx;
    struct schedule_driver *driver = firing->driver;
    struct schedule_entry *entry =
        schedule_entry_find(driver, span_of(firing->name));
    driver->under_way--;
    enum store_result job = STORE_SAME, mark = STORE_CONFLICT;
    if (ok && firing->job != SCHEDULE_NO_JOB)
        job = store_batch_result(batch, firing->job);
    if (ok)
        mark = store_batch_result(batch, firing->mark);
    if (!entry)
        return;
    if (entry->reading != firing->reading) {
        /* The schedule of the decision is gone, even if the present one lies at
         * its address; and what was read then may lack this firing. */
        entry->looked = false;
        schedule_entry_stale(driver, entry);
    } else if (!ok) {
        failed(firing, err);
        struct schedule_place from = firing->decision.from;
        schedules_reset(driver->schedules, firing->decision.schedule, &from);
    } else if (job == STORE_DUPLICATE) {
        leave_out(firing);
    } else if (mark == STORE_DONE) {
        recorded(firing, entry, batch);
    } else {
        schedule_entry_stale(driver, entry); /* it was changed by another
                                                process or request */
    }
}

/* ---- carrying out -------------------------------------------------------- */

static bool read_row(struct firing *firing, struct arena *arena,
                     struct schedule_row *ret_row) {
    struct err err = {0};
    bool found;
    if (!schedule_row_find(firing->driver->store, span_of(firing->name), arena,
                           ret_row, &found, &err)) {
        failed(firing, &err);
        return false;
    }
    return found && ret_row->serial == firing->serial && !ret_row->paused;
}

static bool build(struct firing *firing, struct store_batch *batch) {
    struct arena *arena = store_batch_arena(batch);
    struct schedule_decision *decision = &firing->decision;
    struct span reason = {0};
    const char *why = NULL;
    struct schedule_row row;
    struct err err = {0};
    if (!read_row(firing, arena, &row))
        return false;
    if (!decision->fires) {
        reason = span_of(schedule_reason_word(decision->reason));
        why = why_not(arena, decision);
    } else if (!add_job(batch, firing, &row, &err)) {
        log_error("schedule '%s' cannot fire: %s", firing->name, err.text);
        decision->fires = false;
        firing->job = SCHEDULE_NO_JOB;
        reason = schedule_event_word(SCHEDULE_REFUSED);
        why = err.text;
    }
    firing->mark =
        add_mark(batch, firing, reason,
                 why ? sentence(arena, decision, why) : (struct span){0});
    return true;
}

void schedule_driver_carry_out(struct schedule_driver *driver,
                               const struct schedule_decision *decision) {
    struct schedule_entry *entry = schedule_data(decision->schedule);
    struct store_batch *batch = store_batch_new(driver->store);
    struct firing *firing =
        arena_alloc(store_batch_arena(batch), sizeof(*firing));
    *firing = (struct firing){
        .driver = driver,
        .decision = *decision,
        .serial = entry->serial,
        .reading = entry->reading,
        .job = SCHEDULE_NO_JOB,
    };
    snprintf(firing->name, sizeof(firing->name), "%s", entry->name);
    firing_begin(firing, batch);
    if (build(firing, batch)) {
        submit(firing, batch);
        return;
    }
    store_batch_free(batch);
    schedule_entry_stale(driver, entry);
}
