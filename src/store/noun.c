#include "store/noun.h"

#include <assert.h>
#include <stdlib.h>

#include "store/apply.h"
#include "store/backend.h"
#include "store/schema.h"

static const struct store_noun *const *nouns;
static size_t noun_count;

void store_nouns_use(const struct store_noun *const *use, size_t count) {
    assert(count <= STORE_NOUNS);
    nouns = use;
    noun_count = count;
}

size_t store_noun_place(const struct store_noun *noun) {
    size_t place = 0;
    while (place < noun_count && nouns[place] != noun)
        place++;
    assert(place < noun_count && "a noun that store_nouns_use was not given");
    return place;
}

static int by_number(const void *a, const void *b) {
    const struct store_step *x = *(const struct store_step *const *)a;
    const struct store_step *y = *(const struct store_step *const *)b;
    assert(x == y || x->number != y->number);
    return (x->number > y->number) - (x->number < y->number);
}

/* Copies the steps to `into`, if any; returns how many there are. */
static size_t steps_add(const struct store_step *steps,
                        const struct store_step **into) {
    size_t count = 0;
    for (; steps[count].number != 0; count++)
        if (into)
            into[count] = &steps[count];
    return count;
}

static size_t steps_collect(const struct store_step **into) {
    size_t count = steps_add(store_schema_steps, into);
    for (size_t i = 0; i < noun_count; i++)
        count += steps_add(nouns[i]->steps, into ? into + count : NULL);
    return count;
}

const struct store_step **store_steps(size_t *ret_count) {
    size_t count = steps_collect(NULL);
    const struct store_step **steps = mem_grow(NULL, count, sizeof(*steps));
    steps_collect(steps);
    qsort(steps, count, sizeof(*steps), by_number);
    *ret_count = count;
    return steps;
}

int store_last_step(void) {
    size_t count;
    const struct store_step **steps = store_steps(&count);
    int number = steps[count - 1]->number;
    free(steps);
    return number;
}

struct store_tables *store_tables(struct store *store) {
    assert(store->backend->tables && "a store in plain memory has no tables");
    return store->backend->tables(store);
}

bool store_nouns_irreplaceable(struct store *store, bool *ret_any,
                               struct err *err) {
    *ret_any = false;
    for (size_t i = 0; i < noun_count && !*ret_any; i++)
        if (nouns[i]->is_irreplaceable &&
            !nouns[i]->is_irreplaceable(store, ret_any, err))
            return false;
    return true;
}

/* ---- operations ---------------------------------------------------------- */

unsigned store_operation_add(struct store_batch *batch, store_operate *operate,
                             void *args) {
    struct op *op = store_batch_add_op(batch, OP_NOUN, 0);
    op->noun.operate = operate;
    op->noun.args = args;
    return batch->count - 1;
}

bool noun_apply(struct apply *apply, struct op *op, struct err *err) {
    assert(apply->ops->tables && "a store in plain memory has no tables");
    struct store_operation operation = {
        .tables = apply->ops->tables(apply->rows),
        .arena = &apply->batch->arena,
        .next_seq = apply->head.seq + 1,
        .apply = apply,
        .op = op,
    };
    if (!op->noun.operate(&operation, op->noun.args, err))
        return false;
    op->result = operation.result;
    return true;
}

bool store_operation_event(struct store_operation *operation,
                           enum event_kind kind, struct span id,
                           struct span reason, struct span detail,
                           struct err *err) {
    static const struct event_facts none;
    return store_operation_event_facts(operation, kind, id, reason, detail,
                                       &none, err);
}

bool store_operation_event_facts(struct store_operation *operation,
                                 enum event_kind kind, struct span id,
                                 struct span reason, struct span detail,
                                 const struct event_facts *facts,
                                 struct err *err) {
    struct store_event event = {
        .kind = kind,
        .id = id,
        .from = STATE_NONE,
        .to = STATE_NONE,
        .reason = reason,
        .detail = detail,
        .facts = event_facts_format(facts, operation->arena),
    };
    if (!apply_event(operation->apply, operation->op, NULL, event, err))
        return false;
    operation->next_seq = operation->apply->head.seq + 1;
    return true;
}

bool store_operation_note(struct store_operation *operation,
                          enum event_kind kind, uint64_t num,
                          struct span reason, struct span detail,
                          const struct event_facts *facts, struct err *err) {
    struct store_event event = {
        .kind = kind,
        .num = num,
        .reason = reason,
        .detail = detail,
        .facts = event_facts_format(facts, operation->arena),
    };
    if (!apply_note(operation->apply, operation->op, event, err))
        return false;
    operation->result = operation->op->result;
    operation->next_seq = operation->apply->head.seq + 1;
    return true;
}

struct span store_operation_actor(const struct store_operation *operation) {
    return operation->apply->who->actor;
}

struct wall store_operation_now(const struct store_operation *operation) {
    return operation->apply->who->now;
}

uint64_t store_operation_admitted(const struct store_operation *operation,
                                  unsigned index) {
    const struct store_batch *batch = operation->apply->batch;
    const struct op *before = &batch->ops[index];
    assert(before < operation->op && before->kind == OP_ADMIT);
    return before->result == STORE_DONE ? before->num : 0;
}
