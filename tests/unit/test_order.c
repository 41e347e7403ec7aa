#include "core/order.h"

#include "support/test.h"

/* Stories: sets arrive, the order proposes, a pretend registry commits. Names
 * of sets are their keys' class and time, so that a story reads by itself. */

static struct order *order;
static struct arena arena;
static struct wall now;

enum { SETS = 64 };
static struct set {
    char id[16], key[16];
    enum job_state state;
    char reason[32], detail[160];
    char record[160]; /* precursors, sorted as proposed */
    char rank[16];
} sets[SETS + 1];
static size_t set_count;

static int setup(void **state) {
    (void)state;
    arena = ARENA_INIT;
    now = wall_from_s(1700000000);
    memset(sets, 0, sizeof(sets));
    set_count = 0;
    struct order_limits limits = {.wait_for_dep_ms = 3600 * 1000};
    order = order_new(&limits);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    order_free(order);
    arena_clear(&arena);
    return 0;
}

static struct set *set_of(const char *id) {
    for (size_t i = set_count; i >= 1; i--)
        if (strcmp(sets[i].id, id) == 0)
            return &sets[i];
    fail_msg("no set %s", id);
    return NULL;
}

static uint64_t num_of(const char *id) {
    return (uint64_t)(set_of(id) - sets);
}

/* What a set says of itself: "f g" files, "<a" depends on a, "~a" hints at a,
 * "^a" supersedes a, "=a" has a on record. */
static void add_as(enum job_class job_class, const char *id, const char *says,
                   enum job_state state, const char *target) {
    struct job_edge edges[16];
    struct job_touch touches[16];
    struct order_entry entry = {.edges = edges, .touches = touches};
    struct span rest = span_of(says), word;
    while (rest.len > 0 && span_cut(&rest, ' ', &word)) {
        enum edge_kind kind = EDGE_DEPENDENCY;
        if (word.len == 0)
            continue;
        const char *mark = strchr("<~^=", word.p[0]);
        if (mark == NULL) {
            touches[entry.touch_count++] = (struct job_touch){.path = word};
            continue;
        }
        kind = (enum edge_kind[]){EDGE_DEPENDENCY, EDGE_HINT, EDGE_SUPERSEDES,
                                  EDGE_PRECURSOR}[mark - "<~^="];
        edges[entry.edge_count++] = (struct job_edge){
            .kind = kind, .to = span_make(word.p + 1, word.len - 1)};
    }
    assert_true(set_count < SETS);
    struct set *set = &sets[++set_count];
    snprintf(set->id, sizeof(set->id), "%s", id);
    snprintf(set->key, sizeof(set->key), "%d%03zu", (int)job_class, set_count);
    set->state = state;
    entry.num = set_count;
    entry.id = span_of(set->id);
    entry.job_class = job_class;
    entry.rb = job_class == CLASS_RB;
    entry.state = state;
    entry.key = span_of(set->key);
    entry.target = span_of(target);
    entry.admitted = entry.since = now;
    order_admit(order, &entry);
}

static void add(enum job_class job_class, const char *id, const char *says) {
    add_as(job_class, id, says, STATE_QUEUED, "main");
}

static void dc(const char *id, const char *says) {
    add(CLASS_DC, id, says);
}

static void move(const char *id, enum job_state to) {
    set_of(id)->state = to;
    assert_true(order_move(order, num_of(id), to, now, false));
}

static void outside(const char *id, enum job_state state) {
    struct order_other other = {
        .id = span_of(id), .state = state, .since = now};
    order_outside(order, &other);
}

static void commit(const struct order_effect *effect) {
    struct set *set = &sets[effect->num];
    enum job_state to = STATE_NONE;
    if (effect->kind == ORDER_RANK) {
        snprintf(set->rank, sizeof(set->rank), "%.*s", (int)effect->rank.len,
                 effect->rank.p);
        return;
    }
    assert_int_equal(set->state, effect->from);
    if (effect->kind == ORDER_STAGE || effect->kind == ORDER_SPLICE) {
        set->record[0] = '\0';
        for (size_t i = 0; i < effect->precursor_count; i++)
            snprintf(set->record + strlen(set->record),
                     sizeof(set->record) - strlen(set->record), "%s%.*s",
                     i > 0 ? " " : "", (int)effect->precursors[i].len,
                     effect->precursors[i].p);
    }
    switch (effect->kind) {
    case ORDER_STAGE:
        to = STATE_STAGED;
        break;
    case ORDER_TO_PENDING_RB:
    case ORDER_READY:
        to = STATE_PENDING;
        break;
    case ORDER_FAIL:
        to = STATE_FAILED;
        break;
    case ORDER_RECOMPUTE:
        to = STATE_QUEUED;
        break;
    case ORDER_SPLICE:
    case ORDER_RANK:
        return;
    }
    assert_true(job_step_is_legal(set->state, to, effect->reason));
    snprintf(set->reason, sizeof(set->reason), "%.*s", (int)effect->reason.len,
             effect->reason.p);
    snprintf(set->detail, sizeof(set->detail), "%.*s", (int)effect->detail.len,
             effect->detail.p);
    set->state = to;
    order_move(order, effect->num, to, now, false);
}

