/* From what stands on the command line to the base it means, and from the
 * lines a base answers with to what is shown. */
#ifndef POINTSMAN_CLI_CALL_CONNECT_H
#define POINTSMAN_CLI_CALL_CONNECT_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/json.h"
#include "cli/client.h"
#include "cli/call.h"

/* --base and --server. `tick` as client_options; NULL: none. */
bool call_client(const struct call *call, struct client **ret_client,
                 struct err *err);
bool call_client_ticking(const struct call *call, bool (*tick)(void *ctx),
                         void *ctx, struct client **ret_client,
                         struct err *err);
/* The base's path, for verbs that work on its files themselves. Refuses
 * --server. In the call's arena. */
bool call_base(struct call *call, const char **ret_path, struct err *err);
/* The first so many operands are not "", as of a variable that is not set. */
bool call_operands_not_empty(const struct call *call, size_t words,
                             struct err *err);
/* Operands: at least and at most so many, what is needed not empty. */
bool call_operands(const struct call *call, size_t least, size_t most,
                   struct err *err);

/* Members of one answered line; "", 0 and false when absent or null. */
const char *call_line_text(struct span line, const char *key,
                           struct arena *arena);
/* The same as one line for eyes: what others wrote steers no terminal. */
const char *call_line_printable(struct span line, const char *key,
                                struct arena *arena);
/* Any text so. */
const char *call_printable(const char *text, struct arena *arena);
int64_t call_line_number(struct span line, const char *key);
bool call_line_flag(struct span line, const char *key);

/* A query as it is put together: call_uri_begin, then any number of
 * call_uri_add. */
struct call_uri {
    struct text text;
    bool more;
};
void call_uri_begin(struct call_uri *uri, const char *path);
void call_uri_add(struct call_uri *uri, const char *key, const char *value);

/* Does to one of the call's words what the command is for. */
typedef bool call_one(struct call *call, struct client *client,
                      const char *word, const void *ctx, struct err *err);
/* Each of the call's words (at least one) in turn, whatever became of those
 * before. Says what failed; returns the exit status, that of the first failure.
 */
int call_for_each(struct call *call, call_one *one, const void *ctx);

/* What GET says to each of the call's words (ids): with --json the lines as
 * they are, else `show` of each line. the id takes the place of the % in
 * `path_format`.
 * Returns the exit status. */
int call_show_each(struct call *call, const char *path_format,
                   void (*show)(struct span line, struct arena *arena));
/* GET of one URI, likewise; `after` (may be NULL) is called at the end. */
bool call_show_lines(struct client *client, const char *uri, bool json,
                     void (*show)(struct span line, struct arena *arena),
                     struct err *err);

#endif
