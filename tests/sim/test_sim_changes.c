/* The simulator of intake and projection. The prequeue, the projection and the
 * registry are the real ones, over a base in a directory. Users hand in sets
 * and junk, and move job files by hand while no server is running. The server
 * is a child process; it takes random steps for the scheduler and for a second
 * process beside it, until it ends, is killed at a random call that changes a
 * file, or meets a disk that fails. After each turn the base is recovered
 * without faults, and the judge compares directories, logs and registry with
 * what the users know.
 *
 *     test_sim_changes                    as a test: seeds 1 to 15
 *     test_sim_changes --seeds FROM TO    a campaign, or one seed again */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "changes/set_log.h"
#include "lib/random.h"
#include "support/spool.h"
#include "wire/job_file.h"

enum { SEEDS = 15, TURNS = 12, GHOSTS_MAX = 80, KILLED = 77, AT_REST = 78 };

/* ---- the world ----------------------------------------------------------- */

/* What a user knows of a set that was handed in. */
enum handed {
    HANDED_GOOD,
    HANDED_TWICE,   /* its id is taken */
    HANDED_GARBAGE, /* no tarball */
    HANDED_CLASS,   /* the name has another class than the tarball */
    HANDED_JUNK,    /* no name of a set; no data */
    HANDED_LATE     /* a marker; its data follows in the last turn */
};

struct ghost {
    enum handed handed;
    char id[16];
    char *name;
    struct text data;   /* the bytes in data/, or of the marker */
    bool admitted;      /* seen in the registry by the judge */
    bool cancelled;     /* by hand */
    bool again, copied; /* handed in again; its job file copied by hand */
};

struct world {
    struct spool spool;
    struct random random;
    uint64_t seed;
    unsigned turn;
    struct ghost ghosts[GHOSTS_MAX];
    size_t ghost_count;
    unsigned ids;
    unsigned admitted, kills, rests, hand_moves; /* what the seeds reached */
};

static struct world world;

static uint64_t draw(uint64_t below) {
    return random_below(&world.random, below);
}

static bool chance(unsigned percent) {
    return draw(100) < percent;
}

static void judge_fail(const char *format, ...) PRINTF_LIKE(1, 2);
static void judge_fail(const char *format, ...) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    va_list args;
    va_start(args, format);
    text_addv(&text, format, args);
    va_end(args);
    fail_msg("seed %" PRIu64 ", turn %u: %s", world.seed, world.turn,
             text_string(&text));
}

/* ---- users --------------------------------------------------------------- */

static struct ghost *ghost_new(enum handed handed, const char *id) {
    assert_true(world.ghost_count < GHOSTS_MAX);
    struct ghost *ghost = &world.ghosts[world.ghost_count++];
    *ghost = (struct ghost){.handed = handed};
    if (id)
        snprintf(ghost->id, sizeof(ghost->id), "%s", id);
    else
        snprintf(ghost->id, sizeof(ghost->id), "C%u", world.ids++);
    ghost->name = mem_string(spool_name(ghost->id, "DC"));
    return ghost;
}

static struct ghost *any_ghost(enum handed handed) {
    for (unsigned tries = 0; world.ghost_count > 0 && tries < 8; tries++) {
        struct ghost *ghost = &world.ghosts[draw(world.ghost_count)];
        if (ghost->handed == handed)
            return ghost;
    }
    return NULL;
}

static void hand_in(struct ghost *ghost, const char *set_class) {
    char files[32];
    snprintf(files, sizeof(files), "f%u g%u", (unsigned)draw(4),
             (unsigned)draw(4));
    bool hints = chance(30) && strcmp(ghost->id, "C0") != 0;
    spool_tar(&ghost->data, set_class, hints ? "##precursors\nC0\n" : "",
              files);
    spool_put(&world.spool, ghost->name, text_span(&ghost->data));
}

static void hand_in_good(void) {
    hand_in(ghost_new(HANDED_GOOD, NULL), "DC");
}

