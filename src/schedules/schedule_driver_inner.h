/* Inside the schedule driver: for schedule_driver*.c only. */
#ifndef POINTSMAN_SCHEDULES_SCHEDULE_DRIVER_INNER_H
#define POINTSMAN_SCHEDULES_SCHEDULE_DRIVER_INNER_H

#include "lib/heap.h"
#include "lib/list.h"
#include "lib/map.h"
#include "schedules/schedule_driver.h"
#include "schedules/schedule_rule.h"
#include "schedules/schedule_row.h"

/* One schedule that may fire. */
struct schedule_entry {
    struct list link; /* driver.stale while it has to be read (again) */
    struct schedule *schedule; /* NULL: paused, or it cannot be read */
    uint64_t serial;
    struct list jobs; /* of struct schedule_live_job.of_entry */
    bool looked;      /* its jobs of former lives are known */
    char name[];
};

/* A job of a schedule that has not ended. */
struct schedule_live_job {
    struct list of_entry;
    struct schedule_entry *entry;
    uint64_t num;
    enum job_state state;
    bool replaced; /* was asked to end */
    size_t place;  /* in driver.deadlines while it waits */
    int64_t deadline_s;
};

struct schedule_driver {
    struct store *store;
    char *host;
    struct cron_zones *zones;
    struct schedules *schedules;
    struct map entries; /* name -> struct schedule_entry */
    struct map jobs;    /* num -> struct schedule_live_job */
    struct list stale;
    struct heap deadlines; /* of struct schedule_live_job */
    struct wall now;
    unsigned under_way; /* batches */
    int64_t again_s;    /* not before, after one that failed */
    uint64_t fired;
    bool draining;
};

/* schedule_driver_jobs.c: what lives of each schedule. */
void schedule_job_add(struct schedule_driver *driver,
                      struct schedule_entry *entry, uint64_t num,
                      enum job_state state, int64_t deadline_s);
void schedule_job_drop(struct schedule_driver *driver,
                       struct schedule_live_job *live);
void schedule_job_moved(struct schedule_driver *driver,
                        const struct store_event *event);
/* Reads what former lives left of it, as far as it matters. */
void schedule_entry_recall(struct schedule_driver *driver,
                           struct schedule_entry *entry);
/* Takes back what lives of it and is older than that job. */
void schedule_entry_replace(struct schedule_driver *driver,
                            struct schedule_entry *entry, uint64_t before_num);
/* Ends what waited past its deadline. */
void schedule_deadlines_turn(struct schedule_driver *driver);

/* schedule_driver_fire.c */
void schedule_driver_carry_out(struct schedule_driver *driver,
                               const struct schedule_decision *decision);
/* A batch that has no answer to wait for. */
void schedule_driver_submit(struct schedule_driver *driver,
                            struct store_batch *batch);
/* It has to be read again before anything else is done about it. */
void schedule_entry_stale(struct schedule_driver *driver,
                          struct schedule_entry *entry);
struct schedule_entry *schedule_entry_find(struct schedule_driver *driver,
                                           struct span name);

#endif
