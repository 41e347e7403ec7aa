/* [serve]: the addresses of the server. */
#include "wire/config_section.h"

static const struct config_key keys[] = {
#define CONFIG_KEY(...) CONFIG_ROW(struct config_serve, __VA_ARGS__),
#include "wire/config_serve.def"
};

static const char *const later[] = {"heartbeat", "lose-after", NULL};

const struct config_section config_serve_section = {
    .name = "serve",
    .keys = keys,
    .key_count = COUNT(keys),
    .bytes = sizeof(struct config_serve),
    .at = offsetof(struct config, serve),
    .later = later,
};
