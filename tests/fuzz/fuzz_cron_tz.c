/* POSIX TZ strings, offsets and instants. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <pointsman/cron.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void walk(const struct cron_zone *zone, int64_t at) {
    int32_t before, after;
    int64_t next;

    for (int i = 0; i < 50; i++) {
        if (cron_zone_change(zone, at, &next, &before, &after, NULL) !=
            CRON_FOUND)
            return;
        assert(next > at && before != after);
        assert(cron_zone_offset_s(zone, next - 1) == before);
        assert(cron_zone_offset_s(zone, next) == after);
        at = next;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static const char text[] =
        "{\"minute\":0,\"hour\":2,\"dst_fixes\":[\"unskip\","
        "\"repeat_use_only_late\"]}";
    char *name = malloc(bytes + 1), written[CRON_INSTANT_BYTES];
    struct cron_zone *zone;
    struct cron_item *item;
    struct cron_err err = {0};
    int64_t at;

    memcpy(name, data, bytes);
    name[bytes] = '\0';
    if (cron_instant_parse(name, &at))
        (void)cron_instant_format(NULL, at, written);
    if (cron_zone_parse(name, &zone, &err)) {
        walk(zone, -40000000000);
        walk(zone, 0);
        walk(zone, 253000000000);
        if (cron_item_parse(text, sizeof(text) - 1, &item, NULL)) {
            if (cron_next(item, zone, 1000000000, &at, NULL) == CRON_FOUND)
                assert(cron_matches(item, zone, at));
            cron_item_unref(item);
        }
        cron_zone_unref(zone);
    } else {
        assert(err.kind == CRON_ERR_ZONE);
    }
    free(name);
    return 0;
}
