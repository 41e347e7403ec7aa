#include "contract/store_rig.h"
#include "store/simulated.h"

#include <unistd.h>

char *rig_new_path(void) {
    static unsigned made;
    struct text path = TEXT_INIT;
    text_addf(&path, "%s/registry-%u.db", test_dir(), ++made);
    return text_take(&path);
}

struct store *rig_open(const char *path, bool own_thread) {
    struct store_options options = {
        .create = true, .own_thread = own_thread, .busy_ms = 60000};
    struct store *store = NULL;
    struct err err = {0};
    if (!store_sqlite_open(path, &options, &store, &err))
        fail_msg("%s", err.text);
    return store;
}

static int rig_setup(void **state, enum rig_backend backend) {
    struct rig *rig = mem_alloc(sizeof(*rig));
    rig->backend = backend;
    rig->now = wall_from_s(1000);
    if (backend == RIG_MEMORY) {
        rig->store = store_memory_new();
    } else if (backend == RIG_SQLITE_MEMORY) {
        rig->store = store_new_sqlite();
    } else {
        rig->path = rig_new_path();
        rig->store = rig_open(rig->path, backend == RIG_SQLITE_THREAD);
    }
    *state = rig;
    return 0;
}

int rig_setup_memory(void **state) {
    return rig_setup(state, RIG_MEMORY);
}

int rig_setup_sqlite_memory(void **state) {
    return rig_setup(state, RIG_SQLITE_MEMORY);
}

int rig_setup_sqlite(void **state) {
    return rig_setup(state, RIG_SQLITE);
}

int rig_setup_thread(void **state) {
    return rig_setup(state, RIG_SQLITE_THREAD);
}

void rig_reopen(struct rig *rig) {
    if (!rig->path)
        return;
    store_close(rig->store);
    rig->store = rig_open(rig->path, rig->backend == RIG_SQLITE_THREAD);
}

struct store_batch *rig_batch(struct rig *rig) {
    struct store_batch *batch = store_batch_new(rig->store);
    rig->now = wall_add_ms(rig->now, 1000);
    store_batch_actor(batch, rig->now, SPAN("uid:7"));
    return batch;
}

enum store_result rig_write(struct store_batch *batch) {
    struct err err = {0};
    if (!store_write(batch, &err))
        fail_msg("%s", err.text);
    enum store_result result =
        store_batch_result(batch, store_batch_count(batch) - 1);
    store_batch_free(batch);
    return result;
}

struct job rig_command(const char *id, const char *key) {
    return (struct job){
        .id = span_of(id),
        .kind = JOB_COMMAND,
        .job_class = CLASS_DC,
        .state = STATE_PENDING,
        .key = span_of(key),
        .actor = SPAN("uid:7"),
        .cause = SPAN("person"),
        .sum = SPAN("5u"),
        .spec = SPAN("{\"command\":[\"true\"]}"),
        .retries = 3,
        .flags = JOB_AT_MOST_ONCE,
        .uid = 7,
    };
}

struct job rig_change(const char *id, const char *key) {
    struct job job = rig_command(id, key);
    job.kind = JOB_CHANGE;
    job.state = STATE_QUEUED;
    job.target = SPAN("main");
    job.name = SPAN("DC@40000000000000000000000000.set");
    job.size_bytes = 512;
    job.spec = SPAN("");
    job.retries = job.flags = 0;
    job.group_size = 2;
    job.seen = SPAN("none");
    return job;
}

uint64_t rig_admit(struct rig *rig, const struct job *job) {
    struct store_batch *batch = rig_batch(rig);
    store_admit(batch, job, NULL, 0, NULL, 0, NULL, 0);
    if (!store_write(batch, &rig->err))
        fail_msg("%s", rig->err.text);
    assert_int_equal(store_batch_result(batch, 0), STORE_DONE);
    uint64_t num = store_batch_num(batch, 0);
    store_batch_free(batch);
    return num;
}

enum store_result rig_move(struct rig *rig, uint64_t num, enum job_state from,
                           enum job_state to, const char *reason) {
    struct store_batch *batch = rig_batch(rig);
    struct store_move move = {
        .num = num,
        .from = from,
        .to = to,
        .reason = span_of(reason),
        .begin_attempt = to == STATE_EXECUTING,
    };
    store_move(batch, &move);
    return rig_write(batch);
}

uint64_t rig_started(struct rig *rig, const char *id) {
    struct job job = rig_command(id, id);
    uint64_t num = rig_admit(rig, &job);
    assert_int_equal(
        rig_move(rig, num, STATE_PENDING, STATE_EXECUTING, "start"),
        STORE_DONE);
    return num;
}

struct job rig_job(struct rig *rig, uint64_t num) {
    struct job job = {0};
    if (!store_job(rig->store, num, &rig->arena, &job, &rig->err))
        fail_msg("%s", rig->err.text);
    return job;
}

const char *rig_ids(struct rig *rig, const struct job *jobs, size_t count) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    for (size_t i = 0; i < count; i++) {
        text_adds(&text, i ? " " : "");
        text_addspan(&text, jobs[i].id);
    }
    return arena_string(&rig->arena, text_span(&text));
}

const char *rig_ready(struct rig *rig, int64_t now_s) {
    struct job *jobs;
    size_t count;
    if (!store_ready(rig->store, wall_from_s(now_s), SPAN(""), 0, 0,
                     &rig->arena, &jobs, &count, &rig->err))
        fail_msg("%s", rig->err.text);
    return rig_ids(rig, jobs, count);
}

const char *rig_list(struct rig *rig, struct store_list list) {
    struct job *jobs;
    size_t count;
    if (!store_jobs(rig->store, &list, &rig->arena, &jobs, &count, &rig->err))
        fail_msg("%s", rig->err.text);
    return rig_ids(rig, jobs, count);
}

const char *rig_events(struct rig *rig, uint64_t after) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct store_event *events;
    size_t count;
    if (!store_events(rig->store, after, 0, 0, &rig->arena, &events, &count,
                      &rig->err))
        fail_msg("%s", rig->err.text);
    for (size_t i = 0; i < count; i++) {
        const struct store_event *event = &events[i];
        text_addf(&text, "%s%s %.*s %c %c %.*s", i ? "; " : "",
                  job_event_kind_word(event->kind), (int)event->id.len,
                  event->id.p, job_state_letter(event->from),
                  job_state_letter(event->to), (int)event->reason.len,
                  event->reason.p);
    }
    return arena_string(&rig->arena, text_span(&text));
}

void rig_verify(struct rig *rig) {
    if (!store_verify(rig->store, &rig->err))
        fail_msg("%s", rig->err.text);
}

int rig_teardown(void **state) {
    struct rig *rig = *state;
    rig_verify(rig); /* after every test */
    store_close(rig->store);
    arena_clear(&rig->arena);
    free(rig->path);
    free(rig);
    return 0;
}
