/* Zone files: a file is refused, or the changes of its zone are consistent and
 * every search ends. */
#include <assert.h>

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
    static const char *const texts[] = {
        "{\"minute\":0,\"hour\":2,\"dst_fixes\":[\"unskip\","
        "\"repeat_use_only_late\"]}",
        "{\"minute\":{\"period\":7},\"dst_fixes\":[\"skip\","
        "\"repeat_use_only_early\"]}",
    };
    struct cron_zone *zone;
    struct cron_err err = {0};

    if (!cron_zone_decode(data, bytes, &zone, &err)) {
        assert(err.kind == CRON_ERR_ZONE);
        return 0;
    }
    walk(zone, INT64_MIN);
    walk(zone, 0);
    walk(zone, 253000000000);
    for (int i = 0; i < 2; i++) {
        struct cron_item *item;
        int64_t from = 0, at;
        const char *end = texts[i];
        while (*end != '\0')
            end++;
        if (!cron_item_parse(texts[i], (size_t)(end - texts[i]), &item, NULL))
            return 1;
        for (int n = 0;
             n < 40 && cron_next(item, zone, from, &at, NULL) == CRON_FOUND;
             n++) {
            assert(at >= from && cron_matches(item, zone, at));
            from = at + 3601;
        }
        cron_item_unref(item);
    }
    cron_zone_unref(zone);
    return 0;
}
