#include "changes/approvals.h"

#include "lib/log.h"
#include "os/account.h"
#include "os/dir.h"
#include "base/instance.h"
#include "changes/facts.h"
#include "changes/policies.h"
#include "changes/policy_config.h"
#include "changes/signers.h"
#include "wire/meta.h"
#include "wire/set_spec.h"

static void policies_add(struct policies *policies, struct span name,
                         struct span because) {
    static const struct span operators = {"operator", 8};
    policies->items[policies->count++] =
        (struct approval_policy){.name = name,
                                 .classes = job_classes_with(JOB_ROLLS_BACK),
                                 .roles = {&operators, 1},
                                 .count = 1,
                                 .because = because};
}

/* Adds the policy for what an operator must approve (A3): a rollback, unless an
 * operator submitted it, and a limit above the configured one, whoever
 * submitted it. */
static void policies_add_own(struct policies *policies, const struct base *base,
                             const struct job *job, const struct meta *meta) {
    if (!job_has(job, JOB_ROLLS_BACK))
        return;
    if (meta->rb_limit > (uint64_t)base->config.queue.rollback_max) {
        policies_add(policies, SPAN("rb-limit"),
                     SPAN("it asks for a limit above rollback-max"));
        return;
    }
    struct access_owner submitter = {.uid = job->uid, .actor = job->actor};
    if (!base_submitter_has_role(base, &submitter, ACCESS_OPERATOR))
        policies_add(policies, SPAN("rollback"),
                     SPAN("its submitter is no operator"));
}

/* The set's own metadata, which is part of the submission. */
static bool meta_of(const struct job *job, struct arena *arena,
                    struct meta *ret_meta) {
    struct span text;
    struct refusal why = {0};
    struct path_limits widest = {4096, 255, 1024};
    return set_spec_meta(job->spec, arena, &text) &&
           meta_parse(text, &widest, arena, ret_meta, &why);
}

/* "user:bob@host" for "Bob <bob@host>". */
static struct span author_of(const struct meta *meta, struct arena *arena) {
    struct span rest = meta->author, mail = {0};
    if (!span_cut(&rest, '<', &mail) || !span_cut(&rest, '>', &mail))
        return (struct span){0};
    return span_of(arena_printf(arena, "user:%.*s", (int)mail.len, mail.p));
}

/* ---- admission ----------------------------------------------------------- */

static bool has_links(const struct base *base, struct span target) {
    const struct config_target *found = config_target(&base->config, target);
    return found == NULL || found->symlinks == SYMLINKS_ALLOW;
}

static struct approval_subject subject_of_new(const struct base *base,
                                              const struct candidate *candidate,
                                              struct span target,
                                              const struct policies *policies,
                                              struct arena *arena) {
    const struct meta *meta = &candidate->meta;
    size_t files = meta->files.count, deleted = meta->deleted.count;
    struct job_touch *touches =
        arena_alloc(arena, (files + deleted + 1) * sizeof(*touches));
    for (size_t i = 0; i < files; i++)
        touches[i].path = meta->files.items[i];
    for (size_t i = 0; i < deleted; i++)
        touches[files + i].path = meta->deleted.items[i];
    return (struct approval_subject){
        .job_class = (enum job_class)candidate->name.class,
        .target = target,
        .author = author_of(meta, arena),
        .persons = policies->persons,
        .person_count = policies->person_count,
        .keys = policies->keys,
        .key_count = policies->key_count,
        .fault = policies->fault,
        .touches = touches,
        .touch_count = files + deleted,
        .has_links = has_links(base, target),
        .tickets = meta->approval.items,
        .ticket_count = meta->approval.count,
    };
}

