#include "cli/table.h"

#include <stdlib.h>
#include <unistd.h>

#include "os/terminal.h"

/* Code points below this take one column each, those of East Asian scripts
 * and pictures two; combining marks none. Enough for aligning a table. */
static unsigned columns_of(uint32_t point) {
    if (point >= 0x300 && point < 0x370)
        return 0;
    if ((point >= 0x1100 && point < 0x1160) ||
        (point >= 0x2e80 && point < 0xa4d0) ||
        (point >= 0xac00 && point < 0xd7a4) ||
        (point >= 0xf900 && point < 0xfb00) ||
        (point >= 0xfe30 && point < 0xfe70) ||
        (point >= 0xff00 && point < 0xff61) ||
        (point >= 0x1f300 && point < 0x1f650) || point >= 0x20000)
        return 2;
    return 1;
}

/* One character of valid UTF-8. */
static size_t point_of(const char *text, uint32_t *ret_point) {
    const unsigned char *byte = (const unsigned char *)text;
    size_t len = byte[0] < 0x80   ? 1
                 : byte[0] < 0xe0 ? 2
                 : byte[0] < 0xf0 ? 3
                                  : 4;
    uint32_t point = len == 1 ? byte[0] : byte[0] & (0xffu >> (len + 1));

    for (size_t i = 1; i < len; i++) {
        if ((byte[i] & 0xc0) != 0x80) {
            len = i;
            break;
        }
        point = point << 6 | (byte[i] & 0x3f);
    }
    *ret_point = point;
    return len;
}

/* Columns that the text takes on a terminal. */
static size_t text_columns(const char *text) {
    size_t columns = 0;
    uint32_t point;

    while (*text != '\0') {
        text += point_of(text, &point);
        columns += columns_of(point);
    }
    return columns;
}

void table_init(struct table *table, const char *const *titles,
                size_t columns) {
    *table = (struct table){.columns = columns};
    for (size_t i = 0; i < columns; i++)
        table_cell(table, titles[i], CONSOLE_DIM);
}

void table_cell(struct table *table, const char *text,
                enum console_colour colour) {
    struct text cell = TEXT_INIT;

    if (table->count == table->cap) {
        table->cap = table->cap == 0 ? 64 : table->cap * 2;
        table->cells = mem_grow(table->cells, table->cap, sizeof(char *));
        table->colours =
            mem_grow(table->colours, table->cap, sizeof *table->colours);
    }
    text_add_printable(&cell, span_of(text));
    table->colours[table->count] = colour;
    table->cells[table->count++] = text_take(&cell);
}

/* As much of the text as fits, with "…" where it was cut. */
static void print_cut(const char *text, size_t room) {
    size_t columns = 0;
    const char *end = text;
    uint32_t point;

    if (text_columns(text) <= room) {
        (void)console_write(span_of(text));
        return;
    }
    while (*end != '\0') {
        size_t len = point_of(end, &point);
        if (columns + columns_of(point) + 1 > room)
            break;
        columns += columns_of(point);
        end += len;
    }
    (void)console_write(span_make(text, (size_t)(end - text)));
    (void)console_printf("…");
}

static void print_row(const struct table *table, size_t row,
                      const size_t widths[TABLE_COLUMNS], size_t room) {
    size_t used = 0;

    for (size_t i = 0; i < table->columns; i++) {
        const char *cell = table->cells[row * table->columns + i];
        enum console_colour colour = table->colours[row * table->columns + i];
        bool last = i + 1 == table->columns;
        if (colour != CONSOLE_PLAIN)
            (void)console_printf("%s", console_colour(colour));
        if (last && room > 0)
            print_cut(cell, room > used + 10 ? room - used : 10);
        else
            (void)console_printf("%s", cell);
        if (colour != CONSOLE_PLAIN)
            (void)console_printf("%s", console_colour(CONSOLE_PLAIN));
        if (!last)
            (void)console_printf("%*s",
                                 (int)(widths[i] - text_columns(cell) + 2), "");
        used += widths[i] + 2;
    }
    (void)console_printf("\n");
}

void table_print(struct table *table, bool reversed) {
    size_t widths[TABLE_COLUMNS] = {0};
    size_t rows = table->count / table->columns;
    size_t room =
        terminal_is(STDOUT_FILENO) ? terminal_width(STDOUT_FILENO) : 0;

    for (size_t i = 0; i < table->count; i++) {
        size_t width = text_columns(table->cells[i]);
        if (width > widths[i % table->columns])
            widths[i % table->columns] = width;
    }
    if (rows > 1)
        print_row(table, 0, widths, room);
    for (size_t i = 1; i < rows; i++)
        print_row(table, reversed ? rows - i : i, widths, room);
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    free(table->colours);
    *table = (struct table){0};
}
