/* Invariants that must always hold (P4, G7, O4, S4). The judge looks at the
 * ghost state of the world, not at what the program believes. */
#include <inttypes.h>
#include <string.h>

#include "core/reason.h"
#include "sim/world.h"

/* Two paths clash if they are equal or one is above the other (O2). */
static bool paths_clash(unsigned a, unsigned b) {
    enum { C_D = 1 << 2, C_E = 1 << 3, C = 1 << 4 };
    if (a & b)
        return true;
    return ((a & C) && (b & (C_D | C_E))) || ((b & C) && (a & (C_D | C_E)));
}

static bool is_of(const struct process *process, const struct ghost *ghost) {
    for (size_t i = 0; i < process->set_count; i++)
        if (process->sets[i] == ghost)
            return true;
    return false;
}

static void judge_neighbours(struct world *world, const struct process *process,
                             const struct ghost *ghost) {
    size_t cursor = 0;
    void *value;
    while (map_next(&world->ghosts, &cursor, NULL, &value)) {
        const struct ghost *other = value;
        if (is_of(process, other) || other->live == 0 || !other->change)
            continue;
        if (paths_clash(ghost->paths, other->paths))
            world_fail(world, "%s starts while %s runs: both touch a path",
                       ghost->id, other->id);
    }
}

static void judge_lanes(struct world *world) {
    unsigned live = 0;
    LIST_EACH (&world->processes, link) {
        const struct process *process = LIST_OF(link, struct process, link);
        live += process->running && !process->probe && process->change &&
                !process->sets[0]->rollback && !process->train.lands;
    }
    if (live > world->lanes)
        world_fail(world, "%u landings in %u lanes", live, world->lanes);
}

static bool is_pending_or_executing(const struct job *job) {
    return job->state == STATE_PENDING || job->state == STATE_EXECUTING;
}

static void judge_dependency(struct world *world, const struct process *process,
                             const struct ghost *ghost) {
    struct arena arena = ARENA_INIT;
    struct job job;
    struct err err;
    bool found;
    if (!ghost->after[0])
        return;
    if (is_of(process, world_ghost(world, span_of(ghost->after))))
        return; /* both land together */
    if (!store_lookup(world->store, span_of(ghost->after), &arena, &job, &found,
                      &err))
        world_fail(world, "cannot look up: %s", err.text);
    const struct ghost *other = world_ghost(world, span_of(ghost->after));
    /* A command that was assigned before the rollback may run. */
    if (ghost->change && other && other->change && !other->effect && found &&
        job.state == STATE_DONE)
        world_fail(world, "%s starts though %s was rolled back", ghost->id,
                   ghost->after);
    bool ahead = found && world->follow && other != NULL && other->change &&
                 is_pending_or_executing(&job) && process->train.checks;
    if (!ahead && (!found || job.state != STATE_DONE))
        world_fail(world, "%s starts before %s is done", ghost->id,
                   ghost->after);
    arena_clear(&arena);
}

/* ---- sets that follow others (O20) --------------------------------------- */

static bool read_ghost(struct world *world, const struct ghost *ghost,
                       struct arena *arena, struct job *ret_job) {
    struct err err;
    bool found;
    if (!store_lookup(world->store, span_of(ghost->id), arena, ret_job, &found,
                      &err))
        world_fail(world, "cannot look up: %s", err.text);
    return found;
}

/* The number of the first event that took the set to this state; 0: none. */
static uint64_t first_step(struct world *world, const struct ghost *ghost,
                           enum job_state to) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_event *events;
    size_t count;
    if (!store_events(world->store, 0, ghost->num, 0, &arena, &events, &count,
                      NULL))
        return 0;
    for (size_t i = 0; i < count; i++)
        if (events[i].kind == EVENT_MOVE && events[i].to == to)
            return events[i].seq;
    return 0;
}

/* O13: one came when the other was ready already. */
static bool came_later(struct world *world, const struct ghost *ghost,
                       const struct ghost *than) {
    uint64_t ready = first_step(world, than, STATE_PENDING);
    return ready != 0 && first_step(world, ghost, STATE_QUEUED) > ready;
}

static bool are_apart(struct world *world, const struct ghost *ghost,
                      const struct ghost *other) {
    return came_later(world, ghost, other) || came_later(world, other, ghost);
}

/* A set becomes pending. If others that touch its paths are pending or execute,
 * it follows them: they have to go first. */