bool approvals_refuse(const struct base *base,
                      const struct candidate *candidate, struct span target,
                      struct wall now, struct ruling_why *why) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct policies policies;
    policies_read(base, &arena, &policies);
    /* While nobody can tell who is who, the set is held instead. */
    if (policies.count == 0 || policies.fault != NULL ||
        candidate->unread_approvals)
        return false;
    struct approval_subject subject =
        subject_of_new(base, candidate, target, &policies, &arena);
    struct approval_given *given =
        arena_alloc(&arena, (candidate->given_count + 1) * sizeof(*given));
    for (size_t i = 0; i < candidate->given_count; i++) {
        given[i] = candidate->given[i];
        policies_set_groups(&policies, &given[i], &arena);
    }
    struct approval_verdict verdict =
        approval_judge(policies.items, policies.count, &subject, given,
                       candidate->given_count, now);
    if (verdict.outcome != APPROVAL_REFUSE)
        return false;
    approval_describe(&verdict, &text);
    set_ruling(why, "unapproved",
               "%s; this policy refuses sets that come without their "
               "approvals: submit it with --approval FILE",
               text_string(&text));
    return true;
}

struct seek {
    struct span csid;
    bool found;
};

static bool seek_approval(void *ctx, struct span name) {
    struct seek *seek = ctx;
    struct span csid;
    seek->found =
        approval_entry_parse(name, &csid) && span_equal(csid, seek->csid);
    return !seek->found;
}

bool approvals_wait(const struct base *base, struct span csid) {
    struct seek seek = {.csid = csid};
    return dir_each(base->dirs[BASE_PREQUEUE], seek_approval, &seek, NULL) &&
           seek.found;
}

static struct span alias_of_person(const struct base *base, struct span actor,
                                   struct arena *arena) {
    struct span person = access_actor_person_of(actor);
    return person.len > 0 ? approvals_alias(base, person, arena)
                          : (struct span){0};
}

static struct approval_subject
subject_of(const struct base *base, const struct job *job,
           const struct meta *meta, const struct job_touch *touches,
           size_t touch_count, const struct policies *policies,
           struct arena *arena) {
    return (struct approval_subject){
        .job_class = job->job_class,
        .target = job->target,
        .submitter = access_actor_name(job->actor),
        .submitter_alias = alias_of_person(base, job->actor, arena),
        .author = author_of(meta, arena),
        .persons = policies->persons,
        .person_count = policies->person_count,
        .keys = policies->keys,
        .key_count = policies->key_count,
        .fault = policies->fault,
        .touches = touches,
        .touch_count = touch_count,
        .has_links = has_links(base, job->target),
        .tickets = meta->approval.items,
        .ticket_count = meta->approval.count,
    };
}

static void add_owed(struct text *text, const struct approval_policy *policy,
                     struct wall owed) {
    char until[WALL_TEXT_BYTES];
    text_addf(text, "%sapproval '%.*s' is owed until %s",
              text->len > 0 ? "; " : "", (int)policy->name.len, policy->name.p,
              wall_format(owed, until));
}

void approvals_admit(const struct base *base, struct set_record *record,
                     struct wall now, struct arena *arena) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct job *job = &record->job;
    struct policies policies;
    struct meta meta;
    if (!meta_of(job, arena, &meta))
        return;
    policies_read(base, arena, &policies);
    policies_add_own(&policies, base, job, &meta);
    struct approval_subject subject =
        subject_of(base, job, &meta, record->touches, record->touch_count,
                   &policies, arena);
    struct approval_verdict verdict =
        approval_judge(policies.items, policies.count, &subject, NULL, 0, now);
    if (verdict.outcome < APPROVAL_LATE)
        return;
    if (verdict.outcome > APPROVAL_LATE) {
        approval_describe(&verdict, &text);
        job->holds |= HOLD_APPROVAL;
    }
    if (verdict.owed) {
        job->owed = wall_add_ms(now, verdict.owed->within_ms);
        add_owed(&text, verdict.owed, job->owed);
    }
    job->detail = arena_span(arena, text_span(&text));
}

/* ---- in the registry ----------------------------------------------------- */

/* How an approval was given: event_facts.way, and the event's reason. */
static const char way_person[] = "person", way_operator[] = "operator",
                  way_signature[] = "signature";

