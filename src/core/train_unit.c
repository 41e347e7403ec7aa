#include "core/train_inner.h"

#include <stdlib.h>
#include <string.h>
#include "lib/map.h"
#include "core/land_verdict.h"

struct train_tree train_tree_make(struct span id) {
    struct train_tree tree = {0};
    size_t len = id.len < TRAIN_TREE_BYTES ? id.len : TRAIN_TREE_BYTES - 1;

    if (len > 0)
        memcpy(tree.text, id.p, len);
    tree.hash = map_hash_bytes(tree.text, len);
    return tree;
}

struct span train_tree_span(const struct train_tree *tree) {
    return span_of(tree->text);
}

/* ---- units -------------------------------------------------------------- */

struct train_unit *train_unit_new(const struct train_entry *entry) {
    struct train_unit *unit = mem_alloc(sizeof(*unit));

    unit->num = entry->num;
    unit->job_class = entry->job_class;
    unit->sets = mem_grow(NULL, entry->set_count, sizeof(*unit->sets));
    unit->set_count = entry->set_count;
    for (size_t i = 0; i < entry->set_count; i++) {
        unit->sets[i] = entry->sets[i].num;
        /* " ID:COMMIT" */
        unit->answer_bytes += 2 + entry->sets[i].id.len + LAND_COMMIT_BYTES;
    }
    unit->id = span_string(entry->sets[entry->set_count - 1].id);
    unit->follows =
        mem_grow(NULL, entry->follow_count + 1, sizeof(*unit->follows));
    return unit;
}

void train_unit_free(struct train_unit *unit) {
    train_unit_forget_outcomes(unit);
    free(unit->outcomes);
    free(unit->sets);
    free(unit->follows);
    free(unit->followers);
    free(unit->id);
    free(unit->detail);
    free(unit);
}

struct train_unit *train_unit_find(const struct train *train, uint64_t num) {
    struct train_unit *unit = train_unit_of_set(train, num);

    return unit != NULL && unit->num == num ? unit : NULL;
}

struct train_unit *train_unit_of_set(const struct train *train, uint64_t num) {
    return map_get(&train->by_set, map_num_key(&num));
}

size_t train_unit_at(const struct train *train, const struct train_unit *unit) {
    size_t i = 0;

    while (train->units[i] != unit) {
        if (train->units[train->count - 1 - i] == unit)
            return train->count - 1 - i;
        i++;
    }
    return i;
}

void train_unit_doom(struct train *train, struct train_unit *unit,
                     enum train_doom doom, uint64_t about) {
    train->dooms += unit->doom == DOOM_NONE;
    unit->doom = doom;
    unit->doom_about = about;
}

bool train_unit_follows(const struct train_unit *unit,
                        const struct train_unit *other, bool *ret_dependency) {
    bool found = false;

    *ret_dependency = false;
    for (size_t i = 0; i < unit->follow_count; i++)
        if (unit->follows[i].num == other->num) {
            found = true;
            *ret_dependency |= unit->follows[i].dependency;
        }
    return found;
}

/* ---- outcomes ----------------------------------------------------------- */

static void outcome_clear(struct train_outcome *outcome) {
    free(outcome->reason);
    free(outcome->detail);
}

static size_t outcome_find(const struct train_unit *unit,
                           const struct train_tree *tree) {
    for (size_t i = unit->outcome_count; i > 0; i--)
        if (train_tree_equal(&unit->outcomes[i - 1].tree, tree))
            return i;
    return 0;
}

void train_unit_find_present(struct train_unit *unit) {
    unit->present = outcome_find(unit, &unit->tree);
}

bool train_unit_knows(const struct train_unit *unit,
                      const struct train_tree *tree) {
    return outcome_find(unit, tree) > 0 ||
           (unit->kind == CANDIDATE_TREE &&
            train_tree_equal(&unit->tree, tree));
}

