#include "commands/template_param.h"

#include <inttypes.h>

#include "lib/pattern.h"
#include "wire/words.h"

enum {
    NAME_BYTES = 40,
    VALUE_BYTES = 4096,
    SHOWN_BYTES = 60 /* of a refused value */
};

static const char *const types[TEMPLATE_TYPES] = {"string", "int", "bool",
                                                  "choice", "path"};

/* ---- declarations -------------------------------------------------------- */

static bool name_is_valid(struct span name) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";
    bool ok = name.len > 0 && name.len <= NAME_BYTES && name.p[0] >= 'a' &&
              name.p[0] <= 'z';

    for (size_t i = 0; ok && i < name.len; i++)
        ok = memchr(allowed, name.p[i], sizeof(allowed) - 1) != NULL;
    return ok;
}

static bool type_parse(struct span word, enum template_type *ret_type) {
    for (int i = 0; i < TEMPLATE_TYPES; i++)
        if (span_is(word, types[i])) {
            *ret_type = (enum template_type)i;
            return true;
        }
    return false;
}

static bool is_bounded(const struct template_param *param) {
    return param->type == TEMPLATE_INT || param->type == TEMPLATE_STRING;
}

static bool read_pattern(struct template_param *param, struct span value,
                         struct err *err) {
    struct pattern *pattern;

    param->pattern = value;
    if (!pattern_new(value, false, &pattern, err))
        return err_wrap(err, "pattern");
    pattern_free(pattern);
    return true;
}

static bool read_part(struct template_param *param, struct span key,
                      struct span value, struct err *err) {
    if (span_is(key, "default")) {
        param->has_usual = true;
        param->usual = value;
        return true;
    }
    if (span_is(key, "description")) {
        param->description = value;
        return true;
    }
    if (span_is(key, "min") && is_bounded(param))
        return span_i64(value, &param->least) ||
               err_set(err, ERR_DATA, "min is not a number");
    if (span_is(key, "max") && is_bounded(param))
        return span_i64(value, &param->most) ||
               err_set(err, ERR_DATA, "max is not a number");
    if (span_is(key, "pattern") && param->type == TEMPLATE_STRING)
        return read_pattern(param, value, err);
    if (span_is(key, "choices") && param->type == TEMPLATE_CHOICE) {
        param->choices = value;
        return true;
    }
    return err_set(err, ERR_DATA, "a parameter of type %s has no '%.*s'",
                   types[param->type], (int)key.len, key.p);
}

static bool check_declaration(const struct template_param *param,
                              struct err *err) {
    if (param->least > param->most)
        return err_set(err, ERR_DATA, "min is larger than max");
    if (param->type == TEMPLATE_STRING &&
        (param->least < 0 || param->most > VALUE_BYTES))
        return err_set(err, ERR_DATA, "a string has 0 to %d bytes",
                       VALUE_BYTES);
    if (param->type == TEMPLATE_CHOICE && param->choices.len == 0)
        return err_set(err, ERR_DATA, "a choice needs choices=A|B|C");
    return !param->has_usual ||
           template_param_check(param, param->usual, err) ||
           err_wrap(err, "default");
}

bool template_param_parse(struct span name, struct span text,
                          struct arena *arena, struct template_param *ret_param,
                          struct err *err) {
    char **words;
    size_t count;

    *ret_param = (struct template_param){.name = name};
    if (!name_is_valid(name))
        return err_set(err, ERR_DATA,
                       "a parameter has a name of 1 to %d small letters, "
                       "digits, '-' and '_', a letter first",
                       NAME_BYTES);
    if (!words_split(text, arena, &words, &count, err))
        return false;
    if (count == 0 || !type_parse(span_of(words[0]), &ret_param->type))
        return err_set(err, ERR_DATA,
                       "the type comes first: string, int, bool, choice or "
                       "path");
    bool number = ret_param->type == TEMPLATE_INT;
    ret_param->least = number ? INT64_MIN : 1;
    ret_param->most = number ? INT64_MAX : VALUE_BYTES;
    for (size_t i = 1; i < count; i++) {
        struct span value = span_of(words[i]), key;
        if (!span_cut(&value, '=', &key) || value.p == NULL)
            return err_set(err, ERR_DATA,
                           "'%s' is not KEY=VALUE; quote values with blanks",
                           words[i]);
        if (!read_part(ret_param, key, value, err))
            return false;
    }
    return check_declaration(ret_param, err);
}

/* ---- values -------------------------------------------------------------- */

static bool refuse(const struct template_param *param, struct span value,
                   struct err *err, const char *rule) {
    int len = (int)(value.len < SHOWN_BYTES ? value.len : SHOWN_BYTES);

    return err_set(err, ERR_DATA, "'%.*s' = '%.*s%s' is not %s",
                   (int)param->name.len, param->name.p, len, value.p,
                   value.len > SHOWN_BYTES ? "..." : "", rule);
}

/* One line without characters that control a terminal. */
static bool is_line(struct span value) {
    if (value.len > VALUE_BYTES || !span_is_utf8(value))
        return false;
    for (size_t i = 0; i < value.len; i++)
        if ((unsigned char)value.p[i] < ' ' || value.p[i] == 0x7f)
            return false;
    return true;
}

