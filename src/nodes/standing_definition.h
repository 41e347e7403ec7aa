/* The definition of a standing job: what is kept in the registry, what a file
 * of `job set` holds, and what options of `job add` say.
 *
 *     {"owner": "ann", "level": "shard", "priority": 2.5,
 *      "resources": {"connection": 2},
 *      "filters": {"host": {"whitelist_regex": "^db", "fraction": 0.1}},
 *      "backoff": [15, 60, "repeat"], "depends_on": ["copy"],
 *      "command": ["./check-shard"], "timeout": "15m", "kill_wait": "5s"}
 *
 *     owner=ann level=shard resources.connection=2
 *     filters.host.whitelist_regex=^db backoff=15,60,repeat
 *
 * A value is a word, a number or true and false, which are all read as text;
 * lists may be a single value; null counts as absent. Besides the keys of
 * `standing_definition.c`, it takes those of a submission that do not concern
 * a single run (wire/submission.h), and all of wire/task_options.def. */
#ifndef POINTSMAN_NODES_STANDING_DEFINITION_H
#define POINTSMAN_NODES_STANDING_DEFINITION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/text.h"
#include "nodes/standing_value.h"
#include "wire/submission.h"

enum {
    STANDING_NAME_BYTES = 64,
    STANDING_BYTES = 1 << 20, /* largest JSON */
    STANDING_LIST = 10000,    /* most members of a list */
    STANDING_PRIORITY = 1000, /* of a job that has none given */
    STANDING_WHOLE = 1000000  /* a fraction is in millionths */
};

struct standing_amount {
    struct span name;
    int64_t amount; /* 0 to STANDING_AMOUNT_MOST */
};

struct standing_filter {
    struct span level;
    struct lines whitelist, blacklist, tags;
    struct span whitelist_regex, blacklist_regex; /* empty: not given */
    uint32_t fraction;                            /* 0: all */
};

/* Spans and lists lie in the arena or the text that they were read from. */
struct standing_definition {
    struct span name; /* not kept; empty: not given */
    uint64_t version; /* not kept: the version that is replaced; 0: not given */
    bool enabled;
    struct span owner;    /* the account that its tasks count for */
    uint32_t priority;    /* in thousandths */
    struct span level;    /* empty: the lowest one */
    unsigned max_running; /* 0: no limit */
    struct standing_amount *amounts;
    size_t amount_count;
    struct standing_filter *filters;
    size_t filter_count;
    bool has_backoff; /* false: that of the configuration */
    uint32_t *backoff_s;
    size_t backoff_count;
    bool backoff_fails; /* behind the last one: fail, or else repeat it */
    struct lines depends_on, after_all_nodes_of; /* names of jobs */
    struct span host, host_level;
    bool has_kill_orphans;         /* false: that of the configuration */
    int64_t kill_orphans_after_ms; /* negative: never */
    struct submission job;         /* of its tasks */
};

void standing_definition_init(struct standing_definition *definition);

/* Each of these appends a line to `errors` for everything that is wrong, and
 * returns true if there is nothing. */

/* A letter or digit, then letters, digits, '.', '_' and '-', at most
 * STANDING_NAME_BYTES. */
bool standing_name_check(struct span name, struct text *errors);
/* Sets a key from an option KEY=VALUE; an empty value gives the key its
 * default. */
bool standing_definition_set(struct standing_definition *definition,
                             struct span key, struct span value,
                             struct arena *arena, struct text *errors);
/* Reads JSON and checks it, apart from what the configuration decides. */
bool standing_definition_parse(struct span text, struct arena *arena,
                               struct standing_definition *ret_definition,
                               struct text *errors);
/* The same checks for a definition that was not parsed. */
bool standing_definition_check(const struct standing_definition *definition,
                               struct text *errors);
/* Appends JSON in one line without LF, omitting defaults, name and version. */
void standing_definition_format(const struct standing_definition *definition,
                                struct text *out);
/* Appends only the part that is a submission. */
void standing_definition_format_job(
    const struct standing_definition *definition, struct text *out);

#endif
