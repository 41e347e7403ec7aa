/* The protocol between client and guard: a stream of frames, each with a fixed
 * head, a fixed part and bytes behind it. Both ends are the same executable on
 * the same machine, so numbers use its byte order; still every length is
 * checked, and a decoder never reads past the body.
 *
 *     frame: u32 body_bytes, u8 kind, 3 zero bytes, body
 *
 * Encoders append a whole frame. Decoded spans point into the body. Paths and
 * blocks of strings end in a NUL inside the body. */
#ifndef POINTSMAN_OS_GUARD_FRAME_H
#define POINTSMAN_OS_GUARD_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/text.h"
#include "os/guard.h"

/* Changes with every frame whose layout or meaning changes: a program that is
 * executed in place of another one goes on talking to its guard. */
enum { GUARD_PROTOCOL = 2 };

enum {
    GUARD_FRAME_HEAD = 8,
    GUARD_FRAME_MAX = 16 << 20 /* of a body; more than exec accepts */
};

enum guard_frame_kind {
    /* client to guard */
    GUARD_FRAME_HELLO = 1,
    GUARD_FRAME_START,
    GUARD_FRAME_KILL,
    GUARD_FRAME_RELEASE,
    GUARD_FRAME_SLOTS,
    GUARD_FRAME_LEASE,
    /* guard to client */
    GUARD_FRAME_READY,
    GUARD_FRAME_FAILED, /* instead of READY: has a sentence; the guard exits */
    GUARD_FRAME_STARTED,
    GUARD_FRAME_PROGRESS,
    GUARD_FRAME_USAGE,
    GUARD_FRAME_ENDED,
    /* are you there? (a command whose numbers mean nothing), and the answer */
    GUARD_FRAME_PING,
    GUARD_FRAME_PONG,
    GUARD_FRAME_KINDS
};

enum guard_frame_found {
    GUARD_FRAME_NONE, /* the frame is still incomplete */
    GUARD_FRAME_WHOLE,
    GUARD_FRAME_BAD
};

/* Cuts the first frame off the front of *rest. */
enum guard_frame_found guard_frame_take(struct span *rest,
                                        enum guard_frame_kind *ret_kind,
                                        struct span *ret_body);

struct guard_hello {
    uint32_t launchers, slots;
    bool any_cgroup; /* no root given: find one */
    bool leased;     /* starts nothing without a lease */
    struct span role, cgroup_root, life_path; /* ends in NUL; len 0 = none */
};

/* For all pairs below: encode appends a whole frame to `out`. decode is false
 * if the body is damaged; *ret is undefined then. */
void guard_hello_encode(struct text *out, const struct guard_hello *hello);
bool guard_hello_decode(struct span body, struct guard_hello *ret_hello);

enum guard_start_flag {
    GUARD_START_STDIN = 1 << 0, /* uses the next descriptor that was passed */
    GUARD_START_STATUS = 1 << 1,
    GUARD_START_PROGRESS = 1 << 2,
    GUARD_START_NO_GROUP = 1 << 3,
    GUARD_START_OUTSIDE = 1 << 4,
    GUARD_START_CANARY = 1 << 5,
    GUARD_START_TO_CHILD = 1 << 6,
    GUARD_START_TO_CGROUP = 1 << 7,
    GUARD_START_DEATH_TERM = 1 << 8,
    GUARD_START_DEATH_NONE = 1 << 9,
    GUARD_START_USER = 1 << 10,
    GUARD_START_STREAMS = 1 << 11
};

/* A struct guard_start as received. */
struct guard_start_frame {
    uint64_t id, output_max;
    int64_t timeout_ms, grace_ms;
    uint32_t flags, mask, inline_max, argc, envc;
    uint32_t uid, gid, group_count, limit_count, output_lines;
    struct span argv, env; /* argc and envc strings, each with its NUL */
    struct span dir, lock_path, output_path; /* ends in NUL; len 0 = none */
    struct span limits, groups; /* struct guard_limit, gid_t: unaligned */
};

/* False: too large for a frame; nothing was appended. */
bool guard_start_encode(struct text *out, const struct guard_start *start);
bool guard_start_decode(struct span body, struct guard_start_frame *ret_start);

/* KILL, RELEASE, SLOTS, LEASE, PING, PONG: an id and two numbers. */
struct guard_command {
    uint64_t id;
    int64_t number; /* signal, slots, end of the lease */
    int64_t grace_ms;
};

void guard_command_encode(struct text *out, enum guard_frame_kind kind,
                          const struct guard_command *command);
bool guard_command_decode(struct span body, struct guard_command *ret_command);

/* READY: whether there is a cgroup, pid of the guard, mode text, path of the
 * tree. FAILED: the sentence is in mode. */
struct guard_ready {
    bool has_cgroup;
    pid_t pid;
    struct span mode;
    struct span tree;        /* ends in NUL; len 0 = none */
    struct span controllers; /* available in leaves: "memory pids" */
    uint32_t slots_most;     /* allowed by the limit on descriptors */
};

void guard_ready_encode(struct text *out, enum guard_frame_kind kind,
                        const struct guard_ready *ready);
bool guard_ready_decode(struct span body, struct guard_ready *ret_ready);

/* STARTED and PROGRESS: id, pid and time, or a line. */
struct guard_report {
    uint64_t id;
    pid_t pid;
    struct wall at;
    struct span line;
};

void guard_report_encode(struct text *out, enum guard_frame_kind kind,
                         const struct guard_report *report);
bool guard_report_decode(struct span body, struct guard_report *ret_report);

void guard_usage_encode(struct text *out, const struct guard_usage *usage);
bool guard_usage_decode(struct span body, struct guard_usage *ret_usage);

void guard_end_encode(struct text *out, const struct guard_end *end);
bool guard_end_decode(struct span body, struct guard_end *ret_end);

#endif
