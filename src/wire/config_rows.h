/* The table of keys from the inside: what reading and showing share. */
#ifndef POINTSMAN_WIRE_CONFIG_ROWS_H
#define POINTSMAN_WIRE_CONFIG_ROWS_H

#include "wire/config.h"

enum config_section {
    SECTION_QUEUE,
    SECTION_TARGET,
    SECTION_SCHEDULE,
    SECTION_APPROVAL,
    SECTION_SERVE,
    SECTIONS
};
extern const char *const config_section_names[SECTIONS];

enum config_kind {
    KIND_INT,
    KIND_SECONDS,
    KIND_OFF_SECONDS,
    KIND_BYTES,
    KIND_CHOICE,
    KIND_TEXT,
    KIND_COMMAND
};

/* One key: where its value lies in the struct of its section, how it is
 * read. */
struct config_row {
    enum config_section section;
    const char *key;
    enum config_kind kind;
    size_t place;
    const char *usual;
    int64_t least, most;
    const char *choices, *meaning;
};
extern const struct config_row config_rows[CONFIG_KEYS];

/* Is the word one of the list? */
bool config_word_among(struct span word, const char *const *list, size_t count);

#endif
