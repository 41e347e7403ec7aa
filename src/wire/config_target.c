/* [target "NAME"]: a branch of a git repository, or a command. */
#include <stdlib.h>
#include <string.h>

#include "core/job.h"
#include "wire/config_section.h"
#include "wire/ref_name.h"

static const struct config_key keys[] = {
#define CONFIG_KEY(...) CONFIG_ROW(struct config_target, __VA_ARGS__),
#include "wire/config_target.def"
};

static bool check_label(struct span label, const struct config_spot *spot) {
    if (!label.len)
        return config_refuse(spot, "a target needs a name: [target \"main\"]");
    return ref_name_is_valid(label) ||
           config_refuse(spot,
                         "target '%.*s' is not a valid name for a git branch",
                         (int)label.len, label.p);
}

/* "EM,BF" or "none" as bits of 1 << class. */
static bool classes_parse(struct span text, unsigned *ret_classes) {
    struct span word;
    enum job_class job_class;
    *ret_classes = 0;
    if (span_is(span_trim(text), "none"))
        return true;
    while (span_cut(&text, ',', &word)) {
        if (!job_class_parse(span_trim(word), &job_class) ||
            (job_classes_with(JOB_ROLLS_BACK) >> job_class & 1) != 0)
            return false;
        *ret_classes |= 1u << job_class;
    }
    return *ret_classes != 0;
}

unsigned config_target_interrupt(const struct config_target *target) {
    unsigned classes = 0;
    (void)classes_parse(target->interrupt, &classes);
    return classes;
}

static bool check_value(const struct config_key *key, struct span value,
                        const struct config_spot *spot) {
    unsigned classes;
    if (!strcmp(key->name, "interrupt") && !classes_parse(value, &classes))
        return config_refuse(
            spot,
            "interrupt = '%.*s' is neither 'none' nor a list of "
            "the classes EM, BF and DC, such as EM,BF",
            (int)value.len, value.p);
    if (!strcmp(key->name, "branch") &&
        (span_starts(value, "refs/") || span_is(value, "HEAD")))
        return config_refuse(
            spot,
            "branch = '%.*s' is not the name of a branch; write it "
            "without refs/heads/, such as 'main'",
            (int)value.len, value.p);
    if (!strcmp(key->name, "branch") && !ref_name_is_valid(value))
        return config_refuse(
            spot, "branch = '%.*s' is not a valid name for a git branch",
            (int)value.len, value.p);
    if (!strcmp(key->name, "committer") &&
        (!span_ends(value, ">") || !memchr(value.p, '<', value.len)))
        return config_refuse(spot, "committer = '%.*s' is not 'Name <mail>'",
                             (int)value.len, value.p);
    return true;
}

static bool check_name_is_valid(struct span name) {
    if (!name.len || name.len > 64)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              (c >= '0' && c <= '9') || c == '-' || c == '_'))
            return false;
    }
    return true;
}

/* An empty command removes the check. */
static bool set_check(struct config *config, void *section, struct span key,
                      struct span value, const struct config_spot *spot) {
    struct config_target *target = section;
    struct span name = span_make(key.p + 6, key.len - 6);
    if (!check_name_is_valid(name))
        return config_refuse(spot,
                             "check '%.*s' has no name of letters, digits, "
                             "'-', '_'",
                             (int)key.len, key.p);
    size_t i = 0;
    while (i < target->check_count && !span_equal(target->checks[i].name, name))
        i++;
    if (i == target->check_count) {
        target->checks = mem_grow(target->checks, target->check_count + 1,
                                  sizeof *target->checks);
        target->checks[target->check_count++] =
            (struct config_check){.name = arena_span(&config->arena, name)};
    }
    struct config_check *check = &target->checks[i];
    check->origin = (struct config_origin){spot->file, spot->line};
    if (!config_command_read(config, value, &check->command, "check", spot))
        return false;
    if (check->command.count == 0) {
        target->check_count--;
        memmove(check, check + 1, (target->check_count - i) * sizeof *check);
    }
    return true;
}

