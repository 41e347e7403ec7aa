#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/log.h"
#include "os/dir.h"
#include "changes/approvals.h"
#include "changes/drop.h"
#include "changes/prequeue_entry.h"
#include "changes/projection_parts.h"
#include "changes/signers.h"
#include "wire/set_name.h"

/* The path of each entry of prequeue/: it is examined, its tarball is checked
 * in a child, it is judged, admitted with others in one transaction, and
 * removed. Everything known of an entry can be found out again, so that a crash
 * at any point costs a second look and nothing else. */

enum {
    ADMIT_AT_ONCE = 256,
    CHECKER_BUSY_MS = 500,
    REVIEW_MS = 5000,
    PATIENCE_MS = 10000
};

static const struct entry_kind *const *kinds;
static size_t kind_count;

void prequeue_kinds_use(const struct entry_kind *const *rows, size_t count) {
    kinds = rows;
    kind_count = count;
}

static void on_event(void *ctx, const struct store_event *event) {
    struct prequeue *prequeue = ctx;
    if (event->kind == EVENT_APPROVED)
        prequeue->review.new_approval = prequeue->due = true;
}

void prequeue_configure(struct prequeue *prequeue) {
    prequeue->review.new_approval = prequeue->review.policies = true;
    prequeue->reviewed = (struct wall){0};
}

struct prequeue *prequeue_new(struct base *base, struct checker *checker,
                              struct projection *projection) {
    struct prequeue *prequeue = mem_alloc(sizeof(*prequeue));
    prequeue->base = base;
    snprintf(prequeue->actor, sizeof(prequeue->actor), "daemon:%s",
             prequeue_role.name);
    prequeue->checker = checker;
    prequeue->projection = projection;
    prequeue_configure(prequeue);
    store_listen(base->store, on_event, prequeue);
    return prequeue;
}

static void entry_free(struct prequeue_entry *entry) {
    arena_clear(&entry->arena);
    free(entry->name);
    free(entry);
}

void prequeue_free(struct prequeue *prequeue) {
    size_t cursor = 0;
    struct span key;
    void *value;
    if (!prequeue)
        return;
    while (map_next(&prequeue->entries, &cursor, &key, &value)) {
        struct prequeue_entry *entry = value;
        /* The checker may still call back: it is freed after us, silently, but
         * its guard may be faster. */
        if (entry->kind->forget != NULL)
            entry->kind->forget(entry);
        entry_free(entry);
    }
    map_clear(&prequeue->entries);
    store_unlisten(prequeue->base->store, on_event, prequeue);
    free(prequeue);
}

struct prequeue_tally prequeue_tally(const struct prequeue *prequeue) {
    return prequeue->tally;
}

/* ---- admission ------------------------------------------------------- */

static bool has_changed(struct prequeue *prequeue,
                        struct prequeue_entry *entry) {
    struct stat st;
    bool there;
    return !dir_stat(prequeue->base->dirs[BASE_PREQUEUE], entry->name, &st,
                     &there, NULL) ||
           !there || st.st_ino != entry->st.st_ino ||
           st.st_size != entry->st.st_size;
}

static bool finish_admission(struct prequeue *prequeue,
                             struct prequeue_entry *entry, struct span id,
                             enum store_result result, struct err *err) {
    if (result != STORE_DONE) { /* judge again, it is known now */
        entry->state = ENTRY_NEW;
        prequeue->due = true;
        return true;
    }
    log_info("admitted '%s' job=%.*s", entry->name, (int)id.len, id.p);
    prequeue->tally.admitted++;
    return prequeue_entry_remove(prequeue, entry, err);
}

static bool admit(struct prequeue *prequeue, struct prequeue_entry **entries,
                  size_t count, struct err *err) {
    unsigned index[ADMIT_AT_ONCE];
    struct span ids[ADMIT_AT_ONCE];
    struct store_batch *batch = store_batch_new(prequeue->base->store);
    for (size_t i = 0; i < count; i++)
        index[i] = entries[i]->kind->add(prequeue, entries[i], batch, &ids[i]);
    bool ok = store_write(batch, err);
    /* The job files first: an entry is removed once the set is visible
     * elsewhere. */
    if (ok && prequeue->projection)
        ok = projection_pass(prequeue->projection, prequeue->now, err);
    for (size_t i = 0; ok && i < count; i++)
        ok = finish_admission(prequeue, entries[i], ids[i],
                              store_batch_result(batch, index[i]), err);
    store_batch_free(batch);
    return ok;
}

/* The last kind takes every name. */
static const struct entry_kind *kind_of(struct span name) {
    size_t i = 0;
    assert(kind_count > 0);
    while (i + 1 < kind_count && !kinds[i]->recognise(name))
        i++;
    return kinds[i];
}

/* ---- a scan ---------------------------------------------------------- */

