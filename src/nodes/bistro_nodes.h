/* The levels and sources of nodes in a configuration of Bistro, as keys of
 * [nodes] and sections [node-source "NAME"]. */
#ifndef POINTSMAN_NODES_BISTRO_NODES_H
#define POINTSMAN_NODES_BISTRO_NODES_H

#include "lib/arena.h"
#include "lib/json.h"
#include "lib/text.h"

/* `nodes` is the object bistro_settings.nodes. Appends the line `levels` to
 * `keys`, the sections to `sources`, and a line to `errors` for everything that
 * cannot be converted. */
void bistro_nodes_put(struct json_value nodes, struct arena *arena,
                      struct text *keys, struct text *sources,
                      struct text *errors);

#endif
