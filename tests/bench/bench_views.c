/* The CPU time of what people ask about a base with a million jobs, most of
 * them done, 50,000 waiting: `list`, `status`, `tasks` and `why`, of the
 * command alone without a server, and of the command and the server together.
 * Each is compared with the limit of 50 ms.
 *
 *     bench_views POINTSMAN [JOBS]      default 1000000 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "bench/figure.h"
#include "bench/served.h"
#include "bench/waiting.h"
#include "os/clock.h"
#include "serve/tables.h"

enum {
    WAITING = 50000,
    CHAIN = 10000, /* of these, commands that touch one key */
    FAILED_EACH = 100000,
    TASKS = 1000,
    BATCH = 10000,
    TIMES = 20, /* each question */
    LIMIT_US = 50000
};

static const char spec[] =
    "{\"command\":[\"make\",\"-k\",\"check\"],\"dir\":\"/\",\"env\":{\"PATH\":"
    "\"/usr/bin:/bin\",\"LANG\":\"C.UTF-8\"},\"umask\":\"022\"}";

/* ---- the base ------------------------------------------------------------ */

static struct store_batch *batch_new(struct store *store) {
    struct store_batch *batch = store_batch_new(store);
    store_batch_actor(batch, clock_wall(), SPAN("uid:1000"));
    return batch;
}

static void write_all(struct store_batch *batch) {
    struct err err;
    if (!store_write(batch, &err))
        bench_die("%s", err.text);
    for (unsigned i = 0; i < store_batch_count(batch); i++)
        if (store_batch_result(batch, i) != STORE_DONE)
            bench_die("an operation failed");
    store_batch_free(batch);
}

static void begin(struct store_batch *batch, uint64_t num) {
    struct store_attempt attempt = {.num = num,
                                    .attempt = 1,
                                    .status = TASK_RUNNING,
                                    .assigned = clock_wall(),
                                    .exit_code = -1,
                                    .worker = SPAN("local")};
    struct store_move move = {.num = num,
                              .from = STATE_PENDING,
                              .to = STATE_EXECUTING,
                              .reason = SPAN("start"),
                              .begin_attempt = true};
    store_assign(batch, &attempt);
    store_move(batch, &move);
}

static void end(struct store_batch *batch, uint64_t num) {
    bool fails = num % FAILED_EACH == FAILED_EACH / 2;
    struct wall now = clock_wall();
    struct store_attempt attempt = {.num = num,
                                    .attempt = 1,
                                    .status = fails ? TASK_FAILED : TASK_DONE,
                                    .assigned = now,
                                    .started = now,
                                    .ended = now,
                                    .exit_code = fails,
                                    .reason = SPAN("ok"),
                                    .worker = SPAN("local"),
                                    .cpu_us = 1500,
                                    .peak_kib = 2048};
    struct store_move move = {.num = num,
                              .from = STATE_EXECUTING,
                              .to = fails ? STATE_FAILED : STATE_DONE,
                              .reason = fails ? SPAN("exit-1") : SPAN("ok"),
                              .fails = fails};
    store_end(batch, &attempt);
    store_move(batch, &move);
}

static void add_ended(struct store *store, uint64_t count) {
    waiting_add_commands(store, 0, count, SPAN(spec));
    for (uint64_t num = 0; num < count;) {
        struct store_batch *begun = batch_new(store), *ended = batch_new(store);
        for (int i = 0; i < BATCH && num < count; i++) {
            begin(begun, ++num);
            end(ended, num);
        }
        write_all(begun);
        write_all(ended);
    }
}

static void add_command(struct store_batch *batch, const char *id,
                        const char *key, const char *what, bool touches,
                        const struct span *nodes, size_t node_count) {
    struct job_touch touch = {.path = SPAN("key")};
    struct job job = {.id = span_of(id),
                      .kind = JOB_COMMAND,
                      .job_class = CLASS_DC,
                      .state = touches ? STATE_QUEUED : STATE_PENDING,
                      .key = span_of(key),
                      .actor = SPAN("uid:1000"),
                      .cause = SPAN("person"),
                      .flags = node_count > 0 ? JOB_ARRAY : 0,
                      .spec = span_of(what),
                      .uid = (uint32_t)getuid()};
    store_admit(batch, &job, NULL, 0, &touch, touches, nodes, node_count);
}

/* The first runs as long as the server, in its only slot. */
static void add_first(struct store *store) {
    struct store_batch *batch = batch_new(store);
    add_command(batch, "first", "1@0",
                "{\"command\":[\"sleep\",\"1000000\"],\"dir\":\"/\","
                "\"env\":{\"PATH\":\"/usr/bin:/bin\"}}",
                false, NULL, 0);
    write_all(batch);
}