static void judge_pending(struct world *world, struct ghost *ghost,
                          bool follows) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    size_t cursor = 0;
    void *value;
    ghost->ahead_count = 0;
    while (map_next(&world->ghosts, &cursor, NULL, &value)) {
        struct ghost *other = value;
        struct job job;
        if (other == ghost || !other->change || other->rollback ||
            (ghost->group[0] && strcmp(ghost->group, other->group) == 0 &&
             !came_later(world, ghost, other)) ||
            !paths_clash(ghost->paths, other->paths) ||
            !read_ghost(world, other, &arena, &job) ||
            !is_pending_or_executing(&job))
            continue;
        if (!follows)
            world_fail(world, "%s is ready before %s, which touches a path too",
                       ghost->id, other->id);
        if (ghost->ahead_count == WORLD_AHEAD)
            world_fail(world, "%s follows too many", ghost->id);
        ghost->ahead[ghost->ahead_count++] = other;
    }
}

static void judge_dep_failed(struct world *world, const struct ghost *ghost) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const struct ghost *after =
        ghost->after[0] ? world_ghost(world, span_of(ghost->after)) : NULL;
    struct job job;
    /* A group is decided as a whole, but its members fail one by one. */
    if (after == NULL || ghost->group[0] != 0 || after->group[0] != 0)
        return;
    if (!read_ghost(world, after, &arena, &job) ||
        (!job.cancel_asked &&
         (!job_state_is_final(job.state) || job.state == STATE_DONE)))
        world_fail(world, "%s fails for %s, which has not failed", ghost->id,
                   after->id);
}

/* The detail names the set with which it fails. */
static void judge_group_failed(struct world *world, const struct ghost *ghost,
                               struct span detail) {
    struct span id;
    span_cut(&detail, ' ', &id);
    const struct ghost *other = world_ghost(world, id);
    if (other != NULL && are_apart(world, ghost, other))
        world_fail(world, "%s fails with %s of another group", ghost->id,
                   other->id);
}

void judge_event(void *ctx, const struct store_event *event) {
    struct world *world = ctx;
    if (event->kind != EVENT_MOVE || event->from == STATE_NONE)
        return;
    struct ghost *ghost = world_ghost(world, event->id);
    if (ghost == NULL || !ghost->change || ghost->rollback)
        return;
    bool follows = span_is(event->reason, "follows");
    if (follows && (!world->follow || world->apart))
        world_fail(world, "%s follows others, although no set may", ghost->id);
    world->followed += follows;
    if (event->from == STATE_STAGED && event->to == STATE_PENDING)
        judge_pending(world, ghost, follows);
    if (span_is(event->reason, "dep-failed"))
        judge_dep_failed(world, ghost);
    if (span_is(event->reason, "group-failed"))
        judge_group_failed(world, ghost, event->detail);
}

static size_t place_in(const struct process *process,
                       const struct ghost *ghost) {
    size_t i = 0;
    while (i < process->set_count && process->sets[i] != ghost)
        i++;
    return i;
}

/* They come before this place of the move, or have left the queue. */
static void judge_goes_first(struct world *world, const struct process *process,
                             size_t at, const struct ghost *other,
                             bool has_to_land) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const struct ghost *ghost = process->sets[at];
    struct job job;
    size_t place = place_in(process, other);
    if (place < at)
        return;
    if (ghost->group[0] && strcmp(ghost->group, other->group) == 0 &&
        !came_later(world, ghost, other))
        return;
    if (!read_ghost(world, other, &arena, &job))
        world_fail(world, "%s is gone", other->id);
    /* It has left the train, and the queue as soon as its check is dead (M17).
     */
    bool cancelled = place == process->set_count && job.cancel_asked;
    if (((STATES_LIVE & STATE_BIT(job.state)) != 0 && !cancelled) ||
        (has_to_land && !other->effect))
        world_fail(world, "%s lands before %s", ghost->id, other->id);
}

void judge_landing(struct world *world, const struct process *process) {
    for (size_t at = 0; at < process->set_count; at++) {
        const struct ghost *ghost = process->sets[at];
        const struct ghost *after =
            ghost->after[0] ? world_ghost(world, span_of(ghost->after)) : NULL;
        if (ghost->rollback || !process->train.lands)
            return;
        if (after != NULL && after->change)
            judge_goes_first(world, process, at, after, true);
        for (size_t i = 0; i < ghost->ahead_count; i++)
            judge_goes_first(world, process, at, ghost->ahead[i], false);
    }
}

/* The number of the last event of a job; 0 if that is no step of its life,
 * which somebody may have put in front of a decision that was under way. */
