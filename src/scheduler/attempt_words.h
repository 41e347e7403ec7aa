/* Lists of strings for execve: the argument vector of an attempt and its
 * environment. They live in an arena and end with NULL. */
#ifndef POINTSMAN_SCHEDULER_ATTEMPT_WORDS_H
#define POINTSMAN_SCHEDULER_ATTEMPT_WORDS_H

#include <stddef.h>

#include "lib/arena.h"
#include "lib/text.h"

struct run_start;
struct work_site; /* scheduler/work_kind.h */

struct attempt_words {
    struct arena *arena;
    char **items; /* ends with NULL */
    size_t count, cap;
};

/* Both copy the word. */
void attempt_words_add_string(struct attempt_words *words, const char *string);
void attempt_words_add_span(struct attempt_words *words, struct span span);
/* "NAME=VALUE". */
void attempt_words_add_pair(struct attempt_words *words, struct span name,
                            struct span value);
/* Adds the environment common to all attempts (doc/design/processes.md). */
void attempt_words_add_environment(struct attempt_words *env,
                                   const struct work_site *site,
                                   const struct run_start *start);

#endif
