/* A process drops what it will not need before it parses untrusted input: no
 * new privileges, no files except those already open (Landlock), no system
 * calls except those that read, write and allocate (seccomp), little memory and
 * time (rlimits). This cannot be undone.
 *
 * If the kernel lacks a part, the rest is still enforced; the report says which
 * parts are in force, for `doctor` and the log. */
#ifndef POINTSMAN_OS_SANDBOX_H
#define POINTSMAN_OS_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

enum sandbox_part {
    SANDBOX_NO_NEW_PRIVS = 1 << 0,
    SANDBOX_LANDLOCK = 1 << 1,
    SANDBOX_SECCOMP = 1 << 2,
    SANDBOX_LIMITS = 1 << 3
};

struct sandbox {
    uint64_t memory_bytes; /* address space; 0 = unchanged */
    uint64_t cpu_s;        /* 0 = unchanged */
    uint64_t file_bytes;   /* largest file it may write; 0 = none */
    /* Directories (with everything beneath) and files it may still open; ends
     * with NULL. NULL = none. If there are any, seccomp allows open calls and
     * only Landlock decides. */
    const char *const *readable;
    const char *const *writable;
};

struct sandbox_report {
    unsigned in_force; /* bits of enum sandbox_part */
    int landlock_abi;  /* 0 = none */
    char text[200];    /* "no-new-privs, landlock 6, seccomp, limits; ..." */
};

/* Applies it to the calling process, which must have one thread. False only if
 * a part that the kernel supports failed: do not continue then. */
bool sandbox_enter(const struct sandbox *sandbox,
                   struct sandbox_report *ret_report, struct err *err);

/* Reports what sandbox_enter would put in force, without doing it. */
void sandbox_probe(struct sandbox_report *ret_report);

#endif