/* One scan; all it proposes is committed. Ids nobody told about are unknown. */
static size_t scan(void) {
    struct order_effect *effects;
    struct span id;
    while (order_next_unknown(order, &id)) {
        struct order_other other = {.id = id, .state = STATE_NONE};
        for (size_t i = 1; i <= set_count; i++)
            if (span_is(id, sets[i].id))
                other.state = sets[i].state;
        order_outside(order, &other);
    }
    size_t count = order_scan(order, now, &arena, &effects);
    for (size_t i = 0; i < count; i++)
        commit(&effects[i]);
    order_check(order);
    return count;
}

static void settle(void) {
    for (int i = 0; scan() > 0; i++)
        assert_true(i < 100);
}

static void is(const char *id, enum job_state state) {
    if (set_of(id)->state != state)
        fail_msg("%s is in %c, not in %c (%s)", id,
                 job_state_letter(set_of(id)->state), job_state_letter(state),
                 set_of(id)->reason);
}

static void failed(const char *id, const char *reason, const char *detail) {
    is(id, STATE_FAILED);
    assert_string_equal(set_of(id)->reason, reason);
    assert_string_equal(set_of(id)->detail, detail);
}

static void run(const char *id) {
    is(id, STATE_PENDING);
    move(id, STATE_EXECUTING);
    settle();
    move(id, STATE_DONE);
    settle();
}

/* ---- precursors --------------------------------------------------------- */

static void a_set_alone_goes_through(void **state) {
    (void)state;
    dc("a", "f");
    assert_int_equal(scan(), 1);
    is("a", STATE_STAGED);
    assert_string_equal(set_of("a")->record, "");
    scan();
    is("a", STATE_PENDING);
    run("a");
    assert_int_equal(order_count(order), 0);
}

static void sets_that_share_a_file_go_one_after_the_other(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f");
    dc("c", "g");
    settle();
    is("a", STATE_PENDING);
    is("b", STATE_STAGED);
    is("c", STATE_PENDING);
    assert_string_equal(set_of("b")->record, "a");
    run("a");
    is("b", STATE_PENDING);
}

static void class_orders_those_that_wait_in_the_queue(void **state) {
    (void)state;
    dc("late", "f");
    add(CLASS_EM, "urgent", "f");
    settle();
    is("urgent", STATE_PENDING);
    is("late", STATE_STAGED);
}

static void staged_sets_are_not_overtaken(void **state) {
    (void)state;
    dc("a", "f");
    settle();
    add(CLASS_EM, "urgent", "f");
    settle();
    is("a", STATE_PENDING);
    is("urgent", STATE_STAGED);
    assert_string_equal(set_of("urgent")->record, "a");
}

static void targets_do_not_meet(void **state) {
    (void)state;
    dc("a", "f");
    add_as(CLASS_DC, "b", "f", STATE_QUEUED, "site");
    settle();
    is("a", STATE_PENDING);
    is("b", STATE_PENDING);
}

static void keys_of_commands_meet_each_other_and_no_path(void **state) {
    (void)state;
    dc("set", "f");
    add_as(CLASS_DC, "k1", "f", STATE_QUEUED, "");
    add_as(CLASS_DC, "k2", "f", STATE_QUEUED, "");
    add_as(CLASS_DC, "k3", "f/g", STATE_QUEUED, "");
    settle();
    is("set", STATE_PENDING);
    is("k1", STATE_PENDING);
    is("k2", STATE_STAGED);
    is("k3", STATE_PENDING); /* keys have no parents */
}

/* D22 */
static void file_and_directory_of_one_name_clash(void **state) {
    (void)state;
    dc("a", "src/lib/x");
    dc("b", "src/lib"); /* becomes a file */
    dc("c", "src/lib/y");
    dc("d", "src/libx");
    settle();
    is("a", STATE_PENDING);
    is("b", STATE_STAGED);
    is("c", STATE_STAGED);
    is("d", STATE_PENDING);
    assert_string_equal(set_of("b")->record, "a");
    assert_string_equal(set_of("c")->record, "b");
}

static void directories_do_not_clash(void **state) {
    (void)state;
    dc("a", "src/x");
    dc("b", "src/y");
    settle();
    is("a", STATE_PENDING);
    is("b", STATE_PENDING);
}

static void file_made_of_a_directory_waits_for_all_in_it(void **state) {
    (void)state;
    dc("a", "src/x");
    dc("b", "src/y");
    dc("c", "src src/x"); /* the directory goes, a file comes */
    settle();
    assert_string_equal(set_of("c")->record, "a b");
    run("b");
    is("c", STATE_STAGED);
    run("a");
    is("c", STATE_PENDING);
}

