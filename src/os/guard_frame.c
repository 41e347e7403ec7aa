#include "os/guard_frame.h"

#include <assert.h>
#include <limits.h>

/* The fixed parts. They have no padding: the bytes are sent as they are. */
struct head {
    uint32_t body_bytes;
    uint8_t kind, zero[3];
};

struct hello_part {
    uint32_t launchers, slots, any_cgroup, leased;
    uint32_t role_bytes, root_bytes, life_bytes;
};

struct start_part {
    uint64_t id, output_max;
    int64_t timeout_ms, grace_ms;
    uint32_t flags, mask, inline_max, argc, envc;
    uint32_t argv_bytes, env_bytes, dir_bytes, lock_bytes, output_bytes;
    uint32_t uid, gid, group_count, limit_count;
    uint32_t output_lines, zero;
};

struct ready_part {
    uint32_t has_cgroup;
    int32_t pid;
    uint32_t mode_bytes, tree_bytes, controllers_bytes, slots_most;
};

struct news_part {
    uint64_t id;
    int64_t at_ns;
    int32_t pid;
    uint32_t line_bytes;
};

enum end_flag {
    END_CORE_DUMPED = 1 << 0,
    END_TIMED_OUT = 1 << 1,
    END_LEFTOVERS = 1 << 2,
    END_SURVIVORS = 1 << 3,
    END_HAS_STATUS = 1 << 4,
    END_IN_FILE = 1 << 5,
    END_LOST = 1 << 6,
    END_STAMPS_LOST = 1 << 7
};

struct end_part {
    uint64_t id, output_bytes, output_total;
    int64_t user_us, system_us, max_rss_kib, started_ns, ended_ns, run_ns;
    int64_t cpu_us, peak_kib, procs_peak, read_bytes, written_bytes;
    int64_t exited_ns, closed_ns, gone_ns;
    uint64_t lost_bytes, unmarked_bytes;
    int32_t result, pid, exit_code, signal, killer, kill_signal;
    uint32_t flags, error_bytes, status_bytes, inline_bytes;
    uint32_t stamp_bytes;
    int32_t lost_sys;
};

_Static_assert(sizeof(struct head) == GUARD_FRAME_HEAD, "no padding");
_Static_assert(sizeof(struct hello_part) == 28, "no padding");
_Static_assert(sizeof(struct start_part) == 96, "no padding");
_Static_assert(sizeof(struct guard_limit) == 16, "no padding");
_Static_assert(sizeof(struct guard_usage) == 32, "no padding");
_Static_assert(sizeof(struct ready_part) == 24, "no padding");
_Static_assert(sizeof(struct news_part) == 24, "no padding");
_Static_assert(sizeof(struct end_part) == 200, "no padding");

enum guard_frame_found guard_frame_take(struct span *rest,
                                        enum guard_frame_kind *ret_kind,
                                        struct span *ret_body) {
    struct head head;
    if (rest->len < sizeof head)
        return GUARD_FRAME_NONE;
    memcpy(&head, rest->p, sizeof head);
    if (head.body_bytes > GUARD_FRAME_MAX || head.kind == 0 ||
        head.kind >= GUARD_FRAME_KINDS)
        return GUARD_FRAME_BAD;
    size_t bytes = sizeof head + head.body_bytes;
    if (rest->len < bytes)
        return GUARD_FRAME_NONE;
    *ret_kind = (enum guard_frame_kind)head.kind;
    *ret_body = span_make(rest->p + sizeof head, head.body_bytes);
    *rest = span_make(rest->p + bytes, rest->len - bytes);
    return GUARD_FRAME_WHOLE;
}

static void put_head(struct text *out, enum guard_frame_kind kind,
                     size_t body_bytes) {
    struct head head = {.body_bytes = (uint32_t)body_bytes,
                        .kind = (uint8_t)kind};
    assert(body_bytes <= GUARD_FRAME_MAX);
    text_reserve(out, sizeof head + body_bytes);
    text_add(out, &head, sizeof head);
}

