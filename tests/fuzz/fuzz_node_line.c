/* Lines of nodes: any bytes can be parsed; what is parsed is a line that can be
 * parsed again, with the same meaning. */
#include <assert.h>

#include "lib/text.h"
#include "nodes/node_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(text_clear) struct text again = TEXT_INIT;
    struct node_line line, other;
    struct span tags, tag;
    struct err err = {0};

    if (!node_line_parse(span_make(data, bytes), &line, &err)) {
        assert(err.kind == ERR_DATA && err.text[0] != '\0');
        return 0;
    }
    text_addspan(&again, line.name);
    if (line.parent.len > 0)
        text_addf(&again, " below=%.*s", (int)line.parent.len, line.parent.p);
    tags = span_of(line.tags);
    while (tags.len > 0 && span_cut(&tags, ' ', &tag))
        text_addf(&again, " tag=%.*s", (int)tag.len, tag.p);
    text_adds(&again, line.disabled ? " disabled" : "");
    assert(node_line_parse(text_span(&again), &other, &err));
    assert(span_equal(line.name, other.name));
    assert(span_equal(line.parent, other.parent));
    assert(strcmp(line.tags, other.tags) == 0);
    assert(line.disabled == other.disabled);
    return 0;
}
