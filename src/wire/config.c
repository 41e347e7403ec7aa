/* Everything about a key comes from config.def through one table: where its
 * value lies, how it is read, how it is shown. Sections are the only thing
 * known by name here. */
#include "wire/config.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/job.h"
#include "wire/config_rows.h"
#include "wire/ini.h"
#include "wire/path.h"
#include "wire/ref_name.h"
#include "wire/schedule_spec.h"
#include "wire/words.h"

const char *const config_section_names[SECTIONS] = {
    "queue", "target", "schedule", "approval", "serve"};
/* Written down in the manual already, built later. */
static const char *const later_sections[] = {"fleet", "intake"};
static const char *const later_serve_keys[] = {"heartbeat", "lose-after"};

#define PLACE_QUEUE(field) offsetof(struct config_queue, field)
#define PLACE_TARGET(field) offsetof(struct config_target, field)
#define PLACE_SCHEDULE(field) offsetof(struct config_schedule, field)
#define PLACE_APPROVAL(field) offsetof(struct config_approval, field)
#define PLACE_SERVE(field) offsetof(struct config_serve, field)

const struct config_row config_rows[CONFIG_KEYS] = {
#define CONFIG_KEY(section, key, kind, field, usual, least, most, choices, \
                   meaning)                                                \
    {SECTION_##section, (key),   KIND_##kind, PLACE_##section(field),      \
     (usual),           (least), (most),      (choices),                   \
     (meaning)},
#include "wire/config.def"
#undef CONFIG_KEY
};

/* Where a value is set, for errors. */
struct spot {
    const char *file;
    unsigned line;
    struct err *err;
};

static bool refuse(const struct spot *spot, const char *format, ...)
    PRINTF_LIKE(2, 3);
static bool refuse(const struct spot *spot, const char *format, ...) {
    va_list args;
    va_start(args, format);
    err_vset(spot->err, ERR_CONFIG, format, args);
    va_end(args);
    if (spot->line)
        return err_wrap(spot->err, "%s:%u", spot->file, spot->line);
    return err_wrap(spot->err, "%s", spot->file);
}

static bool number_with_suffix(struct span value, int64_t *ret) {
    static const char units[] = "KMGT";
    unsigned shift = 0;
    const char *unit =
        value.len ? memchr(units, value.p[value.len - 1], 4) : NULL;
    if (unit) {
        shift = 10 * (unsigned)(unit - units + 1);
        value.len--;
    }
    uint64_t number;
    if (!span_u64(value, &number) || number > (uint64_t)INT64_MAX >> shift)
        return false;
    *ret = (int64_t)(number << shift);
    return true;
}

static bool whole_seconds(struct span value, int64_t *ret) {
    int64_t ms;
    if (!duration_parse(value, &ms) || ms % 1000)
        return false;
    *ret = ms / 1000;
    return true;
}

static bool read_number(const struct config_row *row, struct span value,
                        int64_t *ret, const struct spot *spot) {
    static const char *const forms[] = {
        [KIND_INT] = "a number",
        [KIND_SECONDS] = "a duration such as 90, 15m, 2h",
        [KIND_OFF_SECONDS] = "off or a duration such as 90, 15m, 2h",
        [KIND_BYTES] = "a size such as 4096, 256M, 2G"};
    bool fine = row->kind == KIND_INT     ? span_i64(value, ret)
                : row->kind == KIND_BYTES ? number_with_suffix(value, ret)
                                          : whole_seconds(value, ret);
    if (!fine)
        return refuse(spot, "%s = '%.*s' is not %s", row->key, (int)value.len,
                      value.p, forms[row->kind]);
    if (*ret < row->least || *ret > row->most)
        return refuse(spot, "%s = '%.*s' is out of range, %lld to %lld",
                      row->key, (int)value.len, value.p, (long long)row->least,
                      (long long)row->most);
    return true;
}

static bool is_off(struct span value) {
    return span_is(value, "off") || span_is(value, "no") ||
           span_is(value, "false");
}

