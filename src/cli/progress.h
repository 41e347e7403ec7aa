/* The progress that a job reports, as the last line of a terminal below the
 * job's output. Nothing is ever drawn if standard error is no terminal, or a
 * dumb one, or with --quiet. */
#ifndef POINTSMAN_CLI_PROGRESS_H
#define POINTSMAN_CLI_PROGRESS_H

#include <stdbool.h>

#include "lib/text.h"

struct progress {
    bool drawn;
    bool within; /* the last line of output is unfinished */
    struct text line;
};
#define PROGRESS_INIT ((struct progress){.line = TEXT_INIT})

/* Would anything be drawn? */
bool progress_is_wanted(void);
void progress_clear(struct progress *progress); /* also erases the line */
/* "40 linking": a number up to 100 first, or any text. */
void progress_set(struct progress *progress, struct span line);
/* Erases the line before other output, and draws it again after the output,
 * which is `written`. */
void progress_hide(struct progress *progress);
void progress_show(struct progress *progress, struct span written);

#endif
