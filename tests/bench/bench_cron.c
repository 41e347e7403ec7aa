/* The time to find the next instant of an item, compared with localtime_r(),
 * mktime() and a plain binary search, alternately and for the same random
 * instants.
 *
 *     bench_cron POINTSMAN */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <pointsman/cron.h>

#include "bench/figure.h"

enum { STARTS = 4096, TURNS = 41, CHANGES = 236, LINES = 40000 };

static const char zone_name[] = "America/Los_Angeles";
static int64_t random_starts[STARTS], far_starts[STARTS], near_starts[STARTS];
static struct cron_zone *zone;
static int64_t sink;

static uint64_t random_u64(void) {
    static uint64_t x = 88172645463325252u;

    x ^= x << 13;
    x ^= x >> 7;
    return x ^= x << 17;
}

static double now_ns(void) {
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ---- subjects ------------------------------------------------------------ */

struct subject {
    const char *what, *text; /* text NULL: a function of the C library */
    const int64_t *starts;
    double goal; /* as a multiple of localtime_r */
    struct cron_item *item;
    double turns[TURNS], ns;
};

#define DAILY "\"dst_fixes\":[\"unskip\",\"repeat_use_only_early\"]}"
static struct subject subjects[] = {
    {.what = "localtime_r"},
    {.what = "mktime"},
    {.what = "binary search"},
    {"cron next, every 5 minutes",
     "{\"minute\":{\"period\":5},\"dst_fixes\":[\"skip\","
     "\"repeat_use_both\"]}",
     random_starts,
     1,
     0,
     {0},
     0},
    {"cron next, daily 10:00",
     "{\"minute\":0,\"hour\":10," DAILY,
     random_starts,
     1,
     0,
     {0},
     0},
    {"cron next, Tuesday 10 and 20 h",
     "{\"minute\":0,\"hour\":[10,20],\"day_of_week\":\"Tue\"," DAILY,
     random_starts,
     1,
     0,
     {0},
     0},
    {"cron next, the 31st",
     "{\"minute\":0,\"hour\":10,\"day_of_month\":31," DAILY,
     random_starts,
     3,
     0,
     {0},
     0},
    {"cron next, 1 January",
     "{\"minute\":0,\"hour\":10,\"day_of_month\":1,\"month\":1," DAILY,
     random_starts,
     3,
     0,
     {0},
     0},
    {"cron next, 29 February",
     "{\"minute\":0,\"hour\":10,\"day_of_month\":29,\"month\":2," DAILY,
     random_starts,
     3,
     0,
     {0},
     0},
    {"cron next, years 9000 to 9998",
     "{\"minute\":0,\"hour\":10," DAILY,
     far_starts,
     3,
     0,
     {0},
     0},
    {"cron next, a day around a change",
     "{\"minute\":30,\"hour\":[1,2]," DAILY,
     near_starts,
     3,
     0,
     {0},
     0},
    {"cron next, second Tuesday, 04:00",
     "{\"minute\":0,\"hour\":4,\"weekday_of_month\":{\"n\":2,\"day\":\"Tue\"}"
     "," DAILY,
     random_starts,
     3,
     0,
     {0},
     0},
};
enum { SUBJECTS = sizeof(subjects) / sizeof(*subjects) };

static int64_t search_changes[CHANGES];

static int64_t run_library(int subject, int64_t start) {
    time_t at = (time_t)start;
    struct tm tm;

    if (subject == 2) {
        size_t low = 0, high = CHANGES;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (search_changes[middle] <= start)
                low = middle + 1;
            else
                high = middle;
        }
        return (int64_t)low;
    }
    if (subject == 0) {
        localtime_r(&at, &tm);
        return tm.tm_hour;
    }
    tm = (struct tm){.tm_year = 110 + (int)(start & 15),
                     .tm_mon = 4,
                     .tm_mday = 1 + (int)(start % 28),
                     .tm_hour = 10,
                     .tm_isdst = -1};
    return mktime(&tm);
}

static double turn(int index) {
    const struct subject *subject = &subjects[index];
    double before = now_ns();
    int64_t at = 0;

    for (int i = 0; i < STARTS; i++) {
        if (subject->text == NULL)
            sink += run_library(index, random_starts[i]);
        else if (cron_next(subject->item, zone, subject->starts[i], &at,
                           NULL) == CRON_FOUND)
            sink += at;
    }
    return (now_ns() - before) / STARTS;
}

static void measure_next(void) {
    for (int t = 0; t < TURNS; t++)
        for (int i = 0; i < SUBJECTS; i++)
            subjects[i].turns[t] = turn(i);
    for (int i = 0; i < SUBJECTS; i++) {
        struct subject *subject = &subjects[i];
        subject->ns = bench_median(subject->turns, TURNS);
        if (subject->text == NULL)
            continue;
        figure_print(&(struct figure){
            .what = subject->what,
            .ours = bench_text("%.0f ns", subject->ns),
            .other = bench_text("localtime_r %.0f, mktime %.0f ns",
                                subjects[0].ns, subjects[1].ns),
            .value = subject->ns / subjects[0].ns,
            .unit = "",
            .goal = subject->goal,
            .at_most = true,
        });
    }
}

