/* The sections [nodes] and [node-source "NAME"]. */
#ifndef POINTSMAN_NODES_NODE_CONFIG_H
#define POINTSMAN_NODES_NODE_CONFIG_H

#include "wire/config_section.h"

struct config_nodes {
#define CONFIG_KEY(key, kind, field, ...) CONFIG_FIELD(kind, field)
#include "nodes/config_nodes.def"
};

struct config_node_source {
    struct span name;
    struct config_origin origin; /* its first section line */
#define CONFIG_KEY(key, kind, field, ...) CONFIG_FIELD(kind, field)
#include "nodes/config_node-source.def"
};

extern const struct config_section node_config_section;
extern const struct config_section node_config_source_section;

/* NULL: the program does not use the section. */
const struct config_nodes *node_config(const struct config *config);
/* Those of the files in their order; NULL: there are no more. */
const struct config_node_source *
node_config_source_at(const struct config *config, size_t index);
/* The number of a level: 0 is the instance. False: there is no such level. */
bool node_config_level(const struct config *config, struct span name,
                       unsigned *ret_level);
/* The list of waits, the number of those before `repeat` or `fail`, and whether
 * it ends with `fail`. False: what it is not. */
bool node_config_backoff(const struct config_nodes *nodes, struct arena *arena,
                         uint32_t **ret_waits_s, size_t *ret_count,
                         bool *ret_fails, const char **ret_why);
/* "1-25" as numbers. */
bool node_config_range(struct span range, uint64_t *ret_first,
                       uint64_t *ret_last);

#endif
