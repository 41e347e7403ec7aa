#include "scheduler/target_train.h"

#include <stdlib.h>
#include <string.h>

#include "scheduler/scheduler_environment.h"
#include "scheduler/scheduler_state.h"
#include "scheduler/scheduler_train_follow.h"

/* ---- trains -------------------------------------------------------------- */

struct target_train *target_train_find(const struct scheduler *scheduler,
                                       struct span target) {
    LIST_EACH (&((struct scheduler *)(uintptr_t)scheduler)->trains, link) {
        struct target_train *found = LIST_OF(link, struct target_train, link);
        if (span_equal(found->name, target))
            return found;
    }
    return NULL;
}

static struct target_train *train_new_for(struct scheduler *scheduler,
                                          const struct scheduler_target *of) {
    struct target_train *target = mem_alloc(sizeof(*target));
    target->names = target->land_arena = (struct arena)ARENA_INIT;
    target->name = arena_span(&target->names, of->name);
    target->train = train_new(of->name, &of->train);
    list_init(&target->units);
    list_init(&target->leaving);
    list_init(&target->waiting);
    list_push(&scheduler->trains, &target->link);
    return target;
}

static bool keys_differ(const struct target_train *target,
                        const struct scheduler_target *now) {
    CLEANUP(text_clear) struct text old = TEXT_INIT, new = TEXT_INIT;
    if (target->target == NULL) /* it was not configured for a while */
        return true;
    train_key_format(&target->target->key, &old);
    train_key_format(&now->key, &new);
    return !span_equal(text_span(&old), text_span(&new));
}

void target_train_set_config(struct target_train *target) {
    struct train_config config = target->target->train;
    if (target->environment.state == ENVIRONMENT_FAILED)
        config.volatile_check = true;
    train_set_config(target->train, &config);
}

/* A train stays while its process lives: sets are on it. */
void target_trains_configure(struct scheduler *scheduler) {
    for (size_t i = 0; i < scheduler->options.target_count; i++) {
        const struct scheduler_target *of = &scheduler->options.targets[i];
        struct target_train *target = target_train_find(scheduler, of->name);
        if (of->by_command)
            continue;
        if (target == NULL)
            target = train_new_for(scheduler, of);
        target->target = of;
        target_train_set_config(target);
        LIST_EACH (&target->units, link) {
            const struct target_unit *unit =
                LIST_OF(link, struct target_unit, link);
            scheduler_train_follow_ride(scheduler, unit,
                                        of->train.follow && !unit->leaves);
        }
    }
}

void target_trains_note_changes(struct scheduler *scheduler,
                                const struct scheduler_options *options) {
    for (size_t i = 0; i < options->target_count; i++) {
        const struct scheduler_target *of = &options->targets[i];
        struct target_train *target = target_train_find(scheduler, of->name);
        if (target == NULL)
            continue;
        if (keys_differ(target, of))
            train_checks_changed(target->train);
        scheduler_environment_renew(target, of->environment);
        train_rebuild(target->train);
        target->tip_wanted = true;
        target->tip_again = (struct wall){0};
    }
}

static void train_clear(struct target_train *target) {
    while (!list_empty(&target->units))
        target_unit_free(LIST_OF(target->units.next, struct target_unit, link));
    while (!list_empty(&target->waiting))
        target_waiting_forget(
            target,
            LIST_OF(target->waiting.next, struct target_waiting, link)->num);
    map_clear(&target->by_set);
    map_clear(&target->waiting_by_num);
    train_free(target->train);
    text_clear(&target->merge_said);
    text_clear(&target->environment.said);
    text_clear(&target->environment.fault);
    arena_clear(&target->names);
    arena_clear(&target->land_arena);
    free(target->steps);
    list_remove(&target->link);
    free(target);
}

void target_trains_clear(struct scheduler *scheduler) {
    while (!list_empty(&scheduler->trains))
        train_clear(LIST_OF(scheduler->trains.next, struct target_train, link));
}

/* ---- units --------------------------------------------------------------- */

struct target_unit *target_unit_find(const struct target_train *target,
                                     uint64_t num) {
    struct target_unit *unit = target_unit_of_set(target, num);
    return unit != NULL && unit->num == num ? unit : NULL;
}

struct target_unit *target_unit_of_set(const struct target_train *target,
                                       uint64_t set) {
    return map_get(&target->by_set, map_num_key(&set));
}

struct target_unit *target_unit_new(struct target_train *target,
                                    const uint64_t *sets, size_t count) {
    struct target_unit *unit = mem_alloc(sizeof(*unit));
    unit->num = sets[count - 1];
    unit->sets = mem_grow(NULL, count, sizeof(*unit->sets));
    memcpy(unit->sets, sets, count * sizeof(*unit->sets));
    unit->set_count = count;
    list_init(&unit->leave_link);
    unit->target = target;
    for (size_t i = 0; i < count; i++)
        map_put(&target->by_set, map_num_key(&unit->sets[i]), unit);
    list_push(&target->units, &unit->link);
    return unit;
}

void target_unit_leave(struct target_unit *unit) {
    unit->leaves = true;
    list_push(&unit->target->leaving, &unit->leave_link);
}

uint64_t *target_unit_free_but_sets(struct target_unit *unit) {
    uint64_t *sets = unit->sets;
    struct map *by_set = &unit->target->by_set;
    /* A set that had left may be on the train again. */
    for (size_t i = 0; i < unit->set_count; i++)
        if (map_get(by_set, map_num_key(&unit->sets[i])) == unit)
            map_remove(by_set, map_num_key(&unit->sets[i]));
    list_remove(&unit->link);
    list_remove(&unit->leave_link);
    free(unit);
    return sets;
}

void target_unit_free(struct target_unit *unit) {
    free(target_unit_free_but_sets(unit));
}

