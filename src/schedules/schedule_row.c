#include "schedules/schedule_row.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "wire/schedule_spec.h"

extern const struct store_step schedule_row_steps[]; /* schema/NNN.sql */

enum {
    GET,
    LIST,
    PUT,
    REMOVE,
    LIVE_JOBS,
    JOB_PUT,
    JOBS_CLEAR,
    JOBS_REMOVE,
    BY_HAND
};

#define COLUMNS                                                          \
    "name, spec, origin, uid, serial, seed, paused, high, zone_offset, " \
    "fired, missed, recent, round"

/* clang-format off */
static const char *const statements[] = {
    [GET] = "SELECT " COLUMNS " FROM schedule WHERE name = ?1",
    [LIST] =
        "SELECT " COLUMNS " FROM schedule WHERE name > ?1 ORDER BY name "
        "LIMIT ?2",
    [PUT] =
        "INSERT INTO schedule (" COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, "
        "?7, ?8, ?9, ?10, ?11, ?12, ?13) ON CONFLICT (name) DO UPDATE SET "
        "spec = excluded.spec, origin = excluded.origin, uid = excluded.uid, "
        "serial = excluded.serial, paused = excluded.paused, "
        "high = excluded.high, zone_offset = excluded.zone_offset, "
        "fired = excluded.fired, missed = excluded.missed, "
        "recent = excluded.recent, round = excluded.round",
    [REMOVE] = "DELETE FROM schedule WHERE name = ?1",
    [LIVE_JOBS] =
        "SELECT " STORE_JOB_COLUMNS ", '' FROM schedule_job r "
        "JOIN job j ON j.num = r.num JOIN submission s ON s.num = j.num "
        "WHERE r.name = ?1 AND j.state NOT IN ('D', 'F', 'T', 'A') "
        "ORDER BY r.num",
    [JOB_PUT] =
        "INSERT INTO schedule_job (name, num) VALUES (?1, ?2) "
        "ON CONFLICT (name, num) DO NOTHING",
    /* Of the oldest jobs, those that have ended are removed: a few with each
     * new one, so that the number stays bounded and no removal is costly. */
    [JOBS_CLEAR] =
        "DELETE FROM schedule_job WHERE name = ?1 AND num IN (SELECT r.num "
        "FROM schedule_job r JOIN job j ON j.num = r.num WHERE r.name = ?1 "
        "AND r.num <= coalesce((SELECT num FROM schedule_job WHERE name = ?1 "
        "ORDER BY num LIMIT 1 OFFSET 15), 9223372036854775807) AND "
        "j.state IN ('D', 'F', 'T', 'A'))",
    [JOBS_REMOVE] = "DELETE FROM schedule_job WHERE name = ?1",
    [BY_HAND] = "SELECT name FROM schedule WHERE origin <> 'config' LIMIT 1",
};
/* clang-format on */

/* ---- events -------------------------------------------------------------- */

static const struct {
    const char *word;
    bool changes;
} events[] = {
#define X(name, word, changes) {word, changes},
    SCHEDULE_EVENTS(X)
#undef X
};

struct span schedule_event_word(enum schedule_event event) {
    return span_of(events[event].word);
}

bool schedule_event_changes(struct span reason) {
    for (size_t i = 0; i < COUNT(events); i++)
        if (span_is(reason, events[i].word))
            return events[i].changes;
    return false;
}

/* ---- rows ---------------------------------------------------------------- */

/* "12 15 99" */
static void recent_parse(struct span text, struct schedule_row *row) {
    struct span part;
    row->recent_count = 0;
    while (row->recent_count < SCHEDULE_RECENT && text.len > 0 &&
           span_cut(&text, ' ', &part))
        if (span_u64(part, &row->recent[row->recent_count]))
            row->recent_count++;
}

static void recent_format(const struct schedule_row *row, struct text *out) {
    for (size_t i = 0; i < row->recent_count; i++)
        text_addf(out, "%s%" PRIu64, i > 0 ? " " : "", row->recent[i]);
}

