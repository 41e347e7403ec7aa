/* Puts a tarball where the prequeue role finds it: data/NAME, then the marker
 * prequeue/NAME (C5 in doc/design/), each durable before the next. */
#ifndef POINTSMAN_CHANGES_DROP_H
#define POINTSMAN_CHANGES_DROP_H

#include <stdbool.h>
#include <sys/stat.h>

#include "lib/err.h"
#include "os/sum.h"
#include "base/base.h"
#include "core/access.h"

/* A new file in tmp/. */
bool drop_open(struct base *base, char ret_name[256], int *ret_fd,
               struct err *err);
/* The file is complete: makes it durable and read-only from now on. */
bool drop_seal(const struct base *base, int fd, struct err *err);
/* Appends the rest of a file to another and to the sum. ERR_REFUSED: more than
 * `most` bytes. */
bool drop_copy(int from, int to, uint64_t most, struct sum *sum,
               struct err *err);
/* Replaces data/NAME, a file of another account that is open as *fd, by a copy
 * that only the owner of the base can change; *fd is the copy then. */
bool drop_adopt(struct base *base, const char *name, int *fd, struct err *err);
/* tmp/FROM, open as `fd`, becomes data/NAME, and the marker follows, which
 * shows who submitted the set. If data/NAME exists with the same sum, it is
 * kept. ERR_REFUSED: it has another sum, or somebody else's marker of this name
 * waits. */
bool drop_publish(struct base *base, const char *from, int fd, const char *name,
                  const char *sum, const struct access_owner *caller,
                  struct err *err);

/* *ret_outside: the file in prequeue/ or data/ has a name elsewhere than in
 * tmp/ and reject/, where a cut within a move leaves one. Its owner need not
 * have made these names. */
bool drop_is_linked(struct base *base, const struct stat *entry,
                    bool *ret_outside, struct err *err);
/* Who submitted prequeue/NAME: whoever a marker of the service or of root
 * names, otherwise the owner of the file. ERR_DATA: the marker is damaged. */
bool drop_submitter(struct base *base, const char *name,
                    const struct stat *marker, struct arena *arena,
                    struct access_owner *ret_submitter, struct err *err);
/* ERR_REFUSED: `submitter` of the waiting prequeue/NAME is not `caller`. */
bool drop_is_callers(const char *name, const struct access_owner *submitter,
                     const struct access_owner *caller, struct err *err);

/* Writes an approval (wire/approval_text.h) durably under a unique name:
 * prequeue/approve_CSID_MORE. */
bool drop_approval(struct base *base, struct span csid, struct span bytes,
                   char ret_name[256], struct err *err);

#endif
