/* The numbers of ranges are ranges of one number each. */
#include <assert.h>

#include "wire/array_ranges.h"
#include "wire/submission.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct lines elements, again;
    struct err err;

    if (!array_ranges_parse(span_make(data, bytes), &arena, &elements, &err))
        return 0;
    assert(array_ranges_are_meant(span_make(data, bytes)));
    assert(elements.count > 0 && elements.count <= SUBMISSION_LIST);
    for (size_t i = 0; i < elements.count; i += elements.count / 8 + 1) {
        assert(array_ranges_parse(elements.items[i], &arena, &again, &err));
        assert(again.count == 1);
        assert(span_equal(again.items[0], elements.items[i]));
    }
    return 0;
}
