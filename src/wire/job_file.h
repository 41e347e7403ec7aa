/* The job file: what the queue writes for an admitted change set and moves
 * from state to state (doc/design/change-sets.md). Sections as in meta:
 *
 *     ##job
 *     format 1
 *     name C7_@4000..._4711_build3_BF
 *     csid C7
 *     sha256 <64 hex>
 *     size 10240
 *     seq 17
 *     seen <the branch when it was admitted, or none>
 *     (the sections of meta)
 *     ##precursors
 *     C3
 *     ##precursors-computed 19                                          */
#ifndef POINTSMAN_WIRE_JOB_FILE_H
#define POINTSMAN_WIRE_JOB_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"
#include "wire/meta.h"
#include "wire/refusal.h"
#include "wire/set_name.h"

enum { JOB_FILE_BYTES = 4 << 20 }; /* at most */

struct job_file {
    struct set_name name; /* .text is the name, .csid the id */
    struct span sha256;   /* of the tarball: 64 lower-case hex digits */
    uint64_t size;        /* of the tarball */
    uint64_t seq;         /* event that admitted it */
    struct span seen; /* the target's branch at that time: a commit, or "none";
                         empty: not known */
    struct meta meta; /* its sections are copied on formatting */
    struct lines precursors; /* the computed record, or until then the hints of
                                meta */
    bool computed;           /* the queue has computed the record */
    uint64_t computed_seq;   /* at this event */
};

/* The result lives in the arena or in `text`. */
bool job_file_parse(struct span text, struct arena *arena,
                    struct job_file *ret_job, struct refusal *why);
/* Appends the job file. False: it exceeds JOB_FILE_BYTES. */
bool job_file_format(const struct job_file *job, struct text *out,
                     struct err *err);

#endif
