/* Headers of a tarball before libarchive sees them: whatever they contain,
 * they are scanned within their bounds, and a NUL that was found stays found
 * when more of the stream follows. */
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