static uint64_t last_step(struct world *world, uint64_t num) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_event *events;
    size_t count;
    if (!store_events(world->store, 0, num, 0, &arena, &events, &count, NULL) ||
        count == 0 || events[count - 1].kind != EVENT_MOVE)
        return 0;
    return events[count - 1].seq;
}

/* O19: no set starts while a rollback of its target waits. */
static void judge_rollbacks(struct world *world, const struct ghost *ghost) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_list list = {.states = STATE_BIT(STATE_QUEUED) |
                                        STATE_BIT(STATE_PENDING),
                              .limit = 100000};
    uint64_t started = last_step(world, ghost->num), asked;
    struct job *jobs;
    size_t count;
    if (started == 0 ||
        !store_jobs(world->store, &list, &arena, &jobs, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++)
        if (job_has(&jobs[i], JOB_ROLLS_BACK) && jobs[i].holds == 0 &&
            jobs[i].not_before.ns == 0 &&
            (asked = last_step(world, jobs[i].num)) != 0 && asked < started)
            world_fail(world, "%s starts, but rollback %.*s waits", ghost->id,
                       (int)jobs[i].id.len, jobs[i].id.p);
}

/* A job that may not run starts again only after somebody has released it. */
static void judge_forbidden(struct world *world, const struct ghost *ghost) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_event *events;
    size_t count;
    if (!store_events(world->store, 0, ghost->num, 0, &arena, &events, &count,
                      NULL))
        return;
    while (count-- > 0) {
        const struct store_event *event = &events[count];
        if (event->kind == EVENT_RELEASE ||
            (event->kind == EVENT_MOVE && event->from == STATE_EXECUTING &&
             !span_is(event->reason, REASON_FORBIDDEN)))
            return;
        if (event->kind == EVENT_MOVE && event->from == STATE_EXECUTING)
            world_fail(world, "%s starts, but it may not run", ghost->id);
    }
}

/* The checks of the tip are recorded under a set, but do not concern it. */
static bool is_of_tip(const struct process *process) {
    return process->train.checks && !process->train.locks;
}

/* A landing of the train takes several units, each of them whole. */
static void judge_units(struct world *world, const struct process *process) {
    for (size_t i = 0; i < process->set_count; i++) {
        const struct ghost *set = process->sets[i];
        unsigned count = 0;
        for (size_t k = 0; k < process->set_count; k++)
            count += strcmp(process->sets[k]->group, set->group) == 0;
        if (set->want > 0 && count != set->want)
            world_fail(world, "only %u of the %u sets of group %s land", count,
                       set->want, set->group);
    }
}

void judge_start(struct world *world, const struct process *process) {
    struct ghost *ghost = world_ghost(world, span_of(process->id));
    unsigned live = 0;
    if (process->probe)
        return;
    if (is_of_tip(process)) {
        judge_lanes(world);
        return;
    }
    LIST_EACH (&world->processes, link) {
        const struct process *other = LIST_OF(link, struct process, link);
        if (other->running && !other->probe && other->num == process->num &&
            other->task == process->task && !is_of_tip(other))
            live++;
    }
    if (live != 1)
        world_fail(world, "%u processes of %s task %" PRIu64 " live", live,
                   ghost->id, process->task);
    if (!ghost->array && ++ghost->starts > 1 && ghost->at_most_once)
        world_fail(world, "%s ran twice", ghost->id);
    for (size_t i = 0; i < process->set_count; i++) {
        struct ghost *set = process->sets[i];
        if (set->cancelled)
            world_fail(world, "%s starts though it was cancelled", set->id);
        if (set->change && set->live != 0)
            world_fail(world, "%s is already running", set->id);
        bool beside =
            world->follow && (process->train.checks || process->train.lands);
        if (set->change && !set->rollback && !beside)
            judge_neighbours(world, process, set);
        judge_dependency(world, process, set);
        judge_forbidden(world, set);
        if (!process->train.lands && set != ghost &&
            (strcmp(set->group, ghost->group) != 0 ||
             are_apart(world, set, ghost)))
            world_fail(world, "%s lands with %s of another group", set->id,
                       ghost->id);
    }
    for (size_t i = 0; i < process->set_count; i++)
        process->sets[i]->live++;
    if (process->train.lands)
        judge_units(world, process);
    else if (ghost->want > 0 && process->set_count != ghost->want)
        world_fail(world, "only %zu of the %u sets of group %s start",
                   process->set_count, ghost->want, ghost->group);
    if (ghost->change && !ghost->rollback)
        judge_lanes(world);
    if (ghost->change && !ghost->rollback)
        judge_rollbacks(world, ghost);
}

