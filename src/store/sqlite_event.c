/* Reading the log: rows of several events each (event_pack.h). Only the hash
 * at the end of a row is stored; those in between are recomputed from the
 * hash of the row before. */
#include "store/sqlite.h"

#include <stdlib.h>

#include "store/event_pack.h"

static bool refuse_row(struct sqlite_db *db, const char *what,
                       struct err *err) {
    return err_set(err, ERR_DATA,
                   "registry '%s' has %s: it is damaged, or was written by a "
                   "newer program",
                   db->path, what);
}

void sqlite_event_row_init(struct sqlite_event_row *event_row) {
    *event_row = (struct sqlite_event_row){.arena = ARENA_INIT};
    chain_init(&event_row->chain);
}

void sqlite_event_row_clear(struct sqlite_event_row *event_row) {
    arena_clear(&event_row->arena);
    chain_clear(&event_row->chain);
}

/* ---- a row --------------------------------------------------------------- */

static bool hash_before(struct sqlite_db *db, uint64_t seq,
                        unsigned char ret_hash[CHAIN_BYTES], struct err *err) {
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt = sqlite_db_statement(db, SQL_HASH_BEFORE, err);
    bool row;
    memset(ret_hash, 0, CHAIN_BYTES);
    if (!stmt)
        return false;
    sqlite_bind_u64(stmt, 1, seq);
    if (!sqlite_db_step(db, stmt, &row, err))
        return false;
    struct span hash = row ? sqlite_column_peek(stmt, 0) : SPAN("");
    if (row && hash.len != CHAIN_BYTES)
        return refuse_row(db, "an invalid event hash", err);
    if (row)
        memcpy(ret_hash, hash.p, CHAIN_BYTES);
    return true;
}

static size_t lines_of(struct span lines) {
    size_t count = 0;
    for (size_t i = 0; i < lines.len; i++)
        count += lines.p[i] == '\n';
    return count;
}

/* Fills the events of the current row; `hash` is that of the event before
 * them. */
static bool pack_fill(struct sqlite_event_row *event_row, struct sqlite_db *db,
                      sqlite3_stmt *stmt, const unsigned char hash[CHAIN_BYTES],
                      struct err *err) {
    struct span lines = sqlite_column_peek(stmt, 1),
                stored = sqlite_column_peek(stmt, 2);
    size_t count = lines_of(lines);
    unsigned char next[CHAIN_BYTES];
    memcpy(next, hash, CHAIN_BYTES);
    arena_clear(&event_row->arena);
    event_row->seq = sqlite_column_u64(stmt, 0);
    event_row->count = 0;
    event_row->changed = 0;
    event_row->events = arena_alloc(&event_row->arena,
                                    (count + 1) * sizeof(*event_row->events));
    event_row->prevs =
        arena_alloc(&event_row->arena, (count + 1) * sizeof(*event_row->prevs));
    struct span before = chain_hex(&event_row->arena, next);
    while (lines.p && lines.len > 0) {
        struct store_event *event = &event_row->events[event_row->count];
        struct span mark;
        if (!event_pack_next(&lines, &event_row->arena, event,
                             &event_row->prevs[event_row->count++], &mark))
            return refuse_row(db, "an invalid event", err);
        chain_next(&event_row->chain, next, event, next);
        if (event_row->changed == 0 && mark.len > 0 &&
            !event_pack_fits(mark, next))
            event_row->changed = event->seq;
        event->prev_hash = before;
        event->hash = before = chain_hex(&event_row->arena, next);
    }
    if (event_row->count == 0 ||
        event_row->events[event_row->count - 1].seq != event_row->seq)
        return refuse_row(db, "a row of events without its last event", err);
    if (stored.len != CHAIN_BYTES)
        return refuse_row(db, "an invalid event hash", err);
    memcpy(event_row->hash, stored.p, CHAIN_BYTES);
    event_row->fits = memcmp(next, stored.p, CHAIN_BYTES) == 0;
    return true;
}

bool sqlite_event_row_read(struct sqlite_event_row *event_row,
                           struct sqlite_db *db, uint64_t after_seq,
                           bool *ret_found, struct err *err) {
    unsigned char hash[CHAIN_BYTES];
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt =
        sqlite_db_statement_num(db, SQL_EVENTS, after_seq, err);
    if (!stmt || !sqlite_db_step(db, stmt, ret_found, err))
        return false;
    return !*ret_found ||
           (hash_before(db, sqlite_column_u64(stmt, 0), hash, err) &&
            pack_fill(event_row, db, stmt, hash, err));
}

/* ---- many --------------------------------------------------------------- */

struct found {
    struct store_event *events;
    size_t count, cap;
};

