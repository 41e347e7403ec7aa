/* Rows for people: columns as wide as necessary, the last one cut at the
 * edge of the terminal. Programs get JSON instead. */
#ifndef POINTSMAN_CLI_TABLE_H
#define POINTSMAN_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/console.h"

enum { TABLE_COLUMNS = 20 };

struct table {
    size_t columns;
    char **cells; /* rows x columns */
    enum console_colour *colours;
    size_t count, cap; /* cells */
};

/* `titles`: one per column. */
void table_init(struct table *table, const char *const *titles, size_t columns);
/* The text is copied; control bytes become visible. */
void table_cell(struct table *table, const char *text,
                enum console_colour colour);
/* Prints the table, newest row first if `reversed`, and frees it. Prints
 * nothing at all if there are no rows. */
void table_print(struct table *table, bool reversed);

#endif
