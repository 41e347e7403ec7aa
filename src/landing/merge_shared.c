#include "landing/merge_shared.h"

#include <string.h>

#include "landing/branch_log.h"
#include "landing/history.h"
#include "landing/land.h"

enum { LINES_MOST = 100 }; /* of CS-Contains in one commit */

/* The values of `paths`. */
static char part_of, all_of;

/* ---- paths --------------------------------------------------------------- */

/* If nothing is shared, taking the branch's change out of the result leaves the
 * set's own. If that conflicts, the replay without that change conflicts too,
 * and nothing is lost. */
static bool is_shared(struct path_merge *merge, const struct tree_entry *base,
                      const struct tree_entry *ours,
                      const struct tree_entry *theirs,
                      const struct tree_entry *merged, bool *ret_shared,
                      struct err *err) {
    struct tree_entry without;
    enum path_merged result;
    *ret_shared = true;
    if (path_entry_same(merged, ours))
        return true;
    bool in_memory = merge->is_in_memory;
    merge->is_in_memory = true;
    bool ok = path_merge(merge, ours, merged, base, &without, &result, err);
    merge->is_in_memory = in_memory;
    *ret_shared = result == PATH_CLEAN && !path_entry_same(&without, theirs);
    return ok;
}

bool merge_shared_note(struct merge_shared *shared, struct path_merge *merge,
                       struct span path, const struct tree_entry *base,
                       const struct tree_entry *ours,
                       const struct tree_entry *theirs,
                       const struct tree_entry *merged, struct err *err) {
    bool found;
    if (path_entry_same(base, ours) || path_entry_same(base, theirs))
        return true;
    if (!is_shared(merge, base, ours, theirs, merged, &found, err))
        return false;
    if (found)
        map_put(&shared->paths, arena_span(&shared->arena, path),
                path_entry_same(merged, theirs) ? &all_of : &part_of);
    return true;
}

/* ---- sets ---------------------------------------------------------------- */

struct finding {
    struct merge_shared *shared;
    struct map sets;     /* commit -> struct history_shared with the set that
                            made it */
    struct map overlaps; /* of these, by "ID SUM" */
    struct text lines;   /* CS-Contains */
    size_t line_count;
    size_t stack_met; /* sets of the stack whose commits were met */
};

static bool is_below(const struct merge_shared *shared, struct span id,
                     struct span sum) {
    for (size_t i = 0; i < shared->stack_count; i++)
        if (span_is(id, shared->stack[i].id) &&
            span_is(sum, shared->stack[i].sum))
            return true;
    return false;
}

static bool commit_note(void *ctx, const struct history_commit *commit) {
    struct finding *finding = ctx;
    struct arena *arena = &finding->shared->arena;
    struct span rest = commit->trailers, by;
    const struct merge_shared *shared = finding->shared;
    if (strcmp(commit->oid, shared->base) == 0)
        return false;
    if (is_below(shared, commit->csid, commit->sum))
        return ++finding->stack_met < shared->stack_count ||
               shared->base[0] != '\0';
    if (commit->csid.len == 0 || commit->sum.len == 0 ||
        history_trailer(&rest, "RB-Id", &by))
        return true;
    struct history_shared *set = arena_alloc(arena, sizeof *set);
    *set = (struct history_shared){.id = arena_span(arena, commit->csid),
                                   .sum = arena_span(arena, commit->sum)};
    map_put(&finding->sets, arena_span(arena, span_of(commit->oid)), set);
    return true;
}

static bool change_note(void *ctx, const struct branch_change *change) {
    struct finding *finding = ctx;
    struct history_shared *set = map_get(&finding->sets, change->commit);
    const char *how = map_get(&finding->shared->paths, change->path);
    if (set == NULL || how == NULL)
        return true;
    /* A trailer does not keep blanks at its end. */
    bool fits = span_trim(change->path).len == change->path.len;
    if (how == &all_of && fits && finding->line_count++ < LINES_MOST) {
        struct history_shared contains = *set;
        contains.path = change->path;
        history_shared_add(&contains, &finding->lines);
        return true;
    }
    struct arena *arena = &finding->shared->arena;
    const char *key = arena_printf(arena, "%.*s %.*s", (int)set->id.len,
                                   set->id.p, (int)set->sum.len, set->sum.p);
    map_put(&finding->overlaps, span_of(key), set);
    return true;
}

static void trailers_make(struct finding *finding) {
    struct text *out = &finding->shared->trailers;
    size_t cursor = 0;
    void *set;
    text_addspan(out, text_span(&finding->lines));
    while (map_next(&finding->overlaps, &cursor, NULL, &set))
        history_shared_add(set, out);
}

bool merge_shared_find(struct merge_shared *shared, struct git *git,
                       const char *tip, struct err *err) {
    CLEANUP(text_clear) struct text commits = TEXT_INIT;
    struct finding finding = {.shared = shared};
    if (map_count(&shared->paths) == 0)
        return true;
    text_addf(&commits, "%s\n", tip);
    text_reset(&shared->trailers);
    if (shared->base[0] != '\0')
        text_addf(&commits, "^%s\n", shared->base);
    bool ok = history_walk_first_parent(git, tip, commit_note, &finding, err) &&
              (map_count(&finding.sets) == 0 ||
               branch_log_each(git, "--do-walk", &commits, change_note,
                               &finding, err));
    if (ok)
        trailers_make(&finding);
    map_clear(&finding.sets);
    map_clear(&finding.overlaps);
    text_clear(&finding.lines);
    return ok;
}

void merge_shared_clear(struct merge_shared *shared) {
    map_clear(&shared->paths);
    arena_clear(&shared->arena);
    text_clear(&shared->trailers);
    *shared = (struct merge_shared){0};
}
