/* Previews a rollback: the same decision as the rollback itself makes. */
#include "api/api_call.h"
#include "api/api_handlers.h"
#include "api/api_rollback.h"

#include <stdlib.h>

#include "base/base.h"

enum { IDS_MAX = 1000, SETS_DEFAULT = 50 };

/* The members as a tree: each below the member that led to it. */
struct tree {
    const struct rollback_decision *decision;
    size_t *first, *next; /* SIZE_MAX: none */
    size_t *roots;
    size_t root_count;
};

static void tree_make(const struct rollback_decision *decision,
                      struct arena *arena, struct tree *ret_tree) {
    size_t count = decision->count;
    *ret_tree = (struct tree){
        .decision = decision,
        .first = arena_alloc(arena, (count + 1) * sizeof(size_t)),
        .next = arena_alloc(arena, (count + 1) * sizeof(size_t)),
        .roots = arena_alloc(arena, (count + 1) * sizeof(size_t)),
    };
    for (size_t i = 0; i < count; i++)
        ret_tree->first[i] = ret_tree->next[i] = SIZE_MAX;
    /* From the last to the first, so that children keep their order. */
    for (size_t i = count; i-- > 0;) {
        size_t from = decision->members[i].from;
        if (from == SIZE_MAX)
            continue;
        ret_tree->next[i] = ret_tree->first[from];
        ret_tree->first[from] = i;
    }
    for (size_t i = 0; i < count; i++)
        if (decision->members[i].from == SIZE_MAX)
            ret_tree->roots[ret_tree->root_count++] = i;
}

static bool member_json(struct api_call *call, const struct tree *tree,
                        size_t at, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const struct rollback_member *member = &tree->decision->members[at];
    const struct rollback_node *node = &member->node;
    struct json json;
    struct job job;

    if (!store_job(call->api->options.store, node->num, &arena, &job, err))
        return false;
    json_open(&json, &call->out);
    json_object(&json);
    json_key(&json, "id");
    json_span(&json, node->id);
    json_key(&json, "kind");
    json_string(&json, job_kind_word(node->kind));
    json_key(&json, "class");
    json_string(&json, job_class_word(node->job_class));
    json_key(&json, "state");
    json_string(&json, job_state_word(node->state));
    json_key(&json, "fate");
    json_string(&json, rollback_fate_word(member->fate));
    json_key(&json, "depth");
    json_i64(&json, member->depth);
    json_key(&json, "because_of");
    if (member->from == SIZE_MAX)
        json_null(&json);
    else
        json_span(&json, tree->decision->members[member->from].node.id);
    json_key(&json, "by_file");
    json_bool(&json, member->by_file);
    json_key(&json, "by_group");
    json_bool(&json, node->by_group);
    json_key(&json, "files");
    json_i64(&json, (int64_t)node->files);
    json_key(&json, "rolled_back_by");
    json_span(&json, node->rolled_back_by);
    json_key(&json, "name");
    json_span(&json, job.name);
    json_key(&json, "sum");
    json_span(&json, job.sum);
    json_key(&json, "admitted_ns");
    json_u64_string(&json, (uint64_t)job.admitted.ns);
    json_key(&json, "seq");
    json_u64_string(&json, node->state_seq);
    json_end(&json);
    text_addc(&call->out, '\n');
    return true;
}

static bool tree_json(struct api_call *call, const struct tree *tree,
                      struct err *err) {
    size_t *stack = arena_alloc(&call->arena, (2 * tree->decision->count + 1) *
                                                  sizeof(*stack));
    for (size_t i = 0; i < tree->root_count; i++) {
        size_t depth = 0;
        stack[depth++] = tree->roots[i];
        while (depth > 0) {
            size_t at = stack[--depth];
            if (!member_json(call, tree, at, err))
                return false;
            if (at != tree->roots[i] && tree->next[at] != SIZE_MAX)
                stack[depth++] = tree->next[at];
            if (tree->first[at] != SIZE_MAX)
                stack[depth++] = tree->first[at];
        }
    }
    return true;
}

/* Below the rollback that had rolled it back, if that is a member. */
static unsigned depth_of(const struct rollback_plan *plan, struct span of) {
    for (size_t i = 0; i < plan->decision.count; i++)
        if (span_equal(plan->decision.members[i].node.id, of))
            return plan->decision.members[i].depth + 1;
    return 1;
}

