#include "nodes/node_config.h"

#include "core/node_limits.h"
#include "nodes/node_line.h"
#include "nodes/standing_value.h"

enum { LABEL_BYTES = 40 };

static const struct config_key keys[] = {
#define CONFIG_KEY(...) CONFIG_ROW(struct config_nodes, __VA_ARGS__),
#include "nodes/config_nodes.def"
};

static const struct config_key source_keys[] = {
#define CONFIG_KEY(...) CONFIG_ROW(struct config_node_source, __VA_ARGS__),
#include "nodes/config_node-source.def"
};

const struct config_nodes *node_config(const struct config *config) {
    return config_added(config, &node_config_section, 0);
}

const struct config_node_source *
node_config_source_at(const struct config *config, size_t index) {
    return config_added(config, &node_config_source_section, index);
}

/* ---- levels -------------------------------------------------------------- */

bool node_config_level(const struct config *config, struct span name,
                       unsigned *ret_level) {
    const struct config_nodes *nodes = node_config(config);

    *ret_level = 0;
    if (span_is(name, NODE_INSTANCE))
        return true;
    for (size_t i = 0; nodes != NULL && i < nodes->levels.count; i++)
        if (span_equal(nodes->levels.items[i].text, name)) {
            *ret_level = (unsigned)i + 1;
            return true;
        }
    return false;
}

static bool check_level_name(struct span name, const struct config_spot *spot) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";
    bool ok = name.len > 0 && name.len <= LABEL_BYTES;

    for (size_t i = 0; ok && i < name.len; i++)
        ok = memchr(allowed, name.p[i], sizeof(allowed) - 1) != NULL;
    if (!ok)
        return config_refuse(spot,
                             "level '%.*s': a level has 1 to %d small letters, "
                             "digits, '-' and '_'",
                             (int)name.len, name.p, LABEL_BYTES);
    return (!span_is(name, NODE_INSTANCE) && !span_is(name, "worker")) ||
           config_refuse(spot, "level '%.*s': this level is there already, %s",
                         (int)name.len, name.p,
                         span_is(name, "worker") ? "below all others"
                                                 : "above all others");
}

static bool check_levels(const struct config_nodes *nodes, struct err *err) {
    struct config_spot spot =
        config_spot_of(nodes->levels_origin, (struct config_origin){0}, err);

    if (nodes->levels.count > NODE_LEVELS_MOST - 1)
        return config_refuse(&spot, "levels: %d at most", NODE_LEVELS_MOST - 1);
    for (size_t i = 0; i < nodes->levels.count; i++) {
        struct span name = nodes->levels.items[i].text;
        if (!check_level_name(name, &spot))
            return false;
        for (size_t k = 0; k < i; k++)
            if (span_equal(nodes->levels.items[k].text, name))
                return config_refuse(&spot, "level '%.*s' is there twice",
                                     (int)name.len, name.p);
    }
    return true;
}

bool node_config_backoff(const struct config_nodes *nodes, struct arena *arena,
                         uint32_t **ret_waits_s, size_t *ret_count,
                         bool *ret_fails, const char **ret_why) {
    struct span usual[] = {SPAN("15"),  SPAN("30"),    SPAN("1m"), SPAN("5m"),
                           SPAN("15m"), SPAN("1h"),    SPAN("2h"), SPAN("6h"),
                           SPAN("1d"),  SPAN("repeat")};
    size_t count = nodes->backoff.count;
    struct lines waits = {usual, COUNT(usual)};

    if (count > 0) {
        waits.items = arena_alloc(arena, count * sizeof(*waits.items));
        waits.count = count;
    }
    for (size_t i = 0; i < count; i++)
        waits.items[i] = nodes->backoff.items[i].text;
    return standing_backoff_read(&waits, arena, ret_waits_s, ret_count,
                                 ret_fails, ret_why);
}

static bool check_backoff(const struct config_nodes *nodes, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct config_spot spot =
        config_spot_of(nodes->backoff_origin, (struct config_origin){0}, err);
    const char *why;
    uint32_t *waits_s;
    size_t count;
    bool fails;

    return node_config_backoff(nodes, &arena, &waits_s, &count, &fails, &why) ||
           config_refuse(&spot, "backoff is not %s", why);
}

