/* Ctrl-C and TERM as events that can be waited for. Nothing is caught until
 * interrupt_catch; without it they end the program as usual. */
#ifndef POINTSMAN_CLI_INTERRUPT_H
#define POINTSMAN_CLI_INTERRUPT_H

#include <stdbool.h>

/* `wake` (may be NULL) is called from the signal handler. */
void interrupt_catch(void (*wake)(void *ctx), void *ctx);
void interrupt_wake(void (*wake)(void *ctx), void *ctx);
/* Catches HUP too, after interrupt_catch, and counts it only once; not if it
 * was ignored from the start (nohup). */
void interrupt_catch_hangup(void);
/* Readable once a signal has come; -1 before interrupt_catch. */
int interrupt_fd(void);
/* For client_options: true if a signal has come that was not handled yet. */
bool interrupt_pending(void *ctx);
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
