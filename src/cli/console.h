/* Output of the command line: data on stdout, notes on stderr, errors as one
 * line that begins with "pointsman: ". */
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

/* Prints the error on stderr; returns its exit status. */
int console_error(const struct err *err);
/* Prints one line on stderr unless --quiet. */
void console_note(const char *format, ...) PRINTF_LIKE(1, 2);
/* Writes everything to stdout. False: the reader has closed it, or the disk
 * is full (console_finish reports it). */
bool console_write(struct span span);
bool console_printf(const char *format, ...) PRINTF_LIKE(1, 2);
/* Writes out what is buffered; false as above. */
bool console_flush(void);
/* Did standard output fail because its reader has closed it? */
bool console_reader_gone(void);
/* Ends the command: flushes and returns `status`. If stdout failed it
 * returns 73 and prints a line on stderr; if its reader has closed it, it
 * returns 141 (as for SIGPIPE) silently. */
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
