/* The nodes of one source, from the configuration and the files it names. */
#ifndef POINTSMAN_NODES_NODE_SOURCE_H
#define POINTSMAN_NODES_NODE_SOURCE_H

#include "base/base.h"
#include "nodes/node_config.h"
#include "nodes/node_list.h"

/* Adds its nodes to the list, which holds those of the sources before. False:
 * what is wrong; some of its nodes may have been added. */
bool node_source_make(const struct base *base,
                      const struct config_node_source *source,
                      struct node_list *list, struct err *err);

#endif
