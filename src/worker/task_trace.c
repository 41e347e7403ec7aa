#include "worker/task_trace.h"

#include "wire/attempt_trace.h"

enum { TRACE_MS = 100 };

/* Traces are kept only for attempts that lasted or ended unusually: for the
 * many short ones they would add nothing to the end. */
void task_trace_format(const struct guard_end *end, struct text *out) {
    bool odd = end->leftovers || end->survivors || end->has_status;
    if (!odd && (end->exited_ns == 0 || end->run_ns < TRACE_MS * NS_PER_MS))
        return;
    struct attempt_trace trace = {
        .exited_ms = end->exited_ns > 0 ? end->exited_ns / NS_PER_MS : -1,
        .closed_ms = end->closed_ns > 0 ? end->closed_ns / NS_PER_MS : -1,
        .gone_ms =
            end->survivors || end->gone_ns == 0 ? -1 : end->gone_ns / NS_PER_MS,
        .leftovers = end->leftovers,
        .survivors = end->survivors,
        .status = end->has_status,
        .read_bytes = end->read_bytes,
        .written_bytes = end->written_bytes,
        .procs = end->procs_peak,
    };
    attempt_trace_format(&trace, out);
}
