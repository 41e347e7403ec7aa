/* The API: one set of handlers for every question and every order, behind HTTP
 * in `serve` and called directly by the command line where no server answers
 * (P13 in doc/design/). The table of routes comes with the options; nothing
 * else names a path or says who may use it.
 *
 * A transport opens a call, gives it the body, finishes it and then reads the
 * reply. A reply may be late (a submission answers after its commit, `wait`
 * when the job ends) and may never end (`events?follow=1`): whenever there is
 * nothing to read yet, the call says `ready` once there is.
 *
 *     call = api_call_open(api, &request, ready, ctx);
 *     api_call_give(call, bytes); ...; api_call_finish(call);
 *     while (api_call_status(call) == 0) wait for ready();
 *     while (api_call_read(call, &bytes)) { if (bytes.len == 0) wait; ... }
 *     api_call_close(call);
 *
 * Nothing here blocks but reading the registry. One thread owns it all. */
#ifndef POINTSMAN_API_API_H
#define POINTSMAN_API_API_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"
#include "lib/time.h"
#include "core/access.h"
#include "core/job.h"
#include "scheduler/scheduler.h"
#include "store/store.h"

struct api;
struct api_call;
struct base;       /* base/base.h */
struct checker;    /* changes/checker.h */
struct output;     /* os/output.h */
struct run_usage;  /* scheduler/runner.h */
struct running_task; /* scheduler/running_tasks.h */
struct work_kinds; /* scheduler/work_kind.h */

enum api_method { API_GET, API_POST, API_PUT, API_METHODS };

enum api_body {
    API_NO_BODY,
    API_OBJECT, /* kept whole, at most API_BODY_BYTES */
    API_JOB,    /* kept whole, at most SUBMISSION_BYTES */
    API_LINES,  /* kept whole, at most API_LINES_BYTES */
    API_STREAM  /* given to `take` piece by piece: the handler is called
                   before the first piece, `work` after the last */
};

/* A row of the table of routes. */
struct api_route {
    enum api_method method;
    const char *path; /* "/api/v1/jobs/{id}/why" */
    void (*handle)(struct api_call *call);
    struct access_need need;
    enum api_body body;
    const char *summary; /* for the OpenAPI document */
};

/* What the capabilities above the API plug into it: static data of the
 * program that is put together (serve/tables.h). */
struct api_tables {
    const struct api_route *routes;
    size_t route_count;
    const struct role *const
        *roles; /* in the order of their turns, with NULL at the end */
    const struct work_kinds *kinds;
};

/* The field of a request over HTTP that names the person for whom `pointsman
 * shell` acts. The server accepts it from the shell account only. */
#define API_PERSON_FIELD "Pointsman-Person"

struct api_request {
    enum api_method method;
    struct span uri;           /* path and query as sent, with percent signs */
    struct access_actor actor; /* the caller, as the transport found out */
    struct span from;          /* "socket": the way that the caller took, for
                                  the events of what it does */
    bool wants_sse;            /* Accept: text/event-stream */
    struct span last_event_id; /* of SSE; empty: none */
    struct span idempotency_key; /* of POST jobs; empty: none */
};

/* Knowledge that only running roles have. Every member may be NULL, and so
 * may the whole: then only the registry answers. */
