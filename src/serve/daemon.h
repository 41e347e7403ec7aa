/* `serve` and `daemon`: roles as resident or one-shot processes
 * (doc/design/processes.md, P7, P13, P14). */
#ifndef POINTSMAN_SERVE_DAEMON_H
#define POINTSMAN_SERVE_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "base/role.h"

enum daemon_until {
    DAEMON_FOR_EVER,
    DAEMON_ONCE,      /* one pass, until the work it started has ended */
    DAEMON_UNTIL_IDLE /* nothing can change without time passing (P14) */
};

struct daemon_options {
    const char *base_path;   /* absolute */
    const struct role *role; /* NULL = all */
    enum daemon_until until;
    uint64_t job_limit; /* exec ends after this many jobs; 0 = no limit */
    bool quiet;         /* log only errors */
    bool answers;       /* ctrl/sock, and TCP as configured: `serve` */
    const char *listen; /* --listen; NULL = as configured, "off" = none */
};

/* The whole life of such a process, including signals: TERM and INT drain, a
 * second one sends TERM to what still runs, a third one KILL; HUP reloads the configuration. Returns the exit
 * status; errors have been printed on stderr. ERR_RUNNING is 99. */
int daemon_run(const struct daemon_options *options);

#endif
