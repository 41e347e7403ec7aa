/* Output of an attempt: whole, its tail, a range of bytes or of lines, and as
 * it grows. Nothing is ever read whole into memory. */
#include "api/api_call.h"
#include "api/api_handlers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/map.h"
#include "core/reason.h"
#include "os/fd.h"
#include "os/output.h"
#include "base/output_loss.h"
#include "scheduler/rollback_status.h"
#include "api/array_progress.h"
#include "api/log_filter.h"
#include "api/log_origin.h"
#include "api/task_match.h"
#include "scheduler/runner.h"
#include "wire/attempt_trace.h"
#include "wire/line_index.h"
#include "wire/log_place.h"

_Static_assert((int)LOG_PLACE_STREAMS == (int)STAMP_STREAMS,
               "a place has a member for each stream");

enum {
    LOG_BLOCK_BYTES = 64 << 10,
    LOG_BLOCKS = 16,
    LOG_COUNT_MS = 1000,  /* between two counts of the tasks of an array */
    LOG_STAMPS_MS = 10000 /* how long to wait for them */
};

/* One output that is to be shown. */
struct log_entry {
    struct span node;
    uint64_t task; /* place in the array */
    unsigned attempt;
    uint64_t assigned; /* as in struct log_place */
};

struct log {
    uint64_t num;
    struct span node; /* asked for; empty: all tasks */
    unsigned attempt; /* asked for; 0: the last one of each task */
    bool follows;
    bool failed;       /* only tasks that have failed */
    struct span label; /* each line names its task; for a job with one task,
                          this */
    struct log_entry *queue; /* to be shown, one after the other */
    size_t count, cap, next;
    struct map listed; /* keys of all that are or were in the queue */
    bool begun;        /* the queue was filled for the first time */

    struct log_entry now;    /* attempt 0: none is being shown */
    bool grows;              /* it is being written */
    struct output_loss loss; /* of its output; known once it has ended */
    struct wall ended;
    struct output_view view; /* the output at present; may be empty (yet) */
    uint64_t at;             /* the next byte to send */
    uint64_t end;            /* the first byte not to send */
    uint64_t offset;         /* asked for */
    uint64_t tail;           /* lines; UINT64_MAX: not asked for */
    bool placed;             /* the first byte to show was found */
    bool by_lines;
    uint64_t skip_lines, lines_left;
    struct log_filter filter;
    uint64_t pending[STAMP_STREAMS]; /* where the line began that the filter
                                        keeps */
    bool resumes;                    /* the caller gave a place */
    struct log_place from; /* that place, until its output was shown */
    uint64_t begun_at;     /* as in struct log_place */
    struct log_entry last; /* shown before `now`, if there is no `now` */
    struct text place;     /* sent last; only if framed */

    struct text progress; /* reported last; only in frames */
    bool is_array;        /* its progress is that of its tasks */
    struct wall counted;  /* when they were counted last */
    unsigned noted;       /* the attempt after which a note was sent; 0: none */
    bool wants_origin;    /* whether stream and time of each byte are needed */
    struct log_origin origin;
    struct log_tail origin_tail;
    uint64_t late_at, late_bytes; /* bytes without stamps were found there,
                                     when there were this many bytes of
                                     stamps */
    struct wall late_since;
};

static void log_clear(struct api_call *call) {
    struct log *log = call->state;

    output_view_close(&log->view);
    log_origin_close(&log->origin);
    text_clear(&log->progress);
    text_clear(&log->place);
    free(log->queue);
    log_filter_clear(&log->filter);
    map_clear(&log->listed);
}

/* ---- which outputs ------------------------------------------------------- */

/* True if it was listed before. A start that was returned as if it had not been
 * tried leaves its number to the next one, with another time. */
static bool log_lists(struct log *log, const struct store_attempt *attempt,
                      struct arena *arena) {
    struct span key =
        span_of(arena_printf(arena, "%u %" PRId64 " %.*s", attempt->attempt,
                             attempt->assigned.ns, (int)attempt->node.len,
                             attempt->node.p == NULL ? "" : attempt->node.p));

    if (map_get(&log->listed, key) != NULL)
        return true;
    (void)map_put(&log->listed, key, log);
    return false;
}

/* As in struct log_place. */
static uint64_t log_assigned(const struct log *log,
                             const struct store_attempt *attempt) {
    uint64_t at = (uint64_t)attempt->assigned.ns;
    return log->begun && at > log->begun_at ? at : 0;
}