static struct schedule_row row_of(const struct store_query *query,
                                  struct arena *arena) {
    struct schedule_row row = {
        .name = store_query_text(query, 0, arena),
        .spec = store_query_text(query, 1, arena),
        .origin = store_query_text(query, 2, arena),
        .uid = (uint32_t)store_query_number(query, 3),
        .serial = (uint64_t)store_query_number(query, 4),
        .seed = (uint64_t)store_query_number(query, 5),
        .paused = store_query_number(query, 6) != 0,
        .high_s = store_query_number(query, 7),
        .offset_s = (int32_t)store_query_number(query, 8),
        .fired = (uint64_t)store_query_number(query, 9),
        .missed = (uint64_t)store_query_number(query, 10),
        .round = (unsigned)store_query_number(query, 12),
    };
    recent_parse(store_query_text(query, 11, arena), &row);
    return row;
}

static bool row_get(struct store_tables *tables, struct span name,
                    struct arena *arena, struct schedule_row *ret_row,
                    bool *ret_found, struct err *err) {
    CLEANUP(store_query_end) struct store_query query = {0};
    if (!store_query_begin(&query, tables, &schedule_noun, GET,
                           STORE_VALUES(store_text(name)), err) ||
        !store_query_next(&query, ret_found, err))
        return false;
    if (*ret_found)
        *ret_row = row_of(&query, arena);
    return true;
}

static bool row_put(struct store_tables *tables, const struct schedule_row *row,
                    struct err *err) {
    CLEANUP(text_clear) struct text recent = TEXT_INIT;
    recent_format(row, &recent);
    const struct store_value values[] = {
        store_text(row->name),
        store_text(row->spec),
        store_text(row->origin),
        store_number(row->uid),
        store_number((int64_t)row->serial),
        store_number((int64_t)row->seed),
        store_number(row->paused),
        store_number(row->high_s),
        store_number(row->offset_s),
        store_number((int64_t)row->fired),
        store_number((int64_t)row->missed),
        store_text(text_span(&recent)),
        store_number(row->round),
    };
    return store_run(tables, &schedule_noun, PUT, values, COUNT(values), NULL,
                     err);
}

/* A statement whose only parameter is the name. */
static bool run_named(struct store_tables *tables, unsigned statement,
                      struct span name, uint64_t *ret_changed,
                      struct err *err) {
    return store_run(tables, &schedule_noun, statement,
                     STORE_VALUES(store_text(name)), ret_changed, err);
}

/* ---- what the operations do, inside the transaction ---------------------- */

struct set_args {
    struct schedule_row row;
    enum schedule_mode mode;
};

static bool note(struct store_operation *operation, struct span name,
                 enum schedule_event event, struct span detail,
                 struct err *err) {
    return store_operation_event(operation, EVENT_SCHEDULE, name,
                                 schedule_event_word(event), detail, err);
}

static bool find(struct store_operation *operation, struct span name,
                 struct schedule_row *ret_row, bool *ret_found,
                 struct err *err) {
    if (!row_get(operation->tables, name, operation->arena, ret_row, ret_found,
                 err))
        return false;
    if (!*ret_found)
        operation->result = STORE_UNKNOWN;
    return true;
}

/* Instants that were handled before come again: they belong to another
 * round. */
static void begin_at(struct schedule_row *row, int64_t high_s,
                     int32_t offset_s) {
    if (high_s < row->high_s)
        row->round++;
    row->high_s = high_s;
    row->offset_s = offset_s;
}

/* The new definition, with what is kept from the old one. */
static struct schedule_row merge(const struct schedule_row *old,
                                 const struct set_args *want) {
    struct schedule_row merged = *old;
    merged.spec = want->row.spec;
    merged.origin = want->row.origin;
    merged.uid = want->row.uid;
    if (want->mode == SCHEDULE_RENEW)
        begin_at(&merged, want->row.high_s, want->row.offset_s);
    return merged;
}

