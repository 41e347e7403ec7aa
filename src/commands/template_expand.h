/* A submission that names a template becomes the command of the template. */
#ifndef POINTSMAN_COMMANDS_TEMPLATE_EXPAND_H
#define POINTSMAN_COMMANDS_TEMPLATE_EXPAND_H

#include "base/base.h"
#include "commands/template_config.h"
#include "wire/submission.h"

/* True if this actor may use the template: whom `allow` names, and the owner of
 * the base and root. A name that this machine does not know allows nobody. */
bool template_allows(const struct base *base,
                     const struct config_template *template,
                     const struct access_actor *actor);
/* Sets the command of a submission that names a template, and what else the
 * template sets; `params` then has all parameters in the order of the template,
 * with their defaults. No effect on other submissions. `base` NULL: there are
 * no templates. ERR_DATA: one line with all that is wrong with the parameters,
 * or what the submission must not set; ERR_DENIED. */
bool template_expand(const struct base *base, const struct access_actor *actor,
                     struct submission *submission, struct arena *arena,
                     struct err *err);

#endif
