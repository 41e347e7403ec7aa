#include "serve/upgrade_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/json.h"
#include "os/dir.h"
#include "os/fd.h"

enum { STATE_BYTES_MOST = 256 << 20 };

/* ---- writing ------------------------------------------------------------- */

static void put_i64(struct json *json, const char *key, int64_t value) {
    json_key(json, key);
    json_i64(json, value);
}

static void put_guard(struct json *json, const struct guard_handover *guard) {
    json_key(json, "guard");
    json_object(json);
    put_i64(json, "fd", guard->fd);
    put_i64(json, "pid", guard->pid);
    json_put_bool(json, "has_cgroup", guard->has_cgroup);
    json_put_span(json, "mode", guard->mode);
    json_put_span(json, "tree", guard->tree);
    json_put_span(json, "controllers", guard->controllers);
    put_i64(json, "slots_most", guard->slots_most);
    json_end(json);
}

static void put_attempts(struct json *json, const struct roles_handover *from) {
    json_key(json, "attempts");
    json_array(json);
    for (size_t i = 0; i < from->running_count; i++) {
        const struct scheduler_running *it = &from->running[i];
        json_object(json);
        put_i64(json, "handle", (int64_t)it->handle);
        put_i64(json, "num", (int64_t)it->num);
        put_i64(json, "task", (int64_t)it->task);
        put_i64(json, "attempt", it->attempt);
        put_i64(json, "assigned", it->assigned.ns);
        json_put_bool(json, "lasting", it->is_lasting);
        json_end(json);
    }
    json_end(json);
    json_key(json, "processes");
    json_array(json);
    for (size_t i = 0; i < from->worker.count; i++) {
        const struct worker_running *it = &from->worker.running[i];
        json_object(json);
        put_i64(json, "handle", (int64_t)it->handle);
        put_i64(json, "num", (int64_t)it->num);
        put_i64(json, "pid", it->pid);
        put_i64(json, "grace_ms", it->grace_ms);
        json_put_span(json, "node", it->node);
        json_put_span(json, "place", it->place);
        json_put_bool(json, "locked", it->is_locked);
        json_put_bool(json, "in_our_group", it->in_our_group);
        put_i64(json, "started", it->started.ns);
        json_end(json);
    }
    json_end(json);
}

static void put_state(struct json *json, const struct upgrade_state *state) {
    json_object(json);
    put_i64(json, "version", UPGRADE_STATE_VERSION);
    put_i64(json, "number", (int64_t)state->number);
    put_i64(json, "program_fd", state->program_fd);
    put_i64(json, "base_fd", state->base_fd);
    put_i64(json, "serve_fd", state->serve_fd);
    put_i64(json, "local_fd", state->sockets.local);
    put_i64(json, "tcp_fd", state->sockets.tcp);
    json_key(json, "roles");
    json_array(json);
    for (size_t i = 0; i < state->roles.role_count; i++) {
        json_object(json);
        json_put_span(json, "name", state->roles.roles[i].name);
        put_i64(json, "lock_fd", state->roles.roles[i].lock_fd);
        json_end(json);
    }
    json_end(json);
    if (state->roles.has_worker)
        put_guard(json, &state->roles.worker.guard);
    put_attempts(json, &state->roles);
    json_end(json);
}

int upgrade_state_write(const struct upgrade_state *state, struct err *err) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    CLEANUP(fd_close) int fd = memfd_create("upgrade", 0);
    struct json json;
    json_open(&json, &text);
    put_state(&json, state);
    text_addc(&text, '\n');
    if (fd < 0) {
        err_errno(err, errno, "cannot create a file in memory");
        return -1;
    }
    if (!dir_write_file(fd, text_span(&text), err))
        return -1;
    return take_fd(&fd);
}

/* The object is followed by a line of text. */
bool upgrade_state_fail(int fd, struct span why) {
    return lseek(fd, 0, SEEK_END) >= 0 && dir_write_file(fd, why, NULL);
}

/* ---- reading ------------------------------------------------------------- */

/* Missing and wrong members are found once, at the end. */
struct reading {
    struct arena *arena;
    bool ok;
};

static int64_t get_i64(struct reading *reading, struct json_value object,
                       const char *key, int64_t least, int64_t most) {
    struct json_value value;
    int64_t number = 0;
    bool ok = json_member(object, key, &value) &&
              json_get_i64(value, &number) && number >= least && number <= most;
    reading->ok = reading->ok && ok;
    return ok ? number : least;
}

static int get_fd(struct reading *reading, struct json_value object,
                  const char *key, int least) {
    return (int)get_i64(reading, object, key, least, INT32_MAX);
}

static struct span get_span(struct reading *reading, struct json_value object,
                            const char *key) {
    struct json_value value;
    struct span span = {0};
    reading->ok = reading->ok && json_member(object, key, &value) &&
                  json_get_string(value, reading->arena, &span);
    return span;
}

static bool get_bool(struct reading *reading, struct json_value object,
                     const char *key) {
    struct json_value value;
    bool truth = false;
    reading->ok = reading->ok && json_member(object, key, &value) &&
                  json_get_bool(value, &truth);
    return truth;
}

static struct json_value get_array(struct reading *reading,
                                   struct json_value object, const char *key,
                                   size_t *ret_count) {
    struct json_value array = {0}, item;
    size_t cursor = 0;
    *ret_count = 0;
    reading->ok = reading->ok && json_member(object, key, &array) &&
                  array.type == JSON_ARRAY;
    while (reading->ok &&
           json_next(array, &cursor, reading->arena, NULL, &item)) {
        reading->ok = item.type == JSON_OBJECT;
        ++*ret_count;
    }
    return array;
}

