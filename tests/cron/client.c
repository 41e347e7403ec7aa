/* A program of a user of the installed library, which includes only the public
 * header. */
#include <pointsman/cron.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    static const char text[] =
        "{\"hour\": 2, \"minute\": 30, \"dst_fixes\": [\"unskip\", "
        "\"repeat_use_only_early\"]}";
    struct cron_item *item;
    struct cron_zone *zone;
    struct cron_err err;
    char written[CRON_INSTANT_BYTES];
    int64_t at = 0;

    if (!cron_zone_open("PST8PDT,M3.2.0,M11.1.0", &zone, &err) ||
        !cron_item_parse(text, strlen(text), &item, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    if (cron_next(item, zone, 1362909540, &at, &err) != CRON_FOUND)
        return 1;
    puts(cron_instant_format(zone, at, written));
    cron_item_unref(item);
    cron_zone_unref(zone);
    return 0;
}
