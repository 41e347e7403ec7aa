#include "serve/approvals.h"

#include "base/json.h"
#include "wire/meta.h"

static unsigned classes_of(struct span list) {
    unsigned classes = 0;
    struct span word;
    enum job_class job_class;
    while (list.len > 0 && span_cut(&list, ',', &word))
        if (job_class_parse(span_trim(word), &job_class))
            classes |= 1u << job_class;
    return classes;
}

/* Those of the configuration, and one for rollbacks that raise their limit;
 * `raised` says whether it applies. */
static struct approval_policy *policies_of(const struct base *base, bool raised,
                                           struct arena *arena,
                                           size_t *ret_count) {
    const struct config *config = &base->config;
    struct approval_policy *policies =
        arena_alloc(arena, (config->approval_count + 1) * sizeof(*policies));
    for (size_t i = 0; i < config->approval_count; i++) {
        const struct config_approval *from = &config->approvals[i];
        policies[i] = (struct approval_policy){
            .name = from->name,
            .classes = classes_of(from->class),
            .target = from->target,
            .path = from->path,
            .ticket = from->ticket,
            .role = from->role,
            .count = (unsigned)from->count,
            .late = from->late == 1,
            .refuse = from->unapproved == UNAPPROVED_REFUSE,
            .expires_ms = from->expires_s * 1000,
        };
    }
    *ret_count = config->approval_count;
    if (raised)
        policies[(*ret_count)++] =
            (struct approval_policy){.name = SPAN("rb-limit"),
                                     .classes = 1u << CLASS_RB,
                                     .role = SPAN("operator"),
                                     .count = 1};
    return policies;
}

bool approvals_is_operator(const struct base *base, uint32_t uid) {
    return uid == 0 || uid == (uint32_t)base->uid;
}

static bool is_raised(const struct base *base, const struct job *job,
                      const struct meta *meta) {
    return job->job_class == CLASS_RB &&
           meta->rb_limit > (uint64_t)base->config.queue.rollback_max &&
           !approvals_is_operator(base, job->uid);
}

/* What the set says of itself; its meta is in the submission. */
static bool meta_of(const struct job *job, struct arena *arena,
                    struct meta *ret_meta) {
    struct json_value spec, member;
    struct span text;
    struct refusal why = {0};
    struct path_limits widest = {4096, 255, 1024};
    return json_parse(job->spec, &spec, NULL) && spec.type == JSON_OBJECT &&
           json_member(spec, "meta", &member) &&
           json_get_string(member, arena, &text) &&
           meta_parse(text, &widest, arena, ret_meta, &why);
}

/* ---- coming in ----------------------------------------------------------- */

bool approvals_refuse(const struct base *base,
                      const struct candidate *candidate, struct span target,
                      struct wall now, struct ruling_why *why) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    const struct meta *meta = &candidate->meta;
    size_t files = meta->files.count, count;
    if (base->config.approval_count == 0)
        return false;
    struct job_touch *touches = arena_alloc(
        &arena, (files + meta->deleted.count + 1) * sizeof(*touches));
    for (size_t i = 0; i < files; i++)
        touches[i].path = meta->files.items[i];
    for (size_t i = 0; i < meta->deleted.count; i++)
        touches[files + i].path = meta->deleted.items[i];
    struct approval_subject subject = {
        .job_class = (enum job_class)candidate->name.class,
        .target = target,
        .touches = touches,
        .touch_count = files + meta->deleted.count,
        .tickets = meta->approval.items,
        .ticket_count = meta->approval.count,
    };
    struct approval_policy *policies = policies_of(base, false, &arena, &count);
    struct approval_verdict verdict =
        approval_judge(policies, count, &subject, NULL, 0, now);
    if (verdict.outcome != APPROVAL_REFUSE)
        return false;
    approval_tell(&verdict, &text);
    ruling_set(why, "unapproved", "%s", text_string(&text));
    return true;
}

static struct approval_subject subject_of(const struct job *job,
                                          const struct meta *meta,
                                          const struct job_touch *touches,
                                          size_t touch_count) {
    return (struct approval_subject){
        .job_class = job->job_class,
        .target = job->target,
        .submitter = job->actor,
        .touches = touches,
        .touch_count = touch_count,
        .tickets = meta->approval.items,
        .ticket_count = meta->approval.count,
    };
}

