/* Submitted approvals: an accepted text is formatted to the same bytes. Also
 * parses file names and notes of the history. */
#include <assert.h>

#include "wire/approval_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void try_note(struct span all) {
    CLEANUP(text_clear) struct text text = TEXT_INIT, again = TEXT_INIT;
    struct approval_note note, same;
    approval_note_parse(all, &note);
    approval_note_format(&note, &text);
    approval_note_parse(text_span(&text), &same);
    approval_note_format(&same, &again);
    assert(span_equal(text_span(&text), text_span(&again)));
}

/* The server answers with the text alone, without a signature. */
static void try_text(struct span all) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct approval_text approval;
    struct err err = {0};
    if (!approval_text_parse(all, &approval, &err))
        return;
    approval_text_format(&approval, &out);
    assert(span_equal(text_span(&out), all));
}

static void try_expires(struct span all) {
    struct wall now = wall_from_s(1700000000), expires;
    struct err err = {0};
    if (!approval_expires_parse(all, now, &expires, &err))
        assert(err.kind == ERR_USAGE);
    else
        assert(all.len == 0 ? expires.ns == 0 : expires.ns > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct span all = span_make(data, bytes), csid;
    struct approval_file file;
    struct err err = {0};
    if (approval_file_parse(all, &file, &err)) {
        approval_text_format(&file.approval, &out);
        assert(span_equal(text_span(&out), file.text));
        assert(file.text.len + file.signature.len <= bytes);
    } else {
        assert(err.kind == ERR_DATA);
    }
    if (approval_entry_parse(all, &csid))
        assert(csid.len > 0);
    try_note(all);
    try_text(all);
    try_expires(all);
    return 0;
}
