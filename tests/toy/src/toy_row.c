#include "toy/toy_row.h"

#include <string.h>

extern const struct store_step toy_row_steps[]; /* schema/NNN.sql */

enum { ADD, SQUEAK, LIST, DUE };

static const char *const statements[] = {
    [ADD] = "INSERT INTO toy (name, num, squeaked) VALUES (?1, ?2, 0)",
    [SQUEAK] = "UPDATE toy SET squeaked = 1 WHERE name = ?1 AND squeaked = 0",
    [LIST] = "SELECT name, num, squeaked FROM toy ORDER BY name",
    [DUE] = "SELECT t.name, t.num, t.squeaked FROM toy t "
            "JOIN job j ON j.num = t.num "
            "WHERE t.squeaked = 0 AND j.state = 'D' ORDER BY t.name",
};

const struct store_noun toy_noun = {
    .name = "toy",
    .steps = toy_row_steps,
    .statements = statements,
    .statement_count = COUNT(statements),
};

struct add_args {
    struct span name;
    unsigned job;
};

static bool add_operate(struct store_operation *operation, void *args,
                        struct err *err) {
    const struct add_args *add = args;
    uint64_t num = store_operation_admitted(operation, add->job);
    if (num == 0) {
        operation->result = STORE_CONFLICT;
        return true;
    }
    return store_run(
        operation->tables, &toy_noun, ADD,
        STORE_VALUES(store_text(add->name), store_number((int64_t)num)), NULL,
        err);
}

unsigned toy_row_add(struct store_batch *batch, struct span name,
                     unsigned job) {
    struct arena *arena = store_batch_arena(batch);
    struct add_args *args = arena_alloc(arena, sizeof(*args));
    *args = (struct add_args){arena_span(arena, name), job};
    return store_operation_add(batch, add_operate, args);
}

static bool squeak_operate(struct store_operation *operation, void *args,
                           struct err *err) {
    const struct span *name = args;
    uint64_t changed;
    if (!store_run(operation->tables, &toy_noun, SQUEAK,
                   STORE_VALUES(store_text(*name)), &changed, err))
        return false;
    if (changed == 0)
        operation->result = STORE_CONFLICT;
    return true;
}

unsigned toy_row_squeak(struct store_batch *batch, struct span name) {
    struct arena *arena = store_batch_arena(batch);
    struct span *args = arena_alloc(arena, sizeof(*args));
    *args = arena_span(arena, name);
    return store_operation_add(batch, squeak_operate, args);
}

bool toy_row_list(struct store *store, bool only_due, struct arena *arena,
                  struct toy_row **ret_rows, size_t *ret_count,
                  struct err *err) {
    CLEANUP(store_query_end) struct store_query query = {0};
    size_t count = 0, cap = 0;
    struct toy_row *rows = NULL;
    bool more, ok;
    if (!store_query_begin(&query, store_tables(store), &toy_noun,
                           only_due ? DUE : LIST, NULL, 0, err))
        return false;
    while ((ok = store_query_next(&query, &more, err)) && more) {
        if (count == cap) {
            struct toy_row *grown =
                arena_alloc(arena, (cap = 2 * cap + 16) * sizeof(*rows));
            if (count > 0)
                memcpy(grown, rows, count * sizeof(*rows));
            rows = grown;
        }
        rows[count++] = (struct toy_row){
            .name = store_query_text(&query, 0, arena),
            .num = (uint64_t)store_query_number(&query, 1),
            .squeaked = store_query_number(&query, 2) != 0,
        };
    }
    *ret_rows = rows;
    *ret_count = count;
    return ok;
}
