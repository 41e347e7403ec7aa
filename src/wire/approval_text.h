/* The text that a person signs to approve a change set (doc/design/approval.md,
 * A7), the file it comes in, and the part of it that the history keeps.
 *
 * The text names everything that an approval is about, so that its signature is
 * not valid for another set, other content under the same id, another target,
 * another base commit, another installation or another time:
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
 *     ticket OPS-17                            (only if there is one)
 *
 * It has exactly these lines in this order, each ended by one line feed. The
 * file is the text followed by the armored signature of `ssh-keygen -Y sign -n
 * cq-approve`; without a signature it is a statement of the file's owner, and
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
    APPROVAL_NAME_BYTES = 128,      /* name of the signer */
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

/* Letters, digits and . _ @ + : / -, not beginning with a dash: a principal as
 * in allowed_signers, or "uid:N". */
bool approval_name_is_valid(struct span name);
/* One line of printable text without leading or trailing blanks. */
bool approval_ticket_is_valid(struct span ticket);

/* Sets the signer, the current time and the expiry `expires`: "90m", "7d", a
 * time, or empty for no expiry; `ticket` may be empty. ERR_USAGE. */
bool approval_text_fill(struct approval_text *approval, struct span by,
                        struct span ticket, struct span expires,
                        struct wall now, struct err *err);
/* The same times for an approval without a signature; empty: 0, never.
 * ERR_USAGE. */
bool approval_expires_parse(struct span expires, struct wall now,
                            struct wall *ret_expires, struct err *err);
/* Appends the text. The members must follow the rules above. */
void approval_text_format(const struct approval_text *approval,
                          struct text *out);
/* Spans point into `text`. ERR_DATA: says which line is wrong. */
bool approval_text_parse(struct span text, struct approval_text *ret_approval,
                         struct err *err);

struct approval_file {
    struct approval_text approval;
    struct span text;      /* the signed bytes */
    struct span signature; /* including its first and last line; empty: none */
};
/* Spans point into `bytes`. The signature is only extracted, not checked.
 * ERR_DATA. */
bool approval_file_parse(struct span bytes, struct approval_file *ret_file,
                         struct err *err);

/* Name of an approval file in prequeue/: "approve_CSID" or "approve_CSID_MORE",
 * with MORE like the tail of a set's name. */
bool approval_entry_parse(struct span name, struct span *ret_csid);

/* The detail of an event `approved`: words KEY=VALUE separated by blanks, the
 * ticket last. It is read only if the event has no facts (the old form,
 * changes/old_facts.h); unknown words are skipped, so it is never invalid. */
struct approval_note {
    struct span key;   /* "SHA256:..."; empty: unsigned */
    struct wall made;  /* of a signature; 0: the event's time */
    struct wall until; /* 0: never expires */
    struct span alias; /* core/approval.h */
    struct span ticket;
};
void approval_note_format(const struct approval_note *note, struct text *out);
void approval_note_parse(struct span detail, struct approval_note *ret_note);

#endif
