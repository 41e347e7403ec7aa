/* What one program hands over to the next one in the same process. */
#include "support/test.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "serve/upgrade_state.h"

static struct scheduler_running attempts[] = {
    {.handle = 7, .num = 3, .attempt = 2, .assigned = {1000}},
    {.handle = 9,
     .num = 4,
     .task = 17,
     .attempt = 1,
     .assigned = {2000},
     .is_lasting = true}};
static struct worker_running processes[] = {
    {.handle = 7,
     .num = 3,
     .pid = 123,
     .grace_ms = -1,
     .node = SPAN(""),
     .place = SPAN("f3.0.2"),
     .started = {1500}},
    {.handle = 9,
     .num = 4,
     .grace_ms = 5000,
     .node = SPAN("a \"line\"\twith \xff bytes"),
     .place = SPAN(""),
     .is_locked = true,
     .in_our_group = true}};

static struct upgrade_state full(void) {
    return (struct upgrade_state){
        .number = 5,
        .program_fd = 11,
        .base_fd = 12,
        .serve_fd = 13,
        .sockets = {14, -1},
        .roles = {.roles = {{SPAN("exec"), 15}, {SPAN("queue"), 16}},
                  .role_count = 2,
                  .has_worker = true,
                  .worker = {.guard = {.fd = 17,
                                       .pid = 99,
                                       .has_cgroup = true,
                                       .mode = SPAN("cgroup /x"),
                                       .tree = SPAN("/x"),
                                       .controllers = SPAN("none"),
                                       .slots_most = 100},
                             .running = processes,
                             .count = 2},
                  .running = attempts,
                  .running_count = 2}};
}

static void what_is_written_is_read(void **state) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct upgrade_state to, from = full();
    struct err err = {0};
    (void)state;
    int fd = upgrade_state_write(&from, &err);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD), 0); /* open across exec */
    assert_true(upgrade_state_read(fd, &arena, &to, &err));
    assert_int_equal(to.number, 5);
    assert_int_equal(to.program_fd, 11);
    assert_int_equal(to.base_fd, 12);
    assert_int_equal(to.serve_fd, 13);
    assert_int_equal(to.sockets.local, 14);
    assert_int_equal(to.sockets.tcp, -1);
    assert_int_equal(to.failed.len, 0);
    assert_int_equal(to.roles.role_count, 2);
    assert_true(span_is(to.roles.roles[1].name, "queue"));
    assert_int_equal(to.roles.roles[1].lock_fd, 16);
    assert_true(to.roles.has_worker);
    assert_int_equal(to.roles.worker.guard.pid, 99);
    assert_true(span_is(to.roles.worker.guard.tree, "/x"));
    assert_int_equal(to.roles.running_count, 2);
    assert_int_equal(to.roles.running[1].task, 17);
    assert_true(to.roles.running[1].is_lasting);
    assert_int_equal(to.roles.running[0].attempt, 2);
    assert_int_equal(to.roles.worker.count, 2);
    assert_int_equal(to.roles.worker.running[0].grace_ms, -1);
    assert_true(span_is(to.roles.worker.running[0].place, "f3.0.2"));
    assert_true(to.roles.worker.running[1].is_locked);
    close(fd);
}

static void the_reason_of_a_failure_reaches_the_program_before(void **state) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct upgrade_state to, from = full();
    struct err err = {0};
    (void)state;
    int fd = upgrade_state_write(&from, &err);
    assert_true(upgrade_state_fail(fd, SPAN("no memory")));
    assert_true(upgrade_state_read(fd, &arena, &to, &err));
    assert_true(span_is(to.failed, "no memory"));
    assert_int_equal(to.roles.running_count, 2);
    close(fd);
}

static bool read_bytes(const char *bytes, size_t count) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct upgrade_state to;
    struct err err = {0};
    int fd = memfd_create("state", MFD_CLOEXEC);
    assert_int_equal(write(fd, bytes, count), count);
    bool ok = upgrade_state_read(fd, &arena, &to, &err);
    if (!ok)
        assert_int_equal(err.kind, ERR_DATA);
    close(fd);
    return ok;
}

static void a_damaged_state_is_refused(void **state) {
    struct upgrade_state from = full();
    struct err err = {0};
    char bytes[4096], damaged[4096];
    (void)state;
    int fd = upgrade_state_write(&from, &err);
    size_t count = (size_t)pread(fd, bytes, sizeof(bytes), 0);
    close(fd);
    assert_true(read_bytes(bytes, count));
    for (size_t i = 0; i + 1 < count; i++)
        assert_false(read_bytes(bytes, i));
    /* Whatever a byte is changed to, nothing worse happens than an error. */
    for (size_t i = 0; i < count; i++)
        for (int c = 0; c < 4; c++) {
            memcpy(damaged, bytes, count);
            damaged[i] = "\"{0-"[c];
            (void)read_bytes(damaged, count);
        }
}

static void each_member_is_needed(void **state) {
    static const char *const lines[] = {
        "{}\n",
        "{\"version\":2}\n",
        "{\"version\":1}\n",
        "{\"version\":1,\"number\":1,\"program_fd\":3,\"base_fd\":3,"
        "\"serve_fd\":-1,\"local_fd\":-1,\"tcp_fd\":-1,\"roles\":[],"
        "\"attempts\":[]}\n",
        "{\"version\":1,\"number\":1,\"program_fd\":2,\"base_fd\":3,"
        "\"serve_fd\":-1,\"local_fd\":-1,\"tcp_fd\":-1,\"roles\":[],"
        "\"attempts\":[],\"processes\":[]}\n",
        "{\"version\":1,\"number\":1,\"program_fd\":3,\"base_fd\":3,"
        "\"serve_fd\":-1,\"local_fd\":-1,\"tcp_fd\":-1,\"roles\":[1],"
        "\"attempts\":[],\"processes\":[]}\n"};
    (void)state;
    for (size_t i = 0; i < COUNT(lines); i++)
        assert_false(read_bytes(lines[i], strlen(lines[i])));
    static const char least[] =
        "{\"version\":1,\"number\":1,\"program_fd\":3,\"base_fd\":3,"
        "\"serve_fd\":-1,\"local_fd\":-1,\"tcp_fd\":-1,\"roles\":[],"
        "\"attempts\":[],\"processes\":[],\"more\":1}\n";
    assert_true(read_bytes(least, sizeof(least) - 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(the_reason_of_a_failure_reaches_the_program_before),
        cmocka_unit_test(a_damaged_state_is_refused),
        cmocka_unit_test(each_member_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
