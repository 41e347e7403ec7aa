/* What the parts of the prequeue share; for them alone. */
#ifndef POINTSMAN_SERVE_PREQUEUE_PARTS_H
#define POINTSMAN_SERVE_PREQUEUE_PARTS_H

#include <sys/stat.h>

#include "base/map.h"
#include "serve/intake.h"
#include "serve/set_record.h"
#include "serve/set_rules.h"

enum entry_state {
    ENTRY_NEW,      /* to be looked at */
    ENTRY_WAITING,  /* until `next`, or until something changes */
    ENTRY_CHECKING, /* a child reads its tarball */
    ENTRY_CHECKED,  /* there is a verdict */
    ENTRY_READY,    /* to be admitted */
    ENTRY_STUCK     /* cannot even be moved away; told once */
};

struct entry {
    char *name;
    enum entry_state state;
    struct stat st; /* as it was when it was looked at */
    struct wall next;
    bool here; /* seen in this scan */
    struct prequeue *prequeue;
    struct arena arena; /* holds what follows */
    bool not_now;       /* no verdict could be had */
    struct refusal refusal;
    struct candidate candidate;
    struct span said_sum; /* by a job file; empty for markers */
    struct set_record record;
};

struct prequeue {
    struct base *base;
    struct checker *checker;
    struct projection *projection;
    struct map entries;
    struct prequeue_tally tally;
    struct wall now;
    bool due;
};

/* First look, or one more: starts a check, waits, or refuses. False: disk or
 * registry do not work. */
bool entry_look(struct prequeue *prequeue, struct entry *entry,
                struct err *err);
/* The verdict is there: ENTRY_READY, or waits, or refuses. */
bool entry_judge(struct prequeue *prequeue, struct entry *entry,
                 struct err *err);

#endif
