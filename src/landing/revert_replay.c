#include "landing/revert_replay.h"

#include <stdlib.h>
#include <string.h>

#include "landing/branch_log.h"
#include "landing/branch_sets.h"
#include "landing/objects_apart.h"
#include "landing/path_merge.h"
#include "landing/revert_parts.h"

enum { NO_STEP = -1, PATHS_NAMED = 10 };

/* A commit of the branch since the replay's beginning. */
struct landed {
    struct history_commit commit; /* its spans lie in the arena */
    bool by_rollback;
    bool was_out, is_out; /* not in effect: before and after this rollback */
    long step;            /* the last one that reverts it */
};

struct replay_change {
    const struct landed *by;
    bool is_dropped;
    struct tree_entry before, after;
};

/* A commit's set has done the same as another one (landing/merge_shared.h). */
struct shared {
    const struct landed *by;
    struct history_shared with;
};

struct replaying {
    struct reverting *reverting;
    struct replay *replay;
    struct landed **landed; /* newest first */
    size_t count, cap;
    struct map by_oid;
    struct branch_sets sets;
    struct shared *shared;
    size_t shared_count, shared_cap;
    size_t open; /* steps whose commits were not met yet */
};

/* ---- the commits --------------------------------------------------------- */

static struct landed *landed_add(struct replaying *replaying,
                                 const struct history_commit *commit) {
    struct arena *arena = &replaying->replay->arena;
    struct landed *landed = arena_alloc(arena, sizeof *landed);
    struct span rest = commit->trailers, id;
    *landed = (struct landed){.commit = *commit, .step = NO_STEP};
    landed->by_rollback = history_trailer(&rest, "RB-Id", &id);
    landed->commit.author = arena_span(arena, commit->author);
    landed->commit.subject = SPAN("");
    landed->commit.csid = arena_span(arena, commit->csid);
    landed->commit.sum = arena_span(arena, commit->sum);
    landed->commit.trailers =
        landed->by_rollback ? arena_span(arena, commit->trailers) : SPAN("");
    if (replaying->count == replaying->cap) {
        replaying->cap = replaying->cap > 0 ? 2 * replaying->cap : 64;
        replaying->landed = mem_grow(replaying->landed, replaying->cap,
                                     sizeof(struct landed *));
    }
    replaying->landed[replaying->count++] = landed;
    (void)map_put(&replaying->by_oid, span_of(landed->commit.oid), landed);
    return landed;
}

static void shared_add(struct replaying *replaying, const struct landed *by,
                       const struct history_shared *with) {
    struct arena *arena = &replaying->replay->arena;
    if (replaying->shared_count == replaying->shared_cap) {
        replaying->shared_cap =
            replaying->shared_cap > 0 ? 2 * replaying->shared_cap : 8;
        replaying->shared = mem_grow(replaying->shared, replaying->shared_cap,
                                     sizeof *replaying->shared);
    }
    replaying->shared[replaying->shared_count++] =
        (struct shared){by,
                        {.path = arena_span(arena, with->path),
                         .id = arena_span(arena, with->id),
                         .sum = arena_span(arena, with->sum)}};
}

static void note_shared(struct replaying *replaying,
                        const struct history_commit *commit,
                        const struct landed *by) {
    struct span rest = commit->trailers;
    struct history_shared with;
    while (history_shared_next(&rest, &with))
        shared_add(replaying, by, &with);
}

static bool visit(void *ctx, const struct history_commit *commit) {
    struct replaying *replaying = ctx;
    const struct revert_steps *steps = replaying->reverting->steps;
    const struct landed *landed = landed_add(replaying, commit);
    branch_sets_add(&replaying->sets, &landed->commit, landed->by_rollback);
    if (!landed->by_rollback)
        note_shared(replaying, commit, landed);
    for (size_t i = 0; i < steps->count; i++)
        replaying->open -= strcmp(steps->p[i].of, commit->oid) == 0;
    return replaying->open > 0 || branch_sets_need_more(&replaying->sets);
}

/* ---- what the rollback does ---------------------------------------------- */

static bool is_out(struct replaying *replaying, const struct landed *landed) {
    const struct history_commit *commit = &landed->commit;
    return commit->csid.len > 0 && commit->sum.len > 0 &&
           branch_sets_find(&replaying->sets, commit->csid, commit->sum)->by !=
               NULL;
}

/* The steps as they will be. */
struct stepping {
    struct replaying *replaying;
    const struct revert_member *member;
    struct revert_steps made;
};

