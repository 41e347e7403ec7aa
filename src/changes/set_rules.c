#include "changes/set_rules.h"

#include <stdio.h>

#include "changes/approvals.h"
#include "changes/change_kind.h"
#include "landing/branch_note.h"
#include "landing/branch_tip.h"

void set_ruling(struct ruling_why *why, const char *word, const char *format,
                ...) {
    va_list args;
    va_start(args, format);
    why->word = word;
    vsnprintf(why->text, sizeof(why->text), format, args);
    va_end(args);
}

bool set_is_future(const struct set_name *name, struct wall now) {
    return wall_ms_since(name->tai, now) > FUTURE_MS;
}

const struct config_target *set_target(const struct config *config,
                                       struct span name) {
    if (name.len == 0)
        return config->target_count == 1 ? &config->targets[0] : NULL;
    const struct config_target *found = config_target(config, name);
    if (found)
        return found;
    for (size_t i = 0; i < config->target_count; i++) {
        const struct config_target *target = &config->targets[i];
        if (target->git.len == 0 || !span_equal(target->branch, name))
            continue;
        if (found)
            return NULL;
        found = target;
    }
    return found;
}

/* Only a branch that does not exist yet may be begun without a base. */
static bool lacks_base(const struct base *base,
                       const struct config_target *target,
                       const struct candidate *candidate) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    char oid[OID_BYTES];
    if (target->git.len == 0 || target->blind != BLIND_DENY ||
        candidate->name.class == SET_RB || candidate->meta.base.len > 0 ||
        candidate->meta.base_set.len > 0)
        return false;
    const char *git = base_resolve(base->path, target->git, &arena);
    return branch_tip_read(git, target->branch, oid) &&
           (oid[0] != '\0' ||
            branch_note_exists(
                base_resolve(base->path, SPAN(BASE_BRANCHES), &arena), git,
                target->branch));
}

/* A rollback of sets is judged when it starts, by whom its sets are. */
static bool may_run(const struct base *base, const struct config_target *target,
                    const struct candidate *candidate, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct span user;
    return candidate->name.class == SET_RB ||
           base_run_as_target(base, target, candidate->submitter.uid, &arena,
                              &user, err);
}

static void refuse_unknown(const struct config *config, struct span name,
                           struct ruling_why *why) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const char **names =
        arena_alloc(&arena, (config->target_count + 1) * sizeof(*names));
    for (size_t i = 0; i < config->target_count; i++)
        names[i] = arena_string(&arena, config->targets[i].name);
    const char *near =
        text_nearest(arena_string(&arena, name), names, config->target_count);
    set_ruling(why, "unknown-target",
               "no target '%.*s' is configured in " BASE_CONFIG "%s%s%s",
               (int)name.len, name.p, near != NULL ? "; did you mean '" : "",
               near != NULL ? near : "", near != NULL ? "'?" : "");
}

static bool target_allows(const struct base *base,
                          const struct candidate *candidate,
                          const struct config_target **ret_target,
                          struct ruling_why *why) {
    struct span name = candidate->meta.target;
    const struct config_target *target = set_target(&base->config, name);
    struct err err = {0};
    *ret_target = target;
    if (!target && name.len == 0)
        set_ruling(why, "unknown-target",
                   "it names no target, and " BASE_CONFIG
                   " has %zu of them; pack it again with --target",
                   base->config.target_count);
    else if (!target)
        refuse_unknown(&base->config, name, why);
    else if (candidate->meta.group.len > 0 && target->git.len == 0)
        set_ruling(why, "group-target",
                   "target '%.*s' is a command, which takes one set at a time: "
                   "sets can land together (##group) only on a branch",
                   (int)target->name.len, target->name.p);
    else if (candidate->has_symlinks && target->symlinks == SYMLINKS_DENY)
        set_ruling(why, refusal_word(REFUSAL_SYMLINK),
                   "it contains a symbolic link, which target '%.*s' denies "
                   "(symlinks = deny)",
                   (int)target->name.len, target->name.p);
    else if (lacks_base(base, target, candidate))
        set_ruling(why, "policy",
                   "it has no ##base, and target '%.*s' accepts only sets that "
                   "have one (blind = deny); pack it with --base-rev",
                   (int)target->name.len, target->name.p);
    else if (!may_run(base, target, candidate, &err))
        set_ruling(why, RULING_NO_ACCOUNT, "%s", err.text);
    else
        return true;
    return false;
}

static bool has_signature(const struct meta *meta) {
    for (size_t i = 0; i < meta->approval.count; i++)
        if (span_starts(meta->approval.items[i], "-----BEGIN SSH SIGNATURE"))
            return true;
    return false;
}

/* The name that `change pack` has written into the set. */
static bool names_itself_well(const struct candidate *candidate,
                              struct ruling_why *why) {
    const struct section *section =
        sections_find(&candidate->meta.sections, "set-name");
    struct refusal refusal = {0};
    struct set_name name;
    if (!section)
        return true;
    if (section->lines.count != 1)
        set_ruling(why, refusal_word(REFUSAL_BAD_NAME),
                   "##set-name is one line, not %zu", section->lines.count);
    else if (!set_name_parse(section->lines.items[0], &name, &refusal))
        set_ruling(why, refusal_word(refusal.kind), "##set-name: %s",
                   refusal.text);
    else
        return true;
    return false;
}

