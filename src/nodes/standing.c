#include "nodes/standing.h"

#include <stdlib.h>

#include "nodes/resource_config.h"
#include "nodes/standing_definition.h"

enum { TEMP_MAX_H = 24, PATTERNS_MOST = 2 * (NODE_LEVELS_MOST + 1) };

struct standing_memory {
    struct arena arena;
    struct pattern *patterns[PATTERNS_MOST];
    size_t pattern_count;
};

struct making {
    const struct standing_definition *d;
    const struct node_settings *settings;
    const struct standing_names *names; /* NULL: numbers are not needed */
    struct standing *standing;
    struct standing_memory *memory;
    struct text *errors;
};

static bool complain(const struct making *making, const char *format, ...)
    PRINTF_LIKE(2, 3);
static bool complain(const struct making *making, const char *format, ...) {
    va_list args;

    va_start(args, format);
    text_addv(making->errors, format, args);
    va_end(args);
    text_addc(making->errors, '\n');
    return false;
}

/* ---- levels and resources ------------------------------------------------ */

static bool find_level(const struct making *making, const char *key,
                       struct span name, unsigned *ret_level) {
    if (node_config_level(making->settings->config, name, ret_level))
        return true;
    return complain(making,
                    "%s: there is no level '%.*s'; [nodes] lists the levels",
                    key, (int)name.len, name.p);
}

static bool make_levels(const struct making *making) {
    const struct standing_definition *d = making->d;
    struct node_job_spec *spec = &making->standing->spec;

    spec->level = making->settings->level_count - 1;
    if (d->level.len > 0 &&
        !find_level(making, "level", d->level, &spec->level))
        return false;
    spec->host = d->host;
    spec->follows_host = d->host_level.len > 0;
    if (!spec->follows_host)
        return true;
    return find_level(making, "host_level", d->host_level, &spec->host_level) &&
           (spec->host_level <= spec->level ||
            complain(making,
                     "host_level: level '%.*s' is below that of the tasks",
                     (int)d->host_level.len, d->host_level.p));
}

static bool make_demand(const struct making *making) {
    const struct standing_definition *d = making->d;
    struct node_demand *demand = &making->standing->spec.demand;
    bool ok = true, is_worker;
    unsigned level, resource;

    *demand = making->settings->usual;
    for (size_t i = 0; i < d->amount_count; i++) {
        struct span name = d->amounts[i].name;
        if (!node_settings_resource(making->settings, name, &is_worker, &level,
                                    &resource)) {
            ok = complain(making,
                          "resources: there is no resource '%.*s'; a section "
                          "[resource \"%.*s\"] would define it",
                          (int)name.len, name.p, (int)name.len, name.p);
            continue;
        }
        if (is_worker)
            demand->of_worker[resource] = d->amounts[i].amount;
        else
            demand->of_level[level][resource] = d->amounts[i].amount;
    }
    return ok;
}

/* ---- filters ------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b) {
    return span_compare(*(const struct span *)a, *(const struct span *)b);
}

static const struct span *sorted(struct lines list) {
    if (list.count > 1)
        qsort(list.items, list.count, sizeof(*list.items), by_bytes);
    return list.items;
}

static struct pattern *compile(const struct making *making, struct span regex) {
    struct standing_memory *memory = making->memory;
    struct pattern *pattern = NULL;

    /* The definition was checked; there are two for each level. */
    if (regex.len > 0 && memory->pattern_count < PATTERNS_MOST &&
        pattern_new(regex, false, &pattern, NULL))
        memory->patterns[memory->pattern_count++] = pattern;
    return pattern;
}

static bool make_filter(const struct making *making,
                        const struct standing_filter *from) {
    struct node_job_spec *spec = &making->standing->spec;
    struct node_filter *filter = &spec->worker_filter;
    unsigned level;

    if (!span_is(from->level, RESOURCE_WORKER)) {
        if (!find_level(making, "filters", from->level, &level))
            return false;
        filter = &spec->filters[level];
    } else if (from->tags.count > 0) {
        return complain(making, "filters.worker.tags: workers have no tags");
    }
    *filter = (struct node_filter){
        .names = sorted(from->whitelist),
        .name_count = from->whitelist.count,
        .refused = sorted(from->blacklist),
        .refused_count = from->blacklist.count,
        .accepts = compile(making, from->whitelist_regex),
        .refuses = compile(making, from->blacklist_regex),
        .tags = sorted(from->tags),
        .tag_count = from->tags.count,
        .fraction = from->fraction == NODE_FRACTION_WHOLE ? 0 : from->fraction,
        .salt = node_hash(making->standing->name),
    };
    return true;
}

static bool make_filters(const struct making *making) {
    const struct standing_definition *d = making->d;
    bool ok = true;

    for (size_t i = 0; i < d->filter_count; i++)
        ok = make_filter(making, &d->filters[i]) && ok;
    return ok;
}

/* ---- relations ----------------------------------------------------------- */