/* An id that another set has, or gets in this very turn. */
static void hand_in_twice(void) {
    struct ghost *first = any_ghost(HANDED_GOOD);
    if (first)
        hand_in(ghost_new(HANDED_TWICE, first->id), "DC");
}

static void hand_in_garbage(void) {
    struct ghost *ghost = ghost_new(HANDED_GARBAGE, NULL);
    text_addf(&ghost->data, "garbage %s", ghost->id);
    spool_put(&world.spool, ghost->name, text_span(&ghost->data));
}

static void hand_in_class(void) {
    hand_in(ghost_new(HANDED_CLASS, NULL), "BF");
}

/* Names that no set has. */
static void hand_in_junk(void) {
    static const char *const before[] = {"-", ".", "", "", "approve_"};
    static const char *const after[] = {"", "", "\n.why", "\xff junk", ""};
    CLEANUP(text_clear) struct text name = TEXT_INIT;
    struct ghost *ghost = ghost_new(HANDED_JUNK, NULL);
    size_t way = (size_t)draw(COUNT(before));
    text_addf(&name, "%s%s%s", before[way], ghost->id, after[way]);
    free(ghost->name);
    ghost->name = text_take(&name);
    text_addf(&ghost->data, "junk %s", ghost->id);
    spool_write(&world.spool, BASE_PREQUEUE, ghost->name,
                text_span(&ghost->data));
}

static void hand_in_late(void) {
    struct ghost *ghost = ghost_new(HANDED_LATE, NULL);
    spool_tar(&ghost->data, "DC", "", "f0");
    spool_write(&world.spool, BASE_PREQUEUE, ghost->name, SPAN(""));
}

/* The marker of a set that is known already, as after a lost answer. */
static void hand_in_again(void) {
    struct ghost *ghost = any_ghost(HANDED_GOOD);
    if (!ghost || !ghost->admitted || ghost->again)
        return;
    ghost->again = true;
    spool_write(&world.spool, BASE_PREQUEUE, ghost->name, SPAN(""));
}

static void users_act(void) {
    static void (*const deeds[])(void) = {
        hand_in_good,  hand_in_good,    hand_in_good,
        hand_in_twice, hand_in_garbage, hand_in_class,
        hand_in_junk,  hand_in_late,    hand_in_again,
    };
    for (uint64_t left = draw(6); left > 0; left--)
        deeds[draw(COUNT(deeds))]();
}

static int dir_of(enum job_state state) {
    return world.spool.base->dirs[state];
}

/* While no server runs. */
static void move_by_hand(void) {
    struct ghost *ghost = any_ghost(HANDED_GOOD);
    if (!ghost || !ghost->admitted || ghost->copied || !chance(60))
        return;
    enum job_state state = spool_job(&world.spool, ghost->id).state;
    enum job_state to = (enum job_state)draw(JOB_STATES);
    bool waits = STATE_BIT(state) & STATES_WAITING;
    world.hand_moves++;
    if (chance(40) && waits)
        to = STATE_TERMINATED;
    /* The job files of sets that are over are fsck's. */
    if (chance(20) && (STATE_BIT(state) & STATES_LIVE)) {
        assert_int_equal(unlinkat(dir_of(state), ghost->name, 0), 0);
        return;
    }
    if (to == state)
        return;
    if (chance(20)) {
        ghost->copied = true;
        spool_write(&world.spool, (enum base_dir)to, ghost->name,
                    span_of(spool_text(&world.spool, (enum base_dir)state,
                                       ghost->name)));
        return;
    }
    assert_int_equal(
        renameat(dir_of(state), ghost->name, dir_of(to), ghost->name), 0);
    ghost->cancelled |= waits && to == STATE_TERMINATED;
}

/* ---- the server ---------------------------------------------------------- */

enum trouble { TROUBLE_NONE, TROUBLE_KILL, TROUBLE_EIO, TROUBLE_FULL };

static enum trouble trouble;
static unsigned calls, fatal_call;