static bool log_wants(const struct log *log,
                      const struct store_attempt *attempt,
                      const struct map *tasks) {
    const struct store_task *task =
        log->failed ? map_get(tasks, attempt->node) : NULL;
    return (!log->failed || (task != NULL && task->status == TASK_FAILED)) &&
           (log->node.len == 0 || span_equal(attempt->node, log->node)) &&
           (log->attempt == 0 || attempt->attempt == log->attempt);
}

static void log_add(struct api_call *call, struct log *log,
                    const struct store_attempt *attempt,
                    const struct map *tasks) {
    const struct store_task *task = map_get(tasks, attempt->node);

    if (log->count == log->cap) {
        log->cap = log->cap == 0 ? 16 : log->cap * 2;
        log->queue = mem_grow(log->queue, log->cap, sizeof *log->queue);
    }
    log->queue[log->count++] = (struct log_entry){
        .node = arena_span(&call->arena, attempt->node),
        .task = task == NULL ? 0 : task->at,
        .attempt = attempt->attempt,
        .assigned = log_assigned(log, attempt),
    };
}

static int entry_compare(const void *a, const void *b) {
    const struct log_entry *one = a, *two = b;

    if (one->assigned != two->assigned)
        return one->assigned < two->assigned ? -1 : 1;
    int order = span_compare(one->node, two->node);
    return order != 0
               ? order
               : (one->attempt > two->attempt) - (one->attempt < two->attempt);
}

/* How an output lies to the place at which the caller goes on: less than 0, it
 * was shown before. */
static int entry_compare_place(const struct log_entry *entry,
                               const struct log_place *place) {
    return entry_compare(
        entry, &(struct log_entry){.node = place->node,
                                   .attempt = (unsigned)place->attempt,
                                   .assigned = place->assigned});
}

/* The latest time at which one of these attempts was assigned. */
static uint64_t newest_assigned(const struct store_attempt *attempts,
                                size_t count) {
    uint64_t newest = 0;

    for (size_t i = 0; i < count; i++)
        if ((uint64_t)attempts[i].assigned.ns > newest)
            newest = (uint64_t)attempts[i].assigned.ns;
    return newest;
}

/* A check of the tip (doc/design/train.md, M7) says nothing of the set that it
 * was made for, so any other attempt comes before it. */
static bool is_later(const struct store_attempt *attempt,
                     const struct store_attempt *known) {
    if (known == NULL)
        return true;
    bool tip = span_is(attempt->reason, REASON_TIP);
    return tip == span_is(known->reason, REASON_TIP)
               ? known->attempt < attempt->attempt
               : !tip;
}

/* In the order of the array. */
static int compare_tasks(const void *left, const void *right) {
    const struct log_entry *a = left, *b = right;
    if (a->task != b->task)
        return a->task < b->task ? -1 : 1;
    return (a->attempt > b->attempt) - (a->attempt < b->attempt);
}

/* At first the last attempt of each task, later the attempts that came since,
 * in an order that is the same after a lost connection. */
static bool log_fill(struct api_call *call, struct log *log, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(map_clear) struct map last = MAP_INIT;
    CLEANUP(map_clear) struct map places = MAP_INIT;
    struct store *store = call->api->options.store;
    bool first = !log->begun, resumes = first && log->resumes;
    struct store_attempt *attempts;
    struct store_task *tasks;
    size_t count, task_count, before = log->count;

    if (!store_attempts(store, log->num, &arena, &attempts, &count, err) ||
        !store_tasks(store, log->num, &arena, &tasks, &task_count, err))
        return false;
    if (first)
        log->begun_at =
            resumes ? log->from.begun : newest_assigned(attempts, count);
    log->begun = !first || resumes;
    for (size_t i = 0; i < task_count; i++)
        (void)map_put(&places, tasks[i].node, &tasks[i]);
    for (size_t i = 0; i < count; i++) {
        const struct store_attempt *known = map_get(&last, attempts[i].node);
        if ((uint64_t)attempts[i].assigned.ns <= log->begun_at &&
            is_later(&attempts[i], known))
            (void)map_put(&last, attempts[i].node, &attempts[i]);
    }
    for (size_t i = 0; i < count; i++) {
        bool old = first && log->attempt == 0 &&
                   (uint64_t)attempts[i].assigned.ns <= log->begun_at &&
                   map_get(&last, attempts[i].node) != &attempts[i];
        if (log_wants(log, &attempts[i], &places) &&
            !log_lists(log, &attempts[i], &arena) && !old)
            log_add(call, log, &attempts[i], &places);
    }
    log->begun = true;
    if (log->count > before)
        qsort(log->queue + before, log->count - before, sizeof *log->queue,
              log->follows ? entry_compare : compare_tasks);
    while (resumes && log->next < log->count &&
           entry_compare_place(&log->queue[log->next], &log->from) <
               (log->from.over ? 1 : 0))
        log->next++;
    return true;
}

