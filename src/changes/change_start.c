#include "changes/change_start.h"

#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "landing/land_start.h"
#include "scheduler/attempt_start.h"
#include "scheduler/attempt_words.h"
#include "scheduler/runner.h"
#include "scheduler/work_kind.h"
#include "wire/config.h"
#include "wire/set_spec.h"

enum { ENVIRONMENT_S = 60 };

static const char *string_of(struct span span, struct arena *arena) {
    return span.len > 0 ? arena_string(arena, span) : NULL;
}

static char *data_path(struct span name, struct arena *arena) {
    return arena_printf(arena, "data/%.*s", (int)name.len, name.p);
}

static const struct land_check *checks_of(const struct config_target *target,
                                          struct arena *arena) {
    struct land_check *checks =
        arena_alloc(arena, target->check_count * sizeof *checks + 1);
    for (size_t i = 0; i < target->check_count; i++)
        checks[i] = (struct land_check){
            arena_string(arena, target->checks[i].name),
            arena_string(arena, target->checks[i].command.text)};
    return checks;
}

/* The TAI time in the name, or the admission if that is later (L5). */
static struct wall blind_since(const struct job *job) {
    struct set_name name;
    struct refusal why;
    if (set_name_parse(job->name, &name, &why) &&
        name.tai.ns > job->admitted.ns)
        return name.tai;
    return job->admitted;
}

static const char *const *names_of(const struct span *spans, size_t count,
                                   struct arena *arena) {
    const char **names = arena_alloc(arena, count * sizeof *names + 1);
    for (size_t i = 0; i < count; i++)
        names[i] = arena_string(arena, spans[i]);
    return names;
}

static char *work_path(const struct run_start *start, const char *verb,
                       struct arena *arena) {
    struct span id = start->job->id;
    return arena_printf(arena, "tmp/%s.%.*s.%u", verb, (int)id.len, id.p,
                        start->attempt);
}

static const struct land_base_set *bases_of(const struct run_set *set,
                                            struct arena *arena) {
    struct land_base_set *bases =
        arena_alloc(arena, set->base_count * sizeof *bases + 1);
    for (size_t i = 0; i < set->base_count; i++) {
        const struct run_base *base = &set->bases[i];
        bases[i] = (struct land_base_set){
            .id = arena_string(arena, base->id),
            .sum = arena_string(arena, base->sum),
            .tarball = data_path(base->name, arena),
            .archived = arena_printf(arena, "archive/%.*s.tar",
                                     (int)base->name.len, base->name.p),
            .landed = base->landed};
    }
    return bases;
}

static const struct land_need *needs_of(const struct run_set *set,
                                        struct arena *arena) {
    struct land_need *needs =
        arena_alloc(arena, set->need_count * sizeof *needs + 1);
    for (size_t i = 0; i < set->need_count; i++)
        needs[i] =
            (struct land_need){.id = arena_string(arena, set->needs[i].id),
                               .sum = arena_string(arena, set->needs[i].sum)};
    return needs;
}

static struct land_start landed_set(const struct run_set *set,
                                    struct arena *arena) {
    const struct job *job = set->job;
    return (struct land_start){
        .id = arena_string(arena, job->id),
        .sum = arena_string(arena, job->sum),
        .class = job_class_word(job->job_class),
        .tarball = data_path(job->name, arena),
        .since = blind_since(job),
        .admitted = job->admitted,
        .seen = string_of(job->seen, arena),
        .submitter = string_of(job->actor, arena),
        .approved_by = names_of(set->approved_by, set->approved_count, arena),
        .approved_count = set->approved_count,
        .bases = bases_of(set, arena),
        .base_count = set->base_count,
        .needs = needs_of(set, arena),
        .need_count = set->need_count};
}

static struct run_set set_of(const struct run_start *start) {
    struct run_set set = start->set;
    set.job = start->job;
    return set;
}

/* Target names may contain slashes, like branches; a colon cannot occur. */
static char *target_path(const char *prefix, struct span target,
                         struct arena *arena) {
    char *path =
        arena_printf(arena, "%s%.*s", prefix, (int)target.len, target.p);
    for (char *at = path + strlen(prefix); *at != '\0'; at++)
        if (*at == '/')
            *at = ':';
    return path;
}