static bool check_entry(struct config *config, const void *section,
                        size_t index, struct config_entry *ret_entry) {
    const struct config_target *target = section;
    if (index >= target->check_count)
        return false;
    const struct config_check *check = &target->checks[index];
    ret_entry->key = span_of(arena_printf(&config->arena, "check.%.*s",
                                          (int)check->name.len, check->name.p));
    ret_entry->value = check->command.text;
    ret_entry->origin = check->origin;
    ret_entry->is_command = true;
    return true;
}

static const struct config_free_key check_key = {
    .prefix = "check.",
    .name = "check.NAME",
    .value = "COMMAND",
    .meaning = "check that must pass on the merged tree before the branch "
               "moves; may be repeated with different names",
    .set = set_check,
    .entry = check_entry,
};

static bool refuse_target(const struct config_target *target,
                          struct config_origin origin, struct err *err,
                          const char *what) {
    struct config_spot spot = config_spot_of(origin, target->origin, err);
    return config_refuse(&spot, "target '%.*s' %s", (int)target->name.len,
                         target->name.p, what);
}

static bool has_check(const struct config_target *target, struct span name) {
    for (size_t i = 0; i < target->check_count; i++)
        if (span_equal(target->checks[i].name, name))
            return true;
    return false;
}

static bool volatile_finish(const struct config_target *target,
                            struct err *err) {
    struct config_spot spot =
        config_spot_of(target->is_volatile_origin, target->origin, err);
    for (size_t i = 0; i < target->is_volatile.count; i++) {
        struct span name = target->is_volatile.items[i].text;
        if (!has_check(target, name))
            return config_refuse(
                &spot, "volatile: target '%.*s' has no check '%.*s'",
                (int)target->name.len, target->name.p, (int)name.len, name.p);
    }
    return true;
}

/* Only candidates of a branch can be merged and checked ahead. */
static bool train_finish(const struct config_target *target, struct err *err) {
    const struct config_origin *origins[] = {
        &target->interrupt_origin,   &target->follow_origin,
        &target->land_max_origin,    &target->check_retries_origin,
        &target->remember_origin,    &target->remember_for_s_origin,
        &target->is_volatile_origin, &target->environment_origin};
    if (target->git.len)
        return volatile_finish(target, err);
    for (size_t i = 0; i < COUNT(origins); i++)
        if (origins[i]->file != NULL)
            return refuse_target(target, *origins[i], err,
                                 "has a key that applies only to targets with "
                                 "'git'");
    return true;
}

bool config_target_refuse_twin(const struct config_spot *spot,
                               const struct config_target *one,
                               const struct config_target *other,
                               struct span branch) {
    return config_refuse(
        spot,
        "targets '%.*s' and '%.*s' are the same branch '%.*s' of one "
        "repository, so each would land what the other one has not checked; "
        "remove one of them",
        (int)one->name.len, one->name.p, (int)other->name.len, other->name.p,
        (int)branch.len, branch.p);
}

/* Each would land what the other one has not checked. */
static bool check_branch(const struct config *config,
                         const struct config_target *target, struct err *err) {
    const struct config_target *other = config->targets;
    struct config_spot spot =
        config_spot_of(target->git_origin, target->origin, err);
    for (; other != target; other++)
        if (target->git.len > 0 && span_equal(other->git, target->git) &&
            span_equal(other->branch, target->branch))
            return config_target_refuse_twin(&spot, other, target,
                                             target->branch);
    return true;
}

