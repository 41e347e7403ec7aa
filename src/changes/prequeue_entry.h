/* Entries of prequeue/ as their kinds see them. A kind of entry is one row;
 * serve/tables.c lists the rows, and the prequeue examines, admits and rejects
 * entries through them. */
#ifndef POINTSMAN_CHANGES_PREQUEUE_ENTRY_H
#define POINTSMAN_CHANGES_PREQUEUE_ENTRY_H

#include <sys/stat.h>

#include "lib/arena.h"
#include "lib/map.h"
#include "changes/approvals.h"
#include "changes/prequeue.h"
#include "store/store.h"

enum prequeue_entry_state {
    ENTRY_NEW,      /* not examined yet */
    ENTRY_WAITING,  /* until `next`, or until something changes */
    ENTRY_CHECKING, /* a child is reading it */
    ENTRY_CHECKED,  /* the verdict has arrived */
    ENTRY_READY,    /* to be admitted */
    ENTRY_STUCK     /* cannot even be moved away; reported once */
};

struct prequeue_entry;

/* A kind of entry in prequeue/. */
struct entry_kind {
    /* Decides by the name alone. The first row that returns true has the
     * entry. */
    bool (*recognise)(struct span name);
    /* The first or a repeated look: starts a check, waits or rejects. entry->st
     * is the present stat, `before` that of the last look. */
    bool (*check)(struct prequeue *prequeue, struct prequeue_entry *entry,
                  const struct stat *before, struct err *err);
    /* The check has ended (ENTRY_CHECKED): admits the entry, or sets
     * ENTRY_READY for the transaction of this scan, waits or rejects. */
    bool (*admit)(struct prequeue *prequeue, struct prequeue_entry *entry,
                  struct err *err);
    /* Adds the admission of an entry that is ENTRY_READY to the transaction and
     * returns its index there; *ret_id lives in the arena of the entry. NULL:
     * entries of this kind are never ENTRY_READY. */
    unsigned (*add)(struct prequeue *prequeue, struct prequeue_entry *entry,
                    struct store_batch *batch, struct span *ret_id);
    /* Moves the files of the entry to reject/. */
    bool (*reject)(struct prequeue *prequeue, struct prequeue_entry *entry,
                   const char *word, const char *sentence, struct err *err);
    /* Cancels a check in progress. May be NULL. */
    void (*forget)(struct prequeue_entry *entry);
    /* Entries that are here together are admitted together. */
    bool comes_together;
};

struct prequeue_entry {
    char *name;
    const struct entry_kind *kind;
    enum prequeue_entry_state state;
    struct stat st;   /* as of the last look */
    struct wall seen; /* for the first time */
    struct wall next;
    bool here; /* seen in this scan */
    struct prequeue *prequeue;
    struct arena arena;  /* cleared by `check`; holds what follows */
    void *own;           /* what its kind knows about it */
    struct wall checked; /* when it was seen with a good verdict; 0: not yet */
    bool not_now;        /* no verdict was possible */
    bool is_bad;         /* the verdict is that it has to be rejected */
    uint64_t about;      /* the job that it concerns, if it is known */
    bool is_reported;    /* reported that it cannot be checked now */
};

struct prequeue {
    struct base *base;
    char actor[64]; /* actor of its events */
    struct checker *checker;
    struct projection *projection;
    struct map entries;
    struct prequeue_tally tally;
    struct wall now;
    bool due;
    struct wall reviewed; /* time of the last review of approvals */
    struct approvals_review review;
    bool quiet;     /* rejections are events but not logged */
    bool any_apart; /* the scan found entries of a kind that does not come
                       together */
};

/* The first or a repeated look: starts a check, waits, or rejects. False: disk
 * or registry do not work. */
bool prequeue_entry_look(struct prequeue *prequeue,
                         struct prequeue_entry *entry, struct err *err);
/* Moves the entry to reject/ with the reason; after a temporary error it is
 * tried again later. */
bool prequeue_entry_reject(struct prequeue *prequeue,
                           struct prequeue_entry *entry, const char *word,
                           const char *sentence, struct err *err);
bool prequeue_entry_wait(struct prequeue *prequeue,
                         struct prequeue_entry *entry, const char *word,
                         const char *sentence, struct err *err);
/* When the marker was put into prequeue/: arriving by rename or link sets the
 * ctime of its inode, which a restart does not forget. */
struct wall prequeue_entry_arrived(const struct prequeue_entry *entry);
/* The entry has been admitted: removes it from prequeue/. */
bool prequeue_entry_remove(struct prequeue *prequeue,
                           struct prequeue_entry *entry, struct err *err);

#endif
