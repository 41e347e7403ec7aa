/* A request in progress, as its handler sees it. Inside the API only.
 *
 * A handler is called once the body is complete. It answers at once, or sets
 * `work`, which is called whenever the transport wants more than there is,
 * and whenever something the call watches has changed. Work adds to `out`,
 * or ends the reply, or does neither: then there is nothing yet. */
#ifndef POINTSMAN_API_API_CALL_H
#define POINTSMAN_API_API_CALL_H

#include "lib/json.h"
#include "lib/list.h"
#include "api/api.h"
#include "api/log_index.h"

enum {
    API_PARAMS = 2,
    API_WATCH_BUCKETS = 256,
    API_OUT_BYTES = 64 << 10,   /* a stream's work stops adding here */
    API_BODY_BYTES = 1 << 20,   /* of commands */
    API_LINES_BYTES = 16 << 20, /* of a batch */
    API_PAGE = 250,             /* rows read at a time */
    API_PAGES = 8,              /* pages until other calls have a turn */
    API_FOLLOW_MS = 100,        /* how often a growing file is looked at */
    API_BEAT_MS = 15000         /* heartbeat of a stream */
};

struct api {
    struct api_options options;
    struct list calls;
    struct list watchers[API_WATCH_BUCKETS]; /* by num; num 0: every event */
    struct mono due;                         /* when a call next wants a turn */
    uint64_t made;                           /* for ids */
    struct log_indexes log_indexes;
    uint64_t answered[6]; /* by status / 100 */
    struct wall started;
};

struct api_pair {
    struct span key, value;
};

struct api_call {
    struct api *api;
    struct list link;     /* of api->calls */
    struct list watching; /* of one of api->watchers */
    uint64_t watched;     /* num, 0: all */
    const struct api_route *route;
    struct arena arena;
    struct api_request request; /* its spans live in the arena */
    struct span actor;          /* see api_actor; empty: not determined yet */
    struct span params[API_PARAMS];
    struct api_pair *query;
    size_t query_count;
    struct text body;

    int status; /* 0: not decided */
    const char *content_type;
    struct text out;
    size_t out_at; /* read up to here */
    bool ended;    /* nothing will be added to out */
    bool is_long;
    void (*work)(struct api_call *call);
    bool (*take)(struct api_call *call, struct span bytes, struct err *err);
    void (*clear)(struct api_call *call); /* frees `state` */
    void *state;

    struct mono due;      /* when `work` is due; MONO_NEVER: not by time */
    struct mono beat;     /* when the next heartbeat of a stream is due */
    struct mono deadline; /* of `wait` */

    unsigned pending; /* completions of the store that refer to this call */
    bool closed;      /* the transport is gone */
    bool inside;      /* a function called by the transport is running */
    bool waits;       /* the transport has nothing to read and knows it */
    void (*ready)(void *ctx);
    void *ctx;
};

/* ---- the answers of handlers --------------------------------------------- */

extern const char api_json[], api_lines[], api_text[], api_sse[], api_bytes[];

/* Sets status and type; bytes go to call->out. */
void api_reply(struct api_call *call, int status, const char *content_type);
void api_end(struct api_call *call); /* all bytes are in `out` */
/* Ends the call with an error (RFC 9457). What was added to `out` before is
 * dropped unless the status has been sent already: then the stream is cut. */
void api_fail(struct api_call *call, const struct err *err);
/* The same with another status than that of the kind of error. */
void api_fail_status(struct api_call *call, int status, const struct err *err);

/* The same with a list of everything that is wrong, a line each, as the member
 * `errors` beside the sentence of `err`. */
void api_fail_lines(struct api_call *call, const struct err *err,
                    struct span lines);

/* ---- the request --------------------------------------------------------- */

struct wall api_now(const struct api_call *call);
struct span api_actor(struct api_call *call); /* see access_actor_format */
/* "socket", "job ID": where the request comes from. */
struct span api_from(const struct api_call *call, struct arena *arena);
/* A batch whose events name the caller, and where the request comes from. */
struct store_batch *api_batch(struct api_call *call);
/* "": given without a value; p NULL: not given. */
struct span api_query(const struct api_call *call, const char *key);
/* Fails the call if the value is not a number within bounds. If it is not
 * given, *ret_value stays unchanged. */
bool api_query_u64(struct api_call *call, const char *key, uint64_t most,
                   uint64_t *ret_value);
/* True if the query has the key with a value other than 0, no or false. */
bool api_query_flag(const struct api_call *call, const char *key);
/* The keys this route knows, with NULL at the end: any other key fails the
 * call (a misspelt filter must not mean "everything"). */
bool api_query_check(struct api_call *call, const char *const *keys);
/* May the caller do to this job (NULL: to any job) what the route does? */
bool api_allows(const struct api_call *call, const struct job *job,
                struct err *err);
/* May the caller see the environment of the job, which may hold what only its
 * submitter is to know? */
bool api_sees_values(struct api_call *call, const struct job *job);
/* False: the caller is a person without an account, so that no command can run
 * for the caller. ERR_DENIED. */
bool api_has_account(const struct api_call *call, struct err *err);
/* The job of params[0] (an id, a prefix of one, @last); fails the call. */
bool api_job(struct api_call *call, struct job *ret_job);

/* Bodies of commands; each function fails the call on an error. An object
 * with no other keys than these (NULL at the end); an empty body is an empty
 * object. */
bool api_body_object(struct api_call *call, const char *const *keys,
                     struct json_value *ret_object);
bool api_body_string(struct api_call *call, struct json_value object,
                     const char *key, struct span *ret_value);
bool api_body_flag(struct api_call *call, struct json_value object,
                   const char *key, bool *ret_value);

/* ---- waiting ------------------------------------------------------------- */

/* Calls `work` on events of this job (0: of all jobs). */
void api_watch(struct api_call *call, uint64_t num);
/* Schedules a turn of `work` after this time, in any case; 0: as soon as the
 * others had theirs. Once. */
void api_turn_in(struct api_call *call, int64_t ms);
/* Something came: calls the transport's `ready` if it waits. */
void api_poke(struct api_call *call);
/* For a store completion that keeps the call alive: call hold before
 * store_submit, and unhold first of all in the completion. False: the call
 * is gone and must not be touched any more. */
void api_hold(struct api_call *call);
bool api_unhold(struct api_call *call);
/* After a write: triggers the roles. */
void api_trigger(struct api *api);

/* ---- long reads ---------------------------------------------------------- */

/* For `work`: takes steps until there is enough to send, the call has ended
 * or it is the turn of others. A step reads about API_PAGE rows; false: the
 * call fails. */
void api_steps(struct api_call *call,
               bool (*step)(struct api_call *call, struct err *err));

/* A walk over all jobs of a list; must be the first member of the state of
 * the call that does it. */
struct api_walk {
    struct store_list list; /* its limit and position belong to the walk */
    /* False: the call fails. If it ends the call, the walk ends too. */
    bool (*visit)(struct api_call *call, const struct job *job,
                  struct arena *arena, struct err *err);
    void (*last)(struct api_call *call); /* called when all were visited; may
                                            be NULL */
};
/* Makes the walk the work of the call; `walk` is the call's state. */
void api_walk(struct api_call *call, struct api_walk *walk);

#endif
