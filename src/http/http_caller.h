/* The callers of a server: one for each connection, determined when it is made.
 * One account may have only so many connections, so that it cannot keep others
 * from connecting. */
#ifndef POINTSMAN_HTTP_HTTP_CALLER_H
#define POINTSMAN_HTTP_HTTP_CALLER_H

#include <stdbool.h>

#include "api/api.h"
#include "api/api_caller.h"
#include "base/base.h"
#include "lib/map.h"

struct http_callers {
    struct api *api;
    const struct base *base; /* NULL: over TCP, where nobody is known */
    unsigned most;           /* connections of the server */
    struct map counts;       /* by account */
};

struct http_caller;

/* Determines who is at the other end of a new connection. If the account has
 * too many, answers 429 and shuts the connection down. */
struct http_caller *http_caller_new(struct http_callers *callers, int fd);
void http_caller_free(struct http_callers *callers, struct http_caller *caller);
/* True if the connection was shut down. */
bool http_caller_is_refused(const struct http_caller *caller);
/* The caller with the roles that its account has now, or that `person` has, for
 * whom it acts (NULL: for itself). Valid as long as `caller` and `person`. */
struct access_actor http_caller_actor(const struct http_callers *callers,
                                      const struct http_caller *caller, int fd,
                                      const char *person);

#endif
