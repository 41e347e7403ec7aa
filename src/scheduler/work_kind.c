#include "scheduler/work_kind.h"

const struct work_kind *work_kind_find(const struct work_kinds *kinds,
                                       const struct job *job, struct err *err) {
    bool rolls_back = job_has(job, JOB_ROLLS_BACK);
    for (size_t i = 0; i < kinds->count; i++)
        if (kinds->rows[i]->kind == job->kind &&
            kinds->rows[i]->rolls_back == rolls_back)
            return kinds->rows[i];
    if (err)
        err_set(err, ERR_REFUSED,
                "'%.*s': this program does not execute work of kind '%s'",
                (int)job->id.len, job->id.p, job_kind_word(job->kind));
    return NULL;
}
