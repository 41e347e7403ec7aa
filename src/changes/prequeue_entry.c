#include "changes/prequeue_entry.h"

#include <errno.h>
#include <stdio.h>

#include "lib/log.h"
#include "os/dir.h"

/* Steps common to entries of any kind: they are examined, kept waiting, or
 * rejected with a line that gives the reason. */

enum { RETRY_MS = 5000 };

/* ---- rejecting ------------------------------------------------------- */

static bool note_reject(struct prequeue *prequeue,
                        const struct prequeue_entry *entry, const char *word,
                        const char *sentence, struct err *err) {
    struct store_batch *batch = store_batch_new(prequeue->base->store);
    CLEANUP(text_clear) struct text id = TEXT_INIT;
    text_addescaped(&id, span_of(entry->name));
    store_batch_actor(batch, prequeue->now, span_of(prequeue->actor));
    /* The rejection of an approval belongs to the history of its set. */
    store_note(batch, EVENT_REJECT, entry->about,
               entry->about ? SPAN("") : text_span(&id), span_of(word),
               span_of(sentence));
    bool ok = store_write(batch, err);
    store_batch_free(batch);
    return ok;
}

bool prequeue_entry_reject(struct prequeue *prequeue,
                           struct prequeue_entry *entry, const char *word,
                           const char *sentence, struct err *err) {
    struct err why = {0};
    if (!entry->kind->reject(prequeue, entry, word, sentence, &why)) {
        if (why.kind == ERR_TEMPORARY || why.sys == EIO) {
            entry->state = ENTRY_WAITING;
            entry->next = wall_add_ms(prequeue->now, RETRY_MS);
            return err_set(err, why.kind, "cannot reject '%s': %s", entry->name,
                           why.text);
        }
        entry->state = ENTRY_STUCK;
        log_error("cannot move '%s' from prequeue/ to reject/, remove it by "
                  "hand (%s: %s): %s",
                  entry->name, word, sentence, why.text);
        return true;
    }
    if (!prequeue->quiet)
        log_warning("rejected '%s': %s: %s", entry->name, word, sentence);
    prequeue->tally.rejected++;
    entry->here = false;
    return note_reject(prequeue, entry, word, sentence, err);
}

/* ---- admitted -------------------------------------------------------- */

bool prequeue_entry_remove(struct prequeue *prequeue,
                           struct prequeue_entry *entry, struct err *err) {
    entry->here = false;
    return dir_remove(prequeue->base->dirs[BASE_PREQUEUE], entry->name, NULL,
                      err);
}

/* ---- waiting --------------------------------------------------------- */

struct wall prequeue_entry_arrived(const struct prequeue_entry *entry) {
    return (struct wall){entry->st.st_ctim.tv_sec * NS_PER_S +
                         entry->st.st_ctim.tv_nsec};
}

static struct wall deadline(const struct prequeue *prequeue,
                            const struct prequeue_entry *entry) {
    struct wall arrived = prequeue_entry_arrived(entry);
    if (arrived.ns > prequeue->now.ns) /* the clock was set back since */
        arrived = entry->seen;
    return wall_add_ms(arrived,
                       prequeue->base->config.queue.wait_for_job_s * 1000);
}

bool prequeue_entry_wait(struct prequeue *prequeue,
                         struct prequeue_entry *entry, const char *word,
                         const char *sentence, struct err *err) {
    struct wall end = deadline(prequeue, entry);
    if (prequeue->now.ns >= end.ns)
        return prequeue_entry_reject(prequeue, entry, word, sentence, err);
    entry->state = ENTRY_WAITING;
    entry->next = end;
    return true;
}

/* ---- the first look -------------------------------------------------- */

bool prequeue_entry_look(struct prequeue *prequeue,
                         struct prequeue_entry *entry, struct err *err) {
    struct stat before = entry->st;
    bool there;
    if (!dir_stat(prequeue->base->dirs[BASE_PREQUEUE], entry->name, &entry->st,
                  &there, err))
        return false;
    if (!there) {
        entry->here = false;
        return true;
    }
    return entry->kind->check(prequeue, entry, &before, err);
}
