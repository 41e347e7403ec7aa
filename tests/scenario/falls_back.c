/* A program that cannot go on in place of a server: as the probe it finds
 * nothing wrong, but then it cannot open the base, or ($FALLS_BACK is listen)
 * its address. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "changes/prequeue.h"
#include "serve/daemon.h"
#include "serve/tables.h"

int main(int argc, char **argv) {
    const char *how = getenv("FALLS_BACK");
    bool listens = how != NULL && strcmp(how, "listen") == 0;
    if (argc > 1 && strcmp(argv[1], "upgrade-probe") == 0)
        return puts("this program can go on") < 0;
    store_nouns_use(serve_nouns, serve_noun_count);
    config_sections_use(serve_sections, serve_section_count);
    prequeue_kinds_use(serve_entry_kinds, serve_entry_kind_count);
    return daemon_run(&(struct daemon_options){
        .base_path = listens ? getenv("POINTSMAN_BASE") : "/nowhere",
        .answers = true,
        .listen = "nonsense"});
}
