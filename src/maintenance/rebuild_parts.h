/* Inside rebuild*.c only. */
#ifndef POINTSMAN_MAINTENANCE_REBUILD_PARTS_H
#define POINTSMAN_MAINTENANCE_REBUILD_PARTS_H

#include "lib/map.h"
#include "maintenance/fsck.h"
#include "changes/set_log.h"
#include "changes/set_record.h"

struct found_set {
    struct span id;
    enum job_state state; /* NONE: no job file in a state directory */
    struct set_record record;
    struct set_log log;
    bool has_log, has_file, archived;
    uint64_t num;
    enum job_state logged; /* what its log ends with */
    bool lacks_step;       /* its log has not come to its directory */
    struct span taken_by;  /* the rollback that took it, as no log tells yet */
    bool is_spoken_of;     /* by a commit of its branch; older ones say nothing
                              any more */
};

struct rebuild {
    struct base *base; /* without a registry until there is the new one */
    struct fsck_report *report;
    struct arena arena;
    struct map sets; /* id -> struct found_set */
    struct found_set **order;
    size_t count;
    struct wall now;
};

/* What branches tell of rollbacks that are over and logs do not, is added to
 * the logs (rebuild_evidence.c). After the states of all sets are known; before
 * anything else is read from logs. */
void rebuild_ask_branches(struct rebuild *rebuild);
/* Rollbacks, as logs tell of them (rebuild_rollback.c). Whose mark a set bears;
 * after the states of all sets are known. */
void rebuild_mark(struct rebuild *rebuild, struct found_set *set);
/* Lies it in abandon/ without a word in its log, the rollback under way on its
 * target was about to say it. After the states of all sets are known. */
void rebuild_take(struct rebuild *rebuild, struct found_set *set);
/* The plans of those that are over, or were under way; after all else was
 * written. */
bool rebuild_plans(struct rebuild *rebuild, struct err *err);

#endif
