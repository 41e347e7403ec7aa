/* The plan of a rollback as text, and the words of its phases. */
#include "core/rollback.h"

static const char *const phases[] = {
    [ROLLBACK_STOPPING] = "stopping",
    [ROLLBACK_REVERTING] = "reverting",
    [ROLLBACK_OVER] = "over",
    [ROLLBACK_UNDONE] = "undone",
};

static const char *const outcomes[] = {
    [ROLLBACK_UNTOUCHED] = "",
    [ROLLBACK_REVERTED] = "reverted",
    [ROLLBACK_RESTORED] = "restored",
    [ROLLBACK_AGAIN] = "again",
};

const char *rollback_phase_word(enum rollback_phase phase) {
    return phases[phase];
}

bool rollback_phase_parse(struct span word, enum rollback_phase *ret_phase) {
    for (size_t i = 0; i < COUNT(phases); i++) {
        if (span_is(word, phases[i])) {
            *ret_phase = (enum rollback_phase)i;
            return true;
        }
    }
    return false;
}

void rollback_entry_format(const struct rollback_entry *entry,
                           struct text *out) {
    text_addf(out, "%llu %c%s%s\n", (unsigned long long)entry->num,
              job_state_letter(entry->was),
              entry->outcome == ROLLBACK_UNTOUCHED ? "" : " ",
              outcomes[entry->outcome]);
}

static bool outcome_parse(struct span word, enum rollback_outcome *ret) {
    for (size_t i = ROLLBACK_REVERTED; i < COUNT(outcomes); i++) {
        if (span_is(word, outcomes[i])) {
            *ret = (enum rollback_outcome)i;
            return true;
        }
    }
    return false;
}

static bool entry_parse(struct span line, struct rollback_entry *ret_entry) {
    struct span num, was, word;
    bool more = span_cut(&line, ' ', &num) && span_cut(&line, ' ', &was);
    *ret_entry = (struct rollback_entry){0};
    if (!more || !span_u64(num, &ret_entry->num) || was.len != 1 ||
        !job_state_of_letter(was.p[0], &ret_entry->was))
        return false;
    return !span_cut(&line, ' ', &word) ||
           (outcome_parse(word, &ret_entry->outcome) && !line.p);
}

bool rollback_entries_parse(struct span text, struct arena *arena,
                            struct rollback_entry **ret_entries,
                            size_t *ret_count) {
    size_t lines = 0;
    for (size_t i = 0; i < text.len; i++)
        lines += text.p[i] == '\n';
    *ret_entries = arena_alloc(arena, (lines + 1) * sizeof(**ret_entries));
    *ret_count = 0;
    struct span line;
    while (text.len > 0 && span_cut(&text, '\n', &line))
        if (!entry_parse(line, &(*ret_entries)[(*ret_count)++]))
            return false;
    return text.len == 0;
}

static const char *fate_to_come(enum job_state was, enum job_state state) {
    if (state == STATE_ABANDONED)
        return "abandoned";
    if (was == STATE_DONE || state == STATE_DONE)
        return rollback_fate_word(ROLLBACK_REVERT);
    return rollback_fate_word(was == STATE_EXECUTING ? ROLLBACK_STOP
                                                     : ROLLBACK_ABANDON);
}

const char *rollback_entry_fate(const struct rollback_entry *entry,
                                enum rollback_phase phase,
                                enum job_state state) {
    switch (phase) {
    case ROLLBACK_STOPPING:
    case ROLLBACK_REVERTING:
        return fate_to_come(entry->was, state);
    case ROLLBACK_UNDONE:
        return "unchanged";
    case ROLLBACK_OVER:
        break;
    }
    if (entry->outcome == ROLLBACK_AGAIN)
        return "reverted again";
    if (entry->outcome != ROLLBACK_UNTOUCHED)
        return outcomes[entry->outcome];
    return entry->was == STATE_DONE ? "unchanged" : "abandoned";
}
