#include "nodes/standing_row.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

extern const struct store_step standing_row_steps[]; /* schema/NNN.sql */

enum {
    LATEST,
    TAKEN,
    NEWEST,
    VERSION,
    FIND,
    LIST,
    REPLACED,
    PUT,
    FORGIVE,
    FORGIVEN,
    FORGIVES,
    ANY
};

#define COLUMNS \
    "num, version, name, definition, enabled, deleted, actor, at, seq"

/* clang-format off */
static const char *const statements[] = {
    [LATEST] =
        "SELECT seq FROM standing WHERE newest = 1 ORDER BY seq DESC LIMIT 1",
    [TAKEN] =
        "SELECT num FROM standing WHERE name = ?1 AND newest = 1 "
        "AND deleted = 0",
    [NEWEST] =
        "SELECT " COLUMNS " FROM standing WHERE num = ?1 "
        "ORDER BY version DESC LIMIT 1",
    [VERSION] =
        "SELECT " COLUMNS " FROM standing WHERE num = ?1 AND version = ?2",
    [FIND] =
        "SELECT " COLUMNS " FROM standing WHERE name = ?1 AND newest = 1 "
        "AND deleted = 0",
    [LIST] =
        "SELECT " COLUMNS " FROM standing WHERE newest = 1 AND seq > ?1 "
        "ORDER BY seq LIMIT ?2",
    [REPLACED] =
        "UPDATE standing SET newest = 0 WHERE num = ?1 AND version = ?2",
    [PUT] =
        "INSERT INTO standing (" COLUMNS ", newest) VALUES (?1, ?2, ?3, ?4, "
        "?5, ?6, ?7, ?8, ?9, 1)",
    [FORGIVE] =
        "INSERT INTO standing_forgive (seq, num, node) VALUES (?1, ?2, ?3)",
    [FORGIVEN] = "DELETE FROM standing_forgive WHERE seq = ?1",
    [FORGIVES] = "SELECT seq, num, node FROM standing_forgive ORDER BY seq",
    [ANY] =
        "SELECT num FROM standing WHERE newest = 1 AND deleted = 0 LIMIT 1",
};
/* clang-format on */

struct span standing_event_word(enum standing_event event) {
    static const char *const words[] = {
#define X(name, word) word,
        STANDING_EVENTS(X)
#undef X
    };
    return span_of(words[event]);
}

/* ---- rows ---------------------------------------------------------------- */

static struct standing_row row_of(const struct store_query *query,
                                  struct arena *arena) {
    return (struct standing_row){
        .num = (uint64_t)store_query_number(query, 0),
        .version = (uint64_t)store_query_number(query, 1),
        .name = store_query_text(query, 2, arena),
        .definition = store_query_text(query, 3, arena),
        .enabled = store_query_number(query, 4) != 0,
        .deleted = store_query_number(query, 5) != 0,
        .actor = store_query_text(query, 6, arena),
        .at = {store_query_number(query, 7)},
        .seq = (uint64_t)store_query_number(query, 8),
    };
}

static bool get(struct store_tables *tables, unsigned statement,
                const struct store_value *values, size_t count,
                struct arena *arena, struct standing_row *ret_row,
                bool *ret_found, struct err *err) {
    CLEANUP(store_query_end) struct store_query query = {0};

    if (!store_query_begin(&query, tables, &standing_noun, statement, values,
                           count, err) ||
        !store_query_next(&query, ret_found, err))
        return false;
    if (*ret_found)
        *ret_row = row_of(&query, arena);
    return true;
}

/* The number in the first row; 0: there is none. */
static bool number(struct store_tables *tables, unsigned statement,
                   const struct store_value *values, size_t count,
                   uint64_t *ret_number, struct err *err) {
    CLEANUP(store_query_end) struct store_query query = {0};
    bool found;

    *ret_number = 0;
    if (!store_query_begin(&query, tables, &standing_noun, statement, values,
                           count, err) ||
        !store_query_next(&query, &found, err))
        return false;
    if (found)
        *ret_number = (uint64_t)store_query_number(&query, 0);
    return true;
}

/* ---- what the operations do, inside the transaction ---------------------- */

struct change {
    unsigned job; /* of an added one: the operation that admits it */
    struct standing_row row;
    enum standing_event event;
    uint64_t seen;
};

/* CONFLICT if another job has changed since. */
static bool check_seen(struct store_operation *operation, uint64_t seen,
                       struct err *err) {
    uint64_t latest;

    if (seen == 0)
        return true;
    if (!number(operation->tables, LATEST, NULL, 0, &latest, err))
        return false;
    if (latest > seen)
        operation->result = STORE_CONFLICT;
    return true;
}

