/* Memory of one turn (a request, a tick, a parse): allocated piece by piece,
 * freed all at once. Memory is zeroed. Allocation never fails (see text.h). */
#ifndef POINTSMAN_LIB_ARENA_H
#define POINTSMAN_LIB_ARENA_H

#include <stddef.h>

#include "lib/text.h"

struct arena {
    struct arena_block *first;
    size_t used_bytes; /* of the first block */
};

#define ARENA_INIT ((struct arena){0})

/* Frees everything; the arena may be used again. A CLEANUP function. */
void arena_clear(struct arena *arena);
/* Zeroed and aligned for any type; never NULL. */
void *arena_alloc(struct arena *arena, size_t bytes);
/* Copies of the bytes: with a NUL behind them, or as a span. */
char *arena_string(struct arena *arena, struct span span);
struct span arena_span(struct arena *arena, struct span span);
/* The formatted text, NUL-terminated. */
char *arena_printf(struct arena *arena, const char *format, ...)
    PRINTF_LIKE(2, 3);

#endif
