/* The workers that attempts were assigned to, by numbers of this process
 * (doc/design/fleet.md). Worker 0 is in this process. A number stays valid, so
 * that an attempt keeps its worker when the configuration changes. */
#ifndef POINTSMAN_SCHEDULER_WORKER_TABLE_H
#define POINTSMAN_SCHEDULER_WORKER_TABLE_H

#include <stddef.h>

#include "lib/arena.h"
#include "lib/text.h"

/* The shard of the worker in this process. */
#define WORKER_LOCAL "local"

enum { WORKER_HERE = 0 };

struct worker_table {
    struct arena arena; /* of the names */
    struct span *shards;
    unsigned count, cap;
};

/* `here`: the shard of worker 0; copied. */
void worker_table_init(struct worker_table *table, struct span here);
void worker_table_clear(struct worker_table *table);

/* The number of the worker that is called so; a new one if the name is new. No
 * name is worker 0: rows that were rebuilt from files have none. */
unsigned worker_table_number(struct worker_table *table, struct span shard);
/* Valid until the table is cleared. */
struct span worker_table_shard(const struct worker_table *table,
                               unsigned number);

#endif
