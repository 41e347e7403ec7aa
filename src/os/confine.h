/* Runs a command in a sandbox: `pointsman confine -- COMMAND`, put in front of
 * tasks that ask for it. Unlike the parsers of untrusted input (os/sandbox.h)
 * the command may start programs and read everything its user may read, but it
 *
 *   - gains no rights that its user lacks (no_new_privs); root loses all its
 *     rights except reading files of others, and writing them where allowed;
 *   - writes only below its working directory and $TMPDIR, and to /dev/null and
 *     the like (Landlock), and makes no devices. If $TMPDIR is unset, it is set
 *     to the working directory. Files of its user elsewhere keep their content,
 *     but not their mode and times: no current kernel protects those;
 *   - has no sockets except pairs (seccomp), and since Linux 6.12 cannot signal
 *     processes outside (Landlock);
 *   - cannot mount, trace, load modules, set the clock or enter namespaces
 *     (seccomp), nor, before Linux 6.2, truncate(2) a file by its name.
 *
 * If the kernel has no Landlock, the command is not run. */
#ifndef POINTSMAN_OS_CONFINE_H
#define POINTSMAN_OS_CONFINE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

/* For a small program that reads untrusted input and is about to be executed:
 * it may read and run what its user may, write only to files that are already
 * open, use no sockets and little time and memory, and gain no rights by what
 * it executes. A feature that the kernel lacks is skipped; false if the kernel
 * has it and refuses. */
struct confine_reader {
    uint64_t cpu_s, memory_bytes;
};
bool confine_reader(const struct confine_reader *limits, struct err *err);

/* Returns only on failure, with an exit status: 100 no sandbox, 126 or 127 no
 * program. */
int confine_main(int argc, char **argv);

#endif
