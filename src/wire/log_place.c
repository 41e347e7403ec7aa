#include "wire/log_place.h"

#include <inttypes.h>

enum { NUMBERS = 8 + LOG_PLACE_STREAMS };

static void numbers_of(struct log_place *place, uint64_t *ret[NUMBERS]) {
    uint64_t *const numbers[] = {
        &place->begun, &place->assigned,   &place->attempt,    &place->over,
        &place->at,    &place->skip_lines, &place->lines_left, &place->skip,
    };
    size_t n = 0;
    for (; n < NUMBERS - LOG_PLACE_STREAMS; n++)
        ret[n] = numbers[n];
    for (size_t i = 0; i < LOG_PLACE_STREAMS; i++)
        ret[n++] = &place->shown[i];
}

/* The numbers, each followed by a dot, and the node. */
void log_place_format(const struct log_place *place, struct text *out) {
    struct log_place copy = *place;
    uint64_t *numbers[NUMBERS];
    numbers_of(&copy, numbers);
    for (size_t i = 0; i < NUMBERS; i++)
        text_addf(out, "%" PRIu64 ".", *numbers[i]);
    text_addspan(out, place->node);
}

bool log_place_parse(struct span text, struct log_place *ret_place) {
    uint64_t *numbers[NUMBERS];
    *ret_place = (struct log_place){0};
    numbers_of(ret_place, numbers);
    for (size_t i = 0; i < NUMBERS; i++) {
        struct span word;
        if (!span_cut(&text, '.', &word) || text.p == NULL ||
            !span_u64(word, numbers[i]))
            return false;
    }
    ret_place->node = text;
    for (size_t i = 0; i < LOG_PLACE_STREAMS; i++)
        if (ret_place->shown[i] > ret_place->at)
            return false;
    return ret_place->over <= 1;
}
