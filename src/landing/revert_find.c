/* Finds the commits that put the members in effect (revert.h). The newest
 * commit that names a set decides: if it is the set's own or one that restored
 * the set, it is reverted; if it reverted the set, nothing is left to do. A
 * rollback may have several commits; they are consecutive, since one move of
 * the branch added them. */
#include <stdlib.h>
#include <string.h>

#include "landing/history.h"
#include "landing/revert_parts.h"
#include "wire/set_name.h"

enum looking { LOOKING, COLLECTING, FOUND, TAKEN_OUT };

struct wanted {
    const struct revert_member *member;
    enum looking looking;
    struct text by;       /* the set whose commits are being collected: "ID
                             SUM" */
    char next[OID_BYTES]; /* the next older one of these commits */
};

struct search {
    struct reverting *reverting;
    struct wanted *wanted;
    size_t count, open; /* open: those not FOUND or TAKEN_OUT */
};

static bool is_own(const struct history_commit *commit,
                   const struct revert_member *member) {
    return commit->sum.len > 0 && span_is(commit->csid, member->id) &&
           span_is(commit->sum, member->sum);
}

/* `in`: back in effect, else out of effect. */
static bool turns(const struct history_commit *commit, bool in,
                  const struct revert_member *member) {
    struct span rest = commit->trailers;
    struct history_effect effect;
    while (history_effect_next(&rest, &effect))
        if (effect.in == in &&
            history_effect_is_on(&effect, span_of(member->id),
                                 span_of(member->sum)))
            return true;
    return false;
}

static void maker_add(const struct history_commit *commit, struct text *out) {
    text_addspan(out, commit->csid);
    text_addc(out, ' ');
    text_addspan(out, commit->sum);
}

static bool is_made_by(const struct history_commit *commit, struct span by) {
    CLEANUP(text_clear) struct text maker = TEXT_INIT;
    maker_add(commit, &maker);
    return span_equal(text_span(&maker), by);
}

static void finish(struct search *search, struct wanted *wanted,
                   enum looking how) {
    wanted->looking = how;
    search->open--;
}

static void look(struct search *search, struct wanted *wanted,
                 const struct history_commit *commit) {
    const struct revert_member *member = wanted->member;
    bool puts_in = is_own(commit, member) || turns(commit, true, member);
    if (wanted->looking == COLLECTING) {
        /* Commits of a merged branch may lie in between. */
        if (strcmp(commit->oid, wanted->next) != 0)
            return;
        if (!is_made_by(commit, text_span(&wanted->by)))
            finish(search, wanted, FOUND);
    }
    if (wanted->looking == FOUND || wanted->looking == TAKEN_OUT)
        return;
    if (puts_in && wanted->looking == LOOKING) {
        wanted->looking = COLLECTING;
        maker_add(commit, &wanted->by);
    } else if (wanted->looking == LOOKING && turns(commit, false, member)) {
        finish(search, wanted, TAKEN_OUT);
    }
    if (wanted->looking == COLLECTING)
        memcpy(wanted->next, commit->parent, OID_BYTES);
    if (wanted->looking == COLLECTING && puts_in)
        revert_step_add(search->reverting->steps, member, REVERT_UNTRIED,
                        commit->oid);
}

static bool visit(void *ctx, const struct history_commit *commit) {
    struct search *search = ctx;
    for (size_t i = 0; i < search->count; i++)
        look(search, &search->wanted[i], commit);
    return search->open > 0;
}

static bool is_rollback(const struct revert_member *member) {
    return member->class != NULL &&
           strcmp(member->class, set_class_name(SET_RB)) == 0;
}

/* Sets the results that are known only after the whole walk. */
static bool conclude(struct reverting *reverting, struct wanted *wanted) {
    const struct revert_member *member = wanted->member;
    CLEANUP(text_clear) struct text why = TEXT_INIT;
    switch (wanted->looking) {
    case COLLECTING:
    case FOUND:
        return true;
    case TAKEN_OUT:
        fprintf(reverting->account, "%s is rolled back already\n", member->id);
        revert_step_add(reverting->steps, member, REVERT_OUT, "");
        return true;
    case LOOKING:
        break;
    }
    if (is_rollback(member)) {
        fprintf(reverting->account, "%s had nothing to do\n", member->id);
        revert_step_add(reverting->steps, member, REVERT_EMPTY, "");
        return true;
    }
    revert_step_add(reverting->steps, member, REVERT_ABSENT, "");
    text_addf(&why,
              "the commit of %s is not on branch '%s' any more; was its "
              "history rewritten?",
              member->id, reverting->start->branch);
    return revert_finish(reverting, LAND_FAILED, "rb-absent", text_span(&why));
}

bool revert_find(struct reverting *reverting, struct err *err) {
    const struct revert_start *start = reverting->start;
    struct search search = {.reverting = reverting,
                            .count = start->member_count,
                            .open = start->member_count};
    search.wanted = mem_alloc((search.count + 1) * sizeof *search.wanted);
    for (size_t i = 0; i < search.count; i++)
        search.wanted[i] = (struct wanted){.member = &start->members[i]};
    reverting->steps->count = 0;
    bool ok =
        reverting->tip[0] == '\0' ||
        history_walk(&reverting->git, reverting->tip, visit, &search, err);
    for (size_t i = 0; i < search.count; i++) {
        ok = ok && conclude(reverting, &search.wanted[i]);
        text_clear(&search.wanted[i].by);
    }
    free(search.wanted);
    return ok;
}
