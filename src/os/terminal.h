/* The abilities of a descriptor: whether it is a terminal, how wide, in colour.
 */
#ifndef POINTSMAN_OS_TERMINAL_H
#define POINTSMAN_OS_TERMINAL_H

#include <stdbool.h>

enum terminal_colour {
    TERMINAL_COLOUR_AUTO,
    TERMINAL_COLOUR_ALWAYS,
    TERMINAL_COLOUR_NEVER
};

bool terminal_is(int fd);
/* Width in columns: the terminal's, else $COLUMNS, else 80. Never 0. */
unsigned terminal_width(int fd);

/* Parses "auto", "always" or "never". False: another word. */
bool terminal_colour_parse(const char *word, enum terminal_colour *ret_colour);
/* Can a line be drawn again and again there? A dumb terminal cannot. */
bool terminal_redraws(int fd);
/* AUTO: as terminal_redraws, if NO_COLOR is unset or empty. */
bool terminal_wants_colour(int fd, enum terminal_colour colour);

#endif
