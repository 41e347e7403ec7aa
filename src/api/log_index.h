/* The places where the lines of large outputs begin, kept for the few
 * outputs read most recently, so that the pages of one log do not each read
 * it from its beginning. */
#ifndef POINTSMAN_API_LOG_INDEX_H
#define POINTSMAN_API_LOG_INDEX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/text.h"
#include "os/output.h"
#include "wire/line_index.h"

enum { LOG_INDEXES = 8, LOG_INDEX_STEP_BYTES = 4 << 20 };

/* One output, by its attempt, task and job. */
struct log_name {
    uint64_t num, task;
    unsigned attempt;
};

struct log_indexes {
    struct log_index {
        struct log_name name; /* attempt 0: free */
        struct line_index index;
        struct text marks;
        uint64_t used; /* when it was last used */
    } items[LOG_INDEXES];
    uint64_t uses;
};

void log_indexes_clear(struct log_indexes *indexes);

/* The nearest marked place at or before `line` (from 0) of the output in
 * `view`; the last one if the output has fewer lines or cannot be read further.
 * Reads at most LOG_INDEX_STEP_BYTES; false: call again to continue. */
bool log_index_find(struct log_indexes *indexes, struct log_name name,
                    const struct output_view *view, uint64_t line,
                    struct line_index_place *ret_place);

/* Where the last `lines` lines of the output begin; 0: it has no more lines, or
 * it cannot be read. Reads backwards from its end, no further than that. */
uint64_t log_tail_begin(const struct output_view *view, uint64_t lines);

#endif
