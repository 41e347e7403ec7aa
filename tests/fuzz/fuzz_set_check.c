/* Answers of the checker: a decoded answer can be encoded and decoded again. */
#include <assert.h>

#include "lib/arena.h"
#include "wire/set_check.h"
#include "wire/tar_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(text_clear) struct text again = TEXT_INIT;
    struct set_limits limits = SET_LIMITS;
    struct set_check check;
    struct err err = {0};

    tar_names_hold_nul(span_make(data, bytes));
    if (!set_check_decode(span_make(data, bytes), &limits, &arena, &check,
                          &err)) {
        assert(err.kind == ERR_DATA);
        return 0;
    }
    set_check_encode(&check, &again);
    assert(set_check_decode(text_span(&again), &limits, &arena, &check, &err));
    return 0;
}
