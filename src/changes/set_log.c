#include "changes/set_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/dir.h"

enum { EVENTS_AT_ONCE = 500, LOG_BYTES = 64 << 20 };

static const char between[] = " -- ";

/* ---- one line -------------------------------------------------------- */

static void write_line(const struct store_event *event, struct text *out) {
    CLEANUP(text_clear) struct text reason = TEXT_INIT;
    if (event->kind != EVENT_MOVE)
        text_addf(&reason, "%s:", job_event_kind_word(event->kind));
    text_addspan(&reason, event->reason);
    if (event->detail.len > 0) {
        text_adds(&reason, between);
        text_addspan(&reason, event->detail);
    }
    struct event_line line = {
        .tai = event->at,
        .seq = event->seq,
        .from = job_state_letter(event->from),
        .to = job_state_letter(event->to),
        .actor = event->actor,
        .attempt = event->attempt,
        .reason = text_span(&reason),
        .facts = event->facts,
    };
    event_line_format(&line, out);
}

static enum job_state state_of(char letter) {
    enum job_state state;
    return job_state_of_letter(letter, &state) ? state : STATE_NONE;
}

static void read_reason(struct span text, struct store_event *event) {
    struct span rest = text, word;
    event->kind = EVENT_MOVE;
    if (span_cut(&rest, ':', &word) && rest.p &&
        job_event_kind_parse(word, &event->kind))
        text = rest;
    const char *cut =
        text.len ? memmem(text.p, text.len, between, sizeof(between) - 1)
                 : NULL;
    event->reason = text;
    if (!cut)
        return;
    event->reason.len = (size_t)(cut - text.p);
    event->detail.p = cut + sizeof(between) - 1;
    event->detail.len = text.len - event->reason.len - (sizeof(between) - 1);
}

static bool read_line(struct span text, struct span csid, struct arena *arena,
                      struct store_event *event, struct err *err) {
    struct event_line line;
    if (!event_line_parse(text, arena, &line, err))
        return false;
    *event = (struct store_event){
        .seq = line.seq,
        .at = line.tai,
        .id = csid,
        .from = state_of(line.from),
        .to = state_of(line.to),
        .attempt = (unsigned)line.attempt,
        .actor = line.actor,
        .facts = line.facts,
    };
    read_reason(line.reason, event);
    return true;
}

/* A text that was too long for its line ends in "...". */
static bool is_same_text(struct span kept, struct span whole) {
    if (span_equal(kept, whole))
        return true;
    return span_ends(kept, "...") && kept.len - 3 <= whole.len &&
           memcmp(kept.p, whole.p, kept.len - 3) == 0;
}

bool set_log_is_true(const struct store_event *line,
                     const struct store_event *event) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct store_event as_written;
    struct err err;
    write_line(event, &text);
    text.len--;
    if (!read_line(text_span(&text), line->id, &arena, &as_written, &err))
        return true; /* nothing that is written cannot be read */
    return line->kind == as_written.kind && line->from == as_written.from &&
           line->to == as_written.to && line->attempt == as_written.attempt &&
           line->at.ns == as_written.at.ns &&
           span_equal(line->actor, as_written.actor) &&
           is_same_text(line->reason, as_written.reason) &&
           is_same_text(line->detail, as_written.detail) &&
           (line->facts.len == 0 || span_equal(line->facts, as_written.facts));
}

/* ---- appending ------------------------------------------------------- */

static void write_head(struct base *base, const struct job *job,
                       struct arena *arena, struct text *out) {
    struct job_edge *edges = NULL;
    struct lines dependencies = {NULL, 0};
    size_t count = 0;
    if (store_edges_from(base->store, job->num, arena, &edges, &count, NULL)) {
        dependencies.items =
            arena_alloc(arena, (count + 1) * sizeof(struct span));
        for (size_t i = 0; i < count; i++)
            if (edges[i].kind == EDGE_DEPENDENCY)
                dependencies.items[dependencies.count++] = edges[i].to;
    }
    event_head_format(job->id, &dependencies, out);
}

