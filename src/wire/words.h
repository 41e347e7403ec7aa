/* Splits a command line into words as a shell does with quotes and backslashes,
 * and nothing else: no variables, globs, pipes or comments. */
#ifndef POINTSMAN_WIRE_WORDS_H
#define POINTSMAN_WIRE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"

/* *ret_words: NULL-terminated, in the arena. Error (ERR_DATA): an open quote,
 * a backslash at the end, a NUL. */
bool words_split(struct span line, struct arena *arena, char ***ret_words,
                 size_t *ret_count, struct err *err);
/* Appends `word`, quoted if a shell needs it. */
void word_quote(struct span word, struct text *out);

#endif