/* Opens the current entry's output. A running attempt that has written
 * little so far has no file yet. */
static bool log_open(struct api_call *call, struct log *log, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_attempt attempt;
    struct span where = {0};
    char place[OUTPUT_PLACE_BYTES];
    struct attempt_trace trace = {0};
    bool found;

    output_view_close(&log->view);
    log->grows = false;
    log->loss = (struct output_loss){0};
    if (!store_attempt_find(call->api->options.store, log->num, log->now.node,
                            log->now.attempt, &arena, &attempt, &found, err))
        return false;
    if (found) {
        log->grows = attempt.status == TASK_RUNNING;
        if (!log_lists(log, &attempt, &arena))
            log->now.assigned = log_assigned(log, &attempt);
        log->ended = attempt.ended;
        where = attempt.output;
        attempt_trace_parse(attempt.trace, &trace);
        output_loss_find(call->api->options.output, &attempt, &log->loss);
    }
    /* The server that would have recorded the place has not, or not yet. */
    if (where.len == 0 && (log->grows || trace.cut)) {
        output_place_format(log->num, log->now.task, log->now.attempt, place);
        where = span_of(place);
    }
    if (where.len == 0)
        return true;
    if (output_view_open(call->api->options.output, where, &log->view, err)) {
        if (log->wants_origin)
            log_origin_open(&log->origin, call->api->options.output, where);
        return true;
    }
    /* It is not there yet, or it is lost, which is shown at its end. */
    bool none =
        err->kind == ERR_NO_JOB || (log->loss.any && err->kind == ERR_DATA);
    if (none)
        err_clear(err);
    return none;
}

static ssize_t log_read(const struct log *log, char *block, uint64_t at,
                        size_t bytes) {
    ssize_t got = output_view_read(&log->view, at, block, bytes);
    return got < 0 && errno == EINTR ? 0 : got;
}

/* ---- sending ------------------------------------------------------------- */

/* The part of the bytes read that was asked for by line numbers. */
static struct span pick_lines(struct log *log, struct span bytes) {
    if (log->skip_lines > 0) {
        size_t skip = lines_skip(bytes, log->skip_lines);
        uint64_t passed = 0;
        for (size_t i = 0; i < skip; i++)
            passed += bytes.p[i] == '\n';
        log->skip_lines -= passed;
        bytes = span_make(bytes.p + skip, bytes.len - skip);
        if (log->skip_lines > 0)
            return span_make(bytes.p, 0);
    }
    if (log->lines_left != UINT64_MAX) {
        size_t keep = lines_skip(bytes, log->lines_left);
        for (size_t i = 0; i < keep; i++)
            log->lines_left -= bytes.p[i] == '\n';
        bytes.len = keep;
    }
    return bytes;
}

/* Waits for the stamps of a growing output: the supervisor writes them a
 * moment later or, if the disk refused them, never. */
static bool log_waits(struct api_call *call, struct log *log) {
    struct wall now = api_now(call);

    if (!log->grows || log->origin.fd < 0)
        return false;
    if (log->late_at != log->at || log->late_bytes != log->origin.bytes) {
        log->late_at = log->at;
        log->late_bytes = log->origin.bytes;
        log->late_since = now;
    }
    int64_t ms = wall_ms_since(now, log->late_since);
    return ms >= 0 && ms < LOG_STAMPS_MS;
}

