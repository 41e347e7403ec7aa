/* log/CSID: the history of a set, readable without the registry (C11). The
 * reason column holds what an event reports beyond its step:
 *
 *     admitted                            a step of the life cycle
 *     exit-3 -- check 'unit' failed       a step with its detail
 *     hold:a look first -- operator       any other kind of event */
#ifndef POINTSMAN_CHANGES_SET_LOG_H
#define POINTSMAN_CHANGES_SET_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "base/base.h"
#include "store/store.h"
#include "wire/event_line.h"

/* Appends the events of the set that its log lacks, after removing a line that
 * a crash left incomplete. The caller holds the lock of the projection. */
bool set_log_catch_up(struct base *base, const struct job *job,
                      struct err *err);

/* The whole log. The ids of its events are the CSID, num is 0. A torn last line
 * is skipped. */
struct set_log {
    struct span csid;
    struct store_event *events;
    size_t count;
};
bool set_log_read(struct base *base, struct span csid, struct arena *arena,
                  struct set_log *ret_log, struct err *err);

/* True if this line of a log, which has the number of the event, also has its
 * step, time, actor and texts, as far as the line has room for them. Logs of
 * older versions lack the facts. */
bool set_log_is_true(const struct store_event *line,
                     const struct store_event *event);

#endif
