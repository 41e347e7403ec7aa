/* Relations between jobs: one step away, with all kinds of relation, or
 * dependencies at any depth as a tree. Both are sent piece by piece, and
 * other calls have their turn in between. */
#include "api/api_call.h"
#include "api/api_handlers.h"

#include <stdlib.h>

#include "core/walk.h"
#include "api/job_json.h"
#include "api/neighbours.h"
#include "scheduler/rollback_status.h"

/* ---- one step ------------------------------------------------------------ */

/* `other`: NULL if it is unknown. `fate`: NULL unless `id` rolls it back. */
static void relation_line(struct api_call *call, struct span id,
                          const struct neighbour *neighbour,
                          const struct job *other, const char *fate) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct json json;

    json_open(&json, &call->out);
    json_object(&json);
    json_key(&json, "job");
    json_span(&json, id);
    json_key(&json, "relation");
    json_string(&json, job_edge_kind_word(neighbour->kind));
    json_key(&json, "id");
    json_span(&json, neighbour->id);
    json_key(&json, "state");
    if (other) {
        json_string(&json, job_state_word(other->state));
        json_key(&json, "what");
        json_span(&json, job_what(other, &arena));
    } else {
        json_null(&json);
    }
    if (fate) {
        json_key(&json, "fate");
        json_string(&json, fate);
    }
    json_end(&json);
    text_addc(&call->out, '\n');
}

static bool relation_json(struct api_call *call, struct span id,
                          const struct neighbour *neighbour, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job other;
    bool found;
    if (!store_lookup(call->api->options.store, neighbour->id, &arena, &other,
                      &found, err))
        return false;
    relation_line(call, id, neighbour, found ? &other : NULL, NULL);
    return true;
}

/* What a rollback does, or has done, to each member. *ret_any false: it has not
 * begun. */
