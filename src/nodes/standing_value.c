#include "nodes/standing_value.h"

#include "lib/time.h"

enum { SECONDS_MOST = 31536000 };

bool standing_flag_read(struct span value, bool *ret_flag) {
    *ret_flag =
        span_is(value, "true") || span_is(value, "yes") || span_is(value, "on");
    return *ret_flag || span_is(value, "false") || span_is(value, "no") ||
           span_is(value, "off");
}

bool standing_decimal_read(struct span value, unsigned digits, uint64_t most,
                           uint64_t *ret_number) {
    struct span whole, rest = value;
    uint64_t number;

    if (!span_cut(&rest, '.', &whole) || !span_u64(whole, &number) ||
        (rest.p != NULL && rest.len == 0))
        return false;
    for (unsigned i = 0; i < digits; i++) {
        uint64_t digit = 0;
        if (i < rest.len && !span_u64(span_make(rest.p + i, 1), &digit))
            return false;
        if (number > UINT64_MAX / 10 - 1)
            return false;
        number = number * 10 + digit;
    }
    for (size_t i = digits; i < rest.len; i++)
        if (rest.p[i] < '0' || rest.p[i] > '9')
            return false;
    *ret_number = number;
    return number <= most;
}

bool standing_backoff_read(const struct lines *waits, struct arena *arena,
                           uint32_t **ret_waits_s, size_t *ret_count,
                           bool *ret_fails, const char **ret_why) {
    size_t count = waits->count;
    uint32_t *seconds = arena_alloc(arena, (count + 1) * sizeof(*seconds));
    struct span last = count > 0 ? waits->items[count - 1] : SPAN("");
    int64_t ms;

    *ret_fails = !span_is(last, "repeat");
    if (!*ret_fails || span_is(last, "fail"))
        count--;
    for (size_t i = 0; i < count; i++) {
        if (!duration_parse(waits->items[i], &ms) || ms < 1000 ||
            ms > INT64_C(1000) * SECONDS_MOST) {
            *ret_why = "a list of waits from 1 second to a year that ends with "
                       "repeat or fail, such as 15,60,15m,repeat";
            return false;
        }
        seconds[i] = (uint32_t)(ms / 1000);
        if (i > 0 && seconds[i] <= seconds[i - 1]) {
            *ret_why = "a list in which each wait is longer than the one "
                       "before";
            return false;
        }
    }
    *ret_why = "a list with a wait that could be repeated";
    *ret_waits_s = seconds;
    *ret_count = count;
    return count > 0 || *ret_fails;
}

bool standing_orphans_read(struct span value, int64_t *ret_ms) {
    *ret_ms = -1;
    return span_is(value, "never") || (duration_parse(value, ret_ms) &&
                                       *ret_ms <= INT64_C(1000) * SECONDS_MOST);
}