bool target_train_is_empty(const struct target_train *target) {
    LIST_EACH (&((struct target_train *)(uintptr_t)target)->units, link)
        if (!LIST_OF(link, struct target_unit, link)->leaves)
            return false;
    return true;
}

/* ---- jobs that are to join ----------------------------------------------- */

struct target_waiting *target_waiting_find(const struct target_train *target,
                                           uint64_t num) {
    return map_get(&target->waiting_by_num, map_num_key(&num));
}

void target_waiting_add(struct target_train *target, uint64_t num,
                        struct wall not_before) {
    struct target_waiting *waiting = target_waiting_find(target, num);
    if (waiting == NULL) {
        waiting = mem_alloc(sizeof(*waiting));
        waiting->num = num;
        list_push(&target->waiting, &waiting->link);
        map_put(&target->waiting_by_num, map_num_key(&num), waiting);
    }
    if (not_before.ns > waiting->not_before.ns)
        waiting->not_before = not_before;
}

void target_waiting_forget(struct target_train *target, uint64_t num) {
    struct target_waiting *waiting = target_waiting_find(target, num);
    if (waiting == NULL)
        return;
    list_remove(&waiting->link);
    map_remove(&target->waiting_by_num, map_num_key(&num));
    free(waiting);
}

/* ---- joining --------------------------------------------------------------
 */

struct target_train *target_train_of(const struct scheduler *scheduler,
                                     const struct job *job) {
    if (!job_has(job, JOB_LANDS) || job_has(job, JOB_ROLLS_BACK) ||
        list_empty(&scheduler->trains))
        return NULL;
    return target_train_find(scheduler, job->target);
}

/* A rank begins with the number of its class. */
enum job_class target_train_class(const struct job *job) {
    struct span rank = job_rank(job);
    unsigned n = rank.len > 0 ? (unsigned char)rank.p[0] : JOB_CLASSES;
    return n < JOB_CLASSES ? (enum job_class)n : job->job_class;
}

bool target_train_rank(struct scheduler *scheduler, const struct job *job) {
    struct target_train *target = target_train_of(scheduler, job);
    struct target_unit *unit =
        target != NULL && train_has(target->train, job->num)
            ? target_unit_of_set(target, job->num)
            : NULL;
    return unit != NULL &&
           train_rank(target->train, unit->num, target_train_class(job));
}

void target_train_at_once(struct scheduler *scheduler, const struct job *job) {
    struct target_train *target = target_train_of(scheduler, job);
    struct target_waiting *waiting =
        target != NULL ? target_waiting_find(target, job->num) : NULL;
    if (waiting != NULL)
        waiting->not_before = (struct wall){0};
}

bool target_train_offer(struct scheduler *scheduler, const struct job *job) {
    struct target_train *target = target_train_of(scheduler, job);
    if (target == NULL)
        return false;
    if (!target_train_rank(scheduler, job))
        target_waiting_add(target, job->num, job->not_before);
    return true;
}

/* ---- keys ---------------------------------------------------------------- */

static const struct span *copy_spans(struct arena *arena,
                                     const struct span *spans, size_t count) {
    struct span *copies = arena_alloc(arena, (count + 1) * sizeof(*copies));
    for (size_t i = 0; i < count; i++)
        copies[i] = arena_span(arena, spans[i]);
    return copies;
}

void target_train_copy_key(struct arena *arena, const struct train_key *key,
                           struct train_key *ret_key) {
    struct train_check *checks =
        arena_alloc(arena, (key->check_count + 1) * sizeof(*checks));
    for (size_t i = 0; i < key->check_count; i++)
        checks[i] = (struct train_check){
            arena_span(arena, key->checks[i].name),
            copy_spans(arena, key->checks[i].words, key->checks[i].word_count),
            key->checks[i].word_count};
    *ret_key = *key;
    ret_key->checks = checks;
    ret_key->target = arena_span(arena, key->target);
    ret_key->user = arena_span(arena, key->user);
    ret_key->environment = arena_span(arena, key->environment);
    ret_key->path = arena_span(arena, key->path);
    ret_key->lang = arena_span(arena, key->lang);
    ret_key->tz = arena_span(arena, key->tz);
    ret_key->kernel = arena_span(arena, key->kernel);
    ret_key->machine = arena_span(arena, key->machine);
}

struct span target_train_key(const struct scheduler *scheduler,
                             const struct target_train *target,
                             struct span tree, const struct span *ids,
                             size_t id_count, struct arena *arena) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct train_key key = target->target->key;
    char sum[SCHEDULER_SUM_BYTES];
    key.tree = tree;
    key.environment = span_of(target->environment.sum);
    key.remember = target->target->train.remember;
    key.ids = ids;
    key.id_count = id_count;
    train_key_format(&key, &text);
    scheduler->options.sum(text_span(&text), sum);
    return arena_span(arena, span_of(sum));
}

bool target_train_checks(const struct target_train *target) {
    return target->target == NULL || target->target->train.checks;
}

bool target_train_remembers(const struct target_train *target) {
    if (target->target == NULL)
        return false;
    const struct train_config *config = &target->target->train;
    return (target->target->environment.len == 0 ||
            target->environment.state == ENVIRONMENT_KNOWN) &&
           config->checks && config->remember != TRAIN_REMEMBER_OFF &&
           !config->volatile_check;
}

/* ---- lanes --------------------------------------------------------------- */

unsigned target_lane_take(struct target_train *target) {
    unsigned lane = 0;
    while (lane < 63 && (target->lanes >> lane & 1) != 0)
        lane++;
    target->lanes |= UINT64_C(1) << lane;
    return lane;
}

void target_lane_return(struct target_train *target, unsigned lane) {
    target->lanes &= ~(UINT64_C(1) << lane);
}