static struct approval_given given_of(const struct store_event *event,
                                      struct arena *arena) {
    struct event_facts facts = facts_of(event, arena);
    return (struct approval_given){
        .who = access_actor_name(event->actor),
        .alias = facts.alias,
        .key = facts.key,
        .authority = facts.authority,
        .is_operator = span_is(facts.way, way_operator),
        .is_signed = span_is(facts.way, way_signature),
        .ticket = facts.ticket,
        .at = facts.made.ns > 0 ? facts.made : event->at,
        .until = facts.until,
    };
}

/* An approval counts only as long as who gave it could give it again: with the
 * key, or in the role that [access] gives now. `actor`: who gave it, as
 * recorded.
 */
static void judge_again(const struct base *base,
                        const struct policies *policies, struct span actor,
                        struct approval_given *given) {
    struct access_owner giver;
    bool known = access_owner_parse(actor, &giver);
    if (given->is_signed) {
        given->is_withdrawn = !signers_allow(policies, given);
        return;
    }
    given->is_withdrawn =
        !known || !base_submitter_has_role(base, &giver, ACCESS_SUBMITTER);
    given->is_operator &=
        known && base_submitter_has_role(base, &giver, ACCESS_OPERATOR);
}

/* `ret_actors`: who gave each, as the events say; NULL: not wanted. */
static bool read_given(const struct base *base, struct store *store,
                       const struct job *job, const struct approval_given *more,
                       const struct policies *policies, struct arena *arena,
                       struct approval_given **ret_given,
                       struct span **ret_actors, size_t *ret_count,
                       struct err *err) {
    struct store_event *events;
    size_t count;
    if (!store_events(store, 0, job->num, 0, arena, &events, &count, err))
        return false;
    *ret_given = arena_alloc(arena, (count + 1) * sizeof(**ret_given));
    struct span *actors = arena_alloc(arena, (count + 1) * sizeof(*actors));
    *ret_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (events[i].kind != EVENT_APPROVED)
            continue;
        actors[*ret_count] = events[i].actor;
        (*ret_given)[(*ret_count)++] = given_of(&events[i], arena);
    }
    if (more) {
        actors[*ret_count] = more->who;
        (*ret_given)[(*ret_count)++] = *more;
    }
    if (ret_actors != NULL)
        *ret_actors = actors;
    for (size_t i = 0; i < *ret_count; i++) {
        struct approval_given *given = &(*ret_given)[i];
        judge_again(base, policies, actors[i], given);
        policies_set_groups(policies, given, arena);
    }
    return true;
}

static bool no_meta(const struct job *job, struct err *err) {
    return err_set(err, ERR_DATA, "the registry has no meta for set '%.*s'",
                   (int)job->id.len, job->id.p);
}

/* Each policy of which the approval is owed has its own time, counted from the
 * admission. */
static void read_owed(const struct job *job, const struct policies *policies,
                      const struct approval_subject *subject,
                      const struct approval_given *given, size_t given_count,
                      struct wall now, struct arena *arena,
                      struct approval_state *state) {
    state->owed = arena_alloc(arena, policies->count * sizeof(*state->owed));
    for (size_t i = 0; i < policies->count; i++) {
        struct approval_verdict one = approval_judge(
            &policies->items[i], 1, subject, given, given_count, now);
        if (one.owed != NULL)
            state->owed[state->owed_count++] = (struct approval_owed){
                one, wall_add_ms(job->admitted, one.owed->within_ms)};
    }
}

/* `policies` are those of the configuration; the copy gets the one that this
 * job needs besides. */
