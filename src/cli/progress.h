/* What a job says of its progress, as the last line of a terminal below what
 * it writes. Where nobody looks (standard error is no terminal, or a dumb one,
 * or --quiet) nothing is ever drawn. */
#ifndef POINTSMAN_CLI_PROGRESS_H
#define POINTSMAN_CLI_PROGRESS_H

#include <stdbool.h>

#include "lib/text.h"

struct progress {
    bool drawn;
    bool within; /* of a line of output that has not ended */
    struct text line;
};
#define PROGRESS_INIT ((struct progress){.line = TEXT_INIT})

void progress_clear(struct progress *progress); /* takes it off, too */
/* "40 linking": a number up to 100 first, or any text. */
void progress_set(struct progress *progress, struct span line);
/* Around all else that goes to the terminal. `written` is that. */
void progress_hide(struct progress *progress);
void progress_show(struct progress *progress, struct span written);

#endif
