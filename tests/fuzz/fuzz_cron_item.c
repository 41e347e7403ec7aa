/* Untrusted items: an item is refused with a reason, or searches for its
 * instants give consistent answers. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <pointsman/cron.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void search(const struct cron_item *item, const struct cron_zone *zone,
                   int64_t from) {
    int64_t at, again, before;

    if (cron_next(item, zone, from, &at, NULL) != CRON_FOUND)
        return;
    assert(at >= from && cron_matches(item, zone, at));
    assert(cron_next(item, zone, from + (at - from) / 2, &again, NULL) ==
               CRON_FOUND &&
           again == at);
    assert(cron_prev(item, zone, at, &before, NULL) == CRON_FOUND &&
           before == at);
}

/* The text of an item is that of the item which it describes. */
static void format(const struct cron_item *item) {
    size_t len = cron_item_format(item, NULL, 0);
    char *text = malloc(len + 1), *second = malloc(len + 1);
    struct cron_item *again;

    assert(text != NULL && second != NULL);
    assert(cron_item_format(item, text, len + 1) == len);
    assert(cron_item_parse(text, len, &again, NULL));
    assert(cron_item_format(again, second, len + 1) == len);
    assert(memcmp(text, second, len + 1) == 0);
    cron_item_unref(again);
    free(text);
    free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static const char rule[] = "ABC-1DEF,M3.5.0,M10.5.0/3";
    struct cron_item *item;
    struct cron_zone *zone;
    struct cron_err err = {0};
    char words[512];
    uint64_t count;

    if (!cron_item_parse((const char *)data, bytes, &item, &err)) {
        assert(err.kind != CRON_ERR_NONE && err.line > 0);
        assert(strchr(err.text, '\n') == NULL && err.text[0] != '\0');
        return 0;
    }
    if (!cron_zone_parse(rule, &zone, NULL))
        return 1;
    format(item);
    search(item, NULL, 0);
    search(item, zone, 1396141199);
    search(item, zone, 253000000000);
    assert(cron_count(item, zone, 1396000000, 1396200000, &count, NULL));
    (void)cron_item_explain(item, words, sizeof(words));
    cron_zone_unref(zone);
    cron_item_unref(item);
    return 0;
}
