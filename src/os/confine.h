/* A command in a sandbox: `pointsman confine -- COMMAND`, put in front of tasks
 * that ask for it. Unlike the readers of foreign bytes (os/sandbox.h) it may
 * start programs and read all that its user may; but it
 *
 *   - gets no rights its user has not (no_new_privs);
 *   - writes only below its working directory and $TMPDIR, and to /dev/null and
 *     its like (Landlock). Without a $TMPDIR it is the working directory;
 *   - has no sockets but pairs (seccomp), reaches nobody outside by signals;
 *   - cannot mount, trace, load, set the clock, or enter namespaces (seccomp).
 *
 * Where the kernel cannot do that, the command is not run. */
#ifndef POINTSMAN_OS_CONFINE_H
#define POINTSMAN_OS_CONFINE_H

/* Returns only an exit status: 100 no sandbox, 126 or 127 no program. */
int confine_main(int argc, char **argv);

#endif
