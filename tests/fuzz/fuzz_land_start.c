/* The start of a landing or a rollback: formatting a parsed start is a fixed
 * point. */
#include <assert.h>

#include "landing/land_start.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void landing(struct span text, struct arena *arena) {
    CLEANUP(text_clear) struct text once = TEXT_INIT;
    CLEANUP(text_clear) struct text twice = TEXT_INIT;
    struct land_start order;
    struct err err = {0};
    if (!land_start_parse(text, "/base", arena, &order, &err)) {
        assert(err.kind == ERR_DATA && err.text[0] != '\0');
        return;
    }
    land_start_format(&order, &once);
    assert(land_start_parse(text_span(&once), "/other", arena, &order, &err));
    land_start_format(&order, &twice);
    assert(span_equal(text_span(&once), text_span(&twice)));
}

static void rollback(struct span text, struct arena *arena) {
    CLEANUP(text_clear) struct text once = TEXT_INIT;
    CLEANUP(text_clear) struct text twice = TEXT_INIT;
    struct revert_start order;
    struct err err = {0};
    if (!land_start_parse_revert(text, "/base", arena, &order, &err)) {
        assert(err.kind == ERR_DATA && err.text[0] != '\0');
        return;
    }
    land_start_format_revert(&order, &once);
    assert(land_start_parse_revert(text_span(&once), "/other", arena, &order,
                                   &err));
    land_start_format_revert(&order, &twice);
    assert(span_equal(text_span(&once), text_span(&twice)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct span text = span_make((const char *)data, bytes);
    landing(text, &arena);
    rollback(text, &arena);
    return 0;
}
