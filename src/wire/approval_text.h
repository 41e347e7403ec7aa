/* What a person signs to approve a change set (doc/design/approval.md, A7), the
 * file it comes in, and what the history keeps of it.
 *
 * The text names everything an approval is about, so that a signature under it
 * is of no use for another set, other content under the same id, another
 * target, another commit it was made on, another installation or another time:
 *
 *     pointsman-approval 1
 *     instance j4f2kq7c5wzq3a6b2
 *     set C7
 *     sum <SHA-256 of the tarball, hex>
 *     target main
 *     base <the set's ##base, or none>
 *     by alice@example.org
 *     made 2026-11-22T02:00:00.000Z
 *     expires 2026-12-22T02:00:00.000Z         (or never)
 *     ticket OPS-17                            (only where there is one)
 *
 * These lines, in this order, each ended by one line feed, and nothing else.
 * The file is the text, with the armored signature of `ssh-keygen -Y sign -n
 * cq-approve` behind it; without one it is the word of the file's owner, and
 * `by` is "uid:N". */
#ifndef POINTSMAN_WIRE_APPROVAL_TEXT_H
#define POINTSMAN_WIRE_APPROVAL_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/err.h"
#include "lib/text.h"
#include "lib/time.h"

#define APPROVAL_NAMESPACE "cq-approve"

enum {
    APPROVAL_FILE_BYTES = 64 << 10, /* at most */
    APPROVAL_TEXT_BYTES = 4096,     /* at most */
    APPROVAL_NAME_BYTES = 128,      /* of who signs */
    APPROVAL_TICKET_BYTES = 200
};

struct approval_text {
    struct span instance, csid, sum, target;
    struct span base; /* "none", or 40 or 64 hex digits */
    struct span by;
    struct wall made;
    struct wall expires; /* 0: never */
    struct span ticket;  /* may be empty */
};

/* Letters, digits and . _ @ + : / -, not a dash in front: what stands as a
 * principal in allowed_signers, or "uid:N". */
bool approval_name_is_valid(struct span name);
/* One line of printable text without blanks around it. */
bool approval_ticket_is_valid(struct span ticket);

/* Sets who signs, from now until `expires`: "90m", "7d", a time, or empty for
 * ever; `ticket` may be empty. ERR_USAGE. */
bool approval_text_fill(struct approval_text *approval, struct span by,
                        struct span ticket, struct span expires,
                        struct wall now, struct err *err);
/* The same times for a word without a signature; empty: 0, never. ERR_USAGE. */
bool approval_expires_parse(struct span expires, struct wall now,
                            struct wall *ret_expires, struct err *err);
/* Appends it. Its members obey the rules above. */
void approval_text_format(const struct approval_text *approval,
                          struct text *out);
/* Spans point into `text`. ERR_DATA: which line is wrong. */
bool approval_text_parse(struct span text, struct approval_text *ret_approval,
                         struct err *err);

struct approval_file {
    struct approval_text approval;
    struct span text;      /* the bytes that are signed */
    struct span signature; /* with its first and last line; empty: none */
};
/* Spans point into `bytes`. The signature is only taken out, not looked into.
 * ERR_DATA. */
bool approval_file_parse(struct span bytes, struct approval_file *ret_file,
                         struct err *err);

/* Name of such a file in prequeue/: "approve_CSID" or "approve_CSID_MORE", MORE
 * like the tail of a set's name. */
bool approval_entry_parse(struct span name, struct span *ret_csid);

/* The detail of an event `approved`: words KEY=VALUE with blanks between, the
 * ticket last. It is read only where the event has no facts (the old form,
 * changes/old_facts.h); unknown words are skipped, it is never wrong. */
struct approval_note {
    struct span key;   /* "SHA256:..."; empty: not signed */
    struct wall made;  /* of a signature; 0: the event's time */
    struct wall until; /* 0: no end */
    struct span alias; /* core/approval.h */
    struct span ticket;
};
void approval_note_format(const struct approval_note *note, struct text *out);
void approval_note_parse(struct span detail, struct approval_note *ret_note);

#endif
