/* The pretend branch of the simulated world, and the processes that merge,
 * check and land for its merge train. A tree is a hash of the sets that it was
 * merged from, in their order; whether its checks pass depends on it alone. */
#include "sim/world.h"

#include <stdio.h>
#include <stdlib.h>

#include "os/sum.h"

enum { CONFLICTS_PERCENT = 4, BAD_PERCENT = 12 };

static void hash(const char *a, const char *b, char ret[TRAIN_TREE_BYTES]) {
    char text[256], sum[SUM_TEXT_BYTES];
    int n = snprintf(text, sizeof(text), "%s %s", a, b);
    sum_bytes(span_make(text, (size_t)n), sum);
    snprintf(ret, TRAIN_TREE_BYTES, "%.40s", sum);
}

/* 0 to 99, the same for equal trees. */
static unsigned draw_of(const char *tree, const char *what) {
    char drawn[TRAIN_TREE_BYTES];
    hash(tree, what, drawn);
    return (unsigned)strtoul((char[]){drawn[0], drawn[1], drawn[2], 0}, NULL,
                             16) %
           100;
}

/* ---- the branch ---------------------------------------------------------- */

void world_branch_move(struct world *world, const char *tree) {
    char number[32];
    snprintf(number, sizeof(number), "%u", ++world->commits);
    snprintf(world->tree, sizeof(world->tree), "%s", tree);
    hash("commit", number, world->commit);
}

void world_push(struct world *world) {
    char tree[TRAIN_TREE_BYTES];
    hash(world->tree, "push", tree);
    world_branch_move(world, tree);
}

static void passed_add(struct world *world, const char *tree) {
    if (map_get(&world->passed, span_of(tree)) != NULL)
        return;
    char *copy = mem_string(tree);
    map_put(&world->passed, span_of(copy), copy);
}

void world_branch_open(struct world *world) {
    char tree[TRAIN_TREE_BYTES];
    hash("tree", "", tree);
    world_branch_move(world, tree);
}

void world_branch_close(struct world *world) {
    void *tree;
    for (size_t at = 0; map_next(&world->passed, &at, NULL, &tree);)
        free(tree);
    map_clear(&world->passed);
}

bool world_read_tip(void *ctx, struct span target,
                    char ret_commit[TRAIN_TREE_BYTES]) {
    const struct world *world = ctx;
    (void)target;
    memcpy(ret_commit, world->commit, TRAIN_TREE_BYTES);
    return true;
}

/* ---- processes ----------------------------------------------------------- */

static void copy(char *to, size_t bytes, struct span from) {
    snprintf(to, bytes, "%.*s", (int)from.len, from.len > 0 ? from.p : "");
}

void world_train_begins(struct process *process,
                        const struct run_start *order) {
    const struct run_train *train = order->train;
    struct train_part *part = &process->train;
    if (train == NULL)
        return;
    part->merges = train->task == RUN_TRAIN_MERGE;
    part->checks = train->task == RUN_TRAIN_CHECK;
    part->lands = train->task == RUN_TRAIN_LAND;
    part->locks = train->locks;
    part->aside = train->aside;
    copy(part->tip, sizeof(part->tip), train->tip);
    copy(part->tree, sizeof(part->tree), train->tree);
    part->sets = mem_alloc((order->set_count + 1) * sizeof(*part->sets));
    part->set_count = order->set_count;
    for (size_t i = 0; i < order->set_count; i++) {
        struct train_step_set *set = &part->sets[i];
        copy(set->id, sizeof(set->id), order->sets[i].job->id);
        if (train->trees != NULL)
            copy(set->tree, sizeof(set->tree), train->trees[i]);
        set->joined = train->joined != NULL && train->joined[i];
    }
}

void world_train_free(struct process *process) {
    free(process->train.sets);
}

/* False: a conflict. */
static bool merge(const char *tree, const char *id,
                  char ret_tree[TRAIN_TREE_BYTES]) {
    char from[TRAIN_TREE_BYTES];
    memcpy(from, tree, sizeof(from));
    hash(from, id, ret_tree);
    return draw_of(from, id) >= CONFLICTS_PERCENT;
}

static struct span merge_status(struct world *world,
                                const struct process *process) {
    static char line[4096];
    const struct train_part *part = &process->train;
    char tree[TRAIN_TREE_BYTES];
    int n = snprintf(line, sizeof(line), "merged %s %s", world->commit,
                     world->tree);
    memcpy(tree, part->tree, sizeof(tree));
    for (size_t i = 0; part->tree[0] != '\0' && i < part->set_count; i++) {
        if (!merge(tree, part->sets[i].id, tree)) {
            snprintf(line + n, sizeof(line) - (size_t)n, " conflict a.c (%s)",
                     part->sets[i].id);
            break;
        }
        if (part->sets[i].joined)
            continue;
        n += snprintf(line + n, sizeof(line) - (size_t)n, " %s", tree);
        if (part->aside)
            memcpy(tree, part->tree, sizeof(tree));
    }
    return span_of(line);
}

static struct span check_status(struct world *world,
                                const struct process *process) {
    const char *tree = process->train.tree;
    if (draw_of(tree, "checks") < BAD_PERCENT)
        return SPAN("failed check-failed check 'unit' exited with 1");
    passed_add(world, tree);
    return SPAN("passed");
}

struct span world_train_status(struct world *world,
                               const struct process *process) {
    switch (process->fate) {
    case FATE_TEMPORARY:
        return process->handle % 2 == 0
                   ? SPAN("temporary the repository is busy")
                   : SPAN("unavailable there is no git repository");
    case FATE_FORBIDDEN:
        return SPAN("forbidden user 'ann' cannot enter '/base/tmp'");
    case FATE_CANNOT:
        return SPAN("changed");
    case FATE_DONE:
    case FATE_FAILS:
    case FATE_CONFLICT:
    case FATE_FOREVER:
    case FATE_SIGNAL:
        break;
    }
    return process->train.merges ? merge_status(world, process)
                                 : check_status(world, process);
}

/* ---- landings ------------------------------------------------------------ */

bool world_train_lands(struct world *world, struct process *process) {
    const struct train_part *part = &process->train;
    char tree[TRAIN_TREE_BYTES];
    bool checked = part->tip[0] != '\0'; /* without checks, on any tip */
    if (checked && strcmp(part->tip, world->commit) != 0) {
        process->moved = true;
        return false;
    }
    memcpy(tree, world->tree, sizeof(tree));
    for (size_t i = 0; i < part->set_count; i++) {
        const char *expected = part->sets[i].tree;
        bool clean = merge(tree, part->sets[i].id, tree);
        if ((!clean && checked) ||
            (expected[0] != '\0' && strcmp(expected, tree) != 0)) {
            process->changed = true;
            return false;
        }
        if (expected[0] != '\0' && world->seed % 7 != 0 &&
            map_get(&world->passed, span_of(tree)) == NULL)
            world_fail(world, "%s lands unchecked", part->sets[i].id);
    }
    world_branch_move(world, tree);
    return true;
}
