/* Facts of events: formatting parsed facts is a fixed point. */
#include <assert.h>

#include "core/event_facts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct event_facts facts, again;
    if (!event_facts_parse(span_make(data, bytes), &arena, &facts))
        return 0;
    struct span text = event_facts_format(&facts, &arena);
    if (text.len == 0 || text.len > EVENT_FACTS_BYTES)
        return 0;
    assert(event_facts_parse(text, &arena, &again));
    assert(span_equal(event_facts_format(&again, &arena), text));
    return 0;
}