static bool read_state(const struct base *base, struct store *store,
                       const struct job *job, const struct approval_given *more,
                       struct policies policies, struct wall now,
                       struct arena *arena, struct approval_state *ret_state,
                       struct err *err) {
    struct meta meta = {0};
    struct job_touch *touches;
    struct approval_given *given;
    size_t touch_count, given_count;
    *ret_state = (struct approval_state){0};
    if (!store_touches(store, job->num, arena, &touches, &touch_count, err) ||
        !read_given(base, store, job, more, &policies, arena, &given, NULL,
                    &given_count, err))
        return false;
    if (!meta_of(job, arena, &meta))
        return no_meta(job, err);
    policies_add_own(&policies, base, job, &meta);
    const struct approval_policy *items = policies.items;
    size_t count = policies.count;
    struct approval_subject subject =
        subject_of(base, job, &meta, touches, touch_count, &policies, arena);
    ret_state->verdict =
        approval_judge(items, count, &subject, given, given_count, now);
    ret_state->ends = approval_ends(items, count, given, given_count, now);
    if (ret_state->verdict.owed != NULL)
        read_owed(job, &policies, &subject, given, given_count, now, arena,
                  ret_state);
    if (!more)
        return true;
    more = &given[given_count - 1]; /* with its groups */
    ret_state->own = approval_is_own(&subject, more);
    ret_state->lack = approval_lacks(items, count, &subject, more, now);
    ret_state->said = approval_is_repeat(items, count, &subject, given,
                                         given_count - 1, more, now);
    return true;
}

bool approvals_read(const struct base *base, struct store *store,
                    const struct job *job, const struct approval_given *more,
                    struct wall now, struct arena *arena,
                    struct approval_state *ret_state, struct err *err) {
    struct policies policies;
    policies_read(base, arena, &policies);
    return read_state(base, store, job, more, policies, now, arena, ret_state,
                      err);
}

bool approvals_counted(const struct base *base, struct store *store,
                       uint64_t num, struct wall now, struct arena *arena,
                       const struct span **ret_actors, size_t *ret_count,
                       struct err *err) {
    struct policies policies;
    struct job job;
    struct meta meta = {0};
    struct job_touch *touches;
    struct approval_given *given;
    struct span *actors;
    size_t touch_count, given_count;
    policies_read(base, arena, &policies);
    if (!store_job(store, num, arena, &job, err) ||
        !store_touches(store, num, arena, &touches, &touch_count, err) ||
        !read_given(base, store, &job, NULL, &policies, arena, &given, &actors,
                    &given_count, err))
        return false;
    if (!meta_of(&job, arena, &meta))
        return no_meta(&job, err);
    policies_add_own(&policies, base, &job, &meta);
    struct approval_subject subject =
        subject_of(base, &job, &meta, touches, touch_count, &policies, arena);
    *ret_actors = actors;
    *ret_count = 0;
    for (size_t i = 0; i < given_count; i++)
        if (approval_counts(policies.items, policies.count, &subject, &given[i],
                            now) &&
            !span_is_among(actors[i], actors, *ret_count))
            actors[(*ret_count)++] = actors[i];
    return true;
}

const char *approvals_fault(const struct base *base, struct arena *arena) {
    struct policies policies;
    policies_read(base, arena, &policies);
    return policies.fault;
}

bool approvals_may(const struct job *job, const struct approval_given *word,
                   const struct approval_state *state, struct err *err) {
    int id_len = (int)job->id.len, who_len = (int)word->who.len;
    const char *id = job->id.p, *who = word->who.p;
    if (job_state_is_final(job->state) && job->state != STATE_DONE)
        return err_set(err, ERR_REFUSED, "job '%.*s' has ended already: %s",
                       id_len, id, job_state_word(job->state));
    if (state->verdict.outcome == APPROVAL_FREE)
        return err_set(err, ERR_REFUSED,
                       "no policy asks for an approval of '%.*s'", id_len, id);
    if (state->verdict.fault != NULL)
        return err_set(err, ERR_UNAVAILABLE, "no approval counts: %s",
                       state->verdict.fault);
    if (state->own && !span_equal(word->who, access_actor_name(job->actor)))
        return err_set(err, ERR_DENIED,
                       "%.*s is the person who submitted or wrote '%.*s': "
                       "somebody else must approve it",
                       who_len, who, id_len, id);
    if (state->own)
        return err_set(err, ERR_DENIED,
                       "'%.*s' is your own set: somebody else must approve it",
                       id_len, id);
    switch (state->lack) {
    case APPROVAL_LACKS_NOTHING:
        return true;
    case APPROVAL_LACKS_TIME:
        return err_set(err, ERR_DENIED,
                       "the approval of '%.*s' by %.*s is too old: it has "
                       "expired",
                       id_len, id, who_len, who);
    case APPROVAL_LACKS_SIGNATURE:
        return err_set(err, ERR_DENIED,
                       "only signed approvals of '%.*s' count: approve it with "
                       "--sign-with KEY",
                       id_len, id);
    case APPROVAL_LACKS_ROLE:
        break;
    }
    return err_set(err, ERR_DENIED,
                   "%.*s has no role that may approve '%.*s'; `pointsman why "
                   "%.*s` says who has",
                   who_len, who, id_len, id, id_len, id);
}

