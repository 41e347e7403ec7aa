#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/log.h"
#include "os/clock.h"
#include "os/dir.h"
#include "changes/approvals.h"
#include "changes/change_kind.h"
#include "changes/drop.h"
#include "changes/upload.h"
#include "changes/set_rules.h"
#include "changes/prequeue.h"

/* A change set that arrives as a stream: tmp/, check, data/, marker. Nothing is
 * confirmed before the marker is on disk. */

struct upload {
    struct base *base;
    struct checker *checker;
    struct arena arena;
    char tmp_name[256];
    int fd;
    uint64_t bytes;
    struct span name, id; /* as requested; empty: to be generated */
    struct wall now;
    struct access_owner caller;
    upload_done *done;
    void *ctx;
};

static void upload_free(struct upload *upload) {
    if (upload->fd >= 0)
        (void)dir_remove(upload->base->dirs[BASE_TMP], upload->tmp_name, NULL,
                         NULL);
    fd_close(&upload->fd);
    arena_clear(&upload->arena);
    free(upload);
}

bool upload_open(struct base *base, struct span name, struct span id,
                 const struct origin *origin, struct upload **ret_upload,
                 struct err *err) {
    struct set_name parsed;
    struct refusal why;
    if (id.len > 0 && !set_csid_is_valid(id))
        return err_set(err, ERR_DATA,
                       "'%.*s' is not a valid id: a letter or digit, then "
                       "letters, digits, dots and dashes, 64 at most",
                       (int)(id.len < 80 ? id.len : 80), id.p);
    bool named = set_name_parse(name, &parsed, &why);
    if (id.len == 0 && !named && set_name_is_meant(name))
        return err_set(err, ERR_REFUSED, "%s: %s", refusal_word(why.kind),
                       why.text);
    struct upload *upload = mem_alloc(sizeof(*upload));
    upload->base = base;
    upload->fd = -1;
    upload->now = origin->now;
    upload->caller = (struct access_owner){
        (uint32_t)origin->uid, arena_span(&upload->arena, origin->actor)};
    if (!drop_open(base, upload->tmp_name, &upload->fd, err)) {
        upload_free(upload);
        return err_wrap(err, "cannot store the set");
    }
    /* Any other file name is fine too: the name is then made here. */
    if (id.len == 0 && named)
        upload->name = arena_span(&upload->arena, name);
    upload->id = arena_span(&upload->arena, id);
    *ret_upload = upload;
    return true;
}

bool upload_write(struct upload *upload, struct span bytes, struct err *err) {
    uint64_t most = (uint64_t)upload->base->config.queue.max_unpacked_bytes;
    upload->bytes += bytes.len;
    if (upload->bytes > most)
        return err_set(err, ERR_REFUSED,
                       "too-big: a tarball of more than %" PRIu64
                       " bytes ([queue] max-unpacked)",
                       most);
    if (!dir_write_file(upload->fd, bytes, err))
        return err_wrap(err, "cannot store the set");
    return true;
}

void upload_abort(struct upload *upload) {
    if (upload)
        upload_free(upload);
}

/* ---- after the verdict ----------------------------------------------- */

static void answer(struct upload *upload, const struct upload_result *result) {
    upload->done(upload->ctx, result);
    upload_free(upload);
}

static void answer_err(struct upload *upload, const struct err *err) {
    answer(upload, &(struct upload_result){.err = err});
}

/* The same bytes give the same id, so that a request that is repeated because
 * its answer was lost is the same set. */
/* `change pack` writes the name into the set itself. */
static bool use_packed_name(struct upload *upload,
                            const struct set_check *check,
                            struct candidate *candidate) {
    const struct section *section =
        sections_find(&check->meta.sections, "set-name");
    struct set_name name;
    if (!section || section->lines.count != 1 ||
        !set_name_parse(section->lines.items[0], &name, NULL) ||
        !meta_match_name(&check->meta, &name, NULL))
        return false;
    upload->name = arena_span(&upload->arena, section->lines.items[0]);
    return set_name_parse(upload->name, &candidate->name, NULL);
}

