/* The sandboxed checker's answer as bytes over a pipe. The reader does not
 * trust the checker: the decoded answer must again satisfy the rules for paths,
 * meta and files = members, or it is rejected. */
#ifndef POINTSMAN_WIRE_SET_CHECK_H
#define POINTSMAN_WIRE_SET_CHECK_H

#include <stdbool.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/text.h"
#include "wire/set_tar.h"

/* The longest possible answer with these limits: read no more than that. */
uint64_t set_check_bytes_max(const struct set_limits *limits);

void set_check_encode(const struct set_check *check, struct text *out);
/* The result lives in the arena. False: not a complete, valid answer. */
bool set_check_decode(struct span bytes, const struct set_limits *limits,
                      struct arena *arena, struct set_check *ret_check,
                      struct err *err);

/* Checks that members and meta agree and sorts the members by path_compare.
 * Used on both ends; the result is in check->why. */
bool set_check_agree(struct set_check *check);

#endif
