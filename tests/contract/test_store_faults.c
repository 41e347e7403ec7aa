/* The disk fails at every write and every sync in turn. Each failure gives a
 * clear error, no batch is half done, and what was acknowledged is still there
 * when the registry is reopened.
 *
 * A VFS between SQLite and the files counts the changes and lets the k-th one
 * fail, for k = 1, 2, … until a run completes without a failure. */
#include "contract/store_rig.h"

#include <errno.h>
#include <sqlite3.h>

/* ---- the disk ----------------------------------------------------------- */

enum fault { FAULT_NONE, FAULT_FULL, FAULT_WRITE, FAULT_SYNC };

static struct {
    enum fault fault;
    unsigned at;    /* the number of the change that fails */
    unsigned count; /* changes so far */
    bool stays;     /* all later changes fail as well */
    bool fired;
} disk;

struct shim_file {
    sqlite3_file base;
    sqlite3_file *real; /* follows in the same block of memory */
};

static sqlite3_vfs *real_vfs;
static sqlite3_vfs shim_vfs;
static sqlite3_io_methods shim_methods;

static void disk_set(enum fault fault, unsigned at, bool stays) {
    disk.fault = fault;
    disk.at = at;
    disk.count = 0;
    disk.stays = stays;
    disk.fired = false;
}

static bool fails_now(bool is_sync) {
    if (disk.fault == FAULT_NONE || is_sync != (disk.fault == FAULT_SYNC))
        return false;
    disk.count++;
    if (disk.count != disk.at && !(disk.stays && disk.count > disk.at))
        return false;
    disk.fired = true;
    return true;
}

static sqlite3_file *real_of(sqlite3_file *file) {
    return ((struct shim_file *)(void *)file)->real;
}

static int shim_close(sqlite3_file *file) {
    return real_of(file)->pMethods->xClose(real_of(file));
}

static int shim_read(sqlite3_file *file, void *p, int n, sqlite3_int64 at) {
    return real_of(file)->pMethods->xRead(real_of(file), p, n, at);
}

/* A failing write may have written half of the bytes. */
static int shim_write(sqlite3_file *file, const void *p, int n,
                      sqlite3_int64 at) {
    sqlite3_file *real = real_of(file);
    if (!fails_now(false))
        return real->pMethods->xWrite(real, p, n, at);
    if (n > 1)
        real->pMethods->xWrite(real, p, n / 2, at);
    return disk.fault == FAULT_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}

static int shim_truncate(sqlite3_file *file, sqlite3_int64 size) {
    if (fails_now(false))
        return disk.fault == FAULT_FULL ? SQLITE_FULL : SQLITE_IOERR_TRUNCATE;
    return real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static int shim_sync(sqlite3_file *file, int flags) {
    (void)file, (void)flags; /* the machine never crashes in this test */
    return fails_now(true) ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int shim_size(sqlite3_file *file, sqlite3_int64 *size) {
    return real_of(file)->pMethods->xFileSize(real_of(file), size);
}

static int shim_lock(sqlite3_file *file, int lock) {
    return real_of(file)->pMethods->xLock(real_of(file), lock);
}

static int shim_unlock(sqlite3_file *file, int lock) {
    return real_of(file)->pMethods->xUnlock(real_of(file), lock);
}

static int shim_reserved(sqlite3_file *file, int *out) {
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), out);
}

static int shim_control(sqlite3_file *file, int op, void *arg) {
    return real_of(file)->pMethods->xFileControl(real_of(file), op, arg);
}

