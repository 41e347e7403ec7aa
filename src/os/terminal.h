/* What a descriptor can show: is it a terminal, how wide, in colour? */
#ifndef POINTSMAN_OS_TERMINAL_H
#define POINTSMAN_OS_TERMINAL_H

#include <stdbool.h>

enum terminal_colour {
    TERMINAL_COLOUR_AUTO,
    TERMINAL_COLOUR_ALWAYS,
    TERMINAL_COLOUR_NEVER
};

bool terminal_is(int fd);
/* Columns: of the terminal, else $COLUMNS, else 80. Never 0. */
unsigned terminal_width(int fd);

/* "auto", "always" or "never". False: another word. */
bool terminal_colour_parse(const char *word, enum terminal_colour *ret_colour);
/* AUTO: a terminal that is not dumb, and NO_COLOR is unset or empty. */
bool terminal_wants_colour(int fd, enum terminal_colour colour);

#endif
