/* A parameter of a template: how it is declared, and which values it takes.
 *
 *     int min=1 max=9 default=3 description="how many"
 *
 * The type comes first: string, int, bool, choice or path. Then, in any order:
 * default, description; min, max (of an int, or of the bytes of a string);
 * pattern (of a string: a regular expression for the whole value); choices (of
 * a choice: a|b|c). A parameter without a default has to be given. */
#ifndef POINTSMAN_COMMANDS_TEMPLATE_PARAM_H
#define POINTSMAN_COMMANDS_TEMPLATE_PARAM_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/json.h"
#include "lib/text.h"

enum template_type {
    TEMPLATE_STRING,
    TEMPLATE_INT,
    TEMPLATE_BOOL,
    TEMPLATE_CHOICE,
    TEMPLATE_PATH,
    TEMPLATE_TYPES
};

struct template_param {
    struct span name;
    enum template_type type;
    bool has_usual;
    struct span usual; /* the default */
    struct span description, pattern, choices;
    int64_t least, most; /* of the number, or of the bytes of the text */
};

/* Reads a declaration; spans lie in the arena. ERR_DATA. */
bool template_param_parse(struct span name, struct span text,
                          struct arena *arena, struct template_param *ret_param,
                          struct err *err);
/* Checks a value. ERR_DATA: a sentence that names the parameter. */
bool template_param_check(const struct template_param *param, struct span value,
                          struct err *err);
/* What goes into the command for a valid value: for a bool yes or no, else the
 * value. */
struct span template_param_word(const struct template_param *param,
                                struct span value);
/* Everything that a form needs, as an object. */
void template_param_json(struct json *json, const struct template_param *param);

#endif
