/* The sandboxed checker's answer as bytes over a pipe. The reader does not
 * trust the checker: what it decodes obeys the same rules of paths, meta and
 * files = members again, or is no answer at all. */
#ifndef POINTSMAN_WIRE_SET_CHECK_H
#define POINTSMAN_WIRE_SET_CHECK_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"
#include "wire/set_tar.h"

/* Longest answer there can be with these limits: read no more than that. */
uint64_t set_check_bytes_max(const struct set_limits *limits);

void set_check_encode(const struct set_check *check, struct text *out);
/* What it returns lives in the arena. False: not a (whole) answer. */
bool set_check_decode(struct span bytes, const struct set_limits *limits,
                      struct arena *arena, struct set_check *ret_check,
                      struct err *err);

/* Do members and meta agree? Sorts the members by path_compare. Used on both
 * ends; answers in check->why. */
bool set_check_agree(struct set_check *check);

#endif