static bool target_finish(const struct config *config, const void *section,
                          struct err *err) {
    const struct config_target *target = section;
    bool git = target->git.len, command = target->command.count;
    if (!git && !command)
        return refuse_target(target, target->origin, err,
                             "has neither 'git' nor 'command'");
    if (git && command)
        return refuse_target(target, target->command_origin, err,
                             "has both 'git' and 'command'");
    if (git && target->revert.count)
        return refuse_target(target, target->revert_origin, err,
                             "must not have 'revert': git itself can revert");
    if (command)
        for (size_t i = 0; i < target->check_count; i++)
            if (target->checks[i].command.count)
                return refuse_target(target, target->checks[i].origin, err,
                                     "can have checks only with 'git'");
    return check_branch(config, target, err) && train_finish(target, err);
}

static void target_clear(void *section) {
    struct config_target *target = section;
    free(target->checks);
}

const struct config_section config_target_section = {
    .name = "target",
    .keys = keys,
    .key_count = COUNT(keys),
    .bytes = sizeof(struct config_target),
    .at = offsetof(struct config, targets),
    .check_label = check_label,
    .count_at = offsetof(struct config, target_count),
    .origin_at = offsetof(struct config_target, origin),
    .check_value = check_value,
    .free_key = &check_key,
    .finish = target_finish,
    .clear = target_clear,
};

const struct config_target *config_target(const struct config *config,
                                          struct span name) {
    for (size_t i = 0; i < config->target_count; i++)
        if (span_equal(config->targets[i].name, name))
            return &config->targets[i];
    return NULL;
}

/* ---- words --------------------------------------------------------------- */

static const char *blind_choices(void) {
    for (size_t k = 0; k < COUNT(keys); k++)
        if (keys[k].value_at == offsetof(struct config_target, blind))
            return keys[k].choices;
    return "";
}

struct span config_blind_word(enum config_blind blind) {
    struct span choice, rest = span_of(blind_choices());
    for (int number = 0; span_cut(&rest, '|', &choice); number++)
        if (number == (int)blind)
            break;
    return choice;
}

bool config_blind_parse(struct span word, enum config_blind *ret_blind) {
    struct span choice, rest = span_of(blind_choices());
    for (int number = 0; span_cut(&rest, '|', &choice); number++)
        if (span_equal(choice, word)) {
            *ret_blind = (enum config_blind)number;
            return true;
        }
    return false;
}

/* ---- writing ------------------------------------------------------------- */

static bool is_among(struct span word, const char *const *list) {
    while (*list != NULL)
        if (span_is(word, *list++))
            return true;
    return false;
}

/* Keys that do not apply to the other kind of target. */
static bool key_fits(const struct config_key *key, bool git) {
    static const char *const git_only[] = {
        "git",       "branch",        "blind",     "symlinks",
        "committer", "check-filters", "interrupt", "follow",
        "land-max",  "check-retries", "remember",  "remember-for",
        "volatile",  "environment",   NULL};
    static const char *const command_only[] = {"command", "revert", NULL};
    struct span name = span_of(key->name);
    return git ? !is_among(name, command_only) : !is_among(name, git_only);
}

void config_target_write(struct config *config,
                         const struct config_target *target, struct text *out) {
    text_addf(out, "[target \"%.*s\"]\n", (int)target->name.len,
              target->name.p);
    for (size_t k = 0; k < COUNT(keys); k++) {
        if (!key_fits(&keys[k], target->git.len))
            continue;
        struct span value =
            config_value_format(&config->arena, &keys[k], target);
        text_addf(out, "%s =%s%.*s\n", keys[k].name, value.len ? " " : "",
                  (int)value.len, value.p ? value.p : "");
    }
    if (target->check_count == 0 && target->git.len > 0)
        text_adds(out, "# Commands that must succeed before a set lands, each "
                       "with a name. They run\n# without a shell; for its "
                       "syntax write sh -c '...'.\n# check.unit = make "
                       "check\n");
    for (size_t i = 0; i < target->check_count; i++)
        text_addf(out, "check.%.*s = %.*s\n", (int)target->checks[i].name.len,
                  target->checks[i].name.p,
                  (int)target->checks[i].command.text.len,
                  target->checks[i].command.text.p);
}
