#include "worker/worker_inner.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/log.h"
#include "os/clock.h"
#include "os/dir.h"
#include "os/fd.h"
#include "os/lock.h"
#include "os/process.h"
#include "worker/task_start.h"
#include "worker/task_trace.h"

enum { HEARD_MS = 1000 };

static struct span handle_key(const uint64_t *handle) {
    return span_make(handle, sizeof(*handle));
}

static void running_free(struct worker *worker, struct running *running) {
    map_remove(&worker->by_handle, handle_key(&running->handle));
    if (map_get(&worker->by_num, handle_key(&running->num)) == running)
        map_remove(&worker->by_num, handle_key(&running->num));
    list_remove(&running->link);
    fd_close(&running->output_fd);
    fd_close(&running->lock_fd);
    free(running->node);
    free(running->progress);
    free(running);
}

static struct running *running_new(struct worker *worker, uint64_t handle,
                                   uint64_t num, struct span node) {
    struct running *running = mem_alloc(sizeof(*running));
    running->handle = handle;
    running->num = num;
    running->node = node.len ? span_string(node) : NULL;
    running->output_fd = running->lock_fd = -1;
    list_push(&worker->running, &running->link);
    map_put(&worker->by_handle, handle_key(&running->handle), running);
    map_put(&worker->by_num, handle_key(&running->num), running);
    return running;
}

static void failed_start_add(struct worker *worker, uint64_t handle, int result,
                             const char *detail) {
    struct failed_start *it = mem_alloc(sizeof(*it));
    it->handle = handle;
    it->result = result;
    it->detail = mem_string(detail);
    list_push(&worker->failed_starts, &it->link);
    uv_async_send(&worker->later);
}

static void on_later(uv_async_t *async) {
    struct worker *worker = async->data;
    for (struct list *link; (link = list_pop(&worker->failed_starts));) {
        struct failed_start *it = LIST_OF(link, struct failed_start, link);
        struct run_end end = {
            .handle = it->handle,
            .result = it->result,
            .exit_code = -1,
            .detail = span_of(it->detail),
            .is_durable = true,
            .started = clock_wall(),
        };
        end.ended = end.started;
        worker->options.ended(worker->options.ctx, &end);
        free(it->detail);
        free(it);
    }
}

static void on_started(void *ctx, uint64_t id, pid_t pid, struct wall at) {
    struct worker *worker = ctx;
    struct running *running = map_get(&worker->by_handle, handle_key(&id));
    if (!running) {
        landers_on_started(worker->landers, id, pid);
        return;
    }
    running->started = at;
    running->pid = pid;
    worker->options.lasting(worker->options.ctx, id);
}

static void on_progress(void *ctx, uint64_t id, struct span line) {
    struct worker *worker = ctx;
    struct running *running = map_get(&worker->by_handle, handle_key(&id));
    if (!running)
        return;
    free(running->progress);
    running->progress = span_string(line);
    if (worker->options.progress)
        worker->options.progress(worker->options.ctx, running->num,
                                 span_of(running->node), line);
}

static void on_usage(void *ctx, const struct guard_usage *usage) {
    struct worker *worker = ctx;
    struct running *running =
        map_get(&worker->by_handle, handle_key(&usage->id));
    if (running)
        running->usage = *usage;
}

static void lose(struct run_end *end, uint64_t bytes, int sys) {
    end->loss.any = true;
    end->loss.bytes += (int64_t)bytes;
    end->loss.unmarked += (int64_t)bytes;
    end->loss.sys = sys;
}

/* Small outputs are added to the segment now, so that their place is known. */
static void end_output(struct worker *worker, const struct guard_end *from,
                       const struct running *running, struct run_end *end,
                       char place[OUTPUT_PLACE_BYTES]) {
    struct err err;
    end->output_bytes = from->output_bytes;
    end->loss = (struct attempt_loss){.any = from->output_lost,
                                      .origins = from->stamps_lost,
                                      .bytes = (int64_t)from->lost_bytes,
                                      .unmarked = (int64_t)from->unmarked_bytes,
                                      .sys = from->lost_sys};
    end->in_file = from->output_in_file;
    place[0] = '\0';
    if (from->output_in_file) {
        /* `running` is freed before the end is reported. */
        memcpy(place, running->place, OUTPUT_PLACE_BYTES);
        end->place = span_of(place);
        output_filed(worker->options.output);
        if (from->output_bytes >= LOG_PACK_BYTES)
            log_packer_add(worker->packer, end->place);
        return;
    }
    if (!output_add(worker->options.output, from->output, from->stamps, place,
                    &err)) {
        log_error("cannot store the output of attempt %" PRIu64 ": %s",
                  running->handle, err.text);
        lose(end, from->output.len, err.sys);
        end->output_bytes = 0;
    }
    end->place = span_of(place);
}