static void landed_trees(const struct run_train *train, size_t count,
                         struct land_start *sets, struct arena *arena) {
    for (size_t i = 0; i < count; i++) {
        if (train->trees != NULL)
            sets[i].tree = string_of(train->trees[i], arena);
        if (train->joined != NULL)
            sets[i].joined = train->joined[i];
    }
}

/* The target of a merge train checks candidates before they land. */
static void for_train(const struct run_train *train,
                      const struct config_target *target, struct arena *arena,
                      struct land_start *landing) {
    bool checks = train->task == RUN_TRAIN_CHECK;
    if (!checks)
        landing->check_count = 0;
    landing->apart = target_path("ctrl/train.", train->target, arena);
    landing->fresh = train->fresh;
    landing->merge = train->task == RUN_TRAIN_MERGE;
    landing->aside = train->aside;
    if (train->task == RUN_TRAIN_ENVIRONMENT) {
        landing->environment = string_of(target->environment.text, arena);
        landing->timeout_s = ENVIRONMENT_S;
    }
    if (landing->merge)
        landing->onto = string_of(train->tree, arena);
    else if (checks)
        landing->check = string_of(train->tree, arena);
    else
        landing->tip = string_of(train->tip, arena);
    landing->sync_later = train->task == RUN_TRAIN_LAND;
}

/* The account that runs the checks of these sets, or the command. The code of
 * all of them runs together: a set of the owner may run under the account of
 * somebody else, but sets of two others under no account of either. */
static bool user_of(const struct work_site *site,
                    const struct config_target *target,
                    const struct run_set *sets, size_t count,
                    struct arena *arena, struct span *ret_user,
                    struct err *err) {
    *ret_user = (struct span){0};
    for (size_t i = 0; i < count; i++) {
        const struct job *job = sets[i].job;
        struct span user;
        if (i > 0 && job->uid == sets[i - 1].job->uid)
            continue;
        if (!base_run_as_target(site->base, target, job->uid, arena, &user,
                                err))
            return count > 1
                       ? err_wrap(err, "%.*s", (int)job->id.len, job->id.p)
                       : false;
        if (user.len > 0 && ret_user->len > 0 && !span_equal(user, *ret_user))
            return err_set(err, ERR_DENIED,
                           "%.*s: it would be checked together with sets of "
                           "other accounts, and target '%.*s' has no user of "
                           "its own for that",
                           (int)job->id.len, job->id.p, (int)target->name.len,
                           target->name.p);
        if (user.len > 0)
            *ret_user = user;
    }
    return true;
}

/* The account of what the process runs. On a merge train that is also the code
 * of the sets ahead, which have not landed. Probes, merges and landings of a
 * train run nothing of the sets. The command `environment` was written by the
 * owner, and so it runs as the checks of a set of the owner do. */
static bool account_of(const struct work_site *site,
                       const struct run_start *start,
                       const struct config_target *target,
                       const struct run_set *sets, size_t count,
                       struct arena *arena, struct span *ret_user,
                       struct err *err) {
    const struct run_train *train = start->train;
    *ret_user = (struct span){0};
    if (train != NULL && train->task == RUN_TRAIN_ENVIRONMENT)
        return base_run_as_target(site->base, target, site->base->uid, arena,
                                  ret_user, err);
    if (start->probe || (train != NULL && train->task != RUN_TRAIN_CHECK))
        return true;
    size_t below = train != NULL ? train->below_count : 0;
    struct run_set *all = arena_alloc(arena, (count + below) * sizeof *all);
    memcpy(all, sets, count * sizeof *all);
    if (below > 0)
        memcpy(all + count, train->below, below * sizeof *all);
    return user_of(site, target, all, count + below, arena, ret_user, err);
}

