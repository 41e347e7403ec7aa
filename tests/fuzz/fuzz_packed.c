/* Opens any file as a packed output and reads it at a few offsets. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/packed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char block[4096];
    struct packed *packed;
    struct err err;
    int fd = memfd_create("packed", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, data, size) == (ssize_t)size &&
        packed_open(fd, &packed, &err)) {
        uint64_t bytes = packed_bytes(packed);
        const uint64_t places[] = {0, 1, bytes / 2, bytes, UINT64_MAX};
        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
            if (packed_read(packed, places[i], block, sizeof block) >
                (ssize_t)sizeof block)
                abort();
        packed_close(packed);
    }
    close(fd);
    return 0;
}
