#include "worker/order_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/json.h"
#include "os/guard.h"
#include "base/base.h"
#include "wire/set_spec.h"
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

char *traceparent_make(const struct run_order *order, struct arena *arena) {
    struct span id = order->job->id;
    uint64_t admitted = (uint64_t)order->job->admitted.ns;
    uint64_t attempt = (uint64_t)order->attempt << 32 | order->task;
    char *trace = arena_string(arena, SPAN("00-trace...........more............"
                                           "-span............-01"));
    hex_put(trace + 3, spread(id, 1));
    hex_put(trace + 19, spread(id, admitted));
    hex_put(trace + 36, spread(id, admitted ^ (attempt + 1)));
    return trace;
}

/* What every attempt finds in its environment (DESIGN §5). */
static void env_add_ours(struct vector *env, const struct run_order *order) {
    static char worker[] = "POINTSMAN_WORKER=local";
    static char status[] = "POINTSMAN_STATUS_FD=3";
    static char progress[] = "POINTSMAN_PROGRESS_FD=4";
    _Static_assert(GUARD_STATUS_FD == 3 && GUARD_PROGRESS_FD == 4, "as above");
    struct arena *arena = env->arena;
    struct span id = order->job->id, node = order->node;
    bool of_array = node.len > 0;
    char attempt[16];
    snprintf(attempt, sizeof(attempt), "%u", order->attempt);
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
                           span_of(traceparent_make(order, arena))));
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
 * known (spec/fleet.md 4.1). */
static void bistro_words(struct vector *argv, const struct submission *sub,
                         const struct run_order *order) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct span node = order->node.len > 0 ? order->node : SPAN("local");
    char host[256] = "";
    struct json json;
    (void)gethostname(host, sizeof(host) - 1);
    for (size_t i = 0; i < sub->command.count; i++)
        vector_addspan(argv, sub->command.items[i]);
    json_open(&json, &text);
    json_object(&json);
    json_key(&json, "id");
    json_span(&json, order->job->id);
    json_key(&json, "path_to_node");
    json_array(&json);
    if (order->node.len > 0)
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

void order_memo_clear(struct order_memo *memo) {
    arena_clear(&memo->arena);
    *memo = (struct order_memo){.arena = ARENA_INIT};
}

static bool memo_has(const struct order_memo *memo, const struct job *job) {
    return memo->num != 0 &&
           (memo->num == job->num || span_equal(memo->spec, job->spec));
}

static bool read_submission(const struct job *job, struct order_memo *memo,
                            struct arena *arena,
                            struct submission *ret_submission,
                            struct err *err) {
    if (memo && memo_has(memo, job)) {
        *ret_submission = memo->submission;
        return true;
    }
    if (memo) {
        order_memo_clear(memo);
        arena = &memo->arena;
    }
    if (!submission_parse(job->spec, SUBMISSION_BODY, arena, ret_submission,
                          err))
        return err_wrap(err, "cannot read the submission of '%.*s'",
                        (int)job->id.len, job->id.p);
    if (memo) {
        memo->num = job->num;
        memo->spec = arena_span(arena, job->spec);
        memo->submission = *ret_submission;
    }
    return true;
}

static bool command_line(const struct run_order *order, struct order_memo *memo,
                         struct arena *arena, struct order_line *line,
                         struct err *err) {
    struct submission sub;
    if (!read_submission(order->job, memo, arena, &sub, err))
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
        bistro_words(&argv, &sub, order);
    else
        command_words(&argv, &sub, order->node);
    env_add_given(&env, &sub);
    if (line->account)
        env_add_account(&env, &sub, line->account);
    env_add_ours(&env, order);
    line->argv = argv.items;
    line->envp = env.items;
    line->dir = sub.dir.len ? arena_string(arena, sub.dir) : "/";
    line->mask = sub.umask >= 0 ? (mode_t)sub.umask : 022;
    line->timeout_ms = sub.timeout_ms;
    line->task = sub.task;
    return true;
}

