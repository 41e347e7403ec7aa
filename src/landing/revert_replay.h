/* What the members' paths contain once the members are rolled back: the replay
 * of the surviving sets and of everybody's pushes since the oldest member
 * landed (doc/design/rollback.md, R8). Used only by revert*.c.
 *
 * A reverse merge at the tip does not give that result. If C1 was rolled back
 * after C2 had removed its text, the reverse merge of C2 would bring the text
 * back; the replay leaves out both. So the replay begins before the oldest
 * commit that matters: that of a member, or that of a set which a rollback
 * since then has put out of effect or back in effect. */
#ifndef POINTSMAN_LANDING_REVERT_REPLAY_H
#define POINTSMAN_LANDING_REVERT_REPLAY_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/map.h"
#include "landing/history.h"
#include "landing/tree.h"

struct reverting;

enum { REPLAY_KEEPERS = 5 };

struct replay_path {
    struct span path;
    struct tree_entry before, after; /* at the tip; replayed */
    size_t last;         /* index of the step that gives it its final content */
    bool has_step;       /* a commit that is reverted changed it */
    bool is_new;         /* no commit has the content of `after` */
    struct text content; /* then */
    /* The commit that removed what the members had added, so that the replay
     * agrees with the branch from there on; NULL: there is none. */
    const struct history_commit *remover;
    /* Commits whose sets are in effect and have done the same as a set that is
     * reverted: some of them. */
    const struct history_commit *keepers[REPLAY_KEEPERS];
    size_t keeper_count;
    struct replay_change *changes; /* newest first */
    size_t count, cap;
};

struct replay {
    struct arena arena;
    /* False: a member is not on the first-parent line of the branch, or its
     * history has been rewritten. */
    bool is_possible;
    struct map by_path;
    struct replay_path **paths;
    size_t count;
    size_t last_step;
};

/* Replays the paths of all steps that have a commit to revert. False: the
 * attempt has ended, with a conflict that names the sets in the way, or with an
 * error. */
bool revert_replay_make(struct reverting *reverting, struct replay *ret_replay,
                        struct err *err);
void revert_replay_clear(struct replay *replay);
/* NULL: the path is not replayed. */
struct replay_path *revert_replay_path_find(const struct replay *replay,
                                            struct span path);

#endif
