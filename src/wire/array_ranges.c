#include "wire/array_ranges.h"

#include <inttypes.h>
#include <stdio.h>

#include "wire/submission.h"

enum { DIGITS_MAX = 18 }; /* any number of so many fits into 63 bits */

struct range {
    uint64_t first, last, step;
    int width; /* of the numbers, padded with zeros; 0: as short as they are */
};

bool array_ranges_are_meant(struct span text) {
    bool digit = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.p[i];
        if (c >= '0' && c <= '9')
            digit = true;
        else if (c != ',' && c != ':' && c != '-')
            return false;
    }
    return digit;
}

static bool number_parse(struct span text, uint64_t *ret) {
    return text.len <= DIGITS_MAX && span_u64(text, ret);
}

static bool is_padded(struct span number) {
    return number.len > 1 && number.p[0] == '0';
}

static bool refuse(struct err *err, struct span part, const char *why) {
    return err_set(err, ERR_DATA, "'%.*s' %s",
                   (int)(part.len < 200 ? part.len : 200), part.p ? part.p : "",
                   why);
}

static bool range_parse(struct span part, struct range *ret, struct err *err) {
    struct span rest = part, bounds, first, last, step = SPAN("1");
    (void)span_cut(&rest, ':', &bounds);
    if (rest.p != NULL)
        step = rest;
    last = bounds;
    (void)span_cut(&last, '-', &first);
    if (last.p == NULL)
        last = first;
    if (!number_parse(first, &ret->first) || !number_parse(last, &ret->last) ||
        !number_parse(step, &ret->step))
        return refuse(err, part,
                      "is no range of numbers from 0 on: write FIRST-LAST, "
                      "FIRST-LAST:STEP or one number (a file of that name: "
                      "./NAME)");
    if (ret->last < ret->first)
        return refuse(err, part,
                      "runs backwards; the smaller number comes first");
    if (ret->step == 0)
        return refuse(err, part, "has a step of 0");
    ret->width = is_padded(first) || is_padded(last)
                     ? (int)(first.len > last.len ? first.len : last.len)
                     : 0;
    return true;
}

/* The number of its elements, which do not overflow: both ends have at most
 * DIGITS_MAX digits. */
static uint64_t range_count(const struct range *range) {
    return (range->last - range->first) / range->step + 1;
}

static void range_add(const struct range *range, struct arena *arena,
                      struct lines *elements) {
    for (uint64_t i = 0; i < range_count(range); i++)
        elements->items[elements->count++] = span_of(arena_printf(
            arena, "%0*" PRIu64, range->width, range->first + i * range->step));
}

bool array_ranges_parse(struct span text, struct arena *arena,
                        struct lines *ret_elements, struct err *err) {
    struct span rest = text, part;
    struct range range;
    uint64_t count = 0;
    if (text.len == 0)
        return refuse(err, text, "is empty");
    while (span_cut(&rest, ',', &part)) {
        if (!range_parse(part, &range, err))
            return false;
        if (range_count(&range) > SUBMISSION_LIST - count)
            return err_set(err, ERR_DATA,
                           "'%.*s' holds more than %d elements; split it into "
                           "several jobs",
                           (int)(text.len < 200 ? text.len : 200), text.p,
                           SUBMISSION_LIST);
        count += range_count(&range);
    }
    ret_elements->items =
        arena_alloc(arena, (count + 1) * sizeof *ret_elements->items);
    ret_elements->count = 0;
    rest = text;
    while (span_cut(&rest, ',', &part))
        if (range_parse(part, &range, err))
            range_add(&range, arena, ret_elements);
    return true;
}
