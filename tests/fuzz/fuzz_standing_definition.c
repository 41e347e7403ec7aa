/* Definitions of standing jobs: any bytes can be read, as JSON and as lines
 * KEY=VALUE; what is accepted is written in a form that means the same. */
#include <assert.h>

#include "lib/text.h"
#include "nodes/standing_definition.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static bool has_lines(const struct text *errors) {
    return errors->len > 1 && errors->p[errors->len - 1] == '\n';
}

/* Written, read and written again. */
static void check_form(const struct standing_definition *definition,
                       struct arena *arena) {
    CLEANUP(text_clear) struct text once = TEXT_INIT;
    CLEANUP(text_clear) struct text twice = TEXT_INIT;
    CLEANUP(text_clear) struct text errors = TEXT_INIT;
    struct standing_definition again;

    standing_definition_format(definition, &once);
    assert(standing_definition_parse(text_span(&once), arena, &again, &errors));
    standing_definition_format(&again, &twice);
    assert(span_equal(text_span(&once), text_span(&twice)));
}

static void read_options(struct span text, struct arena *arena) {
    CLEANUP(text_clear) struct text errors = TEXT_INIT;
    struct standing_definition definition;
    struct span line, command = SPAN("true");
    bool ok = true;

    standing_definition_init(&definition);
    definition.job.command = (struct lines){&command, 1};
    while (span_cut(&text, '\n', &line)) {
        struct span value = line, key;
        if (span_cut(&value, '=', &key) && value.p != NULL)
            ok = standing_definition_set(&definition, key, value, arena,
                                         &errors) &&
                 ok;
    }
    assert(ok != has_lines(&errors));
    if (ok && standing_definition_check(&definition, &errors))
        check_form(&definition, arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(text_clear) struct text errors = TEXT_INIT;
    struct standing_definition definition;
    struct span text = span_make(data, bytes);

    if (standing_definition_parse(text, &arena, &definition, &errors))
        check_form(&definition, &arena);
    else
        assert(has_lines(&errors));
    read_options(text, &arena);
    return 0;
}
