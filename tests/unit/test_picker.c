#include "core/picker_inner.h"

#include "lib/random.h"
#include "support/test.h"

/* A simulated registry of pending jobs, sorted when read. */
struct row {
    uint64_t num;
    char rank[16];
    const char *target;
    enum job_class job_class;
    struct wall admitted, not_before;
    bool pending;
    bool foreign; /* never offered */
};

enum { ROWS = 20000 };
static struct row rows[ROWS];
static size_t row_count, rows_read;
static struct wall now;
static struct picker *picker;

static struct picker_limits limits(unsigned slots) {
    return (struct picker_limits){.slots = slots, .ahead_max = 256};
}

static int setup(void **state) {
    (void)state;
    row_count = rows_read = 0;
    now = wall_from_s(1700000000);
    struct picker_limits some = limits(2);
    picker = picker_new(&some);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    picker_free(picker);
    return 0;
}

static size_t window_size(void) {
    return picker->worst.count;
}

/* The number of jobs that may be assigned beyond the slots. */
static unsigned ahead(void) {
    assert_int_equal(picker_excess(picker), 0);
    return picker_room(picker) + (unsigned)map_count(&picker->assigned) -
           picker->limits.slots;
}

static struct span order_rank_of(const struct row *row) {
    return span_make(row->rank, 9);
}

static struct picker_job job_of(const struct row *row) {
    return (struct picker_job){.num = row->num,
                               .rank = order_rank_of(row),
                               .job_class = row->job_class,
                               .target = span_of(row->target),
                               .admitted = row->admitted,
                               .not_before = row->not_before};
}

/* Makes a job pending: adds it to the registry. Its rank looks like an order
 * key, with the class first and then the time. */
static struct row *row_add(enum job_class job_class, unsigned at,
                           const char *target) {
    assert_true(row_count < ROWS);
    struct row *row = &rows[row_count++];
    *row = (struct row){.num = row_count,
                        .target = target,
                        .job_class = job_class,
                        .admitted = now,
                        .pending = true};
    snprintf(row->rank, sizeof(row->rank), "%c%08u", (int)job_class, at);
    return row;
}

static uint64_t add(enum job_class job_class, unsigned at, const char *target) {
    struct picker_job job = job_of(row_add(job_class, at, target));
    picker_offer(picker, &job, now);
    return job.num;
}

static int by_rank(const void *a, const void *b) {
    const struct row *x = *(const struct row *const *)a,
                     *y = *(const struct row *const *)b;
    int order = span_compare(order_rank_of(x), order_rank_of(y));
    return order != 0 ? order : (x->num > y->num) - (x->num < y->num);
}

static void refill(void) {
    struct span rank;
    uint64_t num;
    size_t limit;
    while (picker_needs_refill(picker, now, &rank, &num, &limit)) {
        static struct row *found[ROWS];
        size_t count = 0;
        for (size_t i = 0; i < row_count; i++) {
            struct row *row = &rows[i];
            int order = span_compare(order_rank_of(row), rank);
            if (row->pending && row->not_before.ns <= now.ns &&
                (num == 0 || order > 0 || (order == 0 && row->num > num)))
                found[count++] = row;
        }
        qsort(found, count, sizeof(*found), by_rank);
        if (count > limit)
            count = limit;
        for (size_t i = 0; i < count; i++) {
            struct picker_job job = job_of(found[i]);
            if (!found[i]->foreign)
                picker_offer(picker, &job, now);
        }
        rows_read += count;
        picker_refilled(picker, count,
                        count > 0 ? order_rank_of(found[count - 1]) : rank,
                        count > 0 ? found[count - 1]->num : num);
    }
}

/* The number of the next job, or 0 if there is none. */
static uint64_t pick(void) {
    uint64_t num;
    refill();
    if (!picker_next(picker, now, &num))
        return 0;
    rows[num - 1].pending = false;
    return num;
}

static void end(uint64_t num) {
    picker_ended(picker, num, -1);
}

static void jobs_are_picked_by_class_and_then_by_time(void **state) {
    (void)state;
    uint64_t dc = add(CLASS_DC, 1, ""), em = add(CLASS_EM, 9, ""),
             bf = add(CLASS_BF, 5, ""), early = add(CLASS_BF, 4, "");
    struct picker_limits four = limits(4);
    picker_set_limits(picker, &four);
    assert_int_equal(pick(), em);
    assert_int_equal(pick(), early);
    assert_int_equal(pick(), bf);
    assert_int_equal(pick(), dc);
    assert_int_equal(pick(), 0);
}

