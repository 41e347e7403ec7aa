/* From JSON to an item. Keys come in any order, so their values are kept in
 * a draft first, and the item is built at the end. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cron/calendar.h"
#include "cron/date.h"
#include "cron/selector.h"

enum key {
    KEY_EPOCH,
    KEY_SECOND,
    KEY_MINUTE,
    KEY_HOUR,
    KEY_WEEKDAY,
    KEY_DAY,
    KEY_MONTH,
    KEY_YEAR,
    KEY_NTH_WEEKDAY,
    KEY_STEP_MONTH,
    KEY_STEP_WEEK,
    KEY_STEP_WEEKDAY,
    KEY_STEP_DAY,
    KEY_EXCEPT,
    KEY_DST_FIXES,
    KEY_MAX_SHIFT,
    KEYS
};

static const char *const key_names[KEYS] = {
    [KEY_EPOCH] = "epoch",
    [KEY_SECOND] = "second",
    [KEY_MINUTE] = "minute",
    [KEY_HOUR] = "hour",
    [KEY_WEEKDAY] = "day_of_week",
    [KEY_DAY] = "day_of_month",
    [KEY_MONTH] = "month",
    [KEY_YEAR] = "year",
    [KEY_NTH_WEEKDAY] = "weekday_of_month",
    [KEY_STEP_MONTH] = "iter_month",
    [KEY_STEP_WEEK] = "iter_week",
    [KEY_STEP_WEEKDAY] = "iter_day_of_week",
    [KEY_STEP_DAY] = "iter_day",
    [KEY_EXCEPT] = "except",
    [KEY_DST_FIXES] = "dst_fixes",
    [KEY_MAX_SHIFT] = "max_shift_seconds_for_unskip_and_do_not_repeat",
};

/* Common words for keys of ours, to suggest the right one. */
static const struct {
    const char *word;
    enum key key;
} key_alias[] = {
    {"day", KEY_DAY},
    {"days", KEY_DAY},
    {"date", KEY_DAY},
    {"dom", KEY_DAY},
    {"dow", KEY_WEEKDAY},
    {"weekday", KEY_WEEKDAY},
    {"week_day", KEY_WEEKDAY},
    {"dst", KEY_DST_FIXES},
    {"every", KEY_EPOCH},
    {"interval", KEY_EPOCH},
    {"exclude", KEY_EXCEPT},
    {"exceptions", KEY_EXCEPT},
    {"holidays", KEY_EXCEPT},
    {"max_shift", KEY_MAX_SHIFT},
    {"nth_weekday", KEY_NTH_WEEKDAY},
};

struct draft {
    struct reader reader;
    struct cron_item *item;
    struct selector days; /* of day_of_month, kept for the end */
    uint64_t weekdays;    /* bit 1 is Sunday */
    size_t places[KEYS];  /* of the keys, + 1; 0: not there */
};

#define WRONG(draft, at_, ...)                                                \
    fault_at((draft)->reader.err, CRON_ERR_ITEM, (draft)->reader.text, (at_), \
             __VA_ARGS__)

/* ---- keys ---------------------------------------------------------------- */

static bool find_key(struct draft *draft, enum key *ret_key) {
    const char *word = draft->reader.string, *meant = NULL;
    size_t at = draft->reader.at;

    for (enum key key = 0; key < KEYS; key++) {
        if (strcmp(word, key_names[key]) != 0)
            continue;
        if (draft->places[key] != 0)
            return WRONG(draft, at, "key '%s' is given twice", word);
        draft->places[key] = at + 1;
        *ret_key = key;
        return true;
    }
    for (size_t i = 0; i < sizeof(key_alias) / sizeof(*key_alias); i++)
        if (strcasecmp(word, key_alias[i].word) == 0)
            meant = key_names[key_alias[i].key];
    if (meant == NULL)
        meant = fault_nearest_word(word, key_names, KEYS);
    if (meant != NULL)
        return WRONG(draft, at, "unknown key '%s'; did you mean '%s'?", word,
                     meant);
    return WRONG(draft, at,
                 "unknown key '%s'; an item has epoch, or second, minute, "
                 "hour, day_of_week, day_of_month, month, year, "
                 "weekday_of_month, iter_*, except and dst_fixes",
                 word);
}