static void step_make(void *ctx, const struct branch_set *last,
                      struct span lines) {
    struct stepping *stepping = ctx;
    struct replaying *replaying = stepping->replaying;
    struct landed *landed = map_get(&replaying->by_oid, span_of(last->newest));
    landed->step = (long)stepping->made.count;
    revert_step_add(&stepping->made, stepping->member, REVERT_UNTRIED,
                    last->newest)
        ->effects = arena_span(&replaying->replay->arena, lines);
}

/* A commit for each way along which the rollback takes effect, in place of one
 * for each commit of the members. */
static void steps_make(struct replaying *replaying) {
    struct revert_steps *steps = replaying->reverting->steps;
    struct stepping stepping = {.replaying = replaying};
    for (size_t i = 0; i < steps->count; i++) {
        const struct revert_step *step = &steps->p[i];
        stepping.member = step->member;
        if (step->of[0] != '\0')
            branch_sets_roll_back(&replaying->sets, span_of(step->member->id),
                                  span_of(step->member->sum), step_make,
                                  &stepping);
        else
            revert_step_add(&stepping.made, step->member, step->result, "");
    }
    free(steps->p);
    *steps = stepping.made;
    for (size_t i = 0; i < steps->count; i++)
        if (steps->p[i].of[0] != '\0')
            replaying->replay->last_step = i;
}

/* Which sets are in effect: as the branch is, and after this rollback. */
static void judge(struct replaying *replaying) {
    for (size_t i = 0; i < replaying->count; i++)
        replaying->landed[i]->was_out = is_out(replaying, replaying->landed[i]);
    steps_make(replaying);
    for (size_t i = 0; i < replaying->count; i++)
        replaying->landed[i]->is_out = is_out(replaying, replaying->landed[i]);
}

/* ---- what sets share ------------------------------------------------------
 */

static bool is_turned(const struct landed *landed) {
    return !landed->by_rollback && landed->was_out != landed->is_out;
}

/* The commit of a set that landed since the replay begins; NULL: it landed
 * before, and nothing has put it out of effect since. */
static const struct landed *landed_of(const struct replaying *replaying,
                                      const struct history_shared *with) {
    for (size_t i = 0; i < replaying->count; i++) {
        const struct landed *landed = replaying->landed[i];
        if (!landed->by_rollback &&
            history_shared_is_with(with, landed->commit.csid,
                                   landed->commit.sum))
            return landed;
    }
    return NULL;
}

/* True if a set in effect has done all of this change too. Its commit is noted
 * as a keeper of the path if the rollback puts the change out of effect. */
static bool is_kept(const struct replaying *replaying, const struct landed *by,
                    struct replay_path *path) {
    bool kept = false;
    for (size_t i = 0; i < replaying->shared_count; i++) {
        const struct shared *shared = &replaying->shared[i];
        if (shared->by->is_out ||
            !history_shared_is_with(&shared->with, by->commit.csid,
                                    by->commit.sum) ||
            !span_equal(shared->with.path, path->path))
            continue;
        kept = true;
        if (is_turned(by) && path->keeper_count < REPLAY_KEEPERS)
            path->keepers[path->keeper_count++] = &shared->by->commit;
    }
    return kept;
}

/* Two sets that cannot be separated: one would be out of effect, and the other
 * in effect. */
static bool overlaps_refuse(struct replaying *replaying) {
    for (size_t i = 0; i < replaying->shared_count; i++) {
        CLEANUP(text_clear) struct text why = TEXT_INIT;
        const struct shared *shared = &replaying->shared[i];
        const struct landed *with = landed_of(replaying, &shared->with);
        struct span id = shared->by->commit.csid;
        if (shared->with.path.len > 0 || shared->by->is_out || with == NULL ||
            !with->is_out || !(is_turned(shared->by) || is_turned(with)))
            continue;
        text_addf(&why,
                  "%.*s and %.*s made a part of their changes both, so only "
                  "both can be rolled back or restored; add %.*s to the "
                  "rollback or revert by hand",
                  (int)shared->with.id.len, shared->with.id.p, (int)id.len,
                  id.p, (int)id.len, id.p);
        return revert_finish(replaying->reverting, LAND_FAILED, "rb-conflict",
                             text_span(&why));
    }
    return true;
}

/* ---- their changes ------------------------------------------------------- */

/* The changes of the sets that this rollback puts out of effect or back in
 * effect. They are few, and with their paths known, the changes of all commits
 * need to be read only once. */
static bool turned_each(struct replaying *replaying, branch_log_visit *each,
                        struct err *err) {
    CLEANUP(text_clear) struct text commits = TEXT_INIT;
    for (size_t i = 0; i < replaying->count; i++)
        if (is_turned(replaying->landed[i]))
            text_addf(&commits, "%s\n", replaying->landed[i]->commit.oid);
    return commits.len == 0 ||
           branch_log_each(&replaying->reverting->git, "--no-walk=unsorted",
                           &commits, each, replaying, err);
}

