/* The configuration as people read it: every key, its value as one would write
 * it, and where it was set. */
#include "wire/config_rows.h"

#include <string.h>

static struct span choice_name(const struct config_row *row, int64_t number) {
    struct span choice, rest = span_of(row->choices);
    while (span_cut(&rest, '|', &choice) && number)
        number--;
    return choice;
}

struct span config_blind_word(enum config_blind blind) {
    return choice_name(&config_rows[CONFIG_TARGET_blind], blind);
}

bool config_blind_parse(struct span word, enum config_blind *ret_blind) {
    int64_t number;
    struct span choice,
        rest = span_of(config_rows[CONFIG_TARGET_blind].choices);
    for (number = 0; span_cut(&rest, '|', &choice); number++)
        if (span_equal(choice, word)) {
            *ret_blind = (enum config_blind)number;
            return true;
        }
    return false;
}

static struct span bytes_name(struct arena *arena, int64_t bytes) {
    static const char units[] = "TGMK";
    for (int i = 0; i < 4; i++) {
        int shift = 10 * (4 - i);
        if (bytes >> shift && !(bytes & ((INT64_C(1) << shift) - 1)))
            return span_of(arena_printf(arena, "%lld%c",
                                        (long long)(bytes >> shift), units[i]));
    }
    return span_of(arena_printf(arena, "%lld", (long long)bytes));
}

static struct span value_name(struct config *config,
                              const struct config_row *row, const void *at) {
    switch (row->kind) {
    case KIND_CHOICE:
        return choice_name(row, *(const int64_t *)at);
    case KIND_TEXT:
        return *(const struct span *)at;
    case KIND_COMMAND:
        return ((const struct config_command *)at)->text;
    case KIND_BYTES:
        return bytes_name(&config->arena, *(const int64_t *)at);
    case KIND_OFF_SECONDS:
        if (!*(const int64_t *)at)
            return SPAN("off");
        break;
    case KIND_INT:
    case KIND_SECONDS:
        break;
    }
    return span_of(
        arena_printf(&config->arena, "%lld", (long long)*(const int64_t *)at));
}

static bool keys_entry(struct config *config, enum config_section section,
                       const char *at, struct span label,
                       const struct config_origin *origins, size_t *left,
                       struct config_entry *ret) {
    for (size_t k = 0; k < CONFIG_KEYS; k++) {
        if (config_rows[k].section != section || (*left)--)
            continue;
        *ret = (struct config_entry){
            config_section_names[section],
            label,
            span_of(config_rows[k].key),
            value_name(config, &config_rows[k], at + config_rows[k].place),
            origins[k],
            config_rows[k].meaning};
        return true;
    }
    return false;
}

static bool section_entry(struct config *config, enum config_section section,
                          const struct config_target *target, size_t *left,
                          struct config_entry *ret) {
    const char *at = target                     ? (const char *)target
                     : section == SECTION_QUEUE ? (const char *)&config->queue
                                                : (const char *)&config->serve;
    if (keys_entry(config, section, at,
                   target ? target->name : (struct span){0},
                   target ? target->origins : config->origins, left, ret))
        return true;
    for (size_t i = 0; target && i < target->check_count; i++) {
        const struct config_check *check = &target->checks[i];
        if ((*left)--)
            continue;
        *ret = (struct config_entry){
            config_section_names[section],
            target->name,
            span_of(arena_printf(&config->arena, "check.%.*s",
                                 (int)check->name.len, check->name.p)),
            check->command.text,
            check->origin,
            "must pass on the merged tree before the branch moves"};
        return true;
    }
    return false;
}

bool config_next(struct config *config, size_t *cursor,
                 struct config_entry *ret_entry) {
    size_t left = (*cursor)++;
    if (section_entry(config, SECTION_QUEUE, NULL, &left, ret_entry) ||
        section_entry(config, SECTION_SERVE, NULL, &left, ret_entry))
        return true;
    for (size_t i = 0; i < config->target_count; i++)
        if (section_entry(config, SECTION_TARGET, &config->targets[i], &left,
                          ret_entry))
            return true;
    for (size_t i = 0; i < config->schedule_count; i++) {
        const struct config_schedule *schedule = &config->schedules[i];
        if (keys_entry(config, SECTION_SCHEDULE, (const char *)schedule,
                       schedule->name, schedule->origins, &left, ret_entry))
            return true;
    }
    for (size_t i = 0; i < config->approval_count; i++) {
        const struct config_approval *approval = &config->approvals[i];
        if (keys_entry(config, SECTION_APPROVAL, (const char *)approval,
                       approval->name, approval->origins, &left, ret_entry))
            return true;
    }
    return false;
}

static void put_section(const struct config_entry *entry, struct text *out) {
    if (entry->label.len)
        text_addf(out, "[%s \"%.*s\"]\n", entry->section, (int)entry->label.len,
                  entry->label.p);
    else
        text_addf(out, "[%s]\n", entry->section);
}

void config_format(struct config *config, struct text *out) {
    struct config_entry entry, last = {0};
    for (size_t cursor = 0; config_next(config, &cursor, &entry);) {
        if (last.section != entry.section ||
            !span_equal(last.label, entry.label)) {
            if (last.section)
                text_addc(out, '\n');
            put_section(&entry, out);
        }
        last = entry;
        size_t start = out->len;
        text_addspan(out, entry.key);
        text_adds(out, " = ");
        text_addspan(out, entry.value);
        while (out->len - start < 40)
            text_addc(out, ' ');
        if (!entry.origin.file)
            text_adds(out, "  default\n");
        else if (entry.origin.line)
            text_addf(out, "  %s:%u\n", entry.origin.file, entry.origin.line);
        else
            text_addf(out, "  %s\n", entry.origin.file);
    }
}

/* Keys that mean nothing for the other way of applying. */
static bool key_fits(const struct config_row *row, bool git) {
    static const char *const git_only[] = {"git", "branch", "blind", "symlinks",
                                           "committer"};
    static const char *const command_only[] = {"command", "revert"};
    struct span key = span_of(row->key);
    return git ? !config_word_among(key, command_only, COUNT(command_only))
               : !config_word_among(key, git_only, COUNT(git_only));
}

void config_target_write(struct config *config,
                         const struct config_target *target, struct text *out) {
    text_addf(out, "[target \"%.*s\"]\n", (int)target->name.len,
              target->name.p);
    for (size_t k = 0; k < CONFIG_KEYS; k++) {
        if (config_rows[k].section != SECTION_TARGET ||
            !key_fits(&config_rows[k], target->git.len))
            continue;
        struct span value =
            value_name(config, &config_rows[k],
                       (const char *)target + config_rows[k].place);
        text_addf(out, "%s =%s%.*s\n", config_rows[k].key, value.len ? " " : "",
                  (int)value.len, value.p ? value.p : "");
    }
    for (size_t i = 0; i < target->check_count; i++)
        text_addf(out, "check.%.*s = %.*s\n", (int)target->checks[i].name.len,
                  target->checks[i].name.p,
                  (int)target->checks[i].command.text.len,
                  target->checks[i].command.text.p);
}