static void path_may_be_a_file_and_a_directory_in_one_set(void **state) {
    (void)state;
    dc("a", "src/x src"); /* in any order */
    dc("b", "src/y");
    settle();
    assert_string_equal(set_of("b")->record, "a");
    is("b", STATE_STAGED);
}

/* D26 */
static void who_leaves_from_the_middle_leaves_its_waiting_behind(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f");
    dc("c", "f");
    settle();
    assert_string_equal(set_of("c")->record, "b");
    move("a", STATE_EXECUTING);
    move("b", STATE_TERMINATED);
    settle();
    is("c", STATE_STAGED); /* b is gone, a still runs */
    assert_string_equal(set_of("c")->record, "a");
    move("a", STATE_FAILED);
    settle();
    is("c", STATE_PENDING);
}

static void
directory_users_meet_when_the_file_between_them_leaves(void **state) {
    (void)state;
    dc("a", "d/x");
    dc("b", "d");
    dc("c", "d/y");
    dc("e", "d");
    settle();
    is("c", STATE_STAGED);
    move("b", STATE_TERMINATED);
    settle();
    is("c", STATE_PENDING); /* two directory uses do not meet */
    is("e", STATE_STAGED);
    run("a");
    is("e", STATE_STAGED);
    run("c");
    is("e", STATE_PENDING);
}

static void failing_precursor_has_left_all_the_same(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f");
    settle();
    move("a", STATE_EXECUTING);
    move("a", STATE_FAILED);
    settle();
    is("b", STATE_PENDING);
}

static void temporary_error_keeps_the_place(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f");
    settle();
    move("a", STATE_EXECUTING);
    move("a", STATE_PENDING);
    settle();
    is("b", STATE_STAGED);
    run("a");
    is("b", STATE_PENDING);
}

/* D14 */
static void hints_are_added_while_they_live_and_stand_in_front(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "g ~a ~nobody");
    settle();
    assert_string_equal(set_of("b")->record, "a");
    is("b", STATE_STAGED);
    run("a");
    is("b", STATE_PENDING);
}

static void hinted_set_goes_first_even_with_a_later_key(void **state) {
    (void)state;
    add(CLASS_EM, "b", "g ~a");
    dc("a", "f");
    settle();
    is("a", STATE_PENDING);
    is("b", STATE_STAGED);
}

static void hints_in_a_ring_do_not_lock(void **state) {
    (void)state;
    dc("a", "f ~b");
    dc("b", "g ~a");
    settle();
    is("a", STATE_PENDING);
    is("b", STATE_STAGED);
    run("a");
    is("b", STATE_PENDING);
}

/* ---- dependencies ------------------------------------------------------- */

/* D21 */
static void living_dependency_is_waited_for_and_on_record(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "g <a");
    settle();
    is("b", STATE_STAGED);
    assert_string_equal(set_of("b")->record, "a");
    run("a");
    is("b", STATE_PENDING);
}

static void done_dependency_of_long_ago_is_fine(void **state) {
    (void)state;
    dc("b", "g <old");
    outside("old", STATE_DONE);
    settle();
    is("b", STATE_PENDING);
}

static void failed_dependency_fails_all_that_depend_on_it(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "g <a");
    dc("c", "h <b");
    dc("d", "h");
    settle();
    move("a", STATE_EXECUTING);
    move("a", STATE_FAILED);
    assert_int_equal(scan(), 2); /* both in one scan */
    failed("b", "dep-failed", "dependency a failed");
    failed("c", "dep-failed", "dependency b failed");
    settle();
    is("d", STATE_PENDING);
}

static void terminated_and_abandoned_dependencies_are_named(void **state) {
    (void)state;
    dc("b", "g <t");
    dc("c", "h <x");
    outside("t", STATE_TERMINATED);
    outside("x", STATE_ABANDONED);
    settle();
    failed("b", "dep-failed", "dependency t was terminated");
    failed("c", "dep-failed", "dependency x was abandoned");
}

static void dependency_still_looked_up_is_waited_for(void **state) {
    (void)state;
    struct order_effect *effects;
    dc("b", "g <old");
    for (int i = 0; i < 3; i++)
        for (size_t n = order_scan(order, now, &arena, &effects); n > 0; n--)
            commit(&effects[n - 1]);
    is("b", STATE_STAGED);
    outside("old", STATE_DONE);
    settle();
    is("b", STATE_PENDING);
}

static void rolled_back_dependency_fails(void **state) {
    (void)state;
    dc("b", "g <old");
    struct order_other other = {
        .id = SPAN("old"), .state = STATE_DONE, .rolled_back = true};
    order_outside(order, &other);
    settle();
    failed("b", "dep-rolled-back", "dependency old was rolled back");
}

static void
dependency_rolled_back_later_fails_those_still_waiting(void **state) {
    (void)state;
    dc("slow", "g");
    dc("b", "g <old");
    outside("old", STATE_DONE);
    settle();
    is("b", STATE_STAGED);
    struct order_other other = {
        .id = SPAN("old"), .state = STATE_DONE, .rolled_back = true};
    assert_true(order_watches(order, SPAN("old")));
    order_outside(order, &other);
    settle();
    is("b", STATE_FAILED);
    assert_false(order_watches(order, SPAN("old")));
}

