/* A set that went out of effect has this in its log. A power cut may lose that
 * line but keep the rollback in the directory of finished ones: then the branch
 * is the evidence, since each commit of a rollback names the sets it affects.
 * The newest commit that names a set counts, and only if the set's log does not
 * mention that rollback: a rollback that found nothing left to revert has no
 * commit, so the log may know more. */
#include "maintenance/rebuild_parts.h"

#include "core/reason.h"
#include "maintenance/fsck_report.h"
#include "landing/history.h"
#include "changes/facts.h"
#include "changes/set_rules.h"
#include "scheduler/rollback_effects.h"

enum {
    OLD_IN_A_ROW = 256, /* this many commits before all rollbacks end the search
                         */
    SLACK_S = 3600      /* our clock may have been set back */
};

struct branch_scan {
    struct rebuild *rebuild;
    const struct config_target *target;
    struct wall oldest; /* earliest admission of a finished rollback */
    size_t old;         /* consecutive commits before that time */
};

static bool is_over(const struct found_set *set,
                    const struct config_target *target) {
    const struct job *job = &set->record.job;
    return job_has(job, JOB_ROLLS_BACK) && job->state == STATE_DONE &&
           span_equal(job->target, target->name);
}

/* The checksum of a set that is known only by its log is unknown. */
static bool is_by(const struct history_commit *commit,
                  const struct found_set *set) {
    struct span sum = set->record.job.sum;
    return sum.len == 0 || span_equal(sum, commit->sum);
}

static bool is_on(const struct history_effect *effect,
                  const struct found_set *set) {
    struct span sum = set->record.job.sum;
    return history_effect_is_on(effect, set->id,
                                sum.len == 0 ? effect->sum : sum);
}

static uint64_t last_seq(const struct found_set *set) {
    uint64_t last = 0;
    for (size_t i = 0; i < set->log.count; i++)
        if (set->log.events[i].seq > last)
            last = set->log.events[i].seq;
    return last;
}

/* True if the set's log mentions that rollback or a later one. */
static bool knows(const struct found_set *set, const struct found_set *rb,
                  struct arena *arena) {
    uint64_t end = last_seq(rb);
    for (size_t i = 0; i < set->log.count; i++)
        if (set->log.events[i].kind == EVENT_ROLLED_BACK &&
            (span_equal(facts_of(&set->log.events[i], arena).because, rb->id) ||
             (end > 0 && set->log.events[i].seq > end)))
            return true;
    return false;
}

/* True if the set is out of effect by `by` according to its log, or in effect
 * (empty). One rollback may turn a set twice. */
static bool is_marked(const struct found_set *set, struct span by,
                      struct arena *arena) {
    struct span now = SPAN("");
    for (size_t i = 0; i < set->log.count; i++)
        if (set->log.events[i].kind == EVENT_ROLLED_BACK)
            now = facts_of(&set->log.events[i], arena).rollback;
    return span_equal(now, by);
}

/* Adds an event after the last line of the log; it has no number yet. */
static void add_event(struct rebuild *rebuild, struct found_set *set,
                      struct span by, struct span because) {
    CLEANUP(text_clear) struct text detail = TEXT_INIT;
    struct set_log *log = &set->log;
    struct store_event *events =
        arena_alloc(&rebuild->arena, (log->count + 1) * sizeof(*events));
    if (log->count > 0)
        memcpy(events, log->events, log->count * sizeof(*events));
    struct event_facts facts = {.rollback = by, .because = because};
    rollback_effects_detail(by, because, &detail);
    events[log->count++] = (struct store_event){
        .at = rebuild->now,
        .kind = EVENT_ROLLED_BACK,
        .id = set->id,
        .from = STATE_DONE,
        .to = STATE_DONE,
        .attempt = set->record.job.attempt,
        .actor = SPAN("daemon:fsck"),
        .reason =
            by.len > 0 ? SPAN(REASON_ROLLED_BACK) : SPAN(REASON_REINSTATED),
        .detail = arena_span(&rebuild->arena, text_span(&detail)),
        .facts = event_facts_format(&facts, &rebuild->arena),
    };
    log->events = events;
    set->record.job.stale = true; /* the next start writes its log */
}

