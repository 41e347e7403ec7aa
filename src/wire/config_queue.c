/* [queue]: the queue of a base, and limits for the submissions it accepts. */
#include "wire/config_section.h"

static const struct config_key keys[] = {
#define CONFIG_KEY(...) CONFIG_ROW(struct config_queue, __VA_ARGS__),
#include "wire/config_queue.def"
};

const struct config_section config_queue_section = {
    .name = "queue",
    .keys = keys,
    .key_count = COUNT(keys),
    .bytes = sizeof(struct config_queue),
    .at = offsetof(struct config, queue),
};

struct set_limits config_set_limits(const struct config *config,
                                    const struct config_target *target) {
    const struct config_queue *queue = &config->queue;
    struct set_limits limits = SET_LIMITS;
    limits.unpacked_bytes = (uint64_t)queue->max_unpacked_bytes;
    limits.members = (uint64_t)queue->max_members;
    limits.ratio = (uint64_t)queue->max_ratio;
    /* One more was the default once, and may be configured. */
    int64_t path_bytes = queue->max_path_bytes < PATH_BYTES_MAX
                             ? queue->max_path_bytes
                             : PATH_BYTES_MAX;
    limits.path = (struct path_limits){(size_t)path_bytes,
                                       (size_t)queue->max_component_bytes,
                                       (size_t)queue->max_depth};
    limits.symlinks = target && target->symlinks == SYMLINKS_ALLOW;
    return limits;
}