/* The next run, limited to what may be sent. False: not now. */
static bool log_run(struct api_call *call, struct log *log,
                    struct stamp *ret_run) {
    uint64_t end = log->end < log->view.bytes ? log->end : log->view.bytes;

    *ret_run = (struct stamp){.bytes = end > log->at ? end - log->at : 0,
                              .stream = STAMP_UNKNOWN};
    if (!log->wants_origin || ret_run->bytes == 0)
        return true;
    switch (log_origin_find(&log->origin, log->at, ret_run)) {
    case LOG_ORIGIN_MORE:
        api_turn_in(call, 0);
        return false;
    case LOG_ORIGIN_NONE:
        *ret_run =
            (struct stamp){.bytes = end - log->at, .stream = STAMP_UNKNOWN};
        return !log_waits(call, log);
    case LOG_ORIGIN_FOUND:
        break;
    }
    if (ret_run->bytes > end - log->at)
        ret_run->bytes = end - log->at;
    return true;
}

/* The part of a piece that the caller does not have yet. */
static struct span drop_shown(const struct log *log, const struct stamp *run,
                              struct span piece) {
    uint64_t begin = log->at - piece.len, shown = log->from.shown[run->stream];
    size_t drop = shown <= begin               ? 0
                  : shown - begin >= piece.len ? piece.len
                                               : (size_t)(shown - begin);
    return span_make(piece.p + drop, piece.len - drop);
}

static void send_piece(struct api_call *call, struct log *log,
                       const struct stamp *run, struct span piece) {
    struct log_filter *filter = &log->filter;
    const struct text *kept = &filter->parts[run->stream].text;
    size_t before = kept->len;

    /* What was looked at before counts no more lines. */
    if (log->by_lines && log->at > log->from.at)
        piece = pick_lines(log, piece);
    piece = drop_shown(log, run, piece);
    log_filter_add(filter, run, piece, &call->out);
    if (before == 0 || kept->len != before + piece.len)
        log->pending[run->stream] = log->at - kept->len;
}

/* The output is damaged, or the disk is: nothing more is sent. */
static void log_unreadable(struct log *log, int sys) {
    struct output_loss *loss = &log->loss;

    loss->any = true;
    loss->bytes += log->view.bytes - log->at;
    loss->unmarked += log->view.bytes - log->at;
    snprintf(loss->why, sizeof loss->why, "it cannot be read: %s",
             strerrordesc_np(sys));
    log->view.bytes = log->at;
    log->grows = false;
}

/* After its last byte: what is missing, unless marks in the output say so. */
static void send_loss(struct api_call *call, const struct log *log) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct output_loss rest = log->loss;

    if (!rest.any || (rest.bytes > 0 && rest.unmarked == 0) ||
        log->at >= log->end || log->lines_left == 0)
        return;
    rest.bytes = rest.unmarked;
    text_addf(&text, "attempt %u%s%.*s: ", log->now.attempt,
              log->now.node.len > 0 ? " on " : "", (int)log->now.node.len,
              log->now.node.len > 0 ? log->now.node.p : "");
    output_loss_format(&rest, &text);
    log_filter_note(&log->filter, log->ended, text_span(&text), &call->out);
}

static void send_some(struct api_call *call, struct log *log) {
    static char block[LOG_BLOCK_BYTES];
    uint64_t stop = log->at + LOG_BLOCKS * LOG_BLOCK_BYTES;

    while (log->at < stop && call->out.len < API_OUT_BYTES) {
        struct stamp run;
        if (!log_run(call, log, &run))
            return;
        if (log->filter.one_stream && !log->by_lines &&
            log_origin_shown(run.stream) != log->filter.stream) {
            log->at += run.bytes;
            if (run.bytes > 0)
                continue;
        }
        uint64_t most = run.bytes;
        if (log->at < log->from.at && most > log->from.at - log->at)
            most = log->from.at - log->at;
        size_t bytes = most < sizeof(block) ? (size_t)most : sizeof(block);
        ssize_t got = bytes == 0 || log->lines_left == 0
                          ? 0
                          : log_read(log, block, log->at, bytes);
        if (got < 0)
            log_unreadable(log, errno);
        if (got <= 0)
            return;
        log->at += (uint64_t)got;
        send_piece(call, log, &run, span_make(block, (size_t)got));
    }
    if (call->out.len == 0)
        api_turn_in(call, 0);
}

