/* Values that definitions of standing jobs and the configuration have in
 * common.
 */
#ifndef POINTSMAN_NODES_STANDING_VALUE_H
#define POINTSMAN_NODES_STANDING_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/text.h"
#include "wire/sections.h"

#define STANDING_AMOUNT_MOST (INT64_C(1) << 53) /* of a resource */

/* yes, true, on, or no, false, off. */
bool standing_flag_read(struct span value, bool *ret_flag);
/* "2.5" in units of 10^-digits; what is smaller is dropped. False: not such a
 * number, or more than `most`. */
bool standing_decimal_read(struct span value, unsigned digits, uint64_t most,
                           uint64_t *ret_number);
/* "15m" in milliseconds, "never" as -1. False: neither. */
bool standing_orphans_read(struct span value, int64_t *ret_ms);
/* A list of waits such as 15,60,repeat: the waits, and whether it ends with
 * `fail`. False: *ret_why is what it is not. */
bool standing_backoff_read(const struct lines *waits, struct arena *arena,
                           uint32_t **ret_waits_s, size_t *ret_count,
                           bool *ret_fails, const char **ret_why);

#endif