static bool parse_mask(struct draft *draft, enum field_id field,
                       uint64_t *ret_mask) {
    struct selector selector = {0};
    bool ok = selector_parse(&selector, field, &draft->reader);

    if (ok)
        *ret_mask = selector_mask(&selector, field);
    selector_clear(&selector);
    return ok;
}

/* The item takes over the list. */
static bool parse_series(struct draft *draft, enum field_id field,
                         struct series *ret) {
    struct selector selector = {0};
    bool ok = selector_parse(&selector, field, &draft->reader);

    if (ok && selector.kind == SELECTOR_RANGE) {
        ret->start = selector.start;
        ret->end = selector.end;
        ret->period = selector.period;
    } else if (ok && selector.kind == SELECTOR_LIST) {
        ret->list = malloc(selector.count * sizeof(*ret->list));
        ok = ret->list != NULL || fault_memory(draft->reader.err);
        if (ok) {
            memcpy(ret->list, selector.values,
                   selector.count * sizeof(*ret->list));
            ret->count = selector.count;
        }
    }
    selector_clear(&selector);
    return ok;
}

/* ---- dst_fixes ----------------------------------------------------------- */

enum fix {
    FIX_SKIP,
    FIX_UNSKIP,
    FIX_BOTH,
    FIX_EARLY,
    FIX_LATE,
    FIXES,
    FIX_SKIPS = 3, /* the two fixes for lost labels */
    FIX_REPEATS = 28
};
static const char *const fix_names[FIXES] = {
    "skip", "unskip", "repeat_use_both", "repeat_use_only_early",
    "repeat_use_only_late"};

static bool find_fix(struct draft *draft, unsigned *fixes) {
    const char *word = draft->reader.string;
    const char *meant = fault_nearest_word(word, fix_names, FIXES);
    size_t at = draft->reader.at;

    for (unsigned fix = 0; fix < FIXES; fix++) {
        unsigned group = fix < FIX_BOTH ? FIX_SKIPS : FIX_REPEATS;
        if (strcmp(word, fix_names[fix]) != 0)
            continue;
        if ((*fixes >> fix & 1) != 0)
            return WRONG(draft, at, "'%s' is given twice", word);
        if ((*fixes & group) != 0)
            return WRONG(draft, at, "'%s' contradicts '%s': give one of them",
                         word, fix_names[__builtin_ctz(*fixes & group)]);
        *fixes |= 1u << fix;
        return true;
    }
    if (meant != NULL)
        return WRONG(draft, at,
                     "'%s' is not a value of dst_fixes; did you mean '%s'?",
                     word, meant);
    return WRONG(
        draft, at,
        "'%s' is not a value of dst_fixes; the values are skip or unskip, and "
        "repeat_use_both, repeat_use_only_early or repeat_use_only_late",
        word);
}

