/* Schedules in JSON: formatting an accepted schedule is a fixed point. */
#include <assert.h>

#include "wire/schedule_spec.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* The values of command line options. */
static void try_words(struct span word) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct schedule_spec spec, again;
    enum schedule_overlap overlap;
    enum schedule_missed missed;
    if (schedule_overlap_parse(word, &overlap))
        assert(span_is(word, schedule_overlap_word(overlap)));
    if (schedule_missed_parse(word, &missed))
        assert(span_is(word, schedule_missed_word(missed)));
    schedule_spec_init(&spec);
    if (!schedule_offset_parse(word, &spec))
        return;
    schedule_spec_init(&again);
    schedule_offset_format(&spec, &text);
    bool ok = schedule_offset_parse(text_span(&text), &again);
    assert(ok && again.hash == spec.hash && again.offset_s == spec.offset_s);
    (void)ok;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(text_clear) struct text first = TEXT_INIT;
    CLEANUP(text_clear) struct text second = TEXT_INIT;
    struct schedule_spec spec, again;
    struct err err = {0};
    try_words(span_make(data, size));
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