static bool read_choice(const struct config_row *row, struct span value,
                        int64_t *ret, const struct spot *spot) {
    struct span choice, rest = span_of(row->choices);
    for (int64_t number = 0; span_cut(&rest, '|', &choice); number++) {
        if (span_equal(choice, value)) {
            *ret = number;
            return true;
        }
    }
    return refuse(spot, "%s = '%.*s' is none of %s", row->key, (int)value.len,
                  value.p, row->choices);
}

static bool read_command(struct config *config, struct span value,
                         struct config_command *ret, const char *key,
                         const struct spot *spot) {
    struct err inner = {0};
    ret->text = value;
    if (!words_split(value, &config->arena, &ret->words, &ret->count, &inner))
        return refuse(spot, "%s: %s", key, inner.text);
    return true;
}

static bool read_value(struct config *config, const struct config_row *row,
                       struct span value, void *at, const struct spot *spot) {
    switch (row->kind) {
    case KIND_OFF_SECONDS:
        if (is_off(value)) {
            *(int64_t *)at = 0;
            return true;
        }
        return read_number(row, value, at, spot);
    case KIND_INT:
    case KIND_SECONDS:
    case KIND_BYTES:
        return read_number(row, value, at, spot);
    case KIND_CHOICE:
        return read_choice(row, value, at, spot);
    case KIND_TEXT:
        *(struct span *)at = value;
        return true;
    case KIND_COMMAND:
        return read_command(config, value, at, row->key, spot);
    }
    return false;
}

static void put_defaults(struct config *config, enum config_section section,
                         char *at) {
    struct spot spot = {"default", 0, NULL};
    for (size_t k = 0; k < CONFIG_KEYS; k++)
        if (config_rows[k].section == section)
            read_value(config, &config_rows[k], span_of(config_rows[k].usual),
                       at + config_rows[k].place, &spot);
}

void config_init(struct config *config) {
    *config = (struct config){.arena = ARENA_INIT};
    put_defaults(config, SECTION_QUEUE, (char *)&config->queue);
    put_defaults(config, SECTION_SERVE, (char *)&config->serve);
}

void config_clear(struct config *config) {
    for (size_t i = 0; i < config->target_count; i++)
        free(config->targets[i].checks);
    free(config->targets);
    free(config->schedules);
    free(config->approvals);
    arena_clear(&config->arena);
    *config = (struct config){0};
}

static struct config_target *find_target(const struct config *config,
                                         struct span name) {
    for (size_t i = 0; i < config->target_count; i++)
        if (span_equal(config->targets[i].name, name))
            return &config->targets[i];
    return NULL;
}

const struct config_target *config_target(const struct config *config,
                                          struct span name) {
    return find_target(config, name);
}

static struct config_target *
open_target(struct config *config, struct span name, const struct spot *spot) {
    struct config_target *target = find_target(config, name);
    if (target)
        return target;
    if (!ref_name_is_valid(name)) {
        refuse(spot, "target '%.*s' is not a name git would take for a branch",
               (int)name.len, name.p ? name.p : "");
        return NULL;
    }
    config->targets = mem_grow(config->targets, config->target_count + 1,
                               sizeof *config->targets);
    target = &config->targets[config->target_count++];
    *target = (struct config_target){.name = arena_span(&config->arena, name),
                                     .origin = {spot->file, spot->line}};
    put_defaults(config, SECTION_TARGET, (char *)target);
    return target;
}

static struct config_schedule *open_schedule(struct config *config,
                                             struct span name,
                                             const struct spot *spot) {
    for (size_t i = 0; i < config->schedule_count; i++)
        if (span_equal(config->schedules[i].name, name))
            return &config->schedules[i];
    struct err why = {0};
    if (!schedule_name_check(name, &why)) {
        refuse(spot, "%s", why.text);
        return NULL;
    }
    config->schedules = mem_grow(config->schedules, config->schedule_count + 1,
                                 sizeof *config->schedules);
    struct config_schedule *schedule =
        &config->schedules[config->schedule_count++];
    *schedule =
        (struct config_schedule){.name = arena_span(&config->arena, name),
                                 .origin = {spot->file, spot->line}};
    put_defaults(config, SECTION_SCHEDULE, (char *)schedule);
    return schedule;
}

