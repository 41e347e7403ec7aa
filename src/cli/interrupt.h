/* Ctrl-C and TERM as something one can wait for. Nothing is caught until
 * interrupt_catch; without it they end the program as always. */
#ifndef POINTSMAN_CLI_INTERRUPT_H
#define POINTSMAN_CLI_INTERRUPT_H

#include <stdbool.h>

/* `wake` (may be NULL) is called from the signal handler. */
void interrupt_catch(void (*wake)(void *ctx), void *ctx);
void interrupt_wake(void (*wake)(void *ctx), void *ctx);
/* HUP too, after interrupt_catch, and counted once however often it comes; not
 * where whoever started us ignores it (nohup). */
void interrupt_catch_hangup(void);
/* Readable once a signal came; -1 before interrupt_catch. */
int interrupt_fd(void);
/* For client_options: true when one came that nobody has answered yet. */
bool interrupt_pending(void *ctx);
/* Takes what came: how many signals since the last call. */
unsigned interrupt_take(void);
/* The signal that came last; 0: none came. */
int interrupt_last(void);
/* From now on QUIT (Ctrl-\\) is for those alone whom the terminal sends it
 * besides us. */
void interrupt_spare_quit(void);
/* Ends the process by INT: whoever started it sees that it was interrupted, as
 * shells do to leave their loops. */
void interrupt_die(void);

#endif
