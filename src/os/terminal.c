#include "os/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/text.h"

bool terminal_is(int fd) {
    return isatty(fd) == 1;
}

static bool window_size(int fd, struct winsize *ret_size) {
    return ioctl(fd, TIOCGWINSZ, ret_size) == 0;
}

unsigned terminal_width(int fd) {
    struct winsize size;
    if (window_size(fd, &size) && size.ws_col > 0)
        return size.ws_col;
    uint64_t columns;
    if (span_u64(span_of(getenv("COLUMNS")), &columns) && columns > 0 &&
        columns <= 10000)
        return (unsigned)columns;
    return 80;
}

bool terminal_colour_parse(const char *word, enum terminal_colour *ret_colour) {
    static const char *const words[] = {"auto", "always", "never"};
    for (unsigned i = 0; i < COUNT(words); i++)
        if (strcmp(word, words[i]) == 0) {
            *ret_colour = (enum terminal_colour)i;
            return true;
        }
    return false;
}

bool terminal_redraws(int fd) {
    const char *term = getenv("TERM");
    return terminal_is(fd) && term != NULL && strcmp(term, "dumb") != 0;
}

bool terminal_wants_colour(int fd, enum terminal_colour colour) {
    if (colour != TERMINAL_COLOUR_AUTO)
        return colour == TERMINAL_COLOUR_ALWAYS;
    const char *no = getenv("NO_COLOR");
    if (no != NULL && *no != '\0')
        return false;
    return terminal_redraws(fd);
}
