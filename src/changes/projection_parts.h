/* What the parts of the projection share; for them alone. */
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
    unsigned from; /* states whose directories its file may lie in */
    bool fresh;    /* admitted since: no file yet is as it should be */
    bool rewrite;  /* its record is new */
    bool released; /* a hold was lifted */
    bool spliced;  /* others may have inherited its precursors */
    bool look;     /* after a crash: believe nothing */
    bool remake;   /* over or not, its files are wanted */
    bool over;     /* final and projected: the mark can go */
};

struct dir_seen {
    struct timespec at;
    bool sure;  /* the change of a moment later would show */
    bool doubt; /* it was changed by others before we did */
};

struct projection {
    struct base *base;
    struct map marks; /* number of a set -> struct mark */
    struct list dirty;
    uint64_t safe_seq;  /* events up to it are in the files, durably */
    struct wall now;    /* of the call under way */
    bool of_some;       /* sees new sets only: what it did says nothing of the
                           others, and so nothing of what is safe */
    bool settling;      /* the registry is to know before a pass returns */
    unsigned under_way; /* batches not answered yet */
    struct dir_seen seen[JOB_STATES];
    struct map strangers; /* files that belong to no set, told once */
};

/* One that knows of no set but those admitted from now on: quick to make. */
struct projection *projection_of_some(struct base *base);

/* What is known of the set, or a new one. */
struct mark *projection_mark_new(struct projection *projection, uint64_t num);
void projection_mark_dirty(struct projection *projection, struct mark *mark);
void projection_on_event(void *ctx, const struct store_event *event);
/* Until the registry answered all batches. */
bool projection_wait(struct projection *projection, struct err *err);
/* Its file is gone: the next pass makes it anew. */
void projection_look_again(struct projection *projection, uint64_t num);
void projection_note(struct projection *projection, enum event_kind kind,
                     const struct job *job, struct span reason,
                     struct span detail);
bool projection_lock(struct projection *projection, int *ret_fd,
                     struct err *err);
bool projection_pass_locked(struct projection *projection, struct err *err);
uint64_t projection_safe_seq(const struct base *base);
bool projection_set_safe_seq(const struct base *base, uint64_t seq,
                             struct err *err);
/* Before a pass: which directories were changed and not looked at since? */
void projection_doubt_dirs(struct projection *projection);
/* The others, as they are now, are our own doing. */
void projection_remember_dirs(struct projection *projection);
void projection_forget_dirs(struct projection *projection);

#endif
