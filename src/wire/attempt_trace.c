#include "wire/attempt_trace.h"

#include <inttypes.h>

/* Appends the word and the number if it is above `least`. */
static void put(struct text *out, const char *word, int64_t number,
                int64_t least) {
    if (number > least)
        text_addf(out, "%s%s %" PRId64, out->len > 0 ? " " : "", word, number);
}

static void put_flag(struct text *out, const char *word, bool flag) {
    if (flag)
        text_addf(out, "%s%s", out->len > 0 ? " " : "", word);
}

void attempt_trace_format(const struct attempt_trace *trace, struct text *out) {
    put(out, "exited", trace->exited_ms, -1);
    put(out, "closed", trace->closed_ms, -1);
    put(out, "gone", trace->gone_ms, -1);
    put_flag(out, "leftovers", trace->leftovers);
    put_flag(out, "survivors", trace->survivors);
    put_flag(out, "status", trace->status);
    put_flag(out, "cut", trace->cut);
    put(out, "read", trace->read_bytes, 0);
    put(out, "written", trace->written_bytes, 0);
    put(out, "procs", trace->procs, 0);
    put_flag(out, "lossy", trace->loss.any);
    put(out, "lost", trace->loss.bytes, 0);
    put(out, "unmarked", trace->loss.unmarked, 0);
    put_flag(out, "unstamped", trace->loss.origins);
    put(out, "errno", trace->loss.sys, 0);
}

static bool take_flag(struct span word, struct attempt_trace *trace) {
    const struct {
        const char *word;
        bool *flag;
    } flags[] = {
        {"leftovers", &trace->leftovers}, {"survivors", &trace->survivors},
        {"status", &trace->status},       {"cut", &trace->cut},
        {"lossy", &trace->loss.any},      {"unstamped", &trace->loss.origins}};
    for (size_t i = 0; i < COUNT(flags); i++)
        if (span_is(word, flags[i].word))
            return *flags[i].flag = true;
    return false;
}

static void take_number(struct span word, int64_t number,
                        struct attempt_trace *trace) {
    const struct {
        const char *word;
        int64_t *number;
    } numbers[] = {
        {"exited", &trace->exited_ms},      {"closed", &trace->closed_ms},
        {"gone", &trace->gone_ms},          {"read", &trace->read_bytes},
        {"written", &trace->written_bytes}, {"procs", &trace->procs},
        {"lost", &trace->loss.bytes},       {"unmarked", &trace->loss.unmarked},
        {"errno", &trace->loss.sys}};
    for (size_t i = 0; i < COUNT(numbers); i++)
        if (span_is(word, numbers[i].word))
            *numbers[i].number = number;
}

void attempt_trace_parse(struct span line, struct attempt_trace *ret_trace) {
    struct span word, before = {0};
    uint64_t number;
    *ret_trace =
        (struct attempt_trace){.exited_ms = -1, .closed_ms = -1, .gone_ms = -1};
    while (line.len > 0 && span_cut(&line, ' ', &word)) {
        if (span_u64(word, &number) && number <= (uint64_t)INT64_MAX)
            take_number(before, (int64_t)number, ret_trace);
        else
            (void)take_flag(word, ret_trace);
        before = word;
    }
}
