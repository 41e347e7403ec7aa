/* Rows for people: columns as wide as they need to be, the last one cut where
 * the terminal ends. Not for programs: those get JSON. */
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

/* `titles`: one a column. */
void table_init(struct table *table, const char *const *titles, size_t columns);
/* Copied; control bytes become visible. */
void table_cell(struct table *table, const char *text,
                enum console_colour colour);
/* Prints it, newest row first when `reversed`, and frees all. Nothing at all
 * when there are no rows. */
void table_print(struct table *table, bool reversed);

#endif
