/* Nodes and standing jobs for the scheduler (scheduler/node_feed.h), from the
 * registry and the configuration. */
#ifndef POINTSMAN_NODES_STANDING_FEED_H
#define POINTSMAN_NODES_STANDING_FEED_H

#include "scheduler/node_feed.h"

struct config; /* wire/config.h */
struct standing_feed;

/* `config` must outlive it; it is read again by each `setup`. */
struct standing_feed *standing_feed_new(const struct config *config);
void standing_feed_free(struct standing_feed *feed); /* NULL is fine */
const struct node_feed *standing_feed_of(struct standing_feed *feed);

#endif