/* The number of the last whole line; anything after it is removed. */
static bool find_end(int fd, struct arena *arena, uint64_t *ret_seq,
                     bool *ret_empty, struct err *err) {
    char tail[2 * EVENT_LINE_BYTES];
    struct stat st;
    *ret_seq = 0;
    *ret_empty = true;
    if (fstat(fd, &st) < 0)
        return err_errno(err, errno, "cannot check it");
    off_t begin =
        st.st_size > (off_t)sizeof(tail) ? st.st_size - (off_t)sizeof(tail) : 0;
    ssize_t got = pread(fd, tail, sizeof(tail), begin);
    if (got < 0)
        return err_errno(err, errno, "cannot read it");
    const char *end = memrchr(tail, '\n', (size_t)got);
    size_t whole = end ? (size_t)(end - tail) + 1 : 0;
    if (whole < (size_t)got && disk->ftruncate(fd, begin + (off_t)whole) < 0)
        return err_errno(err, errno, "cannot remove an incomplete last line");
    if (!end)
        return true;
    *ret_empty = false;
    const char *before = memrchr(tail, '\n', whole - 1);
    const char *line = before ? before + 1 : tail;
    struct store_event event;
    if ((before || begin > 0) &&
        read_line(span_make(line, (size_t)(end - line)), (struct span){0},
                  arena, &event, NULL))
        *ret_seq = event.seq;
    return true;
}

static bool open_log(struct base *base, const char *name, int *ret_fd,
                     struct err *err) {
    int dir = base->dirs[BASE_LOG];
    struct err why = {0};
    if (dir_open_file(dir, name, O_RDWR | O_APPEND, 0, ret_fd, &why))
        return true;
    if (why.sys != ENOENT)
        return err_set(err, why.kind, "%s", why.text);
    return dir_open_file(dir, name, O_RDWR | O_APPEND | O_CREAT, 0600, ret_fd,
                         err) &&
           base_give_file(base, *ret_fd, err);
}

static bool append_events(struct base *base, const struct job *job,
                          uint64_t after, struct arena *arena, struct text *out,
                          struct err *err) {
    for (;;) {
        struct store_event *events;
        size_t count;
        if (!store_events(base->store, after, job->num, EVENTS_AT_ONCE, arena,
                          &events, &count, err))
            return false;
        for (size_t i = 0; i < count; i++)
            write_line(&events[i], out);
        if (count < EVENTS_AT_ONCE)
            return true;
        after = events[count - 1].seq;
    }
}

bool set_log_catch_up(struct base *base, const struct job *job,
                      struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    CLEANUP(fd_close) int fd = -1;
    const char *name = arena_string(&arena, job->id);
    uint64_t last;
    bool empty;
    if (!open_log(base, name, &fd, err) ||
        !find_end(fd, &arena, &last, &empty, err))
        return err_wrap(err, "log of set '%s'", name);
    if (empty)
        write_head(base, job, &arena, &out);
    if (!append_events(base, job, last, &arena, &out, err))
        return false;
    if (!dir_write_file(fd, text_span(&out), err))
        return err_wrap(err, "log of set '%s'", name);
    return true;
}

/* ---- reading --------------------------------------------------------- */

static size_t count_lines(struct span text) {
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += text.p[i] == '\n';
    return count;
}

bool set_log_read(struct base *base, struct span csid, struct arena *arena,
                  struct set_log *ret_log, struct err *err) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    const char *name = arena_string(arena, csid);
    struct lines dependencies;
    struct span line;
    *ret_log = (struct set_log){0};
    if (!dir_read(base->dirs[BASE_LOG], name, LOG_BYTES, &text, err))
        return false;
    struct span rest = arena_span(arena, text_span(&text));
    size_t lines = count_lines(rest);
    if (lines == 0)
        return err_set(err, ERR_DATA, "log of set '%s' is empty", name);
    ret_log->events = arena_alloc(arena, lines * sizeof(struct store_event));
    for (size_t i = 0; i < lines && span_cut(&rest, '\n', &line); i++) {
        bool ok = i == 0 ? event_head_parse(line, arena, &ret_log->csid,
                                            &dependencies, err)
                         : read_line(line, csid, arena,
                                     &ret_log->events[ret_log->count++], err);
        if (!ok)
            return err_wrap(err, "log of set '%s', line %zu", name, i + 1);
    }
    if (!span_equal(ret_log->csid, csid))
        return err_set(err, ERR_DATA, "log of set '%s' belongs to '%.*s'", name,
                       (int)ret_log->csid.len, ret_log->csid.p);
    return true;
}
