/* Shared by the parts of the prequeue; for them only. */
#ifndef POINTSMAN_CHANGES_PREQUEUE_PARTS_H
#define POINTSMAN_CHANGES_PREQUEUE_PARTS_H

#include <sys/stat.h>

#include "lib/map.h"
#include "core/approval.h"
#include "changes/approvals.h"
#include "changes/prequeue.h"
#include "changes/set_record.h"
#include "changes/set_rules.h"
#include "changes/signature.h"
#include "wire/approval_text.h"

enum prequeue_entry_state {
    ENTRY_NEW,      /* not examined yet */
    ENTRY_WAITING,  /* until `next`, or until something changes */
    ENTRY_CHECKING, /* a child is reading its tarball */
    ENTRY_CHECKED,  /* the verdict has arrived */
    ENTRY_READY,    /* to be admitted */
    ENTRY_STUCK     /* cannot even be moved away; reported once */
};

/* The parsed content of a file approve_CSID and the state of its check. */
struct prequeue_approval {
    struct approval_file file;
    struct signature_check *check; /* in progress */
    bool verified;
    const char *bad; /* why its signature is invalid */
    struct approval_given word;
};

struct prequeue_entry;

/* A kind of entry in prequeue/: one row each. The rows of prequeue.c are in the
 * order in which entries are examined: when a set is examined, the approvals
 * beside it are checked already. */
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
    /* Moves the files of the entry to reject/. */
    bool (*reject)(struct prequeue *prequeue, struct prequeue_entry *entry,
                   const char *word, const char *sentence, struct err *err);
    void (*forget)(struct prequeue_entry *entry); /* drops a check in
                                                     progress */
    /* Entries that are here together are admitted together. */
    bool comes_together;
};
extern const struct entry_kind prequeue_set_kind, prequeue_approval_kind;

struct prequeue_entry {
    char *name;
    const struct entry_kind *kind;
    enum prequeue_entry_state state;
    struct stat st; /* as of the last look */
    struct wall next;
    bool here; /* seen in this scan */
    struct prequeue *prequeue;
    struct arena arena;  /* holds what follows */
    struct wall checked; /* when it was seen with a good verdict; 0: not yet */
    bool not_now;        /* no verdict was possible */
    struct refusal refusal;
    struct candidate candidate;
    struct span said_sum; /* from a job file; empty for markers */
    struct set_record record;
    bool awaited;                       /* approvals are beside it, ... */
    bool hindered;                      /* ... which cannot be checked now */
    struct prequeue_approval *approval; /* NULL: the entry is a set */
    uint64_t about;   /* the set that an approval is for, if known */
    bool is_reported; /* reported that it cannot be checked now */
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
    bool quiet;         /* rejections are events but not logged */
    bool any_approvals; /* the scan found approvals */
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

/* Gives the set the valid approvals beside it. False: some are not examined
 * yet, and the set has to wait for them. */
bool prequeue_approval_entries_of(struct prequeue *prequeue,
                                  struct prequeue_entry *set);

#endif
