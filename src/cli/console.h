/* How the command line speaks: data on stdout, talk on stderr, errors as one
 * line that begins "pointsman: ". */
#ifndef POINTSMAN_CLI_CONSOLE_H
#define POINTSMAN_CLI_CONSOLE_H

#include <stdbool.h>

#include "lib/attr.h"
#include "lib/err.h"
#include "lib/text.h"
#include "cli/call.h"
#include "os/terminal.h"

/* Reads --quiet and --color. */
bool console_init(const struct call *call, struct err *err);

/* Tells the error on stderr; its exit status. */
int console_error(const struct err *err);
/* One line on stderr unless --quiet. */
void console_note(const char *format, ...) PRINTF_LIKE(1, 2);
/* Onto stdout, all of it. False: nobody reads any more, or the disk is full
 * (console_finish tells it). */
bool console_write(struct span span);
bool console_printf(const char *format, ...) PRINTF_LIKE(1, 2);
/* What was said so far leaves now; false as above. */
bool console_flush(void);
/* Did standard output fail because nobody reads it any more? */
bool console_reader_gone(void);
/* Ends the command: flushes; `status`, or when stdout failed 73 with a line on
 * stderr, and without one 141, as of SIGPIPE, when nobody reads any more. */
int console_finish(int status);
bool console_quiet(void);

/* "" unless colours are wanted on stdout. */
enum console_colour {
    CONSOLE_PLAIN,
    CONSOLE_BOLD,
    CONSOLE_DIM,
    CONSOLE_GOOD,
    CONSOLE_BAD,
    CONSOLE_WARM
};
const char *console_colour(enum console_colour colour);

#endif
