#include "maintenance/target_check.h"

#include "lib/map.h"
#include "core/outage.h"
#include "core/reason.h"
#include "landing/git.h"
#include "landing/history.h"
#include "landing/tip.h"

enum { SETS_NAMED = 20 /* of those that have left the branch */ };

struct landed {
    const char *id;
    bool rolls_back;
};

struct checking {
    const struct config_target *target;
    bool whole;
    target_problem *problem;
    void *ctx;
    struct arena arena;
    struct git git;
    struct map landed; /* "ID SUM" -> struct landed, not found so far */
};

static void report(struct checking *checking, const char *format, ...)
    PRINTF_LIKE(2, 3);
static void report(struct checking *checking, const char *format, ...) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    va_list args;
    text_addf(&text, "target '%.*s': ", (int)checking->target->name.len,
              checking->target->name.p);
    va_start(args, format);
    text_addv(&text, format, args);
    va_end(args);
    checking->problem(checking->ctx, text_string(&text));
}

static void format_key(struct text *key, struct span id, struct span sum) {
    text_reset(key);
    text_addspan(key, id);
    text_addc(key, ' ');
    text_addspan(key, sum);
}

/* A rollback has no commit if all that it names was out of effect already; its
 * end names the commit that it made, or says that it was found there. */
static bool has_commit(const struct job *job) {
    struct span rest = job->detail, word;
    if (!job_has(job, JOB_ROLLS_BACK) ||
        span_is(job->reason, REASON_ALREADY_LANDED))
        return true;
    return span_cut(&rest, ' ', &word) && git_oid_is_valid(word);
}

static void landed_put(struct checking *checking, const struct job *job) {
    CLEANUP(text_clear) struct text key = TEXT_INIT;
    struct landed *landed = arena_alloc(&checking->arena, sizeof *landed);
    *landed = (struct landed){arena_string(&checking->arena, job->id),
                              job_has(job, JOB_ROLLS_BACK)};
    format_key(&key, job->id, job->sum);
    map_put(&checking->landed, text_span(&key), landed);
}

static bool landed_add(void *ctx, const struct job *job, struct err *err) {
    struct checking *checking = ctx;
    (void)err;
    if (has_commit(job) && span_equal(job->target, checking->target->name))
        landed_put(checking, job);
    return true;
}

static bool landed_read(struct checking *checking, struct store *store,
                        struct err *err) {
    struct store_list list = {.states = STATE_BIT(STATE_DONE),
                              .kinds = job_kinds_with(JOB_LANDS)};
    return store_jobs_each(store, &list, landed_add, checking, err);
}

static bool commit_is_there(void *ctx, const struct history_commit *commit) {
    struct checking *checking = ctx;
    CLEANUP(text_clear) struct text key = TEXT_INIT;
    if (commit->csid.len > 0) {
        format_key(&key, commit->csid, commit->sum);
        (void)map_remove(&checking->landed, text_span(&key));
    }
    return map_count(&checking->landed) > 0;
}

static void report_lost(struct checking *checking) {
    struct span branch = checking->target->branch;
    size_t at = 0, named = 0, count = map_count(&checking->landed);
    void *value;
    while (named < SETS_NAMED &&
           map_next(&checking->landed, &at, NULL, &value)) {
        const struct landed *landed = value;
        named++;
        if (landed->rolls_back)
            report(checking,
                   "rollback '%s' is no longer on branch '%.*s', so what it "
                   "rolled back may be in effect again; was the branch "
                   "rewritten?",
                   landed->id, (int)branch.len, branch.p);
        else
            report(checking,
                   "set '%s' has landed, but is no longer on branch '%.*s'; "
                   "was the branch rewritten?",
                   landed->id, (int)branch.len, branch.p);
    }
    if (count > named)
        report(checking, "%zu more sets are no longer on the branch",
               count - named);
}

/* Finds the tip of the branch; "" if there is none and no set landed there. */
static bool tip_find(struct checking *checking, const char *branch,
                     char ret_tip[OID_BYTES], struct err *err) {
    struct git_pipe objects;
    char tree[OID_BYTES];
    if (!git_objects_open(&checking->git, &objects, err))
        return false;
    bool ok = tip_read(&objects, branch, ret_tip, tree, err);
    git_pipe_drop(&objects);
    return ok && (ret_tip[0] != '\0' || map_count(&checking->landed) == 0 ||
                  err_set(err, ERR_UNAVAILABLE,
                          "no branch '%s' in the repository '%s'", branch,
                          checking->git.dir));
}

static bool branch_check(struct checking *checking, const char *path,
                         const char *branch, struct err *err) {
    char tip[OID_BYTES];
    if (!git_open(path, NULL, NULL, &checking->git, err) ||
        !tip_find(checking, branch, tip, err))
        return false;
    if (tip[0] == '\0')
        return true;
    if (map_count(&checking->landed) > 0 &&
        !history_walk(&checking->git, tip, commit_is_there, checking, err))
        return false;
    report_lost(checking);
    return tip_verify(&checking->git, tip,
                      checking->whole ? TIP_TREE : TIP_NAMES, err);
}

static bool set_find(struct checking *checking, const struct job *job,
                     const char *path, const char *branch, bool *ret_found,
                     struct err *err) {
    char tip[OID_BYTES], oid[OID_BYTES];
    if (!git_open(path, NULL, NULL, &checking->git, err) ||
        !tip_find(checking, branch, tip, err) ||
        (tip[0] != '\0' && !history_find_set(&checking->git, tip, job->id,
                                             job->sum, HISTORY_ALL, oid, err)))
        return false;
    *ret_found = tip[0] != '\0' && oid[0] != '\0';
    return true;
}

const char *target_check_set(struct base *base, const struct job *job,
                             struct arena *arena) {
    const struct config_target *target =
        config_target(&base->config, job->target);
    struct checking checking = {.target = target};
    struct err err = {0};
    bool found;
    if (job->state != STATE_DONE || !job_has(job, JOB_LANDS) ||
        !has_commit(job) || !target || target->git.len == 0)
        return NULL;
    landed_put(&checking, job);
    bool ok =
        set_find(&checking, job, base_resolve(base->path, target->git, arena),
                 arena_string(arena, target->branch), &found, &err);
    git_close(&checking.git);
    map_clear(&checking.landed);
    arena_clear(&checking.arena);
    if (!ok)
        return arena_printf(arena, "%s", err.text);
    return found ? ""
                 : arena_printf(arena,
                                "no longer on branch '%.*s'; was the "
                                "branch rewritten?",
                                (int)target->branch.len, target->branch.p);
}

bool target_check(struct base *base, const struct config_target *target,
                  bool whole, target_problem *problem, void *ctx,
                  struct err *err) {
    struct checking checking = {
        .target = target, .whole = whole, .problem = problem, .ctx = ctx};
    struct arena *arena = &checking.arena;
    const char *path = base_resolve(base->path, target->git, arena);
    struct err why = {0};
    bool ok = landed_read(&checking, base->store, err);
    if (ok && (git_is_repository(path) || map_count(&checking.landed) > 0) &&
        !branch_check(&checking, path, arena_string(arena, target->branch),
                      &why))
        report(&checking, "%s", why.text);
    git_close(&checking.git);
    map_clear(&checking.landed);
    arena_clear(arena);
    return ok;
}
