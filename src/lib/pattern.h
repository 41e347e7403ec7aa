/* Regular expressions whose search time is proportional to the text, whatever
 * expression and text look like: all paths through the expression are followed
 * at once (Thompson 1968), and sets of states seen before are cached. POSIX
 * extended syntax without back references, which this method cannot support:
 *
 *     .  [abc] [^a-z] [[:digit:]]  ^ $  ( )  |  * + ? {n} {n,} {n,m}
 *     \d \w \s \D \W \S  \t \\ \. ...
 *
 * Patterns match bytes, not characters: `.` is one byte, never an LF. Why we
 * have our own: the C library's may take exponential time, TRE's is quadratic
 * for some patterns, RE2 is C++; these few hundred lines are enough for logs.
 */
#ifndef POINTSMAN_LIB_PATTERN_H
#define POINTSMAN_LIB_PATTERN_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/text.h"

/* Repetitions are expanded: these are the limits of an expression. */
enum { PATTERN_BYTES_MAX = 4096, PATTERN_STEPS_MAX = 10000 };

struct pattern;

/* ERR_USAGE: not a valid expression, or too large; says where. */
bool pattern_new(struct span text, bool fold_case, struct pattern **ret_pattern,
                 struct err *err);
void pattern_free(struct pattern *pattern); /* NULL is fine */

/* True if the pattern matches anywhere in this line (without its LF). The
 * pattern caches states, so only one thread may use it at a time. */
bool pattern_finds(struct pattern *pattern, struct span line);

#endif