static bool all_each(struct replaying *replaying, branch_log_visit *each,
                     struct err *err) {
    CLEANUP(text_clear) struct text commits = TEXT_INIT;
    const char *begin = replaying->landed[replaying->count - 1]->commit.parent;
    text_addf(&commits, "%s\n", replaying->reverting->tip);
    if (begin[0] != '\0')
        text_addf(&commits, "^%s\n", begin);
    return branch_log_each(&replaying->reverting->git, "--do-walk", &commits,
                           each, replaying, err);
}

static void path_add(struct replay *replay, struct span name) {
    if (revert_replay_path_find(replay, name) != NULL)
        return;
    struct replay_path *path = arena_alloc(&replay->arena, sizeof *path);
    *path = (struct replay_path){.path = arena_span(&replay->arena, name)};
    (void)map_put(&replay->by_path, path->path, path);
}

static bool path_collect(void *ctx, const struct branch_change *change) {
    struct replaying *replaying = ctx;
    path_add(replaying->replay, change->path);
    return true;
}

/* The commit of a set does not show what it shares with another one. That other
 * one may be out of effect only if it landed since the replay begins. */
static void shared_collect(struct replaying *replaying) {
    for (size_t i = 0; i < replaying->shared_count; i++) {
        const struct shared *shared = &replaying->shared[i];
        if (shared->with.path.len > 0 && is_turned(shared->by) &&
            landed_of(replaying, &shared->with) != NULL)
            path_add(replaying->replay, shared->with.path);
    }
}

static bool change_collect(void *ctx, const struct branch_change *change) {
    struct replaying *replaying = ctx;
    struct replay_path *path =
        revert_replay_path_find(replaying->replay, change->path);
    const struct landed *by = map_get(&replaying->by_oid, change->commit);
    if (path == NULL || by == NULL)
        return by != NULL;
    if (by->step != NO_STEP) {
        path->last = path->has_step && path->last > (size_t)by->step
                         ? path->last
                         : (size_t)by->step;
        path->has_step = true;
    }
    if (path->count == path->cap) {
        path->cap = path->cap > 0 ? 2 * path->cap : 8;
        path->changes =
            mem_grow(path->changes, path->cap, sizeof *path->changes);
    }
    path->changes[path->count++] = (struct replay_change){
        .by = by,
        .is_dropped =
            by->by_rollback || (by->is_out && !is_kept(replaying, by, path)),
        .before = change->before,
        .after = change->after};
    return true;
}

/* ---- the replay ---------------------------------------------------------- */

/* Merges change *i into *now. If that conflicts, the changes after it are taken
 * together with it, ever more of them, as long as all survive: what one of them
 * did in between and another undid is no conflict. *i: the last one merged. */
static bool change_replay(struct path_merge *merge, struct replay_path *path,
                          size_t *i, struct tree_entry *now, bool *ret_clean,
                          struct err *err) {
    size_t last = *i, to = *i;
    enum path_merged result;
    while (last > 0 && !path->changes[last - 1].is_dropped)
        last--;
    for (size_t more = 1;; more *= 2) {
        struct tree_entry merged;
        if (!path_merge(merge, &path->changes[*i].before, now,
                        &path->changes[to].after, &merged, &result, err))
            return false;
        *ret_clean = result == PATH_CLEAN;
        if (*ret_clean)
            *now = merged;
        if (*ret_clean || to == last)
            break;
        to = to - last > more ? to - more : last;
    }
    *i = *ret_clean ? to : *i;
    return true;
}

/* Without the sets in the way the replay goes on, so that all of them are
 * named; what others have pushed cannot be left out. */
static bool path_replay(struct path_merge *merge, struct replay_path *path,
                        struct revert_culprits *culprits, struct err *err) {
    struct tree_entry now = path->changes[path->count - 1].before;
    bool differed = false, goes_on = true;
    for (size_t i = path->count; goes_on && i-- > 0;) {
        const struct replay_change *change = &path->changes[i];
        bool dropped = change->is_dropped, clean = true;
        if (!dropped && !change_replay(merge, path, &i, &now, &clean, err))
            return false;
        if (!clean)
            goes_on = revert_culprit_add(culprits, &change->by->commit) &&
                      change->by->commit.csid.len > 0;
        if (!clean && change->by->commit.csid.len == 0 &&
            !revert_culprit_merged(culprits, merge->git, &change->by->commit,
                                   path->path, err))
            return false;
        change = &path->changes[i];
        bool differs = !path_entry_same(&now, &change->after);
        if (differed && !differs && !dropped)
            path->remover = &change->by->commit;
        differed = differs;
    }
    path->before = path->changes[0].after;
    path->after = now;
    path->is_new = path_merge_take(merge, now.oid, &path->content);
    return true;
}

