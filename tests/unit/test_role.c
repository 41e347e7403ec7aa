/* The table of roles: the contents of each row, and the rows as a whole. */
#include "support/test.h"

#include "base/base.h"
#include "base/role.h"
#include "changes/prequeue.h"
#include "serve/tables.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/fifo.h"

static void
each_row_is_complete_and_its_name_is_a_valid_file_name(void **state) {
    (void)state;
    for (const struct role *const *role = serve_roles; *role; role++) {
        const struct role_engine *engine = (*role)->engine;
        assert_true((*role)->name[0] != '\0' && strlen((*role)->name) < 32);
        assert_null(strpbrk((*role)->name, "/. %"));
        assert_true((*role)->help[0] != '\0');
        assert_non_null(engine);
        assert_true(engine->open && engine->turn && engine->is_idle &&
                    engine->close);
        /* A role whose work can be drained must be able to stop it. */
        assert_int_equal(engine->is_drained != NULL && engine->drain == NULL,
                         false);
    }
}

static void a_role_is_found_by_its_name(void **state) {
    (void)state;
    for (const struct role *const *role = serve_roles; *role; role++)
        assert_ptr_equal(role_find(serve_roles, (*role)->name), *role);
    assert_null(role_find(serve_roles, "all"));
    assert_null(role_find(serve_roles, ""));
}

static void each_waiting_state_belongs_to_one_role(void **state) {
    (void)state;
    for (enum job_state at = STATE_QUEUED; at < STATE_EXECUTING; at++) {
        unsigned count = 0;
        for (const struct role *const *role = serve_roles; *role; role++)
            count += ((*role)->states & (1u << at)) != 0;
        assert_int_equal(count, 1);
        /* Otherwise a `run` without a server would wait forever. */
        assert_true(role_of_state(serve_roles, at)->is_hosted);
        assert_true(role_of_state(serve_roles, at)->reads_registry);
    }
    assert_null(role_of_state(serve_roles, STATE_DONE));
}

/* The prequeue waits only for files. */
static void all_roles_but_the_prequeue_read_the_registry(void **state) {
    (void)state;
    for (const struct role *const *role = serve_roles; *role; role++)
        assert_int_equal((*role)->reads_registry, *role != &prequeue_role);
}

static void roles_of_one_engine_are_adjacent(void **state) {
    (void)state;
    for (size_t i = 0; serve_roles[i]; i++)
        for (size_t k = i + 1; serve_roles[k]; k++)
            if (serve_roles[k]->engine == serve_roles[i]->engine)
                assert_ptr_equal(serve_roles[k - 1]->engine,
                                 serve_roles[i]->engine);
}

static void a_write_triggers_the_roles_that_read_the_registry(void **state) {
    struct err err = {0};
    struct base base = {0};
    char fifo[64];
    int fds[ROLES_MOST];
    size_t count = 0;
    (void)state;
    base.dirs[BASE_CTRL] = open(test_dir(), O_RDONLY | O_DIRECTORY);
    for (const struct role *const *role = serve_roles; *role; role++) {
        snprintf(fifo, sizeof fifo, BASE_ROLE_FIFO, (*role)->name);
        if (!fifo_open(base.dirs[BASE_CTRL], fifo, &fds[count++], &err))
            fail_msg("%s", err.text);
    }
    role_trigger_readers(serve_roles, &base);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(fifo_drain(fds[i]), serve_roles[i]->reads_registry);
        close(fds[i]);
    }
    close(base.dirs[BASE_CTRL]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            each_row_is_complete_and_its_name_is_a_valid_file_name),
        cmocka_unit_test(a_role_is_found_by_its_name),
        cmocka_unit_test(each_waiting_state_belongs_to_one_role),
        cmocka_unit_test(all_roles_but_the_prequeue_read_the_registry),
        cmocka_unit_test(roles_of_one_engine_are_adjacent),
        cmocka_unit_test(a_write_triggers_the_roles_that_read_the_registry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