/* What the guard had put into the file of the attempt when it died. */
static void lost_output(struct worker *worker, const struct running *running,
                        struct run_end *end, char place[OUTPUT_PLACE_BYTES]) {
    CLEANUP(output_view_close) struct output_view view = OUTPUT_VIEW_INIT;
    place[0] = '\0';
    end->started = running->started;
    if (!running->has_output ||
        !output_view_open(worker->options.output, span_of(running->place),
                          &view, NULL))
        return;
    memcpy(place, running->place, OUTPUT_PLACE_BYTES);
    end->place = span_of(place);
    end->in_file = true;
    end->output_bytes = view.bytes;
    output_filed(worker->options.output);
}

static uint64_t larger(int64_t a, int64_t b) {
    return (uint64_t)(a > b ? a : b);
}

static void on_ended(void *ctx, const struct guard_end *from) {
    struct worker *worker = ctx;
    struct running *running =
        map_get(&worker->by_handle, handle_key(&from->id));
    if (landers_on_ended(worker->landers, from))
        return;
    if (!running) {
        if (worker->options.foreign)
            worker->options.foreign(worker->options.ctx, from);
        return;
    }
    struct run_end end = {
        .handle = from->id,
        .result = (int)from->result,
        .exit_code = from->exit_code,
        .signal = from->signal,
        .timed_out = from->timed_out,
        .status = from->has_status ? from->status : (struct span){0},
        .detail = from->survivors ? SPAN("") : from->error,
        .survivors = from->survivors ? from->error : SPAN(""),
        .started = from->started,
        .ended = from->ended.ns != 0 ? from->ended : clock_wall(),
        .cpu_us = larger(from->user_us + from->system_us, from->cpu_us),
        .peak_kib = larger(from->max_rss_kib, from->peak_kib),
    };
    CLEANUP(text_clear) struct text trace = TEXT_INIT;
    task_trace_format(from, &trace);
    end.trace = text_span(&trace);
    char place[OUTPUT_PLACE_BYTES];
    if (from->result == GUARD_LOST)
        lost_output(worker, running, &end, place);
    else
        end_output(worker, from, running, &end, place);
    if (from->survivors)
        log_warning("processes of job %" PRIu64
                    " are still alive after its end: %.*s",
                    running->num, (int)from->error.len, from->error.p);
    bool locked = running->locked;
    running->pid = -1;
    if (!locked)
        running_free(worker, running);
    worker->options.ended(worker->options.ctx, &end);
}

static void on_lander_started(void *ctx, uint64_t handle, pid_t pid) {
    struct worker *worker = ctx;
    struct running *running = map_get(&worker->by_handle, handle_key(&handle));
    running->pid = pid;
}

/* The output of an attempt that a lander carried out. */
static void lander_output(struct worker *worker, const struct running *running,
                          struct run_end *end, char place[OUTPUT_PLACE_BYTES]) {
    struct err err = {0};
    place[0] = '\0';
    if (!output_add_file(worker->options.output, running->output_fd,
                         (uint64_t)worker->config->queue.log_limit_bytes, place,
                         &end->output_bytes, &err)) {
        log_error("cannot store the output of attempt %" PRIu64 ": %s",
                  running->handle, err.text);
        off_t bytes = lseek(running->output_fd, 0, SEEK_END);
        lose(end, bytes > 0 ? (uint64_t)bytes : 0, err.sys);
        return;
    }
    end->place = span_of(place);
}

static void on_lander_ended(void *ctx, const struct lander_end *from) {
    struct worker *worker = ctx;
    struct running *running =
        map_get(&worker->by_handle, handle_key(&from->handle));
    struct run_end end = {
        .handle = from->handle,
        .result = (int)from->result,
        .exit_code = from->exit_code,
        .signal = from->signal,
        .status = from->status,
        .detail = from->error,
        .started = running->started,
        .ended = clock_wall(),
        .cpu_us = from->cpu_us,
    };
    char place[OUTPUT_PLACE_BYTES];
    if (running->has_output)
        lander_output(worker, running, &end, place);
    running->pid = -1;
    if (!running->locked)
        running_free(worker, running);
    worker->options.ended(worker->options.ctx, &end);
}

