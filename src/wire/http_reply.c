#include "wire/http_reply.h"

enum { CHUNK_LINE_BYTES = 4096 };

void http_reply_init(struct http_reply *reply) {
    *reply = (struct http_reply){0};
}

void http_reply_clear(struct http_reply *reply) {
    text_clear(&reply->head);
    text_clear(&reply->line);
    *reply = (struct http_reply){0};
}

static bool refuse(struct err *err, const char *what) {
    return err_set(err, ERR_UNAVAILABLE, "the server's reply %s", what);
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool folded_equal(struct span a, struct span b) {
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (lower(a.p[i]) != lower(b.p[i]))
            return false;
    return true;
}

static struct span without_cr(struct span line) {
    if (line.len && line.p[line.len - 1] == '\r')
        line.len--;
    return line;
}

static bool field_cut(struct span *rest, struct span *ret_name,
                      struct span *ret_value) {
    struct span line;
    while (span_cut(rest, '\n', &line)) {
        line = without_cr(line);
        const char *colon = line.len ? memchr(line.p, ':', line.len) : NULL;
        if (!colon)
            continue;
        *ret_name = span_make(line.p, (size_t)(colon - line.p));
        *ret_value = span_trim(
            span_make(colon + 1, line.len - (size_t)(colon + 1 - line.p)));
        return true;
    }
    return false;
}

/* Value of the first field of that name (ignoring case). False: absent. */
static bool find_field(const struct http_reply *reply, const char *name,
                       struct span *ret_value) {
    struct span rest = text_span(&reply->head), first, field;
    span_cut(&rest, '\n', &first);
    while (field_cut(&rest, &field, ret_value))
        if (folded_equal(field, span_of(name)))
            return true;
    *ret_value = (struct span){0};
    return false;
}

/* True if `word` is the last or only one of a field's comma-separated values.
 */
static bool ends_with_word(struct span value, const char *word) {
    struct span part = {0}, last = {0};
    for (struct span rest = value; span_cut(&rest, ',', &part);)
        last = part;
    return folded_equal(span_trim(last), span_of(word));
}

static bool read_status(struct http_reply *reply, struct err *err) {
    struct span rest = text_span(&reply->head), line;
    span_cut(&rest, '\n', &line);
    line = without_cr(line);
    if (line.len < 12 || !span_starts(line, "HTTP/1.") || line.p[8] != ' ' ||
        (line.p[7] != '0' && line.p[7] != '1') ||
        (line.len > 12 && line.p[12] != ' '))
        return refuse(err, "is not HTTP/1.1");
    uint64_t status;
    if (!span_u64(span_make(line.p + 9, 3), &status) || status < 100)
        return refuse(err, "has no status");
    reply->status = (int)status;
    reply->keep_alive = line.p[7] == '1';
    return true;
}

/* All Content-Length fields must have the same number. */
static bool read_length(const struct http_reply *reply, bool *ret_given,
                        uint64_t *ret_length) {
    struct span rest = text_span(&reply->head), name, value, first;
    span_cut(&rest, '\n', &first);
    *ret_given = false;
    while (field_cut(&rest, &name, &value)) {
        uint64_t length;
        if (!folded_equal(name, SPAN("content-length")))
            continue;
        if (!span_u64(value, &length) || (*ret_given && length != *ret_length))
            return false;
        *ret_given = true;
        *ret_length = length;
    }
    return true;
}

static void begin_again(struct http_reply *reply) {
    text_reset(&reply->head);
    reply->status = 0;
}

static bool read_head(struct http_reply *reply, struct err *err) {
    struct span value;
    bool given;
    if (!read_status(reply, err))
        return false;
    if (reply->status < 200 && reply->status != 101) {
        begin_again(reply);
        return true;
    }
    if (find_field(reply, "connection", &value))
        reply->keep_alive = reply->keep_alive
                                ? !ends_with_word(value, "close")
                                : ends_with_word(value, "keep-alive");
    if (!read_length(reply, &given, &reply->left))
        return refuse(err, "has an invalid Content-Length");
    if (reply->no_body || reply->status == 204 || reply->status == 304) {
        reply->state = HTTP_REPLY_DONE;
    } else if (find_field(reply, "transfer-encoding", &value)) {
        if (!ends_with_word(value, "chunked") || given)
            return refuse(err, "has an unsupported Transfer-Encoding");
        reply->state = HTTP_REPLY_CHUNK_SIZE;
    } else if (given) {
        reply->state = reply->left ? HTTP_REPLY_LENGTH : HTTP_REPLY_DONE;
    } else {
        reply->state = HTTP_REPLY_UNTIL_END;
        reply->keep_alive = false;
    }
    return true;
}

/* Moves bytes up to and including the next LF into `line`; false: the line is
 * not complete yet. */
static bool take_line(struct text *line, struct span *bytes) {
    const char *lf = memchr(bytes->p, '\n', bytes->len);
    size_t len = lf ? (size_t)(lf + 1 - bytes->p) : bytes->len;
    text_add(line, bytes->p, len);
    bytes->p += len;
    bytes->len -= len;
    return lf;
}

static bool step_head(struct http_reply *reply, struct span *bytes,
                      struct err *err) {
    bool whole = take_line(&reply->head, bytes);
    if (reply->head.len > HTTP_HEAD_BYTES)
        return refuse(err, "has a head of more than 64 KiB");
    struct span head = text_span(&reply->head);
    if (!whole)
        return true;
    if (head.len <= 2 && !without_cr(span_make(head.p, head.len - 1)).len) {
        text_reset(&reply->head); /* empty lines in front are allowed */
        return true;
    }
    if (span_ends(head, "\n\n") || span_ends(head, "\n\r\n"))
        return read_head(reply, err);
    return true;
}

static bool step_body(struct http_reply *reply, struct span *bytes,
                      struct text *body, struct err *err) {
    size_t len = bytes->len;
    if (reply->state != HTTP_REPLY_UNTIL_END && len > reply->left)
        len = (size_t)reply->left;
    reply->body_bytes += len;
    if (reply->body_bytes_max && reply->body_bytes > reply->body_bytes_max)
        return refuse(err, "is too long");
    text_add(body, bytes->p, len);
    bytes->p += len;
    bytes->len -= len;
    if (reply->state == HTTP_REPLY_UNTIL_END)
        return true;
    reply->left -= len;
    if (!reply->left)
        reply->state = reply->state == HTTP_REPLY_CHUNK ? HTTP_REPLY_CHUNK_END
                                                        : HTTP_REPLY_DONE;
    return true;
}

static bool hex_digit(char c, uint64_t *ret) {
    c = lower(c);
    if (c >= '0' && c <= '9')
        *ret = (uint64_t)(c - '0');
    else if (c >= 'a' && c <= 'f')
        *ret = (uint64_t)(c - 'a' + 10);
    else
        return false;
    return true;
}

static bool chunk_size(struct span line, uint64_t *ret_size) {
    uint64_t digit, size = 0;
    size_t digits = 0;
    while (digits < line.len && hex_digit(line.p[digits], &digit)) {
        if (size >> 59)
            return false;
        size = size * 16 + digit;
        digits++;
    }
    *ret_size = size;
    return digits && (digits == line.len || line.p[digits] == ';' ||
                      line.p[digits] == ' ');
}

static bool step_chunk_line(struct http_reply *reply, struct span *bytes,
                            struct err *err) {
    bool whole = take_line(&reply->line, bytes);
    if (reply->line.len > CHUNK_LINE_BYTES)
        return refuse(err, "has a chunk line of more than 4096 bytes");
    if (!whole)
        return true;
    struct span line = text_span(&reply->line);
    line = without_cr(span_make(line.p, line.len - 1));
    if (reply->state == HTTP_REPLY_CHUNK_END) {
        if (line.len)
            return refuse(err, "has a chunk of the wrong length");
        reply->state = HTTP_REPLY_CHUNK_SIZE;
    } else if (reply->state == HTTP_REPLY_TRAILER) {
        reply->trailer_bytes += reply->line.len;
        if (reply->trailer_bytes > HTTP_HEAD_BYTES)
            return refuse(err, "has a trailer of more than 64 KiB");
        if (!line.len)
            reply->state = HTTP_REPLY_DONE;
    } else {
        if (!chunk_size(line, &reply->left))
            return refuse(err, "has a chunk without a size");
        reply->state = reply->left ? HTTP_REPLY_CHUNK : HTTP_REPLY_TRAILER;
    }
    text_reset(&reply->line);
    return true;
}

static bool step(struct http_reply *reply, struct span *bytes,
                 struct text *body, struct err *err) {
    switch (reply->state) {
    case HTTP_REPLY_HEAD:
        return step_head(reply, bytes, err);
    case HTTP_REPLY_LENGTH:
    case HTTP_REPLY_CHUNK:
    case HTTP_REPLY_UNTIL_END:
        return step_body(reply, bytes, body, err);
    case HTTP_REPLY_CHUNK_SIZE:
    case HTTP_REPLY_CHUNK_END:
    case HTTP_REPLY_TRAILER:
        return step_chunk_line(reply, bytes, err);
    case HTTP_REPLY_DONE:
        break;
    }
    return true;
}

bool http_reply_feed(struct http_reply *reply, struct span bytes,
                     size_t *ret_used, struct text *body, struct err *err) {
    struct span rest = bytes;
    bool fine = true;
    while (fine && rest.len && reply->state != HTTP_REPLY_DONE)
        fine = step(reply, &rest, body, err);
    *ret_used = bytes.len - rest.len;
    return fine;
}

bool http_reply_end(struct http_reply *reply, struct err *err) {
    if (reply->state == HTTP_REPLY_UNTIL_END)
        reply->state = HTTP_REPLY_DONE;
    if (reply->state == HTTP_REPLY_DONE)
        return true;
    if (reply->state == HTTP_REPLY_HEAD && !reply->head.len)
        return refuse(err, "did not arrive: it closed the connection");
    return refuse(err, "is incomplete");
}
