#include "core/rollback.h"

#include <stdlib.h>

#include "core/reason.h"
#include "core/walk.h"

struct rollback {
    const struct rollback_request *request;
    struct walk walk; /* its steps are the members, index by index */
    struct rollback_member *members;
    size_t cap;
    size_t primary; /* the next primary to ask for */
    size_t asking;  /* index of the member asked about */
    bool is_asking, later;
    size_t files;
    struct span unknown;         /* the first primary that is unknown */
    struct span lacking, lacked; /* `lacking` would be in effect without
                                    `lacked` */
};

struct rollback *rollback_new(const struct rollback_request *request) {
    struct rollback *rollback = mem_alloc(sizeof(*rollback));
    rollback->request = request;
    return rollback;
}

void rollback_free(struct rollback *rollback) {
    if (!rollback)
        return;
    walk_clear(&rollback->walk);
    free(rollback->members);
    free(rollback);
}

/* ---- the closure --------------------------------------------------------- */

static enum rollback_fate fate_of(const struct rollback_node *node) {
    bool ended = (STATE_BIT(node->state) & STATES_FINAL) != 0 &&
                 node->state != STATE_DONE;
    if (ended || node->rolled_back_by.len > 0)
        return ROLLBACK_NOTED;
    if (STATES_WAITING & STATE_BIT(node->state))
        return ROLLBACK_ABANDON;
    if (!job_kind_has(node->kind, JOB_CAN_BE_ROLLED_BACK))
        return ROLLBACK_PASSED;
    if (node->state == STATE_DONE)
        return ROLLBACK_REVERT;
    return ROLLBACK_STOP;
}

static void member_add(struct rollback *rollback,
                       const struct rollback_node *node, size_t from,
                       bool by_file) {
    if (!walk_add(&rollback->walk, node->num, from))
        return;
    size_t at = rollback->walk.count - 1;
    if (at >= rollback->cap) {
        rollback->cap = rollback->cap ? rollback->cap * 2 : 64;
        rollback->members = mem_grow(rollback->members, rollback->cap,
                                     sizeof(*rollback->members));
    }
    rollback->members[at] = (struct rollback_member){
        .node = *node,
        .fate = fate_of(node),
        .from = from,
        .depth = rollback->walk.steps[at].depth,
        .by_file = by_file,
    };
}

/* The next member whose branch continues. */
static bool next_member(struct rollback *rollback) {
    while (walk_next(&rollback->walk, &rollback->asking))
        if (rollback->members[rollback->asking].fate != ROLLBACK_NOTED)
            return true;
    return false;
}

bool rollback_next_question(struct rollback *rollback,
                            struct rollback_question *ret_question) {
    const struct rollback_request *request = rollback->request;
    if (rollback->primary < request->primary_count) {
        *ret_question = (struct rollback_question){
            .asked = ROLLBACK_ASK_PRIMARY,
            .id = request->primaries[rollback->primary]};
        return true;
    }
    if (!rollback->is_asking && !next_member(rollback))
        return false;
    rollback->is_asking = true;
    const struct rollback_node *node =
        &rollback->members[rollback->asking].node;
    *ret_question = (struct rollback_question){
        .asked = rollback->later ? ROLLBACK_ASK_LATER : ROLLBACK_ASK_DEPENDENTS,
        .id = node->id,
        .num = node->num};
    return true;
}

bool rollback_knows(const struct rollback *rollback, uint64_t num) {
    return walk_met(&rollback->walk, num);
}

