/* Inside the clockwork: for clockwork*.c only. */
#ifndef POINTSMAN_SCHEDULES_CLOCKWORK_INNER_H
#define POINTSMAN_SCHEDULES_CLOCKWORK_INNER_H

#include "lib/heap.h"
#include "lib/list.h"
#include "lib/map.h"
#include "schedules/clockwork.h"
#include "schedules/schedule_rule.h"
#include "store/schedules.h"

/* One schedule that may fire. */
struct entry {
    struct list link;    /* clockwork.stale while it has to be read (again) */
    struct timed *timed; /* NULL: paused, or it cannot be read */
    uint64_t serial;
    struct list jobs; /* of struct live.of_entry */
    bool looked;      /* its jobs of former lives are known */
    char name[];
};

/* A job of a schedule that has not ended. */
struct live {
    struct list of_entry;
    struct entry *entry;
    uint64_t num;
    enum job_state state;
    bool replaced; /* was asked to end */
    size_t place;  /* in clockwork.deadlines while it waits */
    int64_t deadline_s;
};

struct clockwork {
    struct store *store;
    char *host;
    struct cron_zones *zones;
    struct timetable *timetable;
    struct map entries; /* name -> struct entry */
    struct map jobs;    /* num -> struct live */
    struct list stale;
    struct heap deadlines; /* of struct live */
    struct wall now;
    unsigned under_way; /* batches */
    int64_t again_s;    /* not before, after one that failed */
    uint64_t fired;
    bool draining;
};

struct span num_key_of(const uint64_t *num);

/* clockwork_jobs.c: what lives of each schedule. */
void live_add(struct clockwork *clockwork, struct entry *entry, uint64_t num,
              enum job_state state, int64_t deadline_s);
void live_drop(struct clockwork *clockwork, struct live *live);
void live_moved(struct clockwork *clockwork, const struct store_event *event);
/* Reads what former lives left of it, as far as it matters. */
void entry_recall(struct clockwork *clockwork, struct entry *entry);
/* Takes back what lives of it and is older than that job. */
void entry_replace(struct clockwork *clockwork, struct entry *entry,
                   uint64_t before_num);
/* Ends what waited past its deadline. */
void deadlines_turn(struct clockwork *clockwork);

/* clockwork_fire.c */
void clockwork_carry_out(struct clockwork *clockwork,
                         const struct timed_decision *decision);
/* A batch that has no answer to wait for. */
void clockwork_submit(struct clockwork *clockwork, struct store_batch *batch);
/* It has to be read again before anything else is done about it. */
void entry_stale(struct clockwork *clockwork, struct entry *entry);
struct entry *entry_find(struct clockwork *clockwork, struct span name);

#endif
