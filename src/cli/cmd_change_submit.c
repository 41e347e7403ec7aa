/* change submit and change put: put a finished set into the queue. */
#include "cli/commands.h"
#include "cli/approval_file.h"
#include "cli/call_connect.h"
#include "cli/console.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "os/fd.h"
#include "base/base.h"
#include "changes/drop.h"
#include "changes/upload.h"
#include "changes/prequeue.h"
#include "wire/approval_text.h"
#include "wire/set_name.h"

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* A set that cannot be taken now is refused temporarily, whatever the
 * reason: 111 (`pointsman help exit-codes`). */
static void refused_for_now(struct err *err) {
    if (err->kind == ERR_TEMPORARY)
        err->kind = ERR_BUSY;
}

/* The set was submitted before. */
static void say_what_became(struct call *call, struct client *client,
                            const char *id) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    struct err err = {0};
    const char *uri = arena_printf(&call->arena, "/api/v1/jobs/%s", id);
    if (!client_call(client, API_GET, uri, (struct span){0}, &reply, &err)) {
        console_note("'%s' was submitted before", id);
        return;
    }
    struct span job = text_span(&reply);
    const char *by = call_line_text(job, "rolled_back_by", &call->arena);
    console_note("'%s' was submitted before; %s (%s) since %s%s%s", id,
                 call_line_text(job, "state", &call->arena),
                 call_line_text(job, "reason", &call->arena),
                 call_line_text(job, "since", &call->arena),
                 by[0] != '\0' ? ", rolled back by " : "", by);
}

static bool hand_in(struct call *call, struct client *client, const char *file,
                    const void *ctx, struct err *err) {
    CLEANUP(text_clear) struct text reply = TEXT_INIT;
    CLEANUP(fd_close) int fd = -1;
    struct call_uri uri;
    struct stat st;

    (void)ctx;
    if (!call_open_input(file, &fd, err))
        return false;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        return err_set(err, ERR_USAGE,
                       "'%s' is a directory, not a change set; pack it first: "
                       "pointsman change pack --target TARGET --submit %s",
                       file, file);
    call_uri_begin(&uri, "/api/v1/changes");
    call_uri_add(&uri, "name",
                 set_name_is_meant(span_of(file_name(file))) ? file_name(file)
                                                             : NULL);
    bool ok = client_send_file(client, text_string(&uri.text), fd, &reply, err);
    text_clear(&uri.text);
    if (!ok) {
        refused_for_now(err);
        return err_wrap(err, "'%s'", file);
    }
    const char *id = call_line_text(text_span(&reply), "id", &call->arena);
    (void)console_printf("%s\n", id);
    if (call_line_flag(text_span(&reply), "again"))
        say_what_became(call, client, id);
    return true;
}

/* Approvals are sent before the set, so that they are there when it is
 * checked. */
static bool send_approvals(struct call *call, struct err *err) {
    struct client *client = NULL;
    const char *file;
    size_t cursor = 0;
    bool ok = call_client(call, &client, err);

    while (ok && (file = call_next(call, "approval", &cursor)) != NULL) {
        CLEANUP(text_clear)
        struct text approval_file = TEXT_INIT, body = TEXT_INIT;
        CLEANUP(text_clear) struct text reply = TEXT_INIT;
        ok = approval_file_read(file, &approval_file, err);
        approval_file_body(text_span(&approval_file), &body);
        if (ok && !client_call(client, API_POST, "/api/v1/approvals",
                               text_span(&body), &reply, err))
            ok = err_wrap(err, "'%s'", file);
    }
    client_close(client);
    return ok;
}

int cmd_change_submit(struct call *call) {
    struct err err = {0};

    if (!call_operands(call, 1, SIZE_MAX, &err) || !send_approvals(call, &err))
        return console_error(&err);
    return call_for_each(call, hand_in, NULL);
}

static bool put_approvals(struct call *call, struct base *base,
                          struct err *err) {
    struct approval_file approval_path;
    const char *file;
    char name[256];
    size_t cursor = 0;

    while ((file = call_next(call, "approval", &cursor)) != NULL) {
        CLEANUP(text_clear) struct text approval_file = TEXT_INIT;
        if (!approval_file_read(file, &approval_file, err))
            return false;
        if (!approval_file_parse(text_span(&approval_file), &approval_path,
                                 err) ||
            !drop_approval(base, approval_path.approval.csid,
                           text_span(&approval_file), name, err))
            return err_wrap(err, "'%s'", file);
    }
    return true;
}

/* Standard input has no name of its own. */
static bool check_names(struct call *call, struct err *err) {
    bool given = call_value(call, "name") != NULL;
    if (given && call->word_count > 1)
        return err_set(err, ERR_USAGE, "--name is for one file, not for %zu",
                       call->word_count);
    for (size_t i = 0; !given && i < call->word_count; i++)
        if (strcmp(call->words[i], "-") == 0)
            return err_set(err, ERR_USAGE,
                           "standard input has no name: give that of the set "
                           "with --name, or use `change submit -`");
    return true;
}

int cmd_change_put(struct call *call) {
    struct base_open how = {.no_store = true};
    struct base *base = NULL;
    const char *path;
    uid_t owner;
    struct err err = {0};
    int status = 0;

    if (!call_operands(call, 1, SIZE_MAX, &err) || !check_names(call, &err) ||
        !call_base_path(call, &path, &err) ||
        !(base_is_ours(path, &owner) ? base_open(path, &how, &base, &err)
                                     : base_open_drop(path, &base, &err)))
        return console_error(&err);
    if (!put_approvals(call, base, &err)) {
        base_close(base);
        return console_error(&err);
    }
    for (size_t i = 0; i < call->word_count; i++) {
        const char *file = call->words[i];
        CLEANUP(fd_close) int fd = -1;
        const char *given = call_value(call, "name");
        const char *name = given != NULL ? given : file_name(file);
        bool ok = call_open_input(file, &fd, &err) &&
                  upload_put(base, fd, span_of(name), &err);
        if (!ok) {
            refused_for_now(&err);
            int failed = console_error(&err);
            status = status == 0 ? failed : status;
            continue;
        }
        (void)console_printf("%s\n", name);
    }
    base_trigger(base, prequeue_role.name);
    base_close(base);
    return console_finish(status);
}
