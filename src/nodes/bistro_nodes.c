#include "nodes/bistro_nodes.h"

#include <inttypes.h>

#include "lib/map.h"
#include "core/node_limits.h"

struct listed {               /* a place of a node */
    struct span name, parent; /* parent empty: the instance */
    unsigned level;
};

struct parent {
    bool is_child, disabled;
};

struct reading {
    struct arena *arena;
    struct text *sources, *errors;
    struct span levels[NODE_LEVELS_MOST]; /* 0: the instance */
    unsigned level_count;
    struct map level_of;  /* names of listed nodes -> level */
    struct listed *nodes; /* of one source */
    size_t count, room;
    struct map parents; /* names of the source that have children -> struct
                           parent */
    unsigned number;    /* of the source */
};

static bool name_of(struct reading *reading, struct json_value value,
                    struct span *ret_name) {
    if (json_get_string(value, reading->arena, ret_name) && ret_name->len > 0)
        return true;
    text_addf(reading->errors,
              "node_sources[%u]: a node has a name, which is text\n",
              reading->number);
    return false;
}

/* ---- listed nodes -------------------------------------------------------- */

static void add(struct reading *reading, struct span name, struct span parent) {
    if (reading->count == reading->room) {
        struct listed *more;
        reading->room = reading->room * 2 + 64;
        more = arena_alloc(reading->arena, reading->room * sizeof(*more));
        if (reading->count > 0)
            memcpy(more, reading->nodes, reading->count * sizeof(*more));
        reading->nodes = more;
    }
    reading->nodes[reading->count++] =
        (struct listed){.name = name, .parent = parent};
}

static void read_names(struct reading *reading, struct json_value value,
                       struct span parent) {
    struct json_value item;
    struct span name;
    size_t cursor = 0;

    if (value.type != JSON_ARRAY) {
        if (name_of(reading, value, &name))
            add(reading, name, parent);
        return;
    }
    while (json_next(value, &cursor, reading->arena, NULL, &item))
        if (name_of(reading, item, &name))
            add(reading, name, parent);
}

/* {PARENT: [CHILD, ...] or CHILD or {"children": ..., "disabled": true}};
 * `disabled` is about the parent. */
static void read_manual(struct reading *reading, struct json_value prefs) {
    struct json_value value, children, disabled;
    struct span name;
    size_t cursor = 0;

    while (json_next(prefs, &cursor, reading->arena, &name, &value)) {
        struct parent *parent = arena_alloc(reading->arena, sizeof(*parent));
        (void)map_put(&reading->parents, name, parent);
        if (value.type == JSON_OBJECT) {
            if (json_member(value, "disabled", &disabled))
                (void)json_get_bool(disabled, &parent->disabled);
            (void)json_member(value, "children", &children);
            value = children;
        }
        if (value.type != JSON_NULL)
            read_names(reading, value, name);
    }
}

/* 0: not known. */
static unsigned level_of(const struct reading *reading, struct span name) {
    return (unsigned)(uintptr_t)map_get(&reading->level_of, name);
}

static void set_level(struct reading *reading, struct span name,
                      unsigned level) {
    (void)map_put(&reading->level_of, name, (void *)(uintptr_t)level);
}

/* Parents that are nobody's children and no other source has named are below
 * the instance. */
static void add_tops(struct reading *reading) {
    struct span name;
    size_t cursor = 0, count = reading->count;
    void *at;

    for (size_t i = 0; i < count; i++) {
        struct parent *parent =
            map_get(&reading->parents, reading->nodes[i].name);
        if (parent != NULL)
            parent->is_child = true;
    }
    while (map_next(&reading->parents, &cursor, &name, &at))
        if (!((struct parent *)at)->is_child && level_of(reading, name) == 0)
            add(reading, arena_span(reading->arena, name), SPAN(""));
}

/* A node is one level below its parent, which may be listed behind it: each
 * round finds one level more. False: there is a ring, or too many levels. */
static bool find_levels(struct reading *reading) {
    bool more = true;

    for (unsigned round = 0; more && round < reading->level_count; round++) {
        more = false;
        for (size_t i = 0; i < reading->count; i++) {
            struct listed *node = &reading->nodes[i];
            unsigned above =
                node->parent.len == 0 ? 0 : level_of(reading, node->parent);
            if (node->level > 0)
                continue;
            if (node->parent.len > 0 && above == 0) {
                more = true;
                continue;
            }
            node->level = above + 1;
            set_level(reading, node->name, node->level);
        }
    }
    for (size_t i = 0; i < reading->count; i++)
        more = more || reading->nodes[i].level >= reading->level_count;
    return !more;
}

/* In quotes, as an item of a list. */
static void put_item(struct reading *reading, const struct listed *node) {
    const struct parent *parent = map_get(&reading->parents, node->name);
    CLEANUP(text_clear) struct text item = TEXT_INIT;

    text_addspan(&item, node->name);
    if (node->parent.len > 0)
        text_addf(&item, " below=%.*s", (int)node->parent.len, node->parent.p);
    if (parent != NULL && parent->disabled)
        text_adds(&item, " disabled");
    text_adds(reading->sources, "node = \"");
    for (size_t i = 0; i < item.len; i++) {
        if (item.p[i] == '"' || item.p[i] == '\\')
            text_addc(reading->sources, '\\');
        text_addc(reading->sources, item.p[i]);
    }
    text_adds(reading->sources, "\"\n");
}

static void put_header(struct reading *reading, const char *kind,
                       unsigned level) {
    struct span name = reading->levels[level];

    text_addf(reading->sources, "\n[node-source \"%s%u-%.*s\"]\nlevel = %.*s\n",
              kind, reading->number, (int)name.len, name.p, (int)name.len,
              name.p);
}