void train_unit_ask_again(struct train_unit *unit,
                          const struct train_tree *tree) {
    size_t found = outcome_find(unit, tree);

    if (found > 0)
        unit->outcomes[found - 1].asked = unit->outcomes[found - 1].answered =
            false;
}

struct train_outcome *train_unit_outcome(struct train_unit *unit,
                                         const struct train_tree *tree) {
    size_t found = outcome_find(unit, tree);
    struct train_outcome *outcome;

    if (found > 0)
        return &unit->outcomes[found - 1];
    if (unit->outcome_count == OUTCOMES_MAX) {
        /* The oldest one; forgetting costs a run at most. */
        outcome_clear(&unit->outcomes[0]);
        memmove(&unit->outcomes[0], &unit->outcomes[1],
                (OUTCOMES_MAX - 1) * sizeof(*unit->outcomes));
        unit->outcome_count--;
    }
    unit->outcomes = mem_grow(unit->outcomes, unit->outcome_count + 1,
                              sizeof(*unit->outcomes));
    outcome = &unit->outcomes[unit->outcome_count++];
    *outcome = (struct train_outcome){.tree = *tree};
    train_unit_find_present(unit);
    return outcome;
}

const struct train_outcome *
train_unit_present_outcome(const struct train_unit *unit) {
    if (unit->kind != CANDIDATE_TREE || unit->present == 0)
        return NULL;
    return &unit->outcomes[unit->present - 1];
}

struct span train_unit_refusal(const struct train_unit *unit) {
    return unit->kind == CANDIDATE_CONFLICT ? SPAN("conflict") : SPAN("policy");
}

void train_unit_forget_failures(struct train_unit *unit) {
    for (size_t i = 0; i < unit->outcome_count; i++)
        unit->outcomes[i].fails = 0;
}

void train_unit_forget_reused(struct train_unit *unit) {
    for (size_t i = 0; i < unit->outcome_count; i++)
        if (unit->outcomes[i].reused)
            unit->outcomes[i].passed = unit->outcomes[i].reused = false;
}

void train_unit_forget_outcomes(struct train_unit *unit) {
    for (size_t i = 0; i < unit->outcome_count; i++)
        outcome_clear(&unit->outcomes[i]);
    unit->outcome_count = unit->present = 0;
}

/* ---- notes -------------------------------------------------------------- */

void train_note_add(struct train *train, enum train_note_kind kind,
                    uint64_t num, uint64_t about,
                    const struct train_tree *tree) {
    const struct train_unit *unit = train_unit_find(train, num);
    struct train_note_kept *kept;

    if (train->note_count == train->note_cap) {
        train->note_cap = train->note_cap > 0 ? 2 * train->note_cap : 64;
        train->notes =
            mem_grow(train->notes, train->note_cap, sizeof(*train->notes));
    }
    kept = &train->notes[train->note_count++];
    kept->note = (struct train_note){
        .kind = kind,
        .num = num,
        .about = about,
        .position = unit != NULL ? train_unit_at(train, unit) + 1 : 0};
    kept->tree = tree != NULL ? *tree : (struct train_tree){0};
}

void train_note_cause(struct train *train, enum train_note_kind kind,
                      uint64_t about) {
    train->cause = kind;
    train->cause_about = about;
    train->cause_serial++;
    train->dirty = true;
}

bool train_next_note(struct train *train, struct train_note *ret) {
    struct train_note_kept *kept;

    if (train->note_next == train->note_count) {
        train->note_next = train->note_count = 0;
        return false;
    }
    kept = &train->notes[train->note_next++];
    *ret = kept->note;
    ret->tree = train_tree_span(&kept->tree);
    return true;
}

const char *train_note_word(enum train_note_kind kind) {
    static const char *const words[] = {
#define TRAIN_NOTE(name, word) word,
#include "core/train_note.def"
#undef TRAIN_NOTE
    };
    return words[kind];
}