static bool gives_way(void) {
    calls++;
    if (trouble == TROUBLE_KILL && calls == fatal_call)
        _exit(KILLED);
    if (trouble == TROUBLE_EIO && calls == fatal_call)
        errno = EIO;
    else if (trouble == TROUBLE_FULL && calls >= fatal_call)
        errno = ENOSPC;
    else
        return false;
    return true;
}

static int weak_openat(int dir, const char *name, int flags, mode_t mode) {
    return gives_way() ? -1 : openat(dir, name, flags, mode);
}
/* Half of it is written before the end. */
static ssize_t weak_write(int fd, const void *bytes, size_t count) {
    if (trouble != TROUBLE_NONE && calls + 1 == fatal_call && count > 1)
        (void)!write(fd, bytes, count / 2);
    return gives_way() ? -1 : write(fd, bytes, count);
}
static int weak_ftruncate(int fd, off_t size) {
    return gives_way() ? -1 : ftruncate(fd, size);
}
static int weak_fchmod(int fd, mode_t mode) {
    return gives_way() ? -1 : fchmod(fd, mode);
}
static int weak_fchown(int fd, uid_t uid, gid_t gid) {
    return gives_way() ? -1 : fchown(fd, uid, gid);
}
static int weak_sync(int fd) {
    (void)fd;
    return gives_way() ? -1 : 0;
}
static int weak_renameat(int from_dir, const char *from, int to_dir,
                         const char *to) {
    return gives_way() ? -1 : renameat(from_dir, from, to_dir, to);
}
static int weak_renameat2(int from_dir, const char *from, int to_dir,
                          const char *to, unsigned flags) {
    return gives_way() ? -1 : renameat2(from_dir, from, to_dir, to, flags);
}
static int weak_linkat(int from_dir, const char *from, int to_dir,
                       const char *to, int flags) {
    return gives_way() ? -1 : linkat(from_dir, from, to_dir, to, flags);
}
static int weak_unlinkat(int dir, const char *name, int flags) {
    return gives_way() ? -1 : unlinkat(dir, name, flags);
}
static int weak_mkdirat(int dir, const char *name, mode_t mode) {
    return gives_way() ? -1 : mkdirat(dir, name, mode);
}
static int weak_mkfifoat(int dir, const char *name, mode_t mode) {
    return gives_way() ? -1 : mkfifoat(dir, name, mode);
}

static const struct disk weak = {
    .openat = weak_openat,
    .write = weak_write,
    .ftruncate = weak_ftruncate,
    .fchmod = weak_fchmod,
    .fchown = weak_fchown,
    .fsync = weak_sync,
    .syncfs = weak_sync,
    .renameat = weak_renameat,
    .renameat2 = weak_renameat2,
    .linkat = weak_linkat,
    .unlinkat = weak_unlinkat,
    .mkdirat = weak_mkdirat,
    .mkfifoat = weak_mkfifoat,
};

/* Steps of the scheduler: life.def with one reason for each. */
static const struct step {
    enum job_state from, to;
    const char *reason;
} steps[] = {
    {STATE_QUEUED, STATE_STAGED, "staged"},
    {STATE_QUEUED, STATE_STAGED, "staged"},
    {STATE_QUEUED, STATE_STAGED, "staged"},
    {STATE_QUEUED, STATE_STAGED, "staged"},
    {STATE_QUEUED, STATE_STAGED, "staged"},
    {STATE_QUEUED, STATE_TERMINATED, "operator"},
    {STATE_STAGED, STATE_TERMINATED, "operator"},
    {STATE_QUEUED, STATE_FAILED, "policy"},
    {STATE_QUEUED, STATE_ABANDONED, "rollback"},
    {STATE_STAGED, STATE_PENDING, "ready"},
    {STATE_STAGED, STATE_PENDING, "ready"},
    {STATE_STAGED, STATE_QUEUED, "recompute"},
    {STATE_STAGED, STATE_FAILED, "dep-failed"},
    {STATE_PENDING, STATE_EXECUTING, "start"},
    {STATE_PENDING, STATE_EXECUTING, "start"},
    {STATE_PENDING, STATE_TERMINATED, "operator"},
    {STATE_PENDING, STATE_ABANDONED, "rollback"},
    {STATE_EXECUTING, STATE_DONE, "ok"},
    {STATE_EXECUTING, STATE_FAILED, "exit-3"},
    {STATE_EXECUTING, STATE_PENDING, "temp"},
    {STATE_EXECUTING, STATE_ABANDONED, "rollback"},
    {STATE_ABANDONED, STATE_STAGED, "rb-undone"},
};