static void put_manual(struct reading *reading, struct json_value prefs) {
    if (prefs.type != JSON_OBJECT) {
        text_addf(reading->errors,
                  "node_sources[%u].prefs: an object is expected\n",
                  reading->number);
        return;
    }
    map_clear(&reading->parents);
    reading->nodes = NULL;
    reading->count = reading->room = 0;
    read_manual(reading, prefs);
    add_tops(reading);
    if (!find_levels(reading)) {
        text_addf(reading->errors,
                  "node_sources[%u]: nodes are below each other in a ring, or "
                  "below the last level\n",
                  reading->number);
        return;
    }
    for (unsigned level = 1; level < reading->level_count; level++) {
        bool any = false;
        for (size_t i = 0; i < reading->count; i++) {
            if (reading->nodes[i].level != level)
                continue;
            if (!any)
                put_header(reading, "manual", level);
            any = true;
            put_item(reading, &reading->nodes[i]);
        }
    }
}

/* ---- ranges -------------------------------------------------------------- */

static struct span text_of(struct reading *reading, struct json_value object,
                           const char *key) {
    struct json_value value;
    struct span text;

    if (!json_member(object, key, &value))
        return SPAN("");
    return json_get_string(value, reading->arena, &text) ? text : value.raw;
}

static void put_range(struct reading *reading, struct json_value prefs) {
    struct span above, format, start, end, enabled;
    unsigned level = 0;

    if (prefs.type != JSON_OBJECT) {
        text_addf(reading->errors,
                  "node_sources[%u].prefs: an object is expected\n",
                  reading->number);
        return;
    }
    above = text_of(reading, prefs, "parent_level");
    format = text_of(reading, prefs, "format");
    start = text_of(reading, prefs, "start");
    end = text_of(reading, prefs, "end");
    enabled = text_of(reading, prefs, "enabled");
    while (level < reading->level_count &&
           !span_equal(reading->levels[level], above))
        level++;
    if (level + 1 >= reading->level_count) {
        text_addf(reading->errors,
                  "node_sources[%u].prefs.parent_level: '%.*s' is no level "
                  "above another one\n",
                  reading->number, (int)above.len, above.p);
        return;
    }
    put_header(reading, "range", level + 1);
    text_addf(reading->sources, "range = %.*s-%.*s\nparents = %.*s\n",
              (int)start.len, start.p, (int)end.len, end.p, (int)above.len,
              above.p);
    if (format.len > 0)
        text_addf(reading->sources, "format = %.*s\n", (int)format.len,
                  format.p);
    if (enabled.len > 0)
        text_addf(reading->sources, "enabled = %.*s\n", (int)enabled.len,
                  enabled.p);
}

/* ---- all of them --------------------------------------------------------- */

static void read_levels(struct reading *reading, struct json_value nodes,
                        struct text *keys) {
    struct json_value list, item;
    size_t cursor = 0;

    reading->levels[reading->level_count++] = SPAN("instance");
    if (!json_member(nodes, "levels", &list) || list.type != JSON_ARRAY) {
        text_adds(reading->errors,
                  "bistro_settings.nodes.levels is not a list of names\n");
        return;
    }
    text_adds(keys, "levels =");
    while (json_next(list, &cursor, reading->arena, NULL, &item)) {
        struct span name = SPAN("");
        if (!json_get_string(item, reading->arena, &name) ||
            reading->level_count == NODE_LEVELS_MOST) {
            text_addf(reading->errors,
                      "bistro_settings.nodes.levels: at most %d names\n",
                      NODE_LEVELS_MOST - 1);
            break;
        }
        text_addf(keys, "%s %.*s", reading->level_count > 1 ? "," : "",
                  (int)name.len, name.p);
        reading->levels[reading->level_count++] = name;
    }
    text_addc(keys, '\n');
}

static void put_source(struct reading *reading, struct json_value source) {
    struct span kind = source.type == JSON_OBJECT
                           ? text_of(reading, source, "source")
                           : SPAN("");
    struct json_value prefs = {.type = JSON_NULL};

    if (source.type == JSON_OBJECT)
        (void)json_member(source, "prefs", &prefs);
    if (span_is(kind, "manual"))
        put_manual(reading, prefs);
    else if (span_is(kind, "range_label"))
        put_range(reading, prefs);
    else if (!span_is(kind, "empty"))
        text_addf(reading->errors,
                  "node_sources[%u]: a source '%.*s' has no counterpart in "
                  "this version\n",
                  reading->number, (int)kind.len, kind.p);
}

void bistro_nodes_put(struct json_value nodes, struct arena *arena,
                      struct text *keys, struct text *sources,
                      struct text *errors) {
    struct reading reading = {
        .arena = arena, .sources = sources, .errors = errors};
    struct json_value list, source;
    struct span key;
    size_t cursor = 0;

    while (json_next(nodes, &cursor, arena, &key, &source))
        if (!span_is(key, "levels") && !span_is(key, "node_order") &&
            !span_is(key, "node_sources"))
            text_addf(errors, "unknown key 'bistro_settings.nodes.%.*s'\n",
                      (int)key.len, key.p);
    read_levels(&reading, nodes, keys);
    cursor = 0;
    if (json_member(nodes, "node_sources", &list) && list.type == JSON_ARRAY)
        while (json_next(list, &cursor, arena, NULL, &source)) {
            put_source(&reading, source);
            reading.number++;
        }
    map_clear(&reading.level_of);
    map_clear(&reading.parents);
}
