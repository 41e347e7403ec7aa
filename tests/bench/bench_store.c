/* The cost of the registry: durable admissions, and jobs from admission to end,
 * compared with a bare SQLite loop with the same settings of the database file
 * in the same run. Also the time of a query for ready jobs with few and many
 * waiting jobs, and after the backoff of many jobs.
 *
 *     bench_store [MOST_WAITING]        default 1000000 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <sqlite3.h>

#include "os/clock.h"
#include "store/store.h"

static char dir[4096];

static void die(const char *what) {
    fprintf(stderr, "bench_store: %s\n", what);
    exit(1);
}

static double wall_us(void) {
    return (double)clock_mono().ns / 1e3;
}

static double cpu_us(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e6 +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static char *new_path(void) {
    static int made;
    struct text text = TEXT_INIT;
    text_addf(&text, "%s/%d.db", dir, made++);
    return text_take(&text);
}

/* ---- the bare loop ------------------------------------------------------ */

static void sql(sqlite3 *db, const char *text) {
    if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
        die(sqlite3_errmsg(db));
}

static sqlite3 *bare_open(const char *path) {
    sqlite3 *db;
    if (sqlite3_open_v2(path, &db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                            SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK)
        die("cannot open a database");
    sql(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
            "PRAGMA wal_autocheckpoint = 4000; PRAGMA secure_delete = OFF;"
            "CREATE TABLE job (num INTEGER PRIMARY KEY, id TEXT NOT NULL, "
            "rank TEXT NOT NULL, state TEXT NOT NULL, spec TEXT NOT NULL) "
            "STRICT;"
            "CREATE UNIQUE INDEX job_id ON job (id);"
            "CREATE INDEX job_ready ON job (rank, num) WHERE state = 'P'");
    return db;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *text) {
    sqlite3_stmt *stmt;
    if (sqlite3_prepare_v3(db, text, -1, SQLITE_PREPARE_PERSISTENT, &stmt,
                           NULL) != SQLITE_OK)
        die(sqlite3_errmsg(db));
    return stmt;
}

static void once(sqlite3_stmt *stmt) {
    if (sqlite3_step(stmt) != SQLITE_DONE)
        die("a statement of the bare loop failed");
    sqlite3_reset(stmt);
}

static const char spec[] =
    "{\"command\":[\"make\",\"-k\",\"check\"],\"dir\":\"/home/somebody/src\","
    "\"env\":{\"PATH\":\"/usr/bin:/bin\",\"LANG\":\"C.UTF-8\"},\"umask\":18}";

struct cost {
    double wall_us, cpu_us; /* per job */
};

static void id_of(uint64_t i, char ret[32]) {
    snprintf(ret, 32, "j%016" PRIx64, i * UINT64_C(0x9e3779b97f4a7c15));
}

static void order_rank_of(uint64_t i, char ret[48]) {
    snprintf(ret, 48, "4@40000000%016" PRIx64, i);
}

static struct cost bare(unsigned count, unsigned batch, bool whole_life) {
    CLEANUP(text_free_string) char *path = new_path();
    sqlite3 *db = bare_open(path);
    sqlite3_stmt *begin = prepare(db, "BEGIN IMMEDIATE");
    sqlite3_stmt *commit = prepare(db, "COMMIT");
    sqlite3_stmt *insert =
        prepare(db, "INSERT INTO job VALUES (?1, ?2, ?3, 'P', ?4)");
    sqlite3_stmt *move =
        prepare(db, "UPDATE job SET state = ?2 WHERE num = ?1");
    double wall = wall_us(), cpu = cpu_us();
    for (unsigned i = 0; i < count; i += batch) {
        for (int step = 0; step < (whole_life ? 3 : 1); step++) {
            once(begin);
            for (unsigned k = i + 1; k <= i + batch; k++) {
                char id[32], rank[48];
                sqlite3_stmt *stmt = step ? move : insert;
                sqlite3_bind_int64(stmt, 1, k);
                if (step == 0) {
                    id_of(k, id), order_rank_of(k, rank);
                    sqlite3_bind_text(stmt, 2, id, -1, SQLITE_STATIC);
                    sqlite3_bind_text(stmt, 3, rank, -1, SQLITE_STATIC);
                    sqlite3_bind_text(stmt, 4, spec, -1, SQLITE_STATIC);
                } else {
                    sqlite3_bind_text(stmt, 2, step == 1 ? "X" : "D", -1,
                                      SQLITE_STATIC);
                }
                once(stmt);
            }
            once(commit);
        }
    }
    struct cost cost = {(wall_us() - wall) / count, (cpu_us() - cpu) / count};
    sqlite3_stmt *all[] = {begin, commit, insert, move};
    for (size_t i = 0; i < COUNT(all); i++)
        sqlite3_finalize(all[i]);
    sqlite3_close(db);
    return cost;
}

/* ---- the registry ------------------------------------------------------- */

static struct store *registry(const char *path) {
    struct store_options options = {.create = true, .own_thread = true};
    struct store *store;
    struct err err;
    if (!store_sqlite_open(path, &options, &store, &err))
        die(err.text);
    return store;
}

static void write_all(struct store_batch *batch) {
    struct err err;
    if (!store_write(batch, &err))
        die(err.text);
    for (unsigned i = 0; i < store_batch_count(batch); i++)
        if (store_batch_result(batch, i) != STORE_DONE)
            die("an operation failed");
    store_batch_free(batch);
}

static struct store_batch *batch_new(struct store *store) {
    struct store_batch *batch = store_batch_new(store);
    store_batch_actor(batch, clock_wall(), SPAN("uid:1000"));
    return batch;
}

static void add_admit(struct store_batch *batch, uint64_t i, int64_t later_s) {
    char id[32], rank[48];
    id_of(i, id), order_rank_of(i, rank);
    struct job job = {
        .id = span_of(id),
        .kind = JOB_COMMAND,
        .job_class = CLASS_DC,
        .state = STATE_PENDING,
        .key = span_of(rank),
        .actor = SPAN("uid:1000"),
        .cause = SPAN("person"),
        .spec = SPAN(spec),
        .uid = 1000,
        .not_before = later_s ? wall_from_s(later_s) : (struct wall){0},
    };
    store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
}

static void add_start(struct store_batch *batch, uint64_t num) {
    struct store_attempt attempt = {
        .num = num,
        .attempt = 1,
        .status = TASK_RUNNING,
        .assigned = clock_wall(),
        .exit_code = -1,
        .worker = SPAN("local"),
    };
    struct store_move move = {
        .num = num,
        .from = STATE_PENDING,
        .to = STATE_EXECUTING,
        .reason = SPAN("start"),
        .begin_attempt = true,
    };
    store_assign(batch, &attempt);
    store_move(batch, &move);
}

static void add_end(struct store_batch *batch, uint64_t num) {
    struct wall now = clock_wall();
    struct store_attempt attempt = {
        .num = num,
        .attempt = 1,
        .status = TASK_DONE,
        .assigned = now,
        .started = now,
        .ended = now,
        .reason = SPAN("ok"),
        .worker = SPAN("local"),
        .output = SPAN("000001.seg:123456"),
        .output_bytes = 4000,
        .cpu_us = 1500,
        .peak_kib = 2048,
    };
    struct store_move move = {
        .num = num,
        .from = STATE_EXECUTING,
        .to = STATE_DONE,
        .reason = SPAN("ok"),
    };
    store_end(batch, &attempt);
    store_move(batch, &move);
}

static struct cost ours(unsigned count, unsigned batch_size, bool whole_life) {
    CLEANUP(text_free_string) char *path = new_path();
    struct store *store = registry(path);
    double wall = wall_us(), cpu = cpu_us();
    for (unsigned i = 0; i < count; i += batch_size) {
        for (int step = 0; step < (whole_life ? 3 : 1); step++) {
            struct store_batch *batch = batch_new(store);
            for (unsigned k = i + 1; k <= i + batch_size; k++) {
                if (step == 0)
                    add_admit(batch, k, 0);
                else if (step == 1)
                    add_start(batch, k);
                else
                    add_end(batch, k);
            }
            write_all(batch);
        }
    }
    struct cost cost = {(wall_us() - wall) / count, (cpu_us() - cpu) / count};
    store_close(store);
    return cost;
}

static void compare(const char *what, unsigned count, unsigned batch,
                    bool whole_life) {
    count = count / batch * batch;
    struct cost bare_cost = bare(count, batch, whole_life);
    struct cost our_cost = ours(count, batch, whole_life);
    printf("%-10s batch %4u: bare %8.1f us/job (%5.1f CPU), store %8.1f "
           "us/job (%5.1f CPU), speed ratio %.2f\n",
           what, batch, bare_cost.wall_us, bare_cost.cpu_us, our_cost.wall_us,
           our_cost.cpu_us, bare_cost.wall_us / our_cost.wall_us);
    fflush(stdout);
}

/* ---- many waiting ------------------------------------------------------- */

static int double_order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double query_ready(struct store *store) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job *jobs;
    struct err err;
    size_t count;
    double before = wall_us();
    if (!store_ready(store, clock_wall(), SPAN(""), 0, 16, &arena, &jobs,
                     &count, &err))
        die(err.text);
    if (count != 16)
        die("too few jobs are ready");
    return wall_us() - before;
}