static void on_lost(void *ctx, const char *why) {
    struct worker *worker = ctx;
    if (!worker->closing && worker->options.lost)
        worker->options.lost(worker->options.ctx, why);
}

static void on_restored(void *ctx) {
    struct worker *worker = ctx;
    if (!worker->closing && worker->options.restored)
        worker->options.restored(worker->options.ctx);
}

_Static_assert(GUARD_STATUS_FD == 3 && GUARD_PROGRESS_FD == 4,
               "attempt_words_add_environment says so");

/* An error means that the attempt cannot be executed, or cannot now. */
static bool start_make(struct worker *worker, const struct run_start *run,
                       struct arena *arena, struct attempt_start *ret_start,
                       struct err *err) {
    const struct work_kind *kind =
        work_kind_find(worker->options.kinds, run->job, err);
    const struct work_site site = {.base = worker->options.base,
                                   .config = worker->config,
                                   .base_path = worker->options.base_path,
                                   .worker = worker->options.shard,
                                   .cache = &worker->cache};
    *ret_start = (struct attempt_start){0};
    task_options_init(&ret_start->task);
    return kind && kind->make_start(&site, run, arena, ret_start, err);
}

static int result_of(enum err_kind kind) {
    return kind == ERR_DENIED        ? RUN_FORBIDDEN
           : kind == ERR_UNAVAILABLE ? RUN_UNAVAILABLE
           : err_try_again(kind)     ? GUARD_TEMPORARY
                                     : GUARD_CANNOT;
}

/* Others only answer a question. */
static bool is_attempt(const struct run_start *run) {
    return !run->probe &&
           (run->train == NULL || run->train->task == RUN_TRAIN_CHECK ||
            run->train->task == RUN_TRAIN_LAND);
}

/* A rollback needs no slot: it waits only for the ends of its own members. What
 * a merge train does beside its checks is short, and other work waits for it.
 */
static bool needs_slot(const struct run_start *run) {
    return is_attempt(run) && run->members == NULL &&
           (run->train == NULL || run->train->task == RUN_TRAIN_CHECK);
}

/* False: the guard has to start a process for it. */
static bool lander_takes(struct worker *worker, struct running *running,
                         const struct attempt_start *line, int start_fd) {
    CLEANUP(fd_close) int lock_fd = -1;
    CLEANUP(fd_close) int output_fd = -1;
    if (line->lander.name == NULL)
        return false;
    output_fd = memfd_create("output", MFD_CLOEXEC);
    if (output_fd < 0 ||
        (line->lock_path != NULL &&
         (!lock_take(worker->options.base_fd, line->lock_path, LOCK_EXCLUSIVE,
                     false, false, &lock_fd, NULL) ||
          lock_fd < 0)))
        return false;
    running->started = clock_wall();
    running->grace_ms = worker->config->queue.grace_s * 1000;
    if (!landers_start(worker->landers,
                       &(struct lander_start){.handle = running->handle,
                                              .name = line->lander.name,
                                              .argv = line->lander.argv,
                                              .envp = line->lander.envp,
                                              .dir = line->dir,
                                              .mask = line->mask,
                                              .start_fd = start_fd,
                                              .output_fd = output_fd,
                                              .lock_fd = lock_fd}))
        return false;
    running->output_fd = take_fd(&output_fd);
    running->lock_fd = take_fd(&lock_fd);
    return true;
}