/* Puts merged files into the repository. */
static bool paths_store(struct replaying *replaying, struct err *err) {
    for (size_t i = 0; i < replaying->replay->count; i++) {
        struct replay_path *path = replaying->replay->paths[i];
        if (path->is_new && !path_entry_same(&path->after, &path->before) &&
            !objects_apart_write(&replaying->reverting->git, "blob",
                                 text_span(&path->content), path->after.oid,
                                 err))
            return false;
    }
    return true;
}

static bool conflict_end(struct replaying *replaying, size_t step,
                         const struct text *said, size_t count) {
    CLEANUP(text_clear) struct text why = TEXT_INIT;
    struct revert_step *failed = &replaying->reverting->steps->p[step];
    failed->result = REVERT_CONFLICT;
    text_addf(&why, "%s cannot be rolled back: ", failed->member->id);
    text_addspan(&why, text_span(said));
    if (count > PATHS_NAMED)
        text_addf(&why, "; and %zu more paths", count - PATHS_NAMED);
    return revert_finish(replaying->reverting, LAND_FAILED, "rb-conflict",
                         text_span(&why));
}

static bool paths_replay(struct replaying *replaying, struct err *err) {
    struct reverting *reverting = replaying->reverting;
    struct replay *replay = replaying->replay;
    CLEANUP(text_clear) struct text said = TEXT_INIT;
    CLEANUP(path_merge_clear)
    struct path_merge merge = {.git = &reverting->git,
                               .objects = &reverting->trees.objects,
                               .is_in_memory = true};
    size_t conflicts = 0, step = 0;
    for (size_t i = 0; i < replay->count; i++) {
        CLEANUP(revert_culprits_clear)
        struct revert_culprits culprits = {.steps = reverting->steps};
        struct replay_path *path = replay->paths[i];
        if (!path->has_step)
            path->last = replay->last_step;
        if (!revert_go_on(reverting) ||
            !path_replay(&merge, path, &culprits, err))
            return false;
        if (culprits.count == 0)
            continue;
        step = conflicts == 0 ? path->last : step;
        if (conflicts++ < PATHS_NAMED)
            revert_culprits_say(&culprits, path->path, &said);
    }
    if (conflicts > 0)
        return conflict_end(replaying, step, &said, conflicts);
    return paths_store(replaying, err);
}

static void paths_list(struct replay *replay) {
    size_t cursor = 0;
    void *value;
    replay->paths =
        arena_alloc(&replay->arena,
                    (map_count(&replay->by_path) + 1) * sizeof *replay->paths);
    while (map_next(&replay->by_path, &cursor, NULL, &value))
        replay->paths[replay->count++] = value;
}

static bool replay_all(struct replaying *replaying, struct err *err) {
    struct reverting *reverting = replaying->reverting;
    if (!history_walk_first_parent(&reverting->git, reverting->tip, visit,
                                   replaying, err))
        return false;
    replaying->replay->is_possible =
        replaying->open == 0 && replaying->sets.open == 0;
    if (!replaying->replay->is_possible)
        return true;
    judge(replaying);
    if (!overlaps_refuse(replaying) ||
        !turned_each(replaying, path_collect, err))
        return false;
    shared_collect(replaying);
    paths_list(replaying->replay);
    return all_each(replaying, change_collect, err) &&
           paths_replay(replaying, err);
}

bool revert_replay_make(struct reverting *reverting, struct replay *ret_replay,
                        struct err *err) {
    const struct revert_steps *steps = reverting->steps;
    struct replaying replaying = {.reverting = reverting, .replay = ret_replay};
    revert_replay_clear(ret_replay);
    for (size_t i = 0; i < steps->count; i++) {
        if (steps->p[i].of[0] == '\0')
            continue;
        replaying.open++;
        branch_sets_seek(&replaying.sets, span_of(steps->p[i].member->id),
                         span_of(steps->p[i].member->sum));
    }
    bool ok = replaying.open == 0 || replay_all(&replaying, err);
    free(replaying.landed);
    free(replaying.shared);
    map_clear(&replaying.by_oid);
    branch_sets_clear(&replaying.sets);
    return ok;
}

void revert_replay_clear(struct replay *replay) {
    for (size_t i = 0; i < replay->count; i++) {
        free(replay->paths[i]->changes);
        text_clear(&replay->paths[i]->content);
    }
    map_clear(&replay->by_path);
    arena_clear(&replay->arena);
    *replay = (struct replay){0};
}

struct replay_path *revert_replay_path_find(const struct replay *replay,
                                            struct span path) {
    return map_get(&replay->by_path, path);
}
