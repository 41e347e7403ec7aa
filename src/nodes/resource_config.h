/* The sections [resource "NAME"], [worker-limits "HOST"] and [account "NAME"].
 */
#ifndef POINTSMAN_NODES_RESOURCE_CONFIG_H
#define POINTSMAN_NODES_RESOURCE_CONFIG_H

#include "wire/config_section.h"

#define RESOURCE_WORKER "worker" /* level of the resources of workers */
#define RESOURCE_SLOT "slot"     /* that of workers which is always there */

struct config_resource {
    struct span name;
    struct config_origin origin; /* its section line */
#define CONFIG_KEY(key, kind, field, ...) CONFIG_FIELD(kind, field)
#include "nodes/config_resource.def"
};

struct config_worker_limits {
    struct span name; /* of the host */
    struct config_origin origin;
#define CONFIG_KEY(key, kind, field, ...) CONFIG_FIELD(kind, field)
#include "nodes/config_worker-limits.def"
};

struct config_account {
    struct span name;
    struct config_origin origin;
#define CONFIG_KEY(key, kind, field, ...) CONFIG_FIELD(kind, field)
#include "nodes/config_account.def"
};

extern const struct config_section resource_section, worker_limits_section,
    account_section;

/* Those of the files in their order; NULL: there are no more. */
const struct config_resource *resource_config_at(const struct config *config,
                                                 size_t index);
const struct config_worker_limits *
resource_config_worker(const struct config *config, struct span host);
const struct config_account *
resource_config_account_at(const struct config *config, size_t index);
/* "db1=20" as name and number. False: it is not of that form, or the number is
 * negative or too large. */
bool resource_config_limit(struct span item, struct span *ret_name,
                           int64_t *ret_limit);

#endif
