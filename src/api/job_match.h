/* A filter (wire/filter.h) over jobs of the registry. */
#ifndef POINTSMAN_API_JOB_MATCH_H
#define POINTSMAN_API_JOB_MATCH_H

#include "lib/arena.h"
#include "lib/err.h"
#include "core/job.h"
#include "store/store.h"
#include "wire/filter.h"

struct job_match {
    struct filter filter;
    unsigned states; /* bits of the states that can match at all */
    bool owed_only;  /* jobs that owe no approval cannot match */
    bool asks_command, asks_node, asks_touches;
};

/* Parses a filter; an empty text matches everything. Error ERR_USAGE. */
bool job_match_parse(struct span text, struct arena *arena,
                     struct job_match *ret_match, struct err *err);
/* Reads the paths that a job touches only if the filter asks for them. */
bool job_match_test(const struct job_match *match, struct store *store,
                    const struct job *job, struct wall now, struct arena *arena,
                    bool *ret_matches, struct err *err);

#endif