static void runner_start(void *ctx, const struct run_start *run) {
    struct worker *worker = ctx;
    struct arena arena = ARENA_INIT;
    struct attempt_start line;
    struct err err;
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    char place[OUTPUT_PLACE_BYTES];
    CLEANUP(fd_close) int input_fd = -1;
    if (!start_make(worker, run, &arena, &line, &err)) {
        failed_start_add(worker, run->handle, result_of(err.kind), err.text);
        arena_clear(&arena);
        return;
    }
    /* What fails from here on is the machine's fault, not the job's. */
    if ((line.start.len > 0 &&
         !dir_file_sealed("start", line.start, &input_fd, &err)) ||
        !output_file(worker->options.output, run->job->num, run->task,
                     run->attempt, &path, place, &err) ||
        (line.lock_path && worker->options.place_file &&
         !worker->options.place_file(worker->options.ctx, run->job, &err))) {
        failed_start_add(worker, run->handle, GUARD_TEMPORARY, err.text);
        arena_clear(&arena);
        return;
    }
    struct running *running =
        running_new(worker, run->handle, run->job->num, run->node);
    running->locked = line.lock_path != NULL;
    running->has_output = is_attempt(run);
    memcpy(running->place, place, sizeof(place));
    if (lander_takes(worker, running, &line, input_fd)) {
        arena_clear(&arena);
        return;
    }
    running->started = (struct wall){0};
    struct guard_start start = {
        .id = run->handle,
        .argv = line.argv,
        .envp = line.envp,
        .dir = line.dir,
        .mask = line.mask,
        .lock_path = line.lock_path,
        .stdin_fd = input_fd,
        .status_fd = true,
        .progress_fd = true,
        .outside_slots = !needs_slot(run),
        .timeout_ms = line.timeout_ms,
        .output_path = is_attempt(run) ? text_string(&path) : NULL,
        .streams = is_attempt(run),
        .output_max = (uint64_t)worker->config->queue.log_limit_bytes,
    };
    struct task_start task = {
        .options = &line.task,
        .account = line.account,
        .terminal = worker->options.terminal && line.in_terminal,
        .grace_ms = worker->config->queue.grace_s * 1000,
    };
    task_start_fill(&task, &arena, &start);
    running->grace_ms = start.grace_ms;
    running->in_our_group = start.keep_group;
    guard_start(worker->guard, &start);
    arena_clear(&arena);
}

static void on_patience(uv_timer_t *timer) {
    struct worker *worker = timer->data;
    LIST_EACH (&worker->running, link) {
        struct running *running = LIST_OF(link, struct running, link);
        if (running->term_waits)
            guard_kill(worker->guard, running->handle, SIGTERM,
                       running->grace_ms);
        running->term_waits = false;
    }
}

static void kill_attempt(struct worker *worker, const struct running *running,
                         int signal, int64_t grace_ms) {
    if (running->output_fd >= 0)
        landers_kill(worker->landers, running->handle, signal, grace_ms);
    else
        guard_kill(worker->guard, running->handle, signal, grace_ms);
}

static void term(struct worker *worker, struct running *running) {
    bool heard =
        running->in_our_group && clock_mono().ns < worker->heard_until.ns;
    /* The attempt may be cleaning up: it gets the same time for that as after
     * TERM. */
    if (heard)
        uv_timer_start(&worker->patience, on_patience,
                       running->grace_ms > HEARD_MS
                           ? (uint64_t)running->grace_ms
                           : HEARD_MS,
                       0);
    else
        kill_attempt(worker, running, SIGTERM, running->grace_ms);
    running->term_waits = heard;
}

/* A stop ends every attempt. */
static int64_t return_ms(const struct worker *worker,
                         const struct running *running) {
    return running->grace_ms == GUARD_NO_KILL
               ? worker->config->queue.grace_s * 1000
               : running->grace_ms;
}

int64_t worker_return_ms(const struct worker *worker) {
    int64_t longest = 0;
    LIST_EACH (&((struct worker *)(uintptr_t)worker)->running, link) {
        int64_t ms = return_ms(worker, LIST_OF(link, struct running, link));
        longest = ms > longest ? ms : longest;
    }
    return longest;
}

static void runner_stop(void *ctx, uint64_t handle, enum run_stop how) {
    struct worker *worker = ctx;
    struct running *running = map_get(&worker->by_handle, handle_key(&handle));
    if (how == RUN_STOP_WITHDRAW)
        guard_withdraw(worker->guard, handle);
    else if (running && how == RUN_STOP_TERM)
        term(worker, running);
    else if (running && how == RUN_STOP_RETURN)
        kill_attempt(worker, running, SIGTERM, return_ms(worker, running));
    else if (running && how == RUN_STOP_HUP)
        kill_attempt(worker, running, SIGHUP,
                     worker->config->queue.hup_grace_s * 1000);
    else if (running)
        kill_attempt(worker, running, SIGKILL, 0);
    else
        guard_kill(worker->guard, handle, SIGKILL, 0);
}

