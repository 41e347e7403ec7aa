/* Converts a change set between its three forms: the submission (name, meta,
 * sum), the row in the registry, the job file. */
#ifndef POINTSMAN_CHANGES_SET_RECORD_H
#define POINTSMAN_CHANGES_SET_RECORD_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "core/job.h"
#include "store/store.h"
#include "wire/job_file.h"
#include "wire/meta.h"

/* The future row, with its relations. All of it lives in the arena or in what
 * `name` and `meta` point to. `seen`: see wire/set_spec.h. */
struct set_record {
    struct job job;
    struct job_edge *edges;
    size_t edge_count;
    struct job_touch *touches;
    size_t touch_count;
};
void set_record_make(const struct set_name *name, const struct meta *meta,
                     struct span target, struct span sum, uint64_t size_bytes,
                     struct span seen, struct arena *arena,
                     struct set_record *ret_record);

/* The row from a job file, for a registry that is rebuilt: with its
 * relations, and its precursors if they were computed. The history comes from
 * elsewhere. */
void set_record_read(const struct job_file *file, struct span target,
                     struct arena *arena, struct set_record *ret_record);

/* Appends the job file of an admitted set, made from its row and edges. */
bool set_record_job_file(struct store *store, const struct job *job,
                         struct arena *arena, struct text *out,
                         struct err *err);

#endif
