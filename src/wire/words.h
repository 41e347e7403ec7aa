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
/* True if a part of the line, a word or less, means something to a shell that
 * words_split passes on as text: an operator such as && or >, a variable, a
 * command substitution, or an assignment before the command. Quoted parts do
 * not. *ret_part: the first one. The line is one that words_split accepts. */
bool words_find_shell(struct span line, struct span *ret_part);
/* Appends `word`, quoted if a shell needs it. */
void word_quote(struct span word, struct text *out);

#endif