static void make_name(struct upload *upload, const struct set_check *check,
                      struct candidate *candidate) {
    if (upload->id.len == 0 && use_packed_name(upload, check, candidate))
        return;
    CLEANUP(text_clear) struct text name = TEXT_INIT;
    char id[ID_TEXT_BYTES];
    unsigned char ten[10];
    for (int i = 0; i < 10; i++) {
        char pair[3] = {check->sha256[2 * i], check->sha256[2 * i + 1], 0};
        ten[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    sum_format_id(ten, id);
    struct set_name made = {
        .csid = upload->id.len ? upload->id : span_of(id),
        .tai = upload->now,
        .pid = (uint64_t)getpid(),
        .host = span_of(upload->base->host),
        .class = check->meta.movetype,
        .sub_priority = SET_SUB_PRIORITY,
    };
    (void)set_name_format(&made, &name);
    upload->name = arena_span(&upload->arena, text_span(&name));
    (void)set_name_parse(upload->name, &candidate->name, NULL);
}

/* Has it been submitted but not admitted yet? Then it keeps that name. Markers
 * of others do not count as long as they have no data. */
struct seek {
    struct upload *upload;
    struct span csid;
    struct span found;
    struct err *err;
    bool failed;
};

static bool is_callers(struct seek *seek, const char *name, bool *ret_own) {
    struct upload *upload = seek->upload;
    struct base *base = upload->base;
    struct access_owner submitter;
    struct stat marker, data;
    bool waits, has_data;
    *ret_own = false;
    if (!dir_stat(base->dirs[BASE_PREQUEUE], name, &marker, &waits,
                  seek->err) ||
        !dir_stat(base->dirs[BASE_DATA], name, &data, &has_data, seek->err))
        return false;
    if (!waits)
        return true;
    if (!drop_submitter(base, name, &marker, &upload->arena, &submitter,
                        seek->err))
        return false;
    *ret_own = access_owner_is_same(&submitter, &upload->caller);
    return *ret_own || !has_data ||
           drop_is_callers(name, &submitter, &upload->caller, seek->err);
}

static bool seek_entry(void *ctx, struct span name) {
    struct seek *seek = ctx;
    struct set_name parsed;
    struct refusal why;
    bool is_own;
    if (!set_name_parse(name, &parsed, &why) ||
        !span_equal(parsed.csid, seek->csid))
        return true;
    char *found = arena_string(&seek->upload->arena, name);
    seek->failed = !is_callers(seek, found, &is_own);
    if (is_own)
        seek->found = span_of(found);
    return !seek->failed && !is_own;
}

static bool use_waiting_name(struct upload *upload, struct candidate *candidate,
                             struct err *err) {
    struct seek seek = {
        .upload = upload, .csid = candidate->name.csid, .err = err};
    if (!dir_each(upload->base->dirs[BASE_PREQUEUE], seek_entry, &seek, err) ||
        seek.failed)
        return false;
    if (seek.found.len == 0)
        return true;
    upload->name = seek.found;
    return set_name_parse(seek.found, &candidate->name, NULL);
}

/* It may have been admitted under the name of an earlier request. */
static bool is_known(struct upload *upload, const struct candidate *candidate,
                     bool *ret_known, struct err *err) {
    struct job job;
    bool found;
    *ret_known = false;
    if (!store_lookup(upload->base->store, candidate->name.csid, &upload->arena,
                      &job, &found, err))
        return false;
    if (found && job.kind == CHANGE_KIND &&
        span_equal(job.sum, candidate->sum)) {
        *ret_known = true;
        upload->name = job.name;
    }
    return true;
}

static void admit_set(struct upload *upload, const struct set_check *check,
                      struct candidate *candidate) {
    struct base *base = upload->base;
    const struct config_target *target;
    struct upload_result result = {.ok = true};
    struct ruling_why why = {0};
    struct err err = {0};
    enum ruling ruling;
    bool known;
    if (!is_known(upload, candidate, &known, &err)) {
        answer_err(upload, &err);
        return;
    }
    result.again = known;
    result.name = upload->name;
    result.id = candidate->name.csid;
    if (known) {
        answer(upload, &result);
        return;
    }
    candidate->arrived = upload->now;
    candidate->unread_approvals = approvals_wait(base, candidate->name.csid);
    bool ok =
        use_waiting_name(upload, candidate, &err) &&
        set_rule(base, candidate, upload->now, &ruling, &target, &why, &err);
    if (ok && (ruling == RULING_REFUSE || ruling == RULING_WAIT))
        ok = err_set(&err,
                     strcmp(why.word, RULING_NO_ACCOUNT) == 0 ? ERR_DENIED
                                                              : ERR_REFUSED,
                     "%s: %s", why.word, why.text);
    const char *name = arena_string(&upload->arena, upload->name);
    ok = ok && drop_publish(base, upload->tmp_name, upload->fd, name,
                            arena_string(&upload->arena, candidate->sum),
                            &upload->caller, &err);
    if (!ok) {
        answer_err(upload, &err);
        return;
    }
    /* For the marker: the tarball need not be read again for admission. */
    checker_remember(upload->checker, upload->fd, check);
    fd_close(&upload->fd);
    result.name = upload->name;
    answer(upload, &result);
}

static bool has_symlinks(const struct set_check *check) {
    for (size_t i = 0; i < check->member_count; i++)
        if (check->members[i].symlink)
            return true;
    return false;
}

static void on_checked(void *ctx, bool ok, const struct set_check *check,
                       const struct err *check_err) {
    struct upload *upload = ctx;
    struct err err = {0};
    if (!ok) {
        answer_err(upload, check_err);
        return;
    }
    if (check->why.kind != REFUSAL_NONE) {
        err_set(&err, ERR_REFUSED, "%s: %s", refusal_word(check->why.kind),
                check->why.text);
        answer_err(upload, &err);
        return;
    }
    struct candidate candidate = {
        .meta = check->meta,
        .sum = span_of(check->sha256),
        .size_bytes = check->size,
        .has_symlinks = has_symlinks(check),
        .submitter = upload->caller,
    };
    if (upload->name.len == 0)
        make_name(upload, check, &candidate);
    else
        (void)set_name_parse(upload->name, &candidate.name, NULL);
    admit_set(upload, check, &candidate);
}

void upload_finish(struct upload *upload, struct checker *checker,
                   upload_done *done, void *ctx) {
    struct err err = {0};
    upload->checker = checker;
    upload->done = done;
    upload->ctx = ctx;
    if (!drop_seal(upload->base, upload->fd, &err)) {
        answer_err(upload, &err);
        return;
    }
    checker_check(checker, upload->fd, on_checked, upload);
}

/* ---- by files -------------------------------------------------------- */

bool upload_put(struct base *base, int fd, struct span name, struct err *err) {
    CLEANUP(fd_close) int out = -1;
    struct set_name parsed;
    struct refusal why = {0};
    char tmp_name[256], sum_text[SUM_TEXT_BYTES];
    if (!set_name_parse(name, &parsed, &why))
        return err_set(err, ERR_REFUSED, "bad-name: %s", why.text);
    CLEANUP(text_free_string) char *to = span_string(name);
    if (!drop_open(base, tmp_name, &out, err))
        return false;
    struct sum *sum = sum_new();
    bool ok = drop_copy(fd, out, UINT64_MAX, sum, err);
    sum_end(sum, sum_text);
    struct access_owner caller = {.uid = (uint32_t)geteuid()};
    ok = ok && drop_seal(base, out, err) &&
         drop_publish(base, tmp_name, out, to, sum_text, &caller, err);
    if (!ok) {
        (void)dir_remove(base->dirs[BASE_TMP], tmp_name, NULL, NULL);
        return err_wrap(err, "cannot submit '%s'", to);
    }
    base_trigger(base, prequeue_role.name);
    return true;
}
