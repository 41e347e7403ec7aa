#include "cli/console.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/log.h"

static bool quiet, colours, broken;
static int why_broken; /* errno */

bool console_init(const struct call *call, struct err *err) {
    enum terminal_colour colour = TERMINAL_COLOUR_AUTO;
    const char *word = call_value(call, "color");

    /* A closed pipe must be reported as an error instead of killing the
     * process. */
    (void)signal(SIGPIPE, SIG_IGN);
    log_init("pointsman", LOG_WARNING);
    quiet = call_has(call, "quiet");
    if (word != NULL && !terminal_colour_parse(word, &colour))
        return err_set(err, ERR_USAGE,
                       "'--color' must be auto, always or never, not '%s'",
                       word);
    colours = terminal_wants_colour(STDOUT_FILENO, colour);
    return true;
}

int console_error(const struct err *err) {
    (void)console_flush();
    (void)fprintf(stderr, "pointsman: %s\n", err->text);
    return err_exit_status(err->kind);
}

void console_note(const char *format, ...) {
    va_list args;

    if (quiet)
        return;
    (void)console_flush();
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
}

static bool failed(void) {
    broken = true;
    why_broken = errno;
    return false;
}

bool console_write(struct span span) {
    if (!broken && span.len > 0 &&
        fwrite(span.p, 1, span.len, stdout) != span.len)
        return failed();
    return !broken;
}

/* After a failed flush the stream has dropped its buffer, and a second flush
 * would succeed. */
bool console_flush(void) {
    if (!broken && fflush(stdout) != 0)
        return failed();
    return !broken;
}

bool console_reader_gone(void) {
    return broken && why_broken == EPIPE;
}

bool console_printf(const char *format, ...) {
    va_list args;

    va_start(args, format);
    if (!broken && vfprintf(stdout, format, args) < 0)
        (void)failed();
    va_end(args);
    return !broken;
}

int console_finish(int status) {
    if (console_flush())
        return status;
    if (why_broken != EPIPE)
        (void)fprintf(stderr,
                      "pointsman: cannot write to standard output: %s\n",
                      strerror(why_broken));
    if (status != 0)
        return status;
    return why_broken == EPIPE ? 128 + SIGPIPE : err_exit_status(ERR_CANNOT);
}

bool console_quiet(void) {
    return quiet;
}

const char *console_colour(enum console_colour colour) {
    static const char *const codes[] = {
        [CONSOLE_PLAIN] = "\033[0m", [CONSOLE_BOLD] = "\033[1m",
        [CONSOLE_DIM] = "\033[2m",   [CONSOLE_GOOD] = "\033[32m",
        [CONSOLE_BAD] = "\033[31m",  [CONSOLE_WARM] = "\033[33m",
    };
    return colours ? codes[colour] : "";
}