static struct config_approval *open_approval(struct config *config,
                                             struct span name,
                                             const struct spot *spot) {
    for (size_t i = 0; i < config->approval_count; i++)
        if (span_equal(config->approvals[i].name, name))
            return &config->approvals[i];
    if (name.len == 0) {
        refuse(spot, "a policy needs a name: [approval \"prod\"]");
        return NULL;
    }
    config->approvals = mem_grow(config->approvals, config->approval_count + 1,
                                 sizeof *config->approvals);
    struct config_approval *approval =
        &config->approvals[config->approval_count++];
    *approval =
        (struct config_approval){.name = arena_span(&config->arena, name),
                                 .origin = {spot->file, spot->line}};
    put_defaults(config, SECTION_APPROVAL, (char *)approval);
    return approval;
}

static bool refuse_unknown(const struct spot *spot, const char *what,
                           struct span word, const char *const *known,
                           size_t count) {
    CLEANUP(text_free_string) char *copy = span_string(word);
    const char *near = text_nearest(copy, known, count);
    if (near)
        return refuse(spot, "unknown %s '%s', did you mean '%s'?", what, copy,
                      near);
    return refuse(spot, "unknown %s '%s'", what, copy);
}

bool config_word_among(struct span word, const char *const *list,
                       size_t count) {
    for (size_t i = 0; i < count; i++)
        if (span_is(word, list[i]))
            return true;
    return false;
}

static bool find_section(struct span name, enum config_section *ret_section,
                         const struct spot *spot) {
    for (int s = 0; s < SECTIONS; s++) {
        if (span_is(name, config_section_names[s])) {
            *ret_section = (enum config_section)s;
            return true;
        }
    }
    if (config_word_among(name, later_sections, COUNT(later_sections)))
        return refuse(spot, "section [%.*s] is not available in this version",
                      (int)name.len, name.p);
    return refuse_unknown(spot, "section", name, config_section_names,
                          SECTIONS);
}