/* Tells the caller where it is, if that has changed. */
static void send_place(struct api_call *call, struct log *log) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    bool shows = log->now.attempt != 0 && log->placed;
    const struct log_entry *entry = shows ? &log->now : &log->last;
    struct log_place place = {
        .begun = log->begun_at,
        .assigned = entry->assigned,
        .attempt = entry->attempt,
        .over = !shows,
        .at = shows ? log->at : 0,
        .skip_lines = log->skip_lines,
        .lines_left = log->lines_left,
        .skip = shows ? log->filter.skip : 0,
        .node = entry->node,
    };

    if (!log->filter.framed)
        return;
    for (size_t i = 0; shows && i < STAMP_STREAMS; i++)
        place.shown[i] =
            log->filter.parts[i].text.len > 0 ? log->pending[i] : log->at;
    log_place_format(&place, &text);
    if (span_equal(text_span(&text), text_span(&log->place)))
        return;
    text_reset(&log->place);
    text_addspan(&log->place, text_span(&text));
    log_frame_add(&call->out, LOG_FRAME_PLACE, text_span(&text));
}

/* While a rollback may still reinstate the job, its events count. */
static bool job_ended(struct api_call *call, struct log *log) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store *store = call->api->options.store;
    struct job job, rollback;
    bool ended;

    if (!store_job(store, log->num, &arena, &job, NULL) ||
        !rollback_status_of(store, &job, &arena, &ended, &rollback, NULL))
        return true;
    uint64_t num = rollback.num != 0 ? rollback.num : log->num;
    if (log->follows && call->watched != num)
        api_watch(call, num);
    return ended;
}

/* Begins the current output where the caller was. */
static void log_resume(struct log *log) {
    log->at = log->from.at;
    for (size_t i = 0; i < STAMP_STREAMS; i++)
        if (log->from.shown[i] < log->at)
            log->at = log->from.shown[i];
    log->filter.skip = log->from.skip;
    log->placed = true;
}

/* Takes the next entry of the queue. False: there is none. */
static bool log_next(struct log *log) {
    if (log->next == log->count)
        return false;
    log->now = log->queue[log->next++];
    log->at = log->offset;
    log->placed = false;
    log->filter.skip = 0;
    log->filter.label = log->label.p == NULL || log->now.node.len == 0
                            ? log->label
                            : log->now.node;
    if (log->from.attempt != 0 &&
        entry_compare_place(&log->now, &log->from) == 0)
        log_resume(log);
    else
        log->from = (struct log_place){0};
    log->late_at = UINT64_MAX;
    log->origin_tail =
        (struct log_tail){.stream = log->filter.stream, .lines = log->tail};
    return true;
}

/* Finds where in the output to begin. False: it needs another turn. */
static bool log_place(struct api_call *call, struct log *log) {
    struct log_name name = {log->num, log->now.task, log->now.attempt};
    struct line_index_place place;

    if (log->tail != UINT64_MAX && log->filter.one_stream) {
        if (!log_tail_find(&log->origin_tail, &log->origin, &log->view,
                           &log->at, &log->filter.skip))
            return false;
    } else if (log->tail != UINT64_MAX) {
        log->at = log_tail_begin(&log->view, log->tail);
    } else if (log->skip_lines > 0 && log->offset == 0 && !log->grows) {
        if (!log_index_find(&call->api->log_indexes, name, &log->view,
                            log->skip_lines, &place))
            return false;
        log->at = place.offset;
        log->skip_lines -= place.line;
    }
    log->placed = true;
    return true;
}

/* Sends a part of the current output. False: everything was sent, or the
 * call fails. */
static bool log_send(struct api_call *call, struct log *log, struct err *err) {
    if ((log->view.fd < 0 || log->grows) && !log_open(call, log, err))
        return false;
    if (log->view.fd >= 0) {
        if (!log->placed && !log_place(call, log)) {
            api_turn_in(call, 0);
            return true;
        }
        send_some(call, log);
    }
    bool wanted = log->at < log->end && log->lines_left > 0;
    bool more = log->view.fd >= 0 && log->at < log->view.bytes;
    return call->out.len > 0 ||
           (wanted && (more || (log->grows && log->follows)));
}

/* What the job reports, if this process runs it. */
static void reported_progress(struct api_call *call, const struct log *log,
                              struct text *line) {
    const struct api_roles *roles = call->api->options.roles;
    struct run_usage usage = {0};

    if (roles == NULL || roles->usage == NULL)
        return;
    roles->usage(roles->ctx, log->num, &usage);
    if (usage.running > 0)
        text_addspan(line, usage.progress);
}

