/* Job files: formatting a parsed file is a fixed point. */
#include <assert.h>

#include "lib/arena.h"
#include "wire/job_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(text_clear) struct text once = TEXT_INIT;
    CLEANUP(text_clear) struct text twice = TEXT_INIT;
    struct job_file job;
    struct refusal why = {0};

    if (!job_file_parse(span_make(data, bytes), &arena, &job, &why)) {
        assert(why.kind && why.text[0]);
        return 0;
    }
    assert(job_file_format(&job, &once, NULL));
    assert(job_file_parse(text_span(&once), &arena, &job, NULL));
    assert(job_file_format(&job, &twice, NULL));
    assert(span_equal(text_span(&once), text_span(&twice)));
    return 0;
}
