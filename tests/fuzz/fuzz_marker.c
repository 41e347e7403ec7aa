/* Markers: formatting what was parsed gives the same bytes. */
#include <assert.h>

#include "wire/marker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct span text = span_make(data, bytes), rest = text, line = {0};
    struct access_owner by = {0};
    struct refusal why = {0};

    for (int i = 0; i < 3; i++)
        if (!span_cut(&rest, '\n', &line))
            break;
    struct span name = span_starts(line, "name ")
                           ? span_make(line.p + 5, line.len - 5)
                           : SPAN("x");
    if (!marker_parse(text, name, &by, &why)) {
        assert(why.kind && why.text[0]);
        return 0;
    }
    assert(marker_is_meant(text));
    marker_format(name, &by, &out);
    assert(marker_parse(text_span(&out), name, &by, NULL));
    return 0;
}
