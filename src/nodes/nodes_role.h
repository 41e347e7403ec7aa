/* The role that refreshes the sources of nodes (doc/design/nodes.md, N15): when
 * they are due, when somebody asks for it, and when the configuration has
 * changed. */
#ifndef POINTSMAN_NODES_NODES_ROLE_H
#define POINTSMAN_NODES_NODES_ROLE_H

#include "base/role.h"

extern const struct role nodes_role;

#endif