/* D25 */
static void unknown_dependency_is_waited_for_an_hour(void **state) {
    (void)state;
    dc("b", "g <nobody");
    settle();
    is("b", STATE_STAGED);
    assert_int_equal(order_next_time(order).ns, wall_add_ms(now, 3600000).ns);
    now = wall_add_ms(now, 3600 * 1000 - 1);
    settle();
    is("b", STATE_STAGED);
    now = wall_add_ms(now, 1);
    settle();
    failed("b", "dep-unknown",
           "dependency nobody did not arrive within 3600 s");
    assert_int_equal(order_next_time(order).ns, WALL_NEVER.ns);
}

static void unknown_dependency_may_still_arrive(void **state) {
    (void)state;
    dc("b", "g <a");
    settle();
    dc("a", "f");
    settle();
    assert_int_equal(order_next_time(order).ns, WALL_NEVER.ns);
    is("a", STATE_PENDING);
    is("b", STATE_STAGED);
    run("a");
    is("b", STATE_PENDING);
}

/* A plain command is not in the order; whoever drives it tells. */
static void plain_command_outside_is_waited_for(void **state) {
    (void)state;
    dc("b", "g <j1");
    outside("j1", STATE_PENDING);
    settle();
    is("b", STATE_STAGED);
    assert_string_equal(set_of("b")->record, "j1");
    outside("j1", STATE_DONE);
    settle();
    is("b", STATE_PENDING);
}

/* D23: the smallest ring of the seed's rule. */
static void shared_files_and_dependencies_make_no_ring(void **state) {
    (void)state;
    add(CLASS_EM, "A", "f <B");
    add(CLASS_BF, "C", "f g");
    add(CLASS_DC, "B", "g");
    settle();
    size_t ran = 0;
    for (int round = 0; round < 3; round++)
        for (size_t i = 1; i <= set_count; i++)
            if (sets[i].state == STATE_PENDING) {
                run(sets[i].id);
                ran++;
            }
    assert_int_equal(ran, 3);
}

/* D23, D17: a staged set turns out to depend on a newcomer. */
static void staged_set_moves_behind_a_newcomer_it_depends_on(void **state) {
    (void)state;
    dc("x", "f"); /* so that the others wait */
    dc("b", "f <late");
    dc("c", "f");
    settle();
    assert_string_equal(set_of("b")->record, "x");
    assert_string_equal(set_of("c")->record, "b");
    dc("late", "f");
    assert_int_equal(scan(), 3); /* late staged; b and c recomputed */
    is("b", STATE_QUEUED);
    is("c", STATE_QUEUED);
    assert_string_equal(set_of("b")->reason, "recompute");
    settle();
    assert_string_equal(set_of("c")->record, "x");
    assert_string_equal(set_of("late")->record, "c");
    assert_string_equal(set_of("b")->record, "late");
    run("x");
    run("c");
    run("late");
    run("b");
}

/* Two groups in a directory become one when the file between them moves. */
static void record_behind_a_moved_file_names_both_sides(void **state) {
    (void)state;
    dc("r1", "d/x");
    dc("b", "d <late");
    dc("r2", "d/y");
    dc("v", "d");
    settle();
    assert_string_equal(set_of("v")->record, "r2");
    dc("late", "z");
    settle();
    assert_string_equal(set_of("v")->record, "r1 r2");
    assert_string_equal(set_of("b")->record, "late v");
}

static void who_goes_back_is_not_failed_before_it_is_there(void **state) {
    (void)state;
    struct order_effect *effects;
    dc("x", "f");
    dc("b", "f <late <x");
    settle();
    dc("late", "f");
    order_scan(order, now, &arena, &effects); /* b: recompute, not committed */
    move("x", STATE_FAILED);
    size_t count = order_scan(order, now, &arena, &effects);
    for (size_t i = 0; i < count; i++)
        assert_int_not_equal(effects[i].num, num_of("b"));
    move("b", STATE_QUEUED);
    settle();
    is("b", STATE_FAILED);
}

static void records_that_do_not_differ_are_left_alone(void **state) {
    (void)state;
    dc("b", "f <late");
    dc("c", "g");
    settle();
    dc("late", "h");
    struct order_effect *effects;
    size_t count = order_scan(order, now, &arena, &effects);
    /* b has a new precursor; c has nothing to do with it */
    assert_int_equal(count, 2);
    assert_int_equal(effects[0].num + effects[1].num,
                     num_of("b") + num_of("late"));
}

/* D24 */
static void closing_a_cycle_fails_with_the_path(void **state) {
    (void)state;
    dc("a", "f <b");
    settle();
    is("a", STATE_STAGED);
    dc("b", "g <c");
    dc("c", "h <a");
    settle();
    failed("c", "dep-cycle", "c → a → b → c");
    failed("b", "dep-failed", "dependency c failed");
    failed("a", "dep-failed", "dependency b failed");
    assert_int_equal(order_count(order), 0);
}

