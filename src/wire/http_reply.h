/* Parses HTTP/1.1 replies as bytes arrive, without a socket. For the command
 * line's requests to ctrl/sock and for later clients.
 *
 *     feed bytes until `done`; body bytes are appended to a text that may be
 *     emptied in between (a live stream never ends); at the end of the
 *     connection call http_reply_end.
 *
 * Accepts Content-Length, chunked, or "until the end"; skips 1xx replies. */
#ifndef POINTSMAN_WIRE_HTTP_REPLY_H
#define POINTSMAN_WIRE_HTTP_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/text.h"

enum { HTTP_HEAD_BYTES = 64 << 10 };

enum http_reply_state {
    HTTP_REPLY_HEAD,
    HTTP_REPLY_LENGTH,
    HTTP_REPLY_CHUNK_SIZE,
    HTTP_REPLY_CHUNK,
    HTTP_REPLY_CHUNK_END,
    HTTP_REPLY_TRAILER,
    HTTP_REPLY_UNTIL_END,
    HTTP_REPLY_DONE
};

struct http_reply {
    enum http_reply_state state;
    bool no_body;            /* set by the caller for HEAD requests */
    uint64_t body_bytes_max; /* 0: no limit */
    int status;              /* 0 until the head is complete */
    bool keep_alive;
    struct text head; /* status line and fields */
    struct text line; /* of a chunk size or trailer, as far as received */
    uint64_t left;    /* bytes left of the body or chunk */
    uint64_t body_bytes;
    uint64_t trailer_bytes;
};

void http_reply_init(struct http_reply *reply);
void http_reply_clear(struct http_reply *reply);
/* Parses bytes; *ret_used < bytes.len only when the reply is done. Body bytes
 * are appended to `body`. Error ERR_UNAVAILABLE: this is not HTTP, or a limit
 * is exceeded; the connection must be closed. */
bool http_reply_feed(struct http_reply *reply, struct span bytes,
                     size_t *ret_used, struct text *body, struct err *err);
/* Call it when the connection has ended. False: the reply is incomplete. */
bool http_reply_end(struct http_reply *reply, struct err *err);

#endif
