#include "worker/attempt_start.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/json.h"
#include "os/guard.h"
#include "base/base.h"
#include "landing/land_start.h"
#include "wire/words.h"

/* A vector of strings that grows in an arena. */
struct vector {
    struct arena *arena;
    char **items;
    size_t count, cap;
};

static void vector_add(struct vector *vector, char *item) {
    if (vector->count + 1 >= vector->cap) {
        size_t cap = vector->cap ? vector->cap * 2 : 32;
        char **items = arena_alloc(vector->arena, cap * sizeof(*items));
        if (vector->count)
            memcpy(items, vector->items, vector->count * sizeof(*items));
        vector->items = items;
        vector->cap = cap;
    }
    vector->items[vector->count++] = item;
    vector->items[vector->count] = NULL;
}

static void vector_adds(struct vector *vector, const char *string) {
    vector_add(vector, arena_string(vector->arena, span_of(string)));
}

static void vector_addspan(struct vector *vector, struct span span) {
    vector_add(vector, arena_string(vector->arena, span));
}

/* The parts one behind the other, up to one without bytes (p is NULL). Starts
 * are many, and printing costs several times this. */
static char *joined(struct arena *arena, const struct span *parts) {
    size_t bytes = 1;
    for (size_t i = 0; parts[i].p; i++)
        bytes += parts[i].len;
    char *string = arena_alloc(arena, bytes), *at = string;
    for (; parts->p; parts++)
        at = mempcpy(at, parts->p, parts->len);
    return string;
}

#define JOINED(arena, ...) \
    joined(arena, (const struct span[]){__VA_ARGS__, {NULL, 0}})

/* FNV-1a: only to spread ids over a trace's bits, the same everywhere. */
static uint64_t spread(struct span span, uint64_t seed) {
    uint64_t hash = UINT64_C(14695981039346656037) ^ seed;
    for (size_t i = 0; i < span.len; i++)
        hash = (hash ^ (unsigned char)span.p[i]) * UINT64_C(1099511628211);
    return hash ? hash : 1;
}

static void hex_put(char *at, uint64_t value) {
    for (int i = 15; i >= 0; i--, value >>= 4)
        at[i] = "0123456789abcdef"[value & 15];
}

/* A W3C traceparent that is the same for one attempt wherever it is asked for:
 * trace of the job, span of the attempt. */
static char *traceparent_of(const struct run_start *start,
                            struct arena *arena) {
    struct span id = start->job->id;
    uint64_t admitted = (uint64_t)start->job->admitted.ns;
    uint64_t attempt = (uint64_t)start->attempt << 32 | start->task;
    char *trace = arena_string(arena, SPAN("00-trace...........more............"
                                           "-span............-01"));
    hex_put(trace + 3, spread(id, 1));
    hex_put(trace + 19, spread(id, admitted));
    hex_put(trace + 36, spread(id, admitted ^ (attempt + 1)));
    return trace;
}

/* What every attempt finds in its environment (doc/design/processes.md). */
static void env_add_ours(struct vector *env, const struct run_start *start) {
    static char worker[] = "POINTSMAN_WORKER=local";
    static char status[] = "POINTSMAN_STATUS_FD=3";
    static char progress[] = "POINTSMAN_PROGRESS_FD=4";
    _Static_assert(GUARD_STATUS_FD == 3 && GUARD_PROGRESS_FD == 4, "as above");
    struct arena *arena = env->arena;
    struct span id = start->job->id, node = start->node;
    bool of_array = node.len > 0;
    char attempt[16];
    snprintf(attempt, sizeof(attempt), "%u", start->attempt);
    vector_add(env, JOINED(arena, SPAN("POINTSMAN_JOB="), id));
    vector_add(env, JOINED(arena, SPAN("POINTSMAN_TASK="), id,
                           of_array ? SPAN("/") : SPAN(""),
                           of_array ? node : SPAN("")));
    vector_add(env,
               JOINED(arena, SPAN("POINTSMAN_ATTEMPT="), span_of(attempt)));
    vector_add(env, JOINED(arena, SPAN("POINTSMAN_NODE="),
                           of_array ? node : SPAN("local")));
    vector_add(env, worker);
    vector_add(env, status);
    vector_add(env, progress);
    vector_add(env, JOINED(arena, SPAN("TRACEPARENT="),
                           span_of(traceparent_of(start, arena))));
}