/* ---- parsing and loading ------------------------------------------------- */

static void measure_parse(void) {
    const char *text = subjects[5].text;
    double ns[TURNS];

    for (int t = 0; t < TURNS; t++) {
        double before = now_ns();
        for (int i = 0; i < 500; i++) {
            struct cron_item *item;
            if (!cron_item_parse(text, strlen(text), &item, NULL))
                bench_die("cannot parse '%s'", text);
            cron_item_unref(item);
        }
        ns[t] = (now_ns() - before) / 500;
    }
    figure_print(&(struct figure){
        .what = "cron, parse of an item",
        .ours = bench_text("%.0f ns", bench_median(ns, TURNS)),
        .other = bench_text("binary search %.0f ns", subjects[2].ns),
        .value = bench_median(ns, TURNS) / 1e3,
        .unit = "us",
    });
}

static void measure_zone(void) {
    double us[TURNS];

    for (int t = 0; t < TURNS; t++) {
        double before = now_ns();
        for (int i = 0; i < 20; i++) {
            struct cron_zone *fresh;
            if (!cron_zone_open(zone_name, &fresh, NULL))
                bench_die("cannot open '%s'", zone_name);
            cron_zone_unref(fresh);
        }
        us[t] = (now_ns() - before) / 20e3;
    }
    figure_print(&(struct figure){
        .what = "cron, zone read from its file",
        .ours = bench_text("%.0f us", bench_median(us, TURNS)),
        .other = "limit 200 us",
        .value = bench_median(us, TURNS),
        .unit = "us",
        .goal = 200,
        .at_most = true,
    });
}

/* ---- the watch ----------------------------------------------------------- */

enum { WATCH_PERIOD_S = 100000, WATCH_TICKS = 20000, WATCH_START = 1000000 };

/* Creates a watch of `count` items, each of which fires once in 100,000 s. */
static struct cron_watch *make_watch(int count) {
    struct cron_watch *watch = cron_watch_new(NULL, NULL);

    for (int i = 0; i < count; i++) {
        struct cron_item *item;
        const char *text = bench_text(
            "{\"epoch\":{\"start\":%d,\"period\":%d},"
            "\"max_shift_seconds_for_unskip_and_do_not_repeat\":60}",
            (int)((int64_t)i * 7919 % WATCH_PERIOD_S), WATCH_PERIOD_S);
        if (!cron_item_parse(text, strlen(text), &item, NULL) ||
            !cron_watch_add(watch, bench_text("%d", i), item, NULL, NULL))
            bench_die("cannot watch '%s'", text);
        cron_item_unref(item);
    }
    (void)cron_watch_tick(watch, WATCH_START, WATCH_START, NULL, 0, NULL);
    return watch;
}

/* Each tick returns about one event, except for a watch of one item. */
static double watch_ns(struct cron_watch *watch, int step_s, int64_t *at) {
    struct cron_event events[64];
    double before = now_ns();

    for (int i = 0; i < WATCH_TICKS; i++) {
        *at += step_s;
        sink += (int64_t)cron_watch_tick(watch, *at, *at, events, 64, NULL);
    }
    return (now_ns() - before) / WATCH_TICKS;
}

static void measure_watch(void) {
    struct cron_watch *none = make_watch(1), *few = make_watch(1000),
                      *many = make_watch(100000);
    double none_ns[5], few_ns[5], many_ns[5];
    int64_t none_at = WATCH_START, few_at = WATCH_START, many_at = WATCH_START;

    for (int t = 0; t < 5; t++) {
        none_ns[t] = watch_ns(none, 1, &none_at);
        few_ns[t] = watch_ns(few, 100, &few_at);
        many_ns[t] = watch_ns(many, 1, &many_at);
    }
    figure_print(&(struct figure){
        .what = "cron watch, an event of 100,000 items",
        .ours = bench_text("%.0f ns", bench_median(many_ns, 5)),
        .other = bench_text("of 1,000 items %.0f ns", bench_median(few_ns, 5)),
        .value = bench_median(many_ns, 5) / bench_median(few_ns, 5),
        .unit = "",
    });
    figure_print(&(struct figure){
        .what = "cron watch, a tick with nothing due",
        .ours = bench_text("%.0f ns", bench_median(none_ns, 5)),
        .other = bench_text("localtime_r %.0f ns", subjects[0].ns),
        .value = bench_median(none_ns, 5) / subjects[0].ns,
        .unit = "",
    });
    cron_watch_free(none);
    cron_watch_free(few);
    cron_watch_free(many);
}

