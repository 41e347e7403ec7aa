/* The small parsers of lib: a parsed value is formatted to the same text. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "lib/err.h"
#include "lib/text.h"
#include "lib/time.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void read_numbers(struct span span) {
    char again[32];
    uint64_t u;
    int64_t i;

    if (span_u64(span, &u) && span.p[0] != '0') {
        snprintf(again, sizeof(again), "%" PRIu64, u);
        assert(span_is(span, again));
    }
    if (span_i64(span, &i) && memchr(span.p, '0', span.len) == NULL) {
        snprintf(again, sizeof(again), "%" PRId64, i);
        assert(span_is(span, again));
    }
}

static void read_times(struct span span) {
    char text[WALL_TEXT_BYTES], label[TAI_TEXT_BYTES];
    struct wall wall, again;
    int64_t ms;

    if (wall_parse(span, &wall)) {
        assert(wall_parse(span_of(wall_format(wall, text)), &again) ||
               wall_s(wall) == wall_s((struct wall){INT64_MIN}));
        assert(tai_parse(span_of(tai_format(wall, label)), &again) ||
               wall_s(wall) == wall_s((struct wall){INT64_MIN}));
    }
    if (tai_parse(span, &wall))
        assert(span_is(span, tai_format(wall, label)));
    if (duration_parse(span, &ms))
        assert(ms >= 0 && ms % 1000 == 0);
}

static void write_escaped(struct span span) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct err err = {0};

    text_addescaped(&text, span);
    assert(span_is_utf8(text_span(&text)));
    assert(text.len == 0 || memchr(text.p, '\n', text.len) == NULL);
    err_set(&err, ERR_DATA, "%.*s", (int)(span.len & 0xffff), span.p);
    assert(span_is_utf8(span_of(err.text)));
    assert(strpbrk(err.text, "\n\x1b\x7f") == NULL);
}

static void cut_apart(struct span span) {
    struct span rest = span, part;
    size_t bytes = 0, parts = 0;

    while (span_cut(&rest, ',', &part)) {
        bytes += part.len;
        parts++;
    }
    assert(parts > 0 && bytes + parts - 1 == span.len);
    assert(span_trim(span).len <= span.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static const char *const words[] = {"status", "submit", "list"};
    char *word = mem_copy(data, bytes);
    struct span span = span_make(word, bytes);

    read_numbers(span);
    read_times(span);
    write_escaped(span);
    cut_apart(span);
    text_nearest(word, words, COUNT(words));
    text_free_string(&word);
    return 0;
}