static bool parse_fixes(struct draft *draft) {
    struct reader *reader = &draft->reader;
    enum reader_kind kind = reader_peek(reader);
    bool first = true, more;
    unsigned fixes = 0;
    size_t at = reader->at;

    if (kind == READER_END)
        return reader_no_value(reader);
    if (kind != READER_ARRAY)
        return WRONG(draft, at,
                     "dst_fixes must be a list of two words such as [\"skip\", "
                     "\"repeat_use_both\"], not %s",
                     reader_kind_name(kind));
    for (;;) {
        if (!reader_element(reader, &first, &more))
            return false;
        if (!more)
            break;
        kind = reader_peek(reader);
        if (kind != READER_STRING && kind != READER_END)
            return WRONG(draft, reader->at,
                         "dst_fixes must be a list of words, not of %s",
                         reader_kind_name(kind));
        size_t word_at = reader->at;
        if (!reader_string(reader))
            return false;
        reader->at = word_at;
        if (!find_fix(draft, &fixes))
            return false;
    }
    if ((fixes & FIX_SKIPS) == 0)
        return WRONG(draft, at,
                     "dst_fixes needs skip or unskip: what happens to a time "
                     "that the clock skips");
    if ((fixes & FIX_REPEATS) == 0)
        return WRONG(
            draft, at,
            "dst_fixes needs repeat_use_both, repeat_use_only_early or "
            "repeat_use_only_late: what happens to a time that occurs twice");
    draft->item->unskip = (fixes >> FIX_UNSKIP & 1) != 0;
    draft->item->repeat = (fixes >> FIX_EARLY & 1) != 0  ? REPEAT_EARLY
                          : (fixes >> FIX_LATE & 1) != 0 ? REPEAT_LATE
                                                         : REPEAT_BOTH;
    return true;
}

/* Shows the same item with the missing fixes added; an event that comes
 * every hour or more often needs other fixes than a daily one. */
static bool lacks_fixes(struct draft *draft) {
    const struct reader *reader = &draft->reader;
    const char *open =
        memchr(reader->text, '{', (size_t)(reader->lexer.end - reader->text));
    const char *close = reader->lexer.p - 1;
    bool often = draft->places[KEY_HOUR] == 0 || draft->places[KEY_MINUTE] == 0;
    const char *fixes = often ? "[\"skip\", \"repeat_use_both\"]"
                              : "[\"unskip\", \"repeat_use_only_early\"]";
    size_t at = (size_t)(open - reader->text);

    while (close > open + 1 && strchr(" \t\r\n", close[-1]) != NULL)
        close--;
    if (close - open > 200)
        return WRONG(
            draft, at,
            "key 'dst_fixes' is missing: it says what happens to times that "
            "the clock skips or shows twice, for example \"dst_fixes\": %s",
            fixes);
    return WRONG(
        draft, at,
        "key 'dst_fixes' is missing: it says what happens to times that the "
        "clock skips or shows twice, for example %.*s, \"dst_fixes\": %s}",
        (int)(close - open), open, fixes);
}

/* ---- weekday_of_month ---------------------------------------------------- */

static const char *const nth_keys[2] = {"n", "day"};

static bool parse_nth(struct draft *draft) {
    struct reader *reader = &draft->reader;
    struct selector ns = {0};
    bool first = true, more, ok = true, given[2] = {false};
    uint64_t days = 0, from_end = 0, from_start = 0;
    size_t start = reader->at;

    for (;;) {
        if (!reader_member(reader, &first, &more))
            return false;
        if (!more)
            break;
        size_t key = strcmp(reader->string, "n") == 0     ? 0
                     : strcmp(reader->string, "day") == 0 ? 1
                                                          : 2;
        if (key == 2)
            return WRONG(draft, reader->at,
                         "unknown key '%s' in weekday_of_month, which has n "
                         "and day",
                         reader->string);
        if (given[key])
            return WRONG(draft, reader->at, "'%s' is given twice",
                         nth_keys[key]);
        given[key] = true;
        if (key == 1) {
            ok = parse_mask(draft, FIELD_WEEKDAY, &days);
        } else {
            ok = selector_parse(&ns, FIELD_NTH, reader);
            if (ok) {
                from_start = ns.kind == SELECTOR_LIST && ns.values[0] < 0 &&
                                     ns.values[ns.count - 1] < 0
                                 ? 0
                                 : selector_mask(&ns, FIELD_NTH);
                from_end = selector_end_mask(&ns);
            }
            selector_clear(&ns);
        }
        if (!ok)
            return false;
    }
    if (!given[0] || !given[1])
        return WRONG(
            draft, start,
            "weekday_of_month needs '%s', as in {\"n\": 2, \"day\": \"Tue\"}",
            nth_keys[given[0]]);
    for (unsigned n = 1; n <= 5; n++) {
        if ((from_start >> n & 1) != 0)
            draft->item->nths[n] |= (uint8_t)(days >> 1);
        if ((from_end >> n & 1) != 0)
            draft->item->nths_end[n] |= (uint8_t)(days >> 1);
    }
    return true;
}

