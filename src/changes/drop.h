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
bool drop_seal(int fd, struct err *err);
/* tmp/FROM becomes data/NAME, and the marker follows. If data/NAME exists with
 * the same sum, it is kept; with another sum: ERR_REFUSED. */
bool drop_publish(struct base *base, const char *from, const char *name,
                  const char *sum, struct err *err);

/* Writes an approval (wire/approval_text.h) durably under a unique name:
 * prequeue/approve_CSID_MORE. */
bool drop_approval(struct base *base, struct span csid, struct span bytes,
                   char ret_name[256], struct err *err);

/* Notes who submitted NAME if its marker will not show it: the service makes
 * markers for others, and a marker made by root is given to the owner. The note
 * goes to tmp/ before the marker is written; it is omitted if not needed. */
bool drop_caller_note(struct base *base, const char *name, uid_t caller,
                      struct err *err);
/* The submitter according to the note if it is ours, otherwise the owner of the
 * marker. */
uid_t drop_caller(struct base *base, const char *name,
                  const struct stat *marker);
void drop_caller_forget(struct base *base, const char *name);

#endif
