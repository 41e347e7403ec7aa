/* Untrusted saved states: a state is refused with a reason, or the watch
 * continues from it, and the state that it saves then is accepted. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <pointsman/cron.h>

#define X_KEY "\"max_shift_seconds_for_unskip_and_do_not_repeat\":"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* The corpus contains the fingerprints of these items. */
static const char *const texts[2] = {
    "{\"epoch\":{\"period\":7}," X_KEY "600}",
    "{\"minute\":{},\"dst_fixes\":[\"unskip\",\"repeat_use_only_early\"]," X_KEY
    "86400}",
};
static const char *const names[2] = {"a", "b"};

static struct cron_watch *make(void) {
    static const struct cron_watch_options options = {.size = sizeof(options),
                                                      .boot_id = "boot"};
    struct cron_watch *watch = cron_watch_new(&options, NULL);

    for (int i = 0; i < 2; i++) {
        struct cron_item *item;
        if (!cron_item_parse(texts[i], strlen(texts[i]), &item, NULL) ||
            !cron_watch_add(watch, names[i], item, NULL, NULL))
            abort();
        cron_item_unref(item);
    }
    return watch;
}

/* Events arrive in order, and none is later than the tick. */
static void continue_watch(struct cron_watch *watch, int64_t system_s,
                           int64_t monotonic_s) {
    struct cron_event events[32];
    struct cron_tick tick = {.more = true};

    for (int i = 0; i < 100 && tick.more; i++) {
        size_t count =
            cron_watch_tick(watch, system_s, monotonic_s, events, 32, &tick);
        for (size_t n = 0; n < count; n++)
            assert(events[n].at <= system_s && events[n].until <= system_s &&
                   (n == 0 || events[n].at >= events[n - 1].at));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct cron_watch *watch = make(), *other = make();
    struct cron_err err = {0};
    char *text;
    size_t len;

    if (!cron_watch_restore(watch, (const char *)data, bytes, &err)) {
        assert(err.kind != CRON_ERR_NONE && err.text[0] != '\0');
        assert(strchr(err.text, '\n') == NULL);
    }
    continue_watch(watch, 1396141199, 500);
    continue_watch(watch, 1396141300, 600);
    len = cron_watch_save(watch, NULL, 0);
    text = malloc(len + 1);
    assert(text != NULL && cron_watch_save(watch, text, len + 1) == len);
    assert(cron_watch_restore(other, text, len, &err));
    continue_watch(other, 1396141400, 700);
    free(text);
    cron_watch_free(watch);
    cron_watch_free(other);
    return 0;
}