static void cycle_that_arrives_at_once_is_closed_by_the_last(void **state) {
    (void)state;
    dc("a", "f <b");
    dc("b", "g <a");
    dc("c", "h <a");
    dc("d", "h");
    settle();
    failed("b", "dep-cycle", "b → a → b");
    failed("a", "dep-failed", "dependency b failed");
    is("c", STATE_FAILED);
    is("d", STATE_PENDING);
}

static void set_that_depends_on_itself_fails(void **state) {
    (void)state;
    dc("a", "f <a");
    dc("b", "f");
    settle();
    failed("a", "dep-cycle", "a → a");
    is("b", STATE_PENDING);
}

static void cycle_through_a_successor_is_a_cycle(void **state) {
    (void)state;
    dc("a", "f <old");
    order_hold(order, num_of("a"), HOLD_OPERATOR);
    outside("old", STATE_FAILED);
    settle();
    dc("new", "g ^old <a");
    settle();
    failed("new", "dep-cycle", "new → a → new");
    order_hold(order, num_of("a"), 0);
    settle();
    is("a", STATE_FAILED);
}

/* D8 */
static void successor_serves_those_who_depend_on_the_failed_one(void **state) {
    (void)state;
    dc("b", "g <old");
    struct span successors[] = {SPAN("second")};
    struct order_other other = {.id = SPAN("old"),
                                .state = STATE_FAILED,
                                .successors = successors,
                                .successor_count = 1};
    order_outside(order, &other);
    struct span id;
    assert_true(order_next_unknown(order, &id)); /* old was asked, answered */
    assert_true(span_is(id, "second"));
    successors[0] = SPAN("third");
    other.id = SPAN("second");
    order_outside(order, &other);
    outside("third", STATE_DONE);
    settle();
    is("b", STATE_PENDING);
}

static void living_successor_is_waited_for(void **state) {
    (void)state;
    dc("b", "f <old");
    order_hold(order, num_of("b"), HOLD_OPERATOR); /* or it fails at once */
    outside("old", STATE_FAILED);
    settle();
    dc("new", "f ^old");
    settle();
    order_hold(order, num_of("b"), 0);
    settle();
    is("b", STATE_QUEUED + 1);
    is("new", STATE_PENDING); /* in front of b, though b was there first */
    run("new");
    is("b", STATE_PENDING);
}

static void failed_chain_of_successors_fails(void **state) {
    (void)state;
    dc("new", "f ^old");
    settle();
    dc("b", "g <old");
    struct span successors[] = {SPAN("new")};
    struct order_other other = {.id = SPAN("old"),
                                .state = STATE_TERMINATED,
                                .successors = successors,
                                .successor_count = 1};
    order_outside(order, &other);
    settle();
    is("b", STATE_STAGED);
    move("new", STATE_FAILED);
    settle();
    failed("b", "dep-failed",
           "dependency old was terminated, and what superseded it");
}

/* ---- holds, rollbacks --------------------------------------------------- */

static void held_set_keeps_its_place(void **state) {
    (void)state;
    dc("a", "f");
    order_hold(order, 1, HOLD_APPROVAL);
    dc("b", "f");
    settle();
    is("a", STATE_QUEUED);
    is("b", STATE_STAGED);
    assert_string_equal(set_of("b")->record, "a");
    order_hold(order, 1, 0);
    settle();
    is("a", STATE_PENDING);
    is("b", STATE_STAGED);
}

static void held_staged_set_is_skipped_until_released(void **state) {
    (void)state;
    dc("x", "f");
    dc("a", "f <dep");
    settle();
    order_hold(order, num_of("a"), HOLD_OPERATOR);
    outside("dep", STATE_FAILED);
    settle();
    is("a", STATE_STAGED);
    order_hold(order, num_of("a"), 0);
    settle();
    is("a", STATE_FAILED);
}

static void rollback_set_goes_straight_to_pending(void **state) {
    (void)state;
    dc("a", "f");
    add(CLASS_RB, "rb", "f <a");
    scan();
    is("rb", STATE_PENDING);
    assert_string_equal(set_of("rb")->reason, "rb");
}

static void abandoned_under_an_open_rollback_has_not_left(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f");
    dc("c", "g <a");
    settle();
    set_of("a")->state = STATE_ABANDONED;
    order_move(order, 1, STATE_ABANDONED, now, true);
    settle();
    is("b", STATE_STAGED);
    is("c", STATE_STAGED);
    /* undone: back where it was */
    move("a", STATE_PENDING);
    settle();
    is("b", STATE_STAGED);
    /* again, and now for good */
    order_move(order, 1, STATE_ABANDONED, now, true);
    order_move(order, 1, STATE_ABANDONED, now, false);
    settle();
    is("b", STATE_PENDING);
    failed("c", "dep-failed", "dependency a was abandoned");
}

