#include "scheduler/worker_json.h"

#include "lib/json.h"
#include "scheduler/scheduler_attempt.h"
#include "scheduler/scheduler_state.h"

struct held {
    unsigned assigned, awaited;
};

static struct held count_held(const struct scheduler *scheduler,
                              unsigned worker) {
    struct held held = {0};
    LIST_EACH (&((struct scheduler *)(uintptr_t)scheduler)->attempts, link) {
        const struct attempt *attempt = LIST_OF(link, struct attempt, link);
        if (attempt->worker != worker)
            continue;
        held.awaited += attempt->is_awaited;
        held.assigned += !attempt->is_awaited;
    }
    return held;
}

void worker_json(const struct scheduler *scheduler, bool fit,
                 struct text *out) {
    for (unsigned i = 0; i < scheduler->workers.count; i++) {
        bool is_here = i == WORKER_HERE;
        struct held held = count_held(scheduler, i);
        struct json json;
        if (!is_here && held.awaited == 0)
            continue;
        json_open(&json, out);
        json_object(&json);
        json_key(&json, "worker");
        json_span(&json, worker_table_shard(&scheduler->workers, i));
        json_key(&json, "state");
        json_string(&json, !is_here ? "awaited"
                           : fit    ? "healthy"
                                    : "unhealthy");
        json_key(&json, "slots");
        if (is_here)
            json_i64(&json, scheduler->options.slots);
        else
            json_null(&json);
        json_put_i64(&json, "assigned", held.assigned);
        json_put_i64(&json, "awaited", held.awaited);
        json_end(&json);
        text_addc(out, '\n');
    }
}
