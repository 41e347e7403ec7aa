#include "commands/command_start.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "lib/json.h"
#include "base/base.h"
#include "os/account.h"
#include "scheduler/attempt_start.h"
#include "scheduler/attempt_words.h"
#include "scheduler/runner.h"
#include "scheduler/work_kind.h"

static void env_add_given(struct attempt_words *env,
                          const struct submission *sub) {
    for (size_t i = 0; i < sub->env_count; i++) {
        attempt_words_add_pair(env, sub->env[i].name, sub->env[i].value);
    }
}

/* A task that runs as another user gets that user's home in its environment,
 * unless the submission sets it. */
static void env_add_account(struct attempt_words *env,
                            const struct submission *sub,
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
            attempt_words_add_pair(env, span_of(ours[i].name),
                                   span_of(ours[i].value));
    }
}

/* What a word of an array's command may contain, longer ones first, and what it
 * becomes. */
enum word_part { PART_BRACES, PART_HASH, PART_NODE, PART_NUMBER, WORD_PARTS };

static const char *const word_parts[WORD_PARTS] = {
    [PART_BRACES] = "{{}}",
    [PART_HASH] = "{{#}}",
    [PART_NODE] = "{}",
    [PART_NUMBER] = "{#}",
};

static void part_fill(struct text *out, enum word_part part,
                      const struct run_start *start, bool *used) {
    switch (part) {
    case PART_BRACES:
        text_adds(out, "{}");
        return;
    case PART_HASH:
        text_adds(out, "{#}");
        return;
    case PART_NODE:
        text_addspan(out, start->node);
        break;
    case PART_NUMBER:
        text_addf(out, "%" PRIu64, start->task + 1);
        break;
    case WORD_PARTS:
        return;
    }
    *used = true;
}

/* Appends the word with its parts replaced. Sets *used if it names the node or
 * its number. */
static void word_fill(struct text *out, struct span word,
                      const struct run_start *start, bool *used) {
    while (word.len > 0) {
        unsigned part = 0;
        while (part < WORD_PARTS && !span_starts(word, word_parts[part]))
            part++;
        size_t taken = part < WORD_PARTS ? strlen(word_parts[part]) : 1;
        if (part < WORD_PARTS)
            part_fill(out, (enum word_part)part, start, used);
        else
            text_addc(out, word.p[0]);
        word = span_make(word.p + taken, word.len - taken);
    }
}

/* If no word of the command of a task names the node, the node comes last. */
static void command_words(struct attempt_words *argv,
                          const struct submission *sub,
                          const struct run_start *start) {
    CLEANUP(text_clear) struct text filled = TEXT_INIT;
    bool used = start->node.len == 0;
    for (size_t i = 0; i < sub->command.count; i++) {
        struct span word = sub->command.items[i];
        text_reset(&filled);
        if (start->node.len > 0) {
            word_fill(&filled, word, start, &used);
            word = text_span(&filled);
        }
        attempt_words_add_span(argv, word);
    }
    if (!used)
        attempt_words_add_span(argv, start->node);
}

/* The same as from Bistro's workers: node, path for the status, and other facts
 * (argv_style in pointsman-tasks(7)). */
static void bistro_words(struct attempt_words *argv,
                         const struct work_site *site,
                         const struct submission *sub,
                         const struct run_start *start) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct span node = start->node.len > 0 ? start->node : SPAN("local");
    char host[256] = "";
    struct json json;
    (void)gethostname(host, sizeof(host) - 1);
    for (size_t i = 0; i < sub->command.count; i++)
        attempt_words_add_span(argv, sub->command.items[i]);
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
    json_span(&json, site->worker);
    json_key(&json, "worker_host");
    json_string(&json, host);
    json_end(&json);
    attempt_words_add_span(argv, node);
    attempt_words_add_string(argv, "/dev/fd/3");
    attempt_words_add_span(argv, text_span(&text));
}

bool command_start_make(const struct work_site *site,
                        const struct run_start *start, struct arena *arena,
                        struct attempt_start *ret_start, struct err *err) {
    struct submission sub;
    if (!attempt_start_submission(start->job, site->cache, arena, &sub, err))
        return false;
    struct attempt_words argv = {.arena = arena}, env = {.arena = arena};
    if (!base_run_as_command(site->base, start->job->uid, sub.task.user, arena,
                             &ret_start->account, err))
        return false;
    if (sub.task.sandbox == TASK_SANDBOXED) {
        attempt_words_add_string(&argv, "/proc/self/exe");
        attempt_words_add_string(&argv, "confine");
        attempt_words_add_string(&argv, "--");
    }
    if (sub.task.argv_style == TASK_ARGV_BISTRO)
        bistro_words(&argv, site, &sub, start);
    else
        command_words(&argv, &sub, start);
    env_add_given(&env, &sub);
    if (ret_start->account)
        env_add_account(&env, &sub, ret_start->account);
    attempt_words_add_environment(&env, site, start);
    ret_start->argv = argv.items;
    ret_start->envp = env.items;
    ret_start->dir = sub.dir.len ? arena_string(arena, sub.dir) : "/";
    ret_start->mask = sub.umask >= 0 ? (mode_t)sub.umask : 022;
    ret_start->timeout_ms = sub.timeout_ms;
    ret_start->task = sub.task;
    ret_start->in_terminal = true;
    return true;
}