/* A job whose time has come must be running or be known as one that can start,
 * unless a rollback keeps all other jobs from starting. */
static void judge_overdue(struct world *world) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_list list = {.states = STATE_BIT(STATE_PENDING),
                              .with_not_before = true,
                              .limit = 1};
    struct store_list going = {.states = STATE_BIT(STATE_EXECUTING)};
    struct job *jobs;
    size_t count;
    if (!store_jobs(world->store, &list, &arena, &jobs, &count, NULL) ||
        count == 0 || jobs[0].not_before.ns > world->now.ns)
        return;
    struct job first = jobs[0];
    if (!store_jobs(world->store, &going, &arena, &jobs, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++)
        if (jobs[i].job_class == CLASS_RB)
            return;
    world_fail(world, "%.*s was due %" PRId64 " ms ago", (int)first.id.len,
               first.id.p, wall_ms_since(world->now, first.not_before));
}

/* The reasons that the order knows, one per line, if what explains `loaded` is
 * read from the registry. */
static struct span order_reasons(struct world *world, const struct job *job,
                                 const struct job *loaded,
                                 struct arena *arena) {
    static const char *const kinds[] = {"precursor", "dependency", "record",
                                        "follows"};
    const struct scheduler_target target = {.name = SPAN("main"),
                                            .lanes = world->lanes};
    const struct scheduler_options options = {.slots = WORLD_SLOTS,
                                              .wait_for_dep_ms = 60000,
                                              .targets = &target,
                                              .target_count = 1};
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct runner runner = world_runner(world);
    struct scheduler *passing = scheduler_new(world->store, &options, &runner);
    struct scheduler_reason *reasons;
    size_t count = 0;
    struct err err;
    if (!scheduler_start_why(passing, loaded, world->now, &err) ||
        !scheduler_why(passing, job, world->now, arena, &reasons, &count, &err))
        world_fail(world, "cannot explain: %s", err.text);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < COUNT(kinds); k++)
            if (strcmp(reasons[i].kind, kinds[k]) == 0) {
                text_addspan(&text, reasons[i].text);
                text_addc(&text, '\n');
            }
    scheduler_free(passing);
    return arena_span(arena, text_span(&text));
}

/* `why` without a role reads only a part of the registry for a job that is
 * staged or pending. It must give the same reasons as if it had read all live
 * jobs, as it does for a queued one. */
static void judge_explanation(struct world *world, const struct job *job) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job queued = *job;
    queued.state = STATE_QUEUED;
    struct span part = order_reasons(world, job, job, &arena);
    struct span whole = order_reasons(world, job, &queued, &arena);
    if (!span_equal(part, whole))
        world_fail(world, "why %.*s\n%.*sbut from a part of the registry\n%.*s",
                   (int)job->id.len, job->id.p, (int)whole.len, whole.p,
                   (int)part.len, part.p);
}

static void judge_explanations(struct world *world) {
    enum { JOBS = 4 };
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_list list = {.states = STATE_BIT(STATE_STAGED) |
                                        STATE_BIT(STATE_PENDING),
                              .newest_first = true,
                              .limit = JOBS};
    struct job *jobs;
    size_t count;
    if ((world->now.ns / NS_PER_MS + (int64_t)world->seed) % 64 != 0)
        return; /* it takes a while */
    if (!store_jobs(world->store, &list, &arena, &jobs, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++)
        judge_explanation(world, &jobs[i]);
}

/* ---- back-offs ---------------------------------------------------------- */

static struct wall steady(const struct world *world, struct wall at) {
    return wall_add_ms(at, world->set_back_ms);
}

static void judge_backoff(struct world *world, const struct job *job) {
    struct ghost *ghost = world_ghost(world, job->id);
    struct wall end = steady(world, job->not_before);
    if (ghost == NULL)
        return;
    if (ghost->backoff_seq != job->state_seq) {
        ghost->backoff_seq = job->state_seq;
        ghost->backoff_ms = wall_ms_since(job->not_before, job->since);
        ghost->backoff_end = end;
    }
    if (wall_ms_since(end, ghost->backoff_end) > 1)
        world_fail(world, "%s waits %lld ms longer than its back-off",
                   ghost->id,
                   (long long)wall_ms_since(end, ghost->backoff_end));
}

static void judge_backoffs(struct world *world) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_list list = {.states = STATE_BIT(STATE_PENDING),
                              .with_not_before = true};
    struct job *jobs;
    size_t count;
    struct err err;
    if (!store_jobs(world->store, &list, &arena, &jobs, &count, &err))
        world_fail(world, "cannot list: %s", err.text);
    for (size_t i = 0; i < count; i++)
        judge_backoff(world, &jobs[i]);
}

