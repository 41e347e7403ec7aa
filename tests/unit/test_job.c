/* The words of core/life.def are formatted and parsed consistently. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/job.h"

static void words_of_kinds_and_classes_are_parsed(void **state) {
    (void)state;
    for (unsigned i = 0; i < JOB_KINDS; i++) {
        enum job_kind kind;
        assert_true(job_kind_parse(span_of(job_kind_word(i)), &kind));
        assert_int_equal(kind, i);
    }
    for (unsigned i = 0; i < JOB_CLASSES; i++) {
        enum job_class class;
        assert_true(job_class_parse(span_of(job_class_word(i)), &class));
        assert_int_equal(class, i);
    }
    assert_string_equal(job_kind_word(JOB_CHANGE), "change");
    assert_string_equal(job_class_word(CLASS_EM), "EM");
}

static void states_are_parsed_by_letter_and_word(void **state) {
    (void)state;
    for (unsigned i = 0; i < JOB_STATES; i++) {
        enum job_state by_letter;
        char letter = job_state_letter(i);
        assert_true(job_state_of_letter(letter, &by_letter));
        assert_int_equal(by_letter, i);
        enum job_state by_word;
        assert_true(job_state_parse(span_of(job_state_word(i)), &by_word));
        assert_int_equal(by_word, i);
        assert_true(job_state_dir(i)[0] != '\0');
        assert_true(job_state_group(i)[0] != '\0');
    }
    assert_int_equal(job_state_letter(STATE_NONE), '-');
    assert_string_equal(job_state_dir(STATE_EXECUTING), "run");
}

static void words_of_statuses_edges_and_events_are_parsed(void **state) {
    (void)state;
    for (unsigned i = 0; i < TASK_STATUSES; i++) {
        enum task_status status;
        assert_true(
            job_task_status_parse(span_of(job_task_status_word(i)), &status));
        assert_int_equal(status, i);
    }
    for (unsigned i = 0; i < EDGE_KINDS; i++) {
        enum edge_kind kind;
        assert_true(job_edge_kind_parse(span_of(job_edge_kind_word(i)), &kind));
        assert_int_equal(kind, i);
    }
    for (unsigned i = 0; i < EVENT_KINDS; i++) {
        enum event_kind kind;
        assert_true(
            job_event_kind_parse(span_of(job_event_kind_word(i)), &kind));
        assert_int_equal(kind, i);
    }
}

static void unknown_words_are_rejected(void **state) {
    (void)state;
    static const char *const strange[] = {"",        "q",      "x",  "Queued",
                                          "queued ", "CHANGE", "em", "-"};
    for (size_t i = 0; i < COUNT(strange); i++) {
        struct span word = span_of(strange[i]);
        enum job_kind kind;
        enum job_class class;
        enum task_status status;
        enum job_state job_state;
        enum edge_kind edge;
        enum event_kind event;
        assert_false(job_kind_parse(word, &kind));
        assert_false(job_class_parse(word, &class));
        assert_false(job_state_parse(word, &job_state));
        assert_false(job_task_status_parse(word, &status));
        assert_false(job_edge_kind_parse(word, &edge));
        assert_false(job_event_kind_parse(word, &event));
    }
    assert_string_equal(job_kind_word(JOB_KINDS), "unknown");
    assert_string_equal(job_state_word(STATE_NONE), "none");
}

static void final_states_agree_with_the_set_of_final_states(void **state) {
    (void)state;
    assert_true(job_state_is_final(STATE_DONE));
    assert_true(job_state_is_final(STATE_ABANDONED));
    assert_false(job_state_is_final(STATE_PENDING));
    assert_false(job_state_is_final(STATE_NONE));
    assert_int_equal(STATES_WAITING, STATE_BIT(STATE_QUEUED) |
                                         STATE_BIT(STATE_STAGED) |
                                         STATE_BIT(STATE_PENDING));
    assert_int_equal(STATES_LIVE, STATES_WAITING | STATE_BIT(STATE_EXECUTING));
    assert_int_equal(STATES_LIVE & STATES_FINAL, 0);
    assert_int_equal(STATES_LIVE | STATES_FINAL, STATES_ALL);
}

static void holds_are_formatted_in_order(void **state) {
    (void)state;
    struct text text = TEXT_INIT;
    job_holds_format(HOLD_APPROVAL | HOLD_OPERATOR, &text);
    assert_string_equal(text_string(&text), "operator, approval");
    text_reset(&text);
    job_holds_format(0, &text);
    assert_string_equal(text_string(&text), "");
    text_clear(&text);
    assert_string_equal(job_hold_word(HOLD_AMBIGUOUS), "ambiguous");
}

static void steps_are_legal_only_with_their_reasons(void **state) {
    (void)state;
    static const struct {
        enum job_state from, to;
        const char *reason;
        bool legal;
    } cases[] = {
        {STATE_NONE, STATE_QUEUED, "admitted", true},
        {STATE_NONE, STATE_EXECUTING, "admitted", false},
        {STATE_QUEUED, STATE_PENDING, "rb", true},
        {STATE_QUEUED, STATE_PENDING, "ready", true},
        {STATE_QUEUED, STATE_PENDING, "rb ready", false},
        {STATE_PENDING, STATE_EXECUTING, "start", true},
        {STATE_PENDING, STATE_EXECUTING, "", false},
        {STATE_EXECUTING, STATE_FAILED, "exit-3", true},
        {STATE_EXECUTING, STATE_FAILED, "exit-", false},
        {STATE_EXECUTING, STATE_FAILED, "exit", false},
        {STATE_EXECUTING, STATE_FAILED, "signal-9", true},
        {STATE_EXECUTING, STATE_DONE, "already-landed", true},
        {STATE_DONE, STATE_PENDING, "retry", false},
        {STATE_FAILED, STATE_PENDING, "retry", true},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(job_step_is_legal(cases[i].from, cases[i].to,
                                           span_of(cases[i].reason)),
                         cases[i].legal);
}

static void a_change_of_class_rb_rolls_back(void **state) {
    (void)state;
    struct job job = {.kind = JOB_CHANGE, .job_class = CLASS_DC};
    assert_true(job_has(&job, JOB_LANDS));
    assert_false(job_has(&job, JOB_ROLLS_BACK));
    job.job_class = CLASS_RB;
    assert_true(job_has(&job, JOB_LANDS));
    assert_true(job_has(&job, JOB_ROLLS_BACK));
    /* A command of class RB rolls nothing back. */
    job.kind = JOB_COMMAND;
    assert_false(job_has(&job, JOB_ROLLS_BACK));
    assert_int_equal(job_kinds_with(JOB_HAS_FILE), 1u << JOB_CHANGE);
    assert_int_equal(job_classes_with(JOB_ROLLS_BACK), 1u << CLASS_RB);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_kinds_and_classes_are_parsed),
        cmocka_unit_test(states_are_parsed_by_letter_and_word),
        cmocka_unit_test(words_of_statuses_edges_and_events_are_parsed),
        cmocka_unit_test(unknown_words_are_rejected),
        cmocka_unit_test(final_states_agree_with_the_set_of_final_states),
        cmocka_unit_test(holds_are_formatted_in_order),
        cmocka_unit_test(steps_are_legal_only_with_their_reasons),
        cmocka_unit_test(a_change_of_class_rb_rolls_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