static void runner_flush(void *ctx) {
    struct worker *worker = ctx;
    guard_flush(worker->guard);
}

static struct run_sync runner_write_outputs(void *ctx, bool whole) {
    struct worker *worker = ctx;
    struct output_sync sync;
    struct err err = {0};
    if (whole)
        output_filed(worker->options.output);
    bool ok = output_flush(worker->options.output, &sync, &err);
    if (!ok)
        log_error("outputs are lost: %s", err.text);
    return (struct run_sync){sync.fd, sync.filesystem, !ok, err.sys};
}

static void runner_release(void *ctx, uint64_t handle) {
    struct worker *worker = ctx;
    struct running *running = map_get(&worker->by_handle, handle_key(&handle));
    if (!running)
        return;
    if (running->lock_fd < 0)
        guard_release(worker->guard, handle);
    running_free(worker, running);
}

/* ---- another program in this process ------------------------------------- */

static bool adopt(struct worker *worker, const struct guard_options *options,
                  const struct guard_events *events, struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const struct worker_handover *from = worker->options.adopted;
    struct guard_handover guard = from->guard;
    uint64_t *ids = arena_alloc(&arena, (from->count + 1) * sizeof(*ids));
    for (size_t i = 0; i < from->count; i++)
        ids[i] = from->running[i].handle;
    guard.ids = ids;
    guard.id_count = from->count;
    if (!guard_adopt(worker->options.loop, options, &guard, events, worker,
                     &worker->guard, err))
        return false;
    for (size_t i = 0; i < from->count; i++) {
        const struct worker_running *it = &from->running[i];
        struct running *running =
            running_new(worker, it->handle, it->num, it->node);
        running->pid = it->pid;
        running->grace_ms = it->grace_ms;
        running->locked = it->is_locked;
        running->has_output = true;
        running->in_our_group = it->in_our_group;
        running->started = it->started;
        snprintf(running->place, sizeof(running->place), "%.*s",
                 (int)it->place.len, it->place.len > 0 ? it->place.p : "");
    }
    return true;
}

bool worker_may_leave(struct worker *worker) {
    size_t running = 0;
    landers_retire_idle(worker->landers, 0);
    LIST_EACH (&worker->running, link) {
        const struct running *one = LIST_OF(link, struct running, link);
        if (one->pid < 0 || one->output_fd >= 0)
            return false;
        running++;
    }
    return list_empty(&worker->failed_starts) &&
           guard_is_settled(worker->guard) &&
           guard_unfinished(worker->guard) == running;
}

uint64_t worker_unstarted(const struct worker *worker) {
    LIST_EACH (&((struct worker *)(uintptr_t)worker)->running, link) {
        const struct running *one = LIST_OF(link, struct running, link);
        if (one->pid == 0 && one->has_output)
            return one->num;
    }
    return 0;
}

void worker_hand_over(struct worker *worker, struct arena *arena,
                      struct worker_handover *ret_handover) {
    size_t count = map_count(&worker->by_handle);
    *ret_handover = (struct worker_handover){
        .running =
            arena_alloc(arena, (count + 1) * sizeof(struct worker_running))};
    guard_hand_over(worker->guard, &ret_handover->guard);
    LIST_EACH (&worker->running, link) {
        const struct running *one = LIST_OF(link, struct running, link);
        ret_handover->running[ret_handover->count++] =
            (struct worker_running){.handle = one->handle,
                                    .num = one->num,
                                    .pid = one->pid,
                                    .grace_ms = one->grace_ms,
                                    .node = span_of(one->node),
                                    .place = span_of(one->place),
                                    .is_locked = one->locked,
                                    .in_our_group = one->in_our_group,
                                    .started = one->started};
    }
}