static bool set_operate(struct store_operation *operation, void *args,
                        struct err *err) {
    const struct set_args *want = args;
    struct schedule_row row, next = want->row;
    bool found;
    if (!find(operation, next.name, &row, &found, err))
        return false;
    if (found && span_equal(row.spec, next.spec) &&
        span_equal(row.origin, next.origin) && row.uid == next.uid) {
        operation->result = STORE_SAME;
        return true;
    }
    if (found && want->mode == SCHEDULE_ADD) {
        operation->result = STORE_DUPLICATE;
        return true;
    }
    operation->result = STORE_DONE;
    if (found)
        next = merge(&row, want);
    next.serial = operation->next_seq;
    return row_put(operation->tables, &next, err) &&
           note(operation, next.name, found ? SCHEDULE_CHANGED : SCHEDULE_ADDED,
                next.spec, err);
}

static bool remove_operate(struct store_operation *operation, void *args,
                           struct err *err) {
    struct span name = *(const struct span *)args;
    uint64_t removed;
    if (!run_named(operation->tables, JOBS_REMOVE, name, NULL, err) ||
        !run_named(operation->tables, REMOVE, name, &removed, err))
        return false;
    if (removed == 0) {
        operation->result = STORE_UNKNOWN;
        return true;
    }
    return note(operation, name, SCHEDULE_REMOVED, SPAN(""), err);
}

static bool pause_operate(struct store_operation *operation, void *args,
                          struct err *err) {
    const struct schedule_row *want = args;
    struct schedule_row row;
    bool found;
    if (!find(operation, want->name, &row, &found, err))
        return false;
    if (!found)
        return true;
    if (row.paused == want->paused) {
        operation->result = STORE_SAME;
        return true;
    }
    row.paused = want->paused;
    if (!want->paused)
        begin_at(&row, want->high_s, want->offset_s);
    return row_put(operation->tables, &row, err) &&
           note(operation, want->name,
                row.paused ? SCHEDULE_PAUSED : SCHEDULE_RESUMED, SPAN(""), err);
}

static void remember_job(struct schedule_row *row, uint64_t num) {
    if (row->recent_count == SCHEDULE_RECENT) {
        memmove(row->recent, row->recent + 1,
                (SCHEDULE_RECENT - 1) * sizeof(row->recent[0]));
        row->recent_count--;
    }
    row->recent[row->recent_count++] = num;
    row->fired++;
}

static bool job_put(struct store_tables *tables, struct span name, uint64_t num,
                    struct err *err) {
    return store_run(tables, &schedule_noun, JOB_PUT,
                     STORE_VALUES(store_text(name), store_number((int64_t)num)),
                     NULL, err) &&
           run_named(tables, JOBS_CLEAR, name, NULL, err);
}

static bool mark_operate(struct store_operation *operation, void *args,
                         struct err *err) {
    const struct schedule_mark *mark = args;
    struct schedule_row row;
    bool found;
    if (!find(operation, mark->name, &row, &found, err))
        return false;
    if (!found)
        return true;
    if (mark->moves && (row.paused || row.serial != mark->serial ||
                        row.high_s != mark->from_s)) {
        operation->result = STORE_CONFLICT;
        return true;
    }
    if (mark->moves) {
        row.high_s = mark->high_s;
        row.offset_s = mark->offset_s;
        row.round = mark->round;
    }
    row.missed += mark->missed;
    uint64_t num = mark->job == SCHEDULE_NO_JOB
                       ? 0
                       : store_operation_admitted(operation, mark->job);
    if (num != 0) {
        remember_job(&row, num);
        if (!job_put(operation->tables, row.name, num, err))
            return false;
    }
    if (!row_put(operation->tables, &row, err))
        return false;
    return mark->reason.len == 0 ||
           store_operation_event(operation, EVENT_SCHEDULE, mark->name,
                                 mark->reason, mark->detail, err);
}

/* ---- writing ------------------------------------------------------------- */

