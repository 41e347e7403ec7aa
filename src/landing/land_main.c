#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "landing/land_serve.h"
#include "landing/land_session.h"
#include "landing/land_start.h"

static bool attempt(enum land_verb verb, struct land_input *input,
                    struct child_stop *stop, struct land_status *ret_status,
                    struct err *err) {
    struct span text = text_span(&input->text);
    struct land_start landing;
    struct revert_start revert;
    if (verb == LAND_SETS) {
        if (!land_start_parse(text, input->dir, &input->arena, &landing, err))
            return false;
        struct land_session session = {0};
        land_run(&landing, &session, stop, ret_status);
        land_session_clear(&session);
        return true;
    }
    if (!land_start_parse_revert(text, input->dir, &input->arena, &revert, err))
        return false;
    revert_run(&revert, stop, ret_status);
    return true;
}

static bool is_socket(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

int land_main(enum land_verb verb, const char *work) {
    struct land_input input;
    struct err err = {0};
    struct child_stop stop;
    struct land_status status;
    if (verb == LAND_SETS && work != NULL && is_socket(STDIN_FILENO))
        return land_serve(STDIN_FILENO, work);
    int fd = land_status_descriptor();
    child_stop_init(&stop);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!land_input_read(STDIN_FILENO, &input, &err) ||
        !attempt(verb, &input, &stop, &status, &err))
        land_status_set(&status, LAND_PERMANENT, "", span_of(err.text));
    land_input_clear(&input);
    land_status_send(fd, &status);
    return land_status_exit(&status, &stop);
}
