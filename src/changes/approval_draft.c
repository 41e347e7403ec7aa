#include "changes/approval_draft.h"

#include <inttypes.h>

#include "api/api_call.h"
#include "base/base.h"
#include "changes/approvals.h"
#include "changes/checker.h"
#include "changes/drop.h"
#include "os/dir.h"
#include "os/fd.h"
#include "wire/approval_text.h"
#include "wire/set_name.h"

struct draft {
    int fd; /* of a file that has no name any more */
    uint64_t bytes;
    struct checker *checker; /* its own, if no role lends one */
    bool is_complete;
};

static void draft_clear(struct api_call *call) {
    struct draft *draft = call->state;
    checker_free(draft->checker);
    fd_close(&draft->fd);
}

static bool draft_take(struct api_call *call, struct span bytes,
                       struct err *err) {
    const struct base *base = call->api->options.base;
    struct draft *draft = call->state;
    uint64_t most = (uint64_t)base->config.queue.max_unpacked_bytes;
    draft->bytes += bytes.len;
    if (draft->bytes > most)
        return err_set(err, ERR_REFUSED,
                       "too-big: a tarball of more than %" PRIu64
                       " bytes ([queue] max-unpacked)",
                       most);
    return dir_write_file(draft->fd, bytes, err);
}

/* By the name of the file (?name=), or by what `change pack` wrote into it. */
static bool name_of(const struct api_call *call, const struct set_check *check,
                    struct set_name *ret_name, struct err *err) {
    const struct section *section =
        sections_find(&check->meta.sections, "set-name");
    return set_name_parse(api_query(call, "name"), ret_name, NULL) ||
           (section != NULL && section->lines.count == 1 &&
            set_name_parse(section->lines.items[0], ret_name, NULL)) ||
           err_set(err, ERR_DATA,
                   "the set has no name yet: create it with `change pack`, "
                   "or give the file the name of the set");
}

static bool write_text(struct api_call *call, const struct set_check *check,
                       struct err *err) {
    const struct base *base = call->api->options.base;
    struct candidate candidate = {.meta = check->meta,
                                  .sum = span_of(check->sha256)};
    struct approval_text text;
    if (check->why.kind != REFUSAL_NONE)
        return err_set(err, ERR_REFUSED, "%s: %s",
                       refusal_word(check->why.kind), check->why.text);
    if (!name_of(call, check, &candidate.name, err))
        return false;
    const struct config_target *target =
        set_target(&base->config, check->meta.target);
    if (target == NULL)
        return err_set(err, ERR_REFUSED, "no target '%.*s' is configured",
                       (int)check->meta.target.len, check->meta.target.p);
    if (!approvals_text_of(base, &candidate, target->name, &call->arena, &text,
                           err) ||
        !approval_text_fill(&text, api_query(call, "by"),
                            api_query(call, "ticket"),
                            api_query(call, "expires"), api_now(call), err))
        return false;
    approval_text_format(&text, &call->out);
    return approval_text_parse(text_span(&call->out), &text, err);
}

static void on_checked(void *ctx, bool ok, const struct set_check *check,
                       const struct err *not_now) {
    struct api_call *call = ctx;
    struct err err = {0};
    if (!api_unhold(call))
        return;
    if (!ok)
        api_fail(call, not_now);
    else if (!write_text(call, check, &err))
        api_fail(call, &err);
    else {
        api_reply(call, 200, api_text);
        api_end(call);
    }
    api_poke(call);
}

static void draft_check(struct api_call *call) {
    struct draft *draft = call->state;
    if (draft->is_complete)
        return;
    draft->is_complete = true;
    struct checker *checker = checker_of_call(call, &draft->checker);
    api_hold(call);
    checker_check(checker, draft->fd, on_checked, call);
}

/* ?name= (of the file) &by= &ticket= &expires= */
void approval_draft_request(struct api_call *call) {
    static const char *const keys[] = {"name", "by", "ticket", "expires", NULL};
    struct base *base = call->api->options.base;
    struct draft *draft = arena_alloc(&call->arena, sizeof *draft);
    char name[256];
    struct err err = {0};
    if (!api_query_check(call, keys))
        return;
    draft->fd = -1;
    call->state = draft;
    call->clear = draft_clear;
    if (base == NULL)
        err_set(&err, ERR_UNAVAILABLE, "approvals need a base");
    else if (drop_open(base, name, &draft->fd, &err))
        (void)dir_remove(base->dirs[BASE_TMP], name, NULL, &err);
    if (err.kind != ERR_NONE) {
        api_fail(call, &err);
        return;
    }
    call->take = draft_take;
    call->work = draft_check;
}
