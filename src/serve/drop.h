/* Putting a tarball where the prequeue daemon finds it: data/NAME, then the
 * marker prequeue/NAME (D19), each durable before the next. */
#ifndef POINTSMAN_SERVE_DROP_H
#define POINTSMAN_SERVE_DROP_H

#include <stdbool.h>

#include "base/err.h"
#include "os/sum.h"
#include "serve/base.h"

/* A new file in tmp/. */
bool drop_open(struct base *base, char ret_name[256], int *ret_fd,
               struct err *err);
/* It is whole: on the disk, and from now on nobody changes it. */
bool drop_seal(int fd, struct err *err);
/* tmp/FROM becomes data/NAME, and the marker follows. When data/NAME is there
 * with the same sum, that one counts; with another sum: ERR_REFUSED. */
bool drop_publish(struct base *base, const char *from, const char *name,
                  const char *sum, struct err *err);

#endif