/* Cuts the fixed part off the front of the body. */
static bool cut_part(struct span *body, void *ret_part, size_t bytes) {
    if (body->len < bytes)
        return false;
    memcpy(ret_part, body->p, bytes);
    *body = span_make(body->p + bytes, body->len - bytes);
    return true;
}

static bool cut_bytes(struct span *body, uint32_t bytes,
                      struct span *ret_span) {
    if (body->len < bytes)
        return false;
    *ret_span = span_make(body->p, bytes);
    *body = span_make(body->p + bytes, body->len - bytes);
    return true;
}

/* Cuts a path off: empty, or bytes with a single NUL at the end. */
static bool cut_path(struct span *body, uint32_t bytes, struct span *ret_span) {
    if (!cut_bytes(body, bytes, ret_span))
        return false;
    return bytes == 0 ||
           memchr(ret_span->p, '\0', bytes) == ret_span->p + bytes - 1;
}

/* Cuts off exactly `count` strings, each with its NUL. */
static bool cut_strings(struct span *body, uint32_t bytes, uint32_t count,
                        struct span *ret_span) {
    if (!cut_bytes(body, bytes, ret_span))
        return false;
    const char *p = ret_span->p, *end = p + bytes;
    uint32_t found = 0;
    for (; p < end && found <= count; found++) {
        const char *nul = memchr(p, '\0', (size_t)(end - p));
        if (nul == NULL)
            return false;
        p = nul + 1;
    }
    return found == count && p == end;
}

void guard_hello_encode(struct text *out, const struct guard_hello *hello) {
    struct hello_part part = {
        .launchers = hello->launchers,
        .slots = hello->slots,
        .any_cgroup = hello->any_cgroup,
        .leased = hello->leased,
        .role_bytes = (uint32_t)hello->role.len,
        .root_bytes = (uint32_t)hello->cgroup_root.len,
        .life_bytes = (uint32_t)hello->life_path.len,
    };
    put_head(out, GUARD_FRAME_HELLO,
             sizeof part + hello->role.len + hello->cgroup_root.len +
                 hello->life_path.len);
    text_add(out, &part, sizeof part);
    text_addspan(out, hello->role);
    text_addspan(out, hello->cgroup_root);
    text_addspan(out, hello->life_path);
}

bool guard_hello_decode(struct span body, struct guard_hello *ret_hello) {
    struct hello_part part;
    if (!cut_part(&body, &part, sizeof part))
        return false;
    ret_hello->launchers = part.launchers;
    ret_hello->slots = part.slots;
    ret_hello->any_cgroup = part.any_cgroup != 0;
    ret_hello->leased = part.leased != 0;
    return cut_path(&body, part.role_bytes, &ret_hello->role) &&
           cut_path(&body, part.root_bytes, &ret_hello->cgroup_root) &&
           cut_path(&body, part.life_bytes, &ret_hello->life_path) &&
           body.len == 0;
}

/* Appends the strings and returns their size; their number goes to *ret_count.
 */
static size_t put_strings(struct text *out, char *const *strings,
                          uint32_t *ret_count) {
    size_t before = out->len;
    for (; strings != NULL && *strings != NULL; strings++, ++*ret_count)
        text_add(out, *strings, strlen(*strings) + 1);
    return out->len - before;
}

static size_t put_path(struct text *out, const char *path) {
    if (path == NULL)
        return 0;
    size_t bytes = strlen(path) + 1;
    text_add(out, path, bytes);
    return bytes;
}

static uint32_t start_flags(const struct guard_start *start) {
    static const unsigned to[] = {[GUARD_TO_CHILD] = GUARD_START_TO_CHILD,
                                  [GUARD_TO_CGROUP] = GUARD_START_TO_CGROUP};
    static const unsigned death[] = {
        [GUARD_DEATH_TERM] = GUARD_START_DEATH_TERM,
        [GUARD_DEATH_NONE] = GUARD_START_DEATH_NONE};
    unsigned flags = 0;
    if (start->stdin_fd >= 0)
        flags |= GUARD_START_STDIN;
    if (start->status_fd)
        flags |= GUARD_START_STATUS;
    if (start->progress_fd)
        flags |= GUARD_START_PROGRESS;
    if (start->keep_group)
        flags |= GUARD_START_NO_GROUP;
    if (start->user != NULL)
        flags |= GUARD_START_USER;
    if (start->canary)
        flags |= GUARD_START_CANARY;
    flags |= to[start->kill_to] | death[start->death];
    if (start->outside_slots)
        flags |= GUARD_START_OUTSIDE;
    if (start->streams)
        flags |= GUARD_START_STREAMS;
    return flags;
}

