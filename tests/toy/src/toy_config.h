/* [toy]: what toys say. */
#ifndef POINTSMAN_TOY_TOY_CONFIG_H
#define POINTSMAN_TOY_TOY_CONFIG_H

#include "wire/config_section.h"

struct config_toy {
#define CONFIG_KEY(key, kind, field, ...) CONFIG_FIELD(kind, field)
#include "toy/config_toy.def"
};

extern const struct config_section toy_section;

const struct config_toy *toy_config(const struct config *config);

#endif
