/* Properties of registries in files: several writers, files of other programs,
 * backups, and manual changes to an open file. */
#include "contract/store_rig.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "schedules/schedule_row.h"
#include "serve/tables.h"
#include "store/schema.h"
#include "store/sqlite_db.h" /* the statements */

static void listener(void *ctx, const struct store_event *event) {
    struct text *seen = ctx;
    text_addf(seen, "%s%d:%.*s", seen->len ? " " : "", (int)event->seq,
              (int)event->id.len, event->id.p);
}

static void admit_into(struct store *store, const char *id) {
    struct job job = rig_command(id, id);
    struct store_batch *batch = store_batch_new(store);
    store_batch_actor(batch, wall_from_s(1), SPAN("uid:1"));
    store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    assert_int_equal(rig_write(batch), STORE_DONE);
}

static void edit(const char *path, const char *sql) {
    sqlite3 *db;
    char *message = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s", message);
    sqlite3_close(db);
}

/* Checks the error of an open that must fail. */
static void assert_refused(const char *path,
                           const struct store_options *options,
                           enum err_kind kind, const char *part) {
    struct store *store;
    struct err err = {0};
    assert_false(store_sqlite_open(path, options, &store, &err));
    if (!strstr(err.text, part))
        fail_msg("'%s' is not in '%s'", part, err.text);
    assert_int_equal(err.kind, kind);
}

/* ---- several writers ---------------------------------------------------- */

static void two_stores_see_each_others_events_once_and_in_order(void **state) {
    struct rig *rig = *state;
    struct store *other = rig_open(rig->path, true);
    CLEANUP(text_clear) struct text here = TEXT_INIT;
    CLEANUP(text_clear) struct text there = TEXT_INIT;
    store_listen(rig->store, listener, &here);
    store_listen(other, listener, &there);
    admit_into(rig->store, "a");
    admit_into(other, "b");
    assert_string_equal(text_string(&here), "1:a");
    assert_string_equal(text_string(&there), "1:a 2:b");
    admit_into(rig->store, "c");
    assert_string_equal(text_string(&here), "1:a 2:b 3:c");
    admit_into(rig->store, "d");
    assert_true(store_poll(other, NULL));
    assert_true(store_poll(other, NULL));
    assert_true(store_poll(rig->store, NULL));
    assert_string_equal(text_string(&here), "1:a 2:b 3:c 4:d");
    assert_string_equal(text_string(&there), "1:a 2:b 3:c 4:d");
    assert_int_equal(store_seq(other), 4);
    store_close(other);
}

static void each_store_respects_the_writes_of_the_other(void **state) {
    struct rig *rig = *state;
    struct store *other = rig_open(rig->path, false);
    uint64_t num = rig_started(rig, "a");
    rig_move(rig, num, STATE_EXECUTING, STATE_PENDING, "returned");
    struct store_batch *batch = store_batch_new(other);
    store_batch_actor(batch, wall_from_s(9), SPAN("uid:1"));
    struct job same = rig_command("a", "a");
    store_hold(batch, num, HOLD_OPERATOR, SPAN("other"));
    store_admit(batch, &same, NULL, 0, NULL, 0, NULL, 0);
    assert_int_equal(rig_write(batch), STORE_SAME);
    /* This store still caches the row it wrote; it must be read again. */
    assert_int_equal(
        rig_move(rig, num, STATE_PENDING, STATE_EXECUTING, "start"),
        STORE_CONFLICT);
    assert_int_equal(rig_job(rig, num).holds, HOLD_OPERATOR);
    store_close(other);
}

enum { EACH = 150 };

static void write_many(const char *path, const char *name) {
    struct store *store = rig_open(path, true);
    for (int i = 0; i < EACH; i++) {
        char id[32];
        snprintf(id, sizeof(id), "%s%d", name, i);
        admit_into(store, id);
    }
    store_close(store);
}

struct order {
    uint64_t last;
    unsigned count, mistakes;
};

static void order_listener(void *ctx, const struct store_event *event) {
    struct order *order = ctx;
    order->mistakes += event->seq != order->last + 1;
    order->last = event->seq;
    order->count++;
}

