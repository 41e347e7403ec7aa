/* Submissions: formatting a parsed submission is a fixed point. */
#include <assert.h>

#include "lib/arena.h"
#include "wire/submission.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(text_clear) struct text once = TEXT_INIT;
    CLEANUP(text_clear) struct text twice = TEXT_INIT;
    struct span text = span_make(data, bytes);
    struct submission submission;
    struct err err = {0};

    if (!submission_parse(text, SUBMISSION_BODY, &arena, &submission, &err)) {
        assert(err.kind == ERR_DATA && err.text[0]);
        assert(!submission_parse(text, SUBMISSION_LINE, &arena, &submission,
                                 NULL));
        return 0;
    }
    for (size_t i = 0; i < submission.after.count; i++) {
        struct span id;
        unsigned share;
        assert(submission_share_parse(submission.after.items[i], &id, &share));
        assert(id.len > 0 && share <= 100);
    }
    submission_format(&submission, &once);
    assert(submission_parse(text_span(&once), SUBMISSION_BODY, &arena,
                            &submission, NULL));
    submission_format(&submission, &twice);
    assert(span_equal(text_span(&once), text_span(&twice)));
    return 0;
}
