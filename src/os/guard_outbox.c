#include "os/guard_outbox.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "os/fd.h"

struct guard_attached {
    size_t at; /* in `frames` */
    int fd;
};

bool guard_outbox_attach(struct guard_outbox *outbox, int fd, size_t at) {
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return false;
    outbox->attached = mem_grow(outbox->attached, outbox->attached_count + 1,
                                sizeof *outbox->attached);
    outbox->attached[outbox->attached_count++] =
        (struct guard_attached){at, copy};
    return true;
}

static bool send_plain(struct guard_outbox *outbox, int socket_fd,
                       size_t bytes) {
    ssize_t n = send(socket_fd, outbox->frames.p + outbox->sent, bytes,
                     MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0)
        outbox->sent += (size_t)n;
    return n > 0;
}

/* Sends the first byte of a frame with its descriptor. */
static bool send_attached(struct guard_outbox *outbox, int socket_fd) {
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct guard_attached *first = &outbox->attached[0];
    struct iovec part = {.iov_base = outbox->frames.p + outbox->sent,
                         .iov_len = 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &first->fd, sizeof(int));
    if (sendmsg(socket_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
        return false;
    outbox->sent++;
    fd_close(&first->fd);
    memmove(first, first + 1, --outbox->attached_count * sizeof *first);
    return true;
}

static bool send_some(struct guard_outbox *outbox, int socket_fd) {
    size_t next = outbox->attached_count > 0 ? outbox->attached[0].at
                                             : outbox->frames.len;
    return next > outbox->sent
               ? send_plain(outbox, socket_fd, next - outbox->sent)
               : send_attached(outbox, socket_fd);
}

bool guard_outbox_send(struct guard_outbox *outbox, int socket_fd) {
    while (outbox->sent < outbox->frames.len)
        if (!send_some(outbox, socket_fd))
            return false;
    guard_outbox_drop(outbox);
    return true;
}

void guard_outbox_drop(struct guard_outbox *outbox) {
    for (size_t i = 0; i < outbox->attached_count; i++)
        fd_close(&outbox->attached[i].fd);
    outbox->attached_count = 0;
    outbox->sent = 0;
    text_reset(&outbox->frames);
}

void guard_outbox_clear(struct guard_outbox *outbox) {
    guard_outbox_drop(outbox);
    text_clear(&outbox->frames);
    free(outbox->attached);
    outbox->attached = NULL;
}