/* How the tasks of an array stand: once a second. */
static void counted_progress(struct api_call *call, struct log *log,
                             struct text *line) {
    int64_t ms = wall_ms_since(api_now(call), log->counted);

    api_turn_in(call, LOG_COUNT_MS);
    if (ms >= 0 && ms < LOG_COUNT_MS)
        return;
    log->counted = api_now(call);
    array_progress_line(call, log->num, line);
}

static void send_progress(struct api_call *call, struct log *log) {
    CLEANUP(text_clear) struct text line = TEXT_INIT;

    if (!log->filter.framed || !log->follows)
        return;
    if (log->is_array)
        counted_progress(call, log, &line);
    else
        reported_progress(call, log, &line);
    if (line.len == 0 ||
        span_equal(text_span(&line), text_span(&log->progress)))
        return;
    text_reset(&log->progress);
    text_addspan(&log->progress, text_span(&line));
    log_frame_add(&call->out, LOG_FRAME_PROGRESS, text_span(&line));
}

/* Between two attempts: when the next one begins. */
static void send_retry(struct api_call *call, struct log *log) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    char when[WALL_TEXT_BYTES];
    struct job job;

    if (!log->filter.framed || !log->follows ||
        !store_job(call->api->options.store, log->num, &arena, &job, NULL) ||
        job.state != STATE_PENDING || job.attempt == log->noted ||
        job.not_before.ns <= api_now(call).ns)
        return;
    log->noted = job.attempt;
    text_addf(&text, "%.*s: attempt %u: %.*s%s%.*s; next attempt at %s",
              (int)job.id.len, job.id.p, job.attempt, (int)job.reason.len,
              job.reason.p, job.detail.len > 0 ? ": " : "", (int)job.detail.len,
              job.detail.len > 0 ? job.detail.p : "",
              wall_format(job.not_before, when));
    log_frame_add(&call->out, LOG_FRAME_NOTE, text_span(&text));
}

static void log_work(struct api_call *call) {
    struct log *log = call->state;
    struct err err = {0};

    send_progress(call, log);
    for (;;) {
        bool over = job_ended(call, log);
        if (log->now.attempt != 0 && log_send(call, log, &err)) {
            if (call->out.len == 0 && log->grows)
                api_turn_in(call, API_FOLLOW_MS);
            send_place(call, log);
            return;
        }
        output_view_close(&log->view);
        log_filter_end(&log->filter, &call->out);
        if (log->now.attempt != 0) {
            if (err.kind == ERR_NONE)
                send_loss(call, log);
            log->last = log->now;
        }
        log->now = (struct log_entry){0};
        if (err.kind == ERR_NONE && log->next == log->count)
            (void)log_fill(call, log, &err);
        if (err.kind != ERR_NONE) {
            api_fail(call, &err);
            return;
        }
        if (log_next(log))
            continue;
        send_place(call, log);
        send_retry(call, log);
        if (over || !log->follows)
            api_end(call);
        return; /* an event of the job brings us back */
    }
}

/* ---- what was asked ------------------------------------------------------ */

/* False: the call has failed. */
static bool form_asked(struct api_call *call, struct log *log) {
    struct log_filter *filter = &log->filter;
    struct span stream = api_query(call, "stream");
    bool times = api_query_flag(call, "times");
    bool frames = api_query_flag(call, "frames");
    struct span from = api_query(call, "from");
    struct err err = {0};

    filter->form = times ? LOG_TIMES : LOG_BYTES;
    filter->framed = frames || api_query_flag(call, "places");
    filter->one_stream = stream.p != NULL;
    log->wants_origin = times || frames || filter->one_stream;
    log->resumes = from.p != NULL;
    if (log->resumes && !log_place_parse(from, &log->from))
        err_set(&err, ERR_USAGE, "'from' is not a place that was sent before");
    else if (filter->one_stream && !log_stream_parse(stream, &filter->stream))
        err_set(&err, ERR_USAGE, "'stream' = '%.*s' is neither out nor err",
                (int)stream.len, stream.p);
    else if (log_filter_search(filter, api_query(call, "grep"),
                               api_query_flag(call, "fold"), &err))
        return true;
    api_fail(call, &err);
    return false;
}

/* Is there anything to show, and can it be read? Else the call fails: only
 * `follow` waits for a job that has not run. */
