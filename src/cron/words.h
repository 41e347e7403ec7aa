/* Text that grows in a buffer of fixed size, like snprintf: if there is no
 * room, only the length is counted on. */
#ifndef POINTSMAN_CRON_WORDS_H
#define POINTSMAN_CRON_WORDS_H

#include "cron/fault.h"

struct words {
    char *p;
    size_t room, len;
};

void words_init(struct words *words, char *buffer, size_t bytes);
void words_add(struct words *words, const char *format, ...) FAULT_LIKE(2, 3);

/* "a", "a and b", "a, b and c": call before each of `count` parts. */
void words_comma(struct words *words, size_t index, size_t count);

#endif