/* ---- the program --------------------------------------------------------- */

/* A kind of line; %d is a number below 20. */
static const struct batch_kind {
    const char *what, *item;
} batch_kinds[] = {
    {"hour, weekday",
     "{\"minute\":%d,\"hour\":[3,20],\"day_of_week\":\"Tue\"," DAILY},
    {"second", "{\"second\":[0,%d],\"minute\":5," DAILY},
    {"long lists", "{\"minute\":[1,2,3,4,5,6,7,8,9,10,21,22,23,24,25,%d],"
                   "\"hour\":[1,2,3,4,5,6,7,8,9]," DAILY},
    {"ranges", "{\"minute\":{\"start\":%d,\"end\":50,\"period\":3},\"hour\":{"
               "\"period\":5}," DAILY},
    {"names",
     "{\"minute\":%d,\"month\":[\"January\",\"Feb\",\"septem\"]," DAILY},
    {"day_of_month", "{\"minute\":%d,\"day_of_month\":[-1,15,31]," DAILY},
    {"29 February",
     "{\"minute\":%d,\"hour\":0,\"day_of_month\":29,\"month\":2," DAILY},
    {"year", "{\"minute\":%d,\"year\":{\"start\":2020,\"period\":3}," DAILY},
    {"years", "{\"minute\":%d,\"year\":[2020,2030,9000]," DAILY},
    {"weekday_of_month", "{\"minute\":%d,\"weekday_of_month\":[{\"n\":5,"
                         "\"day\":\"Tue\"},{\"n\":-1,\"day\":\"Mon\"}]," DAILY},
    {"iter_day", "{\"minute\":%d,\"hour\":0,\"iter_day\":{\"start\":\"2020-01-"
                 "06\",\"period\":13}," DAILY},
    {"iter_day, far", "{\"minute\":%d,\"hour\":0,\"iter_day\":{\"start\":"
                      "\"9020-01-06\",\"period\":2}," DAILY},
    {"iter_day, past",
     "{\"minute\":%d,\"hour\":0,\"iter_day\":{\"start\":\"1970-01-06\",\"end\":"
     "\"1971-01-01\",\"period\":2}," DAILY},
    {"iter_day_of_week", "{\"minute\":%d,\"hour\":0,\"iter_day_of_week\":{"
                         "\"start\":\"2020-01-06\",\"period\":99}," DAILY},
    {"iter_week", "{\"minute\":%d,\"hour\":0,\"iter_week\":{\"start\":\"2020-"
                  "01-06\",\"period\":99}," DAILY},
    {"iter_month", "{\"minute\":%d,\"hour\":0,\"day_of_month\":1,\"iter_"
                   "month\":{\"start\":\"2020-01-06\",\"period\":99}," DAILY},
    {"except", "{\"minute\":%d,\"hour\":0,\"except\":[\"12-25\",{\"start\":"
               "\"1990-01-01\",\"end\":\"8000-02-01\"}]," DAILY},
    {"epoch", "{\"epoch\":{\"start\":%d,\"period\":300}}"},
    {"epochs", "{\"epoch\":[5,%d,1099511627776]}"},
    {"crontab", "\"%d 4 * * *\""},
    {"crontab, lists", "\"%d,21,22,23,24,25,26,27,28 1,2,3,4,5 * * *\""},
    {"crontab, names", "\"%d,30-50/4 9-17 * Jan-Mar Mon-Fri\""},
    {"crontab, either day", "\"%d 4 1,15 * 1\""},
    {"crontab, both days", "\"%d 4 */2 * 1\""},
    {"crontab, word", "\"@every %d1m\""},
};
enum { BATCH_KINDS = sizeof(batch_kinds) / sizeof(*batch_kinds) };

