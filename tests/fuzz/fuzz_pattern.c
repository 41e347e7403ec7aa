/* Matches any expression with any line; the input is "EXPRESSION\nLINE". */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/pattern.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct span rest = span_make((const char *)data, size), text;
    struct pattern *pattern;
    struct err err;
    if (size == 0 || size > 4096 || !span_cut(&rest, '\n', &text))
        return 0;
    if (!pattern_new(text, (data[0] & 1) != 0, &pattern, &err))
        return 0;
    bool found = pattern_finds(pattern, rest);
    if (pattern_finds(pattern, rest) != found)
        abort();
    pattern_free(pattern);
    return 0;
}
