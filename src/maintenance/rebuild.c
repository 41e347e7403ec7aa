#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/reason.h"
#include "os/dir.h"
#include "changes/change_kind.h"
#include "changes/facts.h"
#include "maintenance/fsck_report.h"
#include "changes/placement.h"
#include "changes/projection_parts.h"
#include "changes/prune.h"
#include "maintenance/rebuild_parts.h"
#include "changes/set_rules.h"
#include "store/noun.h"
#include "wire/job_file.h"

/* Rebuilding a registry: the job file says what each set is, the directory it
 * lies in gives its state, and its log says how it came there. Events keep
 * their numbers and times; the hash chain over them is new. */

enum { OPS_AT_ONCE = 1000 };

#define NEW_REGISTRY "registry.db.new"

static struct found_set *set_of(struct rebuild *rebuild, struct span id) {
    struct found_set *set = map_get(&rebuild->sets, id);
    if (set)
        return set;
    set = arena_alloc(&rebuild->arena, sizeof(*set));
    set->id = arena_span(&rebuild->arena, id);
    set->state = STATE_NONE;
    map_put(&rebuild->sets, id, set);
    return set;
}

/* ---- job files ------------------------------------------------------- */

static bool read_file(struct rebuild *rebuild, int dir, struct span entry,
                      struct job_file *ret_file) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct refusal why;
    const char *name = arena_string(&rebuild->arena, entry);
    if (!dir_read(dir, name, JOB_FILE_BYTES, &text, NULL))
        return false;
    struct span bytes = arena_span(&rebuild->arena, text_span(&text));
    return job_file_parse(bytes, &rebuild->arena, ret_file, &why) &&
           span_equal(ret_file->name.text, entry);
}

static void use_file(struct rebuild *rebuild, const struct job_file *file,
                     struct found_set *set) {
    const struct config_target *target =
        set_target(&rebuild->base->config, file->meta.target);
    set_record_read(file, target ? target->name : file->meta.target,
                    &rebuild->arena, &set->record);
    set->has_file = true;
}

struct scan {
    struct rebuild *rebuild;
    enum job_state state;
};

/* If there are two files, the one in the later state counts; the next start
 * removes the other or puts it aside. */
static bool on_job_file(void *ctx, struct span entry) {
    struct scan *scan = ctx;
    struct rebuild *rebuild = scan->rebuild;
    struct job_file file;
    if (!read_file(rebuild, rebuild->base->dirs[scan->state], entry, &file)) {
        fsck_problem(rebuild->report,
                     "'%.*s' in %s/ is not a complete job file", (int)entry.len,
                     entry.p, job_state_dir(scan->state));
        return true;
    }
    struct found_set *set = set_of(rebuild, file.name.csid);
    if (set->has_file)
        fsck_problem(rebuild->report, "set '%.*s' has two job files",
                     (int)set->id.len, set->id.p);
    use_file(rebuild, &file, set);
    set->state = scan->state;
    return true;
}

static bool on_archived(void *ctx, struct span entry) {
    struct scan *scan = ctx;
    struct rebuild *rebuild = scan->rebuild;
    struct job_file file;
    if (span_ends(entry, ".tar") ||
        !read_file(rebuild, rebuild->base->dirs[BASE_ARCHIVE], entry, &file))
        return true;
    struct found_set *set = set_of(rebuild, file.name.csid);
    if (!set->has_file)
        use_file(rebuild, &file, set);
    set->archived = true;
    return true;
}

/* ---- logs ------------------------------------------------------------ */

static bool on_log(void *ctx, struct span entry) {
    struct scan *scan = ctx;
    struct rebuild *rebuild = scan->rebuild;
    struct err why = {0};
    struct found_set *set = set_of(rebuild, entry);
    set->has_log =
        set_log_read(rebuild->base, set->id, &rebuild->arena, &set->log, &why);
    if (!set->has_log)
        fsck_problem(rebuild->report, "%s", why.text);
    return true;
}

