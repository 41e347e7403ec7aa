#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "landing/pack.h"
#include "landing/pack_source.h"

/* Options that mean one set, not several. */
static bool options_fit(const struct pack_options *options, struct err *err) {
    struct stat st;
    const char *other = options->message != NULL      ? "--message"
                        : options->base_rev != NULL   ? "--base-rev"
                        : options->supersedes != NULL ? "--supersedes"
                        : options->deletes_count > 0  ? "--delete"
                                                      : NULL;
    if (other != NULL)
        return err_set(err, ERR_USAGE, "give --stack or %s, not both", other);
    if (options->source == NULL || strstr(options->source, "..") == NULL)
        return err_set(err, ERR_USAGE,
                       "--stack needs a range of commits like main..fix");
    if (options->output != NULL && strcmp(options->output, "-") == 0)
        return err_set(err, ERR_USAGE,
                       "--stack makes several tarballs, and standard output "
                       "takes one; give a directory as --output, and submit "
                       "the tarballs in it in order");
    if (options->output == NULL || mkdir(options->output, 0777) == 0)
        return true;
    if (errno != EEXIST)
        return err_errno(err, errno, "cannot create directory '%s'",
                         options->output);
    return (stat(options->output, &st) == 0 && S_ISDIR(st.st_mode)) ||
           err_set(err, ERR_USAGE,
                   "'%s' is not a directory; with --stack, --output names the "
                   "directory for the tarballs",
                   options->output);
}

/* Packs commit `at`; `packed` are the sets before it. */
static bool commit_pack(const struct pack_options *stack,
                        const struct lines *commits, size_t at,
                        struct pack_result *packed, struct err *err) {
    CLEANUP(text_clear) struct text range = TEXT_INIT, id = TEXT_INIT;
    struct pack_options options = *stack;
    struct span commit = commits->items[at];
    const char *below = at > 0 ? packed[at - 1].id : NULL;
    text_addf(&range, "%.*s^..%.*s", (int)commit.len, commit.p, (int)commit.len,
              commit.p);
    options.source = text_string(&range);
    if (stack->id != NULL) {
        text_addf(&id, "%s-%zu", stack->id, at + 1);
        options.id = text_string(&id);
    }
    if (below != NULL) {
        options.depends = &below;
        options.depends_count = 1;
        options.base_set = below;
    }
    return pack_write(&options, &packed[at], err) ||
           err_wrap(err, "commit %.12s", commit.p);
}

void pack_stack_free(struct pack_result *packed, size_t count) {
    for (size_t i = 0; i < count; i++)
        pack_result_clear(&packed[i]);
    free(packed);
}

bool pack_stack_write(const struct pack_options *options,
                      struct pack_result **ret_packed, size_t *ret_count,
                      struct err *err) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct lines commits;
    size_t done = 0;
    bool ok = options_fit(options, err) &&
              pack_range_commits(options->repo, options->source, &arena,
                                 &commits, err);
    if (!ok)
        return err_wrap(err, "cannot pack");
    struct pack_result *packed = mem_grow(NULL, commits.count, sizeof *packed);
    memset(packed, 0, commits.count * sizeof *packed);
    while (done < commits.count &&
           commit_pack(options, &commits, done, packed, err))
        done++;
    *ret_packed = packed;
    *ret_count = done;
    if (done == commits.count)
        return true;
    for (size_t i = 0; i < done; i++)
        unlink(packed[i].path);
    pack_stack_free(packed, done);
    *ret_packed = NULL;
    *ret_count = 0;
    return false;
}
