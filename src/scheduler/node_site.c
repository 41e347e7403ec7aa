#include "scheduler/node_site.h"

#include <inttypes.h>

static void put_amounts(struct text *out, const struct span *names,
                        const int64_t *amounts) {
    for (unsigned i = 0; i < NODE_RESOURCES_MOST; i++)
        if (amounts[i] != 0)
            text_addf(out, " %.*s=%" PRId64, (int)names[i].len, names[i].p,
                      amounts[i]);
}

void node_site_format(const struct node_site *site,
                      const struct node_names *names, struct text *out) {
    text_adds(out, "on");
    for (size_t i = 0; i < site->count; i++) {
        struct span level = names->levels[site->levels[i]];
        text_addf(out, " %.*s=%.*s", (int)level.len, level.p,
                  (int)site->nodes[i].len, site->nodes[i].p);
    }
    text_adds(out, " takes");
    for (unsigned l = 0; l < names->level_count; l++)
        put_amounts(out, names->of_level[l], site->demand.of_level[l]);
    put_amounts(out, names->of_worker, site->demand.of_worker);
}

static void take_node(struct span level, struct span node,
                      const struct node_names *names, struct node_site *site) {
    for (unsigned l = 0; l < names->level_count; l++)
        if (span_equal(level, names->levels[l]) &&
            site->count < NODE_LEVELS_MOST) {
            site->nodes[site->count] = node;
            site->levels[site->count++] = l;
        }
}

static void take_amount(struct span name, struct span number,
                        const struct node_names *names,
                        struct node_site *site) {
    uint64_t amount;
    if (!span_u64(number, &amount) || amount > INT64_MAX)
        return;
    for (unsigned i = 0; i < NODE_RESOURCES_MOST; i++) {
        if (span_equal(name, names->of_worker[i]))
            site->demand.of_worker[i] = (int64_t)amount;
        for (unsigned l = 0; l < names->level_count; l++)
            if (span_equal(name, names->of_level[l][i]))
                site->demand.of_level[l][i] = (int64_t)amount;
    }
}

bool node_site_parse(struct span line, const struct node_names *names,
                     struct node_site *ret_site) {
    struct span word, key;
    bool takes = false, on = false;
    *ret_site = (struct node_site){0};
    while (line.len > 0 && span_cut(&line, ' ', &word)) {
        bool pair = memchr(word.p, '=', word.len) != NULL;
        on = on || span_is(word, "on");
        takes = takes || span_is(word, "takes");
        if (!on || !pair)
            continue;
        span_cut(&word, '=', &key);
        if (takes)
            take_amount(key, word, names, ret_site);
        else
            take_node(key, word, names, ret_site);
    }
    return ret_site->count > 0;
}
