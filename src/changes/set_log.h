/* log/CSID: the history of a set, readable without the registry (C11).
 * The reason column holds what an event says beyond its step:
 *
 *     admitted                            a step of the life
 *     exit-3 -- check 'unit' failed       and its detail
 *     hold:a look first -- operator       any other kind of event          */
#ifndef POINTSMAN_CHANGES_SET_LOG_H
#define POINTSMAN_CHANGES_SET_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "base/base.h"
#include "store/store.h"
#include "wire/event_line.h"

/* Appends the events of the set that its log lacks; a line cut by a crash is
 * taken off first. The caller holds the lock of the projection. */
bool set_log_catch_up(struct base *base, const struct job *job,
                      struct err *err);

/* The whole of it. Events' ids are the CSID, num is 0. A torn last line is
 * left out. */
struct set_log {
    struct span csid;
    struct store_event *events;
    size_t count;
};
bool set_log_read(struct base *base, struct span csid, struct arena *arena,
                  struct set_log *ret_log, struct err *err);

#endif