static bool log_begin(struct api_call *call, struct log *log,
                      const struct job *job) {
    struct err err = {0};

    if (call->api->options.output == NULL)
        err_set(&err, ERR_UNAVAILABLE, "outputs cannot be read without a base");
    else if (log_fill(call, log, &err) && log->count == 0 &&
             (log->attempt != 0 || log->node.len > 0 || log->failed))
        (void)task_refuse_attempt(call, job, log->node, log->failed, &err);
    else if (err.kind == ERR_NONE && log->count == 0 && !log->follows)
        err_set(&err, ERR_NO_JOB,
                "job '%.*s' has %s: %s; try pointsman why %.*s",
                (int)job->id.len, job->id.p,
                (STATES_FINAL & STATE_BIT(job->state)) != 0
                    ? "no output, because it never ran"
                    : "not run yet",
                job_state_word(job->state), (int)job->id.len, job->id.p);
    /* Opened here, so that the caller learns it if that fails: later, the
     * status has been sent. */
    else if (err.kind == ERR_NONE && log_next(log))
        (void)log_open(call, log, &err);
    if (err.kind == ERR_NONE)
        return true;
    api_fail(call, &err);
    return false;
}

/* ?attempt= &node= &offset= &bytes= &tail= (lines) &lines=5-17 &follow=1
 * &grep= (an expression; lib/pattern.h) &fold=1 (ignore case)
 * &stream=out|err &times=1 &label=1 (each line begins with its task)
 * &failed=1 (tasks that have failed); for callers that go on after a lost
 * connection: &places=1 (framed, with places between the pieces), &frames=1
 * (also by stream; api/log_filter.h), &from= (the last place that was sent) */
void api_logs(struct api_call *call) {
    static const char *const keys[] = {
        "attempt", "node", "offset", "bytes",  "tail",  "lines",
        "follow",  "grep", "fold",   "stream", "times", "frames",
        "places",  "from", "failed", "label",  NULL};
    struct log *log = arena_alloc(&call->arena, sizeof *log);
    struct span lines = api_query(call, "lines");
    uint64_t attempt = 0, bytes = UINT64_MAX;
    struct job job;
    struct err err = {0};

    *log = (struct log){.view = OUTPUT_VIEW_INIT,
                        .origin = LOG_ORIGIN_INIT,
                        .tail = UINT64_MAX,
                        .lines_left = UINT64_MAX};
    call->state = log;
    call->clear = log_clear;
    if (!api_query_check(call, keys) ||
        !api_query_u64(call, "attempt", UINT32_MAX, &attempt) ||
        !api_query_u64(call, "offset", INT64_MAX, &log->offset) ||
        !api_query_u64(call, "bytes", INT64_MAX, &bytes) ||
        !api_query_u64(call, "tail", INT64_MAX, &log->tail) ||
        !api_job(call, &job))
        return;
    log->num = job.num;
    log->is_array = (job.flags & JOB_ARRAY) != 0 || job_has(&job, JOB_ON_NODES);
    log->node = api_query(call, "node");
    log->attempt = (unsigned)attempt;
    log->end =
        bytes > UINT64_MAX - log->offset ? UINT64_MAX : log->offset + bytes;
    log->follows = api_query_flag(call, "follow");
    log->failed = api_query_flag(call, "failed");
    if (api_query_flag(call, "label"))
        log->label = job.id;
    if (log->failed && log->follows) {
        err_set(&err, ERR_USAGE,
                "'failed' shows tasks that have ended, so it cannot be "
                "combined with 'follow'");
        api_fail(call, &err);
        return;
    }
    log->by_lines = lines.p != NULL;
    if (log->by_lines &&
        !log_lines_parse(lines, &log->skip_lines, &log->lines_left)) {
        err_set(&err, ERR_USAGE, "'%.*s' is not FROM, FROM- or FROM-TO",
                (int)lines.len, lines.p);
        api_fail(call, &err);
        return;
    }
    if (!form_asked(call, log))
        return;
    if (log->resumes) {
        log->skip_lines = log->from.skip_lines;
        log->lines_left = log->from.lines_left;
    }
    if (!log_begin(call, log, &job))
        return;
    call->work = log_work;
    call->is_long = log->follows;
    if (log->follows)
        api_watch(call, log->num);
    api_reply(call, 200, api_bytes);
}