/* The whole value, not a part of it. */
static bool matches(struct span text, struct span value) {
    CLEANUP(text_clear) struct text whole = TEXT_INIT;
    struct pattern *pattern;

    text_addf(&whole, "^(%.*s)$", (int)text.len, text.p);
    if (!pattern_new(text_span(&whole), false, &pattern, NULL))
        return false;
    bool found = pattern_finds(pattern, value);
    pattern_free(pattern);
    return found;
}

static bool check_string(const struct template_param *param, struct span value,
                         struct err *err) {
    CLEANUP(text_clear) struct text rule = TEXT_INIT;

    if ((int64_t)value.len < param->least || (int64_t)value.len > param->most) {
        text_addf(&rule, "a line of %" PRId64 " to %" PRId64 " bytes",
                  param->least, param->most);
        return refuse(param, value, err, text_string(&rule));
    }
    if (param->pattern.p == NULL)
        return !span_starts(value, "-") ||
               refuse(param, value, err,
                      "allowed: the command may take what begins with - for "
                      "an option");
    if (matches(param->pattern, value))
        return true;
    text_addf(&rule, "as the pattern %.*s says", (int)param->pattern.len,
              param->pattern.p);
    return refuse(param, value, err, text_string(&rule));
}

static bool check_int(const struct template_param *param, struct span value,
                      struct err *err) {
    CLEANUP(text_clear) struct text rule = TEXT_INIT;
    int64_t number;

    if (span_i64(value, &number) && number >= param->least &&
        number <= param->most)
        return true;
    text_adds(&rule, "a number");
    if (param->least != INT64_MIN)
        text_addf(&rule, " from %" PRId64, param->least);
    if (param->most != INT64_MAX)
        text_addf(&rule, " to %" PRId64, param->most);
    return refuse(param, value, err, text_string(&rule));
}

static bool check_choice(const struct template_param *param, struct span value,
                         struct err *err) {
    CLEANUP(text_clear) struct text rule = TEXT_INIT;
    struct span rest = param->choices, choice;

    while (rest.len > 0 && span_cut(&rest, '|', &choice))
        if (span_equal(choice, value))
            return true;
    text_addf(&rule, "one of %.*s", (int)param->choices.len, param->choices.p);
    return refuse(param, value, err, text_string(&rule));
}

static bool check_path(const struct template_param *param, struct span value,
                       struct err *err) {
    struct span rest = value, part;
    bool fine = span_starts(value, "/");

    while (fine && rest.len > 0 && span_cut(&rest, '/', &part))
        fine = !span_is(part, ".") && !span_is(part, "..");
    return fine || refuse(param, value, err,
                          "an absolute path without the parts . and ..");
}

static bool is_yes(struct span value) {
    return span_is(value, "yes") || span_is(value, "true");
}

bool template_param_check(const struct template_param *param, struct span value,
                          struct err *err) {
    if (!is_line(value))
        return refuse(param, SPAN("..."), err,
                      "a line of UTF-8 text without control characters");
    switch (param->type) {
    case TEMPLATE_STRING:
        return check_string(param, value, err);
    case TEMPLATE_INT:
        return check_int(param, value, err);
    case TEMPLATE_BOOL:
        return is_yes(value) || span_is(value, "no") ||
               span_is(value, "false") ||
               refuse(param, value, err, "yes or no");
    case TEMPLATE_CHOICE:
        return check_choice(param, value, err);
    case TEMPLATE_PATH:
        return check_path(param, value, err);
    case TEMPLATE_TYPES:
        break;
    }
    return false;
}

struct span template_param_word(const struct template_param *param,
                                struct span value) {
    if (param->type != TEMPLATE_BOOL)
        return value;
    return is_yes(value) ? SPAN("yes") : SPAN("no");
}

/* ---- JSON ---------------------------------------------------------------- */

static void bound_json(struct json *json, const char *key, int64_t value,
                       bool shown) {
    json_key(json, key);
    if (shown)
        json_i64(json, value);
    else
        json_null(json);
}

void template_param_json(struct json *json,
                         const struct template_param *param) {
    struct span rest = param->choices, choice;

    json_object(json);
    json_put_span(json, "name", param->name);
    json_key(json, "type");
    json_string(json, types[param->type]);
    json_put_bool(json, "required", !param->has_usual);
    json_key(json, "default");
    if (param->has_usual)
        json_span(json, param->usual);
    else
        json_null(json);
    bound_json(json, "min", param->least,
               is_bounded(param) && param->least != INT64_MIN);
    bound_json(json, "max", param->most,
               is_bounded(param) && param->most != INT64_MAX);
    json_key(json, "pattern");
    if (param->pattern.p != NULL)
        json_span(json, param->pattern);
    else
        json_null(json);
    json_key(json, "choices");
    json_array(json);
    while (rest.len > 0 && span_cut(&rest, '|', &choice))
        json_span(json, choice);
    json_end(json);
    json_put_span(json, "description", param->description);
    json_end(json);
}
