#include "commands/template_expand.h"

/* ---- who ----------------------------------------------------------------- */

/* True if `name` is a role that the actor has. */
static bool has_role_named(const struct access_actor *actor, struct span name) {
    for (int role = ACCESS_SUBMITTER; role < ACCESS_ROLES; role++)
        if (span_is(name, access_role_word((enum access_role)role)))
            return actor->role >= (enum access_role)role;
    return false;
}

bool template_allows(const struct base *base,
                     const struct config_template *template,
                     const struct access_actor *actor) {
    struct span rest = template->allow, name;

    if (!actor->is_known || actor->is_refused || actor->role < ACCESS_SUBMITTER)
        return false;
    if (template->allow.len == 0)
        return true;
    while (config_access_next(&rest, &name))
        if (has_role_named(actor, name))
            return true;
    return base_is_named(base, template->allow, actor);
}

/* ---- mistakes ------------------------------------------------------------ */

/* All of them, in one line. */
static void add_mistake(struct text *mistakes, const char *format, ...)
    PRINTF_LIKE(2, 3);
static void add_mistake(struct text *mistakes, const char *format, ...) {
    va_list args;

    if (mistakes->len > 0)
        text_adds(mistakes, "; ");
    va_start(args, format);
    text_addv(mistakes, format, args);
    va_end(args);
}

static void add_unknown(struct text *mistakes,
                        const struct config_template *template,
                        struct span name) {
    CLEANUP(text_free_string) char *copy = span_string(name);
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    const char **known =
        arena_alloc(&arena, (template->param_count + 1) * sizeof(*known));

    for (size_t i = 0; i < template->param_count; i++)
        known[i] = arena_string(&arena, template->params[i].name);
    const char *near = text_nearest(copy, known, template->param_count);
    if (near != NULL)
        add_mistake(mistakes, "there is no '%s', did you mean '%s'?", copy,
                    near);
    else
        add_mistake(mistakes, "there is no '%s'", copy);
}

/* What the template sets cannot be set otherwise. */
static void check_free(const struct config_template *template,
                       const struct submission *submission,
                       struct text *mistakes) {
    bool classed = submission->class != SET_DC ||
                   submission->sub_priority != SET_SUB_PRIORITY;

    if (submission->command.count > 0)
        add_mistake(mistakes, "its command cannot be given");
    if (template->class.len > 0 && classed)
        add_mistake(mistakes, "it sets 'class' itself");
    if (template->retries > 0 && submission->retries > 0)
        add_mistake(mistakes, "it sets 'retries' itself");
    if (template->timeout_s > 0 && submission->timeout_ms > 0)
        add_mistake(mistakes, "it sets 'timeout' itself");
}

/* ---- parameters ---------------------------------------------------------- */

static const struct submission_env *given(const struct submission *submission,
                                          struct span name) {
    for (size_t i = 0; i < submission->param_count; i++)
        if (span_equal(submission->params[i].name, name))
            return &submission->params[i];
    return NULL;
}

/* In an array these are replaced in each word. */
static bool has_place(struct span value) {
    for (size_t i = 0; i + 1 < value.len; i++)
        if (value.p[i] == '{' &&
            (value.p[i + 1] == '}' || value.p[i + 1] == '#'))
            return true;
    return false;
}

static void check_given(const struct config_template *template,
                        const struct submission *submission,
                        struct text *mistakes) {
    for (size_t i = 0; i < submission->param_count; i++)
        if (template_config_param(template, submission->params[i].name) == NULL)
            add_unknown(mistakes, template, submission->params[i].name);
}

/* The value of each parameter, in their order. */
static struct submission_env *
values_find(const struct config_template *template,
            const struct submission *submission, struct arena *arena,
            struct text *mistakes) {
    struct submission_env *values =
        arena_alloc(arena, (template->param_count + 1) * sizeof(*values));

    for (size_t i = 0; i < template->param_count; i++) {
        const struct template_param *param = &template->params[i];
        const struct submission_env *one = given(submission, param->name);
        struct err why = {0};
        values[i] = (struct submission_env){
            arena_span(arena, param->name),
            arena_span(arena, one != NULL ? one->value : param->usual)};
        if (one == NULL && !param->has_usual)
            add_mistake(mistakes, "'%.*s' is missing%s%.*s",
                        (int)param->name.len, param->name.p,
                        param->description.len > 0 ? ": " : "",
                        (int)param->description.len, param->description.p);
        else if (!template_param_check(param, values[i].value, &why))
            add_mistake(mistakes, "%s", why.text);
        else if (submission->array.count > 0 && has_place(values[i].value))
            add_mistake(mistakes,
                        "'%.*s' has a {} or {#}, which an array replaces",
                        (int)param->name.len, param->name.p);
        values[i].value =
            arena_span(arena, template_param_word(param, values[i].value));
    }
    return values;
}

static struct span expand_word(const struct config_template *template,
                               const struct submission_env *values,
                               const char *word, struct arena *arena) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct span rest = span_of(word), text;
    const struct template_param *param;

    while (template_config_piece(template, &rest, &text, &param))
        text_addspan(&out, param == NULL
                               ? text
                               : values[param - template->params].value);
    return arena_span(arena, text_span(&out));
}

/* ---- the whole ----------------------------------------------------------- */

static void set_rest(const struct config_template *template,
                     struct submission *submission, struct arena *arena) {
    if (template->class.len > 0)
        (void)set_priority_parse(template->class, &submission->class,
                                 &submission->sub_priority);
    if (template->retries > 0)
        submission->retries = (unsigned)template->retries;
    if (template->timeout_s > 0)
        submission->timeout_ms = template->timeout_s * 1000;
    if (template->dir.len > 0)
        submission->dir = arena_span(arena, template->dir);
    for (size_t i = 0; i < template->touches.count; i++)
        submission_touch(submission, arena,
                         arena_span(arena, template->touches.items[i].text));
}

bool template_expand(const struct base *base, const struct access_actor *actor,
                     struct submission *submission, struct arena *arena,
                     struct err *err) {
    CLEANUP(text_clear) struct text mistakes = TEXT_INIT;
    struct span name = submission->template;

    if (name.len == 0)
        return submission->param_count == 0 ||
               err_set(err, ERR_DATA, "'params' are only for a template");
    const struct config_template *template =
        base == NULL ? NULL : template_config_find(&base->config, name);
    if (template == NULL)
        return err_set(err, ERR_DATA,
                       "there is no template '%.*s'; pointsman template list "
                       "shows those there are",
                       (int)name.len, name.p);
    if (!template_allows(base, template, actor))
        return err_set(err, ERR_DENIED, "template '%.*s' is only for: %.*s",
                       (int)name.len, name.p, (int)template->allow.len,
                       template->allow.p);
    check_free(template, submission, &mistakes);
    check_given(template, submission, &mistakes);
    struct submission_env *values =
        values_find(template, submission, arena, &mistakes);
    if (mistakes.len > 0)
        return err_set(err, ERR_DATA, "template '%.*s': %s", (int)name.len,
                       name.p, text_string(&mistakes));
    submission->params = values;
    submission->param_count = template->param_count;
    submission->command.count = template->command.count;
    submission->command.items = arena_alloc(
        arena, template->command.count * sizeof(*submission->command.items));
    for (size_t i = 0; i < template->command.count; i++)
        submission->command.items[i] =
            expand_word(template, values, template->command.words[i], arena);
    set_rest(template, submission, arena);
    return true;
}
