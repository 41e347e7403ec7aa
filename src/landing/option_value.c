#include "landing/option_value.h"

#include <string.h>

#include "lib/text.h"

bool option_wrong(const char *name, const char *value, struct err *err) {
    return err_set(err, ERR_USAGE, "wrong value '%s' for --%s", value, name);
}

bool option_instant(const char *name, const char *value, struct wall *ret_at,
                    struct err *err) {
    return span_i64(span_of(value), &ret_at->ns) ||
           option_wrong(name, value, err);
}

bool option_seconds(const char *name, const char *value, int64_t *ret_s,
                    struct err *err) {
    return (span_i64(span_of(value), ret_s) && *ret_s >= 0) ||
           option_wrong(name, value, err);
}

bool option_allowed(const char *name, const char *value, bool *ret_allowed,
                    struct err *err) {
    *ret_allowed = strcmp(value, "allow") == 0;
    return *ret_allowed || strcmp(value, "deny") == 0 ||
           option_wrong(name, value, err);
}
