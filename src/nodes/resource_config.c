#include "nodes/resource_config.h"

#include "core/node_tree.h"
#include "nodes/node_config.h"
#include "nodes/node_line.h"
#include "nodes/standing_value.h"

static const struct config_key resource_keys[] = {
#define CONFIG_KEY(...) CONFIG_ROW(struct config_resource, __VA_ARGS__),
#include "nodes/config_resource.def"
};

static const struct config_key worker_keys[] = {
#define CONFIG_KEY(...) CONFIG_ROW(struct config_worker_limits, __VA_ARGS__),
#include "nodes/config_worker-limits.def"
};

static const struct config_key account_keys[] = {
#define CONFIG_KEY(...) CONFIG_ROW(struct config_account, __VA_ARGS__),
#include "nodes/config_account.def"
};

const struct config_resource *resource_config_at(const struct config *config,
                                                 size_t index) {
    return config_added(config, &resource_section, index);
}

const struct config_worker_limits *
resource_config_worker(const struct config *config, struct span host) {
    return config_added_find(config, &worker_limits_section, host);
}

const struct config_account *
resource_config_account_at(const struct config *config, size_t index) {
    return config_added(config, &account_section, index);
}

bool resource_config_limit(struct span item, struct span *ret_name,
                           int64_t *ret_limit) {
    struct span rest = item;
    uint64_t limit;

    if (!span_cut(&rest, '=', ret_name) || rest.p == NULL ||
        !span_u64(span_trim(rest), &limit) ||
        limit > (uint64_t)STANDING_AMOUNT_MOST)
        return false;
    *ret_name = span_trim(*ret_name);
    *ret_limit = (int64_t)limit;
    return ret_name->len > 0;
}

/* ---- lists of limits ----------------------------------------------------- */

/* Each item has that form, and no name is there twice. */
static bool check_limits(const struct config_list *list, const char *key,
                         const struct config_spot *spot) {
    struct map seen = MAP_INIT;
    bool ok = true;

    for (size_t i = 0; ok && i < list->count; i++) {
        struct span item = list->items[i].text, name;
        int64_t limit;
        if (!resource_config_limit(item, &name, &limit))
            ok = config_refuse(spot,
                               "%s: '%.*s' is not NAME=LIMIT with a limit from "
                               "0 to 2^53",
                               key, (int)item.len, item.p);
        else if (map_put(&seen, name, &seen) != NULL)
            ok = config_refuse(spot, "%s: '%.*s' is there twice", key,
                               (int)name.len, name.p);
    }
    map_clear(&seen);
    return ok;
}

/* ---- resources ----------------------------------------------------------- */

static bool check_resource_name(struct span name,
                                const struct config_spot *spot) {
    struct err why;

    if (!node_line_check_name(name, &why))
        return config_refuse(spot, "resource '%.*s': %s", (int)name.len, name.p,
                             why.text);
    return !span_is(name, RESOURCE_SLOT) ||
           config_refuse(spot, "resource 'slot': it is there already, and "
                               "queue.concurrency is its limit");
}

/* Which resource of its level it is. */
static size_t place_of(const struct config *config,
                       const struct config_resource *resource) {
    const struct config_resource *other;
    size_t before = span_is(resource->level, RESOURCE_WORKER) ? 1 : 0;

    for (size_t i = 0; (other = resource_config_at(config, i)) != resource; i++)
        before += span_equal(other->level, resource->level);
    return before;
}

static bool finish_resource(const struct config *config, const void *section,
                            struct err *err) {
    const struct config_resource *resource = section;
    struct config_spot spot = {resource->origin.file, resource->origin.line,
                               err};
    struct config_spot at =
        config_spot_of(resource->level_origin, resource->origin, err);
    struct config_spot nodes =
        config_spot_of(resource->nodes_origin, resource->origin, err);
    bool is_worker = span_is(resource->level, RESOURCE_WORKER);
    unsigned level;

    if (!is_worker && !node_config_level(config, resource->level, &level))
        return config_refuse(&at,
                             "resource '%.*s': there is no level '%.*s'; "
                             "[nodes] lists the levels",
                             (int)resource->name.len, resource->name.p,
                             (int)resource->level.len, resource->level.p);
    if (place_of(config, resource) >= NODE_RESOURCES_MOST)
        return config_refuse(&at,
                             "resource '%.*s': level '%.*s' has more than %d "
                             "resources",
                             (int)resource->name.len, resource->name.p,
                             (int)resource->level.len, resource->level.p,
                             NODE_RESOURCES_MOST);
    if (resource->limit_origin.file == NULL)
        return config_refuse(&spot, "resource '%.*s' has no limit",
                             (int)resource->name.len, resource->name.p);
    if (is_worker && resource->nodes.count > 0)
        return config_refuse(&nodes, "nodes: limits of single workers are in "
                                     "[worker-limits \"HOST\"]");
    return check_limits(&resource->nodes, "nodes", &nodes);
}

const struct config_section resource_section = {
    .name = "resource",
    .keys = resource_keys,
    .key_count = COUNT(resource_keys),
    .bytes = sizeof(struct config_resource),
    .check_label = check_resource_name,
    .is_unique = true,
    .origin_at = offsetof(struct config_resource, origin),
    .finish = finish_resource,
};

/* ---- limits of workers --------------------------------------------------- */

static bool check_host(struct span host, const struct config_spot *spot) {
    struct err why;

    return node_line_check_name(host, &why) ||
           config_refuse(spot, "worker-limits '%.*s': %s", (int)host.len,
                         host.p, why.text);
}

static bool is_of_workers(const struct config *config, struct span name) {
    const struct config_resource *resource;

    for (size_t i = 0; (resource = resource_config_at(config, i)) != NULL; i++)
        if (span_equal(resource->name, name))
            return span_is(resource->level, RESOURCE_WORKER);
    return span_is(name, RESOURCE_SLOT);
}

static bool finish_worker(const struct config *config, const void *section,
                          struct err *err) {
    const struct config_worker_limits *worker = section;
    struct config_spot spot =
        config_spot_of(worker->limits_origin, worker->origin, err);
    struct span name;
    int64_t limit;

    if (!check_limits(&worker->limits, "limits", &spot))
        return false;
    for (size_t i = 0; i < worker->limits.count; i++)
        if (resource_config_limit(worker->limits.items[i].text, &name,
                                  &limit) &&
            !is_of_workers(config, name))
            return config_refuse(&spot,
                                 "limits: there is no resource '%.*s' of level "
                                 "worker",
                                 (int)name.len, name.p);
    return true;
}

const struct config_section worker_limits_section = {
    .name = "worker-limits",
    .keys = worker_keys,
    .key_count = COUNT(worker_keys),
    .bytes = sizeof(struct config_worker_limits),
    .check_label = check_host,
    .is_unique = true,
    .origin_at = offsetof(struct config_worker_limits, origin),
    .finish = finish_worker,
};

/* ---- accounts ------------------------------------------------------------ */

static bool check_account(struct span name, const struct config_spot *spot) {
    struct err why;

    return node_line_check_name(name, &why) ||
           config_refuse(spot, "account '%.*s': %s", (int)name.len, name.p,
                         why.text);
}

const struct config_section account_section = {
    .name = "account",
    .keys = account_keys,
    .key_count = COUNT(account_keys),
    .bytes = sizeof(struct config_account),
    .check_label = check_account,
    .is_unique = true,
    .origin_at = offsetof(struct config_account, origin),
};
