#include "serve/land.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/dir.h"
#include "serve/commit.h"
#include "serve/git.h"
#include "serve/history.h"
#include "serve/land_work.h"
#include "serve/merge.h"
#include "serve/ref_move.h"
#include "serve/set_blobs.h"
#include "serve/target_command.h"

/* A branch others push to without end is left alone for a while. */
enum { TRIES = 5 };

/* One attempt. A step answers true to go on; false ends the attempt, with
 * `status` set or, when `settled` is false, with `err` saying why. */
struct landing {
    const struct land_order *order;
    struct stop *stop;
    struct land_status *status;
    bool settled;
    struct git git;
    struct land_work work;
    struct arena arena;
    struct set_blobs set;
    struct merge merge;
    char checked_tree[OID_BYTES]; /* passed the checks */
};

static bool settle(struct landing *landing, enum land_verdict verdict,
                   const char *reason, struct span text) {
    land_status_set(landing->status, verdict, reason, text);
    landing->settled = true;
    return false;
}

static bool settle_oid(struct landing *landing, enum land_verdict verdict,
                       const char *oid) {
    return settle(landing, verdict, "", span_of(oid));
}

/* An error that no step made a verdict of. */
static void settle_error(struct landing *landing, const struct err *err) {
    land_status_of_error(landing->status, err, stop_asked(landing->stop) != 0);
    landing->settled = true;
}

static bool go_on(struct landing *landing) {
    return stop_asked(landing->stop) == 0 ||
           settle(landing, LAND_STOPPED, "", SPAN(""));
}

static bool refuse_checked_out(struct landing *landing, struct err *err) {
    CLEANUP(text_clear) struct text why = TEXT_INIT;
    if (!ref_checked_out(&landing->git, landing->order->branch, &why, err))
        return false;
    return why.len == 0 ||
           settle(landing, LAND_FAILED, "policy", text_span(&why));
}

/* Is the set on the branch? */
static bool probe(struct landing *landing, struct err *err) {
    const struct land_order *order = landing->order;
    char oid[OID_BYTES] = "";
    if (!merge_read_tip(&landing->merge, err))
        return false;
    if (landing->merge.tip[0] != '\0' &&
        !history_find_set(&landing->git, landing->merge.tip, span_of(order->id),
                          span_of(order->sum), order->admitted, oid, err))
        return false;
    if (oid[0] != '\0') {
        printf("%s is on %s already: %s\n", order->id, order->branch, oid);
        return settle_oid(landing, order->probe ? LAND_LANDED : LAND_ALREADY,
                          oid);
    }
    if (order->probe)
        return settle(landing, LAND_NOT_LANDED, "", SPAN(""));
    return true;
}

static bool tarball_open(const struct land_order *order, int *ret_fd,
                         struct err *err) {
    *ret_fd = open(order->tarball, O_RDONLY | O_CLOEXEC);
    return *ret_fd >= 0 || err_errno(err, errno, "cannot read the tarball '%s'",
                                     order->tarball);
}

static bool load(struct landing *landing, struct err *err) {
    const struct land_order *order = landing->order;
    CLEANUP(fd_close) int fd = -1;
    if (!tarball_open(order, &fd, err) ||
        !set_blobs_load(&landing->git, fd, span_of(order->sum), order->symlinks,
                        &landing->arena, &landing->set, err))
        return false;
    printf("%zu files, %zu deleted\n", landing->set.check.member_count,
           landing->set.count - landing->set.check.member_count);
    return true;
}

static bool merge(struct landing *landing, struct err *err) {
    if (!merge_make(&landing->merge, err))
        return false;
    struct span why = text_span(&landing->merge.why);
    if (landing->merge.result == MERGE_CONFLICT)
        return settle(landing, LAND_CONFLICT, "", why);
    if (landing->merge.result == MERGE_REFUSED)
        return settle(landing, LAND_FAILED, "policy", why);
    if (strcmp(landing->merge.tree, landing->merge.tip_tree) == 0)
        printf("it changes nothing that the branch does not have\n");
    return true;
}

static bool check(struct landing *landing, struct err *err) {
    const char *tree = landing->merge.tree;
    bool pass = true;
    if (strcmp(landing->checked_tree, tree) == 0)
        return true;
    if (!checks_run(landing->order, &landing->git, tree, landing->stop, &pass,
                    landing->status, err))
        return false;
    landing->settled = !pass;
    memcpy(landing->checked_tree, tree, OID_BYTES);
    return pass;
}