static bool is_own(struct store *store, uint64_t num, struct span id) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job job;
    return !store_job(store, num, &arena, &job, NULL) || span_equal(job.id, id);
}

/* The set leaves before it ran: sets that waited for it wait for what it waited
 * for (doc/design/ordering.md, O6). */
static size_t splice_heirs(struct store *store, struct store_batch *batch,
                           const struct job *job, struct arena *arena) {
    struct store_edge_to *heirs;
    struct job_edge *edges;
    size_t count, heir_count, spliced = 0;
    if (!store_edges_from(store, job->num, arena, &edges, &count, NULL) ||
        !store_edges_to(store, job->id, arena, &heirs, &heir_count, NULL))
        return 0;
    for (size_t i = 0; i < heir_count; i++)
        for (size_t k = 0; k < count; k++)
            if (heirs[i].kind == EDGE_PRECURSOR &&
                edges[k].kind == EDGE_PRECURSOR && heirs[i].num != job->num &&
                !is_own(store, heirs[i].num, edges[k].to) &&
                (STATE_BIT(heirs[i].state) &
                 (STATE_BIT(STATE_QUEUED) | STATE_BIT(STATE_STAGED)))) {
                store_splice(batch, heirs[i].num, &edges[k].to, 1);
                spliced++;
            }
    return spliced;
}

/* True: the set had a precursor and heirs, and is gone. */
static bool leave_a_chain(struct store *store, const struct job *job,
                          struct arena *arena) {
    if (!(STATE_BIT(job->state) & STATES_WAITING))
        return false;
    struct store_batch *batch = store_batch_new(store);
    store_batch_actor(batch, world.spool.now, SPAN("daemon:test"));
    store_move(batch, &(struct store_move){.num = job->num,
                                           .from = job->state,
                                           .to = STATE_TERMINATED,
                                           .reason = SPAN("operator")});
    bool any = splice_heirs(store, batch, job, arena) > 0;
    if (any)
        (void)store_write(batch, NULL);
    store_batch_free(batch);
    return any;
}

/* Its precursors: none, or a job that came before it. */
static void record(struct store_batch *batch, const struct job *job,
                   const struct job *jobs, size_t count) {
    size_t older = 0;
    while (older < count && jobs[older].num < job->num)
        older++;
    bool some = older > 0 && chance(90);
    struct span id = some ? jobs[draw(older)].id : SPAN("");
    store_record(batch, job->num, &id, some);
}

static void take_step(struct store *store, const struct job *job,
                      const struct job *jobs, size_t count,
                      struct arena *arena) {
    const struct step *step = &steps[draw(COUNT(steps))];
    for (unsigned tries = 0; step->from != job->state && tries < 40; tries++)
        step = &steps[draw(COUNT(steps))];
    if (step->from != job->state)
        return;
    struct store_batch *batch = store_batch_new(store);
    store_batch_actor(batch, world.spool.now, SPAN("daemon:test"));
    if (step->to == STATE_STAGED && job->state == STATE_QUEUED)
        record(batch, job, jobs, count);
    store_move(batch, &(struct store_move){.num = job->num,
                                           .from = job->state,
                                           .to = step->to,
                                           .reason = span_of(step->reason),
                                           .begin_attempt =
                                               step->to == STATE_EXECUTING});
    if (job_state_is_final(step->to) && job->state != STATE_EXECUTING)
        (void)splice_heirs(store, batch, job, arena);
    (void)store_write(batch, NULL);
    store_batch_free(batch);
}

