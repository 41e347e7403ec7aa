/* The features of this machine for controlling tasks, each with a sentence on
 * what it means. For `doctor` only; no decision depends on this list. */
#ifndef POINTSMAN_OS_FEATURES_H
#define POINTSMAN_OS_FEATURES_H

#include <stdbool.h>
#include <stddef.h>

enum { FEATURES_MAX = 16 };

struct feature {
    const char *name; /* "cgroup-v2" */
    bool present;
    bool needed;         /* its absence weakens a protection */
    char detail[160];    /* "/sys/fs/cgroup/unified/app, writable" */
    const char *meaning; /* one sentence: what its presence or absence means */
};

/* Probes all features; `cgroup_root` as in struct guard_options. Returns the
 * count. */
size_t features_probe(const char *cgroup_root,
                      struct feature ret_features[FEATURES_MAX]);

#endif
