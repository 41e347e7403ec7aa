/* A place that can be parsed is written in the same way again. */
#include <assert.h>

#include "wire/log_place.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct log_place place, again;

    if (!log_place_parse(span_make(data, bytes), &place))
        return 0;
    assert(place.over <= 1);
    for (size_t i = 0; i < LOG_PLACE_STREAMS; i++)
        assert(place.shown[i] <= place.at);
    log_place_format(&place, &text);
    assert(log_place_parse(text_span(&text), &again));
    assert(again.at == place.at && again.begun == place.begun);
    assert(span_equal(again.node, place.node));
    return 0;
}
