/* Status lines of commands: any bytes can be parsed, and blanks around them do
 * not change the result. */
#include <assert.h>

#include "lib/arena.h"
#include "wire/land_verdict.h"
#include "wire/status_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(text_clear) struct text padded = TEXT_INIT;
    struct span line = span_make(data, bytes);
    struct status_line status, again;
    struct err err = {0}, other = {0};

    bool ok = status_line_parse(line, &arena, &status, &err);
    assert(ok || err.kind == ERR_DATA);
    text_addc(&padded, ' ');
    text_addspan(&padded, line);
    text_addc(&padded, '\n');
    assert(status_line_parse(text_span(&padded), &arena, &again, &other) == ok);
    assert(!ok || again.word == status.word);
    struct land_verdict_line said = land_verdict_parse(line);
    assert(land_verdict_parse(text_span(&padded)).verdict == said.verdict);
    assert(said.verdict != LAND_NONE || said.rest.len == 0);
    assert(said.reason.len + said.text.len <= said.rest.len);
    return 0;
}
