#include "toy/toy_kind.h"

#include "lib/json.h"
#include "scheduler/attempt_start.h"
#include "scheduler/attempt_words.h"
#include "scheduler/runner.h"
#include "toy/toy_config.h"

/* The submission of a toy is {"toy":NAME}. */
static bool name_of(const struct job *job, struct arena *arena,
                    struct span *ret_name, struct err *err) {
    struct json_value spec, value;
    return (json_parse(job->spec, &spec, NULL) && spec.type == JSON_OBJECT &&
            json_member(spec, "toy", &value) &&
            json_get_string(value, arena, ret_name)) ||
           err_set(err, ERR_DATA, "the submission of job '%.*s' names no toy",
                   (int)job->id.len, job->id.p);
}

static bool make_start(const struct work_site *site,
                       const struct run_start *start, struct arena *arena,
                       struct attempt_start *ret_start, struct err *err) {
    struct attempt_words argv = {.arena = arena}, env = {.arena = arena};
    struct span name;
    if (!name_of(start->job, arena, &name, err))
        return false;
    attempt_words_add_string(&argv, "/bin/echo");
    attempt_words_add_span(&argv, toy_config(site->config)->sound);
    attempt_words_add_span(&argv, name);
    attempt_words_add_environment(&env, site, start);
    ret_start->argv = argv.items;
    ret_start->envp = env.items;
    ret_start->dir = "/";
    ret_start->mask = 022;
    return true;
}

static const char *refuse_retry(const struct job *job, struct arena *arena) {
    (void)job, (void)arena;
    return "is a toy, which is wound up only once";
}

const struct work_kind toy_kind = {
    .kind = TOY_KIND,
    .make_start = make_start,
    .refuse_retry = refuse_retry,
};