static void jobs_of_equal_rank_are_picked_by_number(void **state) {
    (void)state;
    uint64_t a = add(CLASS_DC, 1, ""), b = add(CLASS_DC, 1, "");
    assert_int_equal(pick(), a);
    assert_int_equal(pick(), b);
}

static void at_first_no_more_jobs_are_assigned_than_slots(void **state) {
    (void)state;
    for (int i = 0; i < 5; i++)
        add(CLASS_DC, 1, "");
    assert_int_equal(pick(), 1);
    assert_int_equal(pick(), 2);
    assert_int_equal(pick(), 0);
    assert_int_equal(picker_room(picker), 0);
    end(1);
    assert_int_equal(pick(), 3);
    assert_int_equal(pick(), 0);
}

static void one_lane_admits_one_set_of_its_target(void **state) {
    (void)state;
    uint64_t first = add(CLASS_DC, 1, "main"),
             second = add(CLASS_DC, 2, "main"), site = add(CLASS_DC, 3, "site"),
             command = add(CLASS_DC, 4, "");
    struct picker_limits four = limits(4);
    picker_set_limits(picker, &four);
    assert_int_equal(pick(), first);
    assert_int_equal(pick(), site); /* `second` must wait for the lane */
    assert_int_equal(pick(), command);
    assert_int_equal(pick(), 0);
    end(first);
    assert_int_equal(pick(), second);
}

static void more_lanes_admit_more_sets(void **state) {
    (void)state;
    picker_set_lanes(picker, SPAN("main"), 2);
    struct picker_limits four = limits(4);
    picker_set_limits(picker, &four);
    for (unsigned i = 0; i < 4; i++)
        add(CLASS_DC, i, "main");
    assert_int_equal(pick(), 1);
    assert_int_equal(pick(), 2);
    assert_int_equal(pick(), 0);
    picker_set_lanes(picker, SPAN("main"), 3);
    assert_int_equal(pick(), 3);
    assert_int_equal(pick(), 0);
}

static void
a_set_that_was_executing_before_a_restart_holds_its_lane(void **state) {
    (void)state;
    picker_assigned(picker, 77, SPAN("main"));
    picker_assigned(picker, 77, SPAN("main")); /* reported twice */
    uint64_t set = add(CLASS_DC, 1, "main");
    assert_int_equal(pick(), 0);
    end(77);
    end(77);
    assert_int_equal(pick(), set);
}

static void jobs_that_became_ready_unnoticed_are_read_in_order(void **state) {
    (void)state;
    uint64_t seen = add(CLASS_DC, 50, ""), last = 0;
    for (unsigned i = 0; i < 200; i++)
        last = add(CLASS_DC, 100 + i, "main");
    picker_assigned(picker, 9999, SPAN("main")); /* its lane is busy */
    refill();
    uint64_t first = row_add(CLASS_BF, 2, "")->num,
             set = row_add(CLASS_BF, 1, "main")->num;
    picker_restart(picker);
    assert_int_equal(pick(), first);
    end(first);
    assert_int_equal(pick(), seen);
    end(seen);
    assert_int_equal(pick(), 0);
    end(9999);
    assert_int_equal(pick(), set);
    end(set);
    for (uint64_t num = seen + 1; num <= last; num++) {
        assert_int_equal(pick(), num);
        end(num);
    }
    assert_int_equal(pick(), 0);
}

static void a_job_is_not_picked_before_its_time(void **state) {
    (void)state;
    struct row *row = row_add(CLASS_EM, 1, "");
    row->not_before = wall_add_ms(now, 5000);
    struct picker_job job = job_of(row);
    picker_offer(picker, &job, now);
    assert_int_equal(pick(), 0);
    assert_int_equal(picker_next_time(picker).ns, row->not_before.ns);
    now = wall_add_ms(now, 4999);
    assert_int_equal(pick(), 0);
    now = wall_add_ms(now, 1);
    assert_int_equal(pick(), row->num);
    assert_int_equal(picker_next_time(picker).ns, WALL_NEVER.ns);
}

static void forgotten_jobs_are_not_picked(void **state) {
    (void)state;
    uint64_t a = add(CLASS_DC, 1, ""), b = add(CLASS_DC, 2, "");
    rows[a - 1].pending = false;
    picker_forget(picker, a);
    picker_forget(picker, 4711);
    assert_int_equal(pick(), b);
    assert_int_equal(pick(), 0);
}