/* One value, or a list of them. */
static bool parse_nths(struct draft *draft) {
    struct reader *reader = &draft->reader;
    enum reader_kind kind = reader_peek(reader);
    bool first = true, more;

    if (kind == READER_OBJECT)
        return parse_nth(draft);
    if (kind == READER_END)
        return reader_no_value(reader);
    if (kind != READER_ARRAY)
        return WRONG(draft, reader->at,
                     "weekday_of_month must be an object such as {\"n\": 2, "
                     "\"day\": \"Tue\"} or a list of those, not %s",
                     reader_kind_name(kind));
    for (size_t count = 0;; count++) {
        size_t at = reader->at;
        if (!reader_element(reader, &first, &more))
            return false;
        if (!more)
            return count > 0 ||
                   WRONG(draft, at, "weekday_of_month is an empty list");
        if (reader_peek(reader) != READER_OBJECT)
            return WRONG(draft, reader->at,
                         "weekday_of_month must be a list of objects such as "
                         "{\"n\": 2, \"day\": \"Tue\"}");
        if (!parse_nth(draft))
            return false;
    }
}

/* ---- the rest ------------------------------------------------------------ */

static bool parse_max_shift(struct draft *draft) {
    struct reader *reader = &draft->reader;
    enum reader_kind kind = reader_peek(reader);
    size_t at = reader->at;

    if (kind == READER_END)
        return reader_no_value(reader);
    if (kind != READER_NUMBER)
        return WRONG(draft, at, "%s must be a number of seconds, not %s",
                     key_names[KEY_MAX_SHIFT], reader_kind_name(kind));
    if (!reader_integer(reader, key_names[KEY_MAX_SHIFT],
                        &draft->item->max_shift_s))
        return false;
    if (draft->item->max_shift_s < 0 ||
        draft->item->max_shift_s > INT64_C(100) * 366 * DAY_S)
        return WRONG(draft, at, "%s must be from 0 seconds to a hundred years",
                     key_names[KEY_MAX_SHIFT]);
    return true;
}

static bool parse_key(struct draft *draft, enum key key) {
    struct cron_item *item = draft->item;
    uint64_t mask = 0;

    switch (key) {
    case KEY_EPOCH:
        item->is_epoch = true;
        return parse_series(draft, FIELD_EPOCH, &item->epoch);
    case KEY_SECOND:
        item->has_second = true;
        return parse_mask(draft, FIELD_SECOND, &item->seconds);
    case KEY_MINUTE:
        return parse_mask(draft, FIELD_MINUTE, &item->minutes);
    case KEY_HOUR:
        if (!parse_mask(draft, FIELD_HOUR, &mask))
            return false;
        item->hours = (uint32_t)mask;
        return true;
    case KEY_WEEKDAY:
        return parse_mask(draft, FIELD_WEEKDAY, &draft->weekdays);
    case KEY_DAY:
        return selector_parse(&draft->days, FIELD_DAY, &draft->reader);
    case KEY_MONTH:
        if (!parse_mask(draft, FIELD_MONTH, &mask))
            return false;
        item->months = (uint32_t)mask;
        return true;
    case KEY_YEAR:
        return parse_series(draft, FIELD_YEAR, &item->years);
    case KEY_NTH_WEEKDAY:
        return parse_nths(draft);
    case KEY_STEP_MONTH:
        return date_step_parse(item, STEP_MONTH, 1, &draft->reader);
    case KEY_STEP_WEEK:
        return date_step_parse(item, STEP_WEEK, 1, &draft->reader);
    case KEY_STEP_WEEKDAY:
        return date_step_parse(item, STEP_DAY, 7, &draft->reader);
    case KEY_STEP_DAY:
        return date_step_parse(item, STEP_DAY, 1, &draft->reader);
    case KEY_EXCEPT:
        return date_except_parse(item, &draft->reader);
    case KEY_DST_FIXES:
        return parse_fixes(draft);
    case KEY_MAX_SHIFT:
        return parse_max_shift(draft);
    case KEYS:
        break;
    }
    return false;
}