static void scheduler_acts(struct store *store) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_list list = {.states =
                                  STATES_LIVE | STATE_BIT(STATE_ABANDONED),
                              .kinds = 1u << JOB_CHANGE,
                              .limit = 1000};
    struct job *jobs;
    size_t count;
    if (!store_jobs(store, &list, &arena, &jobs, &count, NULL) || count == 0)
        return;
    for (size_t i = chance(30) ? 0 : count; i < count; i++)
        if (leave_a_chain(store, &jobs[i], &arena))
            return;
    const struct job *job = &jobs[draw(count)];
    if (job->state == STATE_STAGED && chance(40)) {
        struct store_batch *batch = store_batch_new(store);
        store_batch_actor(batch, world.spool.now, SPAN("daemon:test"));
        record(batch, job, jobs, count);
        (void)store_write(batch, NULL);
        store_batch_free(batch);
        return;
    }
    take_step(store, job, jobs, count, &arena);
}

static void operator_holds(struct store *store) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_list list = {
        .states = STATES_LIVE, .kinds = 1u << JOB_CHANGE, .limit = 1000};
    struct job *jobs;
    size_t count;
    if (!store_jobs(store, &list, &arena, &jobs, &count, NULL) || count == 0)
        return;
    const struct job *job = &jobs[draw(count)];
    struct store_batch *batch = store_batch_new(store);
    store_batch_actor(batch, world.spool.now, SPAN("uid:1"));
    if (job->holds & HOLD_OPERATOR)
        store_release(batch, job->num, HOLD_OPERATOR, SPAN("seen"));
    else
        store_hold(batch, job->num, HOLD_OPERATOR, SPAN("a look\nfirst"));
    (void)store_write(batch, NULL);
    store_batch_free(batch);
}

/* Another process, perhaps one that moves the files of its changes itself. */
static void other_process_acts(void) {
    struct base_open how = {0};
    struct base *base;
    if (!base_open(world.spool.path, &how, &base, NULL))
        return;
    for (uint64_t left = 1 + draw(3); left > 0; left--)
        scheduler_acts(base->store);
    if (chance(50))
        (void)projection_catch_up(base, world.spool.now, NULL);
    base_close(base);
}

static void server_acts(struct spool *spool) {
    struct wall next;
    spool->now = wall_add_ms(spool->now, (int64_t)draw(2000));
    (void)store_poll(spool->base->store, NULL);
    switch (draw(7)) {
    case 0:
    case 1:
        do
            (void)prequeue_scan(spool->prequeue, spool->now, &next, NULL);
        while (prequeue_is_due(spool->prequeue) && trouble < TROUBLE_EIO);
        break;
    case 2:
        other_process_acts();
        break;
    case 3:
        operator_holds(spool->base->store);
        break;
    case 4:
        (void)projection_reconcile(spool->projection, spool->now, NULL);
        break;
    default:
        for (uint64_t left = 1 + draw(5); left > 0; left--)
            scheduler_acts(spool->base->store);
    }
    if (chance(60))
        (void)projection_pass(spool->projection, spool->now, NULL);
}

static int server_main(void) {
    struct spool *spool = &world.spool;
    struct base_open how = {0};
    disk = &weak;
    if (!base_open(spool->path, &how, &spool->base, NULL))
        return 1;
    spool->checker = checker_new(spool->base, NULL, NULL);
    if (!projection_open(spool->base, &spool->projection, NULL) ||
        !projection_recover(spool->projection, spool->now, NULL))
        return 1;
    spool->prequeue =
        prequeue_new(spool->base, spool->checker, spool->projection);
    for (uint64_t left = 1 + draw(10); left > 0; left--)
        server_acts(spool);
    if (chance(50))
        return 0; /* whatever it still meant to do is not done */
    bool rests = store_poll(spool->base->store, NULL) &&
                 projection_finish(spool->projection, spool->now, NULL);
    spool_close(spool);
    return rests ? AT_REST : 0;
}

