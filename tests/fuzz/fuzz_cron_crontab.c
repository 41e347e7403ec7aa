/* Crontab lines: the items of an accepted line are valid, unless they never
 * fire. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <pointsman/cron.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    char *line = malloc(bytes + 1);
    struct cron_crontab crontab;
    struct cron_item *item;
    struct cron_err err = {0};

    memcpy(line, data, bytes);
    line[bytes] = '\0';
    if (cron_crontab_parse(line, "a name", &crontab, &err)) {
        assert((crontab.kind == CRON_LINE_TIMES) == (crontab.item_count > 0));
        assert(crontab.rest >= line && crontab.rest <= line + bytes);
        for (size_t i = 0; i < crontab.item_count; i++) {
            if (cron_item_parse(crontab.items[i], strlen(crontab.items[i]),
                                &item, &err))
                cron_item_unref(item);
            else
                assert(strstr(err.text, "never happens") != NULL);
        }
        cron_crontab_clear(&crontab);
    } else {
        assert(err.kind == CRON_ERR_SYNTAX && err.column > 0);
    }
    free(line);
    return 0;
}
