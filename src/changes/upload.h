/* How the file of a change set comes into the drop directories: as a stream to
 * the service, which has it checked first, or as a copy that the caller makes
 * himself (`change put`). Either way data/NAME and then the marker in prequeue/
 * are durable before the caller is answered. */
#ifndef POINTSMAN_CHANGES_UPLOAD_H
#define POINTSMAN_CHANGES_UPLOAD_H

#include <stdbool.h>

#include "lib/err.h"
#include "base/base.h"
#include "changes/checker.h"
#include "base/origin.h"

struct upload;

/* Begins one. `name`: the file's base name when it is a set's full name, else
 * empty; then the service makes the name, with `id` or, without, an id from
 * the content. */
bool upload_open(struct base *base, struct span name, struct span id,
                 const struct origin *origin, struct upload **ret_upload,
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

/* `change put FILE`: data/NAME, then the marker, both durable; no check. The
 * file's base name must be a set's name (ERR_REFUSED). */
bool upload_put(struct base *base, int fd, struct span name, struct err *err);

#endif