static bool make_relation(const struct making *making, const char *key,
                          const struct lines *names, const uint64_t **ret_nums,
                          size_t *ret_count) {
    uint64_t *nums =
        arena_alloc(&making->memory->arena, (names->count + 1) * sizeof(*nums));
    bool ok = true;

    *ret_nums = nums;
    for (size_t i = 0; i < names->count; i++)
        if (!making->names->find(making->names->ctx, names->items[i],
                                 &nums[(*ret_count)++]))
            ok = complain(making, "%s: there is no standing job '%.*s'", key,
                          (int)names->items[i].len, names->items[i].p);
    return ok;
}

static bool make_relations(const struct making *making) {
    const struct standing_definition *d = making->d;
    struct node_job_spec *spec = &making->standing->spec;
    bool ok = make_relation(making, "depends_on", &d->depends_on,
                            &spec->depends_on, &spec->depends_count);

    return make_relation(making, "after_all_nodes_of", &d->after_all_nodes_of,
                         &spec->after_nodes_of, &spec->after_count) &&
           ok;
}

/* ---- the rest ------------------------------------------------------------ */

static void make_rules(const struct making *making) {
    const struct standing_definition *d = making->d;
    const struct config *config = making->settings->config;
    struct node_rules *rules = &making->standing->spec.rules;
    uint32_t *waits_s = d->backoff_s;
    size_t count = d->backoff_count;
    bool fails = d->backoff_fails;
    const char *why;

    if (!d->has_backoff)
        (void)node_config_backoff(node_config(config), &making->memory->arena,
                                  &waits_s, &count, &fails, &why);
    rules->limits = (struct retry_limits){
        .max_temp = (unsigned)config->queue.max_temp,
        .max_crash = (unsigned)config->queue.max_crash,
        .temp_max_ms = INT64_C(3600000) * TEMP_MAX_H,
        .retries = fails ? (unsigned)count : STANDING_RETRIES,
        .backoff_s = waits_s,
        .backoff_count = count,
        .backoff_fails = fails,
    };
    rules->killed_waits = true;
}

static void make_rest(const struct making *making,
                      const struct standing_row *row) {
    CLEANUP(text_clear) struct text job = TEXT_INIT;
    const struct standing_definition *d = making->d;
    struct node_job_spec *spec = &making->standing->spec;

    spec->num = row->num;
    spec->enabled = row->enabled && !row->deleted;
    spec->job_class = (enum job_class)d->job.class;
    spec->account = d->owner;
    spec->priority = d->priority;
    spec->max_running = d->max_running;
    spec->order = making->settings->order;
    spec->kill_orphans_after_ms = d->has_kill_orphans
                                      ? d->kill_orphans_after_ms
                                      : making->settings->kill_orphans_after_ms;
    make_rules(making);
    standing_definition_format_job(d, &job);
    making->standing->submission =
        arena_span(&making->memory->arena, text_span(&job));
}

static bool make(struct making *making, const struct standing_row *row) {
    struct standing_definition *d =
        arena_alloc(&making->memory->arena, sizeof(*d));
    struct span text = arena_span(&making->memory->arena, row->definition);
    bool ok;

    making->d = d;
    if (!standing_definition_parse(text, &making->memory->arena, d,
                                   making->errors))
        return false;
    ok = make_levels(making);
    ok = make_demand(making) && ok;
    ok = make_filters(making) && ok;
    ok = (making->names == NULL || make_relations(making)) && ok;
    if (ok)
        make_rest(making, row);
    return ok;
}

bool standing_make_all(const struct standing_row *row,
                       const struct node_settings *settings,
                       const struct standing_names *names,
                       struct standing *ret_standing, struct text *errors) {
    struct making making = {.settings = settings,
                            .names = names,
                            .standing = ret_standing,
                            .memory = mem_alloc(sizeof(*making.memory)),
                            .errors = errors};

    *ret_standing =
        (struct standing){.version = row->version, .memory = making.memory};
    ret_standing->name = arena_span(&making.memory->arena, row->name);
    if (make(&making, row))
        return true;
    standing_clear(ret_standing);
    return false;
}

bool standing_make(const struct standing_row *row,
                   const struct node_settings *settings,
                   const struct standing_names *names,
                   struct standing *ret_standing, struct err *err) {
    CLEANUP(text_clear) struct text errors = TEXT_INIT;
    struct span rest, first;

    if (standing_make_all(row, settings, names, ret_standing, &errors))
        return true;
    rest = text_span(&errors);
    (void)span_cut(&rest, '\n', &first);
    return err_set(err, ERR_DATA, "job '%.*s': %.*s", (int)row->name.len,
                   row->name.p, (int)first.len, first.p);
}

void standing_clear(struct standing *standing) {
    struct standing_memory *memory = standing->memory;

    for (size_t i = 0; memory != NULL && i < memory->pattern_count; i++)
        pattern_free(memory->patterns[i]);
    if (memory != NULL)
        arena_clear(&memory->arena);
    free(memory);
    *standing = (struct standing){0};
}
