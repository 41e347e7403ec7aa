/* Regular expressions whose search takes time in proportion to the text, never
 * more, whatever both look like: all ways through the expression are followed
 * at once (Thompson 1968), and sets of them that were seen before are
 * remembered. Extended syntax of POSIX without back references, which no such
 * search can have:
 *
 *     .  [abc] [^a-z] [[:digit:]]  ^ $  ( )  |  * + ? {n} {n,} {n,m}
 *     \d \w \s \D \W \S  \t \\ \. ...
 *
 * Bytes, not characters: `.` is one byte, never an LF. Why our own: the C
 * library's takes exponential time, TRE's grows with the square for some, RE2
 * is C++; these few hundred lines are all that logs need. */
#ifndef POINTSMAN_LIB_PATTERN_H
#define POINTSMAN_LIB_PATTERN_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/text.h"

/* Repetitions are written out: an expression may need this much at most. */
enum { PATTERN_BYTES_MAX = 4096, PATTERN_STEPS_MAX = 10000 };

struct pattern;

/* ERR_USAGE: not an expression, or too large; says where. */
bool pattern_new(struct span text, bool fold_case, struct pattern **ret_pattern,
                 struct err *err);
void pattern_free(struct pattern *pattern); /* NULL is fine */

/* Whether it is found anywhere in this line (without its LF). It remembers what
 * it has learned: one thread at a time. */
bool pattern_finds(struct pattern *pattern, struct span line);

#endif
