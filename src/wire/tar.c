#include "wire/tar.h"

#include "base/library.h"

struct tar tar;

bool tar_load(struct err *err) {
    static const char *const names[] = {
#define CALL(name) "archive_" #name,
        TAR_CALLS(CALL)
#undef CALL
            "archive_errno",
    };
    static bool loaded;
    if (!loaded)
        loaded = library_load("libarchive.so.13", "libarchive13", names,
                              COUNT(names), &tar, err);
    return loaded;
}