/* Each child opens its own store: connections do not survive a fork. */
static void several_processes_may_write(void **state) {
    (void)state;
    CLEANUP(text_free_string) char *path = rig_new_path();
    store_close(rig_open(path, false));
    int gate[2];
    assert_int_equal(pipe(gate), 0);
    pid_t children[2];
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i] != 0)
            continue;
        char go;
        close(gate[1]);
        if (read(gate[0], &go, 1) < 0)
            _exit(1);
        write_many(path, i ? "left" : "right");
        _exit(0);
    }
    close(gate[0]);
    struct order order = {0};
    struct store *store = rig_open(path, true);
    store_listen(store, order_listener, &order);
    close(gate[1]); /* lets the children start */
    for (int i = 0; i < EACH; i++) {
        char id[32];
        snprintf(id, sizeof(id), "own%d", i);
        admit_into(store, id);
        assert_true(store_poll(store, NULL));
    }
    for (int i = 0; i < 2; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_true(store_poll(store, NULL));
    assert_int_equal(order.count, 3 * EACH);
    assert_int_equal(order.mistakes, 0);
    assert_true(store_verify(store, NULL));
    store_close(store);
}

static void a_lock_held_by_another_process_is_a_temporary_error(void **state) {
    (void)state;
    CLEANUP(text_free_string) char *path = rig_new_path();
    struct store_options options = {.create = true, .busy_ms = 20};
    struct store *store;
    struct err err = {0};
    assert_true(store_sqlite_open(path, &options, &store, &err));
    sqlite3 *db;
    sqlite3_open(path, &db);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL),
                     SQLITE_OK);
    struct job job = rig_command("a", "a");
    struct store_batch *batch = store_batch_new(store);
    store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    assert_false(store_write(batch, &err));
    assert_int_equal(err.kind, ERR_TEMPORARY);
    assert_non_null(strstr(err.text, "another process is writing"));
    store_batch_free(batch);
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_close(db);
    admit_into(store, "a");
    store_close(store);
}

/* ---- files -------------------------------------------------------------- */

static void a_missing_file_is_created_only_on_request(void **state) {
    (void)state;
    CLEANUP(text_free_string) char *path = rig_new_path();
    struct store_options create = {.create = true};
    struct store_options reading = {.create = true, .read_only = true};
    assert_refused(path, NULL, ERR_CANNOT, "no registry");
    assert_refused(path, &reading, ERR_CANNOT, "no registry");
    assert_int_equal(access(path, F_OK), -1);
    assert_refused("/nowhere/at/all.db", &create, ERR_CANNOT,
                   "/nowhere/at/all.db");
    assert_refused(test_dir(), &create, ERR_CANNOT, "cannot open registry");
}

static void put(const char *path, const void *bytes, size_t count) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, count), (ssize_t)count);
    close(fd);
}

static void a_file_that_is_not_a_registry_is_rejected(void **state) {
    (void)state;
    CLEANUP(text_free_string) char *path = rig_new_path();
    unsigned char junk[5000];
    for (size_t i = 0; i < sizeof(junk); i++)
        junk[i] = (unsigned char)(i * 197 + 13);
    struct store_options options[] = {{.create = true}, {.read_only = true}};
    for (size_t i = 0; i < COUNT(options); i++) {
        put(path, junk, sizeof(junk));
        assert_refused(path, &options[i], ERR_DATA, "not a database");
        put(path, "", 0);
    }
    assert_refused(path, &options[1], ERR_DATA, "is empty");
    edit(path, "CREATE TABLE somebody (elses INTEGER)");
    for (size_t i = 0; i < COUNT(options); i++)
        assert_refused(path, &options[i], ERR_DATA, "not a registry");
}

/* The path of a registry of which the second half is gone. */
static char *halved_registry(void) {
    char *path = rig_new_path();
    struct store *store = rig_open(path, false);
    admit_into(store, "a");
    store_close(store);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size / 2), 0);
    return path;
}

static void a_truncated_file_is_refused(void **state) {
    (void)state;
    CLEANUP(text_free_string) char *path = halved_registry();
    assert_refused(path, NULL, ERR_DATA, "restore it from a backup");
    assert_int_equal(truncate(path, 50), 0);
    assert_refused(path, NULL, ERR_DATA, "restore it from a backup");
}

/* A read of SQLite in this thread that failed, whatever became of it. */
static void fail_a_read(void) {
    typedef ssize_t pread_call(int fd, void *block, size_t bytes, off_t at);
    char block[1];
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    pread_call *call = (pread_call *)vfs->xGetSystemCall(vfs, "pread64");
    if (call == NULL)
        call = (pread_call *)vfs->xGetSystemCall(vfs, "pread");
    assert_int_equal(call(-1, block, sizeof(block), 0), -1);
}

