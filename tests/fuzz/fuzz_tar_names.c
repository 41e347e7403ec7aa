/* Headers of a tarball, scanned before libarchive reads them: the scan stays
 * within its bounds, and a NUL found in the beginning of the stream is also
 * found in the whole stream. */
#include <assert.h>

#include "wire/tar_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct span blocks = span_make(data, bytes);
    for (size_t cut = 0; cut <= bytes; cut += 512)
        if (tar_names_hold_nul(span_make(data, cut)))
            assert(tar_names_hold_nul(blocks));
    return 0;
}
