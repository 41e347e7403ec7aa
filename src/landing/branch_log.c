#include "landing/branch_log.h"

#include <stdio.h>

bool branch_log_entry_parse(struct span head, struct tree_entry *ret_before,
                            struct tree_entry *ret_after) {
    *ret_before = *ret_after = (struct tree_entry){0};
    char line[256];
    if (head.len >= sizeof line)
        return false;
    snprintf(line, sizeof line, "%.*s", (int)head.len, head.p);
    return sscanf(line, ":%o %o %64s %64s", &ret_before->mode, &ret_after->mode,
                  ret_before->oid, ret_after->oid) == 4;
}

static bool unexpected(struct err *err) {
    return err_set(err, ERR_INTERNAL, "cannot read what git log prints");
}

static bool log_read(struct git_pipe *pipe, branch_log_visit *visit, void *ctx,
                     struct err *err) {
    CLEANUP(text_free_string) char *buffer = NULL;
    struct branch_change change = {0};
    char commit[OID_BYTES] = "";
    size_t room = 0;
    bool is_path = false;
    ssize_t n;
    change.commit = span_of(commit);
    while ((n = getdelim(&buffer, &room, '\0', pipe->out)) > 0) {
        struct span token = span_make(buffer, (size_t)n - 1);
        if (is_path) {
            change.path = token;
            if (!visit(ctx, &change))
                return unexpected(err);
            is_path = false;
            continue;
        }
        token = span_trim(token);
        if (token.len == 0)
            continue;
        is_path = token.p[0] == ':';
        if (is_path) {
            if (!branch_log_entry_parse(token, &change.before, &change.after))
                return unexpected(err);
            continue;
        }
        if (!git_oid_is_valid(token))
            return unexpected(err);
        snprintf(commit, sizeof commit, "%.*s", (int)token.len, token.p);
        change.commit = span_of(commit);
    }
    return git_pipe_close(pipe, err);
}

bool branch_log_each(struct git *git, const char *walk,
                     const struct text *commits, branch_log_visit *visit,
                     void *ctx, struct err *err) {
    CLEANUP(git_pipe_drop) struct git_pipe pipe = {0};
    const char *const args[] = {"log",
                                "--first-parent",
                                "--diff-merges=first-parent",
                                "--raw",
                                "-r",
                                "-z",
                                "--root",
                                "--no-abbrev",
                                "--no-renames",
                                "--no-show-signature",
                                "--ignore-submodules=none",
                                "--format=%H",
                                walk,
                                "--stdin",
                                NULL};
    if (!git_pipe_open(git, args, GIT_PLAIN, &pipe, err))
        return false;
    fputs(text_string(commits), pipe.in);
    return git_pipe_end_input(&pipe, err) && log_read(&pipe, visit, ctx, err);
}