static void a_new_rank_moves_a_job(void **state) {
    (void)state;
    uint64_t a = add(CLASS_DC, 1, ""), b = add(CLASS_DC, 2, "");
    rows[b - 1].rank[0] = CLASS_EM; /* O14: an urgent job waits for it */
    struct picker_job job = job_of(&rows[b - 1]);
    refill();
    picker_offer(picker, &job, now);
    assert_int_equal(window_size(), 2);
    assert_int_equal(pick(), b);
    assert_int_equal(pick(), a);
}

static void an_assigned_job_cannot_be_offered_again(void **state) {
    (void)state;
    uint64_t a = add(CLASS_DC, 1, "");
    assert_int_equal(pick(), a);
    struct picker_job job = job_of(&rows[a - 1]);
    picker_offer(picker, &job, now); /* a late event */
    assert_int_equal(pick(), 0);
    end(a);
    rows[a - 1].pending = true;
    picker_offer(picker, &job, now);
    assert_int_equal(pick(), a);
}

/* O15 */
static void
old_jobs_gain_a_class_per_step_but_never_become_rollbacks(void **state) {
    (void)state;
    struct picker_limits ageing = limits(9);
    ageing.age_step_ms = 60000;
    picker_set_limits(picker, &ageing);
    uint64_t dc = add(CLASS_DC, 1, "");
    now = wall_add_ms(now, 60000);
    uint64_t bf = add(CLASS_BF, 2, "");
    assert_int_equal(pick(), dc); /* it counts as BF now, and is older */
    end(dc);
    rows[dc - 1].pending = true;
    struct picker_job job = job_of(&rows[dc - 1]);
    now = wall_add_ms(now, 2 * 60000);
    uint64_t em = add(CLASS_EM, 0, ""), rb = add(CLASS_RB, 9, "");
    picker_offer(picker, &job, now);
    assert_int_equal(pick(), rb);
    assert_int_equal(pick(), em); /* time 0 */
    assert_int_equal(pick(), dc); /* counts as EM, time 1 */
    assert_int_equal(pick(), bf); /* counts as EM, time 2 */
}

static void ageing_is_off_by_default(void **state) {
    (void)state;
    uint64_t dc = add(CLASS_DC, 1, "");
    now = wall_add_ms(now, INT64_C(1000) * 86400 * 365);
    uint64_t bf = add(CLASS_BF, 2, "");
    assert_int_equal(pick(), bf);
    assert_int_equal(pick(), dc);
}

static void aged_jobs_beyond_the_window_are_found(void **state) {
    (void)state;
    struct picker_limits ageing = limits(1);
    ageing.age_step_ms = 60000;
    ageing.window_max = 16;
    picker_set_limits(picker, &ageing);
    struct row *old = row_add(CLASS_DC, 1, "");
    now = wall_add_ms(now, 59000);
    for (unsigned i = 0; i < 100; i++)
        row_add(CLASS_BF, 100 + i, "");
    assert_int_equal(pick(), 2);
    end(2);
    now = wall_add_ms(now, 10000);
    assert_int_equal(pick(), old->num);
}

static void the_window_stays_small_however_many_jobs_wait(void **state) {
    (void)state;
    struct picker_limits small = limits(1);
    small.window_max = 64;
    picker_set_limits(picker, &small);
    for (unsigned i = 0; i < 5000; i++) /* worst first */
        add(CLASS_DC, 10000 - i, "");
    refill();
    assert_true(window_size() <= 64);
    for (unsigned i = 0; i < 5000; i++) {
        uint64_t num = pick();
        assert_int_equal(num, 5000 - i);
        assert_true(window_size() <= 64);
        end(num);
    }
    assert_int_equal(pick(), 0);
    assert_true(rows_read <= 5000 + 64); /* most rows are read only once */
}

/* Otherwise a start would have to wait until the whole backlog is read. */
static void a_long_backlog_is_read_in_pieces(void **state) {
    (void)state;
    struct span rank;
    uint64_t num;
    size_t limit, pieces = 0;
    while (picker_needs_refill(picker, now, &rank, &num, &limit)) {
        struct row *row = NULL;
        assert_in_range(limit, 1, 256);
        for (size_t i = 0; i < limit; i++) {
            row = row_add(CLASS_DC, (unsigned)row_count, "");
            struct picker_job job = job_of(row);
            picker_offer(picker, &job, now);
        }
        picker_refilled(picker, limit, order_rank_of(row), row->num);
        pieces++;
    }
    assert_true(pieces > 1);
}

