/* The line index: any bytes can be read as an index, and the index of any
 * output finds its lines. */
#include <assert.h>

#include "wire/line_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void junk_check(struct span marks) {
    struct line_index_place last = line_index_find(marks, UINT64_MAX);
    struct line_index_place half = line_index_find(marks, last.line / 2);

    assert(last.line % LINE_INDEX_EVERY == 0);
    assert(last.line / LINE_INDEX_EVERY <= marks.len);
    assert(half.line <= last.line / 2 && half.offset <= last.offset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(text_clear) struct text marks = TEXT_INIT;
    struct line_index index = LINE_INDEX_INIT;
    struct span output = span_make(data, bytes);
    size_t half = bytes / 2;

    junk_check(output);
    line_index_feed(&index, span_make(data, half), &marks);
    line_index_feed(&index, span_make(data + half, bytes - half), &marks);
    struct line_index_place last =
        line_index_find(text_span(&marks), UINT64_MAX);
    assert(lines_skip(output, last.line) == last.offset);
    assert(index.bytes == bytes);
    assert(lines_skip(output, lines_count(output)) == bytes);
    return 0;
}