static void a_read_that_failed_earlier_does_not_explain_damage(void **state) {
    (void)state;
    CLEANUP(text_free_string) char *path = halved_registry();
    fail_a_read();
    assert_refused(path, NULL, ERR_DATA, "restore it from a backup");
}

static void a_newer_registry_is_refused(void **state) {
    (void)state;
    CLEANUP(text_free_string) char *path = rig_new_path();
    store_close(rig_open(path, false));
    edit(path, "INSERT INTO migration VALUES (70, 0)");
    struct store_options options[] = {{.create = true}, {.read_only = true}};
    for (size_t i = 0; i < COUNT(options); i++)
        assert_refused(path, &options[i], ERR_DATA,
                       "has schema step 70, which this program does not know");
}

/* The registry is as the first release left it, with a job in it. */
static void an_old_registry_is_upgraded(void **state) {
    (void)state;
    CLEANUP(text_free_string) char *path = rig_new_path();
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_options options = {.read_only = true};
    struct schedule_row *schedules;
    struct store *store;
    size_t count = 1;
    edit(path, "PRAGMA journal_mode = WAL");
    edit(path, store_schema_steps[0].sql);
    edit(path, "INSERT INTO migration VALUES (1, 0)");
    assert_refused(path, &options, ERR_REFUSED, "of an older version");
    options = (struct store_options){.keep_version = true};
    assert_refused(path, &options, ERR_REFUSED, "of an older version");
    store = rig_open(path, false);
    assert_int_equal(store_version(store), store_last_step());
    assert_true(schedule_row_list(store, SPAN(""), 0, &arena, &schedules,
                                  &count, NULL));
    assert_int_equal(count, 0);
    admit_into(store, "a");
    store_close(store);
    assert_true(store_sqlite_open(path, &options, &store, NULL));
    store_close(store);
}

/* Adds a job as in a registry of version 5. */
static void add_old_job(const char *path, int num, const char *spec) {
    char sql[1000];
    snprintf(sql, sizeof(sql),
             "INSERT INTO job VALUES (%d, 'j%d', 'command', 'DC', 'D', 'k', "
             "'', '', 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '', "
             "0); INSERT INTO submission (num, target, name, actor, cause, "
             "sum, size_bytes, uid, admitted, admitted_seq, spec) VALUES "
             "(%d, '', '', '', '', '', 0, 0, 0, 0, '%s')",
             num, num, num, spec);
    edit(path, sql);
}

static void an_old_submission_is_decoded_by_the_upgrade(void **state) {
    (void)state;
    static const struct {
        const char *spec, *seen;
        unsigned retries, flags, group_size;
    } cases[] = {
        {"", "", 0, 0, 0},
        {"no JSON \"retries\"", "", 0, 0, 0},
        {"{\"command\":[\"true\"]}", "", 0, 0, 0},
        {"{\"command\":[\"\\\"retries\\\"\"]}", "", 0, 0, 0},
        {"{\"command\":[\"x\"],\"retries\":7}", "", 7, 0, 0},
        {"{\"retries\":null,\"array\":[],\"at_most_once\":null}", "", 0, 0, 0},
        {"{\"at_most_once\":true}", "", 0, JOB_AT_MOST_ONCE, 0},
        {"{\"at_most_once\":false,\"array\":[\"a\"]}", "", 0, JOB_ARRAY, 0},
        {"{\"title\":\"t\",\"seen\":\"none\",\"group_size\":3}", "none", 0, 0,
         3},
    };
    CLEANUP(text_free_string) char *path = rig_new_path();
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    size_t step_count;
    const struct store_step **steps = store_steps(&step_count);
    for (int i = 0; i < 5; i++) {
        char note[64];
        assert_int_equal(steps[i]->number, i + 1);
        snprintf(note, sizeof(note), "INSERT INTO migration VALUES (%d, 0)",
                 i + 1);
        edit(path, steps[i]->sql);
        edit(path, note);
    }
    free(steps);
    for (size_t i = 0; i < COUNT(cases); i++)
        add_old_job(path, (int)i + 1, cases[i].spec);
    struct store *store = rig_open(path, false);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct job job;
        assert_true(store_job(store, i + 1, &arena, &job, NULL));
        assert_int_equal(job.retries, cases[i].retries);
        assert_int_equal(job.flags, cases[i].flags);
        assert_int_equal(job.group_size, cases[i].group_size);
        assert_true(span_is(job.seen, cases[i].seen));
    }
    store_close(store);
}