/* A `run` hosts its own job among any number of others. */
static void jobs_that_may_not_start_hide_none_behind_them(void **state) {
    (void)state;
    for (unsigned i = 0; i < 700; i++)
        row_add(CLASS_DC, i, "")->foreign = true;
    struct row *own = row_add(CLASS_DC, 800, "");
    assert_int_equal(pick(), own->num);
    assert_in_range(rows_read, 701, 1000);
}

static void newcomers_beyond_the_window_wait_in_the_registry(void **state) {
    (void)state;
    struct picker_limits small = limits(1);
    small.window_max = 16;
    picker_set_limits(picker, &small);
    for (unsigned i = 0; i < 100; i++)
        add(CLASS_BF, i, "");
    refill();
    size_t window = window_size();
    uint64_t last = add(CLASS_DC, 0, ""), urgent = add(CLASS_EM, 500, "");
    assert_true(window_size() <= window + 1);
    assert_int_equal(pick(), urgent);
    end(urgent);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(pick(), i + 1);
        end(i + 1);
    }
    assert_int_equal(pick(), last);
}

static void a_failed_refill_is_requested_again(void **state) {
    (void)state;
    struct span rank;
    uint64_t num;
    size_t limit;
    for (unsigned i = 0; i < 300; i++)
        row_add(CLASS_DC, i, "main");
    assert_true(picker_needs_refill(picker, now, &rank, &num, &limit));
    for (unsigned i = 0; i < 300; i++) {
        assert_int_equal(pick(), i + 1);
        end(i + 1);
        /* The registry cannot be read at the moment. */
        picker_needs_refill(picker, now, &rank, &num, &limit);
    }
    assert_int_equal(pick(), 0);
}

static void a_busy_target_does_not_block_commands(void **state) {
    (void)state;
    for (unsigned i = 0; i < 10000; i++)
        row_add(CLASS_BF, i, "main");
    struct row *command = row_add(CLASS_DC, 0, "");
    assert_int_equal(pick(), 1);
    uint64_t num = 0;
    for (int tries = 0; num == 0 && tries < 10; tries++) {
        num = pick();
        if (num == 0)
            now = picker_next_time(picker);
    }
    assert_int_equal(num, command->num);
    /* The target's own jobs still come in their order. */
    uint64_t busy = 1;
    for (unsigned i = 1; i < 10000; i++) {
        end(busy);
        busy = pick();
        assert_int_equal(busy, i + 1);
    }
    assert_true(rows_read < 30000);
}

static void nothing_is_assigned_ahead_before_the_first_attempt(void **state) {
    (void)state;
    assert_int_equal(ahead(), 0);
}

static void run_once(int64_t ms) {
    picker_assigned(picker, 9999, SPAN(""));
    picker_ended(picker, 9999, ms);
}

static void short_attempts_are_assigned_ahead(void **state) {
    (void)state;
    run_once(1);
    assert_int_equal(ahead(), 2); /* the limit grows slowly */
    for (int i = 0; i < 300; i++)
        run_once(1);
    assert_int_equal(ahead(), 256);
    struct picker_limits none = limits(2);
    none.ahead_max = 0;
    picker_set_limits(picker, &none);
    assert_int_equal(ahead(), 0);
}

static void attempts_of_a_tenth_of_a_second_get_twice_the_slots(void **state) {
    (void)state;
    for (int i = 0; i < 300; i++)
        run_once(99);
    assert_int_equal(ahead(), 4);
}

static void long_attempts_are_never_assigned_ahead(void **state) {
    (void)state;
    for (int i = 0; i < 300; i++)
        run_once(2000);
    assert_int_equal(ahead(), 0);
}

static void one_long_attempt_stops_assigning_ahead(void **state) {
    (void)state;
    for (int i = 0; i < 300; i++)
        run_once(1);
    run_once(400);
    assert_int_equal(ahead(), 0);
    run_once(1);
    assert_int_equal(ahead(), 2);
}

static void a_long_attempt_reserves_only_its_own_slot(void **state) {
    (void)state;
    for (int i = 0; i < 300; i++)
        run_once(99);
    add(CLASS_DC, 1, "");
    assert_int_equal(pick(), 1);
    assert_int_equal(ahead(), 4);
    picker_lasting(picker, 1);
    assert_int_equal(ahead(), 2);
}

