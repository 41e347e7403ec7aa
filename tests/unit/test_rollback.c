#include "support/test.h"

#include <string.h>

#include "core/rollback.h"
#include "core/rollback_scope.h"
#include "core/rollback_step.h"
#include "core/walk.h"

/* ---- a small graph, described by strings --------------------------------- */

struct known {
    const char *id, *needs; /* ids separated by spaces */
    enum job_state state;
    const char *target;
    enum job_kind kind;
    const char *by; /* the rollback that rolled it back */
    const char *files;
};

static const struct known *graph;
static size_t graph_count;
static struct arena arena;

static void set_graph(const struct known *nodes, size_t count) {
    graph = nodes;
    graph_count = count;
}
#define GRAPH(...)                                     \
    static const struct known nodes[] = {__VA_ARGS__}; \
    set_graph(nodes, COUNT(nodes))

static bool has_word(const char *words, const char *word) {
    struct span rest = span_of(words ? words : ""), one;
    while (span_cut(&rest, ' ', &one))
        if (span_is(one, word))
            return true;
    return false;
}

static struct rollback_node node_at(size_t at) {
    const struct known *known = &graph[at];
    return (struct rollback_node){
        .num = at + 1,
        .id = span_of(known->id),
        .kind = known->kind,
        .job_class = CLASS_DC,
        .state = known->state,
        .target = span_of(known->target ? known->target : "main"),
        .rolled_back_by = span_of(known->by ? known->by : ""),
        .files = known->files ? strlen(known->files) : 1,
        .state_seq = at + 1,
    };
}

static void answer(struct rollback *rollback,
                   const struct rollback_question *question) {
    struct rollback_node nodes[20];
    size_t count = 0;
    for (size_t i = 0; i < graph_count; i++) {
        bool yes = false;
        if (question->asked == ROLLBACK_ASK_PRIMARY)
            yes = span_is(question->id, graph[i].id);
        else if (question->asked == ROLLBACK_ASK_DEPENDENTS)
            yes = has_word(graph[i].needs, graph[question->num - 1].id);
        else if (graph[i].files && i + 1 > question->num)
            yes = strpbrk(graph[i].files, graph[question->num - 1].files);
        if (yes)
            nodes[count++] = node_at(i);
    }
    rollback_answer(rollback, nodes, count);
}

/* The plan, such as "C1 revert, C2 stop", or the reason and the detail of a
 * refusal. */
static const char *plan_of(const char *ids, size_t sets_max, bool files) {
    static char out[2000];
    struct span primaries[8], rest = span_of(ids);
    size_t count = 0;
    while (span_cut(&rest, ' ', &primaries[count]))
        count++;
    struct rollback_request request = {.primaries = primaries,
                                       .primary_count = count,
                                       .sets_max = sets_max,
                                       .files = files};
    struct rollback *rollback = rollback_new(&request);
    struct rollback_question question;
    struct rollback_decision decision;
    while (rollback_next_question(rollback, &question))
        answer(rollback, &question);
    rollback_set_files(rollback, 2);
    rollback_decide(rollback, &arena, &decision);
    struct text text = TEXT_INIT;
    if (decision.verdict != ROLLBACK_GO)
        text_addf(&text, "%s: %.*s", rollback_verdict_reason(decision.verdict),
                  (int)decision.detail.len, decision.detail.p);
    for (size_t i = 0; decision.verdict == ROLLBACK_GO && i < decision.count;
         i++)
        text_addf(&text, "%s%*s%.*s %s", i ? ", " : "",
                  (int)decision.members[i].depth, "",
                  (int)decision.members[i].node.id.len,
                  decision.members[i].node.id.p,
                  rollback_fate_word(decision.members[i].fate));
    snprintf(out, sizeof(out), "%s", text_string(&text));
    text_clear(&text);
    rollback_free(rollback);
    arena_clear(&arena);
    return out;
}

/* ---- the closure --------------------------------------------------------- */

static void dependents_are_included_at_any_depth(void **state) {
    (void)state;
    GRAPH({"C1", "", STATE_DONE}, {"C2", "C1", STATE_DONE},
          {"C3", "C2", STATE_EXECUTING}, {"C4", "C2 C1", STATE_STAGED},
          {"C5", "C4", STATE_QUEUED}, {"C6", "", STATE_DONE});
    assert_string_equal(plan_of("C1", 0, false),
                        "C1 revert,  C2 revert,  C4 abandon,   C3 stop,   C5 "
                        "abandon");
    assert_string_equal(plan_of("C3", 0, false), "C3 stop");
    assert_string_equal(plan_of("C2 C6", 0, false),
                        "C2 revert, C6 revert,  C3 stop,  C4 abandon,   C5 "
                        "abandon");
}

