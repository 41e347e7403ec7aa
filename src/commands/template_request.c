#include "commands/template_request.h"

#include "api/api_call.h"
#include "commands/template_expand.h"

/* null: the submission decides. */
static void number_json(struct json *json, const char *key, int64_t value) {
    json_key(json, key);
    if (value > 0)
        json_i64(json, value);
    else
        json_null(json);
}

static void text_json(struct json *json, const char *key, struct span value) {
    json_key(json, key);
    if (value.len > 0)
        json_span(json, value);
    else
        json_null(json);
}

static void template_json(struct api_call *call,
                          const struct config_template *template) {
    struct json json;

    json_open(&json, &call->out);
    json_object(&json);
    json_put_span(&json, "name", template->name);
    json_put_span(&json, "description", template->description);
    json_put_bool(&json, "allowed",
                  template_allows(call->api->options.base, template,
                                  &call->request.actor));
    json_put_span(&json, "allow", template->allow);
    json_key(&json, "command");
    json_array(&json);
    for (size_t i = 0; i < template->command.count; i++)
        json_string(&json, template->command.words[i]);
    json_end(&json);
    text_json(&json, "class", template->class);
    number_json(&json, "retries", template->retries);
    number_json(&json, "timeout", template->timeout_s);
    text_json(&json, "dir", template->dir);
    json_key(&json, "touches");
    json_array(&json);
    for (size_t i = 0; i < template->touches.count; i++)
        json_span(&json, template->touches.items[i].text);
    json_end(&json);
    json_key(&json, "params");
    json_array(&json);
    for (size_t i = 0; i < template->param_count; i++)
        template_param_json(&json, &template->params[i]);
    json_end(&json);
    json_end(&json);
    text_addc(&call->out, '\n');
}

void template_request_list(struct api_call *call) {
    static const char *const keys[] = {NULL};
    const struct base *base = call->api->options.base;
    const struct config_template *template;

    if (!api_query_check(call, keys))
        return;
    api_reply(call, 200, api_lines);
    for (size_t i = 0;
         base != NULL &&
         (template = template_config_at(&base->config, i)) != NULL;
         i++)
        template_json(call, template);
    api_end(call);
}

void template_request_show(struct api_call *call) {
    static const char *const keys[] = {NULL};
    const struct base *base = call->api->options.base;
    struct span name = call->params[0];
    struct err err = {0};

    if (!api_query_check(call, keys))
        return;
    const struct config_template *template =
        base == NULL ? NULL : template_config_find(&base->config, name);
    if (template == NULL) {
        err_set(&err, ERR_NO_JOB, "there is no template '%.*s'", (int)name.len,
                name.p);
        api_fail(call, &err);
        return;
    }
    api_reply(call, 200, api_json);
    template_json(call, template);
    api_end(call);
}
