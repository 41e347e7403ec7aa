/* Events as they lie in the registry. Those of one transaction that follow each
 * other share a row, as lines: a row each would cost more than all they tell.
 * A line is one event, its fields between tabs: seq, time, kind, number of the
 * job, seq of that job's event before (0: none), the two states, attempt, id,
 * actor, reason, detail and, if the event has any, facts. In these five `\t`,
 * `\n` and `\\` stand for the bytes that would end a field, a line or an
 * escape. */
#ifndef POINTSMAN_STORE_EVENT_PACK_H
#define POINTSMAN_STORE_EVENT_PACK_H

#include "store/store.h"

/* A row that has as many bytes is full: it fills a page of the file. */
enum { EVENT_PACK_BYTES = 3800 };

/* Appends the event's line. */
void event_pack_add(struct text *lines, const struct store_event *event,
                    uint64_t prev);
/* Takes the first line off `rest`: its event, spans in the arena, without
 * hashes. False: this is no line of ours, or there is none. */
bool event_pack_next(struct span *rest, struct arena *arena,
                     struct store_event *ret_event, uint64_t *ret_prev);

#endif