bool worker_open(const struct worker_options *options,
                 struct worker **ret_worker, struct err *err) {
    struct worker *worker = mem_alloc(sizeof(*worker));
    worker->options = *options;
    worker->config = options->config;
    list_init(&worker->running);
    list_init(&worker->failed_starts);
    struct guard_options guard = {
        .base_fd = options->base_fd,
        .cgroup_root = options->no_cgroup ? "" : NULL,
        .role = options->guard_role,
        .life_path = options->guard_role ? NULL : "ctrl/tasks.lock",
        .slots = options->slots,
    };
    static const struct guard_events events = {.started = on_started,
                                               .progress = on_progress,
                                               .usage = on_usage,
                                               .ended = on_ended,
                                               .lost = on_lost,
                                               .restored = on_restored};
    bool ok = options->adopted != NULL
                  ? adopt(worker, &guard, &events, err)
                  : guard_open(options->loop, &guard, &events, worker,
                               &worker->guard, err);
    if (!ok) {
        free(worker);
        return err_wrap(err, "cannot start the supervisor");
    }
    static const struct landers_events landers = {.started = on_lander_started,
                                                  .ended = on_lander_ended};
    worker->landers =
        landers_new(options->loop, worker->guard, &landers, worker);
    uv_async_init(options->loop, &worker->later, on_later);
    uv_timer_init(options->loop, &worker->patience);
    worker->later.data = worker->patience.data = worker;
    worker->packer = log_packer_new(options->loop, options->output);
    uv_unref((uv_handle_t *)&worker->later);
    *ret_worker = worker;
    return true;
}

void worker_runner(struct worker *worker, struct runner *ret_runner) {
    *ret_runner = (struct runner){
        .ctx = worker,
        .start = runner_start,
        .stop = runner_stop,
        .flush = runner_flush,
        .write_outputs = runner_write_outputs,
        .release = runner_release,
    };
}

void worker_configure(struct worker *worker, const struct config *config) {
    worker->config = config;
    guard_set_slots(worker->guard, (unsigned)config->queue.concurrency);
}

unsigned worker_slots(const struct worker *worker) {
    unsigned slots = (unsigned)worker->config->queue.concurrency;
    unsigned most = guard_slots_most(worker->guard);
    return slots < most ? slots : most;
}

void worker_interrupted(struct worker *worker) {
    worker->heard_until = mono_add_ms(clock_mono(), HEARD_MS);
}

struct guard *worker_guard(struct worker *worker) {
    return worker->guard;
}

void worker_usage(struct worker *worker, uint64_t num,
                  struct run_usage *ret_usage) {
    *ret_usage = (struct run_usage){0};
    if (!map_get(&worker->by_num, handle_key(&num)))
        return;
    LIST_EACH (&worker->running, link) {
        const struct running *one = LIST_OF(link, struct running, link);
        if (one->num != num)
            continue;
        ret_usage->running++;
        if (one->started.ns > 0 && (ret_usage->started.ns == 0 ||
                                    one->started.ns < ret_usage->started.ns))
            ret_usage->started = one->started;
        if (one->progress)
            ret_usage->progress = span_of(one->progress);
        ret_usage->cpu_us += (uint64_t)one->usage.cpu_us;
        ret_usage->memory_kib += (uint64_t)one->usage.memory_kib;
        ret_usage->procs += (uint64_t)one->usage.procs;
    }
}

static void on_later_closed(uv_handle_t *handle) {
    struct worker *worker = handle->data;
    for (struct list *link; (link = list_pop(&worker->failed_starts));) {
        struct failed_start *it = LIST_OF(link, struct failed_start, link);
        free(it->detail);
        free(it);
    }
    while (!list_empty(&worker->running))
        running_free(worker,
                     LIST_OF(worker->running.next, struct running, link));
    map_clear(&worker->by_handle);
    map_clear(&worker->by_num);
    attempt_start_cache_clear(&worker->cache);
    void (*closed)(void *) = worker->closed;
    void *ctx = worker->closed_ctx;
    free(worker);
    if (closed)
        closed(ctx);
}

static void on_patience_closed(uv_handle_t *handle) {
    struct worker *worker = handle->data;
    uv_close((uv_handle_t *)&worker->later, on_later_closed);
}

static void on_packer_closed(void *ctx) {
    struct worker *worker = ctx;
    uv_close((uv_handle_t *)&worker->patience, on_patience_closed);
}

static void on_landers_closed(void *ctx) {
    struct worker *worker = ctx;
    log_packer_close(worker->packer, on_packer_closed, worker);
}

static void on_guard_closed(void *ctx) {
    struct worker *worker = ctx;
    landers_close(worker->landers, on_landers_closed, worker);
}

void worker_close(struct worker *worker, void (*closed)(void *ctx), void *ctx) {
    worker->closing = true;
    worker->closed = closed;
    worker->closed_ctx = ctx;
    guard_close(worker->guard, on_guard_closed, worker);
}
