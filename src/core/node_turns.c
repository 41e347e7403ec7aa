#include "core/node_turns.h"

#include <assert.h>
#include <stdlib.h>

#include "lib/random.h"
#include "core/node_filter.h"

/* ---- chance ------------------------------------------------------------- */

/* The next turn of a job under NODE_POLICY_RANDOMIZED_PRIORITY: the jobs race
 * to it, each at the speed of its priority. */
static void draw(const struct node_turns *turns, struct node_entrant *entrant,
                 double from) {
    uint64_t bits = node_hash_mix(node_hash_mix(turns->seed, entrant->num),
                                  ++entrant->draws);

    entrant->turn =
        from + random_exponential(bits) * 1000.0 / (double)entrant->priority;
}

/* ---- order -------------------------------------------------------------- */

static int by_number(uint64_t a, uint64_t b) {
    return a < b ? -1 : a > b;
}

static int by_turn(double a, double b) {
    return a < b ? -1 : a > b;
}

static int compare_entrants(const void *a, const void *b) {
    const struct node_entrant *one = a, *other = b;
    int order = by_number(one->rank, other->rank);

    if (order == 0)
        order = by_turn(one->turn, other->turn);
    if (order == 0)
        order = by_number(one->shuffle, other->shuffle);
    return order != 0 ? order : by_number(one->num, other->num);
}

static uint64_t rank_of(const struct node_share *share) {
    return ((const struct node_entrant *)heap_first(&share->jobs))->rank;
}

static int compare_shares(const void *a, const void *b) {
    const struct node_share *one = a, *other = b;
    int order = by_number(one->job_class, other->job_class);

    if (order == 0)
        order = by_number(rank_of(one), rank_of(other));
    if (order == 0)
        order = by_turn(one->account->turn, other->account->turn);
    return order != 0 ? order
                      : by_number(one->account->number, other->account->number);
}

/* ---- accounts ----------------------------------------------------------- */

void node_turns_init(struct node_turns *turns, enum node_policy policy,
                     uint64_t seed) {
    *turns = (struct node_turns){.policy = policy, .seed = seed};
    heap_init(&turns->shares, offsetof(struct node_share, place),
              compare_shares);
}

void node_turns_clear(struct node_turns *turns) {
    void *value;

    for (size_t at = 0; map_next(&turns->accounts, &at, NULL, &value);) {
        struct node_account *account = value;
        for (unsigned c = 0; c < JOB_CLASSES; c++)
            heap_clear(&account->shares[c].jobs);
        free(account->name);
        free(account);
    }
    map_clear(&turns->accounts);
    heap_clear(&turns->shares);
}

struct node_account *node_turns_account(struct node_turns *turns,
                                        struct span name) {
    struct node_account *account = map_get(&turns->accounts, name);

    if (account != NULL)
        return account;
    account = mem_alloc(sizeof(*account));
    account->name = span_string(name);
    account->number = (uint32_t)map_count(&turns->accounts);
    account->weight = 1;
    for (unsigned c = 0; c < JOB_CLASSES; c++) {
        account->shares[c].account = account;
        account->shares[c].job_class = (enum job_class)c;
        heap_init(&account->shares[c].jobs,
                  offsetof(struct node_entrant, place), compare_entrants);
    }
    map_put(&turns->accounts, name, account);
    return account;
}

/* The key of a share does not change while it is in the heap. */
static void review(struct node_turns *turns, struct node_share *share) {
    const struct node_account *account = share->account;
    bool wanted = share->jobs.count > 0 &&
                  (account->limit == 0 || account->running < account->limit);

    if (!wanted)
        heap_remove(&turns->shares, share);
    else if (!heap_has(&turns->shares, share))
        heap_push(&turns->shares, share);
}

static void review_all(struct node_turns *turns, struct node_account *account) {
    for (unsigned c = 0; c < JOB_CLASSES; c++)
        review(turns, &account->shares[c]);
}

void node_turns_set_account(struct node_turns *turns,
                            struct node_account *account, uint32_t weight,
                            uint32_t limit) {
    assert(weight > 0);
    account->weight = weight;
    account->limit = limit;
    review_all(turns, account);
}

/* ---- entrants ----------------------------------------------------------- */

static void reshuffle(const struct node_turns *turns,
                      struct node_entrant *entrant) {
    if (turns->policy == NODE_POLICY_ROUND_ROBIN)
        entrant->shuffle = node_hash_mix(
            node_hash_mix(turns->seed, entrant->num), (uint64_t)entrant->turn);
}

