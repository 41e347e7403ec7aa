#include "http/mhd.h"

#include "lib/library.h"

struct mhd mhd;

bool mhd_load(struct err *err) {
    static const char *const names[] = {
#define CALL(name) "MHD_" #name,
        MHD_CALLS(CALL)
#undef CALL
    };
    static bool loaded;
    if (!loaded)
        loaded = library_load("libmicrohttpd.so.12", "libmicrohttpd12", names,
                              COUNT(names), &mhd, err);
    return loaded;
}