static bool commit(struct landing *landing, char ret_oid[OID_BYTES],
                   struct err *err) {
    const struct land_order *order = landing->order;
    const struct meta *meta = &landing->set.check.meta;
    struct wall now = clock_wall();
    bool dated = meta->date.len > 0;
    struct commit_draft draft = {
        .tree = landing->merge.tree,
        .parent = landing->merge.tip,
        .author =
            meta->author.len > 0 ? meta->author : span_of(order->submitter),
        .authored = dated ? meta->date_wall : now,
        .author_zone_min = dated ? date_zone_min(meta->date) : 0,
        .committer = span_of(order->committer),
        .committed = now,
        .message = meta->message,
        .csid = span_of(order->id),
        .sum = span_of(order->sum),
        .class = span_of(order->class),
        .approved_by = order->approved_by,
        .approved_count = order->approved_count};
    CLEANUP(text_clear) struct text object = TEXT_INIT;
    commit_format(&draft, &object);
    return git_run_oid(&landing->git,
                       GIT_ARGS("hash-object", "-t", "commit", "-w", "--stdin"),
                       GIT_PLAIN, text_span(&object), ret_oid, err);
}

/* *ret_lost: begin again. */
static bool move(struct landing *landing, const char *oid, bool *ret_lost,
                 struct err *err) {
    enum ref_moved moved;
    CLEANUP(text_clear) struct text message = TEXT_INIT;
    text_addf(&message, "pointsman: land %s", landing->order->id);
    if (!ref_move(&landing->git, landing->work.parent, landing->order->branch,
                  landing->merge.tip, oid, text_string(&message), &moved, err))
        return false;
    *ret_lost = moved == REF_LOST;
    if (moved == REF_STOPPED)
        return settle(landing, LAND_STOPPED, "", SPAN(""));
    if (moved == REF_LOST)
        printf("somebody moved %s meanwhile\n", landing->order->branch);
    else
        printf("%s is now %s\n", landing->order->branch, oid);
    return moved == REF_LOST || settle_oid(landing, LAND_DONE, oid);
}

/* From looking at the branch to moving it. */
static bool try_once(struct landing *landing, bool *ret_lost, struct err *err) {
    char oid[OID_BYTES];
    const char *tip = landing->merge.tip;
    printf("branch %s is at %s\n", landing->order->branch,
           tip[0] != '\0' ? tip : "nothing: this set begins it");
    return merge(landing, err) && go_on(landing) && check(landing, err) &&
           go_on(landing) && commit(landing, oid, err) && go_on(landing) &&
           move(landing, oid, ret_lost, err);
}

static bool land_on_git(struct landing *landing, struct err *err) {
    const struct land_order *order = landing->order;
    if (!git_open(order->git, order->work, landing->stop, &landing->git, err))
        return false;
    landing->merge.git = &landing->git;
    landing->merge.order = order;
    landing->merge.set = &landing->set;
    /* A set that has landed may have left locks too; but that it has is worth
     * more than what stands in the way of others. */
    struct err locked = {0};
    bool free_to_move = ref_unlock_stale(&landing->git, landing->work.parent,
                                         order->branch, &locked);
    if (!probe(landing, err) || !refuse_checked_out(landing, err))
        return false;
    if (!free_to_move) {
        *err = locked;
        return false;
    }
    if (!go_on(landing) || !load(landing, err))
        return false;
    for (int i = 0; i < TRIES; i++) {
        bool lost = false;
        if (i > 0 && !probe(landing, err))
            return false;
        if (!try_once(landing, &lost, err))
            return false;
    }
    return settle(landing, LAND_TEMPORARY, "",
                  SPAN("others keep moving the branch"));
}

static bool land_by_command(struct landing *landing, struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    /* Nobody but the command could tell. */
    if (landing->order->probe)
        return settle(landing, LAND_NOT_LANDED, "", SPAN(""));
    if (!tarball_open(landing->order, &fd, err) ||
        !target_command_run(landing->order, fd, landing->stop, landing->status,
                            err))
        return false;
    landing->settled = true;
    return false;
}

static bool land_in(struct landing *landing, struct err *err) {
    return landing->order->command != NULL ? land_by_command(landing, err)
                                           : land_on_git(landing, err);
}

void land_run(const struct land_order *order, struct stop *stop,
              struct land_status *ret_status) {
    struct landing landing = {
        .order = order, .stop = stop, .status = ret_status};
    struct err err = {0};
    printf("landing %s (%s) on %s\n", order->id, order->class, order->target);
    if (land_work_open(&landing.work, order->work, &err))
        land_in(&landing, &err);
    land_work_close(&landing.work);
    if (!landing.settled)
        settle_error(&landing, &err);
    merge_clear(&landing.merge);
    git_close(&landing.git);
    arena_clear(&landing.arena);
}
