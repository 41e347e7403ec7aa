/* The format of events in the registry. Consecutive events of one
 * transaction share a row, as lines: one row per event would cost more than
 * the events themselves. A line is one event, its fields separated by tabs:
 * seq, time, kind, number of the job, seq of that job's previous event (0:
 * none), the two states, attempt, id, actor, reason, detail, facts (which may
 * be empty) and a mark: the first four hex digits of the event's hash. Only the
 * hash of the last event of a row is stored, and the marks show which of them
 * was changed. Lines of older programs have no mark, and no field for facts if
 * there are none. In the five fields before the mark `\t`, `\n` and `\\` stand
 * for the bytes that would end a field, a line or an escape. */
#ifndef POINTSMAN_STORE_EVENT_PACK_H
#define POINTSMAN_STORE_EVENT_PACK_H

#include "store/chain.h"
#include "store/store.h"

/* A row of this many bytes is full: it fills a page of the file. */
enum { EVENT_PACK_BYTES = 3800 };

/* Appends the event's line. */
void event_pack_add(struct text *lines, const struct store_event *event,
                    uint64_t prev, const unsigned char hash[CHAIN_BYTES]);
/* Takes the first line off `rest`: its event, with spans in the arena and
 * without hashes, and its mark (empty: none). False: the line is malformed, or
 * there is none. */
bool event_pack_next(struct span *rest, struct arena *arena,
                     struct store_event *ret_event, uint64_t *ret_prev,
                     struct span *ret_mark);
bool event_pack_fits(struct span mark, const unsigned char hash[CHAIN_BYTES]);

#endif
