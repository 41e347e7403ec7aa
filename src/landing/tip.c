#include "landing/tip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "landing/branch_tip.h"

/* git found nothing under the name of the branch: either there is no such
 * branch, or what it names cannot be read. Only the first may be followed by
 * the creation of the branch. */
static bool tip_explain(const struct git *git, const char *branch,
                        struct err *err) {
    char oid[OID_BYTES];
    if (!branch_tip_read(git->dir, span_of(branch), oid))
        return err_set(err, ERR_UNAVAILABLE,
                       "branch '%s' of the repository '%s' cannot be read",
                       branch, git->dir);
    return oid[0] == '\0' ||
           err_set(err, ERR_UNAVAILABLE,
                   "the repository '%s' is damaged: branch '%s' names commit "
                   "%s, which is missing",
                   git->dir, branch, oid);
}

bool tip_read(struct git_pipe *objects, const char *branch,
              char ret_oid[OID_BYTES], char ret_tree[OID_BYTES],
              struct err *err) {
    CLEANUP(text_clear) struct text ref = TEXT_INIT;
    CLEANUP(text_clear) struct text content = TEXT_INIT;
    const struct git *git = objects->git;
    char oid[OID_BYTES], tree[OID_BYTES], type[16] = "";
    bool found;
    ret_oid[0] = ret_tree[0] = '\0';
    text_addf(&ref, "refs/heads/%s", branch);
    if (!git_object_read(objects, text_string(&ref), oid, type, &content,
                         &found, err))
        return false;
    if (!found)
        return tip_explain(git, branch, err);
    if (strcmp(type, "commit") != 0 ||
        sscanf(text_string(&content), "tree %64s", tree) != 1)
        return err_set(err, ERR_UNAVAILABLE,
                       "branch '%s' of the repository '%s' names a %s (%.12s), "
                       "not a commit",
                       branch, git->dir, type, oid);
    memcpy(ret_oid, oid, OID_BYTES);
    memcpy(ret_tree, tree, OID_BYTES);
    return true;
}

/* The object names that a git rev-list prints. */
struct listing {
    struct git_lookup *lookups;
    char (*names)[OID_BYTES];
    size_t count, room;
};

static void listing_clear(struct listing *listing) {
    free(listing->lookups);
    free(listing->names);
}

static bool listing_read(struct listing *listing, struct git *git,
                         const char *const *args, struct err *err) {
    CLEANUP(git_pipe_drop) struct git_pipe list = {0};
    char line[OID_BYTES + 2];
    if (!git_pipe_open(git, args, GIT_PLAIN, &list, err))
        return false;
    while (fgets(line, sizeof line, list.out) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (!git_oid_is_valid(span_of(line)))
            continue;
        if (listing->count == listing->room) {
            listing->room = listing->room == 0 ? 64 : 2 * listing->room;
            listing->names =
                mem_grow(listing->names, listing->room, sizeof *listing->names);
        }
        memcpy(listing->names[listing->count++], line, OID_BYTES);
    }
    return git_pipe_close(&list, err);
}

/* The rev-list has read the directories; `whole`: read all objects. */
static bool listing_verify(struct listing *listing, struct git *git, bool whole,
                           struct err *err) {
    struct git_pipe objects;
    size_t bad;
    listing->lookups =
        mem_grow(NULL, listing->count + 1, sizeof *listing->lookups);
    for (size_t i = 0; i < listing->count; i++)
        listing->lookups[i] =
            (struct git_lookup){.oid = listing->names[i], .whole = whole};
    if (!git_objects_open(git, &objects, err))
        return false;
    bool ok = git_objects_verify(&objects, listing->lookups, listing->count,
                                 &bad, err);
    git_pipe_drop(&objects);
    return ok && (bad == listing->count ||
                  err_set(err, ERR_UNAVAILABLE,
                          "the repository is damaged: object %s is missing",
                          listing->names[bad]));
}

bool tip_verify(struct git *git, const char *commit, enum tip_part part,
                struct err *err) {
    CLEANUP(listing_clear) struct listing listing = {0};
    char change[OID_BYTES + 2];
    snprintf(change, sizeof change, "%s^!", commit);
    const char *what = part == TIP_CHANGE ? change : commit;
    if (listing_read(&listing, git,
                     GIT_ARGS("rev-list", "--objects", "--no-object-names",
                              part == TIP_CHANGE ? "--do-walk" : "--no-walk",
                              what, "--"),
                     err) &&
        listing_verify(&listing, git, part != TIP_NAMES, err))
        return true;
    /* An object that git cannot read, whatever it says about it. */
    if (err != NULL && err->kind == ERR_CANNOT)
        err->kind = ERR_UNAVAILABLE;
    return err_wrap(err, "cannot read commit %.12s completely", commit);
}