/* Nothing is owed any more, or only what has more time. */
static void give_owed(struct store_batch *batch, const struct job *job,
                      const struct approval_policy *owed) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    if (owed == NULL) {
        store_owe(batch, job->num, (struct wall){0}, SPAN("settled"),
                  SPAN("approved"));
        return;
    }
    struct wall until = wall_add_ms(job->admitted, owed->within_ms);
    if (until.ns <= job->owed.ns)
        return;
    add_owed(&text, owed, until);
    store_owe(batch, job->num, until, SPAN("next"), text_span(&text));
}

void approvals_give(struct store_batch *batch, const struct job *job,
                    const struct approval_given *word,
                    const struct approval_state *state, struct span because) {
    CLEANUP(text_clear) struct text detail = TEXT_INIT;
    struct approval_note note = {.key = word->key,
                                 .until = word->until,
                                 .alias = word->alias,
                                 .ticket = word->ticket};
    const char *way = word->is_signed     ? way_signature
                      : word->is_operator ? way_operator
                                          : way_person;
    if (word->is_signed)
        note.made = word->at;
    approval_note_format(&note, &detail);
    store_note(batch, EVENT_APPROVED, job->num, SPAN(""), span_of(way),
               text_span(&detail));
    store_note_facts(batch, &(struct event_facts){.way = span_of(way),
                                                  .key = note.key,
                                                  .authority = word->authority,
                                                  .made = note.made,
                                                  .until = note.until,
                                                  .alias = note.alias,
                                                  .ticket = note.ticket});
    if ((job->holds & HOLD_APPROVAL) && state->verdict.outcome <= APPROVAL_LATE)
        store_release(batch, job->num, HOLD_APPROVAL,
                      because.len > 0 ? because : SPAN("approved"));
    if (job->owed.ns > 0)
        give_owed(batch, job, state->verdict.owed);
}

/* ---- what is signed ------------------------------------------------------ */

bool approvals_text(const struct base *base, const struct job *job,
                    struct arena *arena, struct approval_text *ret_text,
                    struct err *err) {
    struct meta meta = {0};
    *ret_text = (struct approval_text){
        .csid = job->id, .sum = job->sum, .target = job->target};
    if (!instance_read(base, arena, &ret_text->instance, err))
        return false;
    if (!meta_of(job, arena, &meta))
        return no_meta(job, err);
    ret_text->base = meta.base.len > 0 ? meta.base : SPAN("none");
    return true;
}

bool approvals_text_of(const struct base *base,
                       const struct candidate *candidate, struct span target,
                       struct arena *arena, struct approval_text *ret_text,
                       struct err *err) {
    *ret_text = (struct approval_text){.csid = candidate->name.csid,
                                       .sum = candidate->sum,
                                       .target = target,
                                       .base = candidate->meta.base.len > 0
                                                   ? candidate->meta.base
                                                   : SPAN("none")};
    return instance_read(base, arena, &ret_text->instance, err);
}

static bool differs(struct ruling_why *why, const char *word, const char *what,
                    struct span ours, struct span theirs) {
    set_ruling(why, word, "it is for %s %.*s, not %.*s", what, (int)theirs.len,
               theirs.p, (int)ours.len, ours.p);
    return false;
}