static bool note(struct store_operation *operation,
                 const struct standing_row *row, enum standing_event event,
                 struct span detail, struct err *err) {
    char version[24];
    struct event_facts facts = {0};

    snprintf(version, sizeof(version), "%" PRIu64, row->version);
    facts.version = span_of(version);
    return store_operation_note(operation, EVENT_STANDING, row->num,
                                standing_event_word(event), detail, &facts,
                                err);
}

/* Writes the row and its event. */
static bool put(struct store_operation *operation,
                const struct standing_row *row, enum standing_event event,
                struct err *err) {
    const struct store_value values[] = {
        store_number((int64_t)row->num),
        store_number((int64_t)row->version),
        store_text(row->name),
        store_text(row->definition),
        store_number(row->enabled),
        store_number(row->deleted),
        store_text(store_operation_actor(operation)),
        store_number(store_operation_now(operation).ns),
        store_number((int64_t)operation->next_seq),
    };

    return store_run(operation->tables, &standing_noun, PUT, values,
                     COUNT(values), NULL, err) &&
           note(operation, row, event, row->name, err);
}

static bool add_operate(struct store_operation *operation, void *args,
                        struct err *err) {
    struct change *change = args;
    struct standing_row *row = &change->row;
    uint64_t taken;

    operation->result = STORE_DONE;
    row->num = store_operation_admitted(operation, change->job);
    row->version = 1;
    if (row->num == 0)
        operation->result = STORE_CONFLICT;
    if (!check_seen(operation, change->seen, err) ||
        !number(operation->tables, TAKEN, STORE_VALUES(store_text(row->name)),
                &taken, err))
        return false;
    if (operation->result == STORE_DONE && taken != 0)
        operation->result = STORE_DUPLICATE;
    return operation->result != STORE_DONE ||
           put(operation, row, STANDING_ADDED, err);
}

static bool change_operate(struct store_operation *operation, void *args,
                           struct err *err) {
    struct change *change = args;
    struct standing_row *row = &change->row, was;
    bool found;

    operation->result = STORE_DONE;
    if (!get(operation->tables, NEWEST,
             STORE_VALUES(store_number((int64_t)row->num)), operation->arena,
             &was, &found, err) ||
        !check_seen(operation, change->seen, err))
        return false;
    if (!found || was.deleted)
        operation->result = STORE_UNKNOWN;
    else if (was.version != row->version)
        operation->result = STORE_CONFLICT;
    if (operation->result != STORE_DONE)
        return true;
    row->version++;
    return store_run(operation->tables, &standing_noun, REPLACED,
                     STORE_VALUES(store_number((int64_t)row->num),
                                  store_number((int64_t)was.version)),
                     NULL, err) &&
           put(operation, row, change->event, err);
}

static bool forgive_operate(struct store_operation *operation, void *args,
                            struct err *err) {
    CLEANUP(text_clear) struct text detail = TEXT_INIT;
    const struct standing_forgive *forgive = args;
    struct standing_row row;
    bool found;

    operation->result = STORE_DONE;
    if (!get(operation->tables, NEWEST,
             STORE_VALUES(store_number((int64_t)forgive->num)),
             operation->arena, &row, &found, err))
        return false;
    if (!found || row.deleted) {
        operation->result = STORE_UNKNOWN;
        return true;
    }
    text_addspan(&detail, row.name);
    if (forgive->node.len > 0)
        text_addf(&detail, " %.*s", (int)forgive->node.len, forgive->node.p);
    return store_run(operation->tables, &standing_noun, FORGIVE,
                     STORE_VALUES(store_number((int64_t)operation->next_seq),
                                  store_number((int64_t)forgive->num),
                                  store_text(forgive->node)),
                     NULL, err) &&
           note(operation, &row, STANDING_FORGIVEN,
                arena_span(operation->arena, text_span(&detail)), err);
}

static bool forgiven_operate(struct store_operation *operation, void *args,
                             struct err *err) {
    uint64_t changed = 0;
    bool ok = store_run(
        operation->tables, &standing_noun, FORGIVEN,
        STORE_VALUES(store_number((int64_t) * (const uint64_t *)args)),
        &changed, err);

    operation->result = changed > 0 ? STORE_DONE : STORE_UNKNOWN;
    return ok;
}

/* ---- writing ------------------------------------------------------------- */

static struct change *copy(struct store_batch *batch,
                           const struct standing_row *row, uint64_t seen) {
    struct arena *arena = store_batch_arena(batch);
    struct change *change = arena_alloc(arena, sizeof(*change));

    change->row = *row;
    change->row.name = arena_span(arena, row->name);
    change->row.definition = arena_span(arena, row->definition);
    change->seen = seen;
    return change;
}

