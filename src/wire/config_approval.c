/* [approval "NAME"]: a policy on who must approve which change sets. */
#include "core/job.h"
#include "wire/config_section.h"
#include "wire/path.h"

static const struct config_key keys[] = {
#define CONFIG_KEY(...) CONFIG_ROW(struct config_approval, __VA_ARGS__),
#include "wire/config_approval.def"
};

static bool check_label(struct span label, const struct config_spot *spot) {
    return label.len > 0 ||
           config_refuse(spot, "a policy needs a name: [approval \"prod\"]");
}

static bool classes_finish(const struct config_approval *approval,
                           struct err *err) {
    struct config_spot spot =
        config_spot_of(approval->class_origin, approval->origin, err);
    struct span rest = approval->class, word;
    enum job_class job_class;
    while (rest.len > 0 && span_cut(&rest, ',', &word))
        if (!job_class_parse(span_trim(word), &job_class))
            return config_refuse(&spot,
                                 "class '%.*s': RB, EM, BF and DC are classes",
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
    struct config_spot spot =
        config_spot_of(approval->role_origin, approval->origin, err);
    struct span rest = approval->role, word;
    while (rest.len > 0 && span_cut(&rest, ',', &word))
        if (!role_is_valid(span_trim(word)))
            return config_refuse(
                &spot,
                "role '%.*s': operator, uid:N and user:NAME are "
                "roles",
                (int)word.len, word.p);
    return true;
}

/* A policy that can never apply would let pass the sets that it should hold. */
static bool reach_finish(const struct config *config,
                         const struct config_approval *approval,
                         struct err *err) {
    struct config_spot target =
        config_spot_of(approval->target_origin, approval->origin, err);
    struct config_spot path =
        config_spot_of(approval->path_origin, approval->origin, err);
    if (approval->target.len > 0 && !config_target(config, approval->target))
        return config_refuse(&target,
                             "target '%.*s': no such section [target \"%.*s\"]",
                             (int)approval->target.len, approval->target.p,
                             (int)approval->target.len, approval->target.p);
    const char *fault =
        approval->path.len > 0 ? path_pattern_fault(approval->path) : NULL;
    return fault == NULL ||
           config_refuse(&path, "path '%.*s': %s", (int)approval->path.len,
                         approval->path.p, fault);
}

static bool approval_finish(const struct config *config, const void *section,
                            struct err *err) {
    const struct config_approval *approval = section;
    return classes_finish(approval, err) && roles_finish(approval, err) &&
           reach_finish(config, approval, err);
}

const struct config_section config_approval_section = {
    .name = "approval",
    .keys = keys,
    .key_count = COUNT(keys),
    .bytes = sizeof(struct config_approval),
    .at = offsetof(struct config, approvals),
    .check_label = check_label,
    .count_at = offsetof(struct config, approval_count),
    .origin_at = offsetof(struct config_approval, origin),
    .finish = approval_finish,
};
