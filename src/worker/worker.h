/* The local worker: runs attempts on this machine through the guard. Every
 * process that starts jobs uses it as the scheduler's runner. */
#ifndef POINTSMAN_WORKER_WORKER_H
#define POINTSMAN_WORKER_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "lib/err.h"
#include "os/guard.h"
#include "os/output.h"
#include "scheduler/runner.h"
#include "scheduler/work_kind.h"
#include "wire/config.h"

struct worker;

/* An attempt that runs on while another program is executed in this process. */
struct worker_running {
    uint64_t handle, num;
    pid_t pid;
    int64_t grace_ms;
    struct span node;
    struct span place; /* of its output file */
    bool is_locked, in_our_group;
    struct wall started;
};

struct worker_handover {
    struct guard_handover guard;
    struct worker_running *running;
    size_t count;
};

struct worker_options {
    uv_loop_t *loop;
    const struct base *base; /* see struct work_site */
    const char *base_path;   /* absolute */
    struct span shard;       /* its name, which its attempts see; static */
    int base_fd;
    struct output *output; /* a writer; must outlive the worker */
    const struct work_kinds *kinds;
    const struct config *config; /* see worker_configure */
    const char *guard_role;      /* NULL = "task"; see os/guard.h */
    unsigned slots; /* attempts at once: later starts wait in the guard */
    bool terminal;  /* `run` in a terminal: tasks stay in its process group, so
                       that Ctrl-Z stops them */
    bool no_cgroup;
    /* What the program before handed over; NULL: the worker starts anew. */
    const struct worker_handover *adopted;
    /* There is something to report to the scheduler, or progress: give it a
     * turn soon. */
    void (*wake)(void *ctx);
    /* The newest progress line of an attempt; may be NULL. */
    void (*progress)(void *ctx, uint64_t num, struct span node,
                     struct span line);
    /* The guard was lost, or could not be replaced yet; the worker goes on.
     * `restored`: another one is ready, and the ends of the attempts of the one
     * before follow (RUN_RECOVERED). */
    void (*lost)(void *ctx, const char *why);
    void (*restored)(void *ctx);
    /* Ends of children started by others through worker_guard; may be NULL. */
    void (*foreign)(void *ctx, const struct guard_end *end);
    /* The attempt runs, and has lasted longer than a moment. */
    void (*lasting)(void *ctx, uint64_t handle);
    /* Called for each end, from the loop. */
    void (*ended)(void *ctx, const struct run_end *end);
    /* Puts the job file of a change that starts into run/. */
    bool (*place_file)(void *ctx, const struct job *job, struct err *err);
    void *ctx;
};

/* Starts the guard: call it early, before anything large is in memory.
 * Processes left behind by an earlier life are gone when it returns (P6 in
 * doc/design/). */
bool worker_open(const struct worker_options *options,
                 struct worker **ret_worker, struct err *err);
/* The worker as the runner of a scheduler; valid until worker_close. */
void worker_runner(struct worker *worker, struct runner *ret_runner);
/* Reads limits and targets again; running attempts keep theirs. */
void worker_configure(struct worker *worker, const struct config *config);
/* The terminal has sent INT to our process group. An attempt in that group that
 * is asked to end now has already received it: its TERM is delayed by a second,
 * so that it can end as it would without us. */
void worker_interrupted(struct worker *worker);
/* How long after RUN_STOP_RETURN the last running attempt is killed. */
int64_t worker_return_ms(const struct worker *worker);
/* The number of attempts that run at once: `slots`, or fewer if the limit on
 * descriptors does not allow as many. */
unsigned worker_slots(const struct worker *worker);
/* The guard, for other short-lived children (tarball checkers). */
struct guard *worker_guard(struct worker *worker);
/* Resource usage of the job's attempts that run here. */
void worker_usage(struct worker *worker, uint64_t num,
                  struct run_usage *ret_usage);
/* Whether a process belongs to an attempt: by its cgroup, or without cgroups
 * because it descends from the guard. *ret_nums, in the arena: the jobs it may
 * belong to, usually one; none if its attempt has ended. The caller makes sure
 * that the pid means the same process during the call. */
enum worker_place {
    WORKER_OUTSIDE,
    WORKER_INSIDE,
    WORKER_UNREADABLE /* /proc does not show the process */
};
enum worker_place worker_find(const struct worker *worker, pid_t pid,
                              struct arena *arena, uint64_t **ret_nums,
                              size_t *ret_count);
/* True if nothing but running attempts is left, and the worker can be handed
 * over. Landing processes that have nothing to do are ended for it. */
bool worker_may_leave(struct worker *worker);
/* The number of a job that the supervisor was asked to start, and that has not
 * started; 0: there is none. */
uint64_t worker_unstarted(const struct worker *worker);
/* Gives up the guard and the attempts without ending them; only worker_close
 * may follow. The spans are valid until then. */
void worker_hand_over(struct worker *worker, struct arena *arena,
                      struct worker_handover *ret_handover);
/* Kills all attempts, ends the guard and calls `closed` from the loop. */
void worker_close(struct worker *worker, void (*closed)(void *ctx), void *ctx);

#endif