void rollback_answer(struct rollback *rollback,
                     const struct rollback_node *nodes, size_t count) {
    const struct rollback_request *request = rollback->request;
    if (rollback->primary < request->primary_count) {
        if (count == 0 && rollback->unknown.p == NULL)
            rollback->unknown = request->primaries[rollback->primary];
        for (size_t i = 0; i < count; i++)
            member_add(rollback, &nodes[i], WALK_START, false);
        rollback->primary++;
        return;
    }
    for (size_t i = 0; i < count; i++)
        member_add(rollback, &nodes[i], rollback->asking, rollback->later);
    /* Only a set that landed can have others built on it. */
    bool landed = rollback->members[rollback->asking].fate == ROLLBACK_REVERT;
    rollback->later = request->files && landed && !rollback->later;
    rollback->is_asking = rollback->later;
}

void rollback_set_files(struct rollback *rollback, size_t files) {
    rollback->files = files;
}

void rollback_add_lack(struct rollback *rollback, struct span id,
                       struct span needs) {
    rollback->lacking = id;
    rollback->lacked = needs;
}

/* ---- the verdict --------------------------------------------------------- */

static void count_members(const struct rollback *rollback,
                          struct rollback_decision *decision) {
    for (size_t i = 0; i < decision->count; i++) {
        const struct rollback_member *member = &rollback->members[i];
        decision->reverts += member->fate == ROLLBACK_REVERT;
        decision->abandons += member->fate == ROLLBACK_ABANDON;
        decision->stops += member->fate == ROLLBACK_STOP;
    }
}

/* A member that cannot be rolled back together with the rest: a primary, or
 * something landed, that is on another target. */
static const struct rollback_member *
find_stranger(const struct rollback *rollback, size_t count,
              struct span target) {
    for (size_t i = 0; i < count; i++) {
        const struct rollback_member *member = &rollback->members[i];
        bool primary = member->from == WALK_START;
        bool applies =
            member->fate == ROLLBACK_REVERT || member->fate == ROLLBACK_STOP;
        if (primary && !job_kind_has(member->node.kind, JOB_CAN_BE_ROLLED_BACK))
            return member;
        if ((primary || applies) && !span_equal(member->node.target, target))
            return member;
    }
    return NULL;
}

static void report_wrong_member(const struct rollback_member *wrong,
                                struct span target, struct text *detail) {
    const struct rollback_node *node = &wrong->node;
    if (!job_kind_has(node->kind, JOB_CAN_BE_ROLLED_BACK))
        text_addf(detail, "'%.*s' is a %s: only change sets can be rolled back",
                  (int)node->id.len, node->id.p, job_kind_word(node->kind));
    else if (wrong->from == WALK_START)
        text_addf(detail,
                  "'%.*s' belongs to target '%.*s', this rollback to '%.*s': "
                  "submit a rollback for each target",
                  (int)node->id.len, node->id.p, (int)node->target.len,
                  node->target.p, (int)target.len, target.p);
    else
        text_addf(detail,
                  "'%.*s' of target '%.*s' depends on what is to be rolled "
                  "back: roll it back first",
                  (int)node->id.len, node->id.p, (int)node->target.len,
                  node->target.p);
}

static void report_nothing(const struct rollback *rollback, size_t count,
                           struct text *detail) {
    text_adds(detail, "nothing to roll back:");
    for (size_t i = 0; i < count && i < 5; i++) {
        const struct rollback_node *node = &rollback->members[i].node;
        if (rollback->members[i].fate != ROLLBACK_NOTED)
            continue;
        text_addf(detail, "%s '%.*s' ", i > 0 ? "," : "", (int)node->id.len,
                  node->id.p);
        if (node->rolled_back_by.len > 0)
            text_addf(detail, "is already rolled back by '%.*s'",
                      (int)node->rolled_back_by.len, node->rolled_back_by.p);
        else
            text_addf(detail, "%s%s",
                      node->state == STATE_FAILED ? "has " : "is ",
                      job_state_word(node->state));
    }
}

/* What waits is not counted: anybody may submit sets that depend on a bad one,
 * and they change nothing on the branch. */
static size_t applied(const struct rollback_decision *decision) {
    return decision->reverts + decision->stops;
}