static void newcomers_of_a_busy_target_do_not_overtake(void **state) {
    (void)state;
    uint64_t last = 0;
    for (unsigned i = 0; i < 300; i++)
        row_add(CLASS_DC, i, "main");
    for (unsigned i = 0; i < 100; i++) {
        uint64_t num = pick();
        assert_true(num == last + 1);
        last = num;
        add(CLASS_DC, 1000 + i, "main");
        end(num);
    }
    for (unsigned i = 100; i < 400; i++) {
        uint64_t num = pick();
        assert_int_equal(num, i + 1);
        end(num);
    }
}

/* After many short jobs, 50 of 100 jobs are assigned ahead. */
static void assign_50_ahead(void) {
    for (int i = 0; i < 300; i++)
        run_once(0);
    for (unsigned i = 0; i < 100; i++)
        add(CLASS_DC, i, "");
    for (unsigned i = 0; i < 50; i++)
        assert_int_equal(pick(), i + 1);
}

static void long_attempts_reduce_the_slots_for_assigning_ahead(void **state) {
    (void)state;
    assign_50_ahead();
    assert_int_equal(picker_excess(picker), 0);
    picker_lasting(picker, 1);
    picker_lasting(picker, 1);
    picker_lasting(picker, 2);
    assert_int_equal(pick(), 0);
    assert_int_equal(picker_excess(picker), 48); /* these may be returned */
    end(1);
    end(2);
    assert_int_equal(picker_excess(picker), 0);
    assert_int_equal(pick(), 51);
}

static struct picker_why why(uint64_t num) {
    struct picker_job job = job_of(&rows[num - 1]);
    return picker_why(picker, &job, now);
}

static void why_counts_running_jobs_not_jobs_assigned_ahead(void **state) {
    (void)state;
    assign_50_ahead();
    picker_lasting(picker, 1);
    picker_lasting(picker, 2);
    assert_int_equal(why(60).reason, PICKER_SLOT);
    assert_int_equal(why(60).slots, 2);
    assert_int_equal(why(60).busy, 2);
    picker_set_limits(picker, &(struct picker_limits){.slots = 1});
    assert_int_equal(why(60).busy, 2);
}

static void why_names_the_slot_the_lane_the_time_or_the_turn(void **state) {
    (void)state;
    uint64_t c7 = add(CLASS_DC, 1, "main"), c8 = add(CLASS_DC, 2, "main"),
             k1 = add(CLASS_DC, 3, ""), k2 = add(CLASS_DC, 4, ""),
             k3 = add(CLASS_DC, 5, "");
    rows[k3 - 1].not_before = wall_add_ms(now, 1000);
    refill();
    assert_int_equal(why(c7).reason, PICKER_NEXT);
    assert_int_equal(why(k1).reason, PICKER_BEHIND);
    assert_int_equal(why(k1).behind, c7);
    assert_int_equal(pick(), c7);
    assert_int_equal(why(c8).reason, PICKER_LANE);
    assert_int_equal(why(c8).behind, c7);
    assert_int_equal(pick(), k1);
    assert_int_equal(why(k2).reason, PICKER_SLOT);
    assert_int_equal(why(k2).slots, 2);
    assert_int_equal(why(k2).busy, 2);
    assert_int_equal(why(k3).reason, PICKER_NOT_BEFORE);
    assert_int_equal(why(k3).until.ns, rows[k3 - 1].not_before.ns);
}

static void a_paused_target_waits_and_others_do_not(void **state) {
    (void)state;
    uint64_t c1 = add(CLASS_DC, 1, "main"), c2 = add(CLASS_DC, 2, "main"),
             other = add(CLASS_DC, 3, "other");
    struct wall until = wall_add_ms(now, 1000);
    refill();
    assert_int_equal(pick(), c1);
    picker_ended(picker, c1, -1);
    picker_pause(picker, SPAN("main"), until);
    assert_int_equal(why(c2).reason, PICKER_NOT_BEFORE);
    assert_int_equal(why(c2).until.ns, until.ns);
    assert_int_equal(pick(), other);
    assert_int_equal(pick(), 0);
    assert_int_equal(picker_next_time(picker).ns, until.ns);
    now = until;
    assert_int_equal(pick(), c2);
    picker_ended(picker, c2, -1);
    uint64_t c3 = add(CLASS_DC, 4, "main");
    picker_pause(picker, SPAN("main"), wall_add_ms(now, 1000));
    assert_int_equal(pick(), 0);
    picker_pause(picker, SPAN("main"), (struct wall){0});
    assert_int_equal(pick(), c3);
}

