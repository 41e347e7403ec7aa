/* From what stands on the command line to the base it means, and from the
 * lines a base answers with to what is shown. */
#ifndef POINTSMAN_CLI_REACH_H
#define POINTSMAN_CLI_REACH_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/json.h"
#include "cli/client.h"
#include "cli/command.h"

/* --base and --server. `tick` as client_options; NULL: none. */
bool reach_client(const struct call *call, struct client **ret_client,
                  struct err *err);
bool reach_ticking(const struct call *call, bool (*tick)(void *ctx), void *ctx,
                   struct client **ret_client, struct err *err);
/* The base's path, for verbs that work on its files themselves. Refuses
 * --server. In the call's arena. */
bool reach_base(struct call *call, const char **ret_path, struct err *err);
/* The first so many operands are not "", as of a variable that is not set. */
bool reach_not_empty(const struct call *call, size_t words, struct err *err);
/* Operands: at least and at most so many, what is needed not empty. */
bool reach_words(const struct call *call, size_t least, size_t most,
                 struct err *err);

/* Members of one answered line; "", 0 and false when absent or null. */
const char *line_text(struct span line, const char *key, struct arena *arena);
/* The same as one line for eyes: what others wrote steers no terminal. */
const char *line_shown(struct span line, const char *key, struct arena *arena);
/* Any text so. */
const char *shown(const char *text, struct arena *arena);
int64_t line_number(struct span line, const char *key);
bool line_flag(struct span line, const char *key);

/* A query as it is put together: uri_begin, then any number of uri_add. */
struct uri_text {
    struct text text;
    bool more;
};
void uri_begin(struct uri_text *uri, const char *path);
void uri_add(struct uri_text *uri, const char *key, const char *value);

/* Does to one of the call's words what the command is for. */
typedef bool reach_one(struct call *call, struct client *client,
                       const char *word, const void *ctx, struct err *err);
/* Each of the call's words (at least one) in turn, whatever became of those
 * before. Says what failed; returns the exit status, that of the first failure.
 */
int reach_one_by_one(struct call *call, reach_one *one, const void *ctx);

/* What GET says to each of the call's words (ids): with --json the lines as
 * they are, else `show` of each line. the id takes the place of the % in
 * `path_format`.
 * Returns the exit status. */
int reach_each(struct call *call, const char *path_format,
               void (*show)(struct span line, struct arena *arena));
/* GET of one URI, likewise; `after` (may be NULL) is called at the end. */
bool reach_lines(struct client *client, const char *uri, bool json,
                 void (*show)(struct span line, struct arena *arena),
                 struct err *err);

#endif
