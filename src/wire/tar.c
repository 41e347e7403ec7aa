#include "wire/tar.h"

#include "lib/library.h"

struct tar tar;
static locale_t utf8;

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
    if (!utf8)
        utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    return loaded;
}

locale_t tar_utf8(void) {
    return utf8;
}