/* True: it projected everything before it ended. */
static bool server_runs(void) {
    int status;
    trouble = (enum trouble)draw(4);
    calls = 0;
    fatal_call = 1 + (unsigned)draw(chance(70) ? 20 : 100);
    uint64_t seed = draw(UINT64_MAX);
    fflush(stdout);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        random_init(&world.random, seed);
        _exit(server_main());
    }
    trouble = TROUBLE_NONE;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status))
        judge_fail("the server ended with signal %d", WTERMSIG(status));
    world.kills += WEXITSTATUS(status) == KILLED;
    return WEXITSTATUS(status) == AT_REST;
}

/* ---- the judge ----------------------------------------------------------- */

static void judge_bytes(const struct ghost *ghost, enum base_dir dir) {
    CLEANUP(text_clear) struct text bytes = TEXT_INIT;
    struct err err = {0};
    if (!dir_read(world.spool.base->dirs[dir], ghost->name, 1 << 20, &bytes,
                  &err))
        judge_fail("'%s' in %s/: %s", ghost->name, base_dir_name(dir),
                   err.text);
    if (!span_equal(text_span(&bytes), text_span(&ghost->data)))
        judge_fail("'%s' in %s/ has other bytes", ghost->name,
                   base_dir_name(dir));
}

/* Kept, with the reason beside it. */
static void judge_rejected(const struct ghost *ghost, const char *word) {
    CLEANUP(text_clear) struct text why = TEXT_INIT;
    judge_bytes(ghost, BASE_REJECT);
    text_addf(&why, "%s.why", ghost->name);
    const char *line = spool_text(&world.spool, BASE_REJECT, text_string(&why));
    if (strncmp(line, word, strlen(word)) != 0)
        judge_fail("'%s' was rejected as %s", ghost->name, line);
}

/* One admission, and then legal steps up to its present state. */
static void judge_history(const struct job *job) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_event *events;
    struct err err = {0};
    enum job_state state = STATE_NONE;
    size_t count;
    if (!store_events(world.spool.base->store, 0, job->num, 10000, &arena,
                      &events, &count, &err))
        judge_fail("%s", err.text);
    for (size_t i = 0; i < count; i++) {
        const struct store_event *event = &events[i];
        if (event->kind != EVENT_MOVE)
            continue;
        if (event->from != state ||
            !job_step_is_legal(event->from, event->to, event->reason))
            judge_fail("event %" PRIu64 " of '%.*s' is no step from here",
                       event->seq, (int)job->id.len, job->id.p);
        state = event->to;
    }
    if (state != job->state)
        judge_fail("'%.*s' is %s, its events say %s", (int)job->id.len,
                   job->id.p, job_state_word(job->state),
                   job_state_word(state));
}

/* A lost registry is rebuilt from the job files (C9): they have its record. */
static void judge_record(const struct job *job) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job_edge *edges;
    struct job_file file;
    struct refusal why = {0};
    struct err err = {0};
    size_t count = 0, found = 0;
    const char *name = arena_string(&arena, job->name);
    struct span text =
        span_of(spool_text(&world.spool, (enum base_dir)job->state, name));
    if (!job_file_parse(text, &arena, &file, &why) ||
        !store_edges_from(world.spool.base->store, job->num, &arena, &edges,
                          &count, &err))
        judge_fail("%s%s", why.text, err.text);
    for (size_t i = 0; i < count; i++) {
        bool has = edges[i].kind != EDGE_PRECURSOR;
        found += !has;
        for (size_t k = 0; k < file.precursors.count; k++)
            has |= span_equal(file.precursors.items[k], edges[i].to);
        if (!has)
            judge_fail("the job file of '%s' does not name precursor '%.*s'",
                       name, (int)edges[i].to.len, edges[i].to.p);
    }
    if (file.computed && file.precursors.count != found)
        judge_fail("the job file of '%s' names %zu precursors instead of %zu",
                   name, file.precursors.count, found);
}

