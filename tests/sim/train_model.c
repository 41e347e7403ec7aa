#include "sim/train_model.h"

#include <assert.h>
#include <string.h>

struct model_set model_sets[MODEL_SETS + 1];

/* Trees by number; each knows what it was made from. */
static struct { unsigned base, item, newest, sibling; } trees[MODEL_TREES];
static unsigned tree_count;

void model_begin(void) {
    memset(model_sets, 0, sizeof(model_sets));
    memset(trees, 0, sizeof(trees));
    tree_count = 1;
}

unsigned model_add(unsigned tree, unsigned item) {
    if (item <= MODEL_SETS && model_sets[item].empty)
        return tree;
    for (unsigned i = trees[tree].newest; i > 0; i = trees[i].sibling)
        if (trees[i].item == item)
            return i;
    assert(tree_count < MODEL_TREES);
    trees[tree_count].base = tree;
    trees[tree_count].item = item;
    trees[tree_count].sibling = trees[tree].newest;
    trees[tree].newest = tree_count;
    return tree_count++;
}

unsigned model_without(unsigned tree, unsigned item) {
    if (tree == 0)
        return 0;
    if (trees[tree].item == item)
        return trees[tree].base;
    return model_add(model_without(trees[tree].base, item), trees[tree].item);
}

bool model_has(unsigned tree, unsigned item) {
    for (; tree > 0; tree = trees[tree].base)
        if (trees[tree].item == item)
            return true;
    return false;
}

bool model_conflicts(unsigned tree, unsigned set) {
    return model_sets[set].conflicts > 0 &&
           model_has(tree, model_sets[set].conflicts);
}

/* The newest push or set that breaks or repairs the branch decides. */
static bool is_broken(unsigned tree) {
    for (; tree > 0; tree = trees[tree].base) {
        unsigned item = trees[tree].item;

        if (item == MODEL_PUSH_BREAKS)
            return true;
        if (item == MODEL_PUSH_FIXES ||
            (item <= MODEL_SETS && model_sets[item].fixes))
            return false;
    }
    return false;
}

bool model_passes(unsigned tree) {
    for (unsigned at = tree; at > 0; at = trees[at].base) {
        unsigned item = trees[at].item;

        if (item > MODEL_SETS)
            continue;
        if (model_sets[item].bad || (model_sets[item].clashes > 0 &&
                                     model_has(tree, model_sets[item].clashes)))
            return false;
    }
    return !is_broken(tree);
}
