/* No-op commands end to end: stored durably, started, output captured, result
 * recorded; two at a time, and four. Compared with plain vfork + exec + pipe,
 * alternately in the same run, and with common tools. Each command has a number
 * as its argument, so that no two are equal. An array of 10,000 tasks is
 * compared with 10,000 commands, from the submission to the last end.
 *
 *     bench_run POINTSMAN NOOP RAW_SPAWN [COUNT [ROUNDS]]
 *
 * The time is that from the first start to the last end in the registry, the
 * CPU time that of the server, the guard and the tasks during their whole life.
 */
#include <inttypes.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/text.h"
#include "bench/callers.h"
#include "bench/figure.h"
#include "bench/served.h"
#include "os/clock.h"

enum {
    SLOTS = 2,
    WIDE = 4,
    BATCH = 1000,
    ROUNDS_MOST = 99,
    TIMEOUT_S = 300,
    TASKS = 10000
};

struct result {
    double per_s, cpu_us;
};

struct bench {
    const char *pointsman, *noop, *raw_spawn;
    unsigned count;
    struct served served;
};

static void shell(const char *command) {
    if (system(command) != 0)
        bench_die("command failed: %s", command);
}

/* ---- Pointsman ---------------------------------------------------------- */

static void submit_before(const struct bench *bench) {
    const char *path = bench_text("%s/lines", bench_dir());
    FILE *f = fopen(path, "we");
    if (!f)
        bench_die("cannot write '%s'", path);
    for (unsigned i = 0; i < bench->count; i++)
        fprintf(f, "{\"command\":[\"%s\",\"%u\"]}\n", bench->noop, i);
    if (fclose(f) != 0)
        bench_die("cannot write '%s'", path);
    shell(bench_text("'%s' --base '%s' submit --batch < '%s' > /dev/null",
                     bench->pointsman, bench->served.base, path));
}

static void submit_now(struct bench *bench, unsigned count) {
    CLEANUP(text_clear) struct text body = TEXT_INIT;
    size_t bytes;
    for (int i = 0; i < BATCH; i++)
        text_addf(&body, "{\"command\":[\"%s\",\"%d\"]}\n", bench->noop, i);
    const char *post =
        callers_post("/api/v1/jobs/batch", body.p, body.len, &bytes);
    int fd = served_connect(&bench->served);
    for (unsigned sent = 0; sent < count; sent += BATCH)
        free(callers_ask(fd, post, bytes));
    close(fd);
}

static void submit_array(struct bench *bench, unsigned count) {
    CLEANUP(text_clear) struct text body = TEXT_INIT;
    size_t bytes;
    text_addf(&body, "{\"command\":[\"%s\",\"{}\"],\"array\":[", bench->noop);
    for (unsigned i = 0; i < count; i++)
        text_addf(&body, "%s\"%u\"", i > 0 ? "," : "", i);
    text_adds(&body, "]}");
    const char *post = callers_post("/api/v1/jobs", body.p, body.len, &bytes);
    int fd = served_connect(&bench->served);
    free(callers_ask(fd, post, bytes));
    close(fd);
}

/* Ends the program with the first job that failed and the reason. */
__attribute__((noreturn)) static void
die_of_failure(const struct bench *bench) {
    sqlite3 *db;
    sqlite3_stmt *stmt;
    const char *path = bench_text("%s/ctrl/registry.db", bench->served.base);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db,
                           "SELECT num, reason, detail FROM job "
                           "WHERE state = 'F' ORDER BY num LIMIT 1",
                           -1, &stmt, NULL) != SQLITE_OK ||
        sqlite3_step(stmt) != SQLITE_ROW)
        bench_die("a task failed");
    bench_die("task %lld failed: %s: %s", sqlite3_column_int64(stmt, 0),
              (const char *)sqlite3_column_text(stmt, 1),
              (const char *)sqlite3_column_text(stmt, 2));
}

static void await_all(struct bench *bench, unsigned jobs) {
    static const char counts[] =
        "GET /api/v1/counts HTTP/1.1\r\nHost: pointsman\r\n\r\n";
    const char *want = bench_text("\"done\":%u,\"failed\":0", jobs);
    int fd = served_connect(&bench->served);
    bool over = false;
    for (int i = 0; !over && i < TIMEOUT_S * 40; i++) {
        char *answer = callers_ask(fd, counts, sizeof(counts) - 1);
        over = strstr(answer, want) != NULL;
        if (!strstr(answer, "\"failed\":0,"))
            die_of_failure(bench);
        free(answer);
        if (!over)
            poll(NULL, 0, 25);
    }
    close(fd);
    if (!over)
        bench_die("not all tasks are done");
}

