/* Says on standard error what may keep a job from ever starting. */
#ifndef POINTSMAN_CLI_WAIT_NOTE_H
#define POINTSMAN_CLI_WAIT_NOTE_H

#include "cli/client.h"
#include "lib/arena.h"

/* Prints that no process runs the role that the job waits for; `ended`: or that
 * it has ended. Prints nothing for other reasons, or if the job or the server
 * cannot be asked. */
void wait_note_print(struct client *client, const char *id, bool ended,
                     struct arena *arena);

#endif