/* ---- inheritance (D10) -------------------------------------------------- */

static void pending_set_inherits_the_urgency_of_who_waits_for_it(void **state) {
    (void)state;
    dc("a", "f");
    settle();
    is("a", STATE_PENDING);
    assert_string_equal(set_of("a")->rank, "");
    dc("b", "f g");
    settle();
    assert_string_equal(set_of("a")->rank, "");
    add(CLASS_EM, "urgent", "g"); /* waits for b, b for a */
    settle();
    assert_string_equal(set_of("a")->rank, set_of("urgent")->key);
    move("urgent", STATE_TERMINATED);
    settle();
    assert_string_equal(set_of("a")->rank, set_of("a")->key);
}

static void dependency_inherits_too_here_and_outside(void **state) {
    (void)state;
    dc("a", "f");
    settle();
    add_as(CLASS_DC, "j1", "", STATE_DONE, ""); /* a name in the registry */
    add(CLASS_EM, "urgent", "g <a <j1");
    struct order_other other = {.id = SPAN("j1"),
                                .state = STATE_PENDING,
                                .num = num_of("j1"),
                                .key = span_of(set_of("j1")->key)};
    order_outside(order, &other);
    settle();
    assert_string_equal(set_of("a")->rank, set_of("urgent")->key);
    assert_string_equal(set_of("j1")->rank, set_of("urgent")->key);
    move("urgent", STATE_TERMINATED);
    settle();
    assert_string_equal(set_of("a")->rank, set_of("a")->key);
}

static void who_comes_back_from_a_rollback_is_waited_for_again(void **state) {
    (void)state;
    dc("a", "f");
    settle();
    add(CLASS_EM, "em", "f");
    settle();
    assert_string_equal(set_of("a")->rank, set_of("em")->key);
    order_move(order, num_of("em"), STATE_ABANDONED, now, true);
    settle();
    assert_string_equal(set_of("a")->rank, set_of("a")->key);
    move("em", STATE_STAGED);
    settle();
    assert_string_equal(set_of("a")->rank, set_of("em")->key);
}

static void most_urgent_of_several_waiters_counts(void **state) {
    (void)state;
    dc("a", "f");
    settle();
    add(CLASS_BF, "bf", "f");
    add(CLASS_EM, "em", "x <a");
    settle();
    assert_string_equal(set_of("a")->rank, set_of("em")->key);
    move("em", STATE_TERMINATED);
    settle();
    assert_string_equal(set_of("a")->rank, set_of("bf")->key);
}

static void set_that_becomes_ready_takes_its_rank_along(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f");
    settle();
    add(CLASS_EM, "em", "x <b");
    settle();
    assert_string_equal(set_of("a")->rank, set_of("em")->key);
    assert_string_equal(set_of("b")->rank, "");
    run("a");
    is("b", STATE_PENDING);
    assert_string_equal(set_of("b")->rank, set_of("em")->key);
}

/* ---- a second life, and other processes --------------------------------- */

static void after_a_restart_the_records_give_the_line_back(void **state) {
    (void)state;
    /* b was staged before a, whatever their keys say */
    add_as(CLASS_EM, "a", "f =b", STATE_STAGED, "main");
    add_as(CLASS_DC, "b", "f", STATE_STAGED, "main");
    add_as(CLASS_EM, "c", "f", STATE_QUEUED, "main");
    settle();
    is("b", STATE_PENDING);
    is("a", STATE_STAGED);
    is("c", STATE_STAGED);
    assert_string_equal(set_of("c")->record, "a");
}

static void running_sets_come_first_after_a_restart(void **state) {
    (void)state;
    add_as(CLASS_EM, "a", "f", STATE_QUEUED, "main");
    add_as(CLASS_BF, "b", "f =c", STATE_STAGED, "main");
    add_as(CLASS_DC, "c", "f", STATE_EXECUTING, "main");
    settle();
    is("b", STATE_STAGED);
    is("a", STATE_STAGED);
    assert_string_equal(set_of("a")->record, "b");
    move("c", STATE_DONE);
    settle();
    is("b", STATE_PENDING);
}

static void splice_lost_in_a_crash_is_made_up_for(void **state) {
    (void)state;
    /* c waited for b, which was cancelled; we died before c's splice */
    add_as(CLASS_DC, "a", "f", STATE_EXECUTING, "main");
    add_as(CLASS_DC, "c", "f =b", STATE_STAGED, "main");
    snprintf(set_of("c")->record, 8, "b");
    settle();
    is("c", STATE_STAGED);
    assert_string_equal(set_of("c")->record, "a");
}

static void rings_in_damaged_records_do_not_lock(void **state) {
    (void)state;
    add_as(CLASS_DC, "a", "f =b", STATE_STAGED, "main");
    add_as(CLASS_DC, "b", "f =a", STATE_STAGED, "main");
    settle();
    is("a", STATE_PENDING);
    is("b", STATE_STAGED);
}

