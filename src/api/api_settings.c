/* Settings: keys of the section [queue] whose value in the registry
 * overrides pointsman.conf. */
#include "api/api_call.h"
#include "api/api_handlers.h"

#include "base/base.h"

#define SETTING_SECTION "queue"

/* "queue.concurrency" -> "concurrency". */
static bool setting_key(struct span name, struct span *ret_key) {
    struct span section;

    *ret_key = name;
    return span_cut(ret_key, '.', &section) &&
           span_is(section, SETTING_SECTION) && ret_key->len > 0;
}

static bool need_base(struct api_call *call) {
    struct err err = {0};

    if (call->api->options.base != NULL)
        return true;
    err_set(&err, ERR_UNAVAILABLE, "settings need a base");
    api_fail(call, &err);
    return false;
}

static void setting_json(struct api_call *call,
                         const struct config_entry *entry, struct span value) {
    struct json json;

    json_open(&json, &call->out);
    json_object(&json);
    json_key(&json, "name");
    json_string(&json, arena_printf(&call->arena, "%s.%.*s", entry->section,
                                    (int)entry->key.len, entry->key.p));
    json_key(&json, "value");
    json_span(&json, value.p != NULL ? value : entry->value);
    json_key(&json, "from");
    if (value.p != NULL)
        json_string(&json, "set");
    else if (entry->origin.file == NULL)
        json_string(&json, "default");
    else
        json_string(&json,
                    arena_printf(&call->arena, "%s:%u", entry->origin.file,
                                 entry->origin.line));
    json_key(&json, "meaning");
    json_string(&json, entry->meaning);
    json_end(&json);
    text_addc(&call->out, '\n');
}

void api_settings(struct api_call *call) {
    static const char *const keys[] = {NULL};
    struct config_entry entry;
    struct config_cursor cursor = {0};

    if (!api_query_check(call, keys) || !need_base(call))
        return;
    while (config_next(&call->api->options.base->config, &cursor, &entry)) {
        struct err err = {0};
        struct span value;
        if (strcmp(entry.section, SETTING_SECTION) != 0)
            continue;
        char *name = arena_printf(&call->arena, "%s.%.*s", entry.section,
                                  (int)entry.key.len, entry.key.p);
        if (!store_setting(call->api->options.store, span_of(name),
                           &call->arena, &value, &err)) {
            api_fail(call, &err);
            return;
        }
        setting_json(call, &entry, value);
    }
    api_reply(call, 200, api_lines);
    api_end(call);
}

/* Would the configuration accept the value? */
static bool setting_check(struct span key, struct span value, struct err *err) {
    struct config scratch;

    config_init(&scratch);
    bool ok = config_set(&scratch, SPAN(SETTING_SECTION), (struct span){0}, key,
                         value, "set", 0, err);
    config_clear(&scratch);
    if (!ok && err->kind == ERR_CONFIG)
        err->kind = ERR_DATA;
    return ok;
}

static bool setting_known(struct api_call *call, struct span key) {
    struct config_entry entry;
    struct config_cursor cursor = {0};

    while (config_next(&call->api->options.base->config, &cursor, &entry))
        if (strcmp(entry.section, SETTING_SECTION) == 0 &&
            span_equal(entry.key, key))
            return true;
    return false;
}

/* The setting that was meant by a name that is none; NULL: unknown. The section
 * may have been left out. */
static const char *setting_near(struct api_call *call, struct span name) {
    struct config_entry entry;
    const char *names[64];
    struct config_cursor cursor = {0};
    size_t count = 0;
    struct span section, key = name;

    (void)span_cut(&key, '.', &section);
    if (key.len == 0)
        key = name;
    while (count < COUNT(names) &&
           config_next(&call->api->options.base->config, &cursor, &entry))
        if (strcmp(entry.section, SETTING_SECTION) == 0)
            names[count++] = arena_string(&call->arena, entry.key);
    return text_nearest(arena_string(&call->arena, key), names, count);
}

static void setting_unknown(struct api_call *call, struct span name,
                            struct err *err) {
    const char *near = setting_near(call, name);

    if (near != NULL)
        err_set(err, ERR_USAGE, "no setting '%.*s'; did you mean '%s.%s'?",
                (int)name.len, name.p, SETTING_SECTION, near);
    else
        err_set(err, ERR_USAGE,
                "no setting '%.*s'; pointsman settings lists them",
                (int)name.len, name.p);
}

static void setting_done(void *ctx, struct store_batch *batch, bool ok,
                         const struct err *err) {
    struct api_call *call = ctx;

    (void)batch;
    if (!api_unhold(call))
        return;
    if (ok) {
        api_trigger(call->api);
        api_reply(call, 200, api_json);
        text_adds(&call->out, "{}\n");
        api_end(call);
    } else {
        api_fail(call, err);
    }
    api_poke(call);
}

/* The value while the registry has none; empty if the files cannot be read. */
static struct span setting_usual(struct api_call *call, struct span key) {
    struct config files;
    struct config_entry entry;
    struct span usual = {0};
    struct config_cursor cursor = {0};

    if (!base_read_files(call->api->options.base, &files, NULL))
        return usual;
    while (config_next(&files, &cursor, &entry))
        if (strcmp(entry.section, SETTING_SECTION) == 0 &&
            span_equal(entry.key, key))
            usual = arena_span(&call->arena, entry.value);
    config_clear(&files);
    return usual;
}

/* Body: the value as written in pointsman.conf; empty: back to the default */
void api_setting(struct api_call *call) {
    struct err err = {0};
    struct span name = call->params[0], key;
    struct span value = span_trim(text_span(&call->body));

    if (!need_base(call))
        return;
    if (!setting_key(name, &key) || !setting_known(call, key))
        setting_unknown(call, name, &err);
    else if (value.len > 0 && base_setting_is_for_files(key))
        err_set(&err, ERR_DENIED,
                "'%.*s' is set in the files of the base only, because it "
                "decides whose signatures count",
                (int)name.len, name.p);
    else if (value.len > 0)
        (void)setting_check(key, value, &err);
    if (err.kind != ERR_NONE) {
        api_fail(call, &err);
        return;
    }
    struct store_batch *batch = api_batch(call);
    store_set(batch, name, value.len > 0 ? value : (struct span){0});
    store_set_usual(batch, setting_usual(call, key));
    api_hold(call);
    store_submit(batch, setting_done, call);
}