void approvals_admit(const struct base *base, struct set_record *record,
                     struct wall now, struct arena *arena) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct job *job = &record->job;
    struct meta meta;
    size_t count;
    if (!meta_of(job, arena, &meta))
        return;
    struct approval_policy *policies =
        policies_of(base, is_raised(base, job, &meta), arena, &count);
    struct approval_subject subject =
        subject_of(job, &meta, record->touches, record->touch_count);
    struct approval_verdict verdict =
        approval_judge(policies, count, &subject, NULL, 0, now);
    if (verdict.outcome < APPROVAL_LATE)
        return;
    approval_tell(&verdict, &text);
    if (verdict.outcome == APPROVAL_LATE)
        text_adds(&text, ", owed");
    else
        job->holds |= HOLD_APPROVAL;
    job->detail = arena_span(arena, text_span(&text));
}

/* ---- in the registry ----------------------------------------------------- */

/* "operator" is the reason of an operator's word; detail is the ticket. */
static bool read_given(struct store *store, const struct job *job,
                       const struct approval_given *more, struct arena *arena,
                       struct approval_given **ret_given, size_t *ret_count,
                       struct err *err) {
    struct store_event *events;
    size_t count;
    if (!store_events(store, 0, job->num, 0, arena, &events, &count, err))
        return false;
    *ret_given = arena_alloc(arena, (count + 1) * sizeof(**ret_given));
    *ret_count = 0;
    for (size_t i = 0; i < count; i++)
        if (events[i].kind == EVENT_APPROVED)
            (*ret_given)[(*ret_count)++] = (struct approval_given){
                .who = events[i].actor,
                .is_operator = span_is(events[i].reason, "operator"),
                .ticket = events[i].detail,
                .at = events[i].at,
            };
    if (more)
        (*ret_given)[(*ret_count)++] = *more;
    return true;
}

bool approvals_read(const struct base *base, struct store *store,
                    const struct job *job, const struct approval_given *more,
                    struct wall now, struct arena *arena,
                    struct approval_state *ret_state, struct err *err) {
    struct meta meta = {0};
    struct job_touch *touches;
    struct approval_given *given;
    size_t touch_count, given_count, count;
    *ret_state = (struct approval_state){0};
    if (!store_touches(store, job->num, arena, &touches, &touch_count, err) ||
        !read_given(store, job, more, arena, &given, &given_count, err))
        return false;
    if (!meta_of(job, arena, &meta))
        return err_set(err, ERR_DATA, "the registry has no meta of set '%.*s'",
                       (int)job->id.len, job->id.p);
    struct approval_policy *policies =
        policies_of(base, is_raised(base, job, &meta), arena, &count);
    struct approval_subject *subject = arena_alloc(arena, sizeof(*subject));
    *subject = subject_of(job, &meta, touches, touch_count);
    ret_state->verdict =
        approval_judge(policies, count, subject, given, given_count, now);
    if (!more)
        return true;
    ret_state->may = approval_may(policies, count, subject, more);
    for (size_t i = 0; i + 1 < given_count; i++)
        ret_state->said |= span_equal(given[i].who, more->who) &&
                           span_equal(given[i].ticket, more->ticket);
    return true;
}

/* ---- expiry ---------------------------------------------------------------
 */

static bool any_expires(const struct base *base) {
    for (size_t i = 0; i < base->config.approval_count; i++)
        if (base->config.approvals[i].expires_s > 0)
            return true;
    return false;
}

static bool expire_one(const struct base *base, const struct job *job,
                       struct wall now, struct store_batch *batch,
                       struct arena *arena, struct err *err) {
    struct approval_state state;
    struct job full;
    if (job->holds & HOLD_APPROVAL)
        return true;
    if (!store_job(base->store, job->num, arena, &full, err) ||
        !approvals_read(base, base->store, &full, NULL, now, arena, &state,
                        err))
        return false;
    if (state.verdict.outcome >= APPROVAL_HOLD)
        store_hold(batch, job->num, HOLD_APPROVAL, SPAN("expired"));
    return true;
}

bool approvals_expire(const struct base *base, struct wall now,
                      struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_list list = {.states = STATES_WAITING,
                              .kinds = 1u << JOB_CHANGE};
    struct job *jobs;
    size_t count = 0;
    if (!any_expires(base))
        return true;
    if (!store_jobs(base->store, &list, &arena, &jobs, &count, err))
        return false;
    struct store_batch *batch = store_batch_new(base->store);
    store_batch_actor(batch, now, SPAN("daemon:prequeue"));
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++)
        ok = expire_one(base, &jobs[i], now, batch, &arena, err);
    ok = ok && (store_batch_count(batch) == 0 || store_write(batch, err));
    store_batch_free(batch);
    return ok;
}