static uint32_t count_nuls(struct span block) {
    uint32_t count = 0;
    for (size_t i = 0; i < block.len; i++)
        count += block.p[i] == '\0';
    return count;
}

static void put_rights(struct text *out, const struct guard_start *start,
                       struct start_part *part) {
    part->limit_count = start->limit_count;
    if (start->limit_count > 0)
        text_add(out, start->limits,
                 start->limit_count * sizeof *start->limits);
    const struct guard_user *user = start->user;
    if (user == NULL)
        return;
    part->uid = user->uid;
    part->gid = user->gid;
    part->group_count = user->group_count;
    if (user->group_count > 0)
        text_add(out, user->groups, user->group_count * sizeof *user->groups);
}

/* Lengths are known only after the bytes were appended: head and fixed part are
 * reserved first and filled in last. */
bool guard_start_encode(struct text *out, const struct guard_start *start) {
    struct start_part part = {
        .id = start->id,
        .output_max = start->output_max,
        .output_lines = start->output_lines,
        .timeout_ms = start->timeout_ms,
        .grace_ms = start->grace_ms,
        .flags = start_flags(start),
        .mask = (uint32_t)start->mask,
        .inline_max = start->inline_max,
    };
    size_t before = out->len;
    text_reserve(out, 1024);
    put_head(out, GUARD_FRAME_START, 0);
    text_add(out, &part, sizeof part);
    size_t argv = put_strings(out, start->argv, &part.argc);
    size_t env = put_strings(out, start->envp, &part.envc);
    text_addspan(out, start->env_block);
    part.envc += count_nuls(start->env_block);
    env += start->env_block.len;
    size_t dir = put_path(out, start->dir);
    size_t lock = put_path(out, start->lock_path);
    size_t output = put_path(out, start->output_path);
    put_rights(out, start, &part);
    size_t bytes = out->len - before - GUARD_FRAME_HEAD;
    if (bytes > GUARD_FRAME_MAX) {
        out->len = before;
        out->p[before] = '\0';
        return false;
    }
    part.argv_bytes = (uint32_t)argv;
    part.env_bytes = (uint32_t)env;
    part.dir_bytes = (uint32_t)dir;
    part.lock_bytes = (uint32_t)lock;
    part.output_bytes = (uint32_t)output;
    struct head head = {.body_bytes = (uint32_t)bytes,
                        .kind = GUARD_FRAME_START};
    memcpy(out->p + before, &head, sizeof head);
    memcpy(out->p + before + sizeof head, &part, sizeof part);
    return true;
}

bool guard_start_decode(struct span body, struct guard_start_frame *ret_start) {
    struct start_part part;
    if (!cut_part(&body, &part, sizeof part) || part.argc == 0 ||
        part.limit_count > GUARD_LIMITS_MAX || part.group_count > NGROUPS_MAX)
        return false;
    *ret_start = (struct guard_start_frame){
        .id = part.id,
        .output_max = part.output_max,
        .timeout_ms = part.timeout_ms,
        .grace_ms = part.grace_ms,
        .flags = part.flags,
        .mask = part.mask,
        .inline_max = part.inline_max,
        .argc = part.argc,
        .envc = part.envc,
        .uid = part.uid,
        .gid = part.gid,
        .group_count = part.group_count,
        .limit_count = part.limit_count,
        .output_lines = part.output_lines,
    };
    uint32_t limit_bytes =
        part.limit_count * (uint32_t)sizeof(struct guard_limit);
    uint32_t group_bytes = part.group_count * (uint32_t)sizeof(gid_t);
    return cut_strings(&body, part.argv_bytes, part.argc, &ret_start->argv) &&
           cut_strings(&body, part.env_bytes, part.envc, &ret_start->env) &&
           cut_path(&body, part.dir_bytes, &ret_start->dir) &&
           cut_path(&body, part.lock_bytes, &ret_start->lock_path) &&
           cut_path(&body, part.output_bytes, &ret_start->output_path) &&
           cut_bytes(&body, limit_bytes, &ret_start->limits) &&
           cut_bytes(&body, group_bytes, &ret_start->groups) && body.len == 0;
}