static double query_ready_median(struct store *store) {
    enum { LOOKS = 2001 };
    static double looks[LOOKS];
    for (int i = 0; i < LOOKS; i++)
        looks[i] = query_ready(store);
    qsort(looks, LOOKS, sizeof(looks[0]), double_order);
    return looks[LOOKS / 2];
}

/* Every tenth job waits for a distant time. */
static void fill(struct store *store, uint64_t from, uint64_t to) {
    while (from < to) {
        struct store_batch *batch = batch_new(store);
        for (int i = 0; i < 10000 && from < to; i++, from++)
            add_admit(batch, from + 1, from % 10 == 9 ? 9000000000 : 0);
        write_all(batch);
    }
}

static void many_waiting(uint64_t most) {
    CLEANUP(text_free_string) char *path = new_path();
    struct store *store = registry(path);
    double first = 0;
    uint64_t filled = 0;
    for (uint64_t count = 10000; count <= most; count *= 10) {
        fill(store, filled, count);
        filled = count;
        double look = query_ready_median(store);
        first = first > 0 ? first : look;
        printf("ready      %8" PRIu64 " waiting: 16 jobs in %6.1f us (median), "
               "%.2f x the time with 10000\n",
               count, look, look / first);
        fflush(stdout);
    }
    store_close(store);
    double cpu = cpu_us(), wall = wall_us();
    store = registry(path);
    query_ready(store);
    printf("open       %8" PRIu64 " waiting: first query after %.1f ms "
           "(%.1f ms CPU)\n",
           filled, (wall_us() - wall) / 1e3, (cpu_us() - cpu) / 1e3);
    struct store_tally tally;
    if (!store_count(store, &tally, NULL) ||
        tally.count[STATE_PENDING] != filled)
        die("jobs are missing");
    store_close(store);
}

