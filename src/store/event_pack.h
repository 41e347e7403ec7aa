/* The format of events in the registry. Consecutive events of one
 * transaction share a row, as lines: one row per event would cost more than
 * the events themselves. A line is one event, its fields separated by tabs:
 * seq, time, kind, number of the job, seq of that job's previous event (0:
 * none), the two states, attempt, id, actor, reason, detail and, if the
 * event has any, facts. In the last five fields `\t`, `\n` and `\\` stand
 * for the bytes that would end a field, a line or an escape. */
#ifndef POINTSMAN_STORE_EVENT_PACK_H
#define POINTSMAN_STORE_EVENT_PACK_H

#include "store/store.h"

/* A row of this many bytes is full: it fills a page of the file. */
enum { EVENT_PACK_BYTES = 3800 };

/* Appends the event's line. */
void event_pack_add(struct text *lines, const struct store_event *event,
                    uint64_t prev);
/* Takes the first line off `rest`: its event, with spans in the arena and
 * without hashes. False: the line is malformed, or there is none. */
bool event_pack_next(struct span *rest, struct arena *arena,
                     struct store_event *ret_event, uint64_t *ret_prev);

#endif
