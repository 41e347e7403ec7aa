/* Frames of the guard's socket: every decoder, on whatever comes. What an order
 * decodes to is walked as the guard walks it. */
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
    struct guard_order order;
    struct guard_hello hello;
    struct guard_word word;
    struct guard_ready ready;
    struct guard_news news;
    struct guard_end end;
    struct guard_usage usage;
    if (guard_order_decode(body, &order)) {
        assert(order.argc > 0);
        walk_strings(order.argv, order.argc);
        walk_strings(order.env, order.envc);
        walk_path(order.dir);
        walk_path(order.lock_path);
        walk_path(order.output_path);
        assert(order.limits.len ==
               order.limit_count * sizeof(struct guard_limit));
        assert(order.groups.len == order.group_count * sizeof(gid_t));
    }
    if (guard_hello_decode(body, &hello)) {
        walk_path(hello.role);
        walk_path(hello.cgroup_root);
        walk_path(hello.life_path);
    }
    (void)guard_word_decode(body, &word);
    if (guard_ready_decode(body, &ready))
        walk_path(ready.tree);
    (void)guard_news_decode(body, &news);
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