static void add_array(struct store *store) {
    struct store_batch *batch = batch_new(store);
    struct span nodes[TASKS];
    for (int i = 0; i < TASKS; i++)
        nodes[i] = span_of(bench_text("%d", i + 1));
    add_command(batch, "array", "4@5", spec, false, nodes, TASKS);
    write_all(batch);
}

static void add_chain(struct store *store) {
    struct store_batch *batch = batch_new(store);
    for (int i = 1; i <= CHAIN; i++)
        add_command(batch, bench_text("chain%d", i), bench_text("4@6%08d", i),
                    spec, true, NULL, 0);
    write_all(batch);
}

static void fill(const struct served *served, uint64_t jobs) {
    struct store_options options = {.own_thread = true};
    struct store *store;
    struct err err;
    const char *path = bench_text("%s/%s", served->base, BASE_REGISTRY);
    uint64_t ended = jobs - WAITING;
    if (!store_sqlite_open(path, &options, &store, &err))
        bench_die("%s", err.text);
    add_ended(store, ended);
    add_first(store);
    add_array(store);
    add_chain(store);
    waiting_add_commands(store, ended, jobs - CHAIN - 2, SPAN(spec));
    store_close(store);
}

/* ---- the questions ------------------------------------------------------- */

struct question {
    const char *words;
    bool takes_job; /* `%s` is a pending job behind all others */
    bool reads_all; /* has to look at every job: no goal, and asked once */
};

static const struct question questions[] = {
    {"list --limit 25", false},
    {"list --limit 25 state:pending", false},
    {"list --limit 25 state:failed", false},
    {"list --limit 25 make", false},
    {"list --limit 25 nothing", false, true},
    {"status", false},
    {"status %s", true},
    {"status --json array", false},
    {"tasks array", false},
    {"tasks %s", true},
    {"why %s", true},
    {"why array", false},
    {"why chain5000", false},
};

static double ask_us(const char *pointsman, const struct served *served,
                     const char *words, int times) {
    double begun = bench_cpu_us();
    double server = served->pid == 0 ? 0 : bench_cpu_us_of(served->pid);
    bench_shell_us(bench_text("for i in $(seq %d); do '%s' --base '%s' %s "
                              ">'%s/out' || exit 1; done",
                              times, pointsman, served->base, words,
                              bench_dir()),
                   words);
    double used = bench_cpu_us() - begun;
    if (served->pid != 0)
        used += bench_cpu_us_of(served->pid) - server;
    return used / times;
}

static void ask_all(const char *pointsman, const struct served *served,
                    const char *last) {
    for (size_t i = 0; i < COUNT(questions); i++) {
        const char *words = questions[i].words;
        const char *full = words;
        if (questions[i].takes_job) {
            struct span rest = span_of(words), verb;
            span_cut(&rest, ' ', &verb);
            full = bench_text("%.*s %s", (int)verb.len, verb.p, last);
        }
        double us =
            ask_us(pointsman, served, full, questions[i].reads_all ? 1 : TIMES);
        struct figure figure = {
            .what = bench_text(
                "%s%s",
                questions[i].takes_job
                    ? bench_text("%.*s JOB", (int)strcspn(words, " "), words)
                    : words,
                served->pid == 0 ? "" : ", served"),
            .ours = bench_text("%.1f ms of CPU", us / 1000),
            .other = bench_text("limit %d ms", LIMIT_US / 1000),
            .value = us / LIMIT_US,
            .goal = questions[i].reads_all ? 0 : 1,
            .at_most = true,
            .unit = ""};
        figure_print(&figure);
    }
}

int main(int argc, char **argv) {
    struct served served;
    uint64_t jobs = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
    if (argc < 2 || jobs < 2 * WAITING) {
        fprintf(stderr, "usage: bench_views POINTSMAN [JOBS]\n");
        return 64;
    }
    store_nouns_use(serve_nouns, serve_noun_count);
    served_make(&served, argv[1], 1);
    fill(&served, jobs);
    /* waiting.c makes the ids so. */
    const char *last =
        bench_text("j%016llx", (unsigned long long)(jobs - CHAIN - 2) *
                                   0x9e3779b97f4a7c15ULL);
    /* It stages the commands that touch one key. */
    served_start(&served, argv[1]);
    bench_shell_us(bench_text("until '%s' --base '%s' list --limit 1 "
                              "state:queued --json >'%s/out' && "
                              "! test -s '%s/out'; do sleep 0.1; done",
                              argv[1], served.base, bench_dir(), bench_dir()),
                   "list state:queued");
    ask_all(argv[1], &served, last);
    served_stop(&served);
    ask_all(argv[1], &served, last);
    return 0;
}
