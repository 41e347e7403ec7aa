#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/call_connect.h"
#include "cli/console.h"
#include "os/dir.h"
#include "os/fd.h"
#include "landing/child.h"
#include "landing/pack.h"

enum { STATUS_BYTES = 16 << 20 }; /* of the output of `git status` */

extern char **environ;

static const char *const *all_given(struct call *call, const char *option,
                                    size_t *ret_count) {
    const char **values =
        arena_alloc(&call->arena, call->given_count * sizeof *values);
    size_t cursor = 0;
    const char *value;

    *ret_count = 0;
    while ((value = call_next(call, option, &cursor)) != NULL)
        values[(*ret_count)++] = value;
    return values;
}

static bool options_of_call(struct call *call, struct pack_options *ret_order,
                            struct err *err) {
    if (!call_operands(call, 1, 1, err))
        return false;
    *ret_order = (struct pack_options){
        .source = call->words[0],
        .repo = call_value(call, "repo"),
        .target = call_value(call, "target"),
        .class = call_value(call, "class"),
        .id = call_value(call, "id"),
        .base_rev = call_value(call, "base-rev"),
        .base_set = call_value(call, "base-set"),
        .supersedes = call_value(call, "supersedes"),
        .group = call_value(call, "group"),
        .author = call_value(call, "author"),
        .message = call_value(call, "message"),
        .output = call_value(call, "output"),
    };
    ret_order->depends = all_given(call, "depends", &ret_order->depends_count);
    ret_order->deletes = all_given(call, "delete", &ret_order->deletes_count);
    if (call_has(call, "submit") && ret_order->output != NULL)
        return err_set(err, ERR_USAGE, "give --output or --submit, not both");
    return true;
}

/* The packed sets, in the order in which they land. */
struct packed {
    struct pack_result *sets;
    size_t count;
};

static bool pack_sets(struct call *call, const struct pack_options *options,
                      struct packed *ret_packed, struct err *err) {
    if (call_has(call, "stack"))
        return pack_stack_write(options, &ret_packed->sets, &ret_packed->count,
                                err);
    ret_packed->sets = mem_grow(NULL, 1, sizeof *ret_packed->sets);
    ret_packed->count = 1;
    return pack_write(options, ret_packed->sets, err);
}

static bool submit_one(struct client *client, const struct pack_result *packed,
                       struct err *err) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    CLEANUP(fd_close) int fd = open(packed->path, O_RDONLY | O_CLOEXEC);
    struct call_uri uri;
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", packed->path);
    call_uri_begin(&uri, "/api/v1/changes");
    call_uri_add(&uri, "name", packed->name);
    bool ok = client_send_file(client, text_string(&uri.text), fd, &reply, err);
    text_clear(&uri.text);
    return ok;
}

static void set_note(const struct pack_result *packed) {
    console_note("set %s: %zu file%s, %zu deleted", packed->id, packed->files,
                 packed->files == 1 ? "" : "s", packed->deleted);
}

/* Packs into a temporary directory, under the sets' names, and submits them
 * from there. If one of a stack is refused, those below it stay submitted. */
static bool pack_and_submit(struct call *call, struct pack_options *options,
                            struct packed *packed, struct err *err) {
    const char *tmp = getenv("TMPDIR");
    char *dir = arena_printf(&call->arena, "%s/pointsman-XXXXXX",
                             tmp == NULL || tmp[0] == '\0' ? "/tmp" : tmp);
    struct client *client = NULL;

    if (!call_client(call, &client, err))
        return false;
    if (mkdtemp(dir) == NULL) {
        client_close(client);
        return err_errno(err, errno, "cannot create a directory like '%s'",
                         dir);
    }
    options->output = dir;
    bool ok = pack_sets(call, options, packed, err);
    for (size_t i = 0; ok && i < packed->count; i++) {
        ok = submit_one(client, &packed->sets[i], err);
        if (ok) {
            (void)console_printf("%s\n", packed->sets[i].id);
            set_note(&packed->sets[i]);
        } else if (packed->count > 1)
            err_wrap(err, "set '%s'", packed->sets[i].id);
    }
    for (size_t i = 0; i < packed->count; i++)
        if (packed->sets[i].path != NULL)
            (void)unlink(packed->sets[i].path);
    (void)rmdir(dir);
    client_close(client);
    return ok;
}

static bool pack_and_print(struct call *call,
                           const struct pack_options *options,
                           struct packed *packed, struct err *err) {
    if (!pack_sets(call, options, packed, err))
        return false;
    for (size_t i = 0; i < packed->count; i++) {
        if (packed->sets[i].path != NULL)
            (void)console_printf("%s\n", packed->sets[i].path);
        set_note(&packed->sets[i]);
    }
    return true;
}

/* Counts the lines of `git status`; 0 also if git does not answer. */
static size_t uncommitted_count(const char *repo) {
    const char *const argv[] = {
        "git", "-C", repo == NULL ? "." : repo, "status", "--porcelain", NULL};
    CLEANUP(fd_close) int out = memfd_create("status", MFD_CLOEXEC);
    CLEANUP(fd_close) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    CLEANUP(text_clear) struct text lines = TEXT_INIT;
    struct child child = {.argv = argv,
                          .envp = environ,
                          .in = null,
                          .out = out,
                          .err = null,
                          .status = -1,
                          .progress = -1};
    struct err err;
    pid_t pid;
    size_t count = 0;
    if (out < 0 || null < 0 || !child_start(&child, &pid, &err))
        return 0;
    struct child_end end = child_wait(pid, NULL, 0, 0);
    if (end.how != CHILD_EXITED || end.code != 0 ||
        lseek(out, 0, SEEK_SET) < 0 ||
        !dir_read_file(out, STATUS_BYTES, &lines, &err))
        return 0;
    for (size_t i = 0; i < lines.len; i++)
        count += lines.p[i] == '\n';
    return count;
}

/* A range has only what was committed. */
static void note_uncommitted(const struct pack_options *options) {
    struct stat st;
    if (stat(options->source, &st) == 0 && S_ISDIR(st.st_mode))
        return;
    size_t count = uncommitted_count(options->repo);
    if (count > 0)
        console_note("%zu path%s with uncommitted changes %s not packed", count,
                     count == 1 ? "" : "s", count == 1 ? "is" : "are");
}

int cmd_change_pack(struct call *call) {
    struct pack_options options;
    struct packed packed = {0};
    struct err err = {0};

    if (!options_of_call(call, &options, &err))
        return console_error(&err);
    bool ok = call_has(call, "submit")
                  ? pack_and_submit(call, &options, &packed, &err)
                  : pack_and_print(call, &options, &packed, &err);
    pack_stack_free(packed.sets, packed.count);
    if (ok)
        note_uncommitted(&options);
    return ok ? console_finish(0) : console_error(&err);
}