void guard_command_encode(struct text *out, enum guard_frame_kind kind,
                          const struct guard_command *word) {
    put_head(out, kind, sizeof *word);
    text_add(out, word, sizeof *word);
}

bool guard_command_decode(struct span body, struct guard_command *ret_word) {
    return cut_part(&body, ret_word, sizeof *ret_word) && body.len == 0;
}

void guard_ready_encode(struct text *out, enum guard_frame_kind kind,
                        const struct guard_ready *ready) {
    struct ready_part part = {
        .has_cgroup = ready->has_cgroup,
        .pid = ready->pid,
        .mode_bytes = (uint32_t)ready->mode.len,
        .tree_bytes = (uint32_t)ready->tree.len,
        .controllers_bytes = (uint32_t)ready->controllers.len,
        .slots_most = ready->slots_most,
    };
    put_head(out, kind,
             sizeof part + ready->mode.len + ready->tree.len +
                 ready->controllers.len);
    text_add(out, &part, sizeof part);
    text_addspan(out, ready->mode);
    text_addspan(out, ready->tree);
    text_addspan(out, ready->controllers);
}

bool guard_ready_decode(struct span body, struct guard_ready *ret_ready) {
    struct ready_part part;
    if (!cut_part(&body, &part, sizeof part))
        return false;
    ret_ready->has_cgroup = part.has_cgroup != 0;
    ret_ready->pid = part.pid;
    ret_ready->slots_most = part.slots_most;
    return cut_bytes(&body, part.mode_bytes, &ret_ready->mode) &&
           cut_path(&body, part.tree_bytes, &ret_ready->tree) &&
           cut_bytes(&body, part.controllers_bytes, &ret_ready->controllers) &&
           body.len == 0;
}

void guard_report_encode(struct text *out, enum guard_frame_kind kind,
                         const struct guard_report *news) {
    struct news_part part = {
        .id = news->id,
        .at_ns = news->at.ns,
        .pid = news->pid,
        .line_bytes = (uint32_t)news->line.len,
    };
    put_head(out, kind, sizeof part + news->line.len);
    text_add(out, &part, sizeof part);
    text_addspan(out, news->line);
}

bool guard_report_decode(struct span body, struct guard_report *ret_news) {
    struct news_part part;
    if (!cut_part(&body, &part, sizeof part))
        return false;
    ret_news->id = part.id;
    ret_news->at = (struct wall){part.at_ns};
    ret_news->pid = part.pid;
    return cut_bytes(&body, part.line_bytes, &ret_news->line) && body.len == 0;
}

void guard_usage_encode(struct text *out, const struct guard_usage *usage) {
    put_head(out, GUARD_FRAME_USAGE, sizeof *usage);
    text_add(out, usage, sizeof *usage);
}

bool guard_usage_decode(struct span body, struct guard_usage *ret_usage) {
    return cut_part(&body, ret_usage, sizeof *ret_usage) && body.len == 0;
}

static uint32_t end_flags(const struct guard_end *end) {
    unsigned flags = 0;
    if (end->core_dumped)
        flags |= END_CORE_DUMPED;
    if (end->timed_out)
        flags |= END_TIMED_OUT;
    if (end->leftovers)
        flags |= END_LEFTOVERS;
    if (end->survivors)
        flags |= END_SURVIVORS;
    if (end->has_status)
        flags |= END_HAS_STATUS;
    if (end->output_in_file)
        flags |= END_IN_FILE;
    if (end->output_lost)
        flags |= END_LOST;
    if (end->stamps_lost)
        flags |= END_STAMPS_LOST;
    return flags;
}