static void report_too_large(const struct rollback_request *request,
                             const struct rollback_decision *decision,
                             struct text *detail) {
    enum { NAMED = 20 };
    size_t sets = applied(decision);
    size_t named = 0;
    text_addf(detail,
              "%zu set%s with %zu file%s would be rolled back; the limits are "
              "%zu set%s and %zu file%s (--limit):",
              sets, text_plural(sets), decision->files,
              text_plural(decision->files), request->sets_max,
              text_plural(request->sets_max), request->files_max,
              text_plural(request->files_max));
    for (size_t i = 0; i < decision->count && named < NAMED; i++) {
        const struct rollback_member *member = &decision->members[i];
        if (member->fate != ROLLBACK_REVERT && member->fate != ROLLBACK_STOP)
            continue;
        text_addf(detail, " %.*s", (int)member->node.id.len, member->node.id.p);
        named++;
    }
    if (sets > named)
        text_addf(detail, " and %zu more", sets - named);
}

static bool is_too_large(const struct rollback_request *request,
                         const struct rollback_decision *decision) {
    size_t sets = applied(decision);
    return (request->sets_max > 0 && sets > request->sets_max) ||
           (request->files_max > 0 && decision->files > request->files_max);
}

void rollback_decide(struct rollback *rollback, struct arena *arena,
                     struct rollback_decision *ret_decision) {
    const struct rollback_request *request = rollback->request;
    CLEANUP(text_clear) struct text detail = TEXT_INIT;
    struct rollback_decision *decision = ret_decision;
    *decision = (struct rollback_decision){.members = rollback->members,
                                           .count = rollback->walk.count,
                                           .files = rollback->files};
    struct span target = request->target;
    if (target.len == 0 && decision->count > 0)
        target = rollback->members[0].node.target;
    count_members(rollback, decision);
    const struct rollback_member *wrong =
        find_stranger(rollback, decision->count, target);
    if (rollback->unknown.p != NULL) {
        decision->verdict = ROLLBACK_UNKNOWN;
        text_addf(&detail, "no job '%.*s'", (int)rollback->unknown.len,
                  rollback->unknown.p);
    } else if (wrong) {
        decision->verdict = ROLLBACK_TARGET;
        report_wrong_member(wrong, target, &detail);
    } else if (decision->reverts + decision->abandons + decision->stops == 0) {
        decision->verdict = ROLLBACK_NOTHING;
        report_nothing(rollback, decision->count, &detail);
    } else if (is_too_large(request, decision)) {
        decision->verdict = ROLLBACK_TOO_LARGE;
        report_too_large(request, decision, &detail);
    } else if (rollback->lacking.len > 0) {
        decision->verdict = ROLLBACK_LACKS;
        text_addf(&detail,
                  "'%.*s' would be in effect again without '%.*s', which it "
                  "depends on: also roll back the rollback of that set",
                  (int)rollback->lacking.len, rollback->lacking.p,
                  (int)rollback->lacked.len, rollback->lacked.p);
    }
    decision->detail = arena_span(arena, text_span(&detail));
}

const char *rollback_fate_word(enum rollback_fate fate) {
    static const char *const words[] = {
        [ROLLBACK_REVERT] = "revert", [ROLLBACK_ABANDON] = "abandon",
        [ROLLBACK_STOP] = "stop",     [ROLLBACK_NOTED] = "nothing",
        [ROLLBACK_PASSED] = "stays",
    };
    return words[fate];
}

const char *rollback_verdict_reason(enum rollback_verdict verdict) {
    static const char *const words[] = {
        [ROLLBACK_GO] = "",
        [ROLLBACK_NOTHING] = REASON_RB_NOTHING,
        [ROLLBACK_UNKNOWN] = "rb-unknown",
        [ROLLBACK_TARGET] = "rb-target",
        [ROLLBACK_TOO_LARGE] = "rb-too-large",
        [ROLLBACK_LACKS] = "rb-lacks",
    };
    return words[verdict];
}