static bool collect(struct rebuild *rebuild, struct err *err) {
    struct scan scan = {.rebuild = rebuild};
    int *dirs = rebuild->base->dirs;
    for (scan.state = 0; scan.state < JOB_STATES; scan.state++)
        if (!dir_each(dirs[scan.state], on_job_file, &scan, err))
            return false;
    return dir_each(dirs[BASE_ARCHIVE], on_archived, &scan, err) &&
           dir_each(dirs[BASE_LOG], on_log, &scan, err);
}

/* ---- past life ------------------------------------------------------- */

static void follow_event(struct job *job, const struct store_event *event,
                         struct arena *arena, enum job_state *at) {
    struct event_facts facts = facts_of(event, arena);
    if (event->kind == EVENT_MOVE) {
        if (event->from == STATE_NONE) {
            job->admitted = event->at;
            job->admitted_seq = event->seq;
            job->actor = event->actor;
            job->holds = facts.holds;
        }
        *at = event->to;
        job->since = event->at;
        job->state_seq = event->seq;
        job->reason = event->reason;
        job->detail = event->detail;
        job->cancel_asked = false;
        job->temps += span_is(event->reason, REASON_TEMP);
        job->crashes += span_is(event->reason, REASON_CRASH);
    }
    if (facts.settled || facts.owed.ns > 0)
        job->owed = facts.owed;
    if (event->kind == EVENT_HOLD)
        job->holds |= facts.holds;
    if (event->kind == EVENT_RELEASE)
        job->holds &= ~facts.holds;
    if (event->kind == EVENT_CANCEL)
        job->cancel_asked = true;
    if (event->kind == EVENT_RECORD && event->seq > job->record_seq)
        job->record_seq = event->seq;
    if (event->attempt > job->attempt)
        job->attempt = event->attempt;
}

/* A set whose admission is not in its log, or was not by an account, belongs to
 * the owner of the base, as its files do. */
static void restore_owner(struct rebuild *rebuild, struct job *job) {
    uint32_t owner = rebuild->base->uid;
    struct access_owner by;
    job->uid = access_owner_parse(job->actor, &by) ? by.uid : owner;
    if (job->actor.len == 0)
        job->actor = span_of(
            arena_printf(&rebuild->arena, "uid:%lu", (unsigned long)owner));
}

/* The directory decides the state, because it is always readable. If the log
 * says otherwise, the last step reached only the directory. */
static void restore_life(struct rebuild *rebuild, struct found_set *set) {
    struct job *job = &set->record.job;
    enum job_state at = STATE_NONE;
    int id_len = (int)set->id.len;
    job->id = set->id;
    job->kind = CHANGE_KIND;
    job->tasks = 1;
    job->cause = SPAN(CAUSE_PERSON);
    for (size_t i = 0; i < set->log.count; i++)
        follow_event(job, &set->log.events[i], &rebuild->arena, &at);
    set->logged = at;
    if (set->state != STATE_NONE)
        job->state = set->state;
    else
        job->state = at;
    if (set->state != STATE_NONE && at != set->state) {
        fsck_problem(rebuild->report,
                     "set '%.*s' is in %s/, but its log ends with %s; the "
                     "directory takes precedence",
                     id_len, set->id.p, job_state_dir(set->state),
                     job_state_word(at));
        job->since = rebuild->now;
        job->reason = SPAN("rebuilt");
        job->detail = SPAN("");
        set->lacks_step = true;
        job->stale = true; /* the next start writes its log */
        if (set->state == STATE_EXECUTING)
            job->attempt++; /* the attempt whose start the log lacks */
    }
    job->tasks_done = job->state == STATE_DONE;
    restore_owner(rebuild, job);
}

/* Checks whether a set can be restored. Ids are never reused, so for a finished
 * set the log is enough. */
