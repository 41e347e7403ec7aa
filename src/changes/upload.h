/* The ways in which the file of a change set gets into the drop directories: as
 * a stream to the service, which has it checked first, or as a copy that the
 * caller makes directly (`change put`). Either way data/NAME and then the
 * marker in prequeue/ are durable before the caller gets an answer. */
#ifndef POINTSMAN_CHANGES_UPLOAD_H
#define POINTSMAN_CHANGES_UPLOAD_H

#include <stdbool.h>

#include "lib/err.h"
#include "base/base.h"
#include "changes/checker.h"
#include "base/origin.h"

struct upload;

/* Begins an upload. `name`: the file's base name if it is a set's full name,
 * otherwise empty; the service then makes the name from `id` or, without `id`,
 * from an id derived from the content. */
bool upload_open(struct base *base, struct span name, struct span id,
                 const struct origin *origin, struct upload **ret_upload,
                 struct err *err);
/* Appends to the file in tmp/. ERR_REFUSED: larger than queue.max-unpacked. */
bool upload_write(struct upload *upload, struct span bytes, struct err *err);

/* `ok`: marker and data are durable; name and id are those of the set. Not ok:
 * ERR_REFUSED with "WORD: sentence" (100), ERR_TEMPORARY or ERR_BUSY (111). The
 * same id with the same content again: ok, and `again` is set. */
struct upload_result {
    bool ok;
    bool again;
    struct span name, id;
    const struct err *err;
};
typedef void upload_done(void *ctx, const struct upload_result *result);
/* Ends the stream. `done` is called later, or before this returns if the
 * checker has no guard; the upload is freed after it. */
void upload_finish(struct upload *upload, struct checker *checker,
                   upload_done *done, void *ctx);
/* Instead of upload_finish: removes what arrived, and frees the upload. NULL is
 * fine. */
void upload_abort(struct upload *upload);

/* `change put FILE`: data/NAME, then the marker, both durable; no check. The
 * file's base name must be a set's name (ERR_REFUSED). */
bool upload_put(struct base *base, int fd, struct span name, struct err *err);

#endif
