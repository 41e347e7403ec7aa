/* The internals of the schedule driver: for schedule_driver*.c only. */
#ifndef POINTSMAN_SCHEDULES_SCHEDULE_DRIVER_INNER_H
#define POINTSMAN_SCHEDULES_SCHEDULE_DRIVER_INNER_H

#include "lib/heap.h"
#include "lib/list.h"
#include "lib/map.h"
#include "schedules/schedule_driver.h"
#include "schedules/schedule_rule.h"
#include "schedules/schedule_row.h"

/* A schedule that may fire. */
struct schedule_entry {
    struct list link; /* driver.stale while it has to be read (again) */
    struct schedule *schedule; /* NULL: paused, or it cannot be read */
    uint64_t reading; /* number of the reading that `schedule` comes from */
    uint64_t serial;
    struct list jobs; /* of struct schedule_live_job.of_entry */
    bool looked;      /* its jobs from before the start are known */
    char name[];
};

/* A job of a schedule that has not ended. */
struct schedule_live_job {
    struct list of_entry;
    struct schedule_entry *entry;
    uint64_t num;
    enum job_state state;
    bool replaced; /* it was asked to end */
    size_t place;  /* index in driver.deadlines while it waits */
    int64_t deadline_s;
};

struct schedule_driver {
    struct store *store;
    const struct base *base;
    char *host;
    struct cron_zones *zones;
    struct schedules *schedules;
    struct map entries; /* name -> struct schedule_entry */
    struct map jobs;    /* num -> struct schedule_live_job */
    struct list stale;
    uint64_t readings;     /* of rows, so far */
    struct heap deadlines; /* of struct schedule_live_job */
    struct wall now;
    unsigned under_way; /* number of batches */
    int64_t again_s;    /* earliest retry after a failed batch */
    uint64_t fired;
    bool draining;
};

/* schedule_driver_jobs.c: the live jobs of each schedule. */
void schedule_job_add(struct schedule_driver *driver,
                      struct schedule_entry *entry, uint64_t num,
                      enum job_state state, int64_t deadline_s);
void schedule_job_drop(struct schedule_driver *driver,
                       struct schedule_live_job *live);
void schedule_job_moved(struct schedule_driver *driver,
                        const struct store_event *event);
/* Reads the jobs from before the start, as far as they matter. */
void schedule_entry_recall(struct schedule_driver *driver,
                           struct schedule_entry *entry);
/* Cancels its live jobs that are older than that job. */
void schedule_entry_replace(struct schedule_driver *driver,
                            struct schedule_entry *entry, uint64_t before_num);
/* Cancels jobs that have waited past their deadline. */
void schedule_deadlines_turn(struct schedule_driver *driver);

/* schedule_driver_fire.c */
void schedule_driver_carry_out(struct schedule_driver *driver,
                               const struct schedule_decision *decision);
/* Submits a batch whose answer is not needed. */
void schedule_driver_submit(struct schedule_driver *driver,
                            struct store_batch *batch);
/* The entry has to be read again before anything else is done about it. */
void schedule_entry_stale(struct schedule_driver *driver,
                          struct schedule_entry *entry);
struct schedule_entry *schedule_entry_find(struct schedule_driver *driver,
                                           struct span name);

#endif