bool approvals_match(const struct approval_text *ours,
                     const struct approval_text *given,
                     struct ruling_why *why) {
    if (!span_equal(ours->instance, given->instance))
        return differs(why, "other-instance", "the installation",
                       ours->instance, given->instance);
    if (!span_equal(ours->csid, given->csid))
        return differs(why, "other-set", "the set", ours->csid, given->csid);
    if (!span_equal(ours->sum, given->sum))
        return differs(why, "other-content", "a tarball with the checksum",
                       ours->sum, given->sum);
    if (!span_equal(ours->target, given->target))
        return differs(why, "other-target", "the target", ours->target,
                       given->target);
    return span_equal(ours->base, given->base) ||
           differs(why, "other-base", "a set based on", ours->base,
                   given->base);
}

bool approvals_in_time(const struct approval_text *given, struct wall now,
                       struct ruling_why *why) {
    char when[WALL_TEXT_BYTES];
    if (given->expires.ns > 0 && now.ns >= given->expires.ns)
        set_ruling(why, "expired", "it expired at %s",
                   wall_format(given->expires, when));
    else if (wall_ms_since(given->made, now) > FUTURE_MS)
        set_ruling(why, "future", "its date is in the future: %s",
                   wall_format(given->made, when));
    else
        return true;
    return false;
}

static bool is_in_access(const struct base *base, struct span person) {
    for (size_t i = 0; i < base->access.grant_count; i++)
        if (base->access.grants[i].who == ACCESS_PERSON &&
            span_equal(access_actor_person_of(base->access.grants[i].name),
                       person))
            return true;
    return false;
}

struct span approvals_alias(const struct base *base, struct span name,
                            struct arena *arena) {
    struct span local = name, rest = name;
    struct account account;
    (void)span_cut(&rest, '@', &local);
    if (account_find(name, arena, &account, NULL) ||
        account_find(local, arena, &account, NULL))
        return span_of(
            arena_printf(arena, "uid:%lu", (unsigned long)account.uid));
    if (!is_in_access(base, name)) {
        if (!is_in_access(base, local))
            return (struct span){0};
        name = local;
    }
    return span_of(arena_printf(arena, "person:%.*s", (int)name.len, name.p));
}

/* ---- expiry -------------------------------------------------------------- */

enum { AGAIN_MS = 600 * 1000 };

/* On a merge train a set executes from its first check until it lands, and may
 * still be held. That of a command executes while its command runs. */
static bool may_expire(const struct base *base, const struct job *job) {
    const struct config_target *target =
        config_target(&base->config, job->target);
    return job->state != STATE_EXECUTING ||
           (target != NULL && target->git.len > 0);
}

/* Policies may have changed too: a held set that lacks nothing any more is
 * released here, since nothing else would do so. */
static bool expire_one(const struct base *base, const struct job *job,
                       const struct policies *policies, struct wall now,
                       struct store_batch *batch, struct arena *arena,
                       struct approvals_review *review, struct wall *next,
                       struct err *err) {
    struct approval_state state;
    struct job full;
    bool held = job->holds & HOLD_APPROVAL;
    if (!may_expire(base, job) ||
        (held ? !review->policies
              : policies->count == 0 && !job_has(job, JOB_ROLLS_BACK)))
        return true;
    if (!store_job(base->store, job->num, arena, &full, err) ||
        !read_state(base, base->store, &full, NULL, *policies, now, arena,
                    &state, err))
        return false;
    if (state.ends.ns < next->ns)
        *next = state.ends;
    if (!held && state.verdict.outcome >= APPROVAL_HOLD)
        store_hold(batch, job->num, HOLD_APPROVAL,
                   state.verdict.withdrawn.len > 0 ? SPAN("withdrawn")
                                                   : SPAN("expired"));
    if (held && state.verdict.outcome <= APPROVAL_ENOUGH)
        store_release(batch, job->num, HOLD_APPROVAL, SPAN("policy"));
    return true;
}

