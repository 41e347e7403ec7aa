#include "commands/template_config.h"

enum { LABEL_BYTES = 40, PARAMS_MOST = 64 };

#define PREFIX "param."

static const struct config_key keys[] = {
#define CONFIG_KEY(...) CONFIG_ROW(struct config_template, __VA_ARGS__),
#include "commands/config_template.def"
};

const struct config_template *template_config_at(const struct config *config,
                                                 size_t index) {
    return config_added(config, &template_config_section, index);
}

const struct config_template *template_config_find(const struct config *config,
                                                   struct span name) {
    return config_added_find(config, &template_config_section, name);
}

const struct template_param *
template_config_param(const struct config_template *template,
                      struct span name) {
    for (size_t i = 0; i < template->param_count; i++)
        if (span_equal(template->params[i].name, name))
            return &template->params[i];
    return NULL;
}

bool template_config_piece(const struct config_template *template,
                           struct span *rest, struct span *ret_text,
                           const struct template_param **ret_param) {
    *ret_param = NULL;
    *ret_text = *rest;
    for (size_t i = 0; i < rest->len; i++) {
        const char *open = rest->p + i;
        const char *close =
            *open == '{' ? memchr(open, '}', rest->len - i) : NULL;
        if (close == NULL)
            continue;
        *ret_param = template_config_param(
            template, span_make(open + 1, (size_t)(close - open) - 1));
        if (*ret_param == NULL)
            continue;
        size_t taken = i;
        if (i == 0)
            taken = (size_t)(close - open) + 1;
        else
            *ret_param = NULL;
        *ret_text = span_make(rest->p, taken);
        break;
    }
    *rest = span_make(rest->p + ret_text->len, rest->len - ret_text->len);
    return ret_text->len > 0;
}

/* ---- reading ------------------------------------------------------------- */

static bool check_label(struct span label, const struct config_spot *spot) {
    bool ok = label.len > 0 && label.len <= LABEL_BYTES;

    for (size_t i = 0; ok && i < label.len; i++)
        ok = (label.p[i] >= 'a' && label.p[i] <= 'z') ||
             (label.p[i] >= 'A' && label.p[i] <= 'Z') ||
             (label.p[i] >= '0' && label.p[i] <= '9') ||
             (i > 0 && memchr("-_.", label.p[i], 3) != NULL);
    return ok || config_refuse(spot,
                               "a template needs a name of 1 to %d letters, "
                               "digits, '-', '_' and '.', as in "
                               "[template \"restart\"]",
                               LABEL_BYTES);
}

static void param_remove(struct config_template *template, size_t index) {
    template->param_count--;
    for (size_t i = index; i < template->param_count; i++) {
        template->params[i] = template->params[i + 1];
        template->entries[i] = template->entries[i + 1];
    }
}

/* An empty declaration removes the parameter. */
static bool set_param(struct config *config, void *section, struct span key,
                      struct span value, const struct config_spot *spot) {
    struct config_template *template = section;
    struct span name =
        span_make(key.p + strlen(PREFIX), key.len - strlen(PREFIX));
    struct template_param param;
    struct err why = {0};
    size_t i = 0;

    while (i < template->param_count &&
           !span_equal(template->params[i].name, name))
        i++;
    if (value.len == 0) {
        if (i < template->param_count)
            param_remove(template, i);
        return true;
    }
    if (i == PARAMS_MOST)
        return config_refuse(spot, "a template has at most %d parameters",
                             PARAMS_MOST);
    if (template->params == NULL) {
        template->params = arena_alloc(&config->arena,
                                       PARAMS_MOST * sizeof(*template->params));
        template->entries = arena_alloc(
            &config->arena, PARAMS_MOST * sizeof(*template->entries));
    }
    name = arena_span(&config->arena, name);
    value = arena_span(&config->arena, value);
    if (!template_param_parse(name, value, &config->arena, &param, &why))
        return config_refuse(spot, "%.*s: %s", (int)key.len, key.p, why.text);
    template->params[i] = param;
    template->entries[i] = (struct config_entry){
        .key = arena_span(&config->arena, key),
        .value = value,
        .origin = {spot->file, spot->line},
    };
    template->param_count += i == template->param_count;
    return true;
}

static bool param_entry(struct config *config, const void *section,
                        size_t index, struct config_entry *ret_entry) {
    const struct config_template *template = section;

    (void)config;
    if (index >= template->param_count)
        return false;
    ret_entry->key = template->entries[index].key;
    ret_entry->value = template->entries[index].value;
    ret_entry->origin = template->entries[index].origin;
    return true;
}

static const struct config_free_key param_key = {
    .prefix = PREFIX,
    .name = "param.NAME",
    .value = "TYPE [KEY=VALUE]...",
    .meaning = "parameter: string (min=, max= bytes, pattern=), int (min=, "
               "max=), bool, choice (choices=A|B|C) or path; each with "
               "default= and description=. Without a default it has to be "
               "given",
    .set = set_param,
    .entry = param_entry,
};

/* ---- checks -------------------------------------------------------------- */

static bool is_used(const struct config_template *template,
                    const struct template_param *param) {
    for (size_t i = 0; i < template->command.count; i++) {
        struct span rest = span_of(template->command.words[i]), text;
        const struct template_param *found;
        while (template_config_piece(template, &rest, &text, &found))
            if (found == param)
                return true;
    }
    return false;
}

static bool finish(const struct config *config, const void *section,
                   struct err *err) {
    const struct config_template *template = section;
    struct config_spot spot =
        config_spot_of(template->command_origin, template->origin, err);
    struct config_spot class_spot =
        config_spot_of(template->class_origin, template->origin, err);
    struct config_spot dir_spot =
        config_spot_of(template->dir_origin, template->origin, err);
    enum set_class set_class;
    unsigned priority;

    (void)config;
    if (template->command.count == 0)
        return config_refuse(&spot, "template '%.*s' has no command",
                             (int)template->name.len, template->name.p);
    /* An unused parameter is most often a mistyped {NAME}. */
    for (size_t i = 0; i < template->param_count; i++)
        if (!is_used(template, &template->params[i]))
            return config_refuse(
                &spot, "template '%.*s': its command has no {%.*s}",
                (int)template->name.len, template->name.p,
                (int)template->params[i].name.len, template->params[i].name.p);
    if (template->class.len > 0 &&
        !set_priority_parse(template->class, &set_class, &priority))
        return config_refuse(&class_spot,
                             "class: '%.*s' is not one of RB, EM, BF, DC, "
                             "optionally with a priority as in EM.200",
                             (int)template->class.len, template->class.p);
    return template->dir.len == 0 || template->dir.p[0] == '/' ||
           config_refuse(&dir_spot, "dir: '%.*s' is not an absolute path",
                         (int)template->dir.len, template->dir.p);
}

const struct config_section template_config_section = {
    .name = "template",
    .keys = keys,
    .key_count = COUNT(keys),
    .bytes = sizeof(struct config_template),
    .check_label = check_label,
    .origin_at = offsetof(struct config_template, origin),
    .free_key = &param_key,
    .finish = finish,
};
