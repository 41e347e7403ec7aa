/* How the command line speaks: data on stdout, talk on stderr, errors as one
 * line that begins "pointsman: ". */
#ifndef POINTSMAN_CLI_TALK_H
#define POINTSMAN_CLI_TALK_H

#include <stdbool.h>

#include "lib/attr.h"
#include "lib/err.h"
#include "lib/text.h"
#include "cli/command.h"
#include "os/terminal.h"

/* Reads --quiet and --color. */
bool talk_init(const struct call *call, struct err *err);

/* Tells the error on stderr; its exit status. */
int talk_error(const struct err *err);
/* One line on stderr unless --quiet. */
void talk_say(const char *format, ...) PRINTF_LIKE(1, 2);
/* Onto stdout, all of it. False: nobody reads any more, or the disk is full
 * (talk_end tells it). */
bool talk_out(struct span span);
bool talk_outf(const char *format, ...) PRINTF_LIKE(1, 2);
/* What was said so far leaves now; false as above. */
bool talk_flush(void);
/* Did standard output fail because nobody reads it any more? */
bool talk_unread(void);
/* Ends the command: flushes; `status`, or when stdout failed 73 with a line on
 * stderr, and without one 141, as of SIGPIPE, when nobody reads any more. */
int talk_end(int status);
bool talk_quiet(void);

/* "" unless colours are wanted on stdout. */
enum talk_colour {
    TALK_PLAIN,
    TALK_BOLD,
    TALK_DIM,
    TALK_GOOD,
    TALK_BAD,
    TALK_WARM
};
const char *talk_colour(enum talk_colour colour);

#endif
