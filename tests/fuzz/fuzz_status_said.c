/* What commands say on their descriptors. */
#include <assert.h>

#include "base/arena.h"
#include "wire/status_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct span line = span_make(data, bytes), text;
    struct status_line status;
    struct err err = {0};
    unsigned percent;

    if (status_line_parse(line, &arena, &status, &err))
        assert(status_word_name(status.word)[0] != '?');
    else
        assert(err.kind == ERR_DATA);
    if (progress_line_parse(line, &percent, &text))
        assert(percent <= 100);
    return 0;
}