static bool write_landing(const struct work_site *site,
                          const struct run_start *start,
                          const struct config_target *target,
                          struct arena *arena, struct text *out,
                          struct err *err) {
    struct run_set alone = set_of(start);
    bool several = start->set_count > 0;
    const struct run_set *sets = several ? start->sets : &alone;
    size_t others = several ? start->set_count - 1 : 0;
    bool command = target->command.count > 0;
    struct land_start *all = arena_alloc(arena, (others + 1) * sizeof *all);
    struct span user = {0};
    if (!account_of(site, start, target, sets, others + 1, arena, &user, err))
        return false;
    for (size_t i = 0; i <= others; i++)
        all[i] = landed_set(&sets[i], arena);
    if (start->train != NULL)
        landed_trees(start->train, others + 1, all, arena);
    struct land_start landing = all[0];
    landing.probe = start->probe;
    landing.target = string_of(start->job->target, arena);
    landing.work =
        start->train != NULL && (start->train->task == RUN_TRAIN_MERGE ||
                                 start->train->task == RUN_TRAIN_ENVIRONMENT)
            ? arena_printf(arena, "tmp/merge.%" PRIu64, start->handle)
            : work_path(start, "land", arena);
    landing.user = string_of(user, arena);
    landing.symlinks = target->symlinks == SYMLINKS_ALLOW;
    landing.timeout_s = target->timeout_s;
    landing.checks = checks_of(target, arena);
    landing.check_count = target->check_count;
    if (command) {
        landing.command = arena_string(arena, target->command.text);
    } else {
        landing.git = string_of(target->git, arena);
        landing.branch = string_of(target->branch, arena);
        landing.branches = BASE_BRANCHES;
        landing.filters = target->check_filters == 1;
        landing.committer = string_of(target->committer, arena);
        landing.blind = (enum config_blind)target->blind;
    }
    landing.others = all + 1;
    landing.other_count = others;
    if (start->train != NULL)
        for_train(start->train, target, arena, &landing);
    land_start_format(&landing, out);
    return true;
}

/* A target that is a command runs it with the files of each member. A rollback
 * that may not do so fails: what it rolls back stays landed. */
static bool member_user(const struct work_site *site,
                        const struct config_target *target,
                        const struct run_member *member, struct arena *arena,
                        const char **ret_user, struct err *err) {
    struct span user = {0};
    if (target->command.count > 0 &&
        !base_run_as_target(site->base, target, member->uid, arena, &user,
                            err)) {
        if (err)
            err->kind = ERR_CONFIG;
        return err_wrap(err, "cannot roll back '%.*s'", (int)member->id.len,
                        member->id.p);
    }
    *ret_user = string_of(user, arena);
    return true;
}

static bool write_rollback(const struct work_site *site,
                           const struct run_start *start,
                           const struct config_target *target,
                           struct arena *arena, struct text *out,
                           struct err *err) {
    const struct job *job = start->job;
    struct revert_member *members =
        arena_alloc(arena, start->member_count * sizeof *members + 1);
    for (size_t i = 0; i < start->member_count; i++) {
        const struct run_member *member = &start->members[i];
        const char *user = NULL;
        if (!start->probe &&
            !member_user(site, target, member, arena, &user, err))
            return false;
        members[i] =
            (struct revert_member){.id = arena_string(arena, member->id),
                                   .sum = arena_string(arena, member->sum),
                                   .class = job_class_word(member->job_class),
                                   .tarball = data_path(member->name, arena),
                                   .admitted = member->admitted,
                                   .user = user,
                                   .again = member->again};
    }
    struct revert_start rollback = {
        .id = arena_string(arena, job->id),
        .sum = arena_string(arena, job->sum),
        .target = string_of(job->target, arena),
        .admitted = job->admitted,
        .submitter = string_of(job->actor, arena),
        .approved_by =
            names_of(start->set.approved_by, start->set.approved_count, arena),
        .approved_count = start->set.approved_count,
        .members = members,
        .member_count = start->member_count,
        .because = string_of(start->because, arena),
        .work = work_path(start, "revert", arena),
        .symlinks = target->symlinks == SYMLINKS_ALLOW,
        .probe = start->probe};
    if (target->command.count > 0) {
        rollback.command = arena_string(arena, target->command.text);
        rollback.timeout_s = target->timeout_s;
        if (target->revert.count > 0)
            rollback.revert = arena_string(arena, target->revert.text);
    } else {
        rollback.git = string_of(target->git, arena);
        rollback.branch = string_of(target->branch, arena);
        rollback.committer = string_of(target->committer, arena);
    }
    land_start_format_revert(&rollback, out);
    return true;
}

