#include "landing/tree.h"

#include <stdlib.h>
#include <string.h>

#include "landing/objects_apart.h"

enum { MODE_COMMIT = 0160000 };

bool trees_open(struct git *git, struct trees *ret_trees, struct err *err) {
    *ret_trees = (struct trees){.git = git};
    return git_objects_open(git, &ret_trees->objects, err);
}

void trees_drop(struct trees *trees) {
    git_pipe_drop(&trees->objects);
    arena_clear(&trees->arena);
    map_clear(&trees->known);
    map_clear(&trees->sound);
    trees->known = trees->sound = MAP_INIT;
}

static void oid_hex(const unsigned char *raw, size_t bytes,
                    char ret[OID_BYTES]) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < bytes; i++) {
        ret[2 * i] = digits[raw[i] >> 4];
        ret[2 * i + 1] = digits[raw[i] & 15];
    }
    ret[2 * bytes] = '\0';
}

static void oid_raw(const char *oid, struct text *out) {
    for (; oid[0] != '\0' && oid[1] != '\0'; oid += 2) {
        const char digits[] = {oid[0], oid[1], '\0'};
        text_addc(out, (char)strtoul(digits, NULL, 16));
    }
}

static int entry_compare(const void *a, const void *b) {
    const struct tree_entry *left = a, *right = b;
    return span_compare(left->name, right->name);
}

/* A tree's bytes are records "MODE NAME\0" and the raw object name. */
static bool tree_decode(struct span raw, size_t oid_bytes, struct arena *arena,
                        struct tree *ret_tree) {
    size_t room = 0;
    while (raw.len > 0) {
        const char *nul = memchr(raw.p, '\0', raw.len);
        const char *blank = memchr(raw.p, ' ', raw.len);
        if (nul == NULL || blank == NULL || blank > nul ||
            (size_t)(raw.p + raw.len - nul - 1) < oid_bytes)
            return false;
        if (ret_tree->count == room) {
            room = room == 0 ? 16 : room * 2;
            struct tree_entry *more = arena_alloc(arena, room * sizeof *more);
            if (ret_tree->count > 0)
                memcpy(more, ret_tree->entries, ret_tree->count * sizeof *more);
            ret_tree->entries = more;
        }
        struct tree_entry *entry = &ret_tree->entries[ret_tree->count++];
        entry->mode = (unsigned)strtoul(raw.p, NULL, 8);
        entry->name =
            arena_span(arena, span_make(blank + 1, (size_t)(nul - blank - 1)));
        oid_hex((const unsigned char *)nul + 1, oid_bytes, entry->oid);
        const char *next = nul + 1 + oid_bytes;
        raw = span_make(next, (size_t)(raw.p + raw.len - next));
    }
    /* By name alone, for bsearch; a tree's own order differs (entry_order). */
    if (ret_tree->count > 1)
        qsort(ret_tree->entries, ret_tree->count, sizeof *ret_tree->entries,
              entry_compare);
    return true;
}

bool tree_read(struct trees *trees, const char *oid,
               const struct tree **ret_tree, struct err *err) {
    static const struct tree empty = {0};
    *ret_tree = &empty;
    if (oid[0] == '\0')
        return true;
    struct tree *tree = map_get(&trees->known, span_of(oid));
    if (tree == NULL) {
        CLEANUP(text_clear) struct text raw = TEXT_INIT;
        char name[OID_BYTES], type[16] = "";
        bool found;
        if (!git_object_read(&trees->objects, oid, name, type, &raw, &found,
                             err))
            return false;
        tree = arena_alloc(&trees->arena, sizeof *tree);
        if (!found || strcmp(type, "tree") != 0 ||
            !tree_decode(text_span(&raw), strlen(oid) / 2, &trees->arena, tree))
            return err_set(err, ERR_UNAVAILABLE,
                           "the repository is damaged: tree %s is missing",
                           oid);
        map_put(&trees->known, span_of(oid), tree);
    }
    *ret_tree = tree;
    return true;
}

static const struct tree_entry *tree_entry(const struct tree *tree,
                                           struct span name) {
    struct tree_entry key = {.name = name};
    return tree->count == 0 ? NULL
                            : bsearch(&key, tree->entries, tree->count,
                                      sizeof key, entry_compare);
}

bool tree_find(struct trees *trees, const char *root, struct span path,
               struct tree_entry *ret_entry, struct err *err) {
    *ret_entry = (struct tree_entry){0};
    char at[OID_BYTES];
    snprintf(at, sizeof at, "%s", root);
    struct span part;
    while (span_cut(&path, '/', &part)) {
        const struct tree *tree;
        if (!tree_read(trees, at, &tree, err))
            return false;
        const struct tree_entry *entry = tree_entry(tree, part);
        if (entry == NULL || (path.p != NULL && entry->mode != MODE_TREE))
            return true;
        if (path.p == NULL)
            *ret_entry = *entry;
        snprintf(at, sizeof at, "%s", entry->oid);
    }
    return true;
}

