/* The selection of one field of an item: a value, a list of values, or a
 * range with a stride; an absent field, {} and [] select everything. */
#ifndef POINTSMAN_CRON_SELECTOR_H
#define POINTSMAN_CRON_SELECTOR_H

#include "cron/reader.h"

struct field {
    const char *name;
    int64_t least, most;
    bool from_end;            /* -1 is the last value, and so on */
    const char *const *names; /* of least, least + 1, ...; NULL: none */
};

enum field_id {
    FIELD_EPOCH,
    FIELD_SECOND,
    FIELD_MINUTE,
    FIELD_HOUR,
    FIELD_WEEKDAY,
    FIELD_DAY,
    FIELD_MONTH,
    FIELD_YEAR,
    FIELD_NTH, /* n of weekday_of_month */
    FIELDS
};

enum selector_kind { SELECTOR_ALL, SELECTOR_LIST, SELECTOR_RANGE };

enum { SELECTOR_FEW = 16 };

struct selector {
    enum selector_kind kind;
    int64_t start, end, period; /* of a range */
    int64_t *values;            /* of a list: sorted, each once */
    size_t count, room;
    int64_t few[SELECTOR_FEW]; /* where short lists live */
};

/* The selector must be cleared also after a failure. */
bool selector_parse(struct selector *selector, enum field_id field,
                    struct reader *reader);
void selector_clear(struct selector *selector);
/* Bits of the values from 0 to 63. */
uint64_t selector_mask(const struct selector *selector, enum field_id field);
/* Bits of the values from the end: -1 is bit 1. */
uint64_t selector_end_mask(const struct selector *selector);

#endif
