#include "landing/tree_compare.h"

#include <stdlib.h>
#include <string.h>

#include "landing/path_merge.h"
#include "wire/path.h"

struct comparison {
    struct trees *trees;
    const struct tree_edit *edits;
    size_t count;
    struct text path; /* of the directory being compared, with a slash */
    struct text *found;
};

static int edit_compare(const void *key, const void *edit) {
    return path_compare(*(const struct span *)key,
                        ((const struct tree_edit *)edit)->path);
}

static void file_differs(struct comparison *comparison) {
    struct span path = text_span(&comparison->path);
    if (comparison->count == 0 ||
        bsearch(&path, comparison->edits, comparison->count,
                sizeof *comparison->edits, edit_compare) == NULL)
        text_addspan(comparison->found, path);
}

static bool compare_level(struct comparison *comparison, const char *before,
                          const char *after, struct err *err);

/* Two entries of one name; an absent one has mode 0. A file that became a
 * directory, or the other way round, is a difference of the file itself and of
 * everything below it. */
static bool compare_entry(struct comparison *comparison, struct span name,
                          const struct tree_entry *before,
                          const struct tree_entry *after, struct err *err) {
    bool was_tree = before->mode == MODE_TREE,
         is_tree = after->mode == MODE_TREE;
    size_t kept = comparison->path.len;
    bool ok = true;
    if (path_entry_same(before, after))
        return true;
    text_addspan(&comparison->path, name);
    if ((before->mode != 0 && !was_tree) || (after->mode != 0 && !is_tree))
        file_differs(comparison);
    if (comparison->found->len == 0 && (was_tree || is_tree)) {
        text_addc(&comparison->path, '/');
        ok = compare_level(comparison, was_tree ? before->oid : "",
                           is_tree ? after->oid : "", err);
    }
    comparison->path.len = kept;
    return ok;
}

static bool compare_level(struct comparison *comparison, const char *before,
                          const char *after, struct err *err) {
    static const struct tree_entry none;
    const struct tree *old, *new;
    if (!tree_read(comparison->trees, before, &old, err) ||
        !tree_read(comparison->trees, after, &new, err))
        return false;
    for (size_t o = 0, n = 0;
         comparison->found->len == 0 && (o < old->count || n < new->count);) {
        int order = o == old->count   ? 1
                    : n == new->count ? -1
                                      : span_compare(old->entries[o].name,
                                                     new->entries[n].name);
        const struct tree_entry *was = order <= 0 ? &old->entries[o++] : &none;
        const struct tree_entry *is = order >= 0 ? &new->entries[n++] : &none;
        if (!compare_entry(comparison, order <= 0 ? was->name : is->name, was,
                           is, err))
            return false;
    }
    return true;
}

bool tree_compare(struct trees *trees, const char *before, const char *after,
                  const struct tree_edit *edits, size_t count,
                  struct text *ret_path, struct err *err) {
    struct comparison comparison = {.trees = trees,
                                    .edits = edits,
                                    .count = count,
                                    .path = TEXT_INIT,
                                    .found = ret_path};
    bool ok = strcmp(before, after) == 0 ||
              compare_level(&comparison, before, after, err);
    text_clear(&comparison.path);
    return ok;
}