static const struct config_row *find_row(enum config_section section,
                                         struct span key,
                                         const struct spot *spot) {
    const char *known[CONFIG_KEYS + 1];
    size_t count = 0;
    for (size_t k = 0; k < CONFIG_KEYS; k++) {
        if (config_rows[k].section != section)
            continue;
        if (span_is(key, config_rows[k].key))
            return &config_rows[k];
        known[count++] = config_rows[k].key;
    }
    if (section == SECTION_SERVE &&
        config_word_among(key, later_serve_keys, COUNT(later_serve_keys))) {
        refuse(spot, "key '%.*s' is not available in this version",
               (int)key.len, key.p);
        return NULL;
    }
    if (section == SECTION_TARGET)
        known[count++] = "check.NAME";
    refuse_unknown(spot, "key", key, known, count);
    return NULL;
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

/* An empty command takes the check away again. */
static bool set_check(struct config *config, struct config_target *target,
                      struct span key, struct span value,
                      const struct spot *spot) {
    struct span name = span_make(key.p + 6, key.len - 6);
    if (!check_name_is_valid(name))
        return refuse(spot,
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
    return read_command(config, value, &check->command, "check", spot);
}

static bool value_fits(const struct config_row *row, struct span value,
                       const struct spot *spot) {
    if (!strcmp(row->key, "branch") && !ref_name_is_valid(value))
        return refuse(spot, "branch = '%.*s' is not a name git would take",
                      (int)value.len, value.p);
    if (!strcmp(row->key, "committer") &&
        (!span_ends(value, ">") || !memchr(value.p, '<', value.len)))
        return refuse(spot, "committer = '%.*s' is not 'Name <mail>'",
                      (int)value.len, value.p);
    return true;
}

/* Where the values of a section lie, and where each was set. */
struct place {
    char *at;
    struct config_origin *origins;
    struct config_target *target; /* of this one; NULL: of another section */
};

static bool set_key_of(struct config *config, enum config_section section,
                       const struct place *place, struct span key,
                       struct span value, const struct spot *spot) {
    if (place->target && span_starts(key, "check."))
        return set_check(config, place->target, key, value, spot);
    const struct config_row *row = find_row(section, key, spot);
    if (!row)
        return false;
    if (!value_fits(row, value, spot) ||
        !read_value(config, row, value, place->at + row->place, spot))
        return false;
    place->origins[row - config_rows] =
        (struct config_origin){spot->file, spot->line};
    return true;
}

static bool open_labelled(struct config *config, enum config_section section,
                          struct span label, struct place *ret_place,
                          const struct spot *spot) {
    if (section == SECTION_SCHEDULE) {
        struct config_schedule *schedule = open_schedule(config, label, spot);
        if (!schedule)
            return false;
        *ret_place = (struct place){(char *)schedule, schedule->origins, NULL};
        return true;
    }
    if (section == SECTION_APPROVAL) {
        struct config_approval *approval = open_approval(config, label, spot);
        if (!approval)
            return false;
        *ret_place = (struct place){(char *)approval, approval->origins, NULL};
        return true;
    }
    if (!label.len)
        return refuse(spot, "a target needs a name: [target \"main\"]");
    struct config_target *target = open_target(config, label, spot);
    if (!target)
        return false;
    *ret_place = (struct place){(char *)target, target->origins, target};
    return true;
}

static bool set_item(struct config *config, const struct ini_item *item,
                     const struct spot *spot) {
    enum config_section section = SECTION_QUEUE;
    if (!find_section(item->section, &section, spot))
        return false;
    struct place place = {section == SECTION_QUEUE ? (char *)&config->queue
                                                   : (char *)&config->serve,
                          config->origins, NULL};
    if (section == SECTION_TARGET || section == SECTION_SCHEDULE ||
        section == SECTION_APPROVAL) {
        if (!open_labelled(config, section, item->label, &place, spot))
            return false;
    } else if (item->label.len) {
        return refuse(spot, "section [%s] takes no label",
                      config_section_names[section]);
    }
    if (!item->key.len)
        return true;
    return set_key_of(config, section, &place, item->key, item->value, spot);
}

bool config_read(struct config *config, struct span text, const char *file,
                 struct err *err) {
    struct ini ini;
    const char *name = arena_string(&config->arena, span_of(file));
    if (!ini_parse(text, name, &config->arena, &ini, err))
        return false;
    for (size_t i = 0; i < ini.count; i++) {
        struct spot spot = {name, ini.items[i].line, err};
        if (!set_item(config, &ini.items[i], &spot))
            return false;
    }
    return true;
}

bool config_set(struct config *config, struct span section, struct span label,
                struct span key, struct span value, const char *file,
                unsigned line, struct err *err) {
    struct ini_item item = {section, label, key,
                            arena_span(&config->arena, span_trim(value)), line};
    struct spot spot = {arena_string(&config->arena, span_of(file)), line, err};
    if (!key.len)
        return refuse(&spot, "no key given");
    return set_item(config, &item, &spot);
}

static bool refuse_target(const struct config_target *target,
                          struct config_origin origin, struct err *err,
                          const char *what) {
    struct spot spot = {origin.file ? origin.file : target->origin.file,
                        origin.file ? origin.line : target->origin.line, err};
    return refuse(&spot, "target '%.*s' %s", (int)target->name.len,
                  target->name.p, what);
}

static bool target_finish(const struct config_target *target, struct err *err) {
    bool git = target->git.len, command = target->command.count;
    if (!git && !command)
        return refuse_target(target, target->origin, err,
                             "has neither 'git' nor 'command'");
    if (git && command)
        return refuse_target(target, target->origins[CONFIG_TARGET_command],
                             err, "has both 'git' and 'command'");
    if (git && target->revert.count)
        return refuse_target(target, target->origins[CONFIG_TARGET_revert], err,
                             "needs no 'revert', git knows how");
    if (command)
        for (size_t i = 0; i < target->check_count; i++)
            if (target->checks[i].command.count)
                return refuse_target(target, target->checks[i].origin, err,
                                     "can have checks only with 'git'");
    return true;
}

static bool schedule_finish(const struct config_schedule *schedule,
                            struct err *err) {
    struct spot spot = {schedule->origin.file, schedule->origin.line, err};
    const char *lacks = schedule->item.len == 0    ? "item"
                        : schedule->run.count == 0 ? "run"
                                                   : NULL;
    return lacks == NULL ||
           refuse(&spot, "schedule '%.*s' has no '%s'", (int)schedule->name.len,
                  schedule->name.p, lacks);
}

static struct spot approval_spot(const struct config_approval *approval,
                                 struct config_origin origin, struct err *err) {
    return (struct spot){origin.file ? origin.file : approval->origin.file,
                         origin.file ? origin.line : approval->origin.line,
                         err};
}

static bool classes_finish(const struct config_approval *approval,
                           struct err *err) {
    struct spot spot =
        approval_spot(approval, approval->origins[CONFIG_APPROVAL_class], err);
    struct span rest = approval->class, word;
    enum job_class job_class;
    while (rest.len > 0 && span_cut(&rest, ',', &word))
        if (!job_class_parse(span_trim(word), &job_class))
            return refuse(&spot, "class '%.*s': RB, EM, BF and DC are classes",
                          (int)word.len, word.p);
    return true;
}

static bool role_is_valid(struct span role) {
    uint64_t uid;
    if (span_starts(role, "uid:"))
        return span_u64(span_make(role.p + 4, role.len - 4), &uid) &&
               uid < UINT32_MAX;
    return span_is(role, "operator") ||
           (span_starts(role, "user:") && role.len > 5);
}

static bool roles_finish(const struct config_approval *approval,
                         struct err *err) {
    struct spot spot =
        approval_spot(approval, approval->origins[CONFIG_APPROVAL_role], err);
    struct span rest = approval->role, word;
    while (rest.len > 0 && span_cut(&rest, ',', &word))
        if (!role_is_valid(span_trim(word)))
            return refuse(&spot,
                          "role '%.*s': operator, uid:N and user:NAME are "
                          "roles",
                          (int)word.len, word.p);
    return true;
}

/* A policy that can never apply lets through what it was written to hold. */
static bool reach_finish(const struct config *config,
                         const struct config_approval *approval,
                         struct err *err) {
    struct spot target =
        approval_spot(approval, approval->origins[CONFIG_APPROVAL_target], err);
    struct spot path =
        approval_spot(approval, approval->origins[CONFIG_APPROVAL_path], err);
    if (approval->target.len > 0 && !config_target(config, approval->target))
        return refuse(&target,
                      "target '%.*s': no such section [target \"%.*s\"]",
                      (int)approval->target.len, approval->target.p,
                      (int)approval->target.len, approval->target.p);
    const char *fault =
        approval->path.len > 0 ? path_pattern_fault(approval->path) : NULL;
    return fault == NULL ||
           refuse(&path, "path '%.*s': %s", (int)approval->path.len,
                  approval->path.p, fault);
}

static bool approval_finish(const struct config *config,
                            const struct config_approval *approval,
                            struct err *err) {
    return classes_finish(approval, err) && roles_finish(approval, err) &&
           reach_finish(config, approval, err);
}

bool config_finish(struct config *config, struct err *err) {
    for (size_t i = 0; i < config->approval_count; i++)
        if (!approval_finish(config, &config->approvals[i], err))
            return false;
    for (size_t i = 0; i < config->schedule_count; i++)
        if (!schedule_finish(&config->schedules[i], err))
            return false;
    for (size_t i = 0; i < config->target_count; i++)
        if (!target_finish(&config->targets[i], err))
            return false;
    return true;
}

struct set_limits config_set_limits(const struct config *config,
                                    const struct config_target *target) {
    const struct config_queue *queue = &config->queue;
    struct set_limits limits = SET_LIMITS;
    limits.unpacked_bytes = (uint64_t)queue->max_unpacked_bytes;
    limits.members = (uint64_t)queue->max_members;
    limits.ratio = (uint64_t)queue->max_ratio;
    limits.path = (struct path_limits){(size_t)queue->max_path_bytes,
                                       (size_t)queue->max_component_bytes,
                                       (size_t)queue->max_depth};
    limits.symlinks = target && target->symlinks == SYMLINKS_ALLOW;
    return limits;
}