void guard_end_encode(struct text *out, const struct guard_end *end) {
    struct end_part part = {
        .id = end->id,
        .output_bytes = end->output_bytes,
        .output_total = end->output_total,
        .user_us = end->user_us,
        .system_us = end->system_us,
        .max_rss_kib = end->max_rss_kib,
        .started_ns = end->started.ns,
        .ended_ns = end->ended.ns,
        .run_ns = end->run_ns,
        .cpu_us = end->cpu_us,
        .peak_kib = end->peak_kib,
        .procs_peak = end->procs_peak,
        .read_bytes = end->read_bytes,
        .written_bytes = end->written_bytes,
        .exited_ns = end->exited_ns,
        .closed_ns = end->closed_ns,
        .gone_ns = end->gone_ns,
        .result = (int32_t)end->result,
        .pid = end->pid,
        .exit_code = end->exit_code,
        .signal = end->signal,
        .killer = (int32_t)end->killer,
        .kill_signal = end->kill_signal,
        .flags = end_flags(end),
        .error_bytes = (uint32_t)end->error.len,
        .status_bytes = (uint32_t)end->status.len,
        .inline_bytes = (uint32_t)end->output.len,
        .stamp_bytes = (uint32_t)end->stamps.len,
        .lost_bytes = end->lost_bytes,
        .unmarked_bytes = end->unmarked_bytes,
        .lost_sys = end->lost_sys,
    };
    put_head(out, GUARD_FRAME_ENDED,
             sizeof part + end->error.len + end->status.len + end->output.len +
                 end->stamps.len);
    text_add(out, &part, sizeof part);
    text_addspan(out, end->error);
    text_addspan(out, end->status);
    text_addspan(out, end->output);
    text_addspan(out, end->stamps);
}

static bool result_known(int32_t result) {
    return result == GUARD_RAN || result == GUARD_TAKEN ||
           result == GUARD_CANNOT || result == GUARD_WITHDRAWN ||
           result == GUARD_TEMPORARY;
}

bool guard_end_decode(struct span body, struct guard_end *ret_end) {
    struct end_part part;
    if (!cut_part(&body, &part, sizeof part) || !result_known(part.result) ||
        part.killer < 0 || part.killer > GUARD_LEASE)
        return false;
    *ret_end = (struct guard_end){
        .id = part.id,
        .result = (enum guard_result)part.result,
        .pid = part.pid,
        .exit_code = part.exit_code,
        .signal = part.signal,
        .core_dumped = (part.flags & END_CORE_DUMPED) != 0,
        .timed_out = (part.flags & END_TIMED_OUT) != 0,
        .killer = (enum guard_killer)part.killer,
        .kill_signal = part.kill_signal,
        .leftovers = (part.flags & END_LEFTOVERS) != 0,
        .survivors = (part.flags & END_SURVIVORS) != 0,
        .user_us = part.user_us,
        .system_us = part.system_us,
        .max_rss_kib = part.max_rss_kib,
        .started = {part.started_ns},
        .ended = {part.ended_ns},
        .run_ns = part.run_ns,
        .cpu_us = part.cpu_us,
        .peak_kib = part.peak_kib,
        .procs_peak = part.procs_peak,
        .read_bytes = part.read_bytes,
        .written_bytes = part.written_bytes,
        .exited_ns = part.exited_ns,
        .closed_ns = part.closed_ns,
        .gone_ns = part.gone_ns,
        .has_status = (part.flags & END_HAS_STATUS) != 0,
        .output_in_file = (part.flags & END_IN_FILE) != 0,
        .output_bytes = part.output_bytes,
        .output_total = part.output_total,
        .output_lost = (part.flags & END_LOST) != 0,
        .stamps_lost = (part.flags & END_STAMPS_LOST) != 0,
        .lost_bytes = part.lost_bytes,
        .unmarked_bytes = part.unmarked_bytes,
        .lost_sys = part.lost_sys,
    };
    return cut_bytes(&body, part.error_bytes, &ret_end->error) &&
           cut_bytes(&body, part.status_bytes, &ret_end->status) &&
           cut_bytes(&body, part.inline_bytes, &ret_end->output) &&
           cut_bytes(&body, part.stamp_bytes, &ret_end->stamps) &&
           body.len == 0;
}
