/* A crontab line between reading and writing: what each column accepts. */
#ifndef POINTSMAN_CRON_CRONTAB_H
#define POINTSMAN_CRON_CRONTAB_H

#include "cron/fault.h"

struct column {
    const char *key;
    unsigned least, most;
    unsigned hash_most;       /* for H: a number that each month has */
    unsigned period_most;     /* of a range in an item */
    const char *const *names; /* from names[least] on */
};

enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, COLUMNS };
extern const struct column crontab_columns[COLUMNS];

struct line {
    const char *text, *p;
    const char *hash_name; /* for H; NULL: there is none */
    struct cron_err *err;
    const char *starts[COLUMNS];
    uint64_t masks[COLUMNS];
    bool stars[COLUMNS];
};

#define WRONG(line, at_, ...)                            \
    fault_at((line)->err, CRON_ERR_SYNTAX, (line)->text, \
             (size_t)((at_) - (line)->text), __VA_ARGS__)

/* The items that mean the same as the line; all of its columns must be set. */
bool crontab_give_items(const struct line *line, struct cron_crontab *crontab);
/* Adds an item that is already written as text. */
bool crontab_give_item(struct cron_crontab *crontab, const char *text,
                       struct cron_err *err);

#endif
