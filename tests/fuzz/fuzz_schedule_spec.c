/* A schedule in JSON: what is accepted can be written and read back, and says
 * the same then. */
#include <assert.h>

#include "wire/schedule_spec.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(text_clear) struct text first = TEXT_INIT;
    CLEANUP(text_clear) struct text second = TEXT_INIT;
    struct schedule_spec spec, again;
    struct err err = {0};
    if (!schedule_spec_parse(span_make(data, size), &arena, &spec, &err)) {
        assert(err.text[0] != '\0' && !strchr(err.text, '\n'));
        return 0;
    }
    schedule_spec_format(&spec, &first);
    bool ok = schedule_spec_parse(text_span(&first), &arena, &again, &err);
    assert(ok);
    (void)ok;
    schedule_spec_format(&again, &second);
    assert(span_equal(text_span(&first), text_span(&second)));
    return 0;
}