static bool can_be_done(const struct candidate *candidate,
                        struct ruling_why *why) {
    const struct section *closure =
        sections_find(&candidate->meta.sections, "closure");
    bool known = !closure || (closure->lines.count == 1 &&
                              (span_is(closure->lines.items[0], "deps") ||
                               span_is(closure->lines.items[0], "deps+files")));
    if (!known)
        set_ruling(why, "policy", "##closure is deps or deps+files");
    else if (has_signature(&candidate->meta))
        set_ruling(why, "policy",
                   "##approval holds a signature, but a tarball cannot contain "
                   "its own signature: submit it beside the tarball (`change "
                   "submit --approval`)");
    else
        return true;
    return false;
}

/* What depends on the old set depends on the new one then, so whoever may not
 * cancel the old one may not replace it either. */
static bool is_whose(const struct base *base,
                     const struct access_owner *submitter,
                     const struct job *old) {
    struct access_owner owner = {.uid = old->uid, .actor = old->actor};
    return access_owner_is_same(submitter, &owner) ||
           base_submitter_has_role(base, submitter, ACCESS_OPERATOR);
}

/* C1: only a set that failed, was cancelled or was abandoned may be
 * superseded, by its submitter or an operator. */
static bool may_supersede(const struct base *base,
                          const struct candidate *candidate, bool *ret_may,
                          struct ruling_why *why, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct span old = candidate->meta.supersedes;
    struct job job;
    bool known;
    *ret_may = true;
    if (old.len == 0)
        return true;
    if (!store_lookup(base->store, old, &arena, &job, &known, err))
        return false;
    *ret_may =
        known && job_state_is_final(job.state) && job.state != STATE_DONE;
    if (!*ret_may)
        set_ruling(why, "bad-supersedes", "it supersedes '%.*s', which is %s",
                   (int)old.len, old.p,
                   known ? job_state_word(job.state) : "not known here");
    else if (!is_whose(base, &candidate->submitter, &job)) {
        *ret_may = false;
        set_ruling(why, "bad-supersedes",
                   "it supersedes '%.*s', which somebody else submitted; that "
                   "needs the role operator",
                   (int)old.len, old.p);
    }
    return true;
}

static bool is_new(const struct base *base, const struct candidate *candidate,
                   enum ruling *ret_ruling, struct ruling_why *why,
                   struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct span id = candidate->name.csid;
    struct job job;
    bool known;
    *ret_ruling = RULING_ADMIT;
    if (!store_lookup(base->store, id, &arena, &job, &known, err))
        return false;
    if (!known)
        return true;
    bool is_same = job.kind == CHANGE_KIND &&
                   span_equal(job.sum, candidate->sum) &&
                   span_equal(job.name, candidate->name.text);
    /* One that arrived before was left by a crash after its admission. */
    if (is_same && (!job_state_is_final(job.state) ||
                    candidate->arrived.ns <= job.admitted.ns)) {
        *ret_ruling = RULING_AGAIN;
        return true;
    }
    *ret_ruling = RULING_REFUSE;
    set_ruling(why, "duplicate-csid",
               "the id '%.*s' belongs to a %s admitted before (%s), and ids "
               "are never reused: %s",
               (int)id.len, id.p, job_kind_word(job.kind),
               job_state_word(job.state),
               is_same ? "submit a new set with ##supersedes"
                       : "give the set another id");
    return true;
}

bool set_rule(const struct base *base, const struct candidate *candidate,
              struct wall now, enum ruling *ret_ruling,
              const struct config_target **ret_target, struct ruling_why *why,
              struct err *err) {
    struct refusal refusal = {0};
    bool may;
    *ret_target = NULL;
    if (!is_new(base, candidate, ret_ruling, why, err))
        return false;
    if (*ret_ruling != RULING_ADMIT)
        return true;
    *ret_ruling = RULING_REFUSE;
    if (!meta_match_name(&candidate->meta, &candidate->name, &refusal)) {
        set_ruling(why, refusal_word(refusal.kind), "%s", refusal.text);
        return true;
    }
    if (!names_itself_well(candidate, why) || !can_be_done(candidate, why) ||
        !target_allows(base, candidate, ret_target, why))
        return true;
    if (approvals_refuse(base, candidate, (*ret_target)->name, now, why))
        return true;
    if (!may_supersede(base, candidate, &may, why, err))
        return false;
    if (!may)
        return true;
    *ret_ruling = RULING_ADMIT;
    if (set_is_future(&candidate->name, now)) {
        *ret_ruling = RULING_WAIT;
        set_ruling(why, "future",
                   "the time in its name is more than %d s in the future",
                   FUTURE_MS / 1000);
    }
    return true;
}
