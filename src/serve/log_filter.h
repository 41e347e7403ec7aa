/* Of the lines of an output, which comes in pieces, those that an expression is
 * found in. */
#ifndef POINTSMAN_SERVE_LOG_FILTER_H
#define POINTSMAN_SERVE_LOG_FILTER_H

#include <stdbool.h>

#include "base/err.h"
#include "base/pattern.h"
#include "base/text.h"

/* A line that is longer is looked at in pieces of this size. */
enum { LOG_LINE_BYTES = 1 << 20 };

struct log_filter {
    struct pattern *pattern; /* NULL: every line */
    struct text part;        /* of a line that goes on */
};

/* ERR_USAGE: not an expression. */
bool log_filter_init(struct log_filter *filter, struct span expression,
                     bool fold_case, struct err *err);
void log_filter_clear(struct log_filter *filter);

/* Appends those of the lines in `piece` that are to be shown. */
void log_filter_add(struct log_filter *filter, struct span piece,
                    struct text *out);
/* The output ends here: what there is of a last line is one. */
void log_filter_end(struct log_filter *filter, struct text *out);

#endif
