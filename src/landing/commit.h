/* The commit a landed set becomes, byte by byte: author and message as the
 * submitter gave them, then the trailers by which the set is known. */
#ifndef POINTSMAN_LANDING_COMMIT_H
#define POINTSMAN_LANDING_COMMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/text.h"
#include "lib/time.h"

struct commit_draft {
    const char *tree;   /* object names in hex */
    const char *parent; /* "" = none: the first commit of a branch */
    struct span author; /* "Name <mail>"; other text is made one */
    struct wall authored;
    int author_zone_min; /* east of Greenwich */
    struct span committer;
    struct wall committed;
    struct span message; /* trailers at its end are joined, unless they are of
                            our own kind: then ours stand apart, and git reads
                            the last block only */
    struct span csid, sum, class;
    const char *const *approved_by;
    size_t approved_count;
    struct span more; /* further trailers, each with its LF */
};

/* Appends the object's content. */
void commit_format(const struct commit_draft *draft, struct text *out);

/* Offset of an RFC 3339 time: minutes east; 0 for Z. */
int commit_date_zone_min(struct span date);

#endif
