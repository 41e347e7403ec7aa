/* What must never be seen, whatever happens (spec/reliability.md 2b). The judge
 * looks at the ghost state of the world, not at what the program believes. */
#include <inttypes.h>

#include "sim/world.h"

/* The very same path, or one above the other (spec D22). */
static bool paths_clash(unsigned a, unsigned b) {
    enum { C_D = 1 << 2, C_E = 1 << 3, C = 1 << 4 };
    if (a & b)
        return true;
    return ((a & C) && (b & (C_D | C_E))) || ((b & C) && (a & (C_D | C_E)));
}

static void judge_neighbours(struct world *world, const struct ghost *ghost) {
    size_t cursor = 0;
    void *value;
    while (map_next(&world->ghosts, &cursor, NULL, &value)) {
        const struct ghost *other = value;
        if (other == ghost || other->live == 0 || !other->change)
            continue;
        if (paths_clash(ghost->paths, other->paths))
            world_fail(world, "%s starts while %s runs: both touch a path",
                       ghost->id, other->id);
        world_fail(world, "%s starts while %s runs: one lane", ghost->id,
                   other->id);
    }
}

static void judge_dependency(struct world *world, const struct ghost *ghost) {
    struct arena arena = ARENA_INIT;
    struct job job;
    struct err err;
    bool found;
    if (!ghost->after[0])
        return;
    if (!store_lookup(world->store, span_of(ghost->after), &arena, &job, &found,
                      &err))
        world_fail(world, "cannot look up: %s", err.text);
    if (!found || job.state != STATE_DONE)
        world_fail(world, "%s starts before %s is done", ghost->id,
                   ghost->after);
    arena_clear(&arena);
}

void judge_start(struct world *world, const struct process *process) {
    struct ghost *ghost = world_ghost(world, span_of(process->id));
    unsigned live = 0;
    if (process->probe)
        return;
    LIST_EACH (&world->processes, link) {
        const struct process *other = LIST_OF(link, struct process, link);
        if (other->running && !other->probe && other->num == process->num &&
            other->task == process->task)
            live++;
    }
    if (live != 1)
        world_fail(world, "%u processes of %s task %" PRIu64 " live", live,
                   ghost->id, process->task);
    if (!ghost->array && ++ghost->starts > 1 && ghost->at_most_once)
        world_fail(world, "%s ran twice", ghost->id);
    if (ghost->change)
        judge_neighbours(world, ghost);
    judge_dependency(world, ghost);
    ghost->live++;
}

void judge_settled(struct world *world) {
    size_t live = 0;
    LIST_EACH (&world->processes, link) {
        const struct process *process = LIST_OF(link, struct process, link);
        live += process->running && !process->probe;
    }
    if (live > WORLD_SLOTS)
        world_fail(world, "%zu processes in %d slots", live, WORLD_SLOTS);
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
        world_fail(world, "%s was acknowledged and is gone", ghost->id);
    if (found && !job_state_is_final(job.state))
        world_fail(world, "%s never ends: %c %.*s", ghost->id,
                   job_state_letter(job.state), (int)job.reason.len,
                   job.reason.p);
    if (found && ghost->change &&
        ghost->landings != (job.state == STATE_DONE ? 1u : 0u))
        world_fail(world, "%s is %s and landed %u times", ghost->id,
                   job_state_word(job.state), ghost->landings);
    if (found && job.temps > WORLD_MAX_TEMP)
        world_fail(world, "%s: %u temporary ends", ghost->id, job.temps);
    arena_clear(&arena);
}

void judge_over(struct world *world) {
    struct err err;
    size_t cursor = 0;
    void *value;
    while (map_next(&world->ghosts, &cursor, NULL, &value))
        judge_job(world, value);
    if (!store_verify(world->store, &err))
        world_fail(world, "the registry is not whole: %s", err.text);
    if (!scheduler_idle(world->scheduler))
        world_fail(world, "all is over and the scheduler does not know");
}
