/* Rollbacks in the simulated world: requests, and their effects on the
 * target. */
#include "sim/world.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- requests ------------------------------------------------------------ */

struct ghost *world_pick_set(struct world *world) {
    size_t count = map_count(&world->ghosts), cursor = 0, at = 0;
    void *value;
    if (count == 0)
        return NULL;
    size_t wanted = (size_t)random_below(&world->random, count);
    while (map_next(&world->ghosts, &cursor, NULL, &value))
        if (at++ >= wanted && ((struct ghost *)value)->change)
            return value;
    return NULL;
}

void world_roll_back(struct world *world) {
    struct ghost *chosen[2] = {world_pick_set(world), NULL};
    if (!chosen[0])
        return;
    if (random_below(&world->random, 100) < 30)
        chosen[1] = world_pick_set(world);
    char spec[400];
    struct job_edge edges[2];
    size_t count = 0;
    for (size_t i = 0; i < 2; i++)
        if (chosen[i] && (i == 0 || chosen[1] != chosen[0]))
            edges[count++] =
                (struct job_edge){EDGE_ROLLBACK, span_of(chosen[i]->id)};
    struct ghost *ghost = world_ghost_new(world, "r");
    ghost->change = ghost->rollback = true;
    snprintf(spec, sizeof(spec),
             "{\"meta\":\"##movetype\\nRB\\n##target\\nmain\\n##dependencies"
             "\\n%s\\n%s\\n##message\\nbecause\\n\"}",
             chosen[0]->id, count > 1 ? chosen[1]->id : "");
    struct job job = {
        .kind = JOB_CHANGE,
        .job_class = CLASS_RB,
        .target = SPAN("main"),
        .name = span_of(ghost->id),
        .spec = span_of(spec),
        .cause = SPAN("person"),
    };
    world->rollbacks++;
    world_admit(world, ghost, &job, edges, count, NULL, 0, NULL, 0);
}

/* ---- processes ----------------------------------------------------------- */

void world_revert_begins(struct world *world, struct process *process,
                         const struct run_start *order) {
    if (order->member_count == 0)
        return;
    process->reverts =
        mem_alloc(order->member_count * sizeof(*process->reverts));
    process->revert_count = order->member_count;
    for (size_t i = 0; i < order->member_count; i++) {
        process->reverts[i] = world_ghost(world, order->members[i].id);
        if (!process->reverts[i])
            world_fail(world, "a rollback of an unknown set");
        /* Everything that landed is on the target, and no member runs. */
        if (process->reverts[i]->live > 0)
            world_fail(world, "%s is reverted while it runs",
                       process->reverts[i]->id);
    }
}

/* Puts a set into or out of effect, as on a branch: only the rollback that put
 * it out of effect can put it back. The sets that a rollback put out of effect
 * come back in the reverse order. */
static bool set_effect(struct ghost *ghost, struct ghost *by, bool in) {
    if (in ? ghost->out_by != by : !ghost->effect)
        return false;
    ghost->effect = in;
    ghost->out_by = in ? NULL : by;
    for (size_t i = 0; i < ghost->reverted_count; i++)
        set_effect(ghost->reverted[in ? i : ghost->reverted_count - 1 - i],
                   ghost, !in);
    return true;
}

void world_revert_lands(struct world *world, struct process *process) {
    struct ghost *ghost = world_ghost(world, span_of(process->id));
    if (process->revert_count == 0)
        return;
    ghost->reverted = mem_alloc(process->revert_count * sizeof(struct ghost *));
    /* A rollback that reverted nothing has no effect that could be undone. */
    for (size_t i = 0; i < process->revert_count; i++)
        if (!process->reverts[i]->effect &&
            !(process->reverts[i]->rollback &&
              process->reverts[i]->landings == 0))
            world_fail(world, "%s is put out of effect twice",
                       process->reverts[i]->id);
    for (size_t i = 0; i < process->revert_count; i++)
        if (set_effect(process->reverts[i], ghost, false))
            ghost->reverted[ghost->reverted_count++] = process->reverts[i];
}

struct span world_revert_status(const struct process *process) {
    switch (process->fate) {
    case FATE_CONFLICT:
    case FATE_FAILS:
        return SPAN("failed rb-conflict src/a.c also changed by c9");
    case FATE_TEMPORARY:
        return process->handle % 2 == 0
                   ? SPAN("temporary the repository is busy")
                   : SPAN("unavailable there is no git repository");
    case FATE_DONE:
        return SPAN("already-landed abc");
    case FATE_SIGNAL:
    case FATE_FOREVER:
    case FATE_CANNOT:
    case FATE_FORBIDDEN:
    default:
        return (struct span){0};
    }
}
