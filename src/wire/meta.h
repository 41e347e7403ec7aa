/* The description that a change set contains, the member `meta` (C3): read and
 * checked. All rules that need neither the archive nor the queue are checked
 * here; whether target and dependencies exist is checked elsewhere. */
#ifndef POINTSMAN_WIRE_META_H
#define POINTSMAN_WIRE_META_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/text.h"
#include "lib/time.h"
#include "wire/path.h"
#include "wire/refusal.h"
#include "wire/sections.h"
#include "wire/set_name.h"

enum { META_BYTES = 1 << 20 }; /* at most */

struct meta {
    enum set_class movetype;
    struct span target;   /* follows git's rules for a branch name; empty: the
                             only target of the base */
    struct lines files;   /* sorted by path_compare, no path twice */
    struct lines deleted; /* likewise; disjoint from `files` */
    struct span base;     /* 40 or 64 hex digits, or empty */
    struct span base_set; /* CSID of the set that this one is stacked on, one of
                             `dependencies`; or empty */
    struct span base_tree;     /* 40 or 64 hex digits: the tree that `base_set`
                                  makes; empty if and only if that is */
    struct lines dependencies; /* CSIDs (the id of full names), no duplicates */
    struct lines approval;     /* as written */
    struct lines precursors;   /* CSIDs: a hint */
    struct span supersedes;    /* CSID or empty */
    struct span group;         /* id grammar, or empty */
    uint64_t group_size;       /* ##group NAME COUNT; 0: not given */
    uint64_t rb_limit;         /* 0: none given */
    struct span author;        /* "Name <mail>" or empty */
    struct span date;          /* RFC 3339 or empty; as written */
    struct wall date_wall;     /* the same as a time */
    struct span message; /* lines joined by LF, no empty ones at either end */
    struct sections sections; /* all of them, including unknown ones */
};

/* For both: *ret_meta points into the arena or the input. `limits` may be NULL
 * (PATH_LIMITS). meta_parse refuses sections that only the queue writes (job,
 * precursors-computed); meta_read takes a job file's sections. */
bool meta_parse(struct span text, const struct path_limits *limits,
                struct arena *arena, struct meta *ret_meta,
                struct refusal *why);
bool meta_read(const struct sections *sections,
               const struct path_limits *limits, struct arena *arena,
               struct meta *ret_meta, struct refusal *why);

/* Checks that name and meta belong together: class and movetype agree, and the
 * set neither depends on, waits for nor supersedes itself. */
bool meta_match_name(const struct meta *meta, const struct set_name *name,
                     struct refusal *why);

/* Appends a meta text made from the fields (`sections` is ignored). */
void meta_format(const struct meta *meta, struct text *out);

#endif
