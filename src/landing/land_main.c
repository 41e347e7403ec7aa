#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "landing/land.h"
#include "landing/option_value.h"

enum { CHECKS_MAX = 256, APPROVALS_MAX = 64 };

/* What the options point into. */
struct words {
    struct land_order *sets; /* the first has what is common to all */
    size_t set_count;
    struct land_check checks[CHECKS_MAX];
    const char *approved_by[APPROVALS_MAX];
    size_t approved_count;
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
    OPT_BRANCHES,
    OPT_TIMEOUT,
    OPT_APPROVED_BY,
    OPT_CHECK,
    OPT_PROBE,
    OPT_ALSO
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
    {"branches", required_argument, NULL, OPT_BRANCHES},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"approved-by", required_argument, NULL, OPT_APPROVED_BY},
    {"check", required_argument, NULL, OPT_CHECK},
    {"probe", no_argument, NULL, OPT_PROBE},
    {"also", no_argument, NULL, OPT_ALSO},
    {NULL, 0, NULL, 0},
};

/* Options of a set that come from here on are its. */
static void set_begin(struct words *words) {
    words->sets =
        mem_grow(words->sets, words->set_count + 1, sizeof *words->sets);
    words->sets[words->set_count++] =
        (struct land_order){.class = "DC",
                            .committer = "Pointsman <pointsman@localhost>",
                            .submitter = "unknown"};
}

static bool check_add(struct words *words, int argc, char **argv,
                      struct err *err) {
    struct land_order *order = words->sets;
    if (optind >= argc || order->check_count == CHECKS_MAX)
        return err_set(err, ERR_USAGE, "--check takes NAME and COMMAND");
    words->checks[order->check_count++] =
        (struct land_check){optarg, argv[optind++]};
    return true;
}

static bool option_take(struct words *words, int option, const char *name,
                        int argc, char **argv, struct err *err) {
    struct land_order *order = &words->sets[words->set_count - 1];
    switch (option) {
    case OPT_ALSO:
        set_begin(words);
        return true;
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
    case OPT_BRANCHES:
        order->branches = optarg;
        return true;
    case OPT_PROBE:
        order->probe = true;
        return true;
    case OPT_CHECK:
        return check_add(words, argc, argv, err);
    case OPT_BLIND:
        return config_blind_parse(span_of(optarg), &order->blind) ||
               option_wrong(name, optarg, err);
    case OPT_SINCE:
        return option_instant(name, optarg, &order->since, err);
    case OPT_ADMITTED:
        return option_instant(name, optarg, &order->admitted, err);
    case OPT_TIMEOUT:
        return option_seconds(name, optarg, &order->timeout_s, err);
    case OPT_SYMLINKS:
        return option_allowed(name, optarg, &order->symlinks, err);
    case OPT_APPROVED_BY:
        if (words->approved_count == APPROVALS_MAX)
            return err_set(err, ERR_USAGE, "too many approvals");
        if (order->approved_count++ == 0)
            order->approved_by = words->approved_by + words->approved_count;
        words->approved_by[words->approved_count++] = optarg;
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

/* What is common to all. */
static void set_complete(struct land_order *set,
                         const struct land_order *first) {
    struct land_order own = *set;
    *set = *first;
    set->id = own.id;
    set->sum = own.sum;
    set->class = own.class;
    set->tarball = own.tarball;
    set->since = own.since;
    set->admitted = own.admitted;
    set->seen = own.seen;
    set->submitter = own.submitter;
    set->approved_by = own.approved_by;
    set->approved_count = own.approved_count;
    set->others = NULL;
    set->other_count = 0;
}

static bool words_parse(int argc, char **argv, struct words *words,
                        struct err *err) {
    set_begin(words);
    int option, at = 0;
    optind = 0;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "+", options, &at)) != -1)
        if (!option_take(words, option, options[at].name, argc, argv, err))
            return false;
    struct land_order *order = words->sets;
    order->checks = words->checks;
    order->others = words->sets + 1;
    order->other_count = words->set_count - 1;
    if (order->target == NULL)
        order->target = order->branch != NULL ? order->branch : order->command;
    if (!order_complete(order, err))
        return false;
    for (size_t i = 1; i < words->set_count; i++) {
        const struct land_order *other = &words->sets[i];
        if (other->id == NULL || other->sum == NULL || other->tarball == NULL ||
            order->command != NULL)
            return err_set(err, ERR_USAGE,
                           "behind --also stands a set: --id, --sum, "
                           "--tarball; a command takes one alone");
        set_complete(&words->sets[i], order);
    }
    return true;
}

int land_main(int argc, char **argv) {
    struct words words = {0};
    struct err err = {0};
    struct stop stop;
    struct land_status status;
    int fd = land_status_descriptor();
    stop_init(&stop);
    setvbuf(stdout, NULL, _IOLBF, 0);
    CLEANUP(free_words) char **shifted = land_argv(&argc, argv);
    if (words_parse(argc, shifted, &words, &err))
        land_run(words.sets, &stop, &status);
    else
        land_status_set(&status, LAND_PERMANENT, "", span_of(err.text));
    free(words.sets);
    land_status_send(fd, &status);
    if (status.verdict == LAND_STOPPED && stop.signal == SIGHUP)
        return 103;
    return land_status_exit(&status);
}
