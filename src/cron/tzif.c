#include "cron/tzif.h"

#include <string.h>

#include "cron/zone.h"

enum { HEADER_BYTES = 44, TYPE_BYTES = 6 };
/* RFC 9636, 3.2: more than -25 hours, less than 26. */
enum { OFFSET_LEAST_S = -89999, OFFSET_MOST_S = 93599 };
/* Some files begin with a change at the Big Bang; it is ignored. */
#define BIG_BANG (-(INT64_C(1) << 40))

struct tzif {
    const uint8_t *p;
    size_t bytes; /* from p on */
    const char *name;
    struct cron_err *err;
};

struct header {
    int version;
    size_t utc, standard, leap, times, types, chars;
};

static bool broken(const struct tzif *file, const char *what) {
    return fault_set(file->err, CRON_ERR_ZONE, "zone file '%s' is broken: %s",
                     file->name, what);
}

static uint32_t big32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           p[3];
}

static int64_t big64(const uint8_t *p) {
    return (int64_t)((uint64_t)big32(p) << 32 | big32(p + 4));
}

static void advance(struct tzif *file, size_t bytes) {
    file->p += bytes;
    file->bytes -= bytes;
}

static bool read_header(struct tzif *file, struct header *ret) {
    const uint8_t *p = file->p;

    if (file->bytes < HEADER_BYTES || memcmp(p, "TZif", 4) != 0)
        return broken(file, "it does not begin with TZif");
    *ret = (struct header){
        .version = p[4] == 0 ? 1 : p[4] - '0',
        .utc = big32(p + 20),
        .standard = big32(p + 24),
        .leap = big32(p + 28),
        .times = big32(p + 32),
        .types = big32(p + 36),
        .chars = big32(p + 40),
    };
    if (ret->version == 1)
        return fault_set(file->err, CRON_ERR_ZONE,
                         "zone file '%s' is of version 1, which ends in 2037; "
                         "recompile it with zic -b fat or -b slim",
                         file->name);
    if (ret->version < 2 || ret->version > 9)
        return broken(file, "its version is invalid");
    advance(file, HEADER_BYTES);
    return true;
}

/* Counts are 32 bits and sums of their products 64: nothing overflows. */
static uint64_t data_bytes(const struct header *header, size_t time_bytes) {
    return (uint64_t)header->times * (time_bytes + 1) +
           (uint64_t)header->types * TYPE_BYTES + header->chars +
           (uint64_t)header->leap * (time_bytes + 4) + header->standard +
           header->utc;
}

static bool check_counts(const struct tzif *file, const struct header *header) {
    if (data_bytes(header, 8) > file->bytes)
        return broken(file, "it is shorter than its counts say");
    if (header->types == 0 || header->types > 256 || header->chars == 0)
        return broken(file, "it has no types");
    if ((header->standard != 0 && header->standard != header->types) ||
        (header->utc != 0 && header->utc != header->types))
        return broken(file, "its counts contradict each other");
    if (header->leap != 0)
        return fault_set(file->err, CRON_ERR_ZONE,
                         "zone file '%s' counts leap seconds; use the zone "
                         "without 'right/'",
                         file->name);
    return true;
}

static bool read_offsets(const struct tzif *file, const struct header *header,
                         int32_t ret[256]) {
    const uint8_t *p = file->p + header->times * 9;

    for (size_t i = 0; i < header->types; i++, p += TYPE_BYTES) {
        ret[i] = (int32_t)big32(p);
        if (ret[i] < OFFSET_LEAST_S || ret[i] > OFFSET_MOST_S)
            return broken(file, "an offset of more than a day");
        if (p[4] > 1 || p[5] >= header->chars)
            return broken(file, "a type is invalid");
    }
    return true;
}

static bool read_changes(const struct tzif *file, const struct header *header,
                         struct zone_draft *draft) {
    const uint8_t *times = file->p, *types = times + header->times * 8;
    int32_t offsets[256];
    int64_t last = INT64_MIN;

    if (!read_offsets(file, header, offsets))
        return false;
    draft->first_s = offsets[0];
    for (size_t i = 0; i < header->times; i++) {
        int64_t at = big64(times + i * 8);
        if (i > 0 && at <= last)
            return broken(file, "its times do not increase");
        last = at;
        if (types[i] >= header->types)
            return broken(file, "a transition to a type that does not exist");
        if (at > -BIG_BANG)
            return broken(file, "the time of a transition is out of range");
        if (at < BIG_BANG)
            draft->first_s = offsets[types[i]];
        else if (!zone_draft_add(draft, at, offsets[types[i]], file->err))
            return false;
    }
    return true;
}

/* "\nTZ\n"; an empty one means that nothing changes any more. */
static bool read_footer(const struct tzif *file, struct tz_rule *ret_rule,
                        bool *ret_has_rule) {
    const char *text = (const char *)file->p + 1, *end;
    struct cron_err err;

    if (file->bytes < 2 || file->p[0] != '\n')
        return broken(file, "its footer is missing");
    end = memchr(text, '\n', file->bytes - 1);
    if (end == NULL)
        return broken(file, "its footer has no end");
    *ret_has_rule = end > text;
    if (*ret_has_rule &&
        !tz_rule_parse(text, (size_t)(end - text), ret_rule, &err))
        return broken(file, "its footer is not a POSIX TZ string");
    return true;
}

bool tzif_decode(const void *bytes, size_t byte_count, const char *name,
                 struct cron_zone **ret_zone, struct cron_err *err) {
    struct tzif file = {bytes, byte_count, name, err};
    struct zone_draft draft = {0};
    struct tz_rule rule;
    struct header header;
    bool has_rule, ok;

    if (!read_header(&file, &header))
        return false;
    if (data_bytes(&header, 4) > file.bytes)
        return broken(&file, "it is shorter than its counts say");
    advance(&file, (size_t)data_bytes(&header, 4));
    if (!read_header(&file, &header) || !check_counts(&file, &header))
        return false;
    ok = read_changes(&file, &header, &draft);
    if (ok) {
        advance(&file, (size_t)data_bytes(&header, 8));
        ok = read_footer(&file, &rule, &has_rule);
    }
    if (!ok) {
        zone_draft_clear(&draft);
        return false;
    }
    return zone_make(&draft, has_rule ? &rule : NULL, ret_zone, err);
}

bool cron_zone_decode(const void *bytes, size_t byte_count,
                      struct cron_zone **ret_zone, struct cron_err *err) {
    if (byte_count > TZIF_BYTES_MOST)
        return fault_set(err, CRON_ERR_ZONE, "it is longer than 1 MiB");
    return tzif_decode(bytes, byte_count, "", ret_zone, err);
}
