#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/call_connect.h"
#include "cli/console.h"
#include "os/fd.h"
#include "landing/pack.h"

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
        .supersedes = call_value(call, "supersedes"),
        .group = call_value(call, "group"),
        .author = call_value(call, "author"),
        .message = call_value(call, "message"),
        .output = call_value(call, "output"),
    };
    ret_order->depends = all_given(call, "depends", &ret_order->depends_count);
    ret_order->deletes = all_given(call, "delete", &ret_order->deletes_count);
    if (ret_order->target == NULL)
        return err_set(err, ERR_USAGE,
                       "--target is missing: the target the set is for");
    if (call_has(call, "submit") && ret_order->output != NULL)
        return err_set(err, ERR_USAGE, "give --output or --submit, not both");
    return true;
}

/* Packs into a temporary directory, under the set's name, and submits it
 * from there. */
static bool pack_and_submit(struct call *call, struct pack_options *options,
                            struct pack_result *ret_packed, struct err *err) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    const char *tmp = getenv("TMPDIR");
    char *dir = arena_printf(&call->arena, "%s/pointsman-XXXXXX",
                             tmp == NULL || tmp[0] == '\0' ? "/tmp" : tmp);
    struct client *client = NULL;
    struct call_uri uri;

    if (!call_client(call, &client, err))
        return false;
    if (mkdtemp(dir) == NULL) {
        client_close(client);
        return err_errno(err, errno, "cannot create a directory like '%s'",
                         dir);
    }
    options->output = dir;
    bool ok = pack_write(options, ret_packed, err);
    if (ok) {
        CLEANUP(fd_close) int fd = open(ret_packed->path, O_RDONLY | O_CLOEXEC);
        call_uri_begin(&uri, "/api/v1/changes");
        call_uri_add(&uri, "name", ret_packed->name);
        ok = fd >= 0
                 ? client_send_file(client, text_string(&uri.text), fd, &reply,
                                    err)
                 : err_errno(err, errno, "cannot open '%s'", ret_packed->path);
        text_clear(&uri.text);
        (void)unlink(ret_packed->path);
    }
    (void)rmdir(dir);
    client_close(client);
    return ok;
}

int cmd_change_pack(struct call *call) {
    struct pack_options options;
    struct pack_result result = {0};
    struct err err = {0};

    if (!options_of_call(call, &options, &err))
        return console_error(&err);
    bool submits = call_has(call, "submit");
    bool ok = submits ? pack_and_submit(call, &options, &result, &err)
                      : pack_write(&options, &result, &err);
    if (ok && submits)
        (void)console_printf("%s\n", result.id);
    else if (ok && result.path != NULL)
        (void)console_printf("%s\n", result.path);
    if (ok)
        console_note("set %s: %zu file%s, %zu deleted", result.id, result.files,
                     result.files == 1 ? "" : "s", result.deleted);
    pack_result_clear(&result);
    return ok ? console_finish(0) : console_error(&err);
}