static int shim_sector(sqlite3_file *file) {
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int shim_device(sqlite3_file *file) {
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int shim_shm_map(sqlite3_file *file, int page, int size, int extend,
                        void volatile **out) {
    return real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend,
                                            out);
}

static int shim_shm_lock(sqlite3_file *file, int at, int n, int flags) {
    return real_of(file)->pMethods->xShmLock(real_of(file), at, n, flags);
}

static void shim_shm_barrier(sqlite3_file *file) {
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int shim_shm_unmap(sqlite3_file *file, int remove) {
    return real_of(file)->pMethods->xShmUnmap(real_of(file), remove);
}

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file,
                     int flags, int *out_flags) {
    struct shim_file *shim = (struct shim_file *)(void *)file;
    (void)vfs;
    shim->real = (sqlite3_file *)(void *)(shim + 1);
    shim->base.pMethods = NULL;
    int rc = real_vfs->xOpen(real_vfs, name, shim->real, flags, out_flags);
    if (rc == SQLITE_OK)
        shim->base.pMethods = &shim_methods;
    return rc;
}

static int shim_last_error(sqlite3_vfs *vfs, int n, char *out) {
    if (disk.fired)
        return disk.fault == FAULT_FULL ? ENOSPC : EIO;
    (void)vfs;
    return real_vfs->xGetLastError(real_vfs, n, out);
}

static void shim_register(void) {
    real_vfs = sqlite3_vfs_find(NULL);
    shim_vfs = *real_vfs;
    shim_vfs.zName = "failing";
    shim_vfs.szOsFile = (int)sizeof(struct shim_file) + real_vfs->szOsFile;
    shim_vfs.xOpen = shim_open;
    shim_vfs.xGetLastError = shim_last_error;
    shim_methods = (sqlite3_io_methods){
        .iVersion = 2,
        .xClose = shim_close,
        .xRead = shim_read,
        .xWrite = shim_write,
        .xTruncate = shim_truncate,
        .xSync = shim_sync,
        .xFileSize = shim_size,
        .xLock = shim_lock,
        .xUnlock = shim_unlock,
        .xCheckReservedLock = shim_reserved,
        .xFileControl = shim_control,
        .xSectorSize = shim_sector,
        .xDeviceCharacteristics = shim_device,
        .xShmMap = shim_shm_map,
        .xShmLock = shim_shm_lock,
        .xShmBarrier = shim_shm_barrier,
        .xShmUnmap = shim_shm_unmap,
    };
    assert_int_equal(sqlite3_vfs_register(&shim_vfs, 1), SQLITE_OK);
}

/* ---- the work ----------------------------------------------------------- */

enum { BATCHES = 6 };

/* Batch i admits a job and stores a setting of the same name. */
static struct store_batch *batch_of(struct store *store, int i) {
    struct store_batch *batch = store_batch_new(store);
    char id[16], spec[3000];
    snprintf(id, sizeof(id), "job%d", i);
    memset(spec, 'x', sizeof(spec));
    struct job job = rig_command(id, id);
    job.spec = span_make(spec, sizeof(spec));
    store_batch_actor(batch, wall_from_s(100 + i), SPAN("uid:1"));
    store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    store_set(batch, span_of(id), SPAN("value"));
    return batch;
}

struct outcome {
    bool opened;
    bool done[BATCHES];
    enum err_kind kind; /* the kind of the first failure */
    char text[ERR_TEXT_BYTES];
    unsigned failures;
};

static void note(struct outcome *outcome, const struct err *err) {
    if (outcome->failures++ > 0)
        return;
    outcome->kind = err->kind;
    snprintf(outcome->text, sizeof(outcome->text), "%s", err->text);
}

static void work(const char *path, struct outcome *outcome) {
    struct store_options options = {.create = true, .busy_ms = 60000};
    struct store *store;
    struct err err = {0};
    outcome->opened = store_sqlite_open(path, &options, &store, &err);
    if (!outcome->opened) {
        note(outcome, &err);
        return;
    }
    for (int i = 0; i < BATCHES; i++) {
        struct store_batch *batch = batch_of(store, i);
        outcome->done[i] = store_write(batch, &err);
        if (!outcome->done[i])
            note(outcome, &err);
        store_batch_free(batch);
    }
    store_close(store);
}

static bool has(struct store *store, int i) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    char id[16];
    struct job job;
    struct span value;
    bool found;
    snprintf(id, sizeof(id), "job%d", i);
    assert_true(store_lookup(store, span_of(id), &arena, &job, &found, NULL));
    assert_true(store_setting(store, span_of(id), &arena, &value, NULL));
    assert_int_equal(found, value.p != NULL); /* batches are atomic */
    return found;
}

