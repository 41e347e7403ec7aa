/* The sections [template "NAME"]: commands with declared parameters. */
#ifndef POINTSMAN_COMMANDS_TEMPLATE_CONFIG_H
#define POINTSMAN_COMMANDS_TEMPLATE_CONFIG_H

#include "commands/template_param.h"
#include "wire/config_section.h"
#include "wire/set_name.h"

struct config_template {
    struct span name;
    struct config_origin origin; /* its first section line */
    struct template_param *params;
    struct config_entry *entries; /* the declarations as written */
    size_t param_count;
#define CONFIG_KEY(key, kind, field, ...) CONFIG_FIELD(kind, field)
#include "commands/config_template.def"
};

extern const struct config_section template_config_section;

/* Those of the files in their order; NULL: there are no more. */
const struct config_template *template_config_at(const struct config *config,
                                                 size_t index);
/* NULL: there is none. */
const struct config_template *template_config_find(const struct config *config,
                                                   struct span name);
/* NULL: it has no such parameter. */
const struct template_param *
template_config_param(const struct config_template *template, struct span name);
/* Takes the next piece off a word of the command: text, or (*ret_param) the
 * place of a parameter. False: there are no more. */
bool template_config_piece(const struct config_template *template,
                           struct span *rest, struct span *ret_text,
                           const struct template_param **ret_param);

#endif
