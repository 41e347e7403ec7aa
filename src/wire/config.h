/* pointsman.conf and conf.d: strict INI with a table of sections, each with its
 * keys (config_section.h).
 *
 *     config_init -> config_read for each file in order -> config_finish
 *
 * If a key is set twice, the last one wins, except that lists grow; each key
 * remembers where it was set. Errors are ERR_CONFIG, "FILE:LINE: ..." with a
 * suggestion if there is one. Values are kept as written: paths are relative to
 * the base, which the caller resolves. */
#ifndef POINTSMAN_WIRE_CONFIG_H
#define POINTSMAN_WIRE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/err.h"
#include "lib/map.h"
#include "lib/text.h"
#include "wire/set_tar.h"

/* The number of a choice of no|yes|off|on|false|true. */
static inline bool config_is_yes(int64_t choice) {
    return choice % 2 == 1;
}

/* Numbers of the choices, in the order of the keys' rows. */
enum config_closure { CLOSURE_DEPS, CLOSURE_DEPS_FILES };
enum config_blind { BLIND_UNCHANGED, BLIND_DENY, BLIND_ALLOW };
enum config_symlinks { SYMLINKS_DENY, SYMLINKS_ALLOW };

/* A command line split into words; count 0: not set. */
struct config_command {
    struct span text;
    char **words; /* NULL at the end */
    size_t count;
};

/* Items separated by commas. An item with a comma is written in double quotes,
 * in which \" and \\ stand for a quote and a backslash. */
struct config_list {
    struct span text; /* as written in a file; lines joined by ", " */
    struct config_list_item {
        struct span text;
        bool is_quoted;
    } * items;
    size_t count;
};

#define CONFIG_C_INT int64_t
#define CONFIG_C_SECONDS int64_t
#define CONFIG_C_OFF_SECONDS int64_t /* 0: off */
#define CONFIG_C_BYTES int64_t
#define CONFIG_C_CHOICE int64_t
#define CONFIG_C_TEXT struct span
#define CONFIG_C_COMMAND struct config_command
#define CONFIG_C_LIST struct config_list

struct config_origin {
    const char *file; /* NULL: the default */
    unsigned line;
};

/* The struct of a section has for each of its keys a field and the place where
 * the key was set. */
#define CONFIG_FIELD(kind, field) \
    CONFIG_C_##kind field;        \
    struct config_origin field##_origin;

struct config_queue {
#define CONFIG_KEY(key, kind, field, ...) CONFIG_FIELD(kind, field)
#include "wire/config_queue.def"
};

struct config_serve {
#define CONFIG_KEY(key, kind, field, ...) CONFIG_FIELD(kind, field)
#include "wire/config_serve.def"
};

struct config_access {
#define CONFIG_KEY(key, kind, field, ...) CONFIG_FIELD(kind, field)
#include "wire/config_access.def"
};

/* check.NAME = COMMAND */
struct config_check {
    struct span name;
    struct config_command command;
    struct config_origin origin;
};

struct config_target {
    struct span name;
    struct config_origin origin; /* its first section line */
    struct config_check *checks; /* in the order of the files */
    size_t check_count;
#define CONFIG_KEY(key, kind, field, ...) CONFIG_FIELD(kind, field)
#include "wire/config_target.def"
};

/* The structs of a section that the program has added (config_section.h). */
struct config_items {
    const struct config_section *section;
    char *items;
    size_t count;
};

enum { CONFIG_ADDED_MOST = 16 };

struct config {
    struct config_queue queue;
    struct config_serve serve;
    struct config_access access;
    struct config_target *targets; /* in the order of the files */
    size_t target_count;
    struct config_items added[CONFIG_ADDED_MOST];
    struct map labels;  /* "SECTION LABEL" -> the index of the item, + 1 */
    struct arena arena; /* owns all of it */
};

void config_init(struct config *config); /* sets the defaults */
void config_clear(struct config *config);

/* From now on an error does not end the reading of any configuration: it is a
 * line in `errors`, and config_finish fails with the first one. NULL: as before.
 */
void config_collect(struct text *errors);
/* Merges one file; copies the values that it keeps. */
bool config_read(struct config *config, struct span text, const char *file,
                 struct err *err);
/* Sets one key as a file would; `label` is empty except for sections with a
 * label. `file` and `line` are recorded as its origin. */
bool config_set(struct config *config, struct span section, struct span label,
                struct span key, struct span value, const char *file,
                unsigned line, struct err *err);
/* Checks rules that involve several keys: a target has exactly one of git and
 * command, and checks and revert only if they apply. */
bool config_finish(struct config *config, struct err *err);

/* The struct of a section that a capability has added: that of its only item,
 * or for a section with labels item `index`. NULL: there are no more, or the
 * program does not use the section, so that no file can have set it. */
const void *config_added(const struct config *config,
                         const struct config_section *section, size_t index);
/* The same by its label; NULL: there is none. */
const void *config_added_find(const struct config *config,
                              const struct config_section *section,
                              struct span label);
/* NULL: no such target. */
const struct config_target *config_target(const struct config *config,
                                          struct span name);
/* Takes the next name off the value of a role in [access]: an account, "@GROUP"
 * or "*". False: there are no more. */
bool config_access_next(struct span *rest, struct span *ret_name);
/* The classes of `interrupt`, as bits of 1 << class. */
unsigned config_target_interrupt(const struct config_target *target);
/* Limits for the tarballs of `target` (NULL: symlinks denied). */
struct set_limits config_set_limits(const struct config *config,
                                    const struct config_target *target);

/* Returns every key with value and origin, in order. *cursor starts at 0; false
 * at the end. Spans live as long as the config. */
struct config_entry {
    const char *section; /* "queue" */
    struct span label;   /* of a target or schedule, else empty */
    struct span key;
    struct span value; /* as written in a file */
    struct config_origin origin;
    const char *meaning;
    bool is_command; /* the value is a command line (wire/words.h) */
};
/* A place in the listing; {0} is its beginning. */
struct config_cursor {
    size_t section, item, key;
};
/* The entry at the cursor, which moves on. False: there are no more. */
bool config_next(struct config *config, struct config_cursor *cursor,
                 struct config_entry *ret_entry);
/* The output of `config check`: sections, keys, values, "default" or FILE:LINE.
 */
void config_format(struct config *config, struct text *out);
/* Appends a [target] section that config_read accepts, with every key that
 * applies to its kind (git or command) uncommented. For `init`. */
void config_target_write(struct config *config,
                         const struct config_target *target, struct text *out);

/* Converts values of enum config_blind to words such as "unchanged", and back.
 */
struct span config_blind_word(enum config_blind blind);
bool config_blind_parse(struct span word, enum config_blind *ret_blind);

#endif
