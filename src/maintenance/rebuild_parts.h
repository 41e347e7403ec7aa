/* Used only by rebuild*.c. */
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
    enum job_state logged; /* the last state in its log */
    bool lacks_step;       /* its log lacks the step to its directory */
    struct span taken_by; /* the rollback that took it, if no log says so yet */
    bool is_mentioned; /* a commit of its branch names it; older ones no longer
                          matter */
};

struct rebuild {
    struct base *base; /* has no registry until the new one is made */
    struct fsck_report *report;
    struct arena arena;
    struct map sets; /* id -> struct found_set */
    struct found_set **order;
    size_t count;
    struct wall now;
};

/* Adds to the logs the effects of finished rollbacks that branches record but
 * logs lack (rebuild_evidence.c). Call it after the states of all sets are
 * known and before anything else is read from the logs. */
void rebuild_ask_branches(struct rebuild *rebuild);
/* Rollbacks as recorded in the logs (rebuild_rollback.c). Finds which rollback
 * marks a set; call it after the states of all sets are known. */
void rebuild_mark(struct rebuild *rebuild, struct found_set *set);
/* If the set is in abandon/ and its log does not say why, the rollback under
 * way on its target was about to record it. Call it after the states of all
 * sets are known. */
void rebuild_take(struct rebuild *rebuild, struct found_set *set);
/* Writes the plans of rollbacks that are over or were under way, after
 * everything else was written. */
bool rebuild_plans(struct rebuild *rebuild, struct err *err);

#endif
