#include "changes/change_kind.h"

#include "changes/approval_request.h"
#include "changes/change_start.h"

static const char *refuse_retry(const struct job *job, struct arena *arena) {
    return arena_printf(arena,
                        "is a change set, which cannot be retried; pack a new "
                        "one with `change pack --supersedes %.*s`",
                        (int)job->id.len, job->id.p);
}

static const char *refuse_retry_of_rollback(const struct job *job,
                                            struct arena *arena) {
    (void)job, (void)arena;
    return "is a rollback, which cannot be retried; submit a new one with "
           "`rollback`";
}

const struct work_kind change_kind = {
    .kind = CHANGE_KIND,
    .make_start = change_start_landing,
    .refuse_retry = refuse_retry,
    .explain = approval_request_explain,
};

const struct work_kind change_kind_rollback = {
    .kind = CHANGE_KIND,
    .rolls_back = true,
    .make_start = change_start_rollback,
    .refuse_retry = refuse_retry_of_rollback,
    .explain = approval_request_explain,
};
