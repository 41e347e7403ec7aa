/* What one program hands over to the next one that is executed in the same
 * process: a file in memory, whose descriptor the variable below names. It is
 * JSON; members that a program does not know are ignored. */
#ifndef POINTSMAN_SERVE_UPGRADE_STATE_H
#define POINTSMAN_SERVE_UPGRADE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "http/http.h"
#include "serve/roles.h"

#define UPGRADE_STATE_VARIABLE "POINTSMAN_UPGRADE"

/* Changes if an older program could not go on with what is handed over. */
enum { UPGRADE_STATE_VERSION = 1 };

struct upgrade_state {
    uint64_t number; /* of upgrades of this process */
    int program_fd;  /* the program before; executed if the next one fails */
    int base_fd;     /* its lock on the base, kept until the next one has its */
    int serve_fd;    /* its lock as the server; -1: none */
    struct http_sockets sockets;
    struct roles_handover roles;
    struct span failed; /* why the next program did not go on; empty: it is the
                           next program that reads this */
};

/* Returns the descriptor of a new file; it stays open across exec. -1: error.
 */
int upgrade_state_write(const struct upgrade_state *state, struct err *err);
/* Spans lie in the arena. ERR_DATA: not such a file, or of another version. */
bool upgrade_state_read(int fd, struct arena *arena,
                        struct upgrade_state *ret_state, struct err *err);
/* For the program before: why the next one failed. */
bool upgrade_state_fail(int fd, struct span why);

#endif
