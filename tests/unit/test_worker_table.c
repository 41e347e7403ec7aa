#include "support/test.h"

#include "scheduler/worker_table.h"

static void a_worker_keeps_its_number(void **state) {
    struct worker_table table;
    char name[16];
    (void)state;
    worker_table_init(&table, SPAN("local"));
    for (unsigned i = 1; i <= 40; i++) {
        snprintf(name, sizeof(name), "host%u", i);
        assert_int_equal(worker_table_number(&table, span_of(name)), i);
    }
    assert_int_equal(worker_table_number(&table, SPAN("host7")), 7);
    assert_true(span_equal(worker_table_shard(&table, 7), SPAN("host7")));
    assert_int_equal(table.count, 41);
    worker_table_clear(&table);
}

static void the_worker_here_is_number_0(void **state) {
    struct worker_table table;
    (void)state;
    worker_table_init(&table, SPAN("local"));
    assert_int_equal(worker_table_number(&table, SPAN("local")), WORKER_HERE);
    assert_int_equal(worker_table_number(&table, SPAN("")), WORKER_HERE);
    assert_true(
        span_equal(worker_table_shard(&table, WORKER_HERE), SPAN("local")));
    worker_table_clear(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_keeps_its_number),
        cmocka_unit_test(the_worker_here_is_number_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
