#include "landing/land_work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text.h"
#include "os/dir.h"
#include "os/fd.h"

bool land_work_open(struct land_work *work, const char *path, struct err *err) {
    const char *slash = strrchr(path, '/');
    *work = (struct land_work){.name = slash != NULL ? slash + 1 : path};
    work->parent = slash == NULL   ? mem_string(".")
                   : slash == path ? mem_string("/")
                                   : mem_copy(path, (size_t)(slash - path));
    work->parent_fd = open(work->parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (work->parent_fd < 0)
        return err_errno(err, errno, "cannot open '%s'", work->parent);
    return dir_remove_tree(work->parent_fd, work->name, err) &&
           dir_make(work->parent_fd, work->name, 0700, err);
}

void land_work_close(struct land_work *work) {
    struct err err = {0};
    if (work->name != NULL && work->parent_fd >= 0 &&
        !dir_remove_tree(work->parent_fd, work->name, &err))
        printf("%s\n", err.text);
    if (work->name != NULL)
        fd_close(&work->parent_fd);
    free(work->parent);
    *work = (struct land_work){0};
}