static void env_add_given(struct vector *env, const struct submission *sub) {
    for (size_t i = 0; i < sub->env_count; i++) {
        struct span value = sub->env[i].value;
        vector_add(env, JOINED(env->arena, sub->env[i].name, SPAN("="),
                               value.p ? value : SPAN("")));
    }
}

/* Who is somebody else finds his own home in the environment, unless the
 * submission says otherwise. */
static void env_add_account(struct vector *env, const struct submission *sub,
                            const struct account *account) {
    const struct {
        const char *name, *value;
    } ours[] = {{"HOME", account->home},
                {"USER", account->name},
                {"LOGNAME", account->name},
                {"SHELL", account->shell}};
    for (size_t i = 0; i < COUNT(ours); i++) {
        bool said = false;
        for (size_t k = 0; k < sub->env_count; k++)
            said = said || span_is(sub->env[k].name, ours[i].name);
        if (!said)
            vector_add(env, JOINED(env->arena, span_of(ours[i].name), SPAN("="),
                                   span_of(ours[i].value)));
    }
}

/* Whose task it is to be; *ret_account NULL: ours. */
static bool find_account(struct span user, struct arena *arena,
                         const struct account **ret_account, struct err *err) {
    *ret_account = NULL;
    if (user.len == 0)
        return true;
    struct account *account = arena_alloc(arena, sizeof *account);
    if (!account_find(user, arena, account, err) ||
        !account_may_be(account, err))
        return false;
    if (!account_is_ours(account))
        *ret_account = account;
    return true;
}

/* `{}` as a whole argument stands for the node; without one it comes last. */
static void command_words(struct vector *argv, const struct submission *sub,
                          struct span node) {
    bool used = false;
    for (size_t i = 0; i < sub->command.count; i++) {
        struct span word = sub->command.items[i];
        bool here = sub->array.count > 0 && span_is(word, "{}");
        used = used || here;
        vector_addspan(argv, here ? node : word);
    }
    if (sub->array.count > 0 && !used)
        vector_addspan(argv, node);
}

/* As Bistro's workers do it: node, where the status goes, and what else is
 * known (argv_style in pointsman-tasks(7)). */
static void bistro_words(struct vector *argv, const struct submission *sub,
                         const struct run_start *start) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct span node = start->node.len > 0 ? start->node : SPAN("local");
    char host[256] = "";
    struct json json;
    (void)gethostname(host, sizeof(host) - 1);
    for (size_t i = 0; i < sub->command.count; i++)
        vector_addspan(argv, sub->command.items[i]);
    json_open(&json, &text);
    json_object(&json);
    json_key(&json, "id");
    json_span(&json, start->job->id);
    json_key(&json, "path_to_node");
    json_array(&json);
    if (start->node.len > 0)
        json_string(&json, "local");
    json_span(&json, node);
    json_end(&json);
    json_key(&json, "config");
    json_object(&json);
    json_end(&json);
    json_key(&json, "resources_by_node");
    json_object(&json);
    json_end(&json);
    json_key(&json, "worker_node");
    json_string(&json, "local");
    json_key(&json, "worker_host");
    json_string(&json, host);
    json_end(&json);
    vector_addspan(argv, node);
    vector_adds(argv, "/dev/fd/3");
    vector_addspan(argv, text_span(&text));
}

void attempt_start_cache_clear(struct attempt_start_cache *cache) {
    arena_clear(&cache->arena);
    *cache = (struct attempt_start_cache){.arena = ARENA_INIT};
}

static bool memo_has(const struct attempt_start_cache *cache,
                     const struct job *job) {
    return cache->num != 0 &&
           (cache->num == job->num || span_equal(cache->spec, job->spec));
}