static bool find_entries(struct prequeue *prequeue, struct arena *arena,
                         struct prequeue_entry ***ret_entries,
                         size_t *ret_count, struct err *err) {
    struct span *names;
    if (!dir_list(prequeue->base->dirs[BASE_PREQUEUE], arena, &names, ret_count,
                  err))
        return false;
    *ret_entries = arena_alloc(arena, (*ret_count + 1) * sizeof(void *));
    prequeue->any_apart = false;
    for (size_t i = 0; i < *ret_count; i++) {
        struct prequeue_entry *entry = map_get(&prequeue->entries, names[i]);
        if (!entry) {
            entry = mem_alloc(sizeof(*entry));
            entry->name = span_string(names[i]);
            entry->kind = kind_of(names[i]);
            entry->seen = prequeue->now;
            entry->prequeue = prequeue;
            map_put(&prequeue->entries, names[i], entry);
        }
        entry->here = true;
        prequeue->any_apart |= !entry->kind->comes_together;
        (*ret_entries)[i] = entry;
    }
    return true;
}

/* An error with one entry does not stop the others; the scan returns the
 * first. */
static void keep_first(struct err *first, bool ok, const struct err *err) {
    if (!ok && first->kind == ERR_NONE)
        *first = *err;
}

static void look_at_new(struct prequeue *prequeue,
                        struct prequeue_entry **entries, size_t count,
                        const struct entry_kind *kind, struct err *first) {
    for (size_t i = 0; i < count; i++) {
        struct err err = {0};
        struct prequeue_entry *entry = entries[i];
        if (entry->kind != kind)
            continue;
        if (entry->state == ENTRY_NEW || entry->state == ENTRY_WAITING)
            keep_first(first, prequeue_entry_look(prequeue, entry, &err), &err);
    }
}

static bool is_good(const struct prequeue_entry *entry) {
    return entry->state == ENTRY_CHECKED && !entry->not_now && !entry->is_bad &&
           entry->kind->comes_together;
}

/* Entries that are here together are admitted together: the queue orders them,
 * and the order must not depend on whose check ended first. A tarball that
 * takes long delays the others only for a while. */
static bool may_admit(const struct prequeue *prequeue,
                      struct prequeue_entry **entries, size_t count) {
    bool busy = false, late = false;
    for (size_t i = 0; i < count; i++) {
        struct prequeue_entry *entry = entries[i];
        int64_t since_ms;
        if (!entry->here || !entry->kind->comes_together)
            continue;
        busy |= entry->state == ENTRY_NEW || entry->state == ENTRY_CHECKING;
        if (!is_good(entry))
            continue;
        if (entry->checked.ns == 0)
            entry->checked = prequeue->now;
        since_ms = wall_ms_since(prequeue->now, entry->checked);
        late |= since_ms < 0 || since_ms >= PATIENCE_MS;
    }
    return !busy || late;
}

static void judge(struct prequeue *prequeue, struct prequeue_entry **entries,
                  size_t count, const struct entry_kind *kind,
                  struct err *first) {
    bool all = !kind->comes_together || may_admit(prequeue, entries, count);
    for (size_t i = 0; i < count; i++) {
        struct err err = {0};
        struct prequeue_entry *entry = entries[i];
        if (entry->kind != kind || !entry->here ||
            entry->state != ENTRY_CHECKED || (!all && is_good(entry)))
            continue;
        bool ok = has_changed(prequeue, entry)
                      ? prequeue_entry_look(prequeue, entry, &err)
                      : kind->admit(prequeue, entry, &err);
        keep_first(first, ok, &err);
    }
}

static void look_and_judge(struct prequeue *prequeue,
                           struct prequeue_entry **entries, size_t count,
                           const struct entry_kind *kind, struct err *first) {
    look_at_new(prequeue, entries, count, kind, first);
    judge(prequeue, entries, count, kind, first);
}

static void admit_ready(struct prequeue *prequeue,
                        struct prequeue_entry **entries, size_t count,
                        struct err *first) {
    struct prequeue_entry *ready[ADMIT_AT_ONCE];
    size_t ready_count = 0;
    for (size_t i = 0; i <= count; i++) {
        struct err err = {0};
        if (i < count && entries[i]->here && entries[i]->state == ENTRY_READY)
            ready[ready_count++] = entries[i];
        bool flush = ready_count == ADMIT_AT_ONCE || i == count;
        if (!flush || ready_count == 0)
            continue;
        keep_first(first, admit(prequeue, ready, ready_count, &err), &err);
        ready_count = 0;
    }
}

/* Removes entries that are gone, and what is known of those that stay. */
static void remove_gone_entries(struct prequeue *prequeue,
                                struct wall *ret_next) {
    size_t cursor = 0;
    struct span key;
    void *value;
    prequeue->tally.waiting = 0;
    *ret_next = WALL_NEVER;
    while (map_next(&prequeue->entries, &cursor, &key, &value)) {
        struct prequeue_entry *entry = value;
        bool here = entry->here;
        entry->here = false;
        if (!here && entry->state != ENTRY_CHECKING) {
            map_remove(&prequeue->entries, span_of(entry->name));
            entry_free(entry);
            continue;
        }
        /* Other users of the checker do not report when it is free. */
        if (entry->state == ENTRY_NEW || entry->state == ENTRY_CHECKED)
            entry->next = wall_add_ms(prequeue->now, CHECKER_BUSY_MS);
        else if (entry->state != ENTRY_WAITING)
            continue;
        prequeue->tally.waiting++;
        if (entry->next.ns < ret_next->ns)
            *ret_next = entry->next;
    }
}

