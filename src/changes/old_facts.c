#include "changes/old_facts.h"

#include "core/reason.h"
#include "wire/approval_text.h"

/* Cuts at the first `words`. False: they are not in `text`. */
static bool cut_at(struct span text, const char *words, struct span *ret_before,
                   struct span *ret_after) {
    size_t len = strlen(words);
    const char *at = text.len ? memmem(text.p, text.len, words, len) : NULL;
    if (!at)
        return false;
    *ret_before = span_make(text.p, (size_t)(at - text.p));
    *ret_after = span_make(at + len, text.len - ret_before->len - len);
    return true;
}

/* "approval 'prod' is owed until 2026-11-21T19:20:21.123Z" */
static void read_admission(struct span detail, struct event_facts *facts) {
    struct span before, after;
    if (cut_at(detail, " is owed until ", &before, &after))
        (void)wall_parse(after, &facts->owed);
}

/* "C1, because of C2", or "C2" alone: rolled back for itself, or in effect
 * again. */
static void read_effect(const struct store_event *event,
                        struct event_facts *facts) {
    struct span by = event->detail, because = event->detail;
    (void)cut_at(event->detail, ", because of ", &by, &because);
    facts->because = because;
    if (span_is(event->reason, REASON_ROLLED_BACK))
        facts->rollback = by;
}

static void read_approval(const struct store_event *event,
                          struct event_facts *facts) {
    struct approval_note note;
    approval_note_parse(event->detail, &note);
    facts->way = event->reason;
    facts->key = note.key;
    facts->made = note.made;
    facts->until = note.until;
    facts->alias = note.alias;
    facts->ticket = note.ticket;
}

static void read_hold(struct span word, struct event_facts *facts) {
    for (unsigned bit = 1; bit <= HOLD_AMBIGUOUS; bit <<= 1)
        if (span_is(word, job_hold_word((enum job_hold)bit)))
            facts->holds = bit;
}

void old_facts_read(const struct store_event *event,
                    struct event_facts *ret_facts) {
    *ret_facts = (struct event_facts){0};
    if (event->kind == EVENT_HOLD || event->kind == EVENT_RELEASE) {
        read_hold(event->detail, ret_facts);
    } else if (event->kind == EVENT_APPROVED) {
        read_approval(event, ret_facts);
    } else if (event->kind == EVENT_ROLLED_BACK) {
        read_effect(event, ret_facts);
    } else if (event->kind == EVENT_OWED) {
        ret_facts->settled = span_is(event->reason, "settled");
        ret_facts->overdue = span_is(event->reason, "overdue");
    } else if (event->kind == EVENT_MOVE && event->from == STATE_NONE) {
        read_admission(event->detail, ret_facts);
    } else if (event->kind == EVENT_MOVE && event->to == STATE_ABANDONED) {
        ret_facts->rollback = event->detail;
    }
}
