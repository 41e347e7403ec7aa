#include "scheduler/attempt_start.h"

void attempt_start_cache_clear(struct attempt_start_cache *cache) {
    arena_clear(&cache->arena);
    *cache = (struct attempt_start_cache){.arena = ARENA_INIT};
}

static bool cache_has(const struct attempt_start_cache *cache,
                      const struct job *job) {
    return cache->num != 0 &&
           ((cache->num == job->num && !job_has(job, JOB_ON_NODES)) ||
            span_equal(cache->spec, job->spec));
}

bool attempt_start_submission(const struct job *job,
                              struct attempt_start_cache *cache,
                              struct arena *arena,
                              struct submission *ret_submission,
                              struct err *err) {
    if (cache && cache_has(cache, job)) {
        *ret_submission = cache->submission;
        return true;
    }
    if (cache) {
        attempt_start_cache_clear(cache);
        arena = &cache->arena;
    }
    if (!submission_parse(job->spec, SUBMISSION_BODY, arena, ret_submission,
                          err))
        return err_wrap(err, "cannot read the submission of '%.*s'",
                        (int)job->id.len, job->id.p);
    if (cache) {
        cache->num = job->num;
        cache->spec = arena_span(arena, job->spec);
        cache->submission = *ret_submission;
    }
    return true;
}
