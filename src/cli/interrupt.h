/* Ctrl-C, TERM and HUP as events that can be waited for. Nothing is caught
 * until interrupt_catch; without it they end the program as usual. */
#ifndef POINTSMAN_CLI_INTERRUPT_H
#define POINTSMAN_CLI_INTERRUPT_H

#include <stdbool.h>

/* From now on INT, TERM and HUP are counted. HUP counts only once, however
 * often it comes, and not at all if it was ignored from the start (nohup). */
void interrupt_catch(void);
/* `wake` (may be NULL) is called from the signal handler. */
void interrupt_wake(void (*wake)(void *ctx), void *ctx);
/* Readable once a signal has come, until interrupt_pending; -1 before
 * interrupt_catch. */
int interrupt_fd(void);
/* How many signals have come since interrupt_take. */
unsigned interrupt_pending(void);
/* Takes the pending signals: how many came since the last call. */
unsigned interrupt_take(void);
/* The latest signal; 0: none came. */
int interrupt_last(void);
/* From now on this process ignores QUIT (Ctrl-\\), which the terminal sends
 * to the whole foreground group: it is meant for the others. */
void interrupt_spare_quit(void);
/* Ends the process by INT, so that its parent sees that it was interrupted,
 * as shells do to leave their loops. */
void interrupt_die(void);

#endif