static double tasks_per_s(const struct bench *bench) {
    sqlite3 *db;
    sqlite3_stmt *stmt;
    const char *path = bench_text("%s/ctrl/registry.db", bench->served.base);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db,
                           "SELECT count(*), min(started), "
                           "max((SELECT max(since) FROM job), max(ended)) "
                           "FROM attempt WHERE status = 'done'",
                           -1, &stmt, NULL) != SQLITE_OK ||
        sqlite3_step(stmt) != SQLITE_ROW)
        bench_die("cannot read '%s'", path);
    if (sqlite3_column_int64(stmt, 0) != bench->count)
        bench_die("not all results are recorded");
    double ns =
        (double)(sqlite3_column_int64(stmt, 2) - sqlite3_column_int64(stmt, 1));
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return bench->count / ns * 1e9;
}

static struct result run_ours(struct bench *bench, bool before,
                              unsigned slots) {
    struct result result;
    served_make(&bench->served, bench->pointsman, slots);
    if (before)
        submit_before(bench);
    served_start(&bench->served, bench->pointsman);
    if (!before)
        submit_now(bench, bench->count);
    await_all(bench, bench->count);
    result.cpu_us = served_stop(&bench->served) / bench->count;
    result.per_s = tasks_per_s(bench);
    shell(bench_text("rm -rf '%s'", bench->served.base));
    return result;
}

/* Tasks per second from the submission until all of them are done, one by one
 * as jobs or in one array. */
static double per_s_to_the_end(struct bench *bench, bool as_array) {
    served_make(&bench->served, bench->pointsman, SLOTS);
    served_start(&bench->served, bench->pointsman);
    const char *path = bench_text("%s/ctrl/registry.db", bench->served.base);
    int64_t begun_ns = clock_wall().ns;
    if (as_array)
        submit_array(bench, TASKS);
    else
        submit_now(bench, TASKS);
    await_all(bench, as_array ? 1 : TASKS);
    (void)served_stop(&bench->served);
    sqlite3 *db;
    sqlite3_stmt *stmt;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, "SELECT max(since) FROM job WHERE state = 'D'",
                           -1, &stmt, NULL) != SQLITE_OK ||
        sqlite3_step(stmt) != SQLITE_ROW)
        bench_die("cannot read '%s'", path);
    double ns = (double)(sqlite3_column_int64(stmt, 0) - begun_ns);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    shell(bench_text("rm -rf '%s'", bench->served.base));
    return TASKS / ns * 1e9;
}

static void print_array(struct bench *bench, int rounds) {
    double array[ROUNDS_MOST], jobs[ROUNDS_MOST], ratios[ROUNDS_MOST];
    for (int i = 0; i < rounds; i++) {
        jobs[i] = per_s_to_the_end(bench, false);
        array[i] = per_s_to_the_end(bench, true);
        ratios[i] = array[i] / jobs[i];
    }
    struct figure figure = {
        .what = "an array, submission to last end",
        .ours = bench_text("%.0f/s", bench_median(array, (size_t)rounds)),
        .other = bench_text("as many commands %.0f/s",
                            bench_median(jobs, (size_t)rounds)),
        .value = bench_median(ratios, (size_t)rounds),
        .unit = "x",
        .goal = 0.9,
    };
    figure_print(&figure);
}

/* ---- the limit and the peers -------------------------------------------- */

static struct result run_raw(const struct bench *bench) {
    struct result result;
    FILE *f = popen(bench_text("'%s' %u %d '%s'", bench->raw_spawn,
                               bench->count, SLOTS, bench->noop),
                    "re");
    if (!f || fscanf(f, "%lf %lf", &result.per_s, &result.cpu_us) != 2)
        bench_die("cannot run '%s'", bench->raw_spawn);
    pclose(f);
    return result;
}

static struct result run_tool(const char *command, unsigned count) {
    double wall_us = bench_wall_us(), cpu_us = bench_cpu_us();
    shell(command);
    return (struct result){count / (bench_wall_us() - wall_us) * 1e6,
                           (bench_cpu_us() - cpu_us) / count};
}

/* ---- the comparison ----------------------------------------------------- */