static bool is_usable(struct rebuild *rebuild, const struct found_set *set) {
    enum job_state state = set->record.job.state;
    bool over = state != STATE_NONE && job_state_is_final(state);
    if (set->has_file && state != STATE_NONE)
        return true;
    fsck_problem(rebuild->report,
                 set->has_log && over
                     ? "set '%.*s' has no job file; only its history is kept"
                     : "set '%.*s' has a history, but no job file: it is lost; "
                       "submit it again under another id",
                 (int)set->id.len, set->id.p);
    return set->has_log && over;
}

static int by_admission(const void *a, const void *b) {
    const struct job *one = &(*(struct found_set *const *)a)->record.job;
    const struct job *other = &(*(struct found_set *const *)b)->record.job;
    if (one->admitted_seq != other->admitted_seq)
        return one->admitted_seq < other->admitted_seq ? -1 : 1;
    return span_compare(one->id, other->id);
}

static void put_in_order(struct rebuild *rebuild) {
    size_t cursor = 0;
    struct span key;
    void *value;
    rebuild->order =
        arena_alloc(&rebuild->arena,
                    (map_count(&rebuild->sets) + 1) * sizeof(*rebuild->order));
    while (map_next(&rebuild->sets, &cursor, &key, &value)) {
        struct found_set *set = value;
        restore_life(rebuild, set);
        if (is_usable(rebuild, set))
            rebuild->order[rebuild->count++] = set;
    }
    qsort(rebuild->order, rebuild->count, sizeof(*rebuild->order),
          by_admission);
    rebuild_ask_branches(rebuild);
    for (size_t i = 0; i < rebuild->count; i++) {
        rebuild->order[i]->num = rebuild->order[i]->record.job.num = i + 1;
        rebuild_mark(rebuild, rebuild->order[i]);
        rebuild_take(rebuild, rebuild->order[i]);
    }
}

/* ---- writing --------------------------------------------------------- */

static bool flush(struct rebuild *rebuild, struct store_batch **batch,
                  unsigned least, struct err *err) {
    if (store_batch_count(*batch) < least)
        return true;
    bool ok = store_write(*batch, err);
    for (unsigned i = 0; ok && i < store_batch_count(*batch); i++)
        if (store_batch_result(*batch, i) != STORE_DONE)
            ok = err_set(err, ERR_DATA,
                         "cannot import the logs and job files: two events "
                         "have the same number, or two sets the same id");
    store_batch_free(*batch);
    *batch = store_batch_new(rebuild->base->store);
    store_batch_actor(*batch, rebuild->now, SPAN("daemon:fsck"));
    return ok;
}

/* Events without a number yet come last. */
static int by_seq(const void *a, const void *b) {
    uint64_t one = ((const struct store_event *)a)->seq - 1;
    uint64_t other = ((const struct store_event *)b)->seq - 1;
    return one < other ? -1 : one > other;
}

static struct store_event *gather_events(struct rebuild *rebuild,
                                         size_t *ret_count) {
    size_t count = 0;
    for (size_t i = 0; i < rebuild->count; i++)
        count += rebuild->order[i]->log.count;
    struct store_event *events =
        arena_alloc(&rebuild->arena, (count + 1) * sizeof(*events));
    *ret_count = 0;
    for (size_t i = 0; i < rebuild->count; i++) {
        const struct found_set *set = rebuild->order[i];
        for (size_t k = 0; k < set->log.count; k++) {
            events[*ret_count] = set->log.events[k];
            events[(*ret_count)++].num = set->num;
        }
    }
    qsort(events, count, sizeof(*events), by_seq);
    return events;
}

/* Adds the step that the directory shows and the log lacks. */
static void add_missing_step(struct rebuild *rebuild, struct store_batch *batch,
                             const struct found_set *set) {
    const struct job *job = &set->record.job;
    struct event_facts facts = {.rollback = set->taken_by};
    if (!set->lacks_step)
        return;
    store_restore_event(
        batch, &(struct store_event){
                   .at = job->since,
                   .kind = EVENT_MOVE,
                   .num = set->num,
                   .id = set->id,
                   .from = set->logged,
                   .to = job->state,
                   .attempt = job->attempt,
                   .actor = SPAN("daemon:fsck"),
                   .reason = job->reason,
                   .detail = job->detail,
                   .facts = event_facts_format(&facts, &rebuild->arena)});
}

