#include "core/node_pass_inner.h"

#include <assert.h>
#include <stdlib.h>

const struct node_tree *node_pass_tree(const struct node_pass *pass) {
    return &pass->tree;
}

static void place_add(struct node_pass *pass, unsigned level, struct span name,
                      uint32_t parent, bool enabled, struct span tags) {
    struct node_moved moved;
    uint32_t place =
        node_tree_add(&pass->tree, level, name, parent, enabled, tags, &moved);
    struct node *node = &pass->tree.nodes[pass->tree.places[place].node];

    node->host = node_workers_find_host(&pass->workers, name);
    LIST_EACH (&pass->jobs, it)
        if (JOB_OF(it)->is_open)
            node_job_place_added(&JOB_OF(it)->job, place, &moved);
        else
            node_job_make_room(&JOB_OF(it)->job);
    LIST_EACH (&pass->jobs, it) {
        struct node_pass_job *job = JOB_OF(it);
        if (job->is_open && job->job.spec.level == level &&
            !node_job_is_own(&job->job))
            node_pass_review_task(pass, job, node->row);
        node_pass_touch(pass, job);
    }
}

/* Adds below `to` what is below `from`, a place of the same node. */
static void copy_below(struct node_pass *pass, uint32_t from, uint32_t to) {
    const struct node_tree *tree = &pass->tree;

    for (unsigned l = tree->places[from].level + 1u; l < tree->level_count;
         l++) {
        const struct node_kids *kids =
            node_tree_kids(tree, &tree->places[from], l);
        for (uint32_t i = 0; kids != NULL && i < kids->room; i++) {
            uint32_t kid = node_tree_slot(tree, l, kids->base + i);
            uint32_t node, copy;
            if (kid == NODE_NONE)
                continue;
            node = tree->places[kid].node;
            place_add(pass, l, node_tree_name(tree, node), to,
                      tree->places[kid].enabled, node_tree_tags(tree, kid));
            copy = node_tree_place_below(tree, node, to);
            copy_below(pass, kid, copy);
            kids = node_tree_kids(tree, &tree->places[from], l);
        }
    }
}

static void place_set(struct node_pass *pass, uint32_t place, bool enabled,
                      struct span tags) {
    LIST_EACH (&pass->jobs, it)
        if (JOB_OF(it)->is_open)
            node_job_place_changes(&JOB_OF(it)->job, place);
    pass->tree.places[place].tags = node_tree_tag_number(&pass->tree, tags);
    pass->tree.places[place].enabled = enabled;
    LIST_EACH (&pass->jobs, it) {
        if (JOB_OF(it)->is_open)
            node_job_place_changed(&JOB_OF(it)->job, place);
        node_pass_touch(pass, JOB_OF(it));
    }
    pass->runs_stale = true;
}

static enum node_put put_below(struct node_pass *pass, unsigned level,
                               struct span name, uint32_t parent, bool enabled,
                               struct span tags) {
    struct node_tree *tree = &pass->tree;
    uint32_t node = node_tree_find(tree, name);
    uint32_t place = node == NODE_NONE
                         ? NODE_NONE
                         : node_tree_place_below(tree, node, parent);
    uint32_t other = node == NODE_NONE ? NODE_NONE : tree->nodes[node].places;

    if (place == NODE_NONE) {
        place_add(pass, level, name, parent, enabled, tags);
        if (other != NODE_NONE)
            copy_below(pass, other, node_tree_place_below(tree, node, parent));
        pass->runs_stale = true;
        return NODE_PUT_ADDED;
    }
    if (tree->places[place].enabled == enabled &&
        span_equal(node_tree_tags(tree, place), tags))
        return NODE_PUT_SAME;
    place_set(pass, place, enabled, tags);
    return NODE_PUT_CHANGED;
}

enum node_put node_pass_put_node(struct node_pass *pass, unsigned level,
                                 struct span name, struct span parent,
                                 bool enabled, struct span tags) {
    struct node_tree *tree = &pass->tree;
    uint32_t above = node_tree_find(tree, parent);
    uint32_t node = node_tree_find(tree, name);
    enum node_put result = NODE_PUT_SAME;

    if (name.len == 0 || name.len > NODE_NAME_MOST)
        return NODE_PUT_WRONG_NAME;
    if (above == NODE_NONE || tree->nodes[above].places == NODE_NONE)
        return NODE_PUT_NO_PARENT;
    if (level >= tree->level_count || level <= tree->nodes[above].level ||
        (node != NODE_NONE && tree->nodes[node].level != level))
        return NODE_PUT_WRONG_LEVEL;
    for (uint32_t place = tree->nodes[above].places; place != NODE_NONE;
         place = tree->places[place].next) {
        enum node_put one = put_below(pass, level, name, place, enabled, tags);
        if (one != NODE_PUT_SAME)
            result = one;
    }
    node_pass_flush(pass);
    return result;
}

static void place_drop(struct node_pass *pass, uint32_t place) {
    const struct node_tree *tree = &pass->tree;
    struct node_place was;

    for (unsigned l = tree->places[place].level + 1u; l < tree->level_count;
         l++) {
        const struct node_kids *kids =
            node_tree_kids(tree, &tree->places[place], l);
        for (uint32_t i = 0; kids != NULL && i < kids->room; i++) {
            uint32_t kid = node_tree_slot(tree, l, kids->base + i);
            if (kid != NODE_NONE)
                place_drop(pass, kid);
        }
    }
    was = tree->places[place];
    LIST_EACH (&pass->jobs, it)
        if (JOB_OF(it)->is_open)
            node_job_place_leaves(&JOB_OF(it)->job, place);
    node_tree_remove(&pass->tree, place);
    LIST_EACH (&pass->jobs, it) {
        if (JOB_OF(it)->is_open)
            node_job_place_left(&JOB_OF(it)->job, was.parent, was.level,
                                was.slot);
        node_pass_touch(pass, JOB_OF(it));
    }
}

bool node_pass_drop_node(struct node_pass *pass, struct span name,
                         struct span parent) {
    const struct node_tree *tree = &pass->tree;
    uint32_t above = node_tree_find(tree, parent);
    uint32_t node = node_tree_find(tree, name);
    bool found = false;

    if (above == NODE_NONE || node == NODE_NONE)
        return false;
    for (uint32_t at = tree->nodes[above].places; at != NODE_NONE;
         at = tree->places[at].next) {
        uint32_t place = tree->nodes[node].exists
                             ? node_tree_place_below(tree, node, at)
                             : NODE_NONE;
        if (place != NODE_NONE)
            place_drop(pass, place);
        found |= place != NODE_NONE;
    }
    pass->runs_stale |= found;
    node_pass_flush(pass);
    return found;
}
