/* The meaning of a crontab line, written as items. */
#include <stdlib.h>
#include <string.h>

#include "cron/civil.h"
#include "cron/crontab.h"
#include "cron/words.h"

static uint64_t full_mask(int which) {
    unsigned least = crontab_columns[which].least;
    unsigned most = which == WEEKDAY ? 6 : crontab_columns[which].most;

    return ((UINT64_C(1) << (most + 1)) - 1) >> least << least;
}

static void add_value(struct words *out, int which, unsigned value) {
    if (crontab_columns[which].names != NULL)
        words_add(out, "\"%s\"", crontab_columns[which].names[value]);
    else
        words_add(out, "%u", value);
}

/* A range if the values are evenly spaced, else a list. */
static void add_selector(struct words *out, int which, uint64_t mask) {
    const struct column *column = &crontab_columns[which];
    unsigned first = (unsigned)__builtin_ctzll(mask), stride = 0, last = first;
    unsigned most = which == WEEKDAY ? 6 : column->most;
    bool even = true;

    for (uint64_t rest = mask & (mask - 1); rest != 0; rest &= rest - 1) {
        unsigned value = (unsigned)__builtin_ctzll(rest);
        even &= stride == 0 || value - last == stride;
        stride = value - last;
        last = value;
    }
    if (mask == full_mask(which)) {
        words_add(out, "{}");
        return;
    }
    if (stride == 0) {
        add_value(out, which, first);
        return;
    }
    if (!even || (mask & (mask - 1) & ((mask & (mask - 1)) - 1)) == 0 ||
        stride > column->period_most) {
        const char *comma = "[";
        for (uint64_t rest = mask; rest != 0; rest &= rest - 1) {
            words_add(out, "%s", comma);
            add_value(out, which, (unsigned)__builtin_ctzll(rest));
            comma = ", ";
        }
        words_add(out, "]");
        return;
    }
    const char *comma = "";
    words_add(out, "{");
    if (first != column->least) {
        words_add(out, "\"start\": ");
        add_value(out, which, first);
        comma = ", ";
    }
    if (last + stride <= most) {
        words_add(out, "%s\"end\": ", comma);
        add_value(out, which, last);
        comma = ", ";
    }
    if (stride > 1)
        words_add(out, "%s\"period\": %u", comma, stride);
    words_add(out, "}");
}

static void add_key(struct words *out, int which, uint64_t mask) {
    words_add(out, "%s\"%s\": ", out->len > 1 ? ", " : "",
              crontab_columns[which].key);
    add_selector(out, which, mask);
}

enum days { DAYS_NONE, DAYS_OF_MONTH, DAYS_OF_WEEK, DAYS_BOTH };

static void add_item(struct words *out, const struct line *line,
                     enum days days) {
    bool frequent = line->stars[MINUTE] || line->stars[HOUR];

    words_add(out, "{");
    add_key(out, MINUTE, line->masks[MINUTE]);
    if (line->masks[HOUR] != full_mask(HOUR))
        add_key(out, HOUR, line->masks[HOUR]);
    if (days == DAYS_OF_MONTH || days == DAYS_BOTH)
        add_key(out, DAY, line->masks[DAY]);
    if (days == DAYS_OF_WEEK)
        add_key(out, WEEKDAY, line->masks[WEEKDAY]);
    if (days == DAYS_BOTH) {
        words_add(out, ", \"weekday_of_month\": {\"n\": {}, \"day\": ");
        add_selector(out, WEEKDAY, line->masks[WEEKDAY]);
        words_add(out, "}");
    }
    if (line->masks[MONTH] != full_mask(MONTH))
        add_key(out, MONTH, line->masks[MONTH]);
    words_add(out, ", \"dst_fixes\": [\"%s\", \"repeat_use_%s\"]}",
              frequent ? "skip" : "unskip", frequent ? "both" : "only_early");
}

bool crontab_give_item(struct cron_crontab *crontab, const char *text,
                       struct cron_err *err) {
    char *copy = strdup(text);

    if (copy == NULL)
        return fault_memory(err);
    crontab->items[crontab->item_count++] = copy;
    return true;
}

static bool give_calendar(const struct line *line, struct cron_crontab *crontab,
                          enum days days) {
    char buffer[2048];
    struct words out;

    words_init(&out, buffer, sizeof(buffer));
    add_item(&out, line, days);
    return crontab_give_item(crontab, buffer, line->err);
}

/* True if one of the months has one of the days. */
static bool has_valid_day(const struct line *line) {
    for (uint32_t month = 1; month <= 12; month++)
        if ((line->masks[MONTH] >> month & 1) != 0 &&
            (line->masks[DAY] &
             ((UINT64_C(2) << month_days(2000, month)) - 2)) != 0)
            return true;
    return false;
}

/* By Vixie's rule, a column is restricted unless it begins with a star: if
 * both are restricted, either is enough, even if one of them admits every
 * day. */
bool crontab_give_items(const struct line *line, struct cron_crontab *ret) {
    bool days = line->masks[DAY] != full_mask(DAY);
    bool weekdays = line->masks[WEEKDAY] != full_mask(WEEKDAY);
    bool either = !line->stars[DAY] && !line->stars[WEEKDAY];
    bool come = has_valid_day(line);

    if (!come && !(either && weekdays))
        return WRONG(line, line->starts[DAY],
                     "never fires: none of the selected months has such a day");
    ret->days = !days || !weekdays ? CRON_DAYS_PLAIN
                : either           ? CRON_DAYS_EITHER
                                   : CRON_DAYS_BOTH;
    if (either && days && weekdays)
        return (!come || give_calendar(line, ret, DAYS_OF_MONTH)) &&
               give_calendar(line, ret, DAYS_OF_WEEK);
    if (either)
        return give_calendar(line, ret, DAYS_NONE);
    return give_calendar(line, ret,
                         days && weekdays ? DAYS_BOTH
                         : days           ? DAYS_OF_MONTH
                         : weekdays       ? DAYS_OF_WEEK
                                          : DAYS_NONE);
}
