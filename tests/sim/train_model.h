/* A pretend repository for the model of the train: a tree is the sequence of
 * what was merged into it, and its verdict follows from that sequence. */
#ifndef POINTSMAN_TESTS_SIM_TRAIN_MODEL_H
#define POINTSMAN_TESTS_SIM_TRAIN_MODEL_H

#include <stdbool.h>

enum { MODEL_SETS = 40, MODEL_TREES = 20000 };

/* What a set does to a tree. */
struct model_set {
    bool bad;           /* its check fails */
    bool fixes;         /* repairs a branch that somebody broke */
    bool empty;         /* changes nothing */
    unsigned conflicts; /* the set that it cannot be merged onto; 0: none */
    unsigned clashes;   /* the set with which its check fails; 0: none */
};

/* Items of a tree: sets by their number, and pushes by others. */
enum { MODEL_PUSH_GOOD = 1000, MODEL_PUSH_BREAKS, MODEL_PUSH_FIXES };

void model_begin(void); /* forgets all trees; tree 0 is empty */
extern struct model_set model_sets[MODEL_SETS + 1];

/* The tree after adding an item; the same one if the item is an empty set. */
unsigned model_add(unsigned tree, unsigned item);
/* The tree without the item. */
unsigned model_without(unsigned tree, unsigned item);
bool model_has(unsigned tree, unsigned item);
bool model_conflicts(unsigned tree, unsigned set);
bool model_passes(unsigned tree);

#endif
