#include "scheduler/train_metrics.h"

#include <inttypes.h>

#include "scheduler/scheduler_state.h"
#include "scheduler/target_train.h"

enum gauge { UNITS, LANES, BUSY, PROVEN, BROKEN, FAULTY, GAUGES };

static const struct {
    const char *name, *help;
} gauges[] = {
    [UNITS] = {"units", "Sets and groups on the merge train."},
    [LANES] = {"lanes", "Checks that may run at once."},
    [BUSY] = {"lanes_busy", "Checks that run."},
    [PROVEN] = {"tip_proven", "1: the tip of the branch has passed."},
    [BROKEN] = {"tip_broken", "1: the tip of the branch fails its checks."},
    [FAULTY] = {"environment_failed", "1: the environment command failed."}};

static uint64_t gauge_of(const struct target_train *target, enum gauge gauge) {
    struct train_overview overview;
    train_overview(target->train, &overview);
    switch (gauge) {
    case UNITS:
        return overview.units;
    case LANES:
        return overview.lanes;
    case BUSY:
        return overview.busy;
    case PROVEN:
        return overview.proof == TRAIN_TIP_PROVEN;
    case BROKEN:
        return overview.proof == TRAIN_TIP_BROKEN;
    case FAULTY:
        return target->environment.state == ENVIRONMENT_FAILED;
    case GAUGES:
        break;
    }
    return 0;
}

/* The name of a branch may contain quotes, but no backslash. */
static void add_target(const struct target_train *target, struct text *out) {
    text_adds(out, "{target=\"");
    for (size_t i = 0; i < target->name.len; i++) {
        if (target->name.p[i] == '"')
            text_addc(out, '\\');
        text_addc(out, target->name.p[i]);
    }
    text_addc(out, '"');
}

static void add_gauge(const struct scheduler *scheduler, enum gauge gauge,
                      struct text *out) {
    text_addf(out,
              "# HELP pointsman_train_%s %s\n# TYPE pointsman_train_%s gauge\n",
              gauges[gauge].name, gauges[gauge].help, gauges[gauge].name);
    LIST_EACH (&scheduler->trains, link) {
        const struct target_train *target =
            LIST_OF(link, struct target_train, link);
        text_addf(out, "pointsman_train_%s", gauges[gauge].name);
        add_target(target, out);
        text_addf(out, "} %" PRIu64 "\n", gauge_of(target, gauge));
    }
}

static void add_events(const struct scheduler *scheduler, struct text *out) {
    text_adds(out, "# HELP pointsman_train_events_total Events of the merge "
                   "train.\n# TYPE pointsman_train_events_total counter\n");
    LIST_EACH (&scheduler->trains, link) {
        const struct target_train *target =
            LIST_OF(link, struct target_train, link);
        for (unsigned kind = 0; kind < TRAIN_NOTES; kind++) {
            text_adds(out, "pointsman_train_events_total");
            add_target(target, out);
            text_addf(out, ",event=\"%s\"} %" PRIu64 "\n",
                      train_note_word((enum train_note_kind)kind),
                      target->counts[kind]);
        }
    }
}

void train_metrics_format(const struct scheduler *scheduler, struct text *out) {
    if (list_empty(&scheduler->trains))
        return;
    for (unsigned gauge = 0; gauge < GAUGES; gauge++)
        add_gauge(scheduler, (enum gauge)gauge, out);
    add_events(scheduler, out);
}
