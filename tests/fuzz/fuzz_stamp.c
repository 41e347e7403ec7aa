/* The stamps of an output: any bytes decode to finitely many runs, and decoded
 * runs can be encoded and decoded again unchanged. */
#include <assert.h>

#include "os/stamp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct span rest = span_make(data, bytes);
    struct stamp_walk walk = {0};
    struct stamps again = STAMPS_INIT;
    struct stamp stamp, copy = {0};
    size_t count = 0;

    while (stamp_take(&walk, &rest, &stamp)) {
        assert(stamp.bytes > 0 && stamp.ms >= 0);
        stamps_add(&again, stamp.stream, stamp.ms, stamp.bytes);
        stamps_close(&again);
        count++;
    }
    struct stamp_walk second = {0};
    struct span coded = text_span(&again.coded);
    while (count > 0 && stamp_take(&second, &coded, &copy))
        count--;
    assert(count == 0 && coded.len == 0 && second.ms == walk.ms);
    stamps_clear(&again);
    return 0;
}