static double median(const struct result *results, int count, bool cpu) {
    double values[ROUNDS_MOST];
    for (int i = 0; i < count; i++)
        values[i] = cpu ? results[i].cpu_us : results[i].per_s;
    return bench_median(values, (size_t)count);
}

static void print_speed(const char *what, const struct result *mine,
                        const struct result *raw, int rounds, double goal) {
    double ratios[ROUNDS_MOST];
    for (int i = 0; i < rounds; i++)
        ratios[i] = mine[i].per_s / raw[i].per_s;
    struct figure figure = {
        .what = what,
        .ours = bench_text("%.0f/s", median(mine, rounds, false)),
        .other = bench_text("raw vfork+exec+pipe %.0f/s",
                            median(raw, rounds, false)),
        .value = bench_median(ratios, (size_t)rounds),
        .unit = "x",
        .goal = goal,
    };
    figure_print(&figure);
}

static void print_added(const char *what, const struct result *mine,
                        const struct result *raw, int rounds, double goal) {
    double added[ROUNDS_MOST];
    for (int i = 0; i < rounds; i++)
        added[i] = mine[i].cpu_us - raw[i].cpu_us;
    struct figure figure = {
        .what = what,
        .ours = bench_text("%.1f us/task", median(mine, rounds, true)),
        .other = bench_text("raw %.1f us/task", median(raw, rounds, true)),
        .value = bench_median(added, (size_t)rounds),
        .unit = "us",
        .goal = goal,
        .at_most = true,
    };
    figure_print(&figure);
}

static void print_tool(const char *tool, const char *command, unsigned count,
                       double ours) {
    char name[64];
    snprintf(name, sizeof(name), "/usr/bin/%s", tool);
    if (access(name, X_OK) != 0) {
        printf("no-op tasks: %s is not installed\n", tool);
        return;
    }
    struct result theirs = run_tool(command, count);
    struct figure figure = {
        .what = bench_text("no-op tasks, against %s", tool),
        .ours = bench_text("%.0f/s", ours),
        .other =
            bench_text("%s %.0f/s, %.0f us", tool, theirs.per_s, theirs.cpu_us),
        .value = ours / theirs.per_s,
        .unit = "x",
    };
    figure_print(&figure);
}

int main(int argc, char **argv) {
    static struct result before[ROUNDS_MOST], during[ROUNDS_MOST];
    static struct result raw[ROUNDS_MOST], raw_again[ROUNDS_MOST];
    static struct result wide[ROUNDS_MOST];
    if (argc < 4)
        bench_die("usage: bench_run POINTSMAN NOOP RAW_SPAWN "
                  "[COUNT [ROUNDS]]");
    struct bench bench = {.pointsman = argv[1],
                          .noop = realpath(argv[2], NULL),
                          .raw_spawn = argv[3],
                          .count = argc > 4 ? (unsigned)atoi(argv[4]) : 20000};
    int rounds = argc > 5 ? atoi(argv[5]) : 3;
    bench.count = bench.count / BATCH * BATCH;
    if (!bench.noop)
        bench_die("'%s' does not exist", argv[2]);
    if (bench.count == 0 || rounds < 1 || rounds > ROUNDS_MOST)
        bench_die("COUNT is at least %d, ROUNDS at most %d", BATCH,
                  ROUNDS_MOST);
    for (int i = 0; i < rounds; i++) {
        raw[i] = run_raw(&bench);
        before[i] = run_ours(&bench, true, SLOTS);
        raw_again[i] = run_raw(&bench);
        during[i] = run_ours(&bench, false, SLOTS);
        wide[i] = run_ours(&bench, true, WIDE);
    }
    print_speed("no-op tasks, submitted before", before, raw, rounds, 0.6);
    print_added("no-op tasks, CPU added", before, raw, rounds, 30);
    print_speed("no-op tasks, submitted while running", during, raw_again,
                rounds, 0);
    print_added("the same, CPU added", during, raw_again, rounds, 0);
    print_speed("no-op tasks, four slots", wide, raw_again, rounds, 0);
    print_array(&bench, rounds);
    double ours = median(before, rounds, false);
    print_tool(
        "xargs",
        bench_text("seq 5000 | xargs -n 1 -P %d '%s'", SLOTS, bench.noop), 5000,
        ours);
    print_tool("parallel",
               bench_text("seq 400 | parallel -j %d --will-cite '%s'", SLOTS,
                          bench.noop),
               400, ours);
    return 0;
}