static bool write_all(struct rebuild *rebuild, struct err *err) {
    struct store_batch *batch = store_batch_new(rebuild->base->store);
    size_t event_count;
    bool ok = true;
    store_batch_actor(batch, rebuild->now, SPAN("daemon:fsck"));
    for (size_t i = 0; ok && i < rebuild->count; i++) {
        const struct set_record *record = &rebuild->order[i]->record;
        store_restore_job(batch, &record->job, record->edges,
                          record->edge_count, record->touches,
                          record->touch_count);
        ok = flush(rebuild, &batch, OPS_AT_ONCE, err);
    }
    struct store_event *events = gather_events(rebuild, &event_count);
    for (size_t i = 0; ok && i < event_count; i++) {
        store_restore_event(batch, &events[i]);
        ok = flush(rebuild, &batch, OPS_AT_ONCE, err);
    }
    for (size_t i = 0; ok && i < rebuild->count; i++)
        add_missing_step(rebuild, batch, rebuild->order[i]);
    store_note(batch, EVENT_REBUILT, 0, SPAN(""), SPAN("rebuilt"),
               SPAN("rebuilt from directories, job files and logs"));
    ok = ok && flush(rebuild, &batch, 1, err);
    store_batch_free(batch);
    ok = ok && rebuild_plans(rebuild, err);
    rebuild->report->sets = rebuild->count;
    rebuild->report->events = event_count;
    return ok;
}

/* ---- the files of the registry --------------------------------------- */

static bool remove_new(struct base *base, struct err *err) {
    static const char *const names[] = {NEW_REGISTRY, NEW_REGISTRY "-wal",
                                        NEW_REGISTRY "-shm"};
    for (size_t i = 0; i < COUNT(names); i++)
        if (!dir_remove(base->dirs[BASE_CTRL], names[i], NULL, err))
            return false;
    return true;
}

/* The database's log is moved before the database, so that neither is ever read
 * with the other's counterpart. */
static bool keep_old(struct base *base, struct wall now, struct err *err) {
    static const char *const ends[] = {"-shm", "-wal", ""};
    int ctrl = base->dirs[BASE_CTRL];
    for (size_t i = 0; i < COUNT(ends); i++) {
        char from[64], to[128];
        enum dir_moved moved;
        snprintf(from, sizeof(from), "registry.db%s", ends[i]);
        snprintf(to, sizeof(to), "registry.db.before-rebuild-%" PRId64 "%s",
                 wall_s(now), ends[i]);
        if (!dir_move(ctrl, from, ctrl, to, DIR_DURABLE, &moved, err))
            return false;
        if (moved == DIR_EXISTS)
            return err_set(
                err, ERR_CANNOT,
                "'ctrl/%s' already exists: wait a second, or move it away", to);
    }
    return true;
}

static bool finish_files(struct rebuild *rebuild, struct err *err) {
    struct base *base = rebuild->base;
    for (size_t i = 0; i < rebuild->count; i++) {
        const struct found_set *set = rebuild->order[i];
        enum placed placed;
        if (set->state != STATE_NONE &&
            !placement_move(base,
                            arena_string(&rebuild->arena, set->record.job.name),
                            set->state, 0, &placed, err))
            return false;
    }
    return true;
}

/* Closing merged everything into the one file; any files left beside it are
 * empty. */
static bool is_whole(struct base *base, struct err *err) {
    struct stat st;
    bool there;
    if (!dir_stat(base->dirs[BASE_CTRL], NEW_REGISTRY "-wal", &st, &there, err))
        return false;
    return !there || st.st_size == 0 ||
           err_set(err, ERR_INTERNAL,
                   "the new registry was closed, but its write-ahead log is "
                   "not empty");
}

