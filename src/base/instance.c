#include "base/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/dir.h"
#include "os/sum.h"
#include "wire/set_name.h"

/* If two processes make it at once, one of the two files wins. */
bool instance_make(int tmp, int ctrl, struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    uint64_t seeds[2] = {clock_seed(), clock_seed()};
    char fresh[256], id[ID_TEXT_BYTES];
    unsigned char ten[10];
    enum dir_moved moved;
    memcpy(ten, seeds, sizeof(ten));
    sum_format_id(ten, id);
    dir_fresh_name(SPAN(INSTANCE_FILE), fresh);
    if (!dir_open_file(tmp, fresh, O_WRONLY | O_CREAT | O_EXCL, 0400, &fd,
                       err) ||
        !dir_write_file(fd, span_of(id), err) ||
        !dir_write_file(fd, SPAN("\n"), err))
        return err_wrap(err, "cannot write the name of the base");
    if (disk->fchmod(fd, 0400) < 0 || disk->fsync(fd) < 0)
        return err_errno(err, errno, "cannot write the name of the base");
    return dir_move(tmp, fresh, ctrl, INSTANCE_FILE, DIR_DURABLE, &moved,
                    err) &&
           (moved != DIR_EXISTS || dir_remove(tmp, fresh, NULL, err));
}

bool instance_read(const struct base *base, struct arena *arena,
                   struct span *ret_instance, struct err *err) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    int ctrl = base->dirs[BASE_CTRL];
    struct err why = {0};
    if (!dir_read(ctrl, INSTANCE_FILE, 128, &text, &why)) {
        if (why.sys != ENOENT)
            return err_set(err, why.kind, "%s", why.text);
        if (!instance_make(base->dirs[BASE_TMP], ctrl, err) ||
            !dir_read(ctrl, INSTANCE_FILE, 128, &text, err))
            return false;
    }
    *ret_instance = arena_span(arena, span_trim(text_span(&text)));
    return set_csid_is_valid(*ret_instance) ||
           err_set(err, ERR_DATA,
                   "'ctrl/" INSTANCE_FILE
                   "' of the base does not contain its name");
}
