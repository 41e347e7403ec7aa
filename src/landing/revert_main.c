#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "landing/revert.h"
#include "landing/option_value.h"

enum { APPROVALS_MAX = 64, MEMBER_WORDS = 5 };

/* What the options point into. */
struct words {
    struct revert_order order;
    struct revert_member *members;
    size_t member_cap;
    const char *approved_by[APPROVALS_MAX];
};

enum revert_option {
    OPT_ID = 256,
    OPT_SUM,
    OPT_TARGET,
    OPT_GIT,
    OPT_BRANCH,
    OPT_COMMAND,
    OPT_REVERT,
    OPT_ADMITTED,
    OPT_BECAUSE,
    OPT_COMMITTER,
    OPT_SUBMITTER,
    OPT_USER,
    OPT_WORK,
    OPT_SYMLINKS,
    OPT_TIMEOUT,
    OPT_APPROVED_BY,
    OPT_PROBE,
    OPT_PREVIEW,
    OPT_MEMBER,
    OPT_AGAIN
};

static const struct option options[] = {
    {"id", required_argument, NULL, OPT_ID},
    {"sum", required_argument, NULL, OPT_SUM},
    {"target", required_argument, NULL, OPT_TARGET},
    {"git", required_argument, NULL, OPT_GIT},
    {"branch", required_argument, NULL, OPT_BRANCH},
    {"command", required_argument, NULL, OPT_COMMAND},
    {"revert", required_argument, NULL, OPT_REVERT},
    {"admitted", required_argument, NULL, OPT_ADMITTED},
    {"because", required_argument, NULL, OPT_BECAUSE},
    {"committer", required_argument, NULL, OPT_COMMITTER},
    {"submitter", required_argument, NULL, OPT_SUBMITTER},
    {"user", required_argument, NULL, OPT_USER},
    {"work", required_argument, NULL, OPT_WORK},
    {"symlinks", required_argument, NULL, OPT_SYMLINKS},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"approved-by", required_argument, NULL, OPT_APPROVED_BY},
    {"probe", no_argument, NULL, OPT_PROBE},
    {"preview", no_argument, NULL, OPT_PREVIEW},
    {"member", required_argument, NULL, OPT_MEMBER},
    {"again", required_argument, NULL, OPT_AGAIN},
    {NULL, 0, NULL, 0},
};

/* ID SUM CLASS ADMITTED_NS TARBALL; the first is optarg. */
static bool member_add(struct words *words, bool again, int argc, char **argv,
                       struct err *err) {
    struct revert_order *order = &words->order;
    if (optind + MEMBER_WORDS - 1 > argc)
        return err_set(err, ERR_USAGE,
                       "a member is ID SUM CLASS ADMITTED TARBALL");
    if (order->member_count == words->member_cap) {
        words->member_cap = words->member_cap > 0 ? 2 * words->member_cap : 16;
        words->members =
            mem_grow(words->members, words->member_cap, sizeof *words->members);
    }
    char **rest = argv + optind;
    struct revert_member *member = &words->members[order->member_count++];
    *member = (struct revert_member){
        .id = optarg,
        .sum = rest[0],
        .class = rest[1],
        .tarball = strcmp(rest[3], "-") == 0 ? NULL : rest[3],
        .again = again};
    order->members = words->members;
    optind += MEMBER_WORDS - 1;
    return option_instant(again ? "again" : "member", rest[2],
                          &member->admitted, err);
}

/* Options whose value is kept as it is. */
static const char **place_of(struct revert_order *order, int option) {
    switch (option) {
    case OPT_ID:
        return &order->id;
    case OPT_SUM:
        return &order->sum;
    case OPT_TARGET:
        return &order->target;
    case OPT_GIT:
        return &order->git;
    case OPT_BRANCH:
        return &order->branch;
    case OPT_COMMAND:
        return &order->command;
    case OPT_REVERT:
        return &order->revert;
    case OPT_BECAUSE:
        return &order->because;
    case OPT_COMMITTER:
        return &order->committer;
    case OPT_SUBMITTER:
        return &order->submitter;
    case OPT_USER:
        return &order->user;
    case OPT_WORK:
        return &order->work;
    default:
        return NULL;
    }
}

static bool option_take(struct words *words, int option, const char *name,
                        int argc, char **argv, struct err *err) {
    struct revert_order *order = &words->order;
    const char **place = place_of(order, option);
    if (place != NULL) {
        *place = optarg;
        return true;
    }
    switch (option) {
    case OPT_PROBE:
        order->probe = true;
        return true;
    case OPT_PREVIEW:
        order->preview = true;
        return true;
    case OPT_MEMBER:
    case OPT_AGAIN:
        return member_add(words, option == OPT_AGAIN, argc, argv, err);
    case OPT_ADMITTED:
        return option_instant(name, optarg, &order->admitted, err);
    case OPT_TIMEOUT:
        return option_seconds(name, optarg, &order->timeout_s, err);
    case OPT_SYMLINKS:
        return option_allowed(name, optarg, &order->symlinks, err);
    case OPT_APPROVED_BY:
        if (order->approved_count == APPROVALS_MAX)
            return err_set(err, ERR_USAGE, "too many approvals");
        words->approved_by[order->approved_count++] = optarg;
        return true;
    default:
        return err_set(err, ERR_USAGE, "unknown option for `revert`");
    }
}

static bool words_parse(int argc, char **argv, struct words *words,
                        struct err *err) {
    struct revert_order *order = &words->order;
    *words =
        (struct words){.order = {.committer = "Pointsman <pointsman@localhost>",
                                 .submitter = "unknown"}};
    order->approved_by = words->approved_by;
    int option, at = 0;
    optind = 0;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "+", options, &at)) != -1)
        if (!option_take(words, option, options[at].name, argc, argv, err))
            return false;
    bool target =
        order->command != NULL || (order->git != NULL && order->branch != NULL);
    if (order->target == NULL)
        order->target = order->branch != NULL ? order->branch : order->command;
    return (target && order->id != NULL && order->sum != NULL &&
            order->work != NULL && optind == argc) ||
           err_set(err, ERR_USAGE,
                   "`revert` is started by the program itself; it needs --id, "
                   "--sum, --work, members and --git with --branch, or "
                   "--command");
}

int revert_main(int argc, char **argv) {
    struct words words;
    struct err err = {0};
    struct stop stop;
    struct land_status status;
    int fd = land_status_descriptor();
    stop_init(&stop);
    setvbuf(stdout, NULL, _IOLBF, 0);
    CLEANUP(free_words) char **shifted = land_argv(&argc, argv);
    if (words_parse(argc, shifted, &words, &err))
        revert_run(&words.order, &stop, &status, NULL);
    else
        land_status_set(&status, LAND_PERMANENT, "", span_of(err.text));
    free(words.members);
    land_status_send(fd, &status);
    if (status.verdict == LAND_STOPPED && stop.signal == SIGHUP)
        return 103;
    return land_status_exit(&status);
}
