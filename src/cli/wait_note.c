#include "cli/wait_note.h"

#include <string.h>

#include "cli/call_connect.h"
#include "cli/console.h"

void wait_note_print(struct client *client, const char *id, bool ended,
                     struct arena *arena) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    if (!client_get(client, &reply, NULL, "/api/v1/jobs/%s/why",
                    client_word(arena, id)))
        return;
    struct span rest = text_span(&reply), line;
    while (span_cut(&rest, '\n', &line) && line.len > 0) {
        const char *kind = call_line_text(line, "kind", arena);
        if (strcmp(kind, "role") == 0 || (ended && strcmp(kind, "ended") == 0))
            console_note("pointsman: %s: %s", id,
                         call_line_printable(line, "text", arena));
    }
}
