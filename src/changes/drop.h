/* Putting a tarball where the prequeue daemon finds it: data/NAME, then the
 * marker prequeue/NAME (C5 in doc/design/), each durable before the next. */
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
/* It is whole: on the disk, and from now on nobody changes it. */
bool drop_seal(int fd, struct err *err);
/* tmp/FROM becomes data/NAME, and the marker follows. When data/NAME is there
 * with the same sum, that one counts; with another sum: ERR_REFUSED. */
bool drop_publish(struct base *base, const char *from, const char *name,
                  const char *sum, struct err *err);

/* An approval (wire/approval_text.h) under a name nobody else uses, durable:
 * prequeue/approve_CSID_MORE. */
bool drop_approval(struct base *base, struct span csid, struct span bytes,
                   char ret_name[256], struct err *err);

/* Who handed NAME in, when its marker will not show it: the service makes it
 * for others, and what root makes is given to the owner. A note in tmp/,
 * written before the marker; without need nothing is written. */
bool drop_caller_note(struct base *base, const char *name, uid_t caller,
                      struct err *err);
/* By the note when it is ours, else the owner of the marker. */
uid_t drop_caller(struct base *base, const char *name,
                  const struct stat *marker);
void drop_caller_forget(struct base *base, const char *name);

#endif