static void option_span(struct vector *argv, const char *name,
                        struct span value) {
    vector_adds(argv, name);
    vector_addspan(argv, value);
}

static void option_wall(struct vector *argv, const char *name,
                        struct wall wall) {
    vector_adds(argv, name);
    vector_add(argv, arena_printf(argv->arena, "%" PRId64, wall.ns));
}

static void option_path(struct vector *argv, const char *name,
                        const char *base_path, struct span path) {
    vector_adds(argv, name);
    vector_add(argv, base_resolve(base_path, path, argv->arena));
}

/* Where the target is and how it is touched. */
static void place_options(struct vector *argv,
                          const struct config_target *target,
                          const char *base_path) {
    if (target->command.count > 0) {
        option_span(argv, "--command", target->command.text);
    } else {
        option_path(argv, "--git", base_path, target->git);
        option_span(argv, "--branch", target->branch);
        option_span(argv, "--committer", target->committer);
    }
    if (target->user.len > 0)
        option_span(argv, "--user", target->user);
    option_span(argv, "--symlinks",
                span_of(target->symlinks == SYMLINKS_ALLOW ? "allow" : "deny"));
}

static void timeout_option(struct vector *argv,
                           const struct config_target *target) {
    vector_adds(argv, "--timeout");
    vector_add(argv, arena_printf(argv->arena, "%" PRId64, target->timeout_s));
}

static void target_options(struct vector *argv,
                           const struct config_target *target,
                           const char *base_path) {
    place_options(argv, target, base_path);
    if (target->command.count == 0)
        option_span(argv, "--blind",
                    config_blind_word((enum config_blind)target->blind));
    timeout_option(argv, target);
    for (size_t i = 0; i < target->check_count; i++) {
        option_span(argv, "--check", target->checks[i].name);
        vector_addspan(argv, target->checks[i].command.text);
    }
}

static char *data_path(struct arena *arena, const char *base_path,
                       struct span name) {
    return arena_printf(arena, "%s/data/%.*s", base_path, (int)name.len,
                        name.p);
}

/* The TAI time in the name, or the admission when that is later (§8.11). */
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
static void seen_option(struct vector *argv, const struct job *job,
                        struct arena *arena) {
    struct span seen = set_spec_seen(job->spec, arena);
    if (seen.len > 0 && blind_since(job).ns == job->admitted.ns)
        option_span(argv, "--seen", seen);
}

/* What is told of a set, and of a rollback. */
static void set_options(struct vector *argv, const struct run_set *set) {
    const struct job *job = set->job;
    option_span(argv, "--id", job->id);
    option_span(argv, "--sum", job->sum);
    option_wall(argv, "--admitted", job->admitted);
    option_span(argv, "--submitter", job->actor);
    for (size_t i = 0; i < set->approved_count; i++)
        option_span(argv, "--approved-by", set->approved_by[i]);
}

/* What a landing and a rollback are both told. */
static void common_options(struct vector *argv, const struct run_order *order,
                           const char *verb, const struct run_set *set,
                           const char *base_path) {
    const struct job *job = order->job;
    vector_adds(argv, "/proc/self/exe");
    vector_adds(argv, verb);
    if (order->probe)
        vector_adds(argv, "--probe");
    set_options(argv, set);
    option_span(argv, "--target", job->target);
    vector_adds(argv, "--work");
    vector_add(argv,
               arena_printf(argv->arena, "%s/tmp/%s.%.*s.%u", base_path, verb,
                            (int)job->id.len, job->id.p, order->attempt));
}

static void landed_set_options(struct vector *argv, const struct run_set *set,
                               const char *base_path) {
    const struct job *job = set->job;
    option_span(argv, "--class", span_of(job_class_word(job->job_class)));
    vector_adds(argv, "--tarball");
    vector_add(argv, data_path(argv->arena, base_path, job->name));
    option_wall(argv, "--since", blind_since(job));
    seen_option(argv, job, argv->arena);
}

