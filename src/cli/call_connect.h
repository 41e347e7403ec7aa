/* From the command line to the base it refers to, and from the lines that a
 * base answers to the output. */
#ifndef POINTSMAN_CLI_CALL_CONNECT_H
#define POINTSMAN_CLI_CALL_CONNECT_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/json.h"
#include "cli/client.h"
#include "cli/table.h"
#include "cli/call.h"

/* Opens a client by --base and --server. */
bool call_client(const struct call *call, struct client **ret_client,
                 struct err *err);
/* The same with other options. */
bool call_client_with(const struct call *call,
                      const struct client_options *options,
                      struct client **ret_client, struct err *err);
/* The base's path, for commands that work on its files directly. Refuses
 * --server, and with ERR_DENIED callers without the role of the command. In the
 * call's arena. */
bool call_base(struct call *call, const char **ret_path, struct err *err);
/* The same for a command that does not need to open the base. */
bool call_base_path(struct call *call, const char **ret_path, struct err *err);
/* The first `count` operands are not "", as they would be from an unset
 * variable. */
bool call_operands_not_empty(const struct call *call, size_t words,
                             struct err *err);
/* Checks that there are at least and at most this many operands, and that
 * the required ones are not empty. */
bool call_operands(const struct call *call, size_t least, size_t most,
                   struct err *err);

/* Members of one line of an answer; "", 0 and false when absent or null. */
const char *call_line_text(struct span line, const char *key,
                           struct arena *arena);
/* The same as one printable line: control characters in untrusted text are
 * escaped. */
const char *call_line_printable(struct span line, const char *key,
                                struct arena *arena);
/* Makes any text printable in this way. */
const char *call_printable(const char *text, struct arena *arena);
int64_t call_line_number(struct span line, const char *key);
/* What the members `lost_bytes`, `lost_origins` and `lost_reason` say of an
 * output, as a sentence; empty: nothing is lost. */
const char *call_line_loss(struct span line, struct arena *arena);
bool call_line_flag(struct span line, const char *key);

/* A query while it is built: call_uri_begin, then any number of
 * call_uri_add. */
struct call_uri {
    struct text text;
    bool more;
};
void call_uri_begin(struct call_uri *uri, const char *path);
void call_uri_add(struct call_uri *uri, const char *key, const char *value);

/* Applies the command to one of the call's words. */
typedef bool call_one(struct call *call, struct client *client,
                      const char *word, const void *ctx, struct err *err);
/* Applies it to each of the call's words (at least one) in turn, also after
 * a failure. Reports failures; returns the exit status of the first one. */
int call_for_each(struct call *call, call_one *one, const void *ctx);

/* Shows the answer of GET for each of the call's words (ids): with --json
 * the lines unchanged, else `show` of each line. The id replaces the % in
 * `path_format`. Returns the exit status. */
int call_show_each(struct call *call, const char *path_format,
                   void (*show)(struct span line, struct arena *arena));
/* The same, but `take` gets each line also with --json. */
int call_take_each(struct call *call, const char *path_format,
                   void (*take)(struct span line, struct arena *arena));
/* The same for GET of one URI; `after` (may be NULL) is called at the end. */
bool call_show_lines(struct client *client, const char *uri, bool json,
                     void (*show)(struct span line, struct arena *arena),
                     struct err *err);
/* All of a command without words: shows the answer of GET, with --json as it
 * is, else as a table with a row by `row` (which adds its cells to *table) for
 * each line. Returns the exit status. */
int call_show_table(struct call *call, const char *uri, struct table *table,
                    const char *const *titles, size_t columns,
                    void (*row)(struct span line, struct arena *arena));

#endif