/* The formats are above. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static const char *write_batch(const struct batch_kind *kind) {
    const char *path = bench_text("%s/batch", bench_dir());
    FILE *file = fopen(path, "w");

    if (file == NULL)
        bench_die("cannot write '%s'", path);
    for (int i = 0; i < LINES; i++) {
        fprintf(file, "{\"zone\":\"%s\",\"from\":%lld,\"item\":",
                i % 2 == 0 ? zone_name : "Europe/London",
                (long long)random_starts[i % STARTS]);
        fprintf(file, kind->item, i % 20);
        fputs("}\n", file);
    }
    fclose(file);
    return path;
}
#pragma GCC diagnostic pop

static double spawn_us(char **argv, const char *input) {
    posix_spawn_file_actions_t actions;
    struct rusage use;
    pid_t pid;
    int status;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ) != 0)
        return -1;
    posix_spawn_file_actions_destroy(&actions);
    if (wait4(pid, &status, 0, &use) != pid || status != 0)
        return -1;
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e6 +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

/* The slowest kind of line decides. */
static void measure_batch(char *program) {
    char cron[] = "cron", next[] = "next", batch[] = "--batch";
    char *argv[] = {program, cron, next, batch, NULL};
    double slowest_us = 0, fastest_us = 1e12;
    const struct batch_kind *slowest = NULL;

    for (size_t k = 0; k < BATCH_KINDS; k++) {
        const char *input = write_batch(&batch_kinds[k]);
        double us[5], median;
        for (int t = 0; t < 5; t++)
            us[t] = spawn_us(argv, input);
        if (us[0] < 0)
            bench_die("'%s cron next --batch' failed", program);
        median = bench_median(us, 5);
        if (median > slowest_us) {
            slowest_us = median;
            slowest = &batch_kinds[k];
        }
        fastest_us = median < fastest_us ? median : fastest_us;
    }
    figure_print(&(struct figure){
        .what = bench_text("batch, slowest of %d (%s)", (int)BATCH_KINDS,
                           slowest->what),
        .ours = bench_text("%.0f /s", LINES * 1e6 / slowest_us),
        .other = bench_text("limit 200,000 /s, the fastest %.0f /s",
                            LINES * 1e6 / fastest_us),
        .value = LINES * 1e6 / slowest_us / 1000,
        .unit = "k/s",
        .goal = 200,
    });
}

/* ---- installed peers ----------------------------------------------------- */

/* Compares with the CPU time of `questions` requests, minus the CPU time of
 * starting the peer. Prints nothing if the peer is not installed. */
static void measure_peer(const char *what, char *const with[],
                         char *const without[], int questions) {
    double us = spawn_us((char **)(uintptr_t)with, "/dev/null");
    double start_us = spawn_us((char **)(uintptr_t)without, "/dev/null");
    double ns;

    if (us < 0 || start_us < 0)
        return;
    ns = (us - start_us) * 1e3 / questions;
    figure_print(&(struct figure){
        .what = bench_text("%s", what),
        .ours = bench_text("%.0f ns", subjects[4].ns),
        .other = bench_text("peer %.0f ns", ns),
        .value = ns / subjects[4].ns,
        .unit = "x",
    });
}

static void measure_peers(void) {
    static char python[] = "python3", c[] = "-c", nothing[] = "import croniter",
                many[] = "import croniter\nfor i in range(2000):\n "
                         "croniter.croniter('0 10 * * *', 1300000000 + i * "
                         "86413).get_next()",
                analyze[] = "systemd-analyze", calendar[] = "calendar",
                thousand[] = "--iterations=1000", one[] = "--iterations=1",
                daily[] = "*-*-* 10:00:00";
    char *croniter[] = {python, c, many, NULL};
    char *croniter_none[] = {python, c, nothing, NULL};
    char *systemd[] = {analyze, calendar, thousand, daily, NULL};
    char *systemd_none[] = {analyze, calendar, one, daily, NULL};

    measure_peer("daily 10:00, croniter", croniter, croniter_none, 2000);
    measure_peer("daily 10:00, systemd-analyze", systemd, systemd_none, 999);
}

/* ---- the run ------------------------------------------------------------- */

static void prepare(void) {
    int32_t before, after;
    int64_t at;
    struct cron_err err;

    setenv("TZ", zone_name, 1);
    tzset();
    if (!cron_zone_open(zone_name, &zone, &err))
        bench_die("%s", err.text);
    for (int i = 0; i < STARTS; i++) {
        random_starts[i] =
            1262304000 + (int64_t)(random_u64() % (1735689600 - 1262304000));
        far_starts[i] =
            INT64_C(221845392000) + (int64_t)(random_u64() % 31500000000);
        if (cron_zone_change(zone, random_starts[i], &at, &before, &after,
                             NULL) != CRON_FOUND)
            bench_die("'%s' has no changes", zone_name);
        near_starts[i] = at - 86400 + (int64_t)(random_u64() % 172800);
    }
    at = -3000000000;
    for (int i = 0; i < CHANGES; i++)
        if (cron_zone_change(zone, at, &at, &before, &after, NULL) ==
            CRON_FOUND)
            search_changes[i] = at;
    for (int i = 0; i < SUBJECTS; i++)
        if (subjects[i].text != NULL &&
            !cron_item_parse(subjects[i].text, strlen(subjects[i].text),
                             &subjects[i].item, &err))
            bench_die("%s", err.text);
}

int main(int argc, char **argv) {
    if (argc != 2)
        bench_die("usage: bench_cron POINTSMAN");
    prepare();
    measure_next();
    measure_parse();
    measure_zone();
    measure_watch();
    measure_batch(argv[1]);
    measure_peers();
    for (int i = 0; i < SUBJECTS; i++)
        cron_item_unref(subjects[i].item);
    cron_zone_unref(zone);
    return sink == 0;
}
