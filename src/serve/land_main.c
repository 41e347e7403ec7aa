#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve/land.h"

enum { CHECKS_MAX = 256, APPROVALS_MAX = 64 };

/* What the options point into. */
struct words {
    struct land_order order;
    struct land_check checks[CHECKS_MAX];
    const char *approved_by[APPROVALS_MAX];
};

enum land_option {
    OPT_ID = 256,
    OPT_SUM,
    OPT_CLASS,
    OPT_TARGET,
    OPT_TARBALL,
    OPT_GIT,
    OPT_BRANCH,
    OPT_COMMAND,
    OPT_BLIND,
    OPT_SINCE,
    OPT_ADMITTED,
    OPT_SEEN,
    OPT_SYMLINKS,
    OPT_COMMITTER,
    OPT_SUBMITTER,
    OPT_USER,
    OPT_WORK,
    OPT_TIMEOUT,
    OPT_APPROVED_BY,
    OPT_CHECK,
    OPT_PROBE
};

static const struct option options[] = {
    {"id", required_argument, NULL, OPT_ID},
    {"sum", required_argument, NULL, OPT_SUM},
    {"class", required_argument, NULL, OPT_CLASS},
    {"target", required_argument, NULL, OPT_TARGET},
    {"tarball", required_argument, NULL, OPT_TARBALL},
    {"git", required_argument, NULL, OPT_GIT},
    {"branch", required_argument, NULL, OPT_BRANCH},
    {"command", required_argument, NULL, OPT_COMMAND},
    {"blind", required_argument, NULL, OPT_BLIND},
    {"since", required_argument, NULL, OPT_SINCE},
    {"admitted", required_argument, NULL, OPT_ADMITTED},
    {"seen", required_argument, NULL, OPT_SEEN},
    {"symlinks", required_argument, NULL, OPT_SYMLINKS},
    {"committer", required_argument, NULL, OPT_COMMITTER},
    {"submitter", required_argument, NULL, OPT_SUBMITTER},
    {"user", required_argument, NULL, OPT_USER},
    {"work", required_argument, NULL, OPT_WORK},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"approved-by", required_argument, NULL, OPT_APPROVED_BY},
    {"check", required_argument, NULL, OPT_CHECK},
    {"probe", no_argument, NULL, OPT_PROBE},
    {NULL, 0, NULL, 0},
};

static bool wrong(struct err *err, const char *option, const char *value) {
    return err_set(err, ERR_USAGE, "wrong value '%s' for --%s", value, option);
}

static bool check_add(struct words *words, int argc, char **argv,
                      struct err *err) {
    struct land_order *order = &words->order;
    if (optind >= argc || order->check_count == CHECKS_MAX)
        return err_set(err, ERR_USAGE, "--check takes NAME and COMMAND");
    words->checks[order->check_count++] =
        (struct land_check){optarg, argv[optind++]};
    return true;
}

static bool option_take(struct words *words, int option, const char *name,
                        int argc, char **argv, struct err *err) {
    struct land_order *order = &words->order;
    switch (option) {
    case OPT_ID:
        order->id = optarg;
        return true;
    case OPT_SUM:
        order->sum = optarg;
        return true;
    case OPT_CLASS:
        order->class = optarg;
        return true;
    case OPT_TARGET:
        order->target = optarg;
        return true;
    case OPT_TARBALL:
        order->tarball = optarg;
        return true;
    case OPT_GIT:
        order->git = optarg;
        return true;
    case OPT_BRANCH:
        order->branch = optarg;
        return true;
    case OPT_COMMAND:
        order->command = optarg;
        return true;
    case OPT_SEEN:
        order->seen = optarg;
        return true;
    case OPT_COMMITTER:
        order->committer = optarg;
        return true;
    case OPT_SUBMITTER:
        order->submitter = optarg;
        return true;
    case OPT_USER:
        order->user = optarg;
        return true;
    case OPT_WORK:
        order->work = optarg;
        return true;
    case OPT_PROBE:
        order->probe = true;
        return true;
    case OPT_CHECK:
        return check_add(words, argc, argv, err);
    case OPT_BLIND:
        return config_blind_parse(span_of(optarg), &order->blind) ||
               wrong(err, name, optarg);
    case OPT_SINCE:
        return span_i64(span_of(optarg), &order->since.ns) ||
               wrong(err, name, optarg);
    case OPT_ADMITTED:
        return span_i64(span_of(optarg), &order->admitted.ns) ||
               wrong(err, name, optarg);
    case OPT_TIMEOUT:
        return (span_i64(span_of(optarg), &order->timeout_s) &&
                order->timeout_s >= 0) ||
               wrong(err, name, optarg);
    case OPT_SYMLINKS:
        order->symlinks = strcmp(optarg, "allow") == 0;
        return order->symlinks || strcmp(optarg, "deny") == 0 ||
               wrong(err, name, optarg);
    case OPT_APPROVED_BY:
        if (order->approved_count == APPROVALS_MAX)
            return err_set(err, ERR_USAGE, "too many approvals");
        words->approved_by[order->approved_count++] = optarg;
        return true;
    default:
        return err_set(err, ERR_USAGE, "unknown option for `land`");
    }
}

static bool order_complete(const struct land_order *order, struct err *err) {
    bool target =
        order->command != NULL || (order->git != NULL && order->branch != NULL);
    bool set = order->id != NULL && order->sum != NULL && order->work != NULL;
    return (target && set && (order->probe || order->tarball != NULL)) ||
           err_set(err, ERR_USAGE,
                   "`land` is started by the program itself; it needs --id, "
                   "--sum, --tarball, --work and --git with --branch, or "
                   "--command");
}

static bool words_parse(int argc, char **argv, struct words *words,
                        struct err *err) {
    *words =
        (struct words){.order = {.class = "DC",
                                 .committer = "Pointsman <pointsman@localhost>",
                                 .submitter = "unknown"}};
    words->order.checks = words->checks;
    words->order.approved_by = words->approved_by;
    int option, at = 0;
    optind = 0;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "+", options, &at)) != -1)
        if (!option_take(words, option, options[at].name, argc, argv, err))
            return false;
    if (words->order.target == NULL)
        words->order.target = words->order.branch != NULL
                                  ? words->order.branch
                                  : words->order.command;
    return order_complete(&words->order, err);
}

int land_main(int argc, char **argv) {
    struct words words;
    struct err err = {0};
    struct stop stop;
    struct land_status status;
    int fd = land_status_descriptor();
    stop_init(&stop);
    setvbuf(stdout, NULL, _IOLBF, 0);
    CLEANUP(free_words) char **shifted = land_argv(&argc, argv);
    if (words_parse(argc, shifted, &words, &err))
        land_run(&words.order, &stop, &status);
    else
        land_status_set(&status, LAND_PERMANENT, "", span_of(err.text));
    land_status_send(fd, &status);
    if (status.verdict == LAND_STOPPED && stop.signal == SIGHUP)
        return 103;
    return land_status_exit(&status);
}
