/* libmicrohttpd, loaded when a server starts: mhd.run is MHD_run. */
#ifndef POINTSMAN_HTTP_MHD_H
#define POINTSMAN_HTTP_MHD_H

#include <microhttpd.h>
#include <stdbool.h>

#include "lib/err.h"

#define MHD_CALLS(CALL)                 \
    CALL(add_response_header)           \
    CALL(create_response_from_buffer)   \
    CALL(create_response_from_callback) \
    CALL(destroy_response)              \
    CALL(get_connection_info)           \
    CALL(get_daemon_info)               \
    CALL(get_timeout)                   \
    CALL(lookup_connection_value)       \
    CALL(queue_response)                \
    CALL(quiesce_daemon)                \
    CALL(resume_connection)             \
    CALL(run)                           \
    CALL(start_daemon)                  \
    CALL(stop_daemon)                   \
    CALL(suspend_connection)

struct mhd {
#define CALL(name) __typeof__(MHD_##name) *name;
    MHD_CALLS(CALL)
#undef CALL
};

extern struct mhd mhd;

/* To be called before the first use; further calls do nothing. */
bool mhd_load(struct err *err);

#endif
