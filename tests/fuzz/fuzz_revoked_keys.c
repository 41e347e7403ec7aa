/* Lists of revoked keys: every key lies in the list, and reading ends. */
#include <assert.h>

#include "wire/revoked_keys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct revoked_keys keys = {.rest = span_make(data, bytes)};
    const char *begin = keys.rest.p, *end = begin + bytes;
    struct revoked_key key;
    size_t count = 0;
    while (revoked_keys_next(&keys, &key)) {
        assert(key.bytes.p >= begin && key.bytes.p + key.bytes.len <= end);
        assert(key.how != REVOKED_SHA256 || key.bytes.len == 32);
        assert(++count <= bytes);
    }
    assert(!revoked_keys_next(&keys, &key));
    return 0;
}
