/* Tarballs: the result for an accepted tarball is consistent and can be encoded
 * for the pipe; a refusal has a kind and a sentence. */
#include <assert.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/arena.h"
#include "wire/set_check.h"
#include "wire/set_tar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void answer_check(const struct set_check *check,
                         const struct set_limits *limits, struct arena *arena) {
    CLEANUP(text_clear) struct text answer = TEXT_INIT;
    struct set_check back;

    set_check_encode(check, &answer);
    assert(answer.len <= set_check_bytes_max(limits));
    assert(set_check_decode(text_span(&answer), limits, arena, &back, NULL));
    assert(back.why.kind == check->why.kind);
    assert(!strcmp(back.sha256, check->sha256));
    if (!check->why.kind)
        assert(back.member_count == check->member_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct set_limits limits = SET_LIMITS;
    struct set_check check;
    struct err err = {0};
    int fd = memfd_create("tarball", MFD_CLOEXEC);

    assert(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
    assert(lseek(fd, 0, SEEK_SET) == 0);
    limits.unpacked_bytes = 8 << 20;
    limits.symlinks = true;
    assert(set_tar_check(fd, &limits, &arena, &check, &err));
    assert(check.size == bytes);
    assert(!check.why.kind == !check.why.text[0]);
    if (!check.why.kind)
        assert(check.member_count == check.meta.files.count);
    answer_check(&check, &limits, &arena);
    close(fd);
    return 0;
}