unsigned schedule_row_set(struct store_batch *batch,
                          const struct schedule_row *row,
                          enum schedule_mode mode) {
    struct arena *arena = store_batch_arena(batch);
    struct set_args *args = arena_alloc(arena, sizeof(*args));
    assert(row->name.len > 0 && row->name.len <= SCHEDULE_NAME_BYTES);
    args->row = *row;
    args->row.name = arena_span(arena, row->name);
    args->row.spec = arena_span(arena, row->spec);
    args->row.origin = arena_span(arena, row->origin);
    args->mode = mode;
    return store_operation_add(batch, set_operate, args);
}

unsigned schedule_row_remove(struct store_batch *batch, struct span name) {
    struct span *args = arena_alloc(store_batch_arena(batch), sizeof(*args));
    *args = arena_span(store_batch_arena(batch), name);
    return store_operation_add(batch, remove_operate, args);
}

unsigned schedule_row_pause(struct store_batch *batch, struct span name,
                            bool paused, int64_t high_s, int32_t offset_s) {
    struct arena *arena = store_batch_arena(batch);
    struct schedule_row *args = arena_alloc(arena, sizeof(*args));
    *args = (struct schedule_row){
        .name = arena_span(arena, name),
        .paused = paused,
        .high_s = high_s,
        .offset_s = offset_s,
    };
    return store_operation_add(batch, pause_operate, args);
}

unsigned schedule_row_mark(struct store_batch *batch,
                           const struct schedule_mark *mark) {
    struct arena *arena = store_batch_arena(batch);
    struct schedule_mark *args = arena_alloc(arena, sizeof(*args));
    *args = *mark;
    args->name = arena_span(arena, mark->name);
    args->reason = arena_span(arena, mark->reason);
    args->detail = arena_span(arena, mark->detail);
    return store_operation_add(batch, mark_operate, args);
}

/* ---- reading ------------------------------------------------------------- */

bool schedule_row_find(struct store *store, struct span name,
                       struct arena *arena, struct schedule_row *ret_row,
                       bool *ret_found, struct err *err) {
    return row_get(store_tables(store), name, arena, ret_row, ret_found, err);
}

bool schedule_row_list(struct store *store, struct span after, size_t limit,
                       struct arena *arena, struct schedule_row **ret_rows,
                       size_t *ret_count, struct err *err) {
    CLEANUP(store_query_end) struct store_query query = {0};
    struct schedule_row *rows = NULL;
    int64_t most = limit ? (int64_t)limit : INT64_MAX;
    size_t count = 0, cap = 0;
    bool more, ok;
    if (!store_query_begin(&query, store_tables(store), &schedule_noun, LIST,
                           STORE_VALUES(store_text(after), store_number(most)),
                           err))
        return false;
    while ((ok = store_query_next(&query, &more, err)) && more) {
        if (count == cap) {
            cap = cap ? 2 * cap : 16;
            rows = mem_grow(rows, cap, sizeof(*rows));
        }
        rows[count++] = row_of(&query, arena);
    }
    *ret_rows = arena_alloc(arena, (count + 1) * sizeof(*rows));
    if (count > 0)
        memcpy(*ret_rows, rows, count * sizeof(*rows));
    *ret_count = count;
    free(rows);
    return ok;
}

bool schedule_row_jobs(struct store *store, struct span name,
                       struct arena *arena, struct job **ret_jobs,
                       size_t *ret_count, struct err *err) {
    CLEANUP(store_query_end) struct store_query query = {0};
    return store_query_begin(&query, store_tables(store), &schedule_noun,
                             LIVE_JOBS, STORE_VALUES(store_text(name)), err) &&
           store_query_jobs(&query, arena, ret_jobs, ret_count, err);
}

static bool is_irreplaceable(struct store *store, bool *ret_is,
                             struct err *err) {
    CLEANUP(store_query_end) struct store_query query = {0};
    return store_query_begin(&query, store_tables(store), &schedule_noun,
                             BY_HAND, NULL, 0, err) &&
           store_query_next(&query, ret_is, err);
}

const struct store_noun schedule_noun = {
    .name = "schedule",
    .steps = schedule_row_steps,
    .statements = statements,
    .statement_count = COUNT(statements),
    .is_irreplaceable = is_irreplaceable,
};
