#include "nodes/standing_kind.h"

#include "api/api_call.h"
#include "commands/command_start.h"
#include "nodes/standing_row.h"
#include "scheduler/why.h"

static const char *refuse_retry(const struct job *job, struct arena *arena) {
    return arena_printf(arena,
                        "is a standing job; pointsman job forgive %.*s starts "
                        "its failed tasks again",
                        (int)job->name.len, job->name.p);
}

static const char *refuse_cancel(const struct job *job, struct arena *arena) {
    return arena_printf(
        arena,
        "is a standing job; pointsman job disable %.*s stops "
        "it for a while, and pointsman job delete %.*s for good",
        (int)job->name.len, job->name.p, (int)job->name.len, job->name.p);
}

static bool find(struct store *store, struct span name, uint64_t *ret_num,
                 struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct standing_row row;
    bool found;

    *ret_num = 0;
    if (!standing_row_find(store, name, &arena, &row, &found, err))
        return false;
    if (found)
        *ret_num = row.num;
    return true;
}

/* Who disabled it, which its hold does not say. */
static bool explain(struct api_call *call, const struct job *job, bool waits,
                    struct why *why) {
    struct standing_row row;
    struct err err = {0};
    bool found;

    (void)waits;
    if (!standing_row_version(call->api->options.store, job->num, 0,
                              &call->arena, &row, &found, &err)) {
        api_fail(call, &err);
        return false;
    }
    if (found && !row.enabled && !row.deleted)
        why_add_text(
            why, "disabled",
            span_of(arena_printf(
                &call->arena,
                "version %llu of its definition, by %.*s, disables it; "
                "pointsman job enable %.*s lets it run",
                (unsigned long long)row.version, (int)row.actor.len,
                row.actor.p, (int)job->name.len, job->name.p)));
    return true;
}

/* Its spec is the submission of the version in effect. */
const struct work_kind standing_kind = {
    .kind = STANDING_KIND,
    .make_start = command_start_make,
    .refuse_retry = refuse_retry,
    .refuse_cancel = refuse_cancel,
    .find = find,
    .explain = explain,
};