static void facts_are_part_of_the_hash_chain(void **state) {
    (void)state;
    CLEANUP(text_free_string) char *path = rig_new_path();
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store *store = rig_open(path, false);
    struct store_event *events;
    size_t count;
    struct err err = {0};
    admit_into(store, "a");
    struct store_batch *batch = store_batch_new(store);
    store_batch_actor(batch, wall_from_s(1), SPAN("uid:7"));
    store_note(batch, EVENT_APPROVED, 1, SPAN(""), SPAN("person"), SPAN("x"));
    store_note_facts(batch, &(struct event_facts){.ticket = SPAN("a\tb")});
    store_hold(batch, 1, HOLD_OPERATOR, SPAN("asked"));
    assert_true(store_write(batch, &err));
    store_batch_free(batch);
    assert_true(store_events(store, 1, 1, 0, &arena, &events, &count, &err));
    assert_int_equal(count, 2);
    assert_true(span_is(events[0].facts, "{\"ticket\":\"a\\tb\"}"));
    assert_true(span_is(events[1].facts, "{\"holds\":\"operator\"}"));
    assert_true(store_verify(store, &err));
    store_close(store);
    edit(path, "UPDATE event SET lines = CAST(replace(CAST(lines AS TEXT), "
               "'\"operator\"', '\"approval\"') AS BLOB)");
    store = rig_open(path, false);
    assert_false(store_verify(store, &err));
    assert_int_equal(err.kind, ERR_DATA);
    store_close(store);
}

static void a_reader_can_read_but_not_write(void **state) {
    (void)state;
    CLEANUP(text_free_string) char *path = rig_new_path();
    struct store *writer = rig_open(path, true), *reader;
    struct store_options options = {.read_only = true};
    CLEANUP(text_clear) struct text seen = TEXT_INIT;
    struct err err = {0};
    admit_into(writer, "a");
    assert_true(store_sqlite_open(path, &options, &reader, &err));
    store_listen(reader, listener, &seen);
    admit_into(writer, "b");
    assert_true(store_poll(reader, &err));
    assert_string_equal(text_string(&seen), "2:b");
    struct job job = rig_command("c", "c");
    struct store_batch *batch = store_batch_new(reader);
    store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    assert_false(store_write(batch, &err));
    assert_int_equal(err.kind, ERR_DENIED);
    store_batch_free(batch);
    store_close(writer);
    assert_true(store_verify(reader, &err));
    store_close(reader);
}

/* The reader is a member of the group with read access, and no other process
 * has the registry open. */
static void a_reader_needs_no_write_permission(void **state) {
    (void)state;
    if (geteuid() == 0)
        test_skip("root may write everywhere");
    CLEANUP(text_free_string) char *path = rig_new_path();
    struct store *store = rig_open(path, false);
    struct store_options options = {.read_only = true};
    struct err err = {0};
    struct store_tally tally;
    admit_into(store, "a");
    store_close(store);
    static const char *const ends[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < COUNT(ends); i++) {
        CLEANUP(text_clear) struct text one = TEXT_INIT;
        text_addf(&one, "%s%s", path, ends[i]);
        chmod(text_string(&one), 0400);
    }
    assert_int_equal(chmod(test_dir(), 0500), 0);
    bool opened = store_sqlite_open(path, &options, &store, &err);
    assert_int_equal(chmod(test_dir(), 0700), 0);
    if (!opened)
        fail_msg("%s", err.text);
    assert_true(store_count(store, &tally, &err));
    assert_int_equal(tally.count[STATE_PENDING], 1);
    store_close(store);
    assert_refused(path, NULL, ERR_DENIED, "Permission denied");
}

static void a_reopened_store_continues_where_it_was(void **state) {
    struct rig *rig = *state;
    rig_started(rig, "a");
    rig_reopen(rig);
    assert_int_equal(store_seq(rig->store), 2);
    assert_int_equal(rig_move(rig, 1, STATE_EXECUTING, STATE_DONE, "ok"),
                     STORE_DONE);
    struct job job = rig_command("b", "b");
    assert_int_equal(rig_admit(rig, &job), 2);
    assert_string_equal(rig_events(rig, 2),
                        "move a X D ok; move b - P admitted");
}

