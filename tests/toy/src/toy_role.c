#include "toy/toy_role.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "core/event_facts.h"
#include "toy/toy_config.h"
#include "toy/toy_row.h"

struct nursery {
    struct base *base;
};

static bool nursery_open(struct role_host *host, void **ret_self,
                         struct err *err) {
    struct nursery *nursery = mem_alloc(sizeof(*nursery));
    (void)err;
    nursery->base = host->base;
    *ret_self = nursery;
    return true;
}

/* A toy whose squeak could not be recorded is due again in the next turn. */
static bool nursery_turn(void *self, const struct role_turn *turn,
                         struct wall *ret_next, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct nursery *nursery = self;
    struct store *store = nursery->base->store;
    struct event_facts facts = {.sound =
                                    toy_config(&nursery->base->config)->sound};
    struct toy_row *rows;
    char actor[64];
    size_t count;
    (void)ret_next;
    if (!toy_row_list(store, true, &arena, &rows, &count, err))
        return false;
    if (count == 0)
        return true;
    struct store_batch *batch = store_batch_new(store);
    snprintf(actor, sizeof(actor), "daemon:%s", toy_role.name);
    store_batch_actor(batch, turn->now, span_of(actor));
    for (size_t i = 0; i < count; i++) {
        store_note(batch, EVENT_SQUEAK, rows[i].num, SPAN(""), SPAN("squeak"),
                   SPAN("the toy has run down"));
        store_note_facts(batch, &facts);
        toy_row_squeak(batch, rows[i].name);
    }
    bool ok = store_write(batch, err);
    store_batch_free(batch);
    return ok;
}

/* Whatever is due was done in the turn. */
static bool nursery_is_idle(const void *self) {
    (void)self;
    return true;
}

static void nursery_close(void *self, void (*closed)(void *ctx), void *ctx) {
    free(self);
    closed(ctx);
}

static const struct role_engine nursery_engine = {
    .open = nursery_open,
    .turn = nursery_turn,
    .is_idle = nursery_is_idle,
    .close = nursery_close,
};

const struct role toy_role = {
    .name = "nursery",
    .help = "listens to toys",
    .engine = &nursery_engine,
    .reads_registry = true,
};
