#include "lib/library.h"

#include <dlfcn.h>
#include <string.h>

static bool fail(const char *file, const char *package, struct err *err) {
    const char *why = dlerror();
    return err_set(err, ERR_UNAVAILABLE,
                   "cannot load library '%s': %s; install package %s", file,
                   why ? why : "it is a different library", package);
}

bool library_load(const char *file, const char *package,
                  const char *const *names, size_t count, void *ret_calls,
                  struct err *err) {
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return fail(file, package, err);
    for (size_t i = 0; i < count; i++) {
        void *call = dlsym(library, names[i]);
        if (!call)
            return fail(file, package, err);
        memcpy((char *)ret_calls + i * sizeof(call), &call, sizeof(call));
    }
    return true;
}