/* The state of one call of tree_apply. */
struct apply {
    struct trees *trees;
    const struct tree_edit *edits;
    enum tree_clash *clashes;
    bool missing_is_fine;
    bool only_check; /* writes nothing */
    bool fits;
};

static void clash(struct apply *apply, size_t edit, enum tree_clash why) {
    apply->clashes[edit] = why;
    apply->fits = false;
}

/* The component of edit `i` at `depth_bytes`; *ret_leaf: it is the last one. */
static struct span edit_part(const struct apply *apply, size_t i,
                             size_t depth_bytes, bool *ret_leaf) {
    struct span rest = apply->edits[i].path, part;
    rest = span_make(rest.p + depth_bytes, rest.len - depth_bytes);
    span_cut(&rest, '/', &part);
    *ret_leaf = rest.p == NULL;
    return part;
}

/* The entries of a tree that is being made. */
struct draft {
    struct tree_entry *entries;
    size_t count, cap;
    size_t edited; /* the first entries; the others are unchanged */
};

static void draft_clear(struct draft *draft) {
    free(draft->entries);
}

static void draft_add(struct draft *draft, const struct tree_entry *entry) {
    if (draft->count == draft->cap) {
        draft->cap = draft->cap > 0 ? 2 * draft->cap : 16;
        draft->entries =
            mem_grow(draft->entries, draft->cap, sizeof *draft->entries);
    }
    draft->entries[draft->count++] = *entry;
}

/* The byte at `i` of a name in the sort order of trees: a directory's name ends
 * with a slash. */
static int order_byte(const struct tree_entry *entry, size_t i) {
    if (i < entry->name.len)
        return (unsigned char)entry->name.p[i];
    return i == entry->name.len && entry->mode == MODE_TREE ? '/' : 0;
}

static int entry_order(const void *a, const void *b) {
    const struct tree_entry *left = a, *right = b;
    size_t least =
        left->name.len < right->name.len ? left->name.len : right->name.len;
    int order = least > 0 ? memcmp(left->name.p, right->name.p, least) : 0;
    if (order == 0)
        order = order_byte(left, least) - order_byte(right, least);
    return order;
}

static bool damaged(const struct git_lookup *lookup, struct span dir,
                    struct span name, struct err *err) {
    return err_set(err, ERR_UNAVAILABLE,
                   "the repository is damaged: %s %s of '%.*s%.*s' is missing "
                   "or cannot be read",
                   lookup->type, lookup->oid, (int)dir.len, dir.p,
                   (int)name.len, name.p);
}

/* A tree may name only objects that exist. The content of an edit is read
 * whole; for the other entries only the header is, because reading more would
 * take time in proportion to the repository. They are skipped if they come from
 * a tree that is sound. `dir` is for the message. */
static bool draft_verify(struct trees *trees, const struct draft *draft,
                         bool sound, struct span dir, struct err *err) {
    size_t count = 0, bad, look_at = sound ? draft->edited : draft->count;
    struct git_lookup *lookups =
        mem_grow(NULL, draft->count + 1, sizeof *lookups);
    struct span *names = mem_grow(NULL, draft->count + 1, sizeof *names);
    for (size_t i = 0; i < look_at; i++) {
        const struct tree_entry *entry = &draft->entries[i];
        bool is_tree = entry->mode == MODE_TREE;
        if (entry->mode == MODE_COMMIT) /* a commit of another repository */
            continue;
        names[count] = entry->name;
        lookups[count++] =
            (struct git_lookup){.oid = entry->oid,
                                .type = is_tree ? "tree" : "blob",
                                .whole = i < draft->edited && !is_tree};
    }
    struct err why = {0};
    bool ok = git_objects_verify(&trees->objects, lookups, count, &bad, &why);
    if (!ok && (bad == count || why.kind != ERR_CANNOT))
        *err = why;
    else if (bad < count)
        ok = damaged(&lookups[bad], dir, names[bad], err);
    free(names);
    free(lookups);
    return ok;
}

static void draft_encode(struct draft *draft, struct text *out) {
    if (draft->count > 1)
        qsort(draft->entries, draft->count, sizeof *draft->entries,
              entry_order);
    for (size_t i = 0; i < draft->count; i++) {
        text_addf(out, "%o ", draft->entries[i].mode);
        text_addspan(out, draft->entries[i].name);
        text_addc(out, '\0');
        oid_raw(draft->entries[i].oid, out);
    }
}

static bool tree_make(struct trees *trees, struct draft *draft,
                      char ret_oid[OID_BYTES], struct err *err) {
    CLEANUP(text_clear) struct text bytes = TEXT_INIT;
    draft_encode(draft, &bytes);
    if (!objects_apart_write(trees->git, "tree", text_span(&bytes), ret_oid,
                             err))
        return false;
    map_put(&trees->sound, span_of(ret_oid), trees);
    return true;
}

