/* The sections of pointsman.conf as rows. A section is a struct config_section
 * with its keys below it; reading, showing and documenting use only the rows.
 *
 * The sections that several modules read are rows of this module, and struct
 * config has a member for each. A capability declares its own section: its keys
 * (config_NAME.def), its struct and its row lie beside the capability, the
 * program hands the row to config_sections_use, and the capability finds its
 * struct with config_added. */
#ifndef POINTSMAN_WIRE_CONFIG_SECTION_H
#define POINTSMAN_WIRE_CONFIG_SECTION_H

#include "lib/attr.h"
#include "wire/config.h"

enum config_kind {
    KIND_INT,
    KIND_SECONDS,
    KIND_OFF_SECONDS,
    KIND_BYTES,
    KIND_CHOICE,
    KIND_TEXT,
    KIND_COMMAND,
    KIND_LIST
};

/* The place where a value is set, for errors. */
struct config_spot {
    const char *file;
    unsigned line;
    struct err *err;
};

/* A key: where its value and origin lie in the struct of its section, and how
 * the value is read. */
struct config_key {
    const char *name;
    enum config_kind kind;
    size_t value_at, origin_at;
    const char *usual; /* the default, as written in a file */
    int64_t least, most;
    const char *choices, *meaning;
};
#define CONFIG_ROW(type, key, kind, field, usual, least, most, choices, \
                   meaning)                                             \
    {                                                                   \
        (key), KIND_##kind, offsetof(type, field),                      \
            offsetof(type, field##_origin), (usual), (least), (most),   \
            (choices), (meaning)                                        \
    }

/* Keys that consist of a fixed prefix and a name chosen by the user. */
struct config_free_key {
    const char *prefix;       /* "check." */
    const char *name, *value; /* for the manual: "check.NAME", "COMMAND" */
    const char *meaning;
    bool (*set)(struct config *config, void *section, struct span key,
                struct span value, const struct config_spot *spot);
    /* Returns entry `index` of those set; false: there are no more. */
    bool (*entry)(struct config *config, const void *section, size_t index,
                  struct config_entry *ret_entry);
};

struct config_section {
    const char *name; /* "target" */
    const struct config_key *keys;
    size_t key_count;
    size_t bytes; /* size of its struct */

    /* For sections with a label: [target "main"]. Their structs begin with
     * struct span name; check_label NULL: the section takes no label. */
    bool (*check_label)(struct span label, const struct config_spot *spot);
    bool is_unique;   /* a second section line with the same label is refused */
    size_t origin_at; /* offset in the struct of its first section line */

    /* Each may be NULL. */
    bool (*check_value)(const struct config_key *key, struct span value,
                        const struct config_spot *spot);
    const struct config_free_key *free_key;
    const char *const *later; /* keys of later versions; ends with NULL */
    bool (*finish)(const struct config *config, const void *section,
                   struct err *err);
    void (*clear)(void *section);

    /* For the sections of this module: offsets in struct config of the struct,
     * or of the pointer to its array and of the number of its items. */
    size_t at, count_at;
};

extern const struct config_section config_queue_section, config_serve_section,
    config_target_section, config_access_section;

/* Adds the sections of capabilities. Call it once, before a configuration is
 * read; the array stays the caller's and must outlive all configurations. */
void config_sections_use(const struct config_section *const *rows,
                         size_t count);
/* All sections, in the order in which they are shown; NULL: no more. */
const struct config_section *config_section_at(size_t index);

/* Item `index` of that section; NULL: there are no more. */
void *config_section_item(struct config *config,
                          const struct config_section *section, size_t index);
/* The value of a key as written in a file. */
struct span config_value_format(struct arena *arena,
                                const struct config_key *key,
                                const void *section);

/* For reading sections: sets ERR_CONFIG with file and line; splits a command.
 */
bool config_refuse(const struct config_spot *spot, const char *format, ...)
    PRINTF_LIKE(2, 3);
bool config_command_read(struct config *config, struct span value,
                         struct config_command *ret, const char *key,
                         const struct config_spot *spot);
/* Appends the items of `value`, a line of a list; an empty value clears it. */
bool config_list_read(struct config *config, struct span value,
                      struct config_list *list, const char *key,
                      const struct config_spot *spot);
/* Likewise, for two targets that are the same branch. */
bool config_target_refuse_twin(const struct config_spot *spot,
                               const struct config_target *one,
                               const struct config_target *other,
                               struct span branch);
/* The place where a key is set, or where the section begins if it is not set.
 */
struct config_spot config_spot_of(struct config_origin key,
                                  struct config_origin section,
                                  struct err *err);

#endif
