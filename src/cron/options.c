#include "cron/options.h"

#include <string.h>

int cron_version(void) {
    return CRON_VERSION_NUMBER;
}

bool options_take(void *ours, size_t our_size, const void *options, size_t size,
                  struct cron_err *err) {
    const unsigned char *bytes = options;

    if (size < sizeof(size_t))
        return fault_set(err, CRON_ERR_OPTION,
                         "the size of the options is not set; write .size = "
                         "sizeof(options)");
    for (size_t i = our_size; i < size; i++)
        if (bytes[i] != 0)
            return fault_set(err, CRON_ERR_OPTION,
                             "an option is set that version " CRON_VERSION
                             " of the library does not know");
    memcpy(ours, options, size < our_size ? size : our_size);
    return true;
}
