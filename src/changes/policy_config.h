/* [approval "NAME"], a policy on who must approve which change sets, and
 * [person "NAME"], the names of one person. */
#ifndef POINTSMAN_CHANGES_POLICY_CONFIG_H
#define POINTSMAN_CHANGES_POLICY_CONFIG_H

#include "wire/config_section.h"

enum config_unapproved { UNAPPROVED_HOLD, UNAPPROVED_REFUSE };

struct config_approval {
    struct span name;
    struct config_origin origin; /* its first section line */
#define CONFIG_KEY(key, kind, field, ...) CONFIG_FIELD(kind, field)
#include "changes/config_approval.def"
};

struct config_person {
    struct span name;
    struct config_origin origin; /* its section line */
#define CONFIG_KEY(key, kind, field, ...) CONFIG_FIELD(kind, field)
#include "changes/config_person.def"
};

extern const struct config_section approval_section, person_section;

/* Those of the files in their order; NULL: there are no more. */
const struct config_approval *policy_config_at(const struct config *config,
                                               size_t index);
const struct config_person *policy_config_person_at(const struct config *config,
                                                    size_t index);

#endif
