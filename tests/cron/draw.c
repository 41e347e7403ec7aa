#include "cron/draw.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void draw_init(struct draw *draw, uint64_t seed) {
    draw->state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

/* splitmix64 */
static uint64_t draw_u64(struct draw *draw) {
    uint64_t x = draw->state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

uint64_t draw_below(struct draw *draw, uint64_t limit) {
    return draw_u64(draw) % limit;
}

bool draw_percent(struct draw *draw, unsigned percent) {
    return draw_below(draw, 100) < percent;
}

struct output {
    char *text;
    size_t len;
};

static void put(struct output *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(struct output *out, const char *format, ...) {
    va_list args;

    va_start(args, format);
    out->len += (size_t)vsnprintf(out->text + out->len,
                                  DRAW_TEXT_BYTES - out->len, format, args);
    va_end(args);
}

static const char *const months[] = {
    "",     "January", "February",  "March",   "April",    "May",     "June",
    "July", "August",  "September", "October", "November", "December"};
static const char *const weekdays[] = {"",        "Sunday",    "Monday",
                                       "Tuesday", "Wednesday", "Thursday",
                                       "Friday",  "Saturday"};

/* A number, or an abbreviated name in mixed case. */
static void put_value(struct draw *draw, struct output *out, int value,
                      const char *const *names) {
    char name[16];
    size_t len;

    if (names == NULL || draw_percent(draw, 50)) {
        put(out, "%d", value);
        return;
    }
    len = strlen(names[value]);
    len = 3 + draw_below(draw, len - 2);
    for (size_t i = 0; i < len; i++)
        name[i] = (char)(draw_percent(draw, 50) ? names[value][i] & ~32
                                                : names[value][i] | 32);
    put(out, "\"%.*s\"", (int)len, name);
}

static void draw_list(struct draw *draw, struct output *out, int least,
                      int most, const char *const *names, bool *ret) {
    uint64_t count = 1 + draw_below(draw, 4);

    put(out, "[");
    for (uint64_t i = 0; i < count; i++) {
        int value = least + (int)draw_below(draw, (uint64_t)(most - least + 1));
        ret[value] = true;
        put(out, "%s", i == 0 ? "" : ",");
        put_value(draw, out, value, names);
    }
    put(out, "]");
}

static void draw_range(struct draw *draw, struct output *out, int least,
                       int most, const char *const *names, bool *ret) {
    int start = least, end = most, period = 1;
    const char *comma = "";

    put(out, "{");
    if (draw_percent(draw, 60)) {
        start += (int)draw_below(draw, (uint64_t)(most - least + 1));
        put(out, "\"start\":");
        put_value(draw, out, start, names);
        comma = ",";
    }
    if (draw_percent(draw, 60)) {
        end = start + (int)draw_below(draw, (uint64_t)(most - start + 1));
        put(out, "%s\"end\":", comma);
        put_value(draw, out, end, names);
        comma = ",";
    }
    if (draw_percent(draw, 60)) {
        int limit = most - least - 1 < 12 ? most - least - 1 : 12;
        period = 1 + (int)draw_below(draw, (uint64_t)limit);
        put(out, "%s\"period\":%d", comma, period);
    }
    put(out, "}");
    for (int value = start; value <= end; value += period)
        ret[value] = true;
}

static void draw_field(struct draw *draw, struct output *out, const char *key,
                       int least, int most, const char *const *names,
                       bool *ret) {
    put(out, "%s\"%s\":", out->len == 1 ? "" : ",", key);
    switch (draw_below(draw, 10)) {
    case 0:
        put(out, draw_percent(draw, 50) ? "[]" : "{}");
        for (int value = least; value <= most; value++)
            ret[value] = true;
        break;
    case 1:
    case 2:
    case 3:
        draw_range(draw, out, least, most, names, ret);
        break;
    case 4:
    case 5:
    case 6:
        draw_list(draw, out, least, most, names, ret);
        break;
    default: {
        int value = least + (int)draw_below(draw, (uint64_t)(most - least + 1));
        put_value(draw, out, value, names);
        ret[value] = true;
    }
    }
}

static void admit_all(bool *set, int least, int most) {
    for (int value = least; value <= most; value++)
        set[value] = true;
}

static void draw_days(struct draw *draw, struct output *out, bool rich,
                      struct oracle_item *item) {
    uint64_t kind = draw_below(draw, rich ? 5 : 3);

    if (kind == 0)
        draw_field(draw, out, "day_of_week", 1, 7, weekdays, item->weekday);
    else
        admit_all(item->weekday, 1, 7);
    if (kind == 1) {
        draw_field(draw, out, "day_of_month", 1, 31, NULL, item->day);
    } else if (kind == 3) {
        int end = 1 + (int)draw_below(draw, 5);
        int day = 1 + (int)draw_below(draw, 28);
        put(out, ",\"day_of_month\":[%d,-%d]", day, end);
        item->day[day] = item->day_end[end] = true;
    } else {
        admit_all(item->day, 1, 31);
    }
    if (kind == 4) {
        int n = 1 + (int)draw_below(draw, 4);
        int weekday = 1 + (int)draw_below(draw, 7);
        bool end = draw_percent(draw, 50);
        item->has_nth = true;
        (end ? item->nth_end : item->nth)[n][weekday] = true;
        put(out, ",\"weekday_of_month\":{\"n\":%d,\"day\":", end ? -n : n);
        put_value(draw, out, weekday, weekdays);
        put(out, "}");
    }
}

static void draw_extras(struct draw *draw, struct output *out, int year,
                        struct oracle_item *item) {
    static const char units[] = "dwm";
    static const char *const keys[] = {"iter_day", "iter_week", "iter_month"};

    if (draw_percent(draw, 50)) {
        uint64_t kind = draw_below(draw, 3);
        item->step = (struct oracle_step){
            .unit = units[kind],
            .year = year - 1 < 1969 ? 1969 : year - 1,
            .month = 1 + (int)draw_below(draw, 12),
            .day = 1 + (int)draw_below(draw, 28),
            .period = 1 + (int)draw_below(draw, 5),
        };
        put(out, ",\"%s\":{\"start\":\"%04d-%02d-%02d\",\"period\":%d}",
            keys[kind], item->step.year, item->step.month, item->step.day,
            item->step.period);
    }
    if (draw_percent(draw, 50)) {
        item->has_except = true;
        item->except_month = 1 + (int)draw_below(draw, 12);
        item->except_day = 1 + (int)draw_below(draw, 28);
        put(out, ",\"except\":[\"%02d-%02d\"]", item->except_month,
            item->except_day);
    }
}

static void draw_fixes(struct draw *draw, struct output *out,
                       struct oracle_item *item) {
    static const char *const repeats[] = {
        "repeat_use_both", "repeat_use_only_early", "repeat_use_only_late"};
    const char *skip;

    item->unskip = draw_percent(draw, 60);
    item->repeat = (enum oracle_repeat)draw_below(draw, 3);
    skip = item->unskip ? "unskip" : "skip";
    if (draw_percent(draw, 50))
        put(out, ",\"dst_fixes\":[\"%s\",\"%s\"]}", skip,
            repeats[item->repeat]);
    else
        put(out, ",\"dst_fixes\":[\"%s\",\"%s\"]}", repeats[item->repeat],
            skip);
}

void draw_item(struct draw *draw, int year, bool rich,
               struct oracle_item *ret_item, char ret_text[DRAW_TEXT_BYTES]) {
    struct oracle_item *item = ret_item;
    struct output out = {ret_text, 0};

    memset(item, 0, sizeof(*item));
    put(&out, "{");
    draw_field(draw, &out, "minute", 0, 59, NULL, item->minute);
    if (draw_percent(draw, 45)) {
        /* Prefer the hours in which clocks change. */
        put(&out, ",\"hour\":");
        draw_list(draw, &out, 0, 3, NULL, item->hour);
    } else if (draw_percent(draw, 55)) {
        draw_field(draw, &out, "hour", 0, 23, NULL, item->hour);
    } else {
        admit_all(item->hour, 0, 23);
    }
    draw_days(draw, &out, rich, item);
    if (draw_percent(draw, 25))
        draw_field(draw, &out, "month", 1, 12, months, item->month);
    else
        admit_all(item->month, 1, 12);
    if (draw_percent(draw, 15)) {
        put(&out, ",\"year\":[%d,%d]", year, year + 1 > 9999 ? 9999 : year + 1);
        item->year[year] = item->year[year + 1 > 9999 ? 9999 : year + 1] = true;
    } else {
        admit_all(item->year, 1969, 9999);
    }
    if (rich && draw_percent(draw, 15)) {
        item->has_second = true;
        draw_field(draw, &out, "second", 0, 59, NULL, item->second);
    }
    if (rich)
        draw_extras(draw, &out, year, item);
    draw_fixes(draw, &out, item);
}