static void get_guard(struct reading *reading, struct json_value object,
                      struct roles_handover *to) {
    struct guard_handover *guard = &to->worker.guard;
    struct json_value value;
    to->has_worker = json_member(object, "guard", &value);
    if (!to->has_worker)
        return;
    guard->fd = get_fd(reading, value, "fd", 3);
    guard->pid = (pid_t)get_i64(reading, value, "pid", 1, INT32_MAX);
    guard->has_cgroup = get_bool(reading, value, "has_cgroup");
    guard->mode = get_span(reading, value, "mode");
    guard->tree = get_span(reading, value, "tree");
    guard->controllers = get_span(reading, value, "controllers");
    guard->slots_most =
        (unsigned)get_i64(reading, value, "slots_most", 1, INT32_MAX);
}

static void get_attempts(struct reading *reading, struct json_value object,
                         struct roles_handover *to) {
    struct json_value item;
    size_t cursor = 0, at = 0;
    struct json_value array =
        get_array(reading, object, "attempts", &to->running_count);
    to->running = arena_alloc(reading->arena,
                              (to->running_count + 1) * sizeof(*to->running));
    while (reading->ok &&
           json_next(array, &cursor, reading->arena, NULL, &item))
        to->running[at++] = (struct scheduler_running){
            .handle = (uint64_t)get_i64(reading, item, "handle", 1, INT64_MAX),
            .num = (uint64_t)get_i64(reading, item, "num", 1, INT64_MAX),
            .task = (uint64_t)get_i64(reading, item, "task", 0, INT64_MAX),
            .attempt =
                (unsigned)get_i64(reading, item, "attempt", 1, UINT32_MAX),
            .assigned = {get_i64(reading, item, "assigned", 0, INT64_MAX)},
            .is_lasting = get_bool(reading, item, "lasting"),
        };
}

static void get_processes(struct reading *reading, struct json_value object,
                          struct worker_handover *to) {
    struct json_value item;
    size_t cursor = 0, at = 0;
    struct json_value array =
        get_array(reading, object, "processes", &to->count);
    to->running =
        arena_alloc(reading->arena, (to->count + 1) * sizeof(*to->running));
    while (reading->ok &&
           json_next(array, &cursor, reading->arena, NULL, &item))
        to->running[at++] = (struct worker_running){
            .handle = (uint64_t)get_i64(reading, item, "handle", 1, INT64_MAX),
            .num = (uint64_t)get_i64(reading, item, "num", 1, INT64_MAX),
            .pid = (pid_t)get_i64(reading, item, "pid", 0, INT32_MAX),
            .grace_ms = get_i64(reading, item, "grace_ms", -1, INT64_MAX),
            .node = get_span(reading, item, "node"),
            .place = get_span(reading, item, "place"),
            .is_locked = get_bool(reading, item, "locked"),
            .in_our_group = get_bool(reading, item, "in_our_group"),
            .started = {get_i64(reading, item, "started", 0, INT64_MAX)},
        };
}

static void get_roles(struct reading *reading, struct json_value object,
                      struct roles_handover *to) {
    struct json_value item;
    size_t cursor = 0, count;
    struct json_value array = get_array(reading, object, "roles", &count);
    reading->ok = reading->ok && count <= ROLES_MOST;
    while (reading->ok &&
           json_next(array, &cursor, reading->arena, NULL, &item)) {
        to->roles[to->role_count].name = get_span(reading, item, "name");
        to->roles[to->role_count++].lock_fd =
            get_fd(reading, item, "lock_fd", 3);
    }
}

static void get_state(struct reading *reading, struct json_value object,
                      struct upgrade_state *to) {
    to->number = (uint64_t)get_i64(reading, object, "number", 1, INT64_MAX);
    to->program_fd = get_fd(reading, object, "program_fd", 3);
    to->base_fd = get_fd(reading, object, "base_fd", 3);
    to->serve_fd = get_fd(reading, object, "serve_fd", -1);
    to->sockets.local = get_fd(reading, object, "local_fd", -1);
    to->sockets.tcp = get_fd(reading, object, "tcp_fd", -1);
    get_roles(reading, object, &to->roles);
    get_guard(reading, object, &to->roles);
    get_attempts(reading, object, &to->roles);
    get_processes(reading, object, &to->roles.worker);
}

bool upgrade_state_read(int fd, struct arena *arena,
                        struct upgrade_state *ret_state, struct err *err) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct json_value object, version;
    struct reading reading = {.arena = arena, .ok = true};
    int64_t number;
    *ret_state = (struct upgrade_state){0};
    if (lseek(fd, 0, SEEK_SET) < 0 ||
        !dir_read_file(fd, STATE_BYTES_MOST, &text, err))
        return err_set(
            err, ERR_DATA,
            "descriptor %d of " UPGRADE_STATE_VARIABLE " cannot be read", fd);
    struct span rest = arena_span(arena, text_span(&text)), line;
    if (!span_cut(&rest, '\n', &line) ||
        !json_parse_object(line, &object, err) ||
        !json_member(object, "version", &version) ||
        !json_get_i64(version, &number))
        return err_set(err, ERR_DATA,
                       "descriptor %d of " UPGRADE_STATE_VARIABLE
                       " is no state of a server",
                       fd);
    if (number != UPGRADE_STATE_VERSION)
        return err_set(err, ERR_DATA,
                       "the server hands over version %" PRId64
                       ", this program needs version %d",
                       number, UPGRADE_STATE_VERSION);
    get_state(&reading, object, ret_state);
    ret_state->failed = rest;
    return reading.ok ||
           err_set(err, ERR_DATA, "what the server hands over is incomplete");
}
