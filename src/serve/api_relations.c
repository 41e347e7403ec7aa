/* Who needs whom: one step away, with all kinds of relation, or dependencies at
 * any depth as a tree. */
#include "serve/api_call.h"

#include <stdlib.h>

#include "core/walk.h"
#include "serve/job_json.h"

/* ---- one step ------------------------------------------------------------ */

static bool relation_json(struct api_call *call, const struct job *job,
                          enum edge_kind kind, struct span id,
                          struct err *err) {
    struct job other;
    bool found;
    struct json json;
    char letter[2] = {0};

    if (!store_lookup(call->api->options.store, id, &call->arena, &other,
                      &found, err))
        return false;
    json_open(&json, &call->out);
    json_object(&json);
    json_key(&json, "job");
    json_span(&json, job->id);
    json_key(&json, "relation");
    json_string(&json, edge_kind_word(kind));
    json_key(&json, "id");
    json_span(&json, id);
    json_key(&json, "state");
    if (found) {
        letter[0] = job_state_letter(other.state);
        json_string(&json, letter);
        json_key(&json, "what");
        json_span(&json, job_what(&other, &call->arena));
    } else {
        json_null(&json);
    }
    json_end(&json);
    text_addc(&call->out, '\n');
    return true;
}

static bool tell_depends(struct api_call *call, const struct job *job,
                         struct err *err) {
    struct job_edge *edges;
    size_t count;
    bool ok = store_edges_from(call->api->options.store, job->num, &call->arena,
                               &edges, &count, err);
    for (size_t i = 0; ok && i < count; i++)
        ok = relation_json(call, job, edges[i].kind, edges[i].to, err);
    return ok;
}

static bool tell_dependents(struct api_call *call, const struct job *job,
                            struct err *err) {
    struct store_edge_to *edges;
    size_t count;
    bool ok = store_edges_to(call->api->options.store, job->id, &call->arena,
                             &edges, &count, err);
    for (size_t i = 0; ok && i < count; i++)
        ok = relation_json(call, job, edges[i].kind, edges[i].id, err);
    return ok;
}

/* ---- a tree -------------------------------------------------------------- */

/* One job on the way down, with those one step further. */
struct level {
    struct arena arena;
    struct span id;
    struct span *ids;
    size_t count, at;
};

struct climb {
    struct api_call *call;
    bool up; /* to dependents */
    struct walk walk;
    struct level *levels;
    size_t depth, cap;
};

static bool next_ids(struct climb *climb, struct level *level, uint64_t num,
                     struct err *err) {
    struct store *store = climb->call->api->options.store;
    struct job_edge *from = NULL;
    struct store_edge_to *to = NULL;
    size_t count;
    bool ok =
        climb->up
            ? store_edges_to(store, level->id, &level->arena, &to, &count, err)
            : store_edges_from(store, num, &level->arena, &from, &count, err);
    if (!ok)
        return false;
    level->ids = arena_alloc(&level->arena, (count + 1) * sizeof(struct span));
    for (size_t i = 0; i < count; i++)
        if ((climb->up ? to[i].kind : from[i].kind) == EDGE_DEPENDENCY)
            level->ids[level->count++] = climb->up ? to[i].id : from[i].to;
    return true;
}

static void branch_json(struct climb *climb, struct span id,
                        const struct job *job, bool again) {
    struct api_call *call = climb->call;
    struct json json;
    char letter[2] = {0};
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
    letter[0] = job ? job_state_letter(job->state) : '\0';
    if (job)
        json_string(&json, letter);
    else
        json_null(&json);
    json_key(&json, "again");
    json_bool(&json, again);
    json_end(&json);
    text_addc(&call->out, '\n');
}

static struct level *level_add(struct climb *climb) {
    if (climb->depth == climb->cap) {
        climb->cap = climb->cap ? climb->cap * 2 : 16;
        climb->levels =
            mem_grow(climb->levels, climb->cap, sizeof(*climb->levels));
    }
    struct level *level = &climb->levels[climb->depth++];
    *level = (struct level){0};
    return level;
}

/* Tells one, and goes on to what is behind it unless it was met before. */
static bool visit(struct climb *climb, struct span id, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job job;
    bool found;
    if (!store_lookup(climb->call->api->options.store, id, &arena, &job, &found,
                      err))
        return false;
    bool again = found && !walk_add(&climb->walk, job.num, WALK_START);
    branch_json(climb, id, found ? &job : NULL, again);
    if (!found || again)
        return true;
    struct level *level = level_add(climb);
    level->id = arena_span(&level->arena, id);
    return next_ids(climb, level, job.num, err);
}

static bool tell_tree(struct api_call *call, const struct job *job, bool up,
                      struct err *err) {
    struct climb climb = {.call = call, .up = up};
    bool ok = visit(&climb, job->id, err);
    while (ok && climb.depth > 0) {
        struct level *level = &climb.levels[climb.depth - 1];
        if (level->at < level->count) {
            ok = visit(&climb, level->ids[level->at++], err);
            continue;
        }
        arena_clear(&level->arena);
        climb.depth--;
    }
    while (climb.depth > 0)
        arena_clear(&climb.levels[--climb.depth].arena);
    free(climb.levels);
    walk_clear(&climb.walk);
    return ok;
}

/* ---- the routes ---------------------------------------------------------- */

/* ?tree: dependencies at any depth, a line each, deeper ones behind. */
static void tell(struct api_call *call, bool up) {
    static const char *const keys[] = {"tree", NULL};
    struct job job;
    struct err err = {0};
    if (!api_query_check(call, keys) || !api_job(call, &job))
        return;
    bool ok = api_query_flag(call, "tree") ? tell_tree(call, &job, up, &err)
              : up                         ? tell_dependents(call, &job, &err)
                                           : tell_depends(call, &job, &err);
    if (!ok) {
        api_fail(call, &err);
        return;
    }
    api_reply(call, 200, api_lines);
    api_end(call);
}

void api_depends(struct api_call *call) {
    tell(call, false);
}

void api_dependents(struct api_call *call) {
    tell(call, true);
}