static void cycle_of_staged_sets_in_a_damaged_registry_is_broken(void **state) {
    (void)state;
    add_as(CLASS_DC, "a", "f <b", STATE_STAGED, "main");
    add_as(CLASS_DC, "b", "g <a", STATE_STAGED, "main");
    settle();
    is("a", STATE_FAILED);
    is("b", STATE_FAILED);
}

static void lost_proposal_is_made_again(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f <x");
    struct order_effect *effects;
    assert_int_equal(order_scan(order, now, &arena, &effects), 2);
    order_hold(order, 1, 0); /* something is said of it meanwhile */
    assert_int_equal(order_scan(order, now, &arena, &effects), 0);
    order_again(order, 1);
    assert_int_equal(order_scan(order, now, &arena, &effects), 1);
    assert_int_equal(effects[0].kind, ORDER_STAGE);
    assert_int_equal(effects[0].num, 1);
    commit(&effects[0]);
    /* b is cancelled by another process before it is staged */
    move("b", STATE_TERMINATED);
    settle();
    is("a", STATE_PENDING);
}

static void record_is_spliced_when_it_aged_under_way(void **state) {
    (void)state;
    dc("a", "f");
    dc("b", "f");
    settle();
    dc("c", "f");
    struct order_effect *effects;
    assert_int_equal(order_scan(order, now, &arena, &effects), 1);
    move("b", STATE_TERMINATED); /* between proposal and commit */
    commit(&effects[0]);
    assert_string_equal(set_of("c")->record, "b");
    settle();
    assert_string_equal(set_of("c")->record, "a");
}

static void twice_told_is_once_known(void **state) {
    (void)state;
    dc("a", "f");
    struct order_entry again = {.num = 1, .id = SPAN("a")};
    order_admit(order, &again);
    again.num = 99;
    order_admit(order, &again);
    assert_int_equal(order_count(order), 1);
    assert_false(order_move(order, 99, STATE_DONE, now, false));
    assert_false(order_hold(order, 99, 0));
    assert_false(order_again(order, 99));
}

static void retried_command_comes_back_at_the_end(void **state) {
    (void)state;
    add_as(CLASS_DC, "k1", "key", STATE_QUEUED, "");
    add_as(CLASS_DC, "k2", "key", STATE_QUEUED, "");
    settle();
    move("k1", STATE_FAILED);
    settle();
    is("k2", STATE_PENDING);
    add_as(CLASS_DC, "k1", "key", STATE_QUEUED, "");
    settle();
    is("k1", STATE_STAGED);
    run("k2");
    is("k1", STATE_PENDING);
}

static void equal_input_gives_equal_proposals(void **state) {
    (void)state;
    char first[4096] = "", second[4096] = "";
    for (int life = 0; life < 2; life++) {
        char *told = life == 0 ? first : second;
        if (life > 0) {
            teardown(NULL);
            setup(NULL);
        }
        dc("a", "d/f d/g");
        add(CLASS_EM, "b", "d <c");
        dc("c", "d/g ~a");
        dc("e", "d/f <b");
        struct order_effect *effects;
        size_t count;
        while ((count = order_scan(order, now, &arena, &effects)) > 0)
            for (size_t i = 0; i < count; i++) {
                snprintf(told + strlen(told), 4096 - strlen(told), "%d:%u ",
                         (int)effects[i].kind, (unsigned)effects[i].num);
                commit(&effects[i]);
            }
    }
    assert_true(strlen(first) > 0);
    assert_string_equal(first, second);
}

/* ---- why ---------------------------------------------------------------- */

static struct order_reason *why(const char *id, size_t *ret_count) {
    struct order_reason *reasons = NULL;
    order_why(order, num_of(id), now, 100, &arena, &reasons, ret_count);
    return reasons;
}

static void why_names_precursor_path_and_root(void **state) {
    (void)state;
    dc("a", "src/f");
    dc("b", "src/f src/g");
    dc("c", "src/g");
    settle();
    move("a", STATE_EXECUTING);
    size_t count;
    struct order_reason *reason = why("c", &count);
    assert_int_equal(count, 1);
    assert_int_equal(reason->kind, ORDER_WHY_PRECURSOR);
    assert_true(span_is(reason->id, "b"));
    assert_int_equal(reason->state, STATE_STAGED);
    assert_true(span_is(reason->path, "src/g"));
    assert_int_equal(reason->steps, 1);
    assert_true(span_is(reason->root, "a"));
    assert_int_equal(reason->root_state, STATE_EXECUTING);
    struct span *ids;
    assert_int_equal(order_closure(order, num_of("c"), 10, &arena, &ids), 2);
    assert_true(span_is(ids[0], "b"));
    assert_true(span_is(ids[1], "a"));
}

