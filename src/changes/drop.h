/* Puts a tarball where the prequeue role finds it: data/NAME, then the marker
 * prequeue/NAME (C5 in doc/design/), each durable before the next. */
#ifndef POINTSMAN_CHANGES_DROP_H
#define POINTSMAN_CHANGES_DROP_H

#include <stdbool.h>
#include <sys/stat.h>

#include "lib/err.h"
#include "os/sum.h"
#include "base/base.h"

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
/* tmp/FROM, open as `fd`, becomes data/NAME, and the marker follows. If
 * data/NAME exists with the same sum, it is kept; with another sum:
 * ERR_REFUSED. */
bool drop_publish(struct base *base, const char *from, int fd, const char *name,
                  const char *sum, struct err *err);

/* Writes an approval (wire/approval_text.h) durably under a unique name:
 * prequeue/approve_CSID_MORE. */
bool drop_approval(struct base *base, struct span csid, struct span bytes,
                   char ret_name[256], struct err *err);

/* Notes who submitted NAME if its marker will not show it: the service makes
 * markers for others, and a marker made by root is given to the owner. The note
 * goes to tmp/ before the marker is written; it is omitted if not needed. */
bool drop_caller_note(struct base *base, const char *name,
                      const struct access_owner *caller, struct err *err);
/* The submitter according to the note if it is ours, otherwise the owner of the
 * marker. */
struct access_owner drop_caller(struct base *base, const char *name,
                                const struct stat *marker, struct arena *arena);
void drop_caller_forget(struct base *base, const char *name);

#endif
