/* Frames for the guard that its socket has not accepted yet, with the
 * descriptors that go out with some of them. */
#ifndef POINTSMAN_OS_GUARD_OUTBOX_H
#define POINTSMAN_OS_GUARD_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/text.h"

struct guard_outbox {
    struct text frames;              /* encoders append here */
    size_t sent;                     /* bytes of it */
    struct guard_attached *attached; /* in the order of their frames */
    size_t attached_count;
};

/* A copy of the descriptor is sent with the first byte of the frame that begins
 * at `at`. False: there are no more descriptors. */
bool guard_outbox_attach(struct guard_outbox *outbox, int fd, size_t at);
/* Sends without waiting. False: the rest must wait, or the guard is gone. */
bool guard_outbox_send(struct guard_outbox *outbox, int socket_fd);
/* Drops what was not sent. */
void guard_outbox_drop(struct guard_outbox *outbox);
void guard_outbox_clear(struct guard_outbox *outbox);

#endif
