/* A command in a sandbox: `pointsman confine -- COMMAND`, put in front of tasks
 * that ask for it. Unlike the parsers of untrusted input (os/sandbox.h) it may
 * start programs and read all that its user may; but it
 *
 *   - gets no rights its user has not (no_new_privs); root's rights are gone
 *     but for reading, and writing where it may, what belongs to others;
 *   - writes only below its working directory and $TMPDIR, and to /dev/null and
 *     its like (Landlock), and makes no devices. Without a $TMPDIR it is the
 *     working directory. What its user owns elsewhere keeps its content, but
 *     not its mode and times: no kernel of today watches over those;
 *   - has no sockets but pairs (seccomp), and from Linux 6.12 on reaches nobody
 *     outside by signals (Landlock);
 *   - cannot mount, trace, load, set the clock, or enter namespaces (seccomp),
 *     nor, before Linux 6.2, truncate(2) a file by its name.
 *
 * Where the kernel has no Landlock, the command is not run. */
#ifndef POINTSMAN_OS_CONFINE_H
#define POINTSMAN_OS_CONFINE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

/* For a small program that reads foreign bytes, about to be executed: it reads
 * and runs what its user may, writes nothing but what is open already, has no
 * sockets, little time and memory, and gets no rights by what it executes. What
 * the kernel lacks of this is left out; false where it has it and refuses. */
struct confine_reader {
    uint64_t cpu_s, memory_bytes;
};
bool confine_reader(const struct confine_reader *limits, struct err *err);

/* Returns only an exit status: 100 no sandbox, 126 or 127 no program. */
int confine_main(int argc, char **argv);

#endif