static void a_failed_job_ends_its_branch_of_dependents(void **state) {
    (void)state;
    GRAPH({"C1", "", STATE_DONE}, {"C2", "C1", STATE_FAILED},
          {"C3", "C2", STATE_DONE}, {"C4", "C1", STATE_TERMINATED},
          {"C5", "C1", STATE_DONE, .by = "R0"});
    assert_string_equal(plan_of("C1", 0, false),
                        "C1 revert,  C2 nothing,  C4 nothing,  C5 nothing");
}

static void waiting_commands_are_abandoned_and_others_skipped(void **state) {
    (void)state;
    GRAPH({"C1", "", STATE_DONE}, {"j1", "C1", STATE_DONE, .kind = JOB_COMMAND},
          {"j2", "C1", STATE_PENDING, .kind = JOB_COMMAND},
          {"C3", "j1", STATE_DONE});
    assert_string_equal(plan_of("C1", 0, false),
                        "C1 revert,  j1 stays,  j2 abandon,   C3 revert");
}

static void later_sets_on_the_same_file_are_included_on_request(void **state) {
    (void)state;
    GRAPH({"C1", "", STATE_DONE, .files = "ab"},
          {"C2", "", STATE_DONE, .files = "b"},
          {"C3", "C2", STATE_DONE, .files = "z"},
          {"C4", "", STATE_DONE, .files = "x"});
    assert_string_equal(plan_of("C1", 0, false), "C1 revert");
    assert_string_equal(plan_of("C1", 0, true),
                        "C1 revert,  C2 revert,   C3 revert");
    assert_string_equal(plan_of("C2", 0, true), "C2 revert,  C3 revert");
}

/* ---- verdicts ------------------------------------------------------------ */

static void unknown_ids_are_named(void **state) {
    (void)state;
    GRAPH({"C1", "", STATE_DONE});
    assert_string_equal(plan_of("C1 C9", 0, false), "rb-unknown: no job 'C9'");
}

static void a_rollback_has_only_one_target(void **state) {
    (void)state;
    GRAPH({"C1", "", STATE_DONE}, {"C2", "", STATE_DONE, .target = "site"},
          {"C3", "C1", STATE_DONE, .target = "site"}, {"C4", "", STATE_DONE},
          {"C5", "C4", STATE_STAGED, .target = "site"},
          {"j1", "", STATE_DONE, .kind = JOB_COMMAND});
    assert_string_equal(
        plan_of("C4 C2", 0, false),
        "rb-target: 'C2' belongs to target 'site', this rollback to 'main': "
        "submit a rollback for each target");
    assert_string_equal(plan_of("C1", 0, false),
                        "rb-target: 'C3' of target 'site' depends on what is "
                        "to be rolled back: roll it back first");
    assert_string_equal(plan_of("C4", 0, false), "C4 revert,  C5 abandon");
    assert_string_equal(plan_of("j1", 0, false),
                        "rb-target: 'j1' is a command: only change sets can "
                        "be rolled back");
}

static void a_rollback_of_nothing_is_reported(void **state) {
    (void)state;
    GRAPH({"C1", "", STATE_FAILED}, {"C2", "", STATE_DONE, .by = "R7"});
    assert_string_equal(plan_of("C1 C2", 0, false),
                        "rb-nothing: nothing to roll back: 'C1' has failed, "
                        "'C2' is already rolled back by 'R7'");
}

static void too_many_sets_are_listed(void **state) {
    (void)state;
    GRAPH({"C1", "", STATE_DONE}, {"C2", "C1", STATE_DONE},
          {"C3", "C1", STATE_FAILED});
    assert_string_equal(plan_of("C1", 2, false),
                        "C1 revert,  C2 revert,  C3 nothing");
    assert_non_null(strstr(plan_of("C1", 1, false),
                           "rb-too-large: 2 sets with 2 files would be "
                           "rolled back; the limits are 1 set"));
    assert_non_null(strstr(plan_of("C1", 1, false), "C1 C2"));
}

static void sets_that_wait_do_not_count_for_the_limit(void **state) {
    (void)state;
    GRAPH({"C1", "", STATE_DONE}, {"C2", "C1", STATE_QUEUED},
          {"C3", "C1", STATE_EXECUTING});
    assert_string_equal(plan_of("C1", 2, false),
                        "C1 revert,  C2 abandon,  C3 stop");
    assert_non_null(strstr(plan_of("C1", 1, false), "rb-too-large: 2 sets"));
}

/* ---- the plan ------------------------------------------------------------ */

