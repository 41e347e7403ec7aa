#include "nodes/node_settings.h"

#include "nodes/node_line.h"
#include "nodes/resource_config.h"
#include "nodes/standing_value.h"

static void add_worker_resource(struct node_settings *settings,
                                struct span name, int64_t usual,
                                uint32_t weight) {
    unsigned at = settings->worker_resource_count++;

    settings->worker_names[at] = name;
    settings->worker_weights[at] = weight;
    settings->usual.of_worker[at] = usual;
}

static void add_resource(struct node_settings *settings,
                         const struct config_resource *resource) {
    struct node_level *level;
    unsigned at, number;

    if (span_is(resource->level, RESOURCE_WORKER)) {
        add_worker_resource(settings, resource->name, resource->usual,
                            (uint32_t)resource->weight);
        return;
    }
    if (!node_config_level(settings->config, resource->level, &number))
        return;
    level = &settings->levels[number];
    at = level->resource_count++;
    level->limits[at] = resource->limit;
    settings->names[number][at] = resource->name;
    settings->usual.of_level[number][at] = resource->usual;
}

void node_settings_read(const struct config *config,
                        struct node_settings *ret_settings) {
    const struct config_nodes *nodes = node_config(config);
    const struct config_resource *resource;
    struct node_settings *s = ret_settings;

    *s = (struct node_settings){.config = config, .level_count = 1};
    s->level_names[0] = SPAN(NODE_INSTANCE);
    for (size_t i = 0; i < nodes->levels.count; i++)
        s->level_names[s->level_count++] = nodes->levels.items[i].text;
    add_worker_resource(s, SPAN(RESOURCE_SLOT), 1, 1);
    for (size_t i = 0; (resource = resource_config_at(config, i)) != NULL; i++)
        add_resource(s, resource);
    s->policy = (enum node_policy)nodes->policy;
    s->selector = (enum node_selector)nodes->worker_selector;
    s->order = (enum node_order)nodes->order;
    (void)standing_orphans_read(nodes->kill_orphans_after,
                                &s->kill_orphans_after_ms);
}

static bool find(const struct span *names, size_t count, struct span name,
                 unsigned *ret_at) {
    for (*ret_at = 0; *ret_at < count; ++*ret_at)
        if (span_equal(names[*ret_at], name))
            return true;
    return false;
}

bool node_settings_resource(const struct node_settings *settings,
                            struct span name, bool *ret_is_worker,
                            unsigned *ret_level, unsigned *ret_resource) {
    *ret_level = 0;
    *ret_is_worker = find(settings->worker_names,
                          settings->worker_resource_count, name, ret_resource);
    if (*ret_is_worker)
        return true;
    for (; *ret_level < settings->level_count; ++*ret_level)
        if (find(settings->names[*ret_level],
                 settings->levels[*ret_level].resource_count, name,
                 ret_resource))
            return true;
    return false;
}

void node_settings_worker_limits(const struct node_settings *settings,
                                 struct span host,
                                 int64_t ret_limits[NODE_RESOURCES_MOST]) {
    const struct config *config = settings->config;
    const struct config_worker_limits *worker =
        resource_config_worker(config, host);
    const struct config_resource *resource;
    size_t count = 0;
    unsigned at;

    ret_limits[count++] = config->queue.concurrency;
    for (size_t i = 0; (resource = resource_config_at(config, i)) != NULL; i++)
        if (span_is(resource->level, RESOURCE_WORKER))
            ret_limits[count++] = resource->limit;
    for (size_t i = 0; worker != NULL && i < worker->limits.count; i++) {
        struct span name;
        int64_t limit;
        if (resource_config_limit(worker->limits.items[i].text, &name,
                                  &limit) &&
            find(settings->worker_names, settings->worker_resource_count, name,
                 &at))
            ret_limits[at] = limit;
    }
}

bool node_settings_limit_at(const struct node_settings *settings, size_t index,
                            struct span *ret_node, unsigned *ret_level,
                            unsigned *ret_resource, int64_t *ret_limit) {
    const struct config_resource *resource;
    bool is_worker;

    for (size_t i = 0;
         (resource = resource_config_at(settings->config, i)) != NULL; i++) {
        if (index >= resource->nodes.count) {
            index -= resource->nodes.count;
            continue;
        }
        return resource_config_limit(resource->nodes.items[index].text,
                                     ret_node, ret_limit) &&
               node_settings_resource(settings, resource->name, &is_worker,
                                      ret_level, ret_resource);
    }
    return false;
}

bool node_settings_account_at(const struct node_settings *settings,
                              size_t index, struct span *ret_name,
                              uint32_t *ret_weight, uint32_t *ret_limit) {
    const struct config_account *account =
        resource_config_account_at(settings->config, index);

    if (account == NULL)
        return false;
    *ret_name = account->name;
    *ret_weight = (uint32_t)account->weight;
    *ret_limit = (uint32_t)account->limit;
    return true;
}
