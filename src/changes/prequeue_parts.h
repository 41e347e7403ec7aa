/* What the parts of the prequeue share; for them alone. */
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
    ENTRY_NEW,      /* to be looked at */
    ENTRY_WAITING,  /* until `next`, or until something changes */
    ENTRY_CHECKING, /* a child reads its tarball */
    ENTRY_CHECKED,  /* there is a verdict */
    ENTRY_READY,    /* to be admitted */
    ENTRY_STUCK     /* cannot even be moved away; told once */
};

/* What a file approve_CSID is found to be. */
struct prequeue_approval {
    struct approval_file file;
    struct signature_check *check; /* under way */
    bool verified;
    const char *bad; /* why its signature is not good */
    struct approval_given word;
};

struct prequeue_entry;

/* A kind of entry in prequeue/: one row each. The rows of prequeue.c are in the
 * order in which entries are looked at: a set finds the approvals that lie
 * beside it checked already. */
struct entry_kind {
    /* By the name alone. The first row that says yes has the entry. */
    bool (*recognise)(struct span name);
    /* A first look, or one more: starts a check, waits or rejects. entry->st
     * is that of now, `before` that of the last look. */
    bool (*check)(struct prequeue *prequeue, struct prequeue_entry *entry,
                  const struct stat *before, struct err *err);
    /* The check is over (ENTRY_CHECKED): takes the entry in, or sets
     * ENTRY_READY for the transaction of this scan, waits or rejects. */
    bool (*admit)(struct prequeue *prequeue, struct prequeue_entry *entry,
                  struct err *err);
    /* Moves what belongs to it to reject/. */
    bool (*reject)(struct prequeue *prequeue, struct prequeue_entry *entry,
                   const char *word, const char *sentence, struct err *err);
    void (*forget)(struct prequeue_entry *entry); /* a check under way */
    /* Entries that lie here together are admitted together. */
    bool comes_together;
};
extern const struct entry_kind prequeue_set_kind, prequeue_approval_kind;

struct prequeue_entry {
    char *name;
    const struct entry_kind *kind;
    enum prequeue_entry_state state;
    struct stat st; /* as it was when it was looked at */
    struct wall next;
    bool here; /* seen in this scan */
    struct prequeue *prequeue;
    struct arena arena;  /* holds what follows */
    struct wall checked; /* seen with a good verdict; 0: not yet */
    bool not_now;        /* no verdict could be had */
    struct refusal refusal;
    struct candidate candidate;
    struct span said_sum; /* by a job file; empty for markers */
    struct set_record record;
    bool awaited;                       /* approvals lie beside it, ... */
    bool hindered;                      /* ... that cannot be checked now */
    struct prequeue_approval *approval; /* NULL: it is a set */
    uint64_t about;   /* the set an approval is about, if known */
    bool is_reported; /* that nobody can check it now */
};

struct prequeue {
    struct base *base;
    char actor[64]; /* of its events */
    struct checker *checker;
    struct projection *projection;
    struct map entries;
    struct prequeue_tally tally;
    struct wall now;
    bool due;
    struct wall reviewed; /* approvals were looked after */
    struct approvals_review review;
    bool quiet;         /* refusals are events, but no lines of the log */
    bool any_approvals; /* lie there in this scan */
};

/* First look, or one more: starts a check, waits, or refuses. False: disk or
 * registry do not work. */
bool prequeue_entry_look(struct prequeue *prequeue,
                         struct prequeue_entry *entry, struct err *err);
/* It goes to reject/, with why; or when its time is up. */
bool prequeue_entry_reject(struct prequeue *prequeue,
                           struct prequeue_entry *entry, const char *word,
                           const char *sentence, struct err *err);
bool prequeue_entry_wait(struct prequeue *prequeue,
                         struct prequeue_entry *entry, const char *word,
                         const char *sentence, struct err *err);

/* Gives the set those that lie beside it and are good. False: some are not
 * looked into yet, it has to wait for them. */
bool prequeue_approval_entries_of(struct prequeue *prequeue,
                                  struct prequeue_entry *set);

#endif