static bool parse_members(struct draft *draft) {
    bool first = true, more;
    enum reader_kind kind = reader_peek(&draft->reader);
    enum key key = KEY_EPOCH;

    if (kind != READER_OBJECT && kind != READER_END)
        return WRONG(draft, draft->reader.at,
                     "an item must be an object such as {\"hour\": 10, "
                     "\"minute\": 0, ...}, not %s",
                     reader_kind_name(kind));
    for (;;) {
        if (!reader_member(&draft->reader, &first, &more))
            return false;
        if (!more)
            return true;
        if (!find_key(draft, &key) || !parse_key(draft, key))
            return false;
    }
}

/* ---- steps --------------------------------------------------------------- */

/* Solves x * a = 1 modulo m; a and m have no common divisor. */
static int64_t inverse(int64_t a, int64_t m) {
    int64_t x = 1, next_x = 0, rest = a % m, next = m;

    while (next != 0) {
        int64_t quotient = rest / next, kept = next;
        next = rest - quotient * next;
        rest = kept;
        kept = next_x;
        next_x = x - quotient * next_x;
        x = kept;
    }
    return (x % m + m) % m;
}

static int64_t divisor_of(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* `ours`: the step of days that both are. If they have no day in common, it
 * ends before it begins. */
static void join_steps(struct step *ours, const struct step *other) {
    int64_t divisor = divisor_of(ours->period, other->period);
    int64_t apart = other->start - ours->start;
    int64_t start = ours->start > other->start ? ours->start : other->start;
    int64_t modulus = other->period / divisor;
    int64_t period = ours->period * modulus, day;

    if (other->end < ours->end)
        ours->end = other->end;
    if (apart % divisor != 0) {
        ours->end = ours->start - 1;
        return;
    }
    apart = (apart / divisor % modulus + modulus) % modulus;
    day = ours->start +
          ours->period *
              (apart * inverse(ours->period / divisor, modulus) % modulus);
    if (day < start)
        day += (start - day + period - 1) / period * period;
    ours->start = day > STEP_PERIOD_MOST ? STEP_PERIOD_MOST : (int32_t)day;
    ours->period =
        period > STEP_PERIOD_MOST ? STEP_PERIOD_MOST : (int32_t)period;
}

/* iter_day and iter_day_of_week are both steps of days. */
static void fill_steps(struct cron_item *item) {
    struct step *days = NULL;

    for (size_t i = 0; i < item->step_count; i++) {
        const struct step *step = &item->steps[i];
        if (step->kind == STEP_DAY && days != NULL) {
            join_steps(days, step);
            continue;
        }
        item->search[item->search_count] = *step;
        if (step->kind == STEP_DAY)
            days = &item->search[item->search_count];
        item->search_count++;
    }
}

/* ---- together ------------------------------------------------------------ */

static bool check_epoch(struct draft *draft) {
    for (enum key key = 0; key < KEYS; key++)
        if (key != KEY_EPOCH && key != KEY_MAX_SHIFT && draft->places[key] != 0)
            return WRONG(draft, draft->places[key] - 1,
                         "key '%s' cannot be combined with 'epoch', which has "
                         "no calendar",
                         key_names[key]);
    return true;
}

static bool check_keys(struct draft *draft) {
    if (draft->item->is_epoch)
        return check_epoch(draft);
    if (draft->places[KEY_WEEKDAY] != 0 && draft->places[KEY_DAY] != 0) {
        enum key later = draft->places[KEY_DAY] > draft->places[KEY_WEEKDAY]
                             ? KEY_DAY
                             : KEY_WEEKDAY;
        return WRONG(
            draft, draft->places[later] - 1,
            "day_of_week and day_of_month cannot be combined: to match either, "
            "use two items; to match both, use weekday_of_month");
    }
    if (draft->places[KEY_MINUTE] == 0)
        return WRONG(
            draft,
            (size_t)((const char *)memchr(draft->reader.text, '{',
                                          (size_t)(draft->reader.lexer.end -
                                                   draft->reader.text)) -
                     draft->reader.text),
            "key 'minute' is missing; \"minute\": {} means every minute");
    if (draft->places[KEY_DST_FIXES] == 0)
        return lacks_fixes(draft);
    return true;
}

/* Bits of the days of a month that fall on one of the weekdays (bit 0 is
 * Sunday) if its first day is a `weekday`: a week of bits, five times. */
static uint32_t days_of_week(uint32_t weekdays, uint32_t weekday) {
    uint32_t week = (weekdays >> weekday | weekdays << (7 - weekday)) & 127;

    return (uint32_t)(week * UINT64_C(0x10204081) << 1);
}

static uint32_t days_of_nths(const struct cron_item *item, uint32_t length,
                             uint32_t weekday) {
    uint64_t days = 0, week = 127;

    for (uint32_t n = 1; n <= 5; n++) {
        uint32_t last = length + 7 - 7 * n; /* of the n-th week from the end */
        if (item->nths[n] != 0)
            days |= days_of_week(item->nths[n], weekday) & week << (7 * n - 6);
        if (item->nths_end[n] != 0)
            days |= days_of_week(item->nths_end[n], weekday) &
                    (last >= 6 ? week << (last - 6) : week >> (6 - last));
    }
    return (uint32_t)days;
}

/* Bits of the item's days in a month of that kind. */
static uint32_t days_of_kind(const struct draft *draft, uint32_t length,
                             uint32_t weekday) {
    const struct cron_item *item = draft->item;
    uint32_t days = item->month_days;

    for (uint32_t end = item->month_days_end; end != 0; end &= end - 1) {
        uint32_t from_end = (uint32_t)__builtin_ctz(end);
        if (from_end <= length)
            days |= 1u << (length + 1 - from_end);
    }
    days &= (uint32_t)((UINT64_C(2) << length) - 2);
    days &= days_of_week((uint32_t)draft->weekdays >> 1, weekday);
    if (draft->places[KEY_NTH_WEEKDAY] != 0)
        days &= days_of_nths(item, length, weekday);
    return days;
}

static void fill_days(struct draft *draft) {
    struct cron_item *item = draft->item;
    bool in_common_year = false;

    if (draft->places[KEY_DAY] == 0) {
        item->month_days = 0xfffffffe;
    } else {
        item->month_days =
            draft->days.kind == SELECTOR_LIST && draft->days.values[0] < 0 &&
                    draft->days.values[draft->days.count - 1] < 0
                ? 0
                : (uint32_t)selector_mask(&draft->days, FIELD_DAY);
        item->month_days_end = (uint32_t)selector_end_mask(&draft->days);
    }
    if (draft->places[KEY_WEEKDAY] == 0)
        draft->weekdays = 0xfe;
    else
        item->weekdays = (uint8_t)(draft->weekdays >> 1);
    for (uint32_t length = 28; length <= 31; length++)
        for (uint32_t weekday = 0; weekday < 7; weekday++)
            item->days[length - 28][weekday] =
                days_of_kind(draft, length, weekday);
    for (uint32_t month = 1; month <= 12 && !in_common_year; month++)
        for (uint32_t weekday = 0; weekday < 7; weekday++)
            in_common_year |=
                (item->months >> month & 1) != 0 &&
                item->days[month_days(1970, month) - 28][weekday] != 0;
    item->leap_only = !in_common_year;
}

/* Two proofs that the steps and the rest of the item have no day in common,
 * where a search would walk through all the years. */
static bool has_no_day(const struct cron_item *item) {
    const struct step *day = NULL, *week = NULL;

    for (size_t i = 0; i < item->search_count; i++) {
        if (item->search[i].kind == STEP_DAY)
            day = &item->search[i];
        if (item->search[i].kind == STEP_WEEK)
            week = &item->search[i];
    }
    if (day == NULL || day->period == STEP_PERIOD_MOST)
        return false;
    if (week != NULL) {
        int64_t divisor = divisor_of(day->period, INT64_C(7) * week->period);
        int64_t apart = (day->start - week->start) % divisor;
        /* The days of that week are the first seven. */
        if ((apart + divisor) % divisor >= 7)
            return true;
    }
    if (day->period % 7 != 0)
        return false;
    uint32_t weekday = weekday_of_day(day->start);
    for (uint32_t length = 0; length < 4; length++)
        for (uint32_t first = 0; first < 7; first++)
            if ((item->days[length][first] &
                 days_of_week(1u << weekday, first)) != 0)
                return false;
    return true;
}

/* A day that never comes is a mistake, reported at once. */
static bool check_possible(struct draft *draft) {
    static const enum key suspects[] = {
        KEY_DAY,        KEY_NTH_WEEKDAY,  KEY_STEP_DAY, KEY_STEP_WEEK,
        KEY_STEP_MONTH, KEY_STEP_WEEKDAY, KEY_EXCEPT,   KEY_YEAR};
    enum key suspect = KEY_MINUTE;
    int64_t label;

    if (!has_no_day(draft->item) &&
        calendar_next(draft->item, LABEL_LEAST, &label))
        return true;
    for (size_t i = sizeof(suspects) / sizeof(*suspects); i-- > 0;)
        if (draft->places[suspects[i]] != 0)
            suspect = suspects[i];
    return WRONG(draft, draft->places[suspect] - 1,
                 "never fires: no day in the years %d to %d satisfies '%s' and "
                 "the rest of the item",
                 YEAR_LEAST, YEAR_MOST, key_names[suspect]);
}

static uint64_t fingerprint_of(const char *text, size_t bytes) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static bool finish(struct draft *draft) {
    struct cron_item *item = draft->item;

    if (!reader_finish(&draft->reader) || !check_keys(draft))
        return false;
    if (item->is_epoch)
        return true;
    item->any_year = draft->places[KEY_YEAR] == 0;
    item->least_s = __builtin_ctz(item->hours) * 3600 +
                    __builtin_ctzll(item->minutes) * 60 +
                    __builtin_ctzll(item->seconds);
    item->has_steps = item->step_count > 0;
    item->has_except = draft->places[KEY_EXCEPT] != 0;
    fill_steps(item);
    fill_days(draft);
    return check_possible(draft);
}

bool cron_item_parse(const char *text, size_t bytes,
                     struct cron_item **ret_item, struct cron_err *err) {
    struct cron_item *item = calloc(1, sizeof(*item));
    struct draft draft = {.item = item};
    bool ok;

    if (item == NULL)
        return fault_memory(err);
    item->refs = 1;
    item->max_shift_s = -1;
    item->seconds = 1;
    item->minutes = (UINT64_C(1) << 60) - 1;
    item->hours = (1u << 24) - 1;
    item->months = 0x1ffe;
    item->years =
        (struct series){.start = YEAR_LEAST, .end = YEAR_MOST, .period = 1};
    item->epoch = (struct series){.end = INT64_MAX, .period = 1};
    item->fingerprint = fingerprint_of(text, bytes);
    reader_init(&draft.reader, text, bytes, err);
    ok = parse_members(&draft) && finish(&draft);
    selector_clear(&draft.days);
    if (!ok) {
        cron_item_unref(item);
        return false;
    }
    *ret_item = item;
    return true;
}
