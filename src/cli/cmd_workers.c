/* Workers: workers. */
#include "cli/commands.h"
#include "cli/call_connect.h"
#include "cli/console.h"
#include "cli/table.h"

#include <inttypes.h>
#include <string.h>

static struct table table;

static void number_cell(struct span line, const char *key,
                        struct arena *arena) {
    table_cell(&table,
               arena_printf(arena, "%" PRId64, call_line_number(line, key)),
               CONSOLE_PLAIN);
}

static void show_worker(struct span line, struct arena *arena) {
    const char *state = call_line_text(line, "state", arena);
    bool is_fit = strcmp(state, "healthy") == 0;
    struct json_value slots;

    table_cell(&table, call_line_text(line, "worker", arena), CONSOLE_PLAIN);
    table_cell(&table, state, is_fit ? CONSOLE_PLAIN : CONSOLE_WARM);
    if (json_find(line, "slots", &slots) && slots.type == JSON_NUMBER)
        number_cell(line, "slots", arena);
    else
        table_cell(&table, "", CONSOLE_PLAIN);
    number_cell(line, "assigned", arena);
    number_cell(line, "awaited", arena);
}

int cmd_workers(struct call *call) {
    static const char *const titles[] = {"WORKER", "STATE", "SLOTS", "ASSIGNED",
                                         "AWAITED"};
    return call_show_table(call, "/api/v1/workers", &table, titles,
                           COUNT(titles), show_worker);
}