/* ---- backoffs that are over --------------------------------------------- */

/* The not_before of these jobs is long past, but the registry has not recorded
 * that yet. */
static void many_overdue(uint64_t count) {
    CLEANUP(text_free_string) char *path = new_path();
    struct store *store = registry(path);
    fill(store, 0, 10000);
    double none = query_ready_median(store), overdue, cpu;
    uint64_t from = 10000;
    while (from < 10000 + count) {
        struct store_batch *batch = batch_new(store);
        for (int i = 0; i < 10000 && from < 10000 + count; i++)
            add_admit(batch, ++from, 1000);
        write_all(batch);
    }
    overdue = query_ready(store);
    cpu = cpu_us();
    for (uint64_t num = 10001; num <= from;) {
        struct store_batch *batch = batch_new(store);
        for (int i = 0; i < 1000 && num <= from; i++)
            store_due(batch, num++);
        write_all(batch);
    }
    cpu = (cpu_us() - cpu) / (double)count;
    double after = query_ready_median(store);
    printf("overdue    %8" PRIu64 " and 10000: 16 jobs in %6.1f us, before "
           "%.1f us (%.2f x); none %.1f us (%.2f x); %.1f us CPU to record "
           "each\n",
           count, after, overdue, after / overdue, none, after / none, cpu);
    store_close(store);
}

int main(int argc, char **argv) {
    const char *where = getenv("TMPDIR");
    uint64_t most = 1000000;
    if (argc > 1 && !span_u64(span_of(argv[1]), &most))
        die("usage: bench_store [MOST_WAITING]");
    snprintf(dir, sizeof(dir), "%s/bench-store.XXXXXX", where ? where : "/tmp");
    if (!mkdtemp(dir))
        die("cannot create a directory");
    /* The first registry that is opened configures SQLite, also for the bare
     * loop. */
    CLEANUP(text_free_string) char *path = new_path();
    store_close(registry(path));
    compare("admit", 1000, 1, false);
    compare("admit", 20000, 64, false);
    compare("admit", 50000, 100, false);
    compare("life", 500, 1, true);
    compare("life", 50000, 100, true);
    compare("life", 50000, 1000, true);
    many_waiting(most);
    many_overdue(10000);
    many_overdue(100000);
    struct text command = TEXT_INIT;
    text_addf(&command, "rm -rf '%s'", dir);
    int rc = system(text_string(&command));
    text_clear(&command);
    return rc != 0;
}
