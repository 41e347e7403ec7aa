/* Lines of log/CSID: a parsed line can be formatted as a line again. */
#include <assert.h>

#include "lib/arena.h"
#include "wire/event_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct span line = span_make(data, bytes), csid;
    struct event_line event, again;
    struct lines ids;

    if (event_head_parse(line, &arena, &csid, &ids, NULL)) {
        event_head_format(csid, &ids, &out);
        assert(out.len <= EVENT_LINE_BYTES);
        assert(event_head_parse(span_make(out.p, out.len - 1), &arena, &csid,
                                &ids, NULL));
        text_reset(&out);
    }
    if (!event_line_parse(line, &arena, &event, NULL))
        return 0;
    event_line_format(&event, &out);
    assert(out.len <= EVENT_LINE_BYTES && out.p[out.len - 1] == '\n');
    assert(
        event_line_parse(span_make(out.p, out.len - 1), &arena, &again, NULL));
    assert(again.seq == event.seq && again.tai.ns == event.tai.ns);
    return 0;
}
