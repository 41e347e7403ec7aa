/* The trace of an attempt in the registry: any bytes can be parsed, and
 * formatting a parsed trace is a fixed point. */
#include <assert.h>

#include "wire/attempt_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(text_clear) struct text once = TEXT_INIT;
    CLEANUP(text_clear) struct text twice = TEXT_INIT;
    struct attempt_trace trace, again;

    attempt_trace_parse(span_make(data, bytes), &trace);
    assert(trace.exited_ms >= -1 && trace.closed_ms >= -1);
    assert(trace.gone_ms >= -1 && trace.read_bytes >= 0);
    assert(trace.written_bytes >= 0 && trace.procs >= 0);
    attempt_trace_format(&trace, &once);
    attempt_trace_parse(text_span(&once), &again);
    attempt_trace_format(&again, &twice);
    assert(span_equal(text_span(&once), text_span(&twice)));
    return 0;
}
