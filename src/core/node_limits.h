/* How large the names and the tree of nodes may be (core/node_tree.h). */
#ifndef POINTSMAN_CORE_NODE_LIMITS_H
#define POINTSMAN_CORE_NODE_LIMITS_H

enum {
    NODE_LEVELS_MOST = 12, /* the root's included, the workers' not */
    NODE_NAME_MOST = 255   /* bytes */
};

#endif