static void why_names_every_kind_of_dependency(void **state) {
    (void)state;
    dc("a", "f");
    dc("new", "n ^old");
    dc("b", "g <a <nobody <old ~a");
    struct span successors[] = {SPAN("new")};
    struct order_other other = {.id = SPAN("old"),
                                .state = STATE_FAILED,
                                .successors = successors,
                                .successor_count = 1};
    order_outside(order, &other);
    size_t count;
    assert_int_equal(why("b", &count)[1].kind, ORDER_WHY_ASKED);
    settle();
    struct order_reason *reasons = why("b", &count);
    assert_int_equal(count, 4);
    assert_int_equal(reasons[0].kind, ORDER_WHY_DEPENDENCY);
    assert_true(span_is(reasons[0].id, "a"));
    assert_int_equal(reasons[1].kind, ORDER_WHY_UNKNOWN);
    assert_int_equal(reasons[1].until.ns, wall_add_ms(now, 3600000).ns);
    assert_int_equal(reasons[2].kind, ORDER_WHY_SUCCESSOR);
    assert_true(span_is(reasons[2].other, "new"));
    assert_int_equal(reasons[3].kind, ORDER_WHY_HINT);
}

static void why_names_holds_and_the_queue(void **state) {
    (void)state;
    dc("a", "f");
    size_t count;
    assert_int_equal(why("a", &count)->kind, ORDER_WHY_UNSTAGED);
    order_hold(order, 1, HOLD_APPROVAL | HOLD_OPERATOR);
    settle();
    struct order_reason *reason = why("a", &count);
    assert_int_equal(count, 1);
    assert_int_equal(reason->kind, ORDER_WHY_HOLD);
    assert_int_equal(reason->holds, HOLD_APPROVAL | HOLD_OPERATOR);
    order_hold(order, 1, 0);
    settle();
    assert_int_equal(why("a", &count)->kind, ORDER_WHY_READY);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(a_set_alone_goes_through),
        T(sets_that_share_a_file_go_one_after_the_other),
        T(class_orders_those_that_wait_in_the_queue),
        T(staged_sets_are_not_overtaken),
        T(targets_do_not_meet),
        T(keys_of_commands_meet_each_other_and_no_path),
        T(file_and_directory_of_one_name_clash),
        T(directories_do_not_clash),
        T(file_made_of_a_directory_waits_for_all_in_it),
        T(path_may_be_a_file_and_a_directory_in_one_set),
        T(who_leaves_from_the_middle_leaves_its_waiting_behind),
        T(directory_users_meet_when_the_file_between_them_leaves),
        T(failing_precursor_has_left_all_the_same),
        T(temporary_error_keeps_the_place),
        T(hints_are_added_while_they_live_and_stand_in_front),
        T(hinted_set_goes_first_even_with_a_later_key),
        T(hints_in_a_ring_do_not_lock),
        T(living_dependency_is_waited_for_and_on_record),
        T(done_dependency_of_long_ago_is_fine),
        T(failed_dependency_fails_all_that_depend_on_it),
        T(terminated_and_abandoned_dependencies_are_named),
        T(dependency_still_looked_up_is_waited_for),
        T(rolled_back_dependency_fails),
        T(dependency_rolled_back_later_fails_those_still_waiting),
        T(unknown_dependency_is_waited_for_an_hour),
        T(unknown_dependency_may_still_arrive),
        T(plain_command_outside_is_waited_for),
        T(shared_files_and_dependencies_make_no_ring),
        T(staged_set_moves_behind_a_newcomer_it_depends_on),
        T(record_behind_a_moved_file_names_both_sides),
        T(who_goes_back_is_not_failed_before_it_is_there),
        T(records_that_do_not_differ_are_left_alone),
        T(closing_a_cycle_fails_with_the_path),
        T(cycle_that_arrives_at_once_is_closed_by_the_last),
        T(set_that_depends_on_itself_fails),
        T(cycle_through_a_successor_is_a_cycle),
        T(successor_serves_those_who_depend_on_the_failed_one),
        T(living_successor_is_waited_for),
        T(failed_chain_of_successors_fails),
        T(held_set_keeps_its_place),
        T(held_staged_set_is_skipped_until_released),
        T(rollback_set_goes_straight_to_pending),
        T(abandoned_under_an_open_rollback_has_not_left),
        T(pending_set_inherits_the_urgency_of_who_waits_for_it),
        T(dependency_inherits_too_here_and_outside),
        T(who_comes_back_from_a_rollback_is_waited_for_again),
        T(most_urgent_of_several_waiters_counts),
        T(set_that_becomes_ready_takes_its_rank_along),
        T(after_a_restart_the_records_give_the_line_back),
        T(running_sets_come_first_after_a_restart),
        T(splice_lost_in_a_crash_is_made_up_for),
        T(rings_in_damaged_records_do_not_lock),
        T(cycle_of_staged_sets_in_a_damaged_registry_is_broken),
        T(lost_proposal_is_made_again),
        T(record_is_spliced_when_it_aged_under_way),
        T(twice_told_is_once_known),
        T(retried_command_comes_back_at_the_end),
        T(equal_input_gives_equal_proposals),
        T(why_names_precursor_path_and_root),
        T(why_names_every_kind_of_dependency),
        T(why_names_holds_and_the_queue),
    };
    return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
