/* Reads a backup file and compares it with its manifest, without unpacking. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/fd.h"
#include "maintenance/backup_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    CLEANUP(fd_close) int fd = memfd_create("backup", MFD_CLOEXEC);
    struct backup_report report = {0};
    struct err err = {0};
    assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    assert(lseek(fd, 0, SEEK_SET) == 0);
    if (backup_read(fd, -1, NULL, &report, &err))
        assert(report.bytes <= size);
    else
        assert(err.kind == ERR_DATA && err.text[0]);
    return 0;
}