unsigned standing_row_add(struct store_batch *batch, unsigned job,
                          const struct standing_row *row, uint64_t seen) {
    struct change *change = copy(batch, row, seen);

    change->job = job;
    return store_operation_add(batch, add_operate, change);
}

unsigned standing_row_change(struct store_batch *batch,
                             const struct standing_row *row,
                             enum standing_event event, uint64_t seen) {
    struct change *change = copy(batch, row, seen);

    change->event = event;
    return store_operation_add(batch, change_operate, change);
}

unsigned standing_row_forgive(struct store_batch *batch, uint64_t num,
                              struct span node) {
    struct arena *arena = store_batch_arena(batch);
    struct standing_forgive *args = arena_alloc(arena, sizeof(*args));

    args->num = num;
    args->node = arena_span(arena, node);
    return store_operation_add(batch, forgive_operate, args);
}

unsigned standing_row_forgiven(struct store_batch *batch, uint64_t seq) {
    uint64_t *args = arena_alloc(store_batch_arena(batch), sizeof(*args));

    *args = seq;
    return store_operation_add(batch, forgiven_operate, args);
}

/* ---- reading ------------------------------------------------------------- */

/* Room for one more row in the arena. */
static void *grow(struct arena *arena, void *rows, size_t count, size_t *room,
                  size_t bytes) {
    void *more;

    if (count < *room)
        return rows;
    *room = *room * 2 + 16;
    more = arena_alloc(arena, *room * bytes);
    if (count > 0)
        memcpy(more, rows, count * bytes);
    return more;
}

bool standing_row_list(struct store *store, uint64_t after, size_t limit,
                       struct arena *arena, struct standing_row **ret_rows,
                       size_t *ret_count, struct err *err) {
    CLEANUP(store_query_end) struct store_query query = {0};
    int64_t most = limit == 0 ? INT64_MAX : (int64_t)limit;
    size_t room = 0;
    bool found;

    *ret_rows = NULL;
    *ret_count = 0;
    if (!store_query_begin(
            &query, store_tables(store), &standing_noun, LIST,
            STORE_VALUES(store_number((int64_t)after), store_number(most)),
            err))
        return false;
    while (store_query_next(&query, &found, err)) {
        if (!found)
            return true;
        *ret_rows =
            grow(arena, *ret_rows, *ret_count, &room, sizeof(**ret_rows));
        (*ret_rows)[(*ret_count)++] = row_of(&query, arena);
    }
    return false;
}

bool standing_row_find(struct store *store, struct span name,
                       struct arena *arena, struct standing_row *ret_row,
                       bool *ret_found, struct err *err) {
    return get(store_tables(store), FIND, STORE_VALUES(store_text(name)), arena,
               ret_row, ret_found, err);
}

bool standing_row_version(struct store *store, uint64_t num, uint64_t version,
                          struct arena *arena, struct standing_row *ret_row,
                          bool *ret_found, struct err *err) {
    const struct store_value values[] = {store_number((int64_t)num),
                                         store_number((int64_t)version)};

    return get(store_tables(store), version == 0 ? NEWEST : VERSION, values,
               version == 0 ? 1 : 2, arena, ret_row, ret_found, err);
}

bool standing_row_forgives(struct store *store, struct arena *arena,
                           struct standing_forgive **ret_forgives,
                           size_t *ret_count, struct err *err) {
    CLEANUP(store_query_end) struct store_query query = {0};
    size_t room = 0;
    bool found;

    *ret_forgives = NULL;
    *ret_count = 0;
    if (!store_query_begin(&query, store_tables(store), &standing_noun,
                           FORGIVES, NULL, 0, err))
        return false;
    while (store_query_next(&query, &found, err)) {
        if (!found)
            return true;
        *ret_forgives = grow(arena, *ret_forgives, *ret_count, &room,
                             sizeof(**ret_forgives));
        (*ret_forgives)[(*ret_count)++] = (struct standing_forgive){
            .seq = (uint64_t)store_query_number(&query, 0),
            .num = (uint64_t)store_query_number(&query, 1),
            .node = store_query_text(&query, 2, arena)};
    }
    return false;
}

static bool is_irreplaceable(struct store *store, bool *ret_is,
                             struct err *err) {
    uint64_t num;
    bool ok = number(store_tables(store), ANY, NULL, 0, &num, err);

    *ret_is = num != 0;
    return ok;
}

const struct store_noun standing_noun = {
    .name = "standing",
    .steps = standing_row_steps,
    .statements = statements,
    .statement_count = COUNT(statements),
    .is_irreplaceable = is_irreplaceable,
};