/* In the worst case the back-off begins anew. */
void judge_restart(struct world *world) {
    size_t cursor = 0;
    void *value;
    while (map_next(&world->ghosts, &cursor, NULL, &value)) {
        struct ghost *ghost = value;
        struct wall end =
            wall_add_ms(steady(world, world->now), ghost->backoff_ms);
        if (end.ns > ghost->backoff_end.ns)
            ghost->backoff_end = end;
    }
}

void judge_settled(struct world *world) {
    judge_overdue(world);
    judge_explanations(world);
    judge_backoffs(world);

    size_t live = 0;
    LIST_EACH (&world->processes, link) {
        const struct process *process = LIST_OF(link, struct process, link);
        live += process->running && !process->probe && !process->train.lands &&
                process->revert_count == 0;
    }
    if (live > WORLD_SLOTS)
        world_fail(world, "%zu processes in %d slots", live, WORLD_SLOTS);
}

/* The marks in the registry must agree with the target, and a set in effect
 * must not depend on a set that is not. */
static void judge_effect(struct world *world, const struct ghost *ghost,
                         const struct job *job) {
    const struct ghost *other =
        ghost->after[0] ? world_ghost(world, span_of(ghost->after)) : NULL;
    bool in = job->state == STATE_DONE && job->rolled_back_by.len == 0;
    if (ghost->rollback && ghost->landings == 0)
        return; /* it found nothing to revert, or did not get that far */
    if (in != ghost->effect)
        world_fail(world, "%s: the registry says %d, the target %d", ghost->id,
                   in, ghost->effect);
    if (in && other && other->change && !other->effect)
        world_fail(world, "%s is in effect and %s, which it needs, is not",
                   ghost->id, other->id);
}

static void judge_job(struct world *world, struct ghost *ghost) {
    struct arena arena = ARENA_INIT;
    struct job job;
    struct err err;
    bool found;
    if (!store_lookup(world->store, span_of(ghost->id), &arena, &job, &found,
                      &err))
        world_fail(world, "cannot look up: %s", err.text);
    if (ghost->acknowledged && !found)
        world_fail(world, "%s was acknowledged but is gone", ghost->id);
    if (found && !job_state_is_final(job.state))
        world_fail(world, "%s never ends: %c %.*s", ghost->id,
                   job_state_letter(job.state), (int)job.reason.len,
                   job.reason.p);
    if (found && ghost->change)
        judge_effect(world, ghost, &job);
    if (found && ghost->change && !ghost->rollback &&
        ghost->landings != (job.state == STATE_DONE ? 1u : 0u))
        world_fail(world, "%s is %s and landed %u times", ghost->id,
                   job_state_word(job.state), ghost->landings);
    if (found && job.temps > WORLD_MAX_TEMP)
        world_fail(world, "%s: %u temporary ends", ghost->id, job.temps);
    arena_clear(&arena);
}

/* Either all sets of a group landed, or none. */
static void judge_group(struct world *world, const struct ghost *ghost) {
    unsigned landed = 0;
    size_t cursor = 0;
    void *value;
    if (ghost->want == 0)
        return;
    while (map_next(&world->ghosts, &cursor, NULL, &value)) {
        const struct ghost *other = value;
        if (strcmp(other->group, ghost->group) == 0)
            landed += other->landings;
    }
    if (landed != 0 && landed != ghost->want)
        world_fail(world, "%u of the %u sets of group %s landed", landed,
                   ghost->want, ghost->group);
}

void judge_over(struct world *world) {
    struct err err;
    size_t cursor = 0;
    void *value;
    while (map_next(&world->ghosts, &cursor, NULL, &value))
        judge_job(world, value);
    cursor = 0;
    while (map_next(&world->ghosts, &cursor, NULL, &value))
        judge_group(world, value);
    if (!store_verify(world->store, &err))
        world_fail(world, "the registry is damaged: %s", err.text);
    if (!scheduler_idle(world->scheduler) ||
        (world->queue && !scheduler_idle(world->queue)))
        world_fail(world, "all jobs have ended, but the scheduler is not idle");
}
