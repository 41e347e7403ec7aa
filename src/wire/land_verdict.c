#include "wire/land_verdict.h"

static const char *const words[] = {
    [LAND_NONE] = "",
#define LAND_VERDICT(name, word) [LAND_##name] = word,
#include "core/land_verdict.def"
#undef LAND_VERDICT
};

const char *land_verdict_word(enum land_verdict verdict) {
    return words[verdict];
}

struct land_verdict_line land_verdict_parse(struct span line) {
    struct land_verdict_line said = {0};
    struct span rest = span_trim(line), word;
    span_cut(&rest, ' ', &word);
    for (size_t i = LAND_NONE + 1; i < COUNT(words); i++)
        if (span_is(word, words[i]))
            said.verdict = (enum land_verdict)i;
    if (said.verdict == LAND_NONE)
        return said;
    said.rest = said.text = rest = span_trim(rest);
    if (said.verdict == LAND_FAILED) {
        span_cut(&rest, ' ', &said.reason);
        said.text = span_trim(rest);
    }
    return said;
}
