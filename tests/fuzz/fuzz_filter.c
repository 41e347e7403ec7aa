/* Filters: if a filter matches a job, its set of possible states includes the
 * job's state. */
#include <assert.h>

#include "lib/arena.h"
#include "wire/filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct filter filter;
    struct err err = {0};
    struct span touches[] = {SPAN("src/a.c")};
    struct filter_facts facts = {.id = SPAN("abc"),
                                 .kind = SPAN("change"),
                                 .class = SPAN("EM"),
                                 .target = SPAN("main"),
                                 .arg = SPAN("make check"),
                                 .touches = touches,
                                 .touch_count = 1};
    char states[JOB_STATES + 1];

    /* With the facts of a task nothing may go wrong either. */
    if (filter_parse(span_make(data, bytes), FILTER_TASKS, &arena, &filter,
                     &err))
        (void)filter_match(&filter, &facts, wall_from_s(100));
    else
        assert(err.kind == ERR_USAGE && err.text[0]);
    if (!filter_parse(span_make(data, bytes), FILTER_JOBS, &arena, &filter,
                      &err)) {
        assert(err.kind == ERR_USAGE && err.text[0]);
        return 0;
    }
    filter_states(&filter, states);
    for (const char *state = "QSPXDFTA"; *state; state++) {
        facts.state = *state;
        if (filter_match(&filter, &facts, wall_from_s(100)))
            assert(strchr(states, *state));
    }
    return 0;
}