static bool put_in_place(struct rebuild *rebuild, uint64_t seq,
                         struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    struct base *base = rebuild->base;
    int ctrl = base->dirs[BASE_CTRL];
    enum dir_moved moved;
    return dir_open_file(ctrl, NEW_REGISTRY, O_RDONLY, 0, &fd, err) &&
           base_give_file(base, fd, err) && is_whole(base, err) &&
           finish_files(rebuild, err) && keep_old(base, rebuild->now, err) &&
           projection_set_safe_seq(base, seq, err) &&
           dir_move(ctrl, NEW_REGISTRY, ctrl, "registry.db", DIR_DURABLE,
                    &moved, err) &&
           remove_new(base, err);
}

static bool make_registry(struct rebuild *rebuild, struct err *err) {
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    struct base *base = rebuild->base;
    struct store_options options = {.create = true};
    text_addf(&path, "%s/ctrl/" NEW_REGISTRY, base->path);
    if (!remove_new(base, err) ||
        !store_sqlite_open(path.p, &options, &base->store, err))
        return false;
    bool ok = write_all(rebuild, err) && store_verify(base->store, err);
    uint64_t seq = store_seq(base->store);
    store_close(base->store);
    base->store = NULL;
    return ok && put_in_place(rebuild, seq, err);
}

/* True if the registry holds data that no file has. */
static bool has_unique_data(struct store *store, struct arena *arena) {
    struct store_list list = {.kinds = ~job_kinds_with(JOB_HAS_FILE),
                              .limit = 1};
    struct span *names, *values;
    struct job *jobs;
    size_t count;
    if (store_jobs(store, &list, arena, &jobs, &count, NULL) && count > 0)
        return true;
    if (store_settings(store, arena, &names, &values, &count, NULL) &&
        count > 0)
        return true;
    bool any;
    return store_nouns_irreplaceable(store, &any, NULL) && any;
}

/* An intact registry is not lost; rebuilding it would lose the data that exists
 * only there. */
static bool refuse_to_forget(struct base *base, struct err *err) {
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_options options = {.read_only = true};
    struct store *store;
    struct err why = {0};
    text_addf(&path, "%s/" BASE_REGISTRY, base->path);
    bool opened = store_sqlite_open(path.p, &options, &store, &why);
    /* One of an older version, or one that is locked, is not lost. */
    if (!opened && (why.kind == ERR_REFUSED || why.kind == ERR_TEMPORARY)) {
        options.read_only = false;
        if (!store_sqlite_open(path.p, &options, &store, err))
            return false;
        opened = true;
    }
    if (!opened && why.sys == EIO)
        return err_set(err, why.kind, "%s", why.text);
    if (!opened)
        return true;
    bool intact = store_verify(store, &why);
    bool more = intact && has_unique_data(store, &arena);
    store_close(store);
    if (!intact && why.sys == EIO)
        return err_set(err, why.kind, "%s", why.text);
    return !more ||
           err_set(err, ERR_REFUSED,
                   "'%s' is intact and holds commands, settings or schedules "
                   "that exist nowhere else; back it up and move it away first",
                   path.p);
}

bool rebuild_registry(const char *path, struct wall now,
                      struct fsck_report *report, struct err *err) {
    struct base_open how = {.no_store = true, .exclusive = true};
    struct rebuild rebuild = {.report = report, .now = now};
    if (!base_open(path, &how, &rebuild.base, err))
        return false;
    bool ok = refuse_to_forget(rebuild.base, err) && collect(&rebuild, err);
    if (ok) {
        put_in_order(&rebuild);
        ok = make_registry(&rebuild, err) && base_modes_set(rebuild.base, err);
    }
    map_clear(&rebuild.sets);
    arena_clear(&rebuild.arena);
    base_close(rebuild.base);
    return ok || err_wrap(err, "cannot rebuild the registry");
}