static mode_t mode_of(const char *path, const char *end) {
    CLEANUP(text_clear) struct text name = TEXT_INIT;
    struct stat st;
    text_addf(&name, "%s%s", path, end);
    assert_int_equal(stat(text_string(&name), &st), 0);
    return st.st_mode & 07777;
}

/* This matters if a group shares a registry: see base_init. */
static void auxiliary_files_have_the_mode_of_the_registry(void **state) {
    (void)state;
    CLEANUP(text_free_string) char *path = rig_new_path();
    put(path, "", 0);
    assert_int_equal(chmod(path, 0660), 0);
    struct store *store = rig_open(path, false);
    admit_into(store, "a");
    store_close(store);
    assert_int_equal(mode_of(path, ""), 0660);
    assert_int_equal(mode_of(path, "-wal"), 0660);
    assert_int_equal(mode_of(path, "-shm"), 0660);
}

static void closing_finishes_what_was_submitted(void **state) {
    struct rig *rig = *state;
    for (int i = 0; i < 20; i++) {
        char id[8];
        snprintf(id, sizeof(id), "j%02d", i);
        struct job job = rig_command(id, id);
        struct store_batch *batch = rig_batch(rig);
        store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
        store_submit(batch, NULL, NULL);
    }
    rig_reopen(rig);
    struct store_tally tally;
    store_count(rig->store, &tally, NULL);
    assert_int_equal(tally.count[STATE_PENDING], 20);
}

static void wake(void *ctx) {
    int fd = *(int *)ctx;
    ssize_t n = write(fd, "w", 1);
    (void)n;
}

static void the_owner_is_woken_when_a_batch_is_answered(void **state) {
    (void)state;
    CLEANUP(text_free_string) char *path = rig_new_path();
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct store_options options = {
        .create = true, .own_thread = true, .wake = wake, .wake_ctx = &ends[1]};
    struct store *store;
    assert_true(store_sqlite_open(path, &options, &store, NULL));
    struct job job = rig_command("a", "a");
    struct store_batch *batch = store_batch_new(store);
    store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    store_submit(batch, NULL, NULL);
    char byte;
    assert_int_equal(read(ends[0], &byte, 1), 1);
    store_turn(store);
    assert_true(store_is_idle(store));
    assert_int_equal(store_seq(store), 1);
    store_close(store);
    close(ends[0]);
    close(ends[1]);
}

/* ---- output before results ---------------------------------------------- */

static void output_that_cannot_be_synced_fails_only_its_batch(void **state) {
    struct rig *rig = *state;
    struct job one = rig_command("a", "a"), two = rig_command("b", "b");
    struct err err = {0};
    /* The file must not be the registry, because closing one of its files drops
     * SQLite's locks. */
    CLEANUP(text_free_string) char *path = rig_new_path();
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct store_batch *good = rig_batch(rig), *bad = rig_batch(rig);
    store_sync_first(good, fd, true);
    store_admit(good, &one, NULL, 0, NULL, 0, NULL, 0);
    store_sync_first(bad, -1, false);
    store_admit(bad, &two, NULL, 0, NULL, 0, NULL, 0);
    store_submit(good, NULL, NULL);
    assert_false(store_write(bad, &err));
    assert_non_null(strstr(err.text, "cannot sync output"));
    assert_true(store_batch_unsynced(bad));
    store_batch_free(bad);
    close(fd);
    assert_string_equal(rig_list(rig, (struct store_list){0}), "a");
}

/* ---- maintenance -------------------------------------------------------- */

static void a_backup_is_a_complete_registry(void **state) {
    struct rig *rig = *state;
    CLEANUP(text_free_string) char *path = rig_new_path();
    rig_started(rig, "a");
    put(path, "an old backup", 13);
    if (!store_backup(rig->store, path, &rig->err))
        fail_msg("%s", rig->err.text);
    rig_started(rig, "b");
    struct store_options options = {.read_only = true};
    struct store *copy;
    struct store_tally tally;
    assert_true(store_sqlite_open(path, &options, &copy, NULL));
    assert_true(store_verify(copy, NULL));
    store_count(copy, &tally, NULL);
    assert_int_equal(tally.count[STATE_EXECUTING], 1);
    store_close(copy);
    assert_false(store_backup(rig->store, rig->path, &rig->err));
    assert_non_null(strstr(rig->err.text, "is the registry itself"));
    assert_false(store_backup(rig->store, "/nowhere/at/all", &rig->err));
    assert_non_null(strstr(rig->err.text, "/nowhere/at/all"));
}