static void a_plan_is_parsed_as_it_was_formatted(void **state) {
    (void)state;
    const struct rollback_entry entries[] = {
        {7, STATE_QUEUED, ROLLBACK_UNTOUCHED},
        {12, STATE_DONE, ROLLBACK_REVERTED},
        {13, STATE_DONE, ROLLBACK_RESTORED},
        {14, STATE_DONE, ROLLBACK_AGAIN}};
    struct text text = TEXT_INIT;
    struct rollback_entry *back;
    size_t count;
    for (size_t i = 0; i < COUNT(entries); i++)
        rollback_entry_format(&entries[i], &text);
    assert_string_equal(text_string(&text),
                        "7 Q\n12 D reverted\n13 D restored\n14 D again\n");
    assert_true(
        rollback_entries_parse(text_span(&text), &arena, &back, &count));
    assert_int_equal(count, COUNT(entries));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(back[i].num, entries[i].num);
        assert_int_equal(back[i].was, entries[i].was);
        assert_int_equal(back[i].outcome, entries[i].outcome);
    }
    text_clear(&text);
    static const char *const bad[] = {
        "7\n", "x Q\n", "7 Z\n", "7 Q gone\n", "7 Q reverted more\n", "\n"};
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(
            rollback_entries_parse(span_of(bad[i]), &arena, &back, &count));
    arena_clear(&arena);
}

static void assert_fate(enum job_state was, enum rollback_outcome outcome,
                        enum rollback_phase phase, enum job_state state,
                        const char *fate) {
    const struct rollback_entry entry = {1, was, outcome};
    assert_string_equal(rollback_entry_fate(&entry, phase, state), fate);
}

static void a_member_has_a_fate_in_every_phase(void **state) {
    (void)state;
    const enum rollback_outcome none = ROLLBACK_UNTOUCHED;
    assert_fate(STATE_DONE, none, ROLLBACK_STOPPING, STATE_DONE, "revert");
    assert_fate(STATE_EXECUTING, none, ROLLBACK_STOPPING, STATE_EXECUTING,
                "stop");
    assert_fate(STATE_EXECUTING, none, ROLLBACK_STOPPING, STATE_DONE, "revert");
    assert_fate(STATE_STAGED, none, ROLLBACK_STOPPING, STATE_STAGED, "abandon");
    assert_fate(STATE_STAGED, none, ROLLBACK_REVERTING, STATE_ABANDONED,
                "abandoned");
    assert_fate(STATE_DONE, none, ROLLBACK_UNDONE, STATE_DONE, "unchanged");
    assert_fate(STATE_STAGED, none, ROLLBACK_OVER, STATE_ABANDONED,
                "abandoned");
    assert_fate(STATE_DONE, none, ROLLBACK_OVER, STATE_DONE, "unchanged");
    assert_fate(STATE_DONE, ROLLBACK_REVERTED, ROLLBACK_OVER, STATE_DONE,
                "reverted");
    assert_fate(STATE_DONE, ROLLBACK_RESTORED, ROLLBACK_OVER, STATE_DONE,
                "restored");
    assert_fate(STATE_DONE, ROLLBACK_AGAIN, ROLLBACK_OVER, STATE_DONE,
                "reverted again");
}

static void words_of_phases_are_parsed(void **state) {
    (void)state;
    enum rollback_phase phase;
    for (int i = ROLLBACK_STOPPING; i <= ROLLBACK_UNDONE; i++) {
        assert_true(rollback_phase_parse(
            span_of(rollback_phase_word((enum rollback_phase)i)), &phase));
        assert_int_equal(phase, i);
    }
    assert_false(rollback_phase_parse(SPAN("begun"), &phase));
}

static void members_of_an_open_rollback_keep_their_place(void **state) {
    (void)state;
    struct rollback_entry entries[] = {{.num = 1, .was = STATE_STAGED},
                                       {.num = 2, .was = STATE_EXECUTING},
                                       {.num = 3, .was = STATE_DONE}};
    struct rollback_scope scope = {.num = 9, .entries = entries, .count = 3};
    assert_int_equal(rollback_scope_covers(&scope, 3), STATE_DONE);
    assert_int_equal(rollback_scope_covers(&scope, 4), STATE_NONE);
    assert_int_equal(rollback_scope_stands_as(&scope, 1, STATE_ABANDONED),
                     STATE_STAGED);
    assert_int_equal(rollback_scope_stands_as(&scope, 2, STATE_ABANDONED),
                     STATE_PENDING);
    assert_int_equal(rollback_scope_stands_as(&scope, 1, STATE_QUEUED),
                     STATE_QUEUED);
    scope.num = 0;
    assert_int_equal(rollback_scope_covers(&scope, 1), STATE_NONE);
}

static void
an_undone_rollback_returns_members_to_where_they_were(void **state) {
    (void)state;
    assert_int_equal(rollback_return_state(STATE_QUEUED), STATE_QUEUED);
    assert_int_equal(rollback_return_state(STATE_STAGED), STATE_STAGED);
    assert_int_equal(rollback_return_state(STATE_PENDING), STATE_PENDING);
    assert_int_equal(rollback_return_state(STATE_EXECUTING), STATE_PENDING);
    assert_int_equal(rollback_return_state(STATE_DONE), STATE_PENDING);
}