static bool expire(const struct base *base, struct wall now,
                   struct store_batch *batch, struct arena *arena,
                   struct approvals_review *review, struct err *err) {
    struct store_list list = {.states =
                                  STATES_WAITING | STATE_BIT(STATE_EXECUTING),
                              .kinds = job_kinds_with(JOB_CAN_BE_APPROVED)};
    struct job *jobs;
    struct wall next = wall_add_ms(now, AGAIN_MS); /* policies may change */
    struct policies policies;
    size_t count = 0;
    uint64_t lists = signers_version(base);
    if (lists != review->lists)
        review->new_approval = review->policies = true;
    if (!review->new_approval && now.ns < review->next.ns)
        return true;
    policies_read(base, arena, &policies);
    if (!store_jobs(base->store, &list, arena, &jobs, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!expire_one(base, &jobs[i], &policies, now, batch, arena, review,
                        &next, err))
            return false;
    review->new_approval = review->policies = false;
    review->lists = lists;
    review->next = next;
    return true;
}

/* ---- owed approvals ------------------------------------------------------ */

/* About what is owed now: more may be owed after what was reported. */
static bool was_reported(struct store *store, uint64_t num, struct arena *arena,
                         bool *ret_reported, struct err *err) {
    struct store_event *events;
    size_t count;
    *ret_reported = false;
    if (!store_events(store, 0, num, 0, arena, &events, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (events[i].kind == EVENT_OWED)
            *ret_reported = facts_of(&events[i], arena).overdue;
    return true;
}

static void finish(struct store_batch *batch, const struct job *job,
                   struct span why) {
    store_owe(batch, job->num, (struct wall){0}, SPAN("settled"), why);
}

static void report_overdue(struct store_batch *batch, const struct job *job,
                           const struct approval_verdict *verdict) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    char since[WALL_TEXT_BYTES];
    text_addf(&text, "approval '%.*s' was due at %s",
              (int)verdict->owed->name.len, verdict->owed->name.p,
              wall_format(job->owed, since));
    store_note(batch, EVENT_OWED, job->num, SPAN(""), SPAN("overdue"),
               text_span(&text));
    store_note_facts(batch, &(struct event_facts){.overdue = true});
    log_warning("set '%.*s' ran without an approval that is overdue: %s",
                (int)job->id.len, job->id.p, text_string(&text));
}

static bool check_overdue(const struct base *base, const struct job *job,
                          struct wall now, struct store_batch *batch,
                          struct arena *arena, struct err *err) {
    struct approval_state state;
    struct job full;
    bool reported;
    if (job_state_is_final(job->state) && job->state != STATE_DONE &&
        job->state != STATE_ABANDONED) {
        finish(batch, job, SPAN("it never landed"));
        return true;
    }
    if (now.ns < job->owed.ns)
        return true;
    if (!was_reported(base->store, job->num, arena, &reported, err))
        return false;
    if (reported)
        return true;
    if (!store_job(base->store, job->num, arena, &full, err) ||
        !approvals_read(base, base->store, &full, NULL, now, arena, &state,
                        err))
        return false;
    if (state.verdict.owed)
        report_overdue(batch, job, &state.verdict);
    else
        finish(batch, job, SPAN("no policy asks for it any more"));
    return true;
}

static bool check_all_overdue(const struct base *base, struct wall now,
                              struct store_batch *batch, struct arena *arena,
                              struct err *err) {
    struct store_list list = {.owed_only = true};
    struct job *jobs;
    size_t count = 0;
    if (!store_jobs(base->store, &list, arena, &jobs, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!check_overdue(base, &jobs[i], now, batch, arena, err))
            return false;
    return true;
}

bool approvals_review(const struct base *base, struct wall now,
                      struct span actor, struct approvals_review *review,
                      struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_batch *batch = store_batch_new(base->store);
    store_batch_actor(batch, now, actor);
    /* An approval may expire by its policy or by its own date. */
    bool ok = expire(base, now, batch, &arena, review, err) &&
              check_all_overdue(base, now, batch, &arena, err);
    ok = ok && (store_batch_count(batch) == 0 || store_write(batch, err));
    store_batch_free(batch);
    return ok;
}