/* The commit of `rb` says that a set was put out of effect by `above`, or back
 * in effect. The set may be one of another base with the same id. */
static void take_effect_change(struct rebuild *rebuild,
                               const struct found_set *rb,
                               const struct history_effect *effect,
                               struct span above) {
    struct found_set *set = map_get(&rebuild->sets, effect->id);
    struct span by = effect->in ? SPAN("") : above;
    if (set == NULL || set->is_mentioned || !is_on(effect, set))
        return;
    set->is_mentioned = true;
    if (set->record.job.state != STATE_DONE ||
        knows(set, rb, &rebuild->arena) || is_marked(set, by, &rebuild->arena))
        return;
    fsck_problem(rebuild->report,
                 "the log of set '%.*s' does not say that rollback '%.*s' %s; "
                 "the branch says so and takes precedence",
                 (int)set->id.len, set->id.p, (int)rb->id.len, rb->id.p,
                 by.len > 0 ? "rolled it back" : "restored it");
    add_event(rebuild, set, by, rb->id);
}

static bool take_commit(void *ctx, const struct history_commit *commit) {
    struct branch_scan *branch_scan = ctx;
    struct found_set *maker =
        commit->csid.len > 0
            ? map_get(&branch_scan->rebuild->sets, commit->csid)
            : NULL;
    bool before =
        wall_s(commit->committed) < wall_s(branch_scan->oldest) - SLACK_S;
    branch_scan->old = before ? branch_scan->old + 1 : 0;
    if (maker != NULL && is_by(commit, maker)) {
        struct span rest = commit->trailers, above = maker->id;
        struct history_effect effect;
        maker->is_mentioned = true;
        while (is_over(maker, branch_scan->target) &&
               history_effect_next(&rest, &effect)) {
            take_effect_change(branch_scan->rebuild, maker, &effect, above);
            above = effect.id;
        }
    }
    return branch_scan->old < OLD_IN_A_ROW;
}

static bool read_branch(struct branch_scan *branch_scan, struct err *err) {
    struct rebuild *rebuild = branch_scan->rebuild;
    const struct config_target *target = branch_scan->target;
    CLEANUP(text_clear) struct text ref = TEXT_INIT;
    CLEANUP(text_clear) struct text tip = TEXT_INIT;
    struct git git;
    int status = 0;
    text_addf(&ref, "refs/heads/%.*s^{commit}", (int)target->branch.len,
              target->branch.p);
    if (!git_open(
            base_resolve(rebuild->base->path, target->git, &rebuild->arena),
            NULL, NULL, &git, err))
        return false;
    bool ok = git_run(
        &git, GIT_ARGS("rev-parse", "--verify", "-q", text_string(&ref)),
        GIT_QUIET, SPAN(""), &tip, &status, err);
    if (ok && status != 0)
        ok = err_set(err, ERR_CONFIG, "repository '%.*s' has no branch '%.*s'",
                     (int)target->git.len, target->git.p,
                     (int)target->branch.len, target->branch.p);
    CLEANUP(text_free_string)
    char *oid = span_string(span_trim(text_span(&tip)));
    ok = ok && history_walk(&git, oid, take_commit, branch_scan, err);
    git_close(&git);
    return ok;
}

void rebuild_ask_branches(struct rebuild *rebuild) {
    const struct config *config = &rebuild->base->config;
    for (size_t i = 0; i < config->target_count; i++) {
        struct branch_scan branch_scan = {.rebuild = rebuild,
                                          .target = &config->targets[i],
                                          .oldest = WALL_NEVER};
        struct err err = {0};
        for (size_t k = 0; k < rebuild->count; k++) {
            const struct found_set *set = rebuild->order[k];
            if (is_over(set, branch_scan.target) &&
                set->record.job.admitted.ns < branch_scan.oldest.ns)
                branch_scan.oldest = set->record.job.admitted;
        }
        if (branch_scan.oldest.ns == WALL_NEVER.ns ||
            branch_scan.target->git.len == 0 || read_branch(&branch_scan, &err))
            continue;
        fsck_problem(rebuild->report,
                     "cannot read from target '%.*s' what was rolled back; "
                     "using the logs alone: %s",
                     (int)branch_scan.target->name.len,
                     branch_scan.target->name.p, err.text);
    }
}