static void return_json(struct api_call *call, const struct rollback_plan *plan,
                        const struct rollback_return *back) {
    struct json json;

    json_open(&json, &call->out);
    json_object(&json);
    json_key(&json, "id");
    json_span(&json, back->job.id);
    json_key(&json, "kind");
    json_string(&json, job_kind_word(back->job.kind));
    json_key(&json, "class");
    json_string(&json, job_class_word(back->job.job_class));
    json_key(&json, "state");
    json_string(&json, job_state_word(back->job.state));
    json_key(&json, "fate");
    json_string(&json, "restore");
    json_key(&json, "depth");
    json_i64(&json, depth_of(plan, back->of));
    json_key(&json, "because_of");
    json_span(&json, back->of);
    json_key(&json, "rolled_back_by");
    json_span(&json, back->of);
    json_end(&json);
    text_addc(&call->out, '\n');
}

static void summary_json(struct api_call *call,
                         const struct rollback_plan *plan) {
    const struct rollback_decision *decision = &plan->decision;
    const char *reason = rollback_verdict_reason(decision->verdict);
    struct json json;

    json_open(&json, &call->out);
    json_object(&json);
    json_key(&json, "verdict");
    json_string(&json, reason[0] == '\0' ? "go" : reason);
    json_key(&json, "detail");
    json_span(&json, decision->detail);
    json_key(&json, "target");
    json_span(&json, decision->count > 0 ? decision->members[0].node.target
                                         : SPAN(""));
    json_key(&json, "reverts");
    json_i64(&json, (int64_t)decision->reverts);
    json_key(&json, "abandons");
    json_i64(&json, (int64_t)decision->abandons);
    json_key(&json, "stops");
    json_i64(&json, (int64_t)decision->stops);
    json_key(&json, "restores");
    json_i64(&json, (int64_t)plan->return_count);
    json_key(&json, "files");
    json_i64(&json, (int64_t)decision->files);
    json_end(&json);
    text_addc(&call->out, '\n');
}

static bool limits_of(struct api_call *call,
                      struct rollback_plan_limits *ret_limits) {
    const struct base *base = call->api->options.base;
    struct span closure = api_query(call, "closure");
    struct err err = {0};
    uint64_t limit =
        base ? (uint64_t)base->config.queue.rollback_max : SETS_DEFAULT;
    ret_limits->files =
        base && base->config.queue.closure == CLOSURE_DEPS_FILES;
    if (!api_query_u64(call, "limit", 1000000, &limit))
        return false;
    ret_limits->sets_max = (size_t)limit;
    if (closure.p != NULL)
        ret_limits->files = span_is(closure, "deps+files");
    if (closure.p == NULL || ret_limits->files || span_is(closure, "deps"))
        return true;
    err_set(&err, ERR_USAGE, "'--closure' is deps or deps+files, not '%.*s'",
            (int)closure.len, closure.p);
    api_fail(call, &err);
    return false;
}

bool api_rollback_plan(struct api_call *call, struct rollback_plan *ret_plan) {
    static const char *const keys[] = {"ids", "closure", "limit", NULL};
    struct rollback_plan_limits limits = {0};
    struct span ids[IDS_MAX], rest;
    size_t count = 0;
    struct err err = {0};

    if (!api_query_check(call, keys) || !limits_of(call, &limits))
        return false;
    rest = api_query(call, "ids");
    while (rest.len > 0 && count < IDS_MAX && span_cut(&rest, ',', &ids[count]))
        count++;
    if (count == 0 || rest.len > 0) {
        err_set(&err, ERR_USAGE, "'ids' takes 1 to %d ids, separated by commas",
                IDS_MAX);
        api_fail(call, &err);
        return false;
    }
    if (rollback_plan_preview(call->api->options.store, ids, count, &limits,
                              ret_plan, &err))
        return true;
    rollback_plan_clear(ret_plan);
    api_fail(call, &err);
    return false;
}

/* A summary, one line per member, and one line per set that would be in effect
 * again. */
void api_rollback(struct api_call *call) {
    struct rollback_plan plan;
    struct tree tree;
    struct err err = {0};

    if (!api_rollback_plan(call, &plan))
        return;
    api_reply(call, 200, api_lines);
    summary_json(call, &plan);
    tree_make(&plan.decision, &call->arena, &tree);
    bool ok = tree_json(call, &tree, &err);
    for (size_t i = 0; ok && i < plan.return_count; i++)
        return_json(call, &plan, &plan.returns[i]);
    rollback_plan_clear(&plan);
    if (ok)
        api_end(call);
    else
        api_fail(call, &err);
}
