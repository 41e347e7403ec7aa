/* Sections and meta: an accepted text has the same meaning when it is formatted
 * and parsed again; a refusal has a kind and a sentence. */
#include <assert.h>

#include "lib/arena.h"
#include "wire/meta.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void sections_check(struct span text, struct arena *arena) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    CLEANUP(text_clear) struct text again = TEXT_INIT;
    struct sections sections;

    if (!sections_parse(text, arena, &sections, NULL))
        return;
    sections_format(&sections, &out);
    assert(sections_parse(text_span(&out), arena, &sections, NULL));
    sections_format(&sections, &again);
    assert(span_equal(text_span(&out), text_span(&again)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct span text = span_make(data, bytes);
    struct meta meta, again;
    struct refusal why = {0};

    sections_check(text, &arena);
    if (!meta_parse(text, NULL, &arena, &meta, &why)) {
        assert(why.kind && why.text[0]);
        return 0;
    }
    meta_format(&meta, &out);
    assert(meta_parse(text_span(&out), NULL, &arena, &again, &why));
    assert(meta.files.count == again.files.count);
    assert(meta.deleted.count == again.deleted.count);
    assert(meta.dependencies.count == again.dependencies.count);
    assert(span_equal(meta.message, again.message));
    assert(span_equal(meta.target, again.target));
    return 0;
}
