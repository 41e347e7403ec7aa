/* How far an array has come: in `status`, `wait` and `run`. */
#ifndef POINTSMAN_API_ARRAY_PROGRESS_H
#define POINTSMAN_API_ARRAY_PROGRESS_H

#include "lib/err.h"
#include "lib/json.h"
#include "lib/text.h"
#include "lib/time.h"
#include "store/store.h"

struct api_call;

struct array_progress {
    size_t tasks, done, failed, running;
    double per_s;   /* tasks that ended since it began to execute; 0: unknown */
    int64_t left_s; /* at that rate; -1: unknown */
};

/* Of an array; rate and time left while it executes. */
bool array_progress_find(struct store *store, const struct job *job,
                         struct wall now, struct array_progress *ret_progress,
                         struct err *err);
/* Appends "12% 1200 of 10000 done, 3 failed, 8 running, 41/s, about 3m left" if
 * the job is an array that is executing. */
void array_progress_line(struct api_call *call, uint64_t num, struct text *out);
/* The members of the open object that the API shows. */
void array_progress_json(struct json *json,
                         const struct array_progress *progress);

#endif
