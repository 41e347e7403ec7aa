#include "scheduler/check_result.h"

#include "core/reason.h"

extern const struct store_step check_result_steps[]; /* schema/NNN.sql */

enum { FIND, ADD, FORGET, SETTLE, PRUNE };

/* clang-format off */
static const char *const statements[] = {
    [FIND] = "SELECT passed, failed FROM check_result WHERE key = ?1",
    [ADD] =
        ("INSERT INTO check_result (key, target, tree, passed, failed) "
         "VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (key) DO UPDATE SET "
         "passed = CASE WHEN excluded.passed > 0 THEN excluded.passed "
         "ELSE check_result.passed END, "
         "failed = CASE WHEN excluded.failed > 0 THEN excluded.failed "
         "ELSE check_result.failed END"),
    [FORGET] = "DELETE FROM check_result WHERE target = ?1",
    [SETTLE] =
        "UPDATE check_result SET failed = 0 WHERE target = ?1 AND passed > 0",
    [PRUNE] =
        ("DELETE FROM check_result WHERE target = ?1 AND passed < ?2 "
         "AND failed < ?2"),
};
/* clang-format on */

static bool add_operate(struct store_operation *operation, void *args,
                        struct err *err) {
    const struct check_result *result = args;
    operation->result = STORE_DONE;
    return store_run(
        operation->tables, &check_result_noun, ADD,
        STORE_VALUES(store_text(result->key), store_text(result->target),
                     store_text(result->tree),
                     store_number(result->passed ? result->at.ns : 0),
                     store_number(result->passed ? 0 : result->at.ns)),
        NULL, err);
}

static bool change(struct store_operation *operation, unsigned statement,
                   struct span target, struct span reason, struct err *err) {
    operation->result = STORE_DONE;
    return store_run(operation->tables, &check_result_noun, statement,
                     STORE_VALUES(store_text(target)), NULL, err) &&
           store_operation_event(operation, EVENT_TRAIN, target, reason,
                                 SPAN(""), err);
}

static bool forget_operate(struct store_operation *operation, void *args,
                           struct err *err) {
    return change(operation, FORGET, *(const struct span *)args,
                  SPAN(REASON_FORGOTTEN), err);
}

static bool settle_operate(struct store_operation *operation, void *args,
                           struct err *err) {
    return change(operation, SETTLE, *(const struct span *)args,
                  SPAN(REASON_RECHECK), err);
}

static bool prune_operate(struct store_operation *operation, void *args,
                          struct err *err) {
    const struct check_result *before = args;
    operation->result = STORE_DONE;
    return store_run(
        operation->tables, &check_result_noun, PRUNE,
        STORE_VALUES(store_text(before->target), store_number(before->at.ns)),
        NULL, err);
}

unsigned check_result_add(struct store_batch *batch,
                          const struct check_result *result) {
    struct arena *arena = store_batch_arena(batch);
    struct check_result *args = arena_alloc(arena, sizeof(*args));
    *args = *result;
    args->key = arena_span(arena, result->key);
    args->target = arena_span(arena, result->target);
    args->tree = arena_span(arena, result->tree);
    return store_operation_add(batch, add_operate, args);
}

static unsigned add_for_target(struct store_batch *batch, struct span target,
                               store_operate *operate) {
    struct arena *arena = store_batch_arena(batch);
    struct span *args = arena_alloc(arena, sizeof(*args));
    *args = arena_span(arena, target);
    return store_operation_add(batch, operate, args);
}

unsigned check_result_forget(struct store_batch *batch, struct span target) {
    return add_for_target(batch, target, forget_operate);
}

unsigned check_result_settle(struct store_batch *batch, struct span target) {
    return add_for_target(batch, target, settle_operate);
}

unsigned check_result_prune(struct store_batch *batch, struct span target,
                            struct wall before) {
    struct arena *arena = store_batch_arena(batch);
    struct check_result *args = arena_alloc(arena, sizeof(*args));
    *args = (struct check_result){.target = arena_span(arena, target),
                                  .at = before};
    return store_operation_add(batch, prune_operate, args);
}

bool check_result_find(struct store *store, struct span key,
                       struct train_record *ret_record, struct err *err) {
    CLEANUP(store_query_end) struct store_query query = {0};
    bool found;
    *ret_record = (struct train_record){0};
    if (!store_query_begin(&query, store_tables(store), &check_result_noun,
                           FIND, STORE_VALUES(store_text(key)), err) ||
        !store_query_next(&query, &found, err))
        return false;
    if (found)
        *ret_record = (struct train_record){{store_query_number(&query, 0)},
                                            {store_query_number(&query, 1)}};
    return true;
}

const struct store_noun check_result_noun = {
    .name = "check-result",
    .steps = check_result_steps,
    .statements = statements,
    .statement_count = COUNT(statements),
};
