#include "scheduler/rollback_plan.h"

#include <stdlib.h>

#include "lib/map.h"
#include "scheduler/group_read.h"
#include "scheduler/rollback_effects.h"
#include "wire/meta.h"
#include "wire/set_spec.h"

/* The limit of files grows with that of sets (--limit, rollback-max). */
enum { FILES_MAX = 5000, FILES_PER_SET = 100 };

/* State while a plan is made. */
struct asking {
    struct store *store;
    struct rollback_plan *plan;
    uint64_t since_seq;
    const struct rollback_entry *entries;
    size_t entry_count;
    struct rollback_node *nodes; /* the answer being collected */
    size_t count, cap;
    struct map paths; /* that the rollback changes */
};

void rollback_plan_clear(struct rollback_plan *plan) {
    rollback_free(plan->rollback);
    arena_clear(&plan->arena);
    *plan = (struct rollback_plan){0};
}

static size_t files_max_of(size_t sets_max) {
    size_t files = sets_max * FILES_PER_SET;
    return files > FILES_MAX ? files : FILES_MAX;
}

/* ---- facts --------------------------------------------------------------- */

static enum job_state state_of(const struct asking *asking,
                               const struct job *job) {
    if (job->state != STATE_ABANDONED)
        return job->state;
    for (size_t i = 0; i < asking->entry_count; i++) {
        enum job_state was = asking->entries[i].was;
        if (asking->entries[i].num != job->num)
            continue;
        /* A job that was running must wait when it comes back. */
        return (STATES_WAITING & STATE_BIT(was)) ? was : STATE_PENDING;
    }
    return job->state;
}

static bool node_add(struct asking *asking, const struct job *job,
                     struct err *err) {
    struct arena scratch = ARENA_INIT;
    struct job_touch *touches;
    size_t files = 0;
    bool ok =
        !job_has(job, JOB_CAN_BE_ROLLED_BACK) ||
        store_touches(asking->store, job->num, &scratch, &touches, &files, err);
    arena_clear(&scratch);
    if (!ok)
        return false;
    if (asking->count == asking->cap) {
        asking->cap = asking->cap ? asking->cap * 2 : 16;
        asking->nodes =
            mem_grow(asking->nodes, asking->cap, sizeof(*asking->nodes));
    }
    asking->nodes[asking->count++] = (struct rollback_node){
        .num = job->num,
        .id = arena_span(&asking->plan->arena, job->id),
        .kind = job->kind,
        .job_class = job->job_class,
        .state = state_of(asking, job),
        .target = arena_span(&asking->plan->arena, job->target),
        .rolled_back_by = arena_span(&asking->plan->arena, job->rolled_back_by),
        .files = files,
        .state_seq = job->state_seq,
    };
    return true;
}

static bool answer_primary(struct asking *asking, struct span id,
                           struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job job;
    bool found;
    if (!store_lookup(asking->store, id, &arena, &job, &found, err))
        return false;
    return !found || node_add(asking, &job, err);
}

static bool waits_outside(const struct asking *asking, const struct job *job) {
    return asking->since_seq > 0 && job->admitted_seq > asking->since_seq &&
           (job->state == STATE_QUEUED || job->state == STATE_STAGED);
}

static bool add_num(struct asking *asking, uint64_t num, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job job;
    if (!store_job(asking->store, num, &arena, &job, err))
        return false;
    return waits_outside(asking, &job) || node_add(asking, &job, err);
}