#define REPLACED(what_by_what)                                                 \
    "UPDATE event SET lines = CAST(replace(CAST(lines AS TEXT), " what_by_what \
    ") AS BLOB)"

static void manual_changes_to_the_database_are_detected(void **state) {
    (void)state;
    static const struct {
        const char *sql, *part;
    } cases[] = {
        {REPLACED("'admitted', 'other'") " WHERE seq = 2", "hash of event 2"},
        {REPLACED("'move', 'hold'") " WHERE seq = 1", "hash of event 1"},
        {"UPDATE event SET lines = CAST(lines || '.' AS BLOB) WHERE seq = 2",
         "an invalid event"},
        {"UPDATE event SET lines = x'' WHERE seq = 2", "without its last"},
        {"DELETE FROM event WHERE seq = 2", "hash of event 3"},
        {"DELETE FROM event WHERE seq = 4", "events are missing"},
        {"UPDATE event SET hash = zeroblob(32) WHERE seq = 4",
         "hash of event 4"},
        {"UPDATE job SET id = 'x' WHERE num = 1", "event 1 admitted 'a'"},
        {"UPDATE job SET state = 'D' WHERE num = 1", "the head row counts"},
        {"UPDATE job SET holds = 1 WHERE num = 1", "jobs that are held"},
        {"DELETE FROM job WHERE num = 2", "table: submission"},
        {"UPDATE head SET hash = zeroblob(32)", "events are missing"},
        {"DELETE FROM head", "lost its head row"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        CLEANUP(text_free_string) char *path = rig_new_path();
        struct store *store = rig_open(path, false);
        for (int k = 0; k < 4; k++)
            admit_into(store, k == 0 ? "a" : k == 1 ? "b" : k == 2 ? "c" : "d");
        assert_true(store_verify(store, NULL));
        edit(path, cases[i].sql);
        struct err err = {0};
        assert_false(store_verify(store, &err));
        assert_int_equal(err.kind, ERR_DATA);
        if (!strstr(err.text, cases[i].part))
            fail_msg("'%s' is not in '%s'", cases[i].part, err.text);
        store_close(store);
    }
}

/* They share a row of the log, and one stored hash. */
static void
a_changed_event_is_named_among_those_of_its_transaction(void **state) {
    (void)state;
    static const struct {
        const char *sql, *part;
    } cases[] = {
        {REPLACED("'first', 'fir5t'") " WHERE seq = 4", "event 2 does not"},
        {REPLACED("'second', '5econd'") " WHERE seq = 4",
         "the hash of event 3 does not match: it was changed"},
        {REPLACED("'third', 'th1rd'") " WHERE seq = 4",
         "the hash of event 4 does not match: it was changed"},
        {"UPDATE event SET hash = zeroblob(32) WHERE seq = 4",
         "the hash of events 2 to 4 does not match"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        CLEANUP(text_free_string) char *path = rig_new_path();
        struct store *store = rig_open(path, false);
        struct err err = {0};
        admit_into(store, "a");
        struct store_batch *batch = store_batch_new(store);
        store_batch_actor(batch, wall_from_s(1), SPAN("uid:7"));
        static const char *const words[] = {"first", "second", "third"};
        for (size_t k = 0; k < COUNT(words); k++)
            store_note(batch, EVENT_ALARM, 1, SPAN(""), span_of(words[k]),
                       SPAN(""));
        assert_true(store_write(batch, &err));
        store_batch_free(batch);
        assert_true(store_verify(store, &err));
        edit(path, cases[i].sql);
        assert_false(store_verify(store, &err));
        if (!strstr(err.text, cases[i].part))
            fail_msg("'%s' is not in '%s'", cases[i].part, err.text);
        store_close(store);
    }
}

static void an_unknown_word_in_a_row_is_an_error(void **state) {
    struct rig *rig = *state;
    uint64_t num = rig_started(rig, "a");
    store_close(rig->store);
    edit(rig->path, "UPDATE job SET kind = 'tomorrow'");
    rig->store = rig_open(rig->path, false);
    struct job job;
    assert_false(store_job(rig->store, num, &rig->arena, &job, &rig->err));
    assert_int_equal(rig->err.kind, ERR_DATA);
    struct store_batch *batch = rig_batch(rig);
    store_hold(batch, num, HOLD_OPERATOR, SPAN(""));
    assert_false(store_write(batch, &rig->err));
    assert_int_equal(rig->err.kind, ERR_DATA);
    store_batch_free(batch);
    edit(rig->path, "UPDATE job SET kind = 'command'");
}

/* ---- plans -------------------------------------------------------------- */

struct named_statement {
    const char *name, *sql;
};

static const struct named_statement statements[] = {
#define STATEMENT(name, sql) {#name, sql},
#include "store/sqlite.def"
#undef STATEMENT
};

/* No statement may scan all jobs. The exceptions walk in order and stop at once
 * or after a few rows. */
static bool may_scan(const char *name) {
    static const char *const names[] = {"JOB_LAST", "SETTINGS"};
    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void no_statement_scans_a_table(void **state) {
    (void)state;
    CLEANUP(text_free_string) char *path = rig_new_path();
    store_close(rig_open(path, false));
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    unsigned explained = 0;
    for (size_t i = 0; i < COUNT(statements); i++) {
        CLEANUP(text_clear) struct text sql = TEXT_INIT;
        sqlite3_stmt *stmt;
        text_addf(&sql, "EXPLAIN QUERY PLAN %s", statements[i].sql);
        assert_int_equal(
            sqlite3_prepare_v2(db, text_string(&sql), -1, &stmt, NULL),
            SQLITE_OK);
        while (sqlite3_step(stmt) == SQLITE_ROW) {
            const char *plan = (const char *)sqlite3_column_text(stmt, 3);
            explained++;
            if (strncmp(plan, "SCAN", 4) == 0 && !may_scan(statements[i].name))
                fail_msg("%s: %s", statements[i].name, plan);
            if (strcmp(statements[i].name, "READY") == 0 &&
                strstr(plan, " j ") && !strstr(plan, "job_ready"))
                fail_msg("READY: %s", plan);
        }
        sqlite3_finalize(stmt);
    }
    sqlite3_close(db);
    assert_true(explained > 30);
}

/* The cost of the statements that select ready jobs, in steps of SQLite's
 * virtual machine. */
static int ready_steps(const char *path) {
    sqlite3 *db;
    int steps = 0;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    for (size_t i = 0; i < COUNT(statements); i++) {
        sqlite3_stmt *stmt;
        if (strncmp(statements[i].name, "READY", 5) != 0)
            continue;
        assert_int_equal(
            sqlite3_prepare_v2(db, statements[i].sql, -1, &stmt, NULL),
            SQLITE_OK);
        sqlite3_bind_text(stmt, 1, "", 0, SQLITE_STATIC);
        sqlite3_bind_int64(stmt, 2, 0);
        sqlite3_bind_int64(stmt, 3, 16);
        if (sqlite3_bind_parameter_count(stmt) == 4)
            sqlite3_bind_int64(stmt, 4, INT64_MAX);
        while (sqlite3_step(stmt) == SQLITE_ROW)
            ;
        steps += sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_VM_STEP, 0);
        sqlite3_finalize(stmt);
    }
    sqlite3_close(db);
    return steps;
}

static void admit_late(struct rig *rig, uint64_t from, uint64_t to) {
    struct store_batch *batch = rig_batch(rig);
    for (uint64_t i = from; i <= to; i++) {
        char id[32];
        snprintf(id, sizeof(id), "late%05d", (int)i);
        struct job job = rig_command(id, id);
        job.not_before = wall_from_s(500);
        store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    }
    assert_int_equal(rig_write(batch), STORE_DONE);
}

static void due_all(struct rig *rig, uint64_t from, uint64_t to) {
    struct store_batch *batch = rig_batch(rig);
    for (uint64_t num = from; num <= to; num++)
        store_due(batch, num);
    assert_int_equal(rig_write(batch), STORE_DONE);
}

/* Selecting ready jobs costs as much as it returns, however many jobs whose
 * backoff is over there are. */
static void jobs_whose_backoff_is_over_are_not_sorted_each_time(void **state) {
    struct rig *rig = *state;
    admit_late(rig, 1, 40);
    due_all(rig, 1, 40);
    int few = ready_steps(rig->path);
    admit_late(rig, 41, 5040);
    due_all(rig, 41, 5040);
    int many = ready_steps(rig->path);
    if (many > 2 * few)
        fail_msg("16 of 5040 take %d steps, 16 of 40 take %d", many, few);
}

static atomic_uint progressed;

static int note_progress(void *ctx) {
    (void)ctx;
    progressed++;
    return 0;
}

static int count_steps(sqlite3 *db, const char **ret_error, const void *api) {
    (void)ret_error, (void)api;
    sqlite3_progress_handler(db, 10, note_progress, NULL);
    return 0;
}

/* The cost of listing the jobs that owe an approval, in tens of steps. */
static unsigned owed_steps(struct rig *rig) {
    const struct store_list owing = {.owed_only = true};
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job *jobs;
    size_t count;
    struct err err = {0};
    unsigned before = progressed;
    if (!store_jobs(rig->store, &owing, &arena, &jobs, &count, &err))
        fail_msg("%s", err.text);
    assert_int_equal(count, 1);
    return progressed - before;
}

static void jobs_that_owe_an_approval_are_found_without_a_scan(void **state) {
    struct rig *rig = *state;
    admit_late(rig, 1, 40);
    struct store_batch *batch = rig_batch(rig);
    store_owe(batch, 7, wall_from_s(900), SPAN("late"), SPAN(""));
    assert_int_equal(rig_write(batch), STORE_DONE);
    sqlite3_auto_extension((void (*)(void))count_steps);
    rig_reopen(rig);
    (void)owed_steps(rig); /* the first call also reads the schema */
    unsigned among_few = owed_steps(rig);
    admit_late(rig, 41, 5040);
    unsigned among_many = owed_steps(rig);
    sqlite3_cancel_auto_extension((void (*)(void))count_steps);
    assert_true(among_few > 0);
    if (among_many > 2 * among_few + 10)
        fail_msg("one of 5040 takes %u steps, one of 40 takes %u", among_many,
                 among_few);
}

int main(void) {
    store_nouns_use(serve_nouns, serve_noun_count);
    const struct CMUnitTest tests[] = {
        RIG_SQLITE_TESTS(two_stores_see_each_others_events_once_and_in_order),
        RIG_SQLITE_TESTS(each_store_respects_the_writes_of_the_other),
        cmocka_unit_test(several_processes_may_write),
        cmocka_unit_test(a_lock_held_by_another_process_is_a_temporary_error),
        cmocka_unit_test(a_missing_file_is_created_only_on_request),
        cmocka_unit_test(a_file_that_is_not_a_registry_is_rejected),
        cmocka_unit_test(a_truncated_file_is_refused),
        cmocka_unit_test(a_read_that_failed_earlier_does_not_explain_damage),
        cmocka_unit_test(a_newer_registry_is_refused),
        cmocka_unit_test(an_old_registry_is_upgraded),
        cmocka_unit_test(facts_are_part_of_the_hash_chain),
        cmocka_unit_test(an_old_submission_is_decoded_by_the_upgrade),
        cmocka_unit_test(a_reader_can_read_but_not_write),
        cmocka_unit_test(a_reader_needs_no_write_permission),
        RIG_SQLITE_TESTS(a_reopened_store_continues_where_it_was),
        cmocka_unit_test(auxiliary_files_have_the_mode_of_the_registry),
        RIG_SQLITE_TESTS(closing_finishes_what_was_submitted),
        cmocka_unit_test(the_owner_is_woken_when_a_batch_is_answered),
        RIG_SQLITE_TESTS(output_that_cannot_be_synced_fails_only_its_batch),
        RIG_SQLITE_TESTS(a_backup_is_a_complete_registry),
        RIG_SQLITE_TESTS(jobs_whose_backoff_is_over_are_not_sorted_each_time),
        RIG_SQLITE_TESTS(jobs_that_owe_an_approval_are_found_without_a_scan),
        cmocka_unit_test(no_statement_scans_a_table),
        cmocka_unit_test(manual_changes_to_the_database_are_detected),
        cmocka_unit_test(
            a_changed_event_is_named_among_those_of_its_transaction),
        RIG_SQLITE_TESTS(an_unknown_word_in_a_row_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
