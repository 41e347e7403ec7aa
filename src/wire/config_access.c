/* [access]: who has which role in a base shared with other accounts. */
#include "core/access.h"
#include "wire/config_section.h"

static const struct config_key keys[] = {
#define CONFIG_KEY(...) CONFIG_ROW(struct config_access, __VA_ARGS__),
#include "wire/config_access.def"
};

bool config_access_next(struct span *rest, struct span *ret_name) {
    while (rest->len > 0 && span_cut(rest, ',', ret_name)) {
        *ret_name = span_trim(*ret_name);
        if (ret_name->len > 0)
            return true;
    }
    return false;
}

static bool account_is_valid(struct span name) {
    for (size_t i = 0; i < name.len; i++)
        if (strchr(" \t:@*!,", name.p[i]) != NULL)
            return false;
    return name.len > 0;
}

static bool name_is_valid(struct span name) {
    if (span_is(name, "*"))
        return true;
    if (span_starts(name, "person:"))
        return access_person_is_valid(access_actor_person_of(name));
    if (span_starts(name, "@"))
        name = span_make(name.p + 1, name.len - 1);
    return account_is_valid(name);
}

/* An empty part is most often a name that was forgotten. */
static bool check_names(const struct config_key *key, struct span value,
                        const struct config_spot *spot) {
    struct span rest = value, name;
    if (key->kind != KIND_TEXT)
        return true;
    if (strcmp(key->name, "shell") == 0)
        return value.len == 0 || account_is_valid(value) ||
               config_refuse(spot, "%s: '%.*s' is not an account", key->name,
                             (int)value.len, value.p);
    while (rest.len > 0 && span_cut(&rest, ',', &name)) {
        name = span_trim(name);
        if (!name_is_valid(name))
            return config_refuse(spot,
                                 "%s: '%.*s' is not an account, an @group, "
                                 "person:NAME or *; separate them by commas",
                                 key->name, (int)name.len, name.p);
    }
    return true;
}

const struct config_section config_access_section = {
    .name = "access",
    .keys = keys,
    .key_count = COUNT(keys),
    .bytes = sizeof(struct config_access),
    .at = offsetof(struct config, access),
    .check_value = check_names,
};