static void judge_admitted(struct ghost *ghost) {
    if (!spool_knows(&world.spool, ghost->id))
        judge_fail("'%s' is not admitted", ghost->name);
    struct job job = spool_job(&world.spool, ghost->id);
    if (!span_is(job.name, ghost->name))
        judge_fail("'%.*s' is admitted instead of '%s'", (int)job.name.len,
                   job.name.p, ghost->name);
    if (job.holds & HOLD_AMBIGUOUS)
        judge_fail("'%s' is held as ambiguous", ghost->id);
    if (ghost->cancelled && job.state != STATE_TERMINATED)
        judge_fail("'%s' was moved to term/ and is %s", ghost->id,
                   job_state_word(job.state));
    judge_bytes(ghost, BASE_DATA);
    judge_history(&job);
    if (STATE_BIT(job.state) &
        (STATE_BIT(STATE_QUEUED) | STATE_BIT(STATE_STAGED)))
        judge_record(&job);
    world.admitted += !ghost->admitted;
    ghost->admitted = true;
}

static void judge_ghost(struct ghost *ghost) {
    switch (ghost->handed) {
    case HANDED_GOOD:
        judge_admitted(ghost);
        break;
    case HANDED_TWICE:
        judge_rejected(ghost, "duplicate-csid:");
        break;
    case HANDED_GARBAGE:
        judge_rejected(ghost, "not-tar:");
        break;
    case HANDED_CLASS:
        judge_rejected(ghost, "class-mismatch:");
        break;
    case HANDED_JUNK:
        judge_rejected(ghost, "bad-");
        break;
    case HANDED_LATE:
        if (spool_knows(&world.spool, ghost->id) ||
            !spool_has(&world.spool, BASE_PREQUEUE, ghost->name))
            judge_fail("the marker '%s' does not wait", ghost->name);
    }
}

/* Of an admitted set, two things may lie in reject/: a copy made by hand, and
 * its marker, if the set had ended when the marker was found (C7). */
static size_t rejected_beside(const struct ghost *ghost) {
    static const char *const suffix[] = {"", ".1", ".2"};
    size_t markers = 0, copies = 0;
    for (size_t i = 0; i < COUNT(suffix); i++) {
        CLEANUP(text_clear) struct text why = TEXT_INIT;
        text_addf(&why, "%s%s.why", ghost->name, suffix[i]);
        if (!spool_has(&world.spool, BASE_REJECT, text_string(&why)))
            break;
        struct span line =
            span_of(spool_text(&world.spool, BASE_REJECT, text_string(&why)));
        markers += span_starts(line, "duplicate-csid:");
        copies += span_starts(line, "second-file:");
    }
    if (markers > (ghost->again ? 2u : 1u) ||
        copies != (ghost->copied ? 1u : 0u))
        judge_fail("%zu markers and %zu copies of '%s' are in reject/", markers,
                   copies, ghost->name);
    return markers + copies;
}

/* Nothing lies about that no ghost accounts for. */
static void judge_counts(void) {
    size_t data = 0, waiting = 0, rejected = 0;
    for (size_t i = 0; i < world.ghost_count; i++) {
        const struct ghost *ghost = &world.ghosts[i];
        bool is_good = ghost->handed == HANDED_GOOD;
        data += is_good;
        waiting += ghost->handed == HANDED_LATE;
        rejected +=
            is_good ? rejected_beside(ghost) : ghost->handed != HANDED_LATE;
    }
    if (spool_count(&world.spool, BASE_DATA) != data)
        judge_fail("%u files in data/ instead of %zu",
                   spool_count(&world.spool, BASE_DATA), data);
    if (spool_count(&world.spool, BASE_PREQUEUE) != waiting)
        judge_fail("%u files in prequeue/ instead of %zu",
                   spool_count(&world.spool, BASE_PREQUEUE), waiting);
    if (spool_count(&world.spool, BASE_REJECT) != 2 * rejected)
        judge_fail("%u files in reject/ instead of %zu",
                   spool_count(&world.spool, BASE_REJECT), 2 * rejected);
}