static void judge(const char *path, const struct outcome *outcome,
                  enum fault fault, unsigned at) {
    struct store_options options = {.create = true, .busy_ms = 60000};
    struct store *store;
    struct err err = {0};
    disk_set(FAULT_NONE, 0, false);
    if (!store_sqlite_open(path, &options, &store, &err))
        fail_msg("fault %d at %u: %s", fault, at, err.text);
    if (!store_verify(store, &err))
        fail_msg("fault %d at %u: %s", fault, at, err.text);
    for (int i = 0; i < BATCHES; i++) {
        bool found = has(store, i);
        if (outcome->done[i] && !found)
            fail_msg("fault %d at %u: batch %d is lost", fault, at, i);
        /* Only a failed sync leaves it open whether the batch was stored. */
        if (!outcome->done[i] && found && fault != FAULT_SYNC)
            fail_msg("fault %d at %u: batch %d came back", fault, at, i);
    }
    store_close(store);
}

static void sweep(enum fault fault, bool stays) {
    bool fired = true;
    unsigned refusals = 0;
    for (unsigned at = 1; fired; at++) {
        CLEANUP(text_free_string) char *path = rig_new_path();
        struct outcome outcome = {0};
        disk_set(fault, at, stays);
        work(path, &outcome);
        fired = disk.fired;
        judge(path, &outcome, fault, at);
        if (outcome.failures == 0)
            continue;
        refusals++;
        assert_true(outcome.text[0] != '\0');
        if (fault == FAULT_FULL) {
            assert_int_equal(outcome.kind, ERR_TEMPORARY);
            /* Once there is space again, the store continues. */
            assert_true(stays || !outcome.opened || outcome.failures == 1);
        } else if (outcome.opened) {
            assert_int_equal(outcome.kind, ERR_CANNOT);
            bool failed = false;
            for (int i = 0; i < BATCHES; i++) {
                failed = failed || !outcome.done[i];
                assert_int_equal(failed, !outcome.done[i]);
            }
        }
        assert_true(at < 1000);
    }
    assert_true(refusals > BATCHES);
}

static void a_full_disk_fails_only_one_batch(void **state) {
    (void)state;
    sweep(FAULT_FULL, false);
}

static void a_disk_that_stays_full_loses_nothing(void **state) {
    (void)state;
    sweep(FAULT_FULL, true);
}

static void a_write_error_stops_the_store(void **state) {
    (void)state;
    sweep(FAULT_WRITE, false);
}

static void a_failed_sync_stops_the_store(void **state) {
    (void)state;
    sweep(FAULT_SYNC, false);
}

static void
after_a_failed_sync_batches_fail_until_the_store_is_reopened(void **state) {
    (void)state;
    CLEANUP(text_free_string) char *path = rig_new_path();
    struct store *store = rig_open(path, true);
    struct err err = {0};
    disk_set(FAULT_SYNC, 1, false);
    for (int i = 0; i < 3; i++) {
        struct store_batch *batch = batch_of(store, i);
        assert_false(store_write(batch, &err));
        assert_int_equal(err.kind, ERR_CANNOT);
        if (i > 0)
            assert_non_null(strstr(err.text, "must be opened again"));
        store_batch_free(batch);
    }
    disk_set(FAULT_NONE, 0, false);
    store_close(store);
    store = rig_open(path, true);
    struct store_batch *batch = batch_of(store, 5);
    assert_true(store_write(batch, &err));
    store_batch_free(batch);
    store_close(store);
}

static void batches_of_one_transaction_fail_together(void **state) {
    (void)state;
    CLEANUP(text_free_string) char *path = rig_new_path();
    struct store *store = rig_open(path, false);
    struct err err = {0};
    store_submit(batch_of(store, 0), NULL, NULL);
    disk_set(FAULT_FULL, 1, false);
    struct store_batch *batch = batch_of(store, 1);
    assert_false(store_write(batch, &err));
    assert_int_equal(store_batch_count(batch), 2);
    store_batch_free(batch);
    assert_false(has(store, 0));
    assert_int_equal(store_seq(store), 0);
    batch = batch_of(store, 2);
    assert_true(store_write(batch, &err));
    assert_int_equal(store_batch_num(batch, 0), 1);
    store_batch_free(batch);
    store_close(store);
}

int main(void) {
    shim_register();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_disk_fails_only_one_batch),
        cmocka_unit_test(a_disk_that_stays_full_loses_nothing),
        cmocka_unit_test(a_write_error_stops_the_store),
        cmocka_unit_test(a_failed_sync_stops_the_store),
        cmocka_unit_test(
            after_a_failed_sync_batches_fail_until_the_store_is_reopened),
        cmocka_unit_test(batches_of_one_transaction_fail_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