static void found_clear(struct found *found) {
    free(found->events);
}

static void found_add(struct found *found, const struct store_event *event,
                      struct arena *arena) {
    if (found->count == found->cap) {
        found->cap = found->cap ? 2 * found->cap : 16;
        found->events =
            mem_grow(found->events, found->cap, sizeof(*found->events));
    }
    struct store_event *copy = &found->events[found->count++];
    *copy = *event;
    copy->id = arena_span(arena, event->id);
    copy->actor = arena_span(arena, event->actor);
    copy->reason = arena_span(arena, event->reason);
    copy->detail = arena_span(arena, event->detail);
    copy->facts = arena_span(arena, event->facts);
    copy->prev_hash = arena_span(arena, event->prev_hash);
    copy->hash = arena_span(arena, event->hash);
}

static bool events_of_all(struct sqlite_db *db, uint64_t after_seq,
                          size_t limit, struct sqlite_event_row *event_row,
                          struct found *found, struct arena *arena,
                          struct err *err) {
    bool more = true;
    for (uint64_t seq = after_seq; more; seq = event_row->seq) {
        if (!sqlite_event_row_read(event_row, db, seq, &more, err))
            return false;
        for (size_t i = 0; more && i < event_row->count; i++) {
            if (event_row->events[i].seq > after_seq)
                found_add(found, &event_row->events[i], arena);
            if (limit != 0 && found->count == limit)
                return true;
        }
    }
    return true;
}

static bool newest_of_job(struct sqlite_db *db, uint64_t num, uint64_t *ret_seq,
                          struct err *err) {
    CLEANUP(sqlite_stmt_end)
    sqlite3_stmt *stmt =
        sqlite_db_statement_num(db, SQL_JOB_EVENT_SEQ, num, err);
    bool row;
    if (!stmt || !sqlite_db_step(db, stmt, &row, err))
        return false;
    *ret_seq = row ? sqlite_column_u64(stmt, 0) : 0;
    return true;
}

/* The place of the event in the pack; count when it is not there. */
static size_t place_of(const struct sqlite_event_row *event_row, uint64_t seq) {
    size_t i = 0;
    while (i < event_row->count && event_row->events[i].seq != seq)
        i++;
    return i;
}

static void turn_round(struct found *found, size_t limit) {
    for (size_t i = 0, k = found->count; i + 1 < k; i++) {
        struct store_event other = found->events[--k];
        found->events[k] = found->events[i];
        found->events[i] = other;
    }
    if (limit != 0 && found->count > limit)
        found->count = limit;
}

/* Walks from the job's newest event back to `after_seq`: each event holds
 * the number of the one before it. */
static bool events_of_job(struct sqlite_db *db, uint64_t after_seq,
                          uint64_t num, size_t limit,
                          struct sqlite_event_row *event_row,
                          struct found *found, struct arena *arena,
                          struct err *err) {
    uint64_t seq;
    if (!newest_of_job(db, num, &seq, err))
        return false;
    while (seq > after_seq) {
        size_t at = place_of(event_row, seq);
        bool row = true;
        if (at == event_row->count) {
            if (!sqlite_event_row_read(event_row, db, seq - 1, &row, err))
                return false;
            at = row ? place_of(event_row, seq) : 0;
        }
        if (!row || at == event_row->count)
            break;
        if (event_row->prevs[at] >= seq)
            return refuse_row(db, "an event that points to a later one", err);
        found_add(found, &event_row->events[at], arena);
        seq = event_row->prevs[at];
    }
    turn_round(found, limit);
    return true;
}

/* In one transaction: a job's newest event and those before it belong to one
 * state of the registry. */
bool sqlite_events(struct store *store, uint64_t after_seq, uint64_t num,
                   size_t limit, struct arena *arena,
                   struct store_event **ret_events, size_t *ret_count,
                   struct err *err) {
    struct sqlite_db *db = sqlite_reader(store);
    CLEANUP(found_clear) struct found found = {0};
    CLEANUP(sqlite_event_row_clear) struct sqlite_event_row event_row;
    sqlite_event_row_init(&event_row);
    if (!sqlite_db_read_begin(db, err))
        return false;
    bool well = num ? events_of_job(db, after_seq, num, limit, &event_row,
                                    &found, arena, err)
                    : events_of_all(db, after_seq, limit, &event_row, &found,
                                    arena, err);
    sqlite_db_read_end(db);
    if (!well)
        return false;
    *ret_events = arena_alloc(arena, (found.count + 1) * sizeof(**ret_events));
    if (found.count > 0)
        memcpy(*ret_events, found.events, found.count * sizeof(**ret_events));
    *ret_count = found.count;
    return true;
}