/* Before a recovery could make up for anything. */
static void judge_at_rest(void) {
    struct err err = {0};
    struct base_open how = {0};
    struct spool *spool = &world.spool;
    if (!base_open(spool->path, &how, &spool->base, &err))
        judge_fail("%s", err.text);
    spool_assert_projected(spool);
    for (size_t i = 0; i < world.ghost_count; i++) {
        const struct ghost *ghost = &world.ghosts[i];
        struct job job;
        if (ghost->handed != HANDED_GOOD || !spool_knows(spool, ghost->id))
            continue;
        job = spool_job(spool, ghost->id);
        if (STATE_BIT(job.state) &
            (STATE_BIT(STATE_QUEUED) | STATE_BIT(STATE_STAGED)))
            judge_record(&job);
    }
    base_close(spool->base);
    spool->base = NULL;
    world.rests++;
}

static void judge(void) {
    struct err err = {0};
    for (size_t i = 0; i < world.ghost_count; i++)
        judge_ghost(&world.ghosts[i]);
    judge_counts();
    spool_assert_projected(&world.spool);
    if (!store_verify(world.spool.base->store, &err))
        judge_fail("the registry is not sound: %s", err.text);
}

/* ---- a seed -------------------------------------------------------------- */

static void late_data_arrives(void) {
    for (size_t i = 0; i < world.ghost_count; i++) {
        struct ghost *ghost = &world.ghosts[i];
        if (ghost->handed != HANDED_LATE)
            continue;
        spool_write(&world.spool, BASE_DATA, ghost->name,
                    text_span(&ghost->data));
        ghost->handed = HANDED_GOOD;
    }
}

static void turn(void) {
    users_act();
    move_by_hand();
    if (world.turn + 1 == TURNS)
        late_data_arrives();
    spool_close(&world.spool);
    if (server_runs())
        judge_at_rest();
    world.spool.now = wall_add_ms(world.spool.now, 10000);
    spool_open(&world.spool);
    spool_scan(&world.spool);
    judge();
}

static void run(uint64_t seed) {
    random_init(&world.random, seed);
    world.seed = seed;
    spool_begin(&world.spool);
    for (world.turn = 0; world.turn < TURNS; world.turn++)
        turn();
    spool_end(&world.spool);
    for (size_t i = 0; i < world.ghost_count; i++) {
        free(world.ghosts[i].name);
        text_clear(&world.ghosts[i].data);
    }
    world.ghost_count = 0;
    world.ids = 0;
}

static uint64_t first_seed = 1, last_seed;

static void every_entry_is_admitted_once_or_kept_with_its_reason(void **state) {
    (void)state;
    for (uint64_t seed = first_seed; seed <= last_seed; seed++)
        run(seed);
    print_message("# %u admitted, %u kills, %u rests, %u moves by hand\n",
                  world.admitted, world.kills, world.rests, world.hand_moves);
}

/* Otherwise the judges had nothing to do. */
static void the_seeds_reach_what_is_judged(void **state) {
    (void)state;
    if (last_seed == first_seed)
        test_skip("there was one seed");
    assert_true(world.admitted > 0 && world.kills > 0);
    assert_true(world.rests > 0 && world.hand_moves > 0);
}

static int tell_seed(void **state) {
    (void)state;
    if (world.ghost_count > 0)
        print_message("# seed %" PRIu64 ", turn %u\n", world.seed, world.turn);
    return 0;
}

int main(int argc, char **argv) {
    SPOOL_MAIN(argc, argv);
    last_seed = test_cases(SEEDS);
    if (argc != 1 &&
        (argc != 4 || strcmp(argv[1], "--seeds") != 0 ||
         !span_u64(span_of(argv[2]), &first_seed) ||
         !span_u64(span_of(argv[3]), &last_seed) || last_seed < first_seed)) {
        fprintf(stderr, "usage: test_sim_changes [--seeds FROM TO]\n");
        return 64;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(
            every_entry_is_admitted_once_or_kept_with_its_reason, tell_seed),
        cmocka_unit_test(the_seeds_reach_what_is_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