static bool find_target(const struct work_site *site, const struct job *job,
                        const struct config_target **ret_target,
                        struct err *err) {
    *ret_target = config_target(site->config, job->target);
    return *ret_target ||
           err_set(err, ERR_UNAVAILABLE,
                   "cannot land '%.*s': target '%.*s' is no longer "
                   "configured; add it to pointsman.conf again",
                   (int)job->id.len, job->id.p, (int)job->target.len,
                   job->target.p);
}

static void environment_begin(struct attempt_words *env) {
    attempt_words_add_string(env, "PATH=/usr/local/sbin:/usr/local/bin:"
                                  "/usr/sbin:/usr/bin:/sbin:/bin");
    attempt_words_add_string(env, "LANG=C.UTF-8");
}

/* Merges and landings run nothing of a set, and share a process. */
static bool may_share(const struct run_start *start) {
    return start->train != NULL && (start->train->task == RUN_TRAIN_MERGE ||
                                    start->train->task == RUN_TRAIN_LAND);
}

static struct attempt_lander lander_of(const struct config_target *target,
                                       struct arena *arena) {
    struct attempt_words argv = {.arena = arena}, env = {.arena = arena};
    /* A name of its own, since names that end in two numbers belong to the
     * process with that number (changes/leftover.h). */
    const char *work = arena_printf(
        arena, "%s.work", target_path("tmp/lander.", target->name, arena));
    attempt_words_add_string(&argv, "/proc/self/exe");
    attempt_words_add_string(&argv, "land");
    attempt_words_add_string(&argv, work);
    environment_begin(&env);
    return (struct attempt_lander){work, argv.items, env.items};
}

typedef bool input_writer(const struct work_site *site,
                          const struct run_start *start,
                          const struct config_target *target,
                          struct arena *arena, struct text *out,
                          struct err *err);

/* A landing is a process of its own: this executable with another command. The
 * id is only for people who read a process list; it is not parsed. */
static bool make(const struct work_site *site, const struct run_start *start,
                 const char *verb, input_writer *write, struct arena *arena,
                 struct attempt_start *ret_start, struct err *err) {
    CLEANUP(text_clear) struct text input = TEXT_INIT;
    const struct job *job = start->job;
    const struct config_target *target;
    if (!find_target(site, job, &target, err) ||
        !write(site, start, target, arena, &input, err))
        return false;
    struct attempt_words argv = {.arena = arena}, env = {.arena = arena};
    ret_start->start = arena_span(arena, text_span(&input));
    attempt_words_add_string(&argv, "/proc/self/exe");
    attempt_words_add_string(&argv, verb);
    attempt_words_add_span(&argv, job->id);
    environment_begin(&env);
    attempt_words_add_environment(&env, site, start);
    if (start->train != NULL && start->train->task == RUN_TRAIN_CHECK)
        attempt_words_add_string(
            &env, arena_printf(arena, "POINTSMAN_LANE=%u", start->train->lane));
    ret_start->argv = argv.items;
    ret_start->envp = env.items;
    if (may_share(start))
        ret_start->lander = lander_of(target, arena);
    ret_start->dir = site->base_path;
    ret_start->mask = 022;
    ret_start->lock_path =
        start->probe || (start->train != NULL && !start->train->locks)
            ? NULL
            : arena_printf(arena, "run/%.*s", (int)job->name.len, job->name.p);
    return true;
}

bool change_start_landing(const struct work_site *site,
                          const struct run_start *start, struct arena *arena,
                          struct attempt_start *ret_start, struct err *err) {
    return make(site, start, "land", write_landing, arena, ret_start, err);
}

bool change_start_rollback(const struct work_site *site,
                           const struct run_start *start, struct arena *arena,
                           struct attempt_start *ret_start, struct err *err) {
    return make(site, start, "revert", write_rollback, arena, ret_start, err);
}
