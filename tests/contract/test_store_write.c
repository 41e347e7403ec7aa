/* What the operations on jobs do, and what they refuse. */
#include "contract/store_rig.h"

static void an_admitted_job_reads_back_as_given(void **state) {
    struct rig *rig = *state;
    struct job job = rig_command("j1", "4.a");
    job.detail = SPAN("a sentence");
    uint64_t num = rig_admit(rig, &job);
    rig_reopen(rig);
    struct job back = rig_job(rig, num);
    assert_int_equal(num, 1);
    assert_span(back.id, "j1");
    assert_int_equal(back.kind, JOB_COMMAND);
    assert_int_equal(back.job_class, CLASS_DC);
    assert_int_equal(back.state, STATE_PENDING);
    assert_span(back.key, "4.a");
    assert_span(back.rank, "4.a");
    assert_span(back.reason, "admitted");
    assert_span(back.detail, "a sentence");
    assert_span(back.actor, "uid:7");
    assert_span(back.cause, "person");
    assert_span(back.spec, "{\"command\":[\"true\"]}");
    assert_int_equal(back.uid, 7);
    assert_int_equal(back.tasks, 1);
    assert_int_equal(back.admitted_seq, 1);
    assert_int_equal(back.state_seq, 1);
    assert_int_equal(wall_s(back.admitted), 1001);
    assert_false(back.has_relations);
    assert_false(back.stale);
    assert_string_equal(rig_events(rig, 0), "move j1 - P admitted");
    rig_verify(rig);
}

static void a_life_is_three_steps_and_their_events(void **state) {
    struct rig *rig = *state;
    uint64_t num = rig_started(rig, "j1");
    assert_int_equal(rig_move(rig, num, STATE_EXECUTING, STATE_DONE, "ok"),
                     STORE_DONE);
    struct job job = rig_job(rig, num);
    assert_int_equal(job.state, STATE_DONE);
    assert_int_equal(job.attempt, 1);
    assert_int_equal(job.tasks_done, 1);
    assert_int_equal(job.state_seq, 3);
    assert_string_equal(rig_events(rig, 0),
                        "move j1 - P admitted; move j1 P X start; "
                        "move j1 X D ok");
    rig_verify(rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RIG_TESTS(an_admitted_job_reads_back_as_given),
        RIG_TESTS(a_life_is_three_steps_and_their_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