void node_turns_join(struct node_turns *turns, struct node_entrant *entrant,
                     uint64_t num, enum job_class job_class, uint32_t priority,
                     struct node_account *account) {
    *entrant = (struct node_entrant){
        .num = num, .priority = priority, .share = &account->shares[job_class]};
    if (turns->policy == NODE_POLICY_RANDOMIZED_PRIORITY)
        draw(turns, entrant, entrant->share->turn);
    reshuffle(turns, entrant);
}

void node_turns_rejoin(struct node_turns *turns, struct node_entrant *entrant,
                       enum job_class job_class, uint32_t priority,
                       struct node_account *account) {
    struct node_share *share = &account->shares[job_class];
    bool same = share == entrant->share && priority == entrant->priority;

    if (same)
        return;
    node_turns_leave(turns, entrant);
    entrant->priority = priority;
    entrant->share = share;
    entrant->turn = share->turn;
    if (turns->policy == NODE_POLICY_RANDOMIZED_PRIORITY)
        draw(turns, entrant, share->turn);
    reshuffle(turns, entrant);
}

/* The key of a share in the heap depends on its jobs, so it is taken out before
 * they change. */
static void take_out(struct node_turns *turns, struct node_entrant *entrant) {
    heap_remove(&turns->shares, entrant->share);
    heap_remove(&entrant->share->jobs, entrant);
}

void node_turns_leave(struct node_turns *turns, struct node_entrant *entrant) {
    take_out(turns, entrant);
    review(turns, entrant->share);
}

static uint64_t rank_by(enum node_policy policy,
                        const struct node_entrant *entrant, uint64_t ready) {
    switch (policy) {
    case NODE_POLICY_RANKED_PRIORITY:
        return UINT32_MAX - entrant->priority;
    case NODE_POLICY_LONG_TAIL:
        return ready;
    case NODE_POLICY_ROUND_ROBIN:
    case NODE_POLICY_RANDOMIZED_PRIORITY:
        break;
    }
    return 0;
}

void node_turns_offer(struct node_turns *turns, struct node_entrant *entrant,
                      bool can_start, uint64_t ready) {
    uint64_t rank = rank_by(turns->policy, entrant, ready);

    if (heap_has(&entrant->share->jobs, entrant) == can_start &&
        rank == entrant->rank)
        return;
    take_out(turns, entrant);
    entrant->rank = rank;
    if (can_start)
        heap_push(&entrant->share->jobs, entrant);
    review(turns, entrant->share);
}

struct node_entrant *node_turns_next(struct node_turns *turns) {
    struct node_share *share = heap_first(&turns->shares);
    struct node_entrant *entrant;

    if (share == NULL)
        return NULL;
    entrant = heap_first(&share->jobs);
    /* The race went on while it could not take part. */
    while (turns->policy == NODE_POLICY_RANDOMIZED_PRIORITY &&
           entrant->turn < share->turn) {
        draw(turns, entrant, share->turn);
        heap_changed(&share->jobs, entrant);
        entrant = heap_first(&share->jobs);
    }
    return entrant;
}

static double later(double a, double b) {
    return a > b ? a : b;
}

void node_turns_started(struct node_turns *turns,
                        struct node_entrant *entrant) {
    struct node_share *share = entrant->share;
    struct node_account *account = share->account;

    for (unsigned c = 0; c < JOB_CLASSES; c++)
        heap_remove(&turns->shares, &account->shares[c]);
    heap_remove(&share->jobs, entrant);
    share->turn = later(share->turn, entrant->turn);
    if (turns->policy == NODE_POLICY_ROUND_ROBIN)
        entrant->turn = share->turn + 1;
    else if (turns->policy == NODE_POLICY_RANDOMIZED_PRIORITY)
        draw(turns, entrant, share->turn);
    reshuffle(turns, entrant);
    heap_push(&share->jobs, entrant);
    turns->turn = later(turns->turn, account->turn);
    account->turn = turns->turn + 1.0 / account->weight;
    node_turns_runs(turns, account);
}

void node_turns_runs(struct node_turns *turns, struct node_account *account) {
    account->running++;
    review_all(turns, account);
}

void node_turns_ended(struct node_turns *turns, struct node_account *account) {
    assert(account->running > 0);
    account->running--;
    review_all(turns, account);
}