/* When an approval expires, and after a new one, which may expire soon;
 * otherwise only now and then: scans may follow each other closely. */
static bool review(struct prequeue *prequeue, struct wall *next,
                   struct err *err) {
    struct approvals_review *review = &prequeue->review;
    int64_t since_ms = wall_ms_since(prequeue->now, prequeue->reviewed);
    bool ok = true;
    if (since_ms < 0 || since_ms >= REVIEW_MS || review->new_approval ||
        prequeue->now.ns >= review->next.ns ||
        signers_version(prequeue->base) != review->lists) {
        prequeue->reviewed = prequeue->now;
        ok = approvals_review(prequeue->base, prequeue->now,
                              span_of(prequeue->actor), review, err);
    }
    if (ok && review->next.ns > prequeue->now.ns && review->next.ns < next->ns)
        *next = review->next;
    return ok;
}

void prequeue_set_back(struct prequeue *prequeue, int64_t ms) {
    void *value;
    for (size_t at = 0; map_next(&prequeue->entries, &at, NULL, &value);) {
        struct prequeue_entry *entry = value;
        entry->next = wall_set_back(entry->next, ms);
        entry->seen = wall_set_back(entry->seen, ms);
        entry->checked = wall_set_back(entry->checked, ms);
    }
    prequeue->reviewed = wall_set_back(prequeue->reviewed, ms);
}

bool prequeue_scan(struct prequeue *prequeue, struct wall now,
                   struct wall *ret_next, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct prequeue_entry **entries;
    struct err first = {0};
    size_t count;
    *ret_next = WALL_NEVER;
    prequeue->now = now;
    if (!find_entries(prequeue, &arena, &entries, &count, err))
        return false;
    for (size_t i = 0; i < kind_count; i++)
        look_and_judge(prequeue, entries, count, kinds[i], &first);
    prequeue->due = false; /* verdicts that arrived meanwhile were judged */
    admit_ready(prequeue, entries, count, &first);
    remove_gone_entries(prequeue, ret_next);
    if (first.kind == ERR_NONE && !review(prequeue, ret_next, &first))
        log_error("cannot look for approvals that are due: %s", first.text);
    if (first.kind == ERR_NONE)
        return true;
    return err_set(err, first.kind, "%s", first.text);
}

bool prequeue_is_due(const struct prequeue *prequeue) {
    return prequeue->due;
}

bool prequeue_is_idle(const struct prequeue *prequeue) {
    size_t cursor = 0;
    struct span key;
    void *value;
    while (map_next(&prequeue->entries, &cursor, &key, &value)) {
        const struct prequeue_entry *entry = value;
        if (entry->state != ENTRY_WAITING && entry->state != ENTRY_STUCK)
            return false;
    }
    return !prequeue->due;
}

bool prequeue_has_rollback(const struct prequeue *prequeue) {
    size_t cursor = 0;
    struct span key;
    void *value;
    while (map_next(&prequeue->entries, &cursor, &key, &value)) {
        const struct prequeue_entry *entry = value;
        struct set_name name;
        struct refusal why;
        if (entry->state != ENTRY_WAITING && entry->state != ENTRY_STUCK &&
            set_name_parse(span_of(entry->name), &name, &why) &&
            name.class == SET_RB)
            return true;
    }
    return false;
}

static bool pass_alone(struct prequeue *prequeue, struct wall now,
                       struct err *err) {
    struct wall next;
    bool ok = true;
    do
        ok = prequeue_scan(prequeue, now, &next, err);
    while (ok && prequeue_is_due(prequeue));
    return ok && projection_finish(prequeue->projection, now, err);
}

bool prequeue_pass_alone(struct base *base, struct checker *given,
                         struct wall now, struct err *err) {
    struct err why = {0};
    int role = -1;
    if (!base_take_role(base, prequeue_role.name, LOCK_PID_BORROW, &role,
                        &why)) {
        if (why.kind != ERR_RUNNING)
            return err_set(err, why.kind, "%s", why.text);
        base_trigger(base, prequeue_role.name);
        return true;
    }
    struct projection *projection = projection_of_some(base);
    struct checker *own;
    struct checker *checker = checker_lent_or_own(base, given, &own);
    struct prequeue *prequeue = prequeue_new(base, checker, projection);
    prequeue->quiet = true; /* the submitter gets the answer */
    bool ok = pass_alone(prequeue, now, err);
    prequeue_free(prequeue);
    checker_free(own);
    projection_close(projection);
    base_give_role(base, prequeue_role.name, &role);
    return ok;
}