static bool read_submission(const struct job *job,
                            struct attempt_start_cache *cache,
                            struct arena *arena,
                            struct submission *ret_submission,
                            struct err *err) {
    if (cache && memo_has(cache, job)) {
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

static bool command_line(const struct run_start *start,
                         struct attempt_start_cache *cache, struct arena *arena,
                         struct attempt_start *line, struct err *err) {
    struct submission sub;
    if (!read_submission(start->job, cache, arena, &sub, err))
        return false;
    struct vector argv = {.arena = arena}, env = {.arena = arena};
    if (!find_account(sub.task.user, arena, &line->account, err))
        return false;
    if (sub.task.sandbox == TASK_SANDBOXED) {
        vector_adds(&argv, "/proc/self/exe");
        vector_adds(&argv, "confine");
        vector_adds(&argv, "--");
    }
    if (sub.task.argv_style == TASK_ARGV_BISTRO)
        bistro_words(&argv, &sub, start);
    else
        command_words(&argv, &sub, start->node);
    env_add_given(&env, &sub);
    if (line->account)
        env_add_account(&env, &sub, line->account);
    env_add_ours(&env, start);
    line->argv = argv.items;
    line->envp = env.items;
    line->dir = sub.dir.len ? arena_string(arena, sub.dir) : "/";
    line->mask = sub.umask >= 0 ? (mode_t)sub.umask : 022;
    line->timeout_ms = sub.timeout_ms;
    line->task = sub.task;
    return true;
}

static const char *string_of(struct span span, struct arena *arena) {
    return span.len > 0 ? arena_string(arena, span) : NULL;
}

static char *data_path(struct span name, struct arena *arena) {
    return arena_printf(arena, "data/%.*s", (int)name.len, name.p);
}

static const struct land_check *checks_of(const struct config_target *target,
                                          struct arena *arena) {
    struct land_check *checks =
        arena_alloc(arena, target->check_count * sizeof *checks + 1);
    for (size_t i = 0; i < target->check_count; i++)
        checks[i] = (struct land_check){
            arena_string(arena, target->checks[i].name),
            arena_string(arena, target->checks[i].command.text)};
    return checks;
}

/* The TAI time in the name, or the admission when that is later (L5). */
static struct wall blind_since(const struct job *job) {
    struct set_name name;
    struct refusal why;
    if (set_name_parse(job->name, &name, &why) &&
        name.tai.ns > job->admitted.ns)
        return name.tai;
    return job->admitted;
}

/* What it is compared with when it has no ##base: the branch as it was at its
 * admission, unless the time in its name is later. */
static const char *seen_of(const struct job *job, struct arena *arena) {
    return blind_since(job).ns == job->admitted.ns ? string_of(job->seen, arena)
                                                   : NULL;
}

static const char *const *names_of(const struct span *spans, size_t count,
                                   struct arena *arena) {
    const char **names = arena_alloc(arena, count * sizeof *names + 1);
    for (size_t i = 0; i < count; i++)
        names[i] = arena_string(arena, spans[i]);
    return names;
}

static char *work_path(const struct run_start *start, const char *verb,
                       struct arena *arena) {
    struct span id = start->job->id;
    return arena_printf(arena, "tmp/%s.%.*s.%u", verb, (int)id.len, id.p,
                        start->attempt);
}

static struct land_start landed_set(const struct run_set *set,
                                    struct arena *arena) {
    const struct job *job = set->job;
    return (struct land_start){
        .id = arena_string(arena, job->id),
        .sum = arena_string(arena, job->sum),
        .class = job_class_word(job->job_class),
        .tarball = data_path(job->name, arena),
        .since = blind_since(job),
        .admitted = job->admitted,
        .seen = seen_of(job, arena),
        .submitter = string_of(job->actor, arena),
        .approved_by = names_of(set->approved_by, set->approved_count, arena),
        .approved_count = set->approved_count};
}

static struct run_set set_of(const struct run_start *start) {
    return (struct run_set){.job = start->job,
                            .approved_by = start->approved_by,
                            .approved_count = start->approved_count};
}

static void landing_start(const struct run_start *start,
                          const struct config_target *target,
                          struct arena *arena, struct text *out) {
    struct run_set alone = set_of(start);
    bool several = start->set_count > 0 && !start->probe;
    const struct run_set *sets = several ? start->sets : &alone;
    size_t others = several ? start->set_count - 1 : 0;
    bool command = target->command.count > 0;
    struct land_start landing = landed_set(&sets[0], arena);
    landing.probe = start->probe;
    landing.target = string_of(start->job->target, arena);
    landing.work = work_path(start, "land", arena);
    landing.user = string_of(target->user, arena);
    landing.symlinks = target->symlinks == SYMLINKS_ALLOW;
    landing.timeout_s = target->timeout_s;
    landing.checks = checks_of(target, arena);
    landing.check_count = target->check_count;
    if (command) {
        landing.command = arena_string(arena, target->command.text);
    } else {
        landing.git = string_of(target->git, arena);
        landing.branch = string_of(target->branch, arena);
        landing.branches = BASE_BRANCHES;
        landing.committer = string_of(target->committer, arena);
        landing.blind = (enum config_blind)target->blind;
    }
    struct land_start *rest = arena_alloc(arena, others * sizeof *rest + 1);
    for (size_t i = 0; i < others; i++)
        rest[i] = landed_set(&sets[i + 1], arena);
    landing.others = rest;
    landing.other_count = others;
    land_start_format(&landing, out);
}

static void rollback_start(const struct run_start *start,
                           const struct config_target *target,
                           struct arena *arena, struct text *out) {
    const struct job *job = start->job;
    struct revert_member *members =
        arena_alloc(arena, start->member_count * sizeof *members + 1);
    for (size_t i = 0; i < start->member_count; i++) {
        const struct run_member *member = &start->members[i];
        members[i] =
            (struct revert_member){.id = arena_string(arena, member->id),
                                   .sum = arena_string(arena, member->sum),
                                   .class = job_class_word(member->job_class),
                                   .tarball = data_path(member->name, arena),
                                   .admitted = member->admitted,
                                   .again = member->again};
    }
    struct revert_start rollback = {
        .id = arena_string(arena, job->id),
        .sum = arena_string(arena, job->sum),
        .target = string_of(job->target, arena),
        .admitted = job->admitted,
        .submitter = string_of(job->actor, arena),
        .approved_by =
            names_of(start->approved_by, start->approved_count, arena),
        .approved_count = start->approved_count,
        .members = members,
        .member_count = start->member_count,
        .because = string_of(start->because, arena),
        .user = string_of(target->user, arena),
        .work = work_path(start, "revert", arena),
        .symlinks = target->symlinks == SYMLINKS_ALLOW,
        .probe = start->probe};
    if (target->command.count > 0) {
        rollback.command = arena_string(arena, target->command.text);
        rollback.timeout_s = target->timeout_s;
        if (target->revert.count > 0)
            rollback.revert = arena_string(arena, target->revert.text);
    } else {
        rollback.git = string_of(target->git, arena);
        rollback.branch = string_of(target->branch, arena);
        rollback.committer = string_of(target->committer, arena);
    }
    land_start_format_revert(&rollback, out);
}

/* A landing is a process of its own: this executable under another verb. The
 * id is there for who looks at a list of processes; it is not read. */
static bool change_line(const struct run_start *start,
                        const struct config *config, const char *base_path,
                        struct arena *arena, struct attempt_start *line,
                        struct err *err) {
    const struct job *job = start->job;
    const struct config_target *target = config_target(config, job->target);
    if (!target)
        return err_set(err, ERR_CONFIG,
                       "cannot land '%.*s': target '%.*s' is no longer "
                       "configured; add it to pointsman.conf again",
                       (int)job->id.len, job->id.p, (int)job->target.len,
                       job->target.p);
    struct vector argv = {.arena = arena}, env = {.arena = arena};
    CLEANUP(text_clear) struct text input = TEXT_INIT;
    bool rollback = job->job_class == CLASS_RB;
    if (rollback)
        rollback_start(start, target, arena, &input);
    else
        landing_start(start, target, arena, &input);
    line->start = arena_span(arena, text_span(&input));
    vector_adds(&argv, "/proc/self/exe");
    vector_adds(&argv, rollback ? "revert" : "land");
    vector_addspan(&argv, job->id);
    vector_adds(&env, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:"
                      "/usr/bin:/sbin:/bin");
    vector_adds(&env, "LANG=C.UTF-8");
    env_add_ours(&env, start);
    line->argv = argv.items;
    line->envp = env.items;
    line->dir = base_path;
    line->mask = 022;
    line->lock_path =
        start->probe
            ? NULL
            : arena_printf(arena, "run/%.*s", (int)job->name.len, job->name.p);
    return true;
}

bool attempt_start_make(const struct run_start *start,
                        const struct config *config, const char *base_path,
                        struct attempt_start_cache *cache, struct arena *arena,
                        struct attempt_start *ret_line, struct err *err) {
    *ret_line = (struct attempt_start){0};
    task_options_init(&ret_line->task);
    if (start->job->kind == JOB_CHANGE)
        return change_line(start, config, base_path, arena, ret_line, err);
    return command_line(start, cache, arena, ret_line, err);
}
