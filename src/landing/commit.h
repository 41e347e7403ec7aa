/* Builds the commit of a landed set, byte by byte: author and message as the
 * submitter gave them, then the trailers that identify the set. */
#ifndef POINTSMAN_LANDING_COMMIT_H
#define POINTSMAN_LANDING_COMMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/text.h"
#include "lib/time.h"

struct commit_draft {
    const char *tree;   /* object names in hex */
    const char *parent; /* "" = none: the first commit of a branch */
    struct span author; /* "Name <mail>"; other text is converted */
    struct wall authored;
    int author_zone_min; /* minutes east of Greenwich */
    struct span committer;
    struct wall committed;
    struct span message; /* our trailers join those at its end, unless these
                            include keys of ours: then ours form a separate
                            block, since git reads only the last one */
    struct span csid, sum, class;
    const char *const *approved_by;
    size_t approved_count;
    struct span more; /* further trailers, each with LF */
};

/* Appends the object's content. */
void commit_format(const struct commit_draft *draft, struct text *out);

/* The offset of an RFC 3339 time in minutes east; 0 for Z. */
int commit_date_zone_min(struct span date);

#endif
