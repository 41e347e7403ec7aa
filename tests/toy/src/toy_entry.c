#include "toy/toy_entry.h"

#include "changes/placement.h"
#include "core/reason.h"
#include "toy/toy_admit.h"

static const char prefix[] = "toy_";

static bool is_toy(struct span name) {
    return span_starts(name, prefix);
}

static struct span name_of(const struct prequeue_entry *entry) {
    return span_of(entry->name + sizeof(prefix) - 1);
}

static bool check_toy(struct prequeue *prequeue, struct prequeue_entry *entry,
                      const struct stat *before, struct err *err) {
    struct err why = {0};
    (void)before;
    arena_clear(&entry->arena);
    if (!S_ISREG(entry->st.st_mode) || entry->st.st_size > 0)
        return prequeue_entry_reject(prequeue, entry, "not-empty",
                                     "a toy is an empty file", err);
    if (!toy_name_check(name_of(entry), &why))
        return prequeue_entry_reject(prequeue, entry, "bad-name", why.text,
                                     err);
    entry->state = ENTRY_CHECKED;
    return true;
}

static bool admit_toy(struct prequeue *prequeue, struct prequeue_entry *entry,
                      struct err *err) {
    struct job job;
    bool known;
    if (!store_lookup(prequeue->base->store,
                      toy_id(name_of(entry), &entry->arena), &entry->arena,
                      &job, &known, err))
        return false;
    if (known)
        return prequeue_entry_reject(prequeue, entry, "known",
                                     "the toy has been wound up already", err);
    entry->state = ENTRY_READY;
    return true;
}

static unsigned add_toy(struct prequeue *prequeue, struct prequeue_entry *entry,
                        struct store_batch *batch, struct span *ret_id) {
    struct span name = name_of(entry);
    struct origin origin = {
        .now = prequeue->now,
        .uid = entry->st.st_uid,
        .actor = span_of(
            arena_printf(&entry->arena, "uid:%ld", (long)entry->st.st_uid)),
        .cause = SPAN(CAUSE_PERSON),
        .host = span_of(prequeue->base->host),
    };
    store_batch_actor(batch, origin.now, origin.actor);
    *ret_id = toy_id(name, &entry->arena);
    return toy_admit(batch, name, &origin);
}

static bool reject_toy(struct prequeue *prequeue, struct prequeue_entry *entry,
                       const char *word, const char *sentence,
                       struct err *err) {
    struct base *base = prequeue->base;
    return placement_reject(base, base->dirs[BASE_PREQUEUE], entry->name, word,
                            sentence, err);
}

const struct entry_kind toy_entry_kind = {
    .recognise = is_toy,
    .check = check_toy,
    .admit = admit_toy,
    .add = add_toy,
    .reject = reject_toy,
};