static bool members_json(struct api_call *call, const struct job *rollback,
                         bool *ret_any, struct err *err) {
    struct rollback_fated *members;
    size_t count;
    if (!rollback_status_members(call->api->options.store, rollback,
                                 &call->arena, &members, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        relation_line(call, rollback->id,
                      &(struct neighbour){members[i].job.id, EDGE_ROLLBACK},
                      &members[i].job, members[i].fate);
    *ret_any = count > 0;
    return true;
}

struct around {
    struct neighbours neighbours;
    bool members_shown; /* of a rollback */
};

/* The base set of a set is always one of its dependencies, too. */
static bool is_shown(const struct around *around,
                     const struct neighbour *neighbour) {
    return neighbour->kind != EDGE_BASE &&
           (neighbour->kind != EDGE_ROLLBACK || !around->members_shown);
}

static bool around_step(struct api_call *call, struct err *err) {
    struct around *around = call->state;
    struct neighbour one;
    bool found = true;
    for (unsigned rows = 0; found && rows < API_PAGE; rows++) {
        if (!neighbours_next(&around->neighbours, &one, &found, err) ||
            (found && is_shown(around, &one) &&
             !relation_json(call, around->neighbours.id, &one, err)))
            return false;
    }
    if (!found)
        api_end(call);
    return true;
}

static void around_clear(struct api_call *call) {
    struct around *around = call->state;
    neighbours_close(&around->neighbours);
}

static void around_work(struct api_call *call) {
    api_steps(call, around_step);
}

static bool answer_around(struct api_call *call, const struct job *job, bool up,
                          struct err *err) {
    struct around *around = arena_alloc(&call->arena, sizeof(*around));
    *around = (struct around){0};
    if (!up && job_has(job, JOB_ROLLS_BACK) &&
        !members_json(call, job, &around->members_shown, err))
        return false;
    neighbours_open(call->api->options.store, job->num, job->id, up,
                    &around->neighbours);
    call->state = around;
    call->clear = around_clear;
    call->work = around_work;
    return true;
}

/* ---- a tree -------------------------------------------------------------- */

/* A job whose neighbours are being sent. */
struct level {
    struct span id;
    struct neighbours around; /* of the job, or of a set that it supersedes */
    unsigned superseded;      /* such sets so far */
};

/* The path down to the job that is being sent. */
struct climb {
    bool up; /* towards dependents */
    bool begun;
    struct span root;
    struct walk walk;
    struct level *levels;
    size_t depth, cap;
};

static void climb_clear(struct api_call *call) {
    struct climb *climb = call->state;
    while (climb->depth > 0)
        neighbours_close(&climb->levels[--climb->depth].around);
    free(climb->levels);
    walk_clear(&climb->walk);
}

static void branch_json(struct api_call *call, struct span id,
                        const struct job *job, bool again) {
    const struct climb *climb = call->state;
    struct json json;
    json_open(&json, &call->out);
    json_object(&json);
    json_key(&json, "id");
    json_span(&json, id);
    json_key(&json, "depth");
    json_i64(&json, (int64_t)climb->depth);
    json_key(&json, "of");
    if (climb->depth > 0)
        json_span(&json, climb->levels[climb->depth - 1].id);
    else
        json_null(&json);
    json_key(&json, "state");
    if (job)
        json_string(&json, job_state_word(job->state));
    else
        json_null(&json);
    json_key(&json, "again");
    json_bool(&json, again);
    json_end(&json);
    text_addc(&call->out, '\n');
}

static void level_add(struct api_call *call, const struct job *job) {
    struct climb *climb = call->state;
    if (climb->depth == climb->cap) {
        climb->cap = climb->cap ? climb->cap * 2 : 16;
        climb->levels =
            mem_grow(climb->levels, climb->cap, sizeof(*climb->levels));
    }
    struct level *level = &climb->levels[climb->depth++];
    *level = (struct level){.id = arena_span(&call->arena, job->id)};
    neighbours_open(call->api->options.store, job->num, level->id, climb->up,
                    &level->around);
}

/* Sends one job, and descends to its neighbours unless it was sent before. */
static bool visit(struct api_call *call, struct span id, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct climb *climb = call->state;
    struct job job;
    bool found;
    if (!store_lookup(call->api->options.store, id, &arena, &job, &found, err))
        return false;
    bool again = found && !walk_add(&climb->walk, job.num, WALK_START);
    branch_json(call, id, found ? &job : NULL, again);
    if (found && !again)
        level_add(call, &job);
    return true;
}

/* The dependents of a set that this one supersedes depend on this one (O10).
 * *ret_more false: there is no such set, or no further one. */
static bool go_on_superseded(struct api_call *call, struct level *level,
                             bool *ret_more, struct err *err) {
    enum { CHAIN_MAX = 64 };
    CLEANUP(arena_clear) struct arena scratch = ARENA_INIT;
    struct store *store = call->api->options.store;
    struct job_edge *edges;
    struct job old;
    size_t count;
    *ret_more = false;
    if (!store_edges_from(store, level->around.num, &scratch, &edges, &count,
                          err))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (edges[i].kind != EDGE_SUPERSEDES || level->superseded == CHAIN_MAX)
            continue;
        if (!store_lookup(store, edges[i].to, &scratch, &old, ret_more, err))
            return false;
        if (!*ret_more)
            continue;
        level->superseded++;
        neighbours_close(&level->around);
        neighbours_open(store, old.num, arena_span(&call->arena, old.id), true,
                        &level->around);
        return true;
    }
    return true;
}

/* The next dependency of the deepest level, or up one level. */
static bool go_on(struct api_call *call, size_t *rows, struct err *err) {
    struct climb *climb = call->state;
    struct level *level = &climb->levels[climb->depth - 1];
    struct neighbour one;
    bool found, more = false;
    size_t before = level->around.rows;
    if (!neighbours_next(&level->around, &one, &found, err))
        return false;
    *rows += level->around.rows - before + 1;
    if (!found) {
        if (climb->up && !go_on_superseded(call, level, &more, err))
            return false;
        if (more)
            return true;
        neighbours_close(&level->around);
        climb->depth--;
        return true;
    }
    return !job_edge_is_dependency(one.kind) || visit(call, one.id, err);
}

static bool climb_step(struct api_call *call, struct err *err) {
    struct climb *climb = call->state;
    if (!climb->begun && !visit(call, climb->root, err))
        return false;
    climb->begun = true;
    for (size_t rows = 0; climb->depth > 0 && rows < API_PAGE;)
        if (!go_on(call, &rows, err))
            return false;
    if (climb->depth == 0)
        api_end(call);
    return true;
}

static void climb_work(struct api_call *call) {
    api_steps(call, climb_step);
}

static void answer_tree(struct api_call *call, const struct job *job, bool up) {
    struct climb *climb = arena_alloc(&call->arena, sizeof(*climb));
    *climb = (struct climb){.up = up, .root = job->id};
    call->state = climb;
    call->clear = climb_clear;
    call->work = climb_work;
}

/* ---- the routes ---------------------------------------------------------- */

/* ?tree: dependencies at any depth, one line each, deeper ones after their
 * parent. */
static void print_relations(struct api_call *call, bool up) {
    static const char *const keys[] = {"tree", NULL};
    struct job job;
    struct err err = {0};
    if (!api_query_check(call, keys) || !api_job(call, &job))
        return;
    if (api_query_flag(call, "tree")) {
        answer_tree(call, &job, up);
    } else if (!answer_around(call, &job, up, &err)) {
        api_fail(call, &err);
        return;
    }
    api_reply(call, 200, api_lines);
}

void api_depends(struct api_call *call) {
    print_relations(call, false);
}

void api_dependents(struct api_call *call) {
    print_relations(call, true);
}