/* The model searches a list from end to end. */
static uint64_t naive_pick(const uint64_t *running, size_t running_count,
                           unsigned slots) {
    const struct row *best = NULL;
    if (running_count >= slots)
        return 0;
    for (size_t i = 0; i < row_count; i++) {
        const struct row *row = &rows[i];
        bool busy = false;
        for (size_t k = 0; k < running_count; k++)
            busy =
                busy || (row->target[0] != '\0' &&
                         strcmp(row->target, rows[running[k] - 1].target) == 0);
        if (!row->pending || row->not_before.ns > now.ns || busy)
            continue;
        if (best == NULL || by_rank(&row, &best) < 0)
            best = row;
    }
    return best != NULL ? best->num : 0;
}

static void random_workloads_are_picked_as_by_a_plain_list(void **state) {
    (void)state;
    const char *targets[] = {"", "main", "site", "docs"};
    struct random *random = &(struct random){0};
    for (uint64_t seed = 0; seed < 60; seed++) {
        teardown(NULL);
        setup(NULL);
        random_init(random, seed);
        struct picker_limits small = {.slots = 3, .window_max = 8};
        picker_set_limits(picker, &small);
        uint64_t running[3];
        size_t running_count = 0;
        for (int step = 0; step < 400; step++) {
            uint64_t draw = random_below(random, 10);
            if (draw < 4) {
                struct row *row =
                    row_add((enum job_class)random_below(random, JOB_CLASSES),
                            (unsigned)random_below(random, 50),
                            targets[random_below(random, 4)]);
                if (random_below(random, 100) < 20)
                    row->not_before =
                        wall_add_ms(now, (int64_t)random_below(random, 5000));
                struct picker_job job = job_of(row);
                picker_offer(picker, &job, now);
            } else if (draw < 5 && row_count > 0) {
                struct row *row = &rows[random_below(random, row_count)];
                if (row->pending) {
                    row->pending = false; /* cancelled */
                    picker_forget(picker, row->num);
                }
            } else if (draw < 7 && running_count > 0) {
                end(running[--running_count]);
            } else if (draw < 8) {
                now = wall_add_ms(now, 700);
            } else {
                uint64_t expected = naive_pick(running, running_count, 3);
                uint64_t num = pick();
                for (int tries = 0; num == 0 && expected != 0 && tries < 99;
                     tries++) {
                    now = wall_add_ms(now, 50);
                    expected = naive_pick(running, running_count, 3);
                    num = pick();
                }
                assert_int_equal(num, expected);
                if (num != 0)
                    running[running_count++] = num;
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(jobs_are_picked_by_class_and_then_by_time),
        T(jobs_of_equal_rank_are_picked_by_number),
        T(at_first_no_more_jobs_are_assigned_than_slots),
        T(one_lane_admits_one_set_of_its_target),
        T(more_lanes_admit_more_sets),
        T(a_set_that_was_executing_before_a_restart_holds_its_lane),
        T(jobs_that_became_ready_unnoticed_are_read_in_order),
        T(a_job_is_not_picked_before_its_time),
        T(forgotten_jobs_are_not_picked),
        T(a_new_rank_moves_a_job),
        T(an_assigned_job_cannot_be_offered_again),
        T(old_jobs_gain_a_class_per_step_but_never_become_rollbacks),
        T(ageing_is_off_by_default),
        T(aged_jobs_beyond_the_window_are_found),
        T(the_window_stays_small_however_many_jobs_wait),
        T(a_long_backlog_is_read_in_pieces),
        T(jobs_that_may_not_start_hide_none_behind_them),
        T(newcomers_beyond_the_window_wait_in_the_registry),
        T(a_failed_refill_is_requested_again),
        T(a_busy_target_does_not_block_commands),
        T(nothing_is_assigned_ahead_before_the_first_attempt),
        T(short_attempts_are_assigned_ahead),
        T(attempts_of_a_tenth_of_a_second_get_twice_the_slots),
        T(long_attempts_are_never_assigned_ahead),
        T(one_long_attempt_stops_assigning_ahead),
        T(long_attempts_reduce_the_slots_for_assigning_ahead),
        T(why_counts_running_jobs_not_jobs_assigned_ahead),
        T(a_long_attempt_reserves_only_its_own_slot),
        T(newcomers_of_a_busy_target_do_not_overtake),
        T(a_paused_target_waits_and_others_do_not),
        T(why_names_the_slot_the_lane_the_time_or_the_turn),
        T(random_workloads_are_picked_as_by_a_plain_list),
    };
    return cmocka_run_group_tests_name("picker", tests, NULL, NULL);
}