static bool apply_level(struct apply *apply, const char *oid, size_t from,
                        size_t to, size_t depth_bytes, char ret_oid[OID_BYTES],
                        struct err *err);

/* Applies all edits of one name in a directory: perhaps one for the name
 * itself, then those below it. *ret_entry: the resulting entry, mode 0 = none.
 */
static bool apply_name(struct apply *apply, const struct tree_entry *old,
                       size_t from, size_t to, size_t depth_bytes,
                       struct tree_entry *ret_entry, struct err *err) {
    bool leaf;
    struct span name = edit_part(apply, from, depth_bytes, &leaf);
    const struct tree_edit *edit = leaf ? &apply->edits[from] : NULL;
    size_t below = leaf ? from + 1 : from;
    bool was_tree = old != NULL && old->mode == MODE_TREE;
    if (edit != NULL && edit->mode == 0 && (old == NULL || was_tree) &&
        !(apply->missing_is_fine && old == NULL))
        clash(apply, from, old == NULL ? TREE_MISSING : TREE_DIRECTORY);
    if (old != NULL && !was_tree && edit == NULL)
        for (size_t i = below; i < to; i++)
            clash(apply, i, TREE_FILE);

    *ret_entry = (struct tree_entry){.name = name};
    bool file_stays = old != NULL && !was_tree && edit == NULL;
    if (below < to && !file_stays) {
        ret_entry->mode = MODE_TREE;
        if (!apply_level(apply, was_tree ? old->oid : "", below, to,
                         depth_bytes + name.len + 1, ret_entry->oid, err))
            return false;
        if (ret_entry->oid[0] == '\0')
            ret_entry->mode = 0;
    } else if (was_tree) {
        *ret_entry = *old;
    }
    if (edit != NULL && edit->mode != 0) {
        if (ret_entry->mode != 0)
            clash(apply, from, TREE_DIRECTORY);
        ret_entry->mode = edit->mode;
        memcpy(ret_entry->oid, edit->oid, OID_BYTES);
    }
    return true;
}

/* Applies edits [from, to), which lie in the directory `oid`. *ret_oid: "" if
 * the directory becomes empty. */
static bool apply_level(struct apply *apply, const char *oid, size_t from,
                        size_t to, size_t depth_bytes, char ret_oid[OID_BYTES],
                        struct err *err) {
    const struct tree *tree;
    if (!tree_read(apply->trees, oid, &tree, err))
        return false;
    CLEANUP(draft_clear) struct draft draft = {0};
    CLEANUP(map_clear) struct map touched = MAP_INIT;
    for (size_t i = from; i < to;) {
        bool leaf;
        struct span name = edit_part(apply, i, depth_bytes, &leaf);
        size_t end = i + 1;
        while (end < to &&
               span_equal(edit_part(apply, end, depth_bytes, &leaf), name))
            end++;
        struct tree_entry entry;
        if (!apply_name(apply, tree_entry(tree, name), i, end, depth_bytes,
                        &entry, err))
            return false;
        if (entry.mode != 0)
            draft_add(&draft, &entry);
        map_put(&touched, name, apply);
        i = end;
    }
    draft.edited = draft.count;
    for (size_t i = 0; i < tree->count; i++)
        if (map_get(&touched, tree->entries[i].name) == NULL)
            draft_add(&draft, &tree->entries[i]);
    ret_oid[0] = '\0';
    if (!apply->fits || (draft.count == 0 && depth_bytes > 0))
        return true;
    if (apply->only_check) {
        memcpy(ret_oid, "?", sizeof "?"); /* the directory is not empty */
        return true;
    }
    struct span dir =
        span_make(from < to ? apply->edits[from].path.p : "", depth_bytes);
    bool sound = map_get(&apply->trees->sound, span_of(oid)) != NULL;
    return draft_verify(apply->trees, &draft, sound, dir, err) &&
           tree_make(apply->trees, &draft, ret_oid, err);
}

bool tree_apply(struct trees *trees, const char *root,
                const struct tree_edit *edits, size_t count,
                bool missing_is_fine, enum tree_clash *clashes,
                char ret_oid[OID_BYTES], bool *ret_fits, struct err *err) {
    struct apply apply = {.trees = trees,
                          .edits = edits,
                          .clashes = clashes,
                          .missing_is_fine = missing_is_fine,
                          .only_check = ret_oid == NULL,
                          .fits = true};
    char unused[OID_BYTES];
    memset(clashes, 0, count * sizeof *clashes);
    bool ok = apply_level(&apply, root, 0, count, 0,
                          ret_oid != NULL ? ret_oid : unused, err);
    *ret_fits = apply.fits;
    return ok;
}
