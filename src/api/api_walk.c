/* Answers that read a large part of the registry, in bounded pieces. */
#include "api/api_call.h"

void api_steps(struct api_call *call,
               bool (*step)(struct api_call *call, struct err *err)) {
    for (unsigned steps = 0; call->out.len < API_OUT_BYTES && !call->ended;
         steps++) {
        struct err err = {0};
        if (steps == API_PAGES) {
            api_turn_in(call, 0);
            return;
        }
        if (!step(call, &err))
            api_fail(call, &err);
    }
}

static bool walk_step(struct api_call *call, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct api_walk *walk = call->state;
    struct job *jobs;
    size_t count;
    if (!store_jobs(call->api->options.store, &walk->list, &arena, &jobs,
                    &count, err))
        return false;
    for (size_t i = 0; i < count && !call->ended; i++) {
        walk->list.after_num = jobs[i].num;
        if (!walk->visit(call, &jobs[i], &arena, err))
            return false;
    }
    if (count == walk->list.limit || call->ended)
        return true;
    if (walk->last != NULL)
        walk->last(call);
    api_end(call);
    return true;
}

static void walk_work(struct api_call *call) {
    api_steps(call, walk_step);
}

void api_walk(struct api_call *call, struct api_walk *walk) {
    walk->list.limit = API_PAGE;
    call->state = walk;
    call->work = walk_work;
}
