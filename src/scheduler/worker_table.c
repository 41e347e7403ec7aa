#include "scheduler/worker_table.h"

#include <assert.h>
#include <stdlib.h>

#include "lib/mem.h"

static unsigned add(struct worker_table *table, struct span shard) {
    if (table->count == table->cap) {
        table->cap = table->cap ? 2 * table->cap : 4;
        table->shards =
            mem_grow(table->shards, table->cap, sizeof(*table->shards));
    }
    table->shards[table->count] = arena_span(&table->arena, shard);
    return table->count++;
}

void worker_table_init(struct worker_table *table, struct span here) {
    *table = (struct worker_table){.arena = ARENA_INIT};
    (void)add(table, here);
}

void worker_table_clear(struct worker_table *table) {
    arena_clear(&table->arena);
    free(table->shards);
    *table = (struct worker_table){.arena = ARENA_INIT};
}

unsigned worker_table_number(struct worker_table *table, struct span shard) {
    if (shard.len == 0)
        return WORKER_HERE;
    for (unsigned i = 0; i < table->count; i++)
        if (span_equal(table->shards[i], shard))
            return i;
    return add(table, shard);
}

struct span worker_table_shard(const struct worker_table *table,
                               unsigned number) {
    assert(number < table->count);
    return table->shards[number];
}