static struct run_set set_of(const struct run_order *order) {
    return (struct run_set){.job = order->job,
                            .approved_by = order->approved_by,
                            .approved_count = order->approved_count};
}

static void landing_options(struct vector *argv, const struct run_order *order,
                            const struct config_target *target,
                            const char *base_path) {
    struct run_set alone = set_of(order);
    bool several = order->set_count > 0 && !order->probe;
    const struct run_set *sets = several ? order->sets : &alone;
    common_options(argv, order, "land", &sets[0], base_path);
    vector_adds(argv, "--branches");
    vector_add(argv, arena_printf(argv->arena, "%s/" BASE_BRANCHES, base_path));
    landed_set_options(argv, &sets[0], base_path);
    target_options(argv, target, base_path);
    for (size_t i = 1; several && i < order->set_count; i++) {
        vector_adds(argv, "--also");
        set_options(argv, &sets[i]);
        landed_set_options(argv, &sets[i], base_path);
    }
}

static void member_options(struct vector *argv, const struct run_member *member,
                           const char *base_path) {
    option_span(argv, member->again ? "--again" : "--member", member->id);
    vector_addspan(argv, member->sum);
    vector_adds(argv, job_class_word(member->job_class));
    vector_add(argv,
               arena_printf(argv->arena, "%" PRId64, member->admitted.ns));
    vector_add(argv, data_path(argv->arena, base_path, member->name));
}

static void rollback_options(struct vector *argv, const struct run_order *order,
                             const struct config_target *target,
                             const char *base_path) {
    struct run_set rollback = set_of(order);
    common_options(argv, order, "revert", &rollback, base_path);
    if (order->because.len > 0)
        option_span(argv, "--because", order->because);
    place_options(argv, target, base_path);
    if (target->command.count > 0 && target->revert.count > 0)
        option_span(argv, "--revert", target->revert.text);
    if (target->command.count > 0)
        timeout_option(argv, target);
    for (size_t i = 0; i < order->member_count; i++)
        member_options(argv, &order->members[i], base_path);
}

/* A landing is a process of its own: this executable under another verb. */
static bool change_line(const struct run_order *order,
                        const struct config *config, const char *base_path,
                        struct arena *arena, struct order_line *line,
                        struct err *err) {
    const struct job *job = order->job;
    const struct config_target *target = config_target(config, job->target);
    if (!target)
        return err_set(err, ERR_CONFIG,
                       "cannot land '%.*s': target '%.*s' is no longer "
                       "configured; add it to pointsman.conf again",
                       (int)job->id.len, job->id.p, (int)job->target.len,
                       job->target.p);
    struct vector argv = {.arena = arena}, env = {.arena = arena};
    if (job->job_class == CLASS_RB)
        rollback_options(&argv, order, target, base_path);
    else
        landing_options(&argv, order, target, base_path);
    vector_adds(&env, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:"
                      "/usr/bin:/sbin:/bin");
    vector_adds(&env, "LANG=C.UTF-8");
    env_add_ours(&env, order);
    line->argv = argv.items;
    line->envp = env.items;
    line->dir = base_path;
    line->mask = 022;
    line->lock_path =
        order->probe
            ? NULL
            : arena_printf(arena, "run/%.*s", (int)job->name.len, job->name.p);
    return true;
}

bool order_line_make(const struct run_order *order, const struct config *config,
                     const char *base_path, struct order_memo *memo,
                     struct arena *arena, struct order_line *ret_line,
                     struct err *err) {
    *ret_line = (struct order_line){0};
    task_options_init(&ret_line->task);
    if (order->job->kind == JOB_CHANGE)
        return change_line(order, config, base_path, arena, ret_line, err);
    return command_line(order, memo, arena, ret_line, err);
}