/* ---- the next step ------------------------------------------------------- */

static void a_rollback_abandons_then_stops_then_reverts(void **state) {
    (void)state;
    struct rollback_decision decision = {.verdict = ROLLBACK_GO, .stops = 1};
    struct rollback_situation situation = {.decision = &decision,
                                           .to_abandon = 2};
    struct retry_verdict verdict;
    assert_int_equal(rollback_step_next(&situation, &verdict),
                     ROLLBACK_STEP_ABANDON);
    situation.to_abandon = 0;
    assert_int_equal(rollback_step_next(&situation, &verdict),
                     ROLLBACK_STEP_STOP);
    situation.is_late = true;
    assert_int_equal(rollback_step_next(&situation, &verdict),
                     ROLLBACK_STEP_GIVE_UP);
    decision.stops = 0;
    assert_int_equal(rollback_step_next(&situation, &verdict),
                     ROLLBACK_STEP_REVERT);
}

static struct retry_verdict end_of(enum rollback_verdict why, bool has_members,
                                   enum retry_killer killer) {
    struct rollback_decision decision = {.verdict = why};
    struct rollback_situation situation = {
        .decision = &decision, .has_members = has_members, .killer = killer};
    struct retry_verdict verdict = {.to = JOB_STATES};
    assert_int_equal(rollback_step_next(&situation, &verdict),
                     ROLLBACK_STEP_END);
    return verdict;
}

static void
a_rollback_that_cannot_continue_ends_with_its_verdict(void **state) {
    (void)state;
    struct retry_verdict verdict =
        end_of(ROLLBACK_TOO_LARGE, false, RETRY_NOBODY);
    assert_int_equal(verdict.to, STATE_FAILED);
    assert_string_equal(verdict.reason, "rb-too-large");
    verdict = end_of(ROLLBACK_NOTHING, false, RETRY_NOBODY);
    assert_int_equal(verdict.to, STATE_DONE);
    assert_string_equal(verdict.reason, "rb-nothing");
    verdict = end_of(ROLLBACK_NOTHING, true, RETRY_NOBODY);
    assert_int_equal(verdict.to, STATE_DONE);
    assert_string_equal(verdict.reason, "ok");
}

static void the_end_of_a_rollback_depends_on_who_requested_it(void **state) {
    (void)state;
    assert_int_equal(end_of(ROLLBACK_GO, true, RETRY_OPERATOR).to,
                     STATE_TERMINATED);
    assert_int_equal(end_of(ROLLBACK_GO, true, RETRY_STOP).to, STATE_PENDING);
}

static void a_walk_visits_each_number_once(void **state) {
    (void)state;
    struct walk walk = WALK_INIT;
    size_t at;
    assert_true(walk_add(&walk, 5, WALK_START));
    assert_false(walk_add(&walk, 5, WALK_START));
    assert_true(walk_next(&walk, &at));
    assert_true(walk_add(&walk, 100000000, at));
    assert_true(walk_add(&walk, 4095, at));
    assert_true(walk_add(&walk, 4096, at));
    assert_false(walk_met(&walk, 4097));
    assert_true(walk_met(&walk, 4096));
    assert_int_equal(walk.steps[1].depth, 1);
    assert_int_equal(walk.steps[1].from, 0);
    for (int i = 0; i < 3; i++)
        assert_true(walk_next(&walk, &at));
    assert_false(walk_next(&walk, &at));
    walk_clear(&walk);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dependents_are_included_at_any_depth),
        cmocka_unit_test(a_failed_job_ends_its_branch_of_dependents),
        cmocka_unit_test(waiting_commands_are_abandoned_and_others_skipped),
        cmocka_unit_test(later_sets_on_the_same_file_are_included_on_request),
        cmocka_unit_test(unknown_ids_are_named),
        cmocka_unit_test(a_rollback_has_only_one_target),
        cmocka_unit_test(a_rollback_of_nothing_is_reported),
        cmocka_unit_test(too_many_sets_are_listed),
        cmocka_unit_test(sets_that_wait_do_not_count_for_the_limit),
        cmocka_unit_test(a_plan_is_parsed_as_it_was_formatted),
        cmocka_unit_test(a_member_has_a_fate_in_every_phase),
        cmocka_unit_test(words_of_phases_are_parsed),
        cmocka_unit_test(members_of_an_open_rollback_keep_their_place),
        cmocka_unit_test(an_undone_rollback_returns_members_to_where_they_were),
        cmocka_unit_test(a_rollback_abandons_then_stops_then_reverts),
        cmocka_unit_test(a_rollback_that_cannot_continue_ends_with_its_verdict),
        cmocka_unit_test(the_end_of_a_rollback_depends_on_who_requested_it),
        cmocka_unit_test(a_walk_visits_each_number_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
