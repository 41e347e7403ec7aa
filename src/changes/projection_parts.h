/* Shared by the parts of the projection; for them only. */
#ifndef POINTSMAN_CHANGES_PROJECTION_PARTS_H
#define POINTSMAN_CHANGES_PROJECTION_PARTS_H

#include <fcntl.h>
#include <time.h>

#include "lib/list.h"
#include "lib/map.h"
#include "changes/placement.h"
#include "changes/projection.h"

struct mark {
    struct list link; /* in projection->dirty while there is work */
    uint64_t num;
    unsigned from; /* states whose directories may have its file */
    bool fresh;    /* admitted since: its files are not written yet */
    bool rewrite;  /* its record has changed */
    bool released; /* a hold was lifted */
    bool spliced;  /* other sets may have inherited its precursors */
    bool look;     /* after a crash: trust nothing */
    bool remake;   /* write its files, whether over or not */
    bool over;     /* final and projected: the mark can be removed */
};

struct dir_seen {
    struct timespec at;
    bool sure;  /* a change a moment later would be visible */
    bool doubt; /* changed by others before we changed it */
};

struct projection {
    struct base *base;
    struct map marks; /* number of a set -> struct mark */
    struct list dirty;
    uint64_t safe_seq; /* events up to here are safely in the files */
    struct wall now;   /* time of the current call */
    bool of_some;      /* sees new sets only, so it says nothing about the
                          others, nor about which events are safe */
    bool unrecorded;   /* the last pass failed at its end, and its sets are
                          still stale */
    struct store_batch *placed; /* marks of the sets whose files were moved but
                                   not synced yet; NULL: none */
    uint64_t placed_seq;        /* events up to here are in the files */
    bool settling;      /* record in the registry before a pass returns */
    unsigned under_way; /* batches not answered yet */
    struct dir_seen seen[JOB_STATES];
    struct map unknown_files; /* files that belong to no set, reported once */
};

/* A projection that knows only sets admitted from now on: cheap to create. */
struct projection *projection_of_some(struct base *base);

/* Marks all sets that are stale. */
bool projection_load_stale(struct projection *projection, struct err *err);

/* The mark of the set, created if there is none. */
struct mark *projection_mark_new(struct projection *projection, uint64_t num);
/* The next pass examines the set. */
void projection_mark_dirty(struct projection *projection, struct mark *mark);
/* A store_listener, ctx is the projection: notes in the mark of the set what
 * the event changes in its files. Creates a mark for an admission or a remark
 * on a set that has a job file. */
void projection_on_event(void *ctx, const struct store_event *event);
/* Waits until the registry has answered all batches. */
bool projection_wait(struct projection *projection, struct err *err);
/* Its file is gone: the next pass recreates it. */
void projection_look_again(struct projection *projection, uint64_t num);
/* Writes an event about the set that changes no state. A failure is logged. */
void projection_note(struct projection *projection, enum event_kind kind,
                     const struct job *job, struct span reason,
                     struct span detail);
/* Waits until no other process moves job files; close *ret_fd to unlock. */
bool projection_lock(struct projection *projection, int *ret_fd,
                     struct err *err);
/* A pass over all dirty sets while the lock is held. What could not be
 * projected stays dirty. */
bool projection_pass_locked(struct projection *projection, struct err *err);
/* The last event whose effect on the files is durable, from ctrl/; 0: none is
 * known. */
uint64_t projection_safe_seq(const struct base *base);
bool projection_set_safe_seq(const struct base *base, uint64_t seq,
                             struct err *err);
/* Before a pass: marks the directories that were changed and not examined
 * since. */
void projection_doubt_dirs(struct projection *projection);
/* After a pass: the present state of the others is our own doing. */
void projection_remember_dirs(struct projection *projection);
/* Clears the map of unknown files. */
void projection_forget_dirs(struct projection *projection);

#endif