static bool finish_nodes(const struct config *config, const void *section,
                         struct err *err) {
    const struct config_nodes *nodes = section;
    struct config_spot orphans = config_spot_of(
        nodes->kill_orphans_after_origin, (struct config_origin){0}, err);
    int64_t ms;

    (void)config;
    return check_levels(nodes, err) && check_backoff(nodes, err) &&
           (standing_orphans_read(nodes->kill_orphans_after, &ms) ||
            config_refuse(&orphans,
                          "kill-orphans-after = '%.*s' is neither never nor a "
                          "duration such as 90, 15m, 2h",
                          (int)nodes->kill_orphans_after.len,
                          nodes->kill_orphans_after.p));
}

const struct config_section node_config_section = {
    .name = "nodes",
    .keys = keys,
    .key_count = COUNT(keys),
    .bytes = sizeof(struct config_nodes),
    .finish = finish_nodes,
};

/* ---- sources ------------------------------------------------------------- */

bool node_config_range(struct span range, uint64_t *ret_first,
                       uint64_t *ret_last) {
    struct span first;

    return span_cut(&range, '-', &first) && range.p != NULL &&
           span_u64(span_trim(first), ret_first) &&
           span_u64(span_trim(range), ret_last) && *ret_first <= *ret_last;
}

static bool check_label(struct span label, const struct config_spot *spot) {
    return (label.len > 0 && label.len <= LABEL_BYTES) ||
           config_refuse(spot,
                         "a source needs a name of 1 to %d bytes, as in "
                         "[node-source \"hosts\"]",
                         LABEL_BYTES);
}

static bool check_nodes(const struct config_node_source *source,
                        struct err *err) {
    struct config_spot spot =
        config_spot_of(source->node_origin, source->origin, err);

    for (size_t i = 0; i < source->node.count; i++) {
        struct span text = source->node.items[i].text;
        struct node_line line;
        struct err why;
        if (!node_line_parse(text, &line, &why))
            return config_refuse(&spot, "node '%.*s': %s", (int)text.len,
                                 text.p, why.text);
    }
    return true;
}

static bool check_range(const struct config_node_source *source,
                        struct err *err) {
    struct config_spot spot =
        config_spot_of(source->range_origin, source->origin, err);
    uint64_t first, last;

    return source->range.len == 0 ||
           node_config_range(source->range, &first, &last) ||
           config_refuse(&spot,
                         "range '%.*s': two numbers, the smaller one first, "
                         "such as 0-24",
                         (int)source->range.len, source->range.p);
}

static bool check_parents(const struct config *config,
                          const struct config_node_source *source,
                          unsigned level, struct err *err) {
    struct config_spot spot =
        config_spot_of(source->parents_origin, source->origin, err);
    unsigned above;

    if (!node_config_level(config, source->parents, &above))
        return config_refuse(&spot, "parents: there is no level '%.*s'",
                             (int)source->parents.len, source->parents.p);
    return above < level ||
           config_refuse(&spot,
                         "parents: level '%.*s' is not above level '%.*s'",
                         (int)source->parents.len, source->parents.p,
                         (int)source->level.len, source->level.p);
}

static bool finish_source(const struct config *config, const void *section,
                          struct err *err) {
    const struct config_node_source *source = section;
    struct config_spot spot = {source->origin.file, source->origin.line, err};
    struct config_spot at =
        config_spot_of(source->level_origin, source->origin, err);
    unsigned level, kinds = (source->node.count > 0) + (source->file.len > 0) +
                            (source->range.len > 0) +
                            (source->script.count > 0);

    if (!node_config_level(config, source->level, &level) || level == 0)
        return config_refuse(&at,
                             "node-source '%.*s': there is no level '%.*s'; "
                             "[nodes] lists the levels",
                             (int)source->name.len, source->name.p,
                             (int)source->level.len, source->level.p);
    if (kinds > 1)
        return config_refuse(&spot,
                             "node-source '%.*s' has more than one of 'node', "
                             "'file', 'range' and 'script'",
                             (int)source->name.len, source->name.p);
    return check_nodes(source, err) && check_range(source, err) &&
           check_parents(config, source, level, err);
}

const struct config_section node_config_source_section = {
    .name = "node-source",
    .keys = source_keys,
    .key_count = COUNT(source_keys),
    .bytes = sizeof(struct config_node_source),
    .check_label = check_label,
    .origin_at = offsetof(struct config_node_source, origin),
    .finish = finish_source,
};