struct api_roles {
    void *ctx;
    struct checker *checker; /* for uploads; NULL: the API makes its own,
                                which blocks */
    /* The reasons that hold a job back, by name (as scheduler_why). */
    bool (*why)(void *ctx, const struct job *job, struct wall now,
                struct arena *arena, struct scheduler_reason **ret_reasons,
                size_t *ret_count, struct err *err);
    /* The same for the task of a standing job on a node (as
     * scheduler_why_task). */
    bool (*why_task)(void *ctx, const struct job *job, struct span node,
                     struct wall now, struct arena *arena,
                     struct scheduler_reason **ret_reasons, size_t *ret_count,
                     struct err *err);
    /* The merge train of a target (empty: all) as lines of JSON (as
     * train_json). */
    bool (*train)(void *ctx, struct span target, struct text *out);
    /* The workers, as lines of JSON (as worker_json). */
    void (*workers)(void *ctx, struct text *out);
    /* The running tasks of all jobs (as running_tasks). */
    size_t (*running)(void *ctx, struct arena *arena,
                      struct running_task **ret_tasks);
    /* What a job's running attempts use and report. */
    void (*usage)(void *ctx, uint64_t num, struct run_usage *ret_usage);
    /* The jobs that a process of this machine may belong to (their numbers, in
     * the arena), if it belongs to any. */
    enum access_place (*place)(void *ctx, pid_t pid, struct arena *arena,
                               uint64_t **ret_nums, size_t *ret_count);
    /* The registry was written to: take a turn. NULL: trigger the FIFOs of
     * the base. */
    void (*trigger)(void *ctx);
    /* False with a sentence in err: not ready to take work (GET /readyz). */
    bool (*ready)(void *ctx, struct err *err);
    /* Begins to replace the program of the server; shows how that went, as a
     * JSON object and LF. */
    bool (*upgrade)(void *ctx, struct err *err);
    void (*upgrade_show)(void *ctx, struct text *out);
    /* False: none is under way, or it is too late. */
    bool (*upgrade_give_up)(void *ctx, struct err *err);
    /* What an upgrade that is under way waits for, in the arena, or NULL. */
    const char *(*upgrade_waits_for)(void *ctx, struct arena *arena);
    /* More lines for GET /metrics. */
    void (*metrics)(void *ctx, struct text *out);
};

struct api_options {
    const struct api_tables *tables;
    struct store *store;
    struct base *base;     /* NULL: routes that need files answer 503 */
    struct output *output; /* NULL: no logs */
    const struct api_roles *roles;
    const struct access_rules *access; /* of the base; may change */
    struct wall (*now)(void);          /* NULL: the system's clock */
    uint64_t seed;                     /* for generated ids */
};

/* Copies the options; what they point to must outlive the API. */
struct api *api_new(const struct api_options *options);
/* Appends the body of an error, a JSON object of problem+json (RFC 9457) and a
 * LF. */
void api_problem_format(int status, const char *title, const struct err *err,
                        struct text *out);
const struct access_rules *api_access(const struct api *api);
/* Every call must have been closed. NULL is fine. */
void api_free(struct api *api);
/* To be called after store_turn and after the timer: lets streams look at
 * files that grew, and sends the heartbeats of SSE. Returns the ms until it
 * must be called again, -1 if nothing waits for time. */
int64_t api_turn(struct api *api);

/* `ready` (may be NULL) is called when there is a status, or bytes, that
 * were not there when the transport last looked; never from within a
 * function that the transport calls on this call. Errors of the call are its
 * reply. */
struct api_call *api_call_open(struct api *api,
                               const struct api_request *request,
                               void (*ready)(void *ctx), void *ctx);
/* Gives more of the body. False: the reply is there already (too large,
 * refused), and the transport may stop reading. */
bool api_call_give(struct api_call *call, struct span bytes);
void api_call_finish(struct api_call *call); /* the body is complete */
/* HTTP status; 0: not decided yet. */
int api_call_status(const struct api_call *call);
const char *api_call_content_type(const struct api_call *call);
/* True if the whole body is there and nothing will follow: it can be sent in
 * one piece. */
bool api_call_is_whole(const struct api_call *call);
/* The call may last long: the transport should notice when the caller is
 * gone. */
bool api_call_is_long(const struct api_call *call);
/* The next bytes of the body; empty: none yet, `ready` will be called.
 * False: there are no more. They stay until api_call_skip. */
bool api_call_read(struct api_call *call, struct span *ret_bytes);
/* Drops the first bytes that api_call_read returned. */
void api_call_skip(struct api_call *call, size_t bytes);
void api_call_close(struct api_call *call); /* at any time; NULL is fine */

const char *api_method_word(enum api_method method); /* "GET" */

#endif