static bool add_dependents(struct asking *asking, struct span id,
                           struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_edge_to *edges;
    size_t count;
    if (!store_edges_to(asking->store, id, &arena, &edges, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (edges[i].kind == EDGE_DEPENDENCY &&
            !rollback_knows(asking->plan->rollback, edges[i].num) &&
            !add_num(asking, edges[i].num, err))
            return false;
    return true;
}

static bool is_in_effect(const struct job *job) {
    return job->state == STATE_DONE && job->rolled_back_by.len == 0;
}

enum { CHAIN_MAX = 64 };

/* True if a set that supersedes this one, at any depth, is in effect and is not
 * rolled back now (O10). */
static bool is_served(struct asking *asking, struct span id, unsigned depth,
                      bool *ret_served, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_edge_to *edges;
    size_t count;
    *ret_served = false;
    if (depth == CHAIN_MAX)
        return true;
    if (!store_edges_to(asking->store, id, &arena, &edges, &count, err))
        return false;
    for (size_t i = 0; i < count && !*ret_served; i++) {
        struct job job;
        if (edges[i].kind != EDGE_SUPERSEDES)
            continue;
        if (!store_job(asking->store, edges[i].num, &arena, &job, err))
            return false;
        *ret_served = is_in_effect(&job) &&
                      !rollback_knows(asking->plan->rollback, job.num);
        if (!*ret_served &&
            !is_served(asking, job.id, depth + 1, ret_served, err))
            return false;
    }
    return true;
}

/* The dependents of a set that this one supersedes depend on this one, unless
 * another successor serves them; `depth` ends a cycle of them, which cannot
 * normally exist. */
static bool answer_dependents(struct asking *asking, struct span id,
                              uint64_t num, unsigned depth, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job_edge *edges;
    size_t count;
    bool served = false;
    if (depth > 0 && !is_served(asking, id, 0, &served, err))
        return false;
    if ((!served && !add_dependents(asking, id, err)) ||
        !store_edges_from(asking->store, num, &arena, &edges, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct job old;
        bool found;
        if (edges[i].kind != EDGE_SUPERSEDES || depth == CHAIN_MAX)
            continue;
        if (!store_lookup(asking->store, edges[i].to, &arena, &old, &found,
                          err))
            return false;
        if (found &&
            !answer_dependents(asking, old.id, old.num, depth + 1, err))
            return false;
    }
    return true;
}

/* Sets that a rollback had restored are rolled back with it, and so are their
 * dependents. */
static bool answer_changed(struct asking *asking, uint64_t num,
                           struct err *err) {
    CLEANUP(rollback_effects_clear) struct rollback_effects effects = {0};
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job rb;
    if (!store_job(asking->store, num, &arena, &rb, err))
        return false;
    if (!job_has(&rb, JOB_ROLLS_BACK) || rb.state != STATE_DONE)
        return true;
    if (!rollback_effects_make(asking->store, SPAN("this one"), &num, 1,
                               &effects, err))
        return false;
    for (size_t i = 0; i < effects.count; i++)
        if (effects.changed[i]->now.len > 0 &&
            !rollback_knows(asking->plan->rollback,
                            effects.changed[i]->job.num) &&
            !node_add(asking, &effects.changed[i]->job, err))
            return false;
    return true;
}

/* Sets that landed together are rolled back together. */
static bool answer_group(struct asking *asking, uint64_t num, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job job, *members;
    size_t count;
    if (!store_job(asking->store, num, &arena, &job, err))
        return false;
    if (!job_has(&job, JOB_LANDS) || !is_in_effect(&job))
        return true;
    if (!group_members_read(asking->store, &job, &arena, &members, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!is_in_effect(&members[i]) ||
            rollback_knows(asking->plan->rollback, members[i].num))
            continue;
        if (!node_add(asking, &members[i], err))
            return false;
        asking->nodes[asking->count - 1].by_group = true;
    }
    return true;
}

static bool landed_later(const struct job *job, const struct job *than) {
    return job_has(job, JOB_LANDS) && job->state == STATE_DONE &&
           job->rolled_back_by.len == 0 && job->state_seq > than->state_seq &&
           span_equal(job->target, than->target);
}

static bool answer_later(struct asking *asking, uint64_t num, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job job;
    struct job_touch *touches;
    size_t count;
    if (!store_job(asking->store, num, &arena, &job, err) ||
        !store_touches(asking->store, num, &arena, &touches, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        CLEANUP(arena_clear) struct arena page = ARENA_INIT;
        struct job *jobs;
        size_t job_count;
        if (!store_touching(asking->store, touches[i].path, 0, &page, &jobs,
                            &job_count, err))
            return false;
        for (size_t k = 0; k < job_count; k++)
            if (landed_later(&jobs[k], &job) &&
                !rollback_knows(asking->plan->rollback, jobs[k].num) &&
                !node_add(asking, &jobs[k], err))
                return false;
    }
    return true;
}

static bool answer(struct asking *asking,
                   const struct rollback_question *question, struct err *err) {
    asking->count = 0;
    switch (question->asked) {
    case ROLLBACK_ASK_PRIMARY:
        return answer_primary(asking, question->id, err);
    case ROLLBACK_ASK_DEPENDENTS:
        return answer_dependents(asking, question->id, question->num, 0, err) &&
               answer_changed(asking, question->num, err) &&
               answer_group(asking, question->num, err);
    case ROLLBACK_ASK_LATER:
        return answer_later(asking, question->num, err);
    }
    return true;
}

/* ---- restored sets ------------------------------------------------------- */

/* True if the set, or a set that supersedes it (O10), will be in effect. */
static bool will_be_in_effect(struct asking *asking,
                              const struct rollback_effects *effects,
                              struct span id, unsigned depth, bool *ret_serves,
                              struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_edge_to *edges;
    struct job job;
    size_t count;
    bool found;
    if (!store_lookup(asking->store, id, &arena, &job, &found, err))
        return false;
    const struct rollback_effect *effect =
        found ? rollback_effects_find(effects, job.num) : NULL;
    struct span mark = effect ? effect->now : job.rolled_back_by;
    *ret_serves = found && job.state == STATE_DONE && mark.len == 0;
    if (*ret_serves || depth == CHAIN_MAX)
        return true;
    if (!store_edges_to(asking->store, id, &arena, &edges, &count, err))
        return false;
    for (size_t i = 0; i < count && !*ret_serves; i++)
        if (edges[i].kind == EDGE_SUPERSEDES &&
            !will_be_in_effect(asking, effects, edges[i].id, depth + 1,
                               ret_serves, err))
            return false;
    return true;
}

static bool check_needs(struct asking *asking,
                        const struct rollback_effects *effects,
                        const struct rollback_effect *effect, struct err *err) {
    struct arena *arena = &asking->plan->arena;
    struct job_edge *edges;
    size_t count;
    bool serves = true;
    if (!store_edges_from(asking->store, effect->job.num, arena, &edges, &count,
                          err))
        return false;
    for (size_t i = 0; i < count && serves; i++) {
        if (edges[i].kind != EDGE_DEPENDENCY)
            continue;
        if (!will_be_in_effect(asking, effects, edges[i].to, 0, &serves, err))
            return false;
        if (!serves)
            rollback_add_lack(asking->plan->rollback,
                              arena_span(arena, effect->job.id), edges[i].to);
    }
    return true;
}

/* A file that several sets touch counts once. */
static bool add_files(struct asking *asking, uint64_t num, struct err *err) {
    struct job_touch *touches;
    size_t count;
    if (!store_touches(asking->store, num, &asking->plan->arena, &touches,
                       &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        (void)map_put(&asking->paths, touches[i].path, asking);
    return true;
}

static void decide(struct asking *asking) {
    struct rollback_plan *plan = asking->plan;
    rollback_set_files(plan->rollback, map_count(&asking->paths));
    rollback_decide(plan->rollback, &plan->arena, &plan->decision);
}

/* Checks all sets that a rollback among the members had rolled back. */
static bool check_returns(struct asking *asking, struct err *err) {
    CLEANUP(rollback_effects_clear) struct rollback_effects effects = {0};
    struct rollback_plan *plan = asking->plan;
    const struct rollback_decision *decision = &plan->decision;
    uint64_t *nums =
        arena_alloc(&plan->arena, (decision->count + 1) * sizeof(*nums));
    size_t count = 0;
    for (size_t i = 0; i < decision->count; i++)
        if (decision->members[i].fate == ROLLBACK_REVERT)
            nums[count++] = decision->members[i].node.num;
    if (!rollback_effects_make(asking->store, SPAN("this one"), nums, count,
                               &effects, err))
        return false;
    plan->returns =
        arena_alloc(&plan->arena, (effects.count + 1) * sizeof(*plan->returns));
    for (size_t i = 0; i < effects.count; i++) {
        const struct rollback_effect *effect = effects.changed[i];
        if (effect->now.len > 0)
            continue;
        struct rollback_return *back = &plan->returns[plan->return_count++];
        job_copy(&plan->arena, &effect->job, &back->job);
        back->of = arena_span(&plan->arena, effect->was);
        if (!check_needs(asking, &effects, effect, err) ||
            !add_files(asking, effect->job.num, err))
            return false;
    }
    decide(asking);
    return true;
}

/* ---- questions ----------------------------------------------------------- */

static bool decide_all(struct asking *asking, struct err *err) {
    const struct rollback_decision *decision = &asking->plan->decision;
    decide(asking); /* who is a member */
    for (size_t i = 0; i < decision->count; i++) {
        const struct rollback_node *node = &decision->members[i].node;
        enum rollback_fate fate = decision->members[i].fate;
        bool applies = fate == ROLLBACK_REVERT || fate == ROLLBACK_STOP;
        if (applies && node->files > 0 && !add_files(asking, node->num, err))
            return err_wrap(err, "cannot determine which files would change");
    }
    decide(asking);
    return decision->verdict != ROLLBACK_GO || check_returns(asking, err) ||
           err_wrap(err,
                    "cannot determine which sets would be in effect again");
}

static bool ask_all(struct asking *asking, struct err *err) {
    struct rollback_plan *plan = asking->plan;
    struct rollback_question question;
    bool ok = true;
    plan->rollback = rollback_new(&plan->request);
    while (ok && rollback_next_question(plan->rollback, &question)) {
        ok = answer(asking, &question, err);
        if (ok)
            rollback_answer(plan->rollback, asking->nodes, asking->count);
    }
    free(asking->nodes);
    if (!ok)
        return err_wrap(err, "cannot determine what a rollback would include");
    ok = decide_all(asking, err);
    map_clear(&asking->paths);
    return ok;
}

/* ---- plan of an RB ------------------------------------------------------- */

static bool read_meta(const struct job *rb, struct arena *arena,
                      struct meta *ret_meta, struct err *err) {
    struct span text;
    struct refusal why = {0};
    if (!set_spec_meta(rb->spec, arena, &text))
        return err_set(err, ERR_DATA,
                       "the registry has no meta for rollback '%.*s'",
                       (int)rb->id.len, rb->id.p);
    return meta_parse(text, NULL, arena, ret_meta, &why) ||
           err_set(err, ERR_DATA, "meta of rollback '%.*s': %s",
                   (int)rb->id.len, rb->id.p, why.text);
}

struct span rollback_because(const struct job *rb, struct arena *arena) {
    struct meta meta;
    struct err err;
    return read_meta(rb, arena, &meta, &err) ? meta.message : SPAN("");
}

static bool read_primaries(struct store *store, const struct job *rb,
                           struct rollback_plan *plan, struct err *err) {
    struct job_edge *edges;
    size_t count, kept = 0;
    if (!store_edges_from(store, rb->num, &plan->arena, &edges, &count, err))
        return false;
    struct span *ids = arena_alloc(&plan->arena, (count + 1) * sizeof(*ids));
    for (size_t i = 0; i < count; i++)
        if (edges[i].kind == EDGE_ROLLBACK)
            ids[kept++] = edges[i].to;
    plan->request.primaries = ids;
    plan->request.primary_count = kept;
    return true;
}

static bool read_options(const struct job *rb, struct rollback_plan *plan,
                         struct err *err) {
    struct meta meta;
    if (!read_meta(rb, &plan->arena, &meta, err))
        return false;
    const struct section *closure = sections_find(&meta.sections, "closure");
    if (meta.rb_limit > 0)
        plan->request.sets_max = (size_t)meta.rb_limit;
    plan->request.files_max = files_max_of(plan->request.sets_max);
    if (closure && closure->lines.count > 0)
        plan->request.files = span_is(closure->lines.items[0], "deps+files");
    return true;
}

bool rollback_plan_make(struct store *store, const struct job *rb,
                        const struct rollback_plan_limits *limits,
                        const struct rollback_entry *entries,
                        size_t entry_count,
                        struct rollback_plan *ret_rollback_plan,
                        struct err *err) {
    *ret_rollback_plan = (struct rollback_plan){
        .request = {.sets_max = limits->sets_max, .files = limits->files},
    };
    ret_rollback_plan->request.id =
        arena_span(&ret_rollback_plan->arena, rb->id);
    ret_rollback_plan->request.target =
        arena_span(&ret_rollback_plan->arena, rb->target);
    struct asking asking = {.store = store,
                            .plan = ret_rollback_plan,
                            .since_seq = limits->since_seq,
                            .entries = entries,
                            .entry_count = entry_count};
    return read_primaries(store, rb, ret_rollback_plan, err) &&
           read_options(rb, ret_rollback_plan, err) && ask_all(&asking, err);
}

bool rollback_plan_preview(struct store *store, const struct span *ids,
                           size_t count,
                           const struct rollback_plan_limits *limits,
                           struct rollback_plan *ret_rollback_plan,
                           struct err *err) {
    *ret_rollback_plan = (struct rollback_plan){
        .request = {.primaries = ids,
                    .primary_count = count,
                    .sets_max = limits->sets_max,
                    .files_max = files_max_of(limits->sets_max),
                    .files = limits->files},
    };
    struct asking asking = {.store = store, .plan = ret_rollback_plan};
    return ask_all(&asking, err);
}

/* ---- marks --------------------------------------------------------------- */

static struct rollback_entry *entry_get(struct rollback_entry *entries,
                                        size_t *count, uint64_t num) {
    for (size_t i = 0; i < *count; i++)
        if (entries[i].num == num)
            return &entries[i];
    entries[*count] = (struct rollback_entry){.num = num, .was = STATE_DONE};
    return &entries[(*count)++];
}

static enum rollback_outcome outcome_of(const struct rollback_effects *effects,
                                        struct span rb_id,
                                        const struct rollback_effect *effect) {
    if (effect->now.len == 0)
        return ROLLBACK_RESTORED;
    return rollback_effects_put_out(effects, rb_id, effect->job.num)
               ? ROLLBACK_REVERTED
               : ROLLBACK_AGAIN;
}

bool rollback_marks(struct store *store, struct store_batch *batch,
                    struct span rb_id, struct arena *arena,
                    struct rollback_entry **entries, size_t *count,
                    struct err *err) {
    CLEANUP(rollback_effects_clear) struct rollback_effects effects = {0};
    uint64_t *nums = arena_alloc(arena, (*count + 1) * sizeof(*nums));
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        if ((*entries)[i].outcome == ROLLBACK_REVERTED)
            nums[kept++] = (*entries)[i].num;
        (*entries)[i].outcome = ROLLBACK_UNTOUCHED;
    }
    if (!rollback_effects_make(store, rb_id, nums, kept, &effects, err))
        return false;
    struct rollback_entry *all =
        arena_alloc(arena, (*count + effects.count + 1) * sizeof(*all));
    if (*count > 0)
        memcpy(all, *entries, *count * sizeof(*all));
    for (size_t i = 0; i < effects.count; i++)
        entry_get(all, count, effects.changed[i]->job.num)->outcome =
            outcome_of(&effects, rb_id, effects.changed[i]);
    *entries = all;
    rollback_effects_mark(&effects, rb_id, batch);
    return true;
}
