#include "cli/approval_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/json.h"
#include "cli/call_connect.h"
#include "os/dir.h"
#include "os/fd.h"
#include "landing/child.h"
#include "wire/approval_text.h"

extern char **environ;

/* ---- the text ------------------------------------------------------------ */

/* --as, else the name of the person or the account. */
static const char *signer(struct call *call) {
    const char *as = call_value(call, "as");
    if (as == NULL)
        as = call->person;
    const struct passwd *account = as ? NULL : getpwuid(getuid());
    return as ? as : account ? account->pw_name : "";
}

static void add_query(struct call *call, struct call_uri *uri) {
    call_uri_add(uri, "by", signer(call));
    call_uri_add(uri, "ticket", call_value(call, "ticket"));
    call_uri_add(uri, "expires", call_value(call, "expires"));
}

bool approval_file_of_set(struct call *call, struct client *client,
                          const char *id, struct text *out, struct err *err) {
    struct call_uri uri;
    call_uri_begin(&uri, arena_printf(&call->arena, "/api/v1/jobs/%s/approval",
                                      client_word(&call->arena, id)));
    add_query(call, &uri);
    bool ok = client_call(client, API_GET, text_string(&uri.text),
                          (struct span){0}, out, err);
    text_clear(&uri.text);
    return ok;
}

bool approval_file_of_tarball(struct call *call, const char *file,
                              struct text *out, struct err *err) {
    const char *slash = strrchr(file, '/');
    const char *name = slash == NULL ? file : slash + 1;
    struct client *client = NULL;
    CLEANUP(fd_close) int fd = -1;
    struct call_uri uri;
    if (!call_client(call, &client, err))
        return false;
    call_uri_begin(&uri, "/api/v1/approvals/text");
    call_uri_add(&uri, "name", name);
    add_query(call, &uri);
    bool ok = call_open_input(file, &fd, err) &&
              client_send_file(client, text_string(&uri.text), fd, out, err);
    text_clear(&uri.text);
    client_close(client);
    return ok;
}

/* ---- the signature ------------------------------------------------------- */

/* Reads the file from its beginning: what ssh-keygen wrote. */
static bool read_result(int fd, struct text *out, struct err *err) {
    return lseek(fd, 0, SEEK_SET) == 0 &&
           dir_read_file(fd, APPROVAL_FILE_BYTES, out, err);
}

static bool run_keygen(const char *key, int in, int out, struct err *err) {
    const char *const argv[] = {"ssh-keygen",       "-q", "-Y", "sign", "-n",
                                APPROVAL_NAMESPACE, "-f", key,  NULL};
    struct child child = {.argv = argv,
                          .envp = environ,
                          .in = in,
                          .out = out,
                          .err = -1,
                          .status = -1,
                          .progress = -1};
    pid_t pid;
    if (!child_start(&child, &pid, err))
        return err_wrap(err, "ssh-keygen is in the package "
                             "openssh-client");
    struct child_end end = child_wait(pid, NULL, 0, 0);
    return (end.how == CHILD_EXITED && end.code == 0) ||
           err_set(err, ERR_CANNOT, "ssh-keygen did not sign with '%s'", key);
}

bool approval_file_sign(struct text *approval, const char *key,
                        struct err *err) {
    CLEANUP(fd_close) int in = memfd_create("approval", MFD_CLOEXEC);
    CLEANUP(fd_close) int out = memfd_create("signature", MFD_CLOEXEC);
    if (in < 0 || out < 0)
        return err_errno(err, errno,
                         "cannot create a memory file for an approval");
    return dir_write_file(in, text_span(approval), err) &&
           lseek(in, 0, SEEK_SET) == 0 && run_keygen(key, in, out, err) &&
           read_result(out, approval, err);
}

/* ---- files --------------------------------------------------------------- */

static bool read_file(const char *file, struct text *out, struct err *err) {
    CLEANUP(fd_close) int fd = -1;
    if (!call_open_input(file, &fd, err))
        return false;
    return dir_read_file(fd, APPROVAL_FILE_BYTES, out, err) ||
           err_wrap(err, "'%s'", file);
}

bool approval_file_read(const char *file, struct text *out, struct err *err) {
    CLEANUP(text_clear) struct text bytes = TEXT_INIT;
    struct approval_file approval;
    if (!read_file(file, &bytes, err))
        return false;
    if (span_starts(text_span(&bytes), "-----BEGIN")) {
        struct span name = span_of(file);
        if (!span_ends(name, ".sig"))
            return err_set(err, ERR_DATA,
                           "'%s' is a detached signature; name the signed text "
                           "X, its signature is read from X.sig",
                           file);
        CLEANUP(text_free_string)
        char *text = span_string(span_make(name.p, name.len - 4));
        if (!read_file(text, out, err))
            return false;
    }
    text_addspan(out, text_span(&bytes));
    return approval_file_parse(text_span(out), &approval, err) ||
           err_wrap(err, "'%s'", file);
}

void approval_file_body(struct span approval, struct text *out) {
    struct json json;
    json_open(&json, out);
    json_object(&json);
    json_key(&json, "signed");
    json_span(&json, approval);
    json_end(&json);
}
