/* How work comes in. Commands: straight into the registry. Change sets: by the
 * service (a stream) or by files (data/, then a marker in prequeue/), and from
 * prequeue/ into the registry and queue/ (spec/change-queue.md §5). */
#ifndef POINTSMAN_SERVE_INTAKE_H
#define POINTSMAN_SERVE_INTAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/time.h"
#include "serve/base.h"
#include "serve/checker.h"
#include "store/store.h"
#include "wire/batch_line.h"

/* ---- commands -------------------------------------------------------- */

/* Who submits, from where. */
struct intake_origin {
    struct wall now;
    uid_t uid;
    struct span actor; /* "uid:1000" */
    struct span cause; /* "person" */
    struct span host;
    uint64_t seed; /* for a generated id; new for each submission */
};

/* Adds the admission of a command to the batch: *ret_index for
 * store_batch_result; DONE and SAME are both "accepted as *ret_id" (a span of
 * the batch's arena). Everything is settled here: key, spec, edges, state (P
 * when nothing holds it, else Q). ERR_DATA as submission_check. */
bool intake_command(struct store_batch *batch,
                    const struct submission *submission,
                    const struct intake_origin *origin, unsigned *ret_index,
                    struct span *ret_id, struct err *err);
/* ---- change sets by the service -------------------------------------- */

struct upload;

/* Begins one. `name`: the file's base name when it is a set's full name, else
 * empty; then the service makes the name, with `id` or, without, an id from
 * the content. */
bool upload_open(struct base *base, struct span name, struct span id,
                 const struct intake_origin *origin, struct upload **ret_upload,
                 struct err *err);
bool upload_write(struct upload *upload, struct span bytes, struct err *err);

/* `ok`: marker and data are durable; name and id are the set's. Not ok:
 * ERR_REFUSED with "WORD: sentence" (100), ERR_TEMPORARY or ERR_BUSY (111). The
 * same id with the same content again: ok, `again` set. */
struct upload_result {
    bool ok;
    bool again;
    struct span name, id;
    const struct err *err;
};
typedef void upload_done(void *ctx, const struct upload_result *result);
/* The end of the stream. `done` comes later, or before this returns when the
 * checker has no guard; the upload is freed after it. */
void upload_finish(struct upload *upload, struct checker *checker,
                   upload_done *done, void *ctx);
void upload_abort(struct upload *upload); /* instead of finish */

/* ---- change sets by files -------------------------------------------- */

/* `change put FILE`: data/NAME, then the marker, both durable; no check. The
 * file's base name must be a set's name (ERR_REFUSED). */
bool intake_put(struct base *base, int fd, struct span name, struct err *err);

/* ---- prequeue/ ------------------------------------------------------- */

struct prequeue;
struct projection;

/* The caller holds the role "prequeue". */
struct prequeue *prequeue_new(struct base *base, struct checker *checker,
                              struct projection *projection);
void prequeue_free(struct prequeue *prequeue); /* NULL is fine */
/* The base has read its configuration again. */
void prequeue_configure(struct prequeue *prequeue);

/* One pass over prequeue/ in name order: starts checks, admits what passed,
 * refuses what did not. *ret_next: when time alone gives it work (WALL_NEVER:
 * never). Only a registry or disk that does not work is an error, and may be
 * tried again; no entry ever is. */
bool prequeue_scan(struct prequeue *prequeue, struct wall now,
                   struct wall *ret_next, struct err *err);
/* Checks came back: scan again soon. Reset by a scan. */
bool prequeue_is_due(const struct prequeue *prequeue);
/* No check runs and only time or new entries can change anything. */
bool prequeue_is_idle(const struct prequeue *prequeue);
/* Where no process has the role: takes it for one pass, so that what was just
 * handed in is known at once. Another's role is as good (it was triggered). */
bool prequeue_pass_alone(struct base *base, struct wall now, struct err *err);

/* What became of entries since it was made. */
struct prequeue_tally {
    uint64_t admitted, rejected, again, waiting;
};
struct prequeue_tally prequeue_tally(const struct prequeue *prequeue);

#endif
