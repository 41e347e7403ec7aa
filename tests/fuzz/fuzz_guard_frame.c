/* Frames of the guard's socket: runs every decoder on any bytes. The strings of
 * a decoded start are read in the same way as by the guard. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "os/guard_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk_strings(struct span block, uint32_t count) {
    const char *p = block.p;
    for (uint32_t i = 0; i < count; i++)
        p += strlen(p) + 1;
    assert(count == 0 || p == block.p + block.len);
}

static void walk_path(struct span path) {
    assert(path.len == 0 || strlen(path.p) + 1 == path.len);
}

static void decode_all(struct span body) {
    struct guard_start_frame decoded;
    struct guard_hello hello;
    struct guard_command word;
    struct guard_ready ready;
    struct guard_report news;
    struct guard_end end;
    struct guard_usage usage;
    if (guard_start_decode(body, &decoded)) {
        assert(decoded.argc > 0);
        walk_strings(decoded.argv, decoded.argc);
        walk_strings(decoded.env, decoded.envc);
        walk_path(decoded.dir);
        walk_path(decoded.lock_path);
        walk_path(decoded.output_path);
        assert(decoded.limits.len ==
               decoded.limit_count * sizeof(struct guard_limit));
        assert(decoded.groups.len == decoded.group_count * sizeof(gid_t));
    }
    if (guard_hello_decode(body, &hello)) {
        walk_path(hello.role);
        walk_path(hello.cgroup_root);
        walk_path(hello.life_path);
    }
    (void)guard_command_decode(body, &word);
    if (guard_ready_decode(body, &ready))
        walk_path(ready.tree);
    (void)guard_report_decode(body, &news);
    (void)guard_usage_decode(body, &usage);
    if (guard_end_decode(body, &end))
        assert(end.error.len + end.status.len + end.output.len <= body.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct span rest = span_make(data, size), body;
    enum guard_frame_kind kind;
    decode_all(rest);
    while (guard_frame_take(&rest, &kind, &body) == GUARD_FRAME_WHOLE) {
        assert(kind > 0 && kind < GUARD_FRAME_KINDS);
        decode_all(body);
    }
    return 0;
}
