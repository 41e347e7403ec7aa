#include "toy/toy_config.h"

static const struct config_key keys[] = {
#define CONFIG_KEY(...) CONFIG_ROW(struct config_toy, __VA_ARGS__),
#include "toy/config_toy.def"
};

const struct config_section toy_section = {
    .name = "toy",
    .keys = keys,
    .key_count = COUNT(keys),
    .bytes = sizeof(struct config_toy),
};

const struct config_toy *toy_config(const struct config *config) {
    return config_added(config, &toy_section, 0);
}
