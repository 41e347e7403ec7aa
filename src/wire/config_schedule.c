/* [schedule "NAME"] */
#include "wire/config_section.h"
#include "wire/schedule_spec.h"

static const struct config_key keys[] = {
#define CONFIG_KEY(...) CONFIG_ROW(struct config_schedule, __VA_ARGS__),
#include "wire/config_schedule.def"
};

static bool check_label(struct span label, const struct config_spot *spot) {
    struct err why = {0};
    return schedule_name_check(label, &why) ||
           config_refuse(spot, "%s", why.text);
}

static bool schedule_finish(const struct config *config, const void *section,
                            struct err *err) {
    const struct config_schedule *schedule = section;
    (void)config;
    struct config_spot spot = {schedule->origin.file, schedule->origin.line,
                               err};
    const char *lacks = schedule->item.len == 0    ? "item"
                        : schedule->run.count == 0 ? "run"
                                                   : NULL;
    return lacks == NULL ||
           config_refuse(&spot, "schedule '%.*s' has no '%s'",
                         (int)schedule->name.len, schedule->name.p, lacks);
}

const struct config_section config_schedule_section = {
    .name = "schedule",
    .keys = keys,
    .key_count = COUNT(keys),
    .bytes = sizeof(struct config_schedule),
    .at = offsetof(struct config, schedules),
    .check_label = check_label,
    .count_at = offsetof(struct config, schedule_count),
    .origin_at = offsetof(struct config_schedule, origin),
    .finish = schedule_finish,
};
