/* Reading the log: rows of several events each (event_pack.h). Hashes stand
 * only at the end of a row; those in between are made anew from the hash of the
 * row before. */
#include "store/sqlite.h"

#include <stdlib.h>

#include "store/event_pack.h"

static bool strange(struct db *db, const char *what, struct err *err) {
    return err_set(err, ERR_DATA,
                   "registry '%s' has %s that this program does not know",
                   db->path, what);
}

void pack_init(struct pack *pack) {
    *pack = (struct pack){.arena = ARENA_INIT};
    chain_init(&pack->chain);
}

void pack_clear(struct pack *pack) {
    arena_clear(&pack->arena);
    chain_clear(&pack->chain);
}

/* ---- a row --------------------------------------------------------------- */

static bool hash_before(struct db *db, uint64_t seq,
                        unsigned char ret_hash[CHAIN_BYTES], struct err *err) {
    CLEANUP(stmt_end)
    sqlite3_stmt *stmt = db_statement(db, SQL_HASH_BEFORE, err);
    bool row;
    memset(ret_hash, 0, CHAIN_BYTES);
    if (!stmt)
        return false;
    bind_u64(stmt, 1, seq);
    if (!db_step(db, stmt, &row, err))
        return false;
    struct span hash = row ? column_peek(stmt, 0) : SPAN("");
    if (row && hash.len != CHAIN_BYTES)
        return strange(db, "an event hash", err);
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

/* The events of the row at hand; `hash` is that of the event before them. */
static bool pack_fill(struct pack *pack, struct db *db, sqlite3_stmt *stmt,
                      const unsigned char hash[CHAIN_BYTES], struct err *err) {
    struct span lines = column_peek(stmt, 1), stored = column_peek(stmt, 2);
    size_t count = lines_of(lines);
    unsigned char next[CHAIN_BYTES];
    memcpy(next, hash, CHAIN_BYTES);
    arena_clear(&pack->arena);
    pack->seq = column_u64(stmt, 0);
    pack->count = 0;
    pack->events =
        arena_alloc(&pack->arena, (count + 1) * sizeof(*pack->events));
    pack->prevs = arena_alloc(&pack->arena, (count + 1) * sizeof(*pack->prevs));
    struct span before = chain_hex(&pack->arena, next);
    while (lines.p && lines.len > 0) {
        struct store_event *event = &pack->events[pack->count];
        if (!event_pack_next(&lines, &pack->arena, event,
                             &pack->prevs[pack->count++]))
            return strange(db, "an event", err);
        chain_next(&pack->chain, next, event, next);
        event->prev_hash = before;
        event->hash = before = chain_hex(&pack->arena, next);
    }
    if (pack->count == 0 || pack->events[pack->count - 1].seq != pack->seq)
        return strange(db, "events without their last one", err);
    if (stored.len != CHAIN_BYTES)
        return strange(db, "an event hash", err);
    memcpy(pack->hash, stored.p, CHAIN_BYTES);
    pack->fits = memcmp(next, stored.p, CHAIN_BYTES) == 0;
    return true;
}

bool pack_read(struct pack *pack, struct db *db, uint64_t after_seq,
               bool *ret_found, struct err *err) {
    unsigned char hash[CHAIN_BYTES];
    CLEANUP(stmt_end) sqlite3_stmt *stmt = db_statement(db, SQL_EVENTS, err);
    if (!stmt)
        return false;
    bind_u64(stmt, 1, after_seq);
    if (!db_step(db, stmt, ret_found, err))
        return false;
    return !*ret_found || (hash_before(db, column_u64(stmt, 0), hash, err) &&
                           pack_fill(pack, db, stmt, hash, err));
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
    copy->prev_hash = arena_span(arena, event->prev_hash);
    copy->hash = arena_span(arena, event->hash);
}

static bool events_of_all(struct db *db, uint64_t after_seq, size_t limit,
                          struct pack *pack, struct found *found,
                          struct arena *arena, struct err *err) {
    bool more = true;
    for (uint64_t seq = after_seq; more; seq = pack->seq) {
        if (!pack_read(pack, db, seq, &more, err))
            return false;
        for (size_t i = 0; more && i < pack->count; i++) {
            if (pack->events[i].seq > after_seq)
                found_add(found, &pack->events[i], arena);
            if (limit != 0 && found->count == limit)
                return true;
        }
    }
    return true;
}

static bool newest_of_job(struct db *db, uint64_t num, uint64_t *ret_seq,
                          struct err *err) {
    CLEANUP(stmt_end)
    sqlite3_stmt *stmt = db_statement(db, SQL_JOB_EVENT_SEQ, err);
    bool row;
    if (!stmt)
        return false;
    bind_u64(stmt, 1, num);
    if (!db_step(db, stmt, &row, err))
        return false;
    *ret_seq = row ? column_u64(stmt, 0) : 0;
    return true;
}

/* The place of the event in the pack; count when it is not there. */
static size_t place_of(const struct pack *pack, uint64_t seq) {
    size_t i = 0;
    while (i < pack->count && pack->events[i].seq != seq)
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

/* From its newest event back to `after_seq`: each says where the one before it
 * is. */
static bool events_of_job(struct db *db, uint64_t after_seq, uint64_t num,
                          size_t limit, struct pack *pack, struct found *found,
                          struct arena *arena, struct err *err) {
    uint64_t seq;
    if (!newest_of_job(db, num, &seq, err))
        return false;
    while (seq > after_seq) {
        size_t at = place_of(pack, seq);
        bool row = true;
        if (at == pack->count) {
            if (!pack_read(pack, db, seq - 1, &row, err))
                return false;
            at = row ? place_of(pack, seq) : 0;
        }
        if (!row || at == pack->count)
            break;
        if (pack->prevs[at] >= seq)
            return strange(db, "an event that points to a later one", err);
        found_add(found, &pack->events[at], arena);
        seq = pack->prevs[at];
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
    struct db *db = sqlite_reader(store);
    CLEANUP(found_clear) struct found found = {0};
    CLEANUP(pack_clear) struct pack pack;
    pack_init(&pack);
    if (!db_read_begin(db, err))
        return false;
    bool well =
        num ? events_of_job(db, after_seq, num, limit, &pack, &found, arena,
                            err)
            : events_of_all(db, after_seq, limit, &pack, &found, arena, err);
    db_read_end(db);
    if (!well)
        return false;
    *ret_events = arena_alloc(arena, (found.count + 1) * sizeof(**ret_events));
    if (found.count > 0)
        memcpy(*ret_events, found.events, found.count * sizeof(**ret_events));
    *ret_count = found.count;
    return true;
}
