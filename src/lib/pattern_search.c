#include "lib/pattern_inner.h"

#include <stdlib.h>

static void forget(struct pattern *pattern) {
    pattern->start = -1;
    while (pattern->set_count > 0) {
        struct set *set = pattern->sets[--pattern->set_count];
        free(set->steps);
        free(set);
    }
}

void pattern_free(struct pattern *pattern) {
    if (pattern == NULL)
        return;
    forget(pattern);
    free(pattern->steps);
    free(pattern->mark);
    free(pattern->list);
    free(pattern->stack);
    free(pattern);
}

/* Adds the step and all steps reachable from it without a byte. BEGIN matches
 * only at the beginning of a line, END only at its end. */
static void reach(struct pattern *pattern, uint32_t from, bool begin,
                  bool end) {
    size_t depth = 0;
    pattern->stack[depth++] = from;
    while (depth > 0) {
        uint32_t at = pattern->stack[--depth];
        if (at == NONE || pattern->mark[at] == pattern->stamp)
            continue;
        pattern->mark[at] = pattern->stamp;
        const struct step *step = &pattern->steps[at];
        switch (step->kind) {
        case STEP_SPLIT:
            pattern->stack[depth++] = step->other;
            pattern->stack[depth++] = step->next;
            break;
        case STEP_BEGIN:
            if (begin)
                pattern->stack[depth++] = step->next;
            break;
        case STEP_END:
            pattern->list[pattern->list_count++] = at;
            if (end)
                pattern->stack[depth++] = step->next;
            break;
        case STEP_BYTES:
        case STEP_FOUND:
            pattern->list[pattern->list_count++] = at;
            break;
        }
    }
}

static void begin_list(struct pattern *pattern) {
    pattern->list_count = 0;
    if (++pattern->stamp == 0) {
        memset(pattern->mark, 0, pattern->count * sizeof *pattern->mark);
        pattern->stamp = 1;
    }
}

static int by_number(const void *a, const void *b) {
    const uint32_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static bool is_set(const struct pattern *pattern, const struct set *set) {
    return set->count == pattern->list_count &&
           memcmp(set->steps, pattern->list, set->count * sizeof *set->steps) ==
               0;
}

/* Returns the number of the set with the steps of the list. If there are too
 * many sets, all are dropped and earlier numbers become invalid. */
static int32_t find_set(struct pattern *pattern) {
    qsort(pattern->list, pattern->list_count, sizeof *pattern->list, by_number);
    for (int32_t i = 0; i < pattern->set_count; i++)
        if (is_set(pattern, pattern->sets[i]))
            return i;
    if (pattern->set_count == PATTERN_SETS_MAX)
        forget(pattern);
    struct set *set = mem_alloc(sizeof *set);
    set->count = pattern->list_count;
    set->steps = mem_alloc((set->count + 1) * sizeof *set->steps);
    memcpy(set->steps, pattern->list, set->count * sizeof *set->steps);
    for (uint32_t i = 0; i < set->count; i++)
        set->found |= pattern->steps[set->steps[i]].kind == STEP_FOUND;
    memset(set->to, -1, sizeof set->to);
    pattern->sets[pattern->set_count] = set;
    return pattern->set_count++;
}

/* A match may begin anywhere: the first step is always in the set. */
static int32_t first_set(struct pattern *pattern) {
    if (pattern->start < 0) {
        begin_list(pattern);
        reach(pattern, pattern->first, true, false);
        pattern->start = find_set(pattern);
    }
    return pattern->start;
}

static int32_t next_set(struct pattern *pattern, int32_t number,
                        unsigned input) {
    struct set *set = pattern->sets[number];
    uint32_t count = set->count;
    uint32_t *steps = mem_alloc((count + 1) * sizeof *steps);
    memcpy(steps, set->steps, count * sizeof *steps);
    begin_list(pattern);
    for (uint32_t i = 0; i < count; i++) {
        const struct step *step = &pattern->steps[steps[i]];
        if (input == PATTERN_END
                ? step->kind == STEP_END
                : step->kind == STEP_BYTES && step_takes(&step->bytes, input))
            reach(pattern, step->next, false, input == PATTERN_END);
    }
    if (input != PATTERN_END)
        reach(pattern, pattern->first, false, false);
    free(steps);
    bool full = pattern->set_count == PATTERN_SETS_MAX;
    int32_t next = find_set(pattern);
    if (!full || pattern->set_count == PATTERN_SETS_MAX)
        set->to[input] = next;
    return next;
}

bool pattern_finds(struct pattern *pattern, struct span line) {
    int32_t at = first_set(pattern);
    for (size_t i = 0; i <= line.len; i++) {
        if (pattern->sets[at]->found)
            return true;
        unsigned input = i < line.len ? (unsigned char)line.p[i] : PATTERN_END;
        int32_t next = pattern->sets[at]->to[input];
        at = next >= 0 ? next : next_set(pattern, at, input);
    }
    return pattern->sets[at]->found;
}
