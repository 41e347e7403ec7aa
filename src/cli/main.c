#include "cli/call.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/console.h"

#include "changes/prequeue.h"
#include "lib/map.h"
#include "os/clock.h"
#include "serve/tables.h"

/* --help of any command; handled before its other arguments are checked. */
static int show_help(const struct call *call) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;

    if (call->command->run == cmd_help)
        help_overview(call->table, &text);
    else
        help_command(call->table, call->command, &text);
    (void)console_write(text_span(&text));
    return console_finish(0);
}

int main(int argc, char **argv) {
    struct call call;
    struct err err = {0};
    int status;

    /* No map is in use yet: untrusted keys must not be able to collide. */
    map_seed(clock_seed());
    store_nouns_use(serve_nouns, serve_noun_count);
    config_sections_use(serve_sections, serve_section_count);
    prequeue_kinds_use(serve_entry_kinds, serve_entry_kind_count);
    if (!call_parse(&commands, argc, argv, &call, &err))
        status = console_error(&err);
    else if ((call.command->flags & COMMAND_RAW) != 0)
        status = call.command->run(&call);
    else if (!console_init(&call, &err))
        status = console_error(&err);
    else if (call_has(&call, "help"))
        status = show_help(&call);
    else
        status = call.command->run(&call);
    call_clear(&call);
    return status;
}
