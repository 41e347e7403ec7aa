#include "changes/prequeue.h"
#include "changes/upload.h"
#include "wire/marker.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/landing.h"
#include "support/spool.h"

enum { MINUTE_MS = 60 * 1000 };

static void assert_rejected(struct spool *spool, const char *name,
                            const char *word) {
    char why[300];
    snprintf(why, sizeof(why), "%s.why", name);
    if (!spool_has(spool, BASE_REJECT, why))
        fail_msg("'%s' was not rejected", name);
    const char *line = spool_text(spool, BASE_REJECT, why);
    if (strncmp(line, word, strlen(word)) != 0 || line[strlen(word)] != ':')
        fail_msg("reason '%s', expected '%s'", line, word);
    assert_int_equal(line[strlen(line) - 1], '\n');
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    assert_true(spool_has(spool, BASE_REJECT, name));
    assert_false(spool_has(spool, BASE_PREQUEUE, name));
}

static uint64_t rejected(struct spool *spool) {
    return prequeue_tally(spool->prequeue).rejected;
}

/* ---- admission ------------------------------------------------------- */

static void a_dropped_set_is_admitted(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    const char *name = spool_put_set(
        &spool, "C1", "BF.200",
        "##dependencies\nC0\n##precursors\nP1\n##deleted\nold\n", "b a/c");
    spool_scan(&spool);
    struct job job = spool_job(&spool, "C1");
    assert_int_equal(job.state, STATE_QUEUED);
    assert_int_equal(job.kind, JOB_CHANGE);
    assert_int_equal(job.job_class, CLASS_BF);
    assert_true(span_is(job.target, "main"));
    assert_true(span_is(job.name, name));
    assert_int_equal(job.uid, geteuid());
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct job_touch *touches;
    struct job_edge *edges;
    size_t count;
    assert_true(store_touches(spool.base->store, job.num, &arena, &touches,
                              &count, NULL));
    assert_int_equal(count, 3);
    assert_true(store_edges_from(spool.base->store, job.num, &arena, &edges,
                                 &count, NULL));
    assert_int_equal(count, 2);
    assert_int_equal(spool_count(&spool, BASE_PREQUEUE), 0);
    assert_true(spool_has(&spool, BASE_DATA, name));
    assert_true(prequeue_is_idle(spool.prequeue));
    spool_assert_projected(&spool);
    spool_end(&spool);
}

static void many_sets_are_admitted_in_one_scan(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    for (int i = 0; i < 20; i++) {
        char id[16];
        snprintf(id, sizeof(id), "C%d", i);
        spool_put_set(&spool, id, i % 2 ? "DC" : "EM", "", "f");
    }
    spool_scan(&spool);
    assert_int_equal(prequeue_tally(spool.prequeue).admitted, 20);
    assert_int_equal(spool_count(&spool, BASE_QUEUE), 20);
    spool_assert_projected(&spool);
    spool_end(&spool);
}

static void a_marker_waits_for_its_data_and_then_gives_up(void **state) {
    CLEANUP(text_clear) struct text tar = TEXT_INIT;
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    const char *late = spool_name("C1", "DC"), *never = spool_name("C2", "DC");
    spool_write(&spool, BASE_PREQUEUE, late, SPAN(""));
    spool_write(&spool, BASE_PREQUEUE, never, SPAN(""));
    spool_scan(&spool);
    assert_int_equal(rejected(&spool), 0);
    assert_true(prequeue_is_idle(spool.prequeue)); /* it waits for a time */
    assert_true(spool.next.ns > spool.now.ns);
    assert_true(wall_ms_since(spool.next, spool.now) <= 6 * MINUTE_MS);
    spool_restart(&spool); /* the waiting time continues */
    spool_tar(&tar, "DC", "", "f");
    spool_write(&spool, BASE_DATA, late, text_span(&tar));
    spool.now = wall_add_ms(spool.now, 4 * MINUTE_MS);
    spool_scan(&spool);
    assert_true(spool_knows(&spool, "C1"));
    assert_int_equal(rejected(&spool), 0);
    spool.now = wall_add_ms(spool.now, 2 * MINUTE_MS);
    spool_scan(&spool);
    assert_rejected(&spool, never, "no-data");
    spool_end(&spool);
}

static void a_name_from_the_future_waits_and_is_then_refused(void **state) {
    CLEANUP(text_clear) struct text tar = TEXT_INIT;
    struct spool spool;
    char tai[TAI_TEXT_BYTES], name[200];
    (void)state;
    spool_begin(&spool);
    spool_tar(&tar, "DC", "", "f");
    for (int i = 0; i < 2; i++) {
        struct wall at = wall_add_ms(spool.now, (i ? 20 : 9) * MINUTE_MS);
        snprintf(name, sizeof(name), "F%d_%s_1_h_DC", i, tai_format(at, tai));
        spool_put(&spool, name, text_span(&tar));
    }
    spool_scan(&spool);
    assert_int_equal(rejected(&spool), 0);
    spool.now = wall_add_ms(spool.now, 4 * MINUTE_MS + 1000);
    spool_scan(&spool); /* near enough for F0 now */
    assert_true(spool_knows(&spool, "F0"));
    spool.now = wall_add_ms(spool.now, 2 * MINUTE_MS);
    spool_scan(&spool);
    assert_rejected(&spool, name, "future");
    spool_end(&spool);
}

static void a_job_file_submits_an_unknown_set(void **state) {
    CLEANUP(text_clear) struct text tar = TEXT_INIT;
    struct spool one, two;
    (void)state;
    spool_begin(&one);
    const char *name = spool_put_set(&one, "C1", "DC", "##odd\nx\n", "f g");
    spool_scan(&one);
    spool_record(&one, "C1", "C7");
    spool_run_until_idle(&one);
    spool_begin(&two);
    spool_tar(&tar, "DC", "##odd\nx\n", "f g");
    spool_write(&two, BASE_DATA, name, text_span(&tar));
    spool_write(&two, BASE_PREQUEUE, name,
                span_of(spool_text(&one, BASE_QUEUE, name)));
    spool_scan(&two);
    struct job job = spool_job(&two, "C1");
    assert_true(span_equal(job.sum, spool_job(&one, "C1").sum) ||
                job.sum.len == 64);
    assert_int_equal(job.record_seq, 0); /* the record is not trusted */
    /* The job file of a known set is refused. */
    spool_step(&two, "C1", STATE_TERMINATED, "operator");
    spool_write(&two, BASE_PREQUEUE, name,
                span_of(spool_text(&one, BASE_QUEUE, name)));
    spool_scan(&two);
    assert_rejected(&two, name, "duplicate-csid");
    assert_true(spool_has(&two, BASE_DATA, name));
    spool_assert_projected(&two);
    spool_end(&one);
    spool_end(&two);
}

static void an_incomplete_job_file_is_waited_for(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    const char *name = spool_name("C1", "DC");
    spool_write(&spool, BASE_PREQUEUE, name, SPAN("##job\nformat 1\nna"));
    spool_scan(&spool);
    assert_int_equal(rejected(&spool), 0);
    spool.now = wall_add_ms(spool.now, 6 * MINUTE_MS);
    spool_scan(&spool);
    assert_rejected(&spool, name, "job-file");
    spool_end(&spool);
}

/* ---- repeated ids ---------------------------------------------------- */

static void the_same_set_again_changes_nothing(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    const char *name = spool_put_set(&spool, "C1", "DC", "", "f");
    spool_scan(&spool);
    spool_write(&spool, BASE_PREQUEUE, name, SPAN(""));
    spool_scan(&spool);
    assert_int_equal(prequeue_tally(spool.prequeue).again, 1);
    assert_int_equal(spool_count(&spool, BASE_REJECT), 0);
    assert_int_equal(spool_count(&spool, BASE_PREQUEUE), 0);
    assert_true(spool_has(&spool, BASE_DATA, name));
    spool_assert_projected(&spool);
    spool_end(&spool);
}

static void an_id_is_never_used_again(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    const char *first = spool_put_set(&spool, "C1", "DC", "", "f");
    spool_scan(&spool);
    const char *other = spool_put_set(&spool, "C1", "DC", "", "other");
    spool_scan(&spool);
    assert_rejected(&spool, other, "duplicate-csid");
    assert_false(spool_has(&spool, BASE_DATA, other));
    const char *same = spool_put_set(&spool, "C1", "DC", "", "f");
    spool_scan(&spool); /* the same content under another name */
    assert_rejected(&spool, same, "duplicate-csid");
    spool_step(&spool, "C1", STATE_TERMINATED, "operator");
    spool_write(&spool, BASE_PREQUEUE, first, SPAN(""));
    spool_scan(&spool);
    assert_rejected(&spool, first, "duplicate-csid");
    assert_true(spool_has(&spool, BASE_DATA, first));
    spool_assert_projected(&spool);
    spool_end(&spool);
}

static void the_first_of_two_sets_with_one_id_is_admitted(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    const char *a = spool_put_set(&spool, "C1", "DC", "", "f");
    const char *b = spool_put_set(&spool, "C1", "DC", "", "g");
    spool_scan(&spool);
    assert_true(span_is(spool_job(&spool, "C1").name, a));
    assert_rejected(&spool, b, "duplicate-csid");
    spool_assert_projected(&spool);
    spool_end(&spool);
}

/* ---- refusals -------------------------------------------------------- */

static void unsupported_features_are_rejected_with_a_reason(void **state) {
    static const struct {
        const char *set_class, *sections, *files, *word;
    } cases[] = {
        {"RB", "##dependencies\nC0\n##closure\nall\n", "", "policy"},
        {"DC", "##supersedes\nC0\n", "f", "bad-supersedes"},
        {"DC", "##supersedes\nC9\n", "f", "bad-supersedes"},
    };
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    spool_admit(&spool, "C0", "f");
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *name = spool_put_set(&spool, "X", cases[i].set_class,
                                         cases[i].sections, cases[i].files);
        spool_scan(&spool);
        assert_rejected(&spool, name, cases[i].word);
    }
    spool_step(&spool, "C0", STATE_TERMINATED, "operator");
    spool_put_set(&spool, "Y", "DC", "##supersedes\nC0\n", "f");
    spool_scan(&spool);
    assert_true(spool_knows(&spool, "Y"));
    spool_end(&spool);
}

static void an_unknown_target_and_a_wrong_class_are_refused(void **state) {
    CLEANUP(text_clear) struct text tar = TEXT_INIT;
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    spool_tar(&tar, "DC", "", "f");
    const char *wrong = spool_name("C1", "EM");
    spool_put(&spool, wrong, text_span(&tar));
    char *at = memmem(tar.p, tar.len, "main", 4);
    memcpy(at, "mean", 4);
    const char *lost = spool_name("C2", "DC");
    spool_put(&spool, lost, text_span(&tar));
    spool_scan(&spool);
    assert_rejected(&spool, wrong, "class-mismatch");
    assert_rejected(&spool, lost, "unknown-target");
    spool_end(&spool);
}

static void a_refusal_is_an_event(void **state) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct spool spool;
    struct store_event *events;
    size_t count;
    (void)state;
    spool_begin(&spool);
    spool_write(&spool, BASE_PREQUEUE, "junk", SPAN(""));
    spool_scan(&spool);
    assert_true(store_events(spool.base->store, 0, 0, 100, &arena, &events,
                             &count, NULL));
    assert_int_equal(count, 1);
    assert_int_equal(events[0].kind, EVENT_REJECT);
    assert_true(span_is(events[0].id, "junk"));
    assert_true(span_is(events[0].reason, "bad-name"));
    spool_end(&spool);
}

/* ---- uploads --------------------------------------------------------- */

struct reply {
    bool came, ok, again;
    enum err_kind kind;
    char name[256], id[80], text[600];
};

static void on_result(void *ctx, const struct upload_result *result) {
    struct reply *reply = ctx;
    reply->came = true;
    reply->ok = result->ok;
    reply->again = result->again;
    if (result->err) {
        reply->kind = result->err->kind;
        snprintf(reply->text, sizeof(reply->text), "%s", result->err->text);
    }
    snprintf(reply->name, sizeof(reply->name), "%.*s", (int)result->name.len,
             result->name.p ? result->name.p : "");
    snprintf(reply->id, sizeof(reply->id), "%.*s", (int)result->id.len,
             result->id.p ? result->id.p : "");
}

static struct reply upload_by(struct spool *spool, uid_t uid, const char *name,
                              const char *id, struct span tar) {
    struct origin origin = {.now = spool->now, .uid = uid};
    struct reply reply = {0};
    struct upload *upload;
    struct err err = {0};
    assert_true(upload_open(spool->base, span_of(name), span_of(id), &origin,
                            &upload, &err));
    for (size_t at = 0; at < tar.len; at += 700)
        assert_true(upload_write(
            upload,
            span_make(tar.p + at, tar.len - at < 700 ? tar.len - at : 700),
            &err));
    upload_finish(upload, spool->checker, on_result, &reply);
    assert_true(reply.came);
    return reply;
}

static struct reply upload(struct spool *spool, const char *name,
                           const char *id, struct span tar) {
    struct reply reply = upload_by(spool, geteuid(), name, id, tar);
    assert_int_equal(spool_count(spool, BASE_TMP), 0);
    return reply;
}

/* Replaces the checker by a script that adds a line to the file "checks" for
 * each check. */
static void note_checks(struct spool *spool) {
    char ours[4096];
    ssize_t len = readlink("/proc/self/exe", ours, sizeof ours);
    assert_true(len > 0 && len < (ssize_t)sizeof ours);
    sh("rm -f checks; cat >noting <<'EOF'\n#!/bin/sh\necho >>'%s/checks'\n"
       "exec '%.*s' \"$@\"\nEOF\nchmod +x noting",
       test_dir(), (int)len, ours);
    CLEANUP(text_clear) struct text program = TEXT_INIT;
    text_addf(&program, "%s/noting", test_dir());
    prequeue_free(spool->prequeue);
    checker_free(spool->checker);
    spool->checker = checker_new(spool->base, NULL, text_string(&program));
    spool->prequeue =
        prequeue_new(spool->base, spool->checker, spool->projection);
}

static void an_uploaded_set_is_checked_once_unless_it_changes(void **state) {
    CLEANUP(text_clear) struct text tar = TEXT_INIT;
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    note_checks(&spool);
    spool_tar(&tar, "BF", "", "f");
    assert_true(upload(&spool, "", "C1", text_span(&tar)).ok);
    spool_scan(&spool);
    assert_true(spool_knows(&spool, "C1"));
    assert_string_equal(sh("wc -l <checks"), "1");
    /* The same bytes in another file. */
    struct reply reply = upload(&spool, "", "C2", text_span(&tar));
    sh("cd '%s/data'; cp '%s' new; mv -f new '%s'", spool.path, reply.name,
       reply.name);
    spool_scan(&spool);
    assert_true(spool_knows(&spool, "C2"));
    assert_string_equal(sh("wc -l <checks"), "3");
    /* The same file with other bytes, of the same size and time. */
    reply = upload(&spool, "", "C3", text_span(&tar));
    sh("cd '%s/data'; touch -r '%s' date; chmod u+w '%s'; "
       "printf garbage | dd of='%s' conv=notrunc status=none; "
       "chmod u-w '%s'; touch -r date '%s'; rm date",
       spool.path, reply.name, reply.name, reply.name, reply.name, reply.name);
    spool_scan(&spool);
    assert_false(spool_knows(&spool, "C3"));
    assert_string_equal(sh("wc -l <checks"), "5");
    spool_end(&spool);
}

static void an_uploaded_set_is_durable_and_admitted(void **state) {
    CLEANUP(text_clear) struct text tar = TEXT_INIT;
    struct spool spool;
    struct stat st;
    (void)state;
    spool_begin(&spool);
    spool_tar(&tar, "BF", "", "f");
    struct reply reply = upload(&spool, "some.tar", "C1", text_span(&tar));
    assert_true(reply.ok);
    assert_string_equal(reply.id, "C1");
    assert_true(spool_has(&spool, BASE_PREQUEUE, reply.name));
    assert_int_equal(fstatat(spool.base->dirs[BASE_DATA], reply.name, &st, 0),
                     0);
    assert_int_equal(st.st_mode & 0777, 0440);
    /* The answer was lost, so the caller sends the set again, before and after
     * the admission. */
    struct reply again = upload(&spool, "some.tar", "C1", text_span(&tar));
    assert_true(again.ok);
    assert_string_equal(again.name, reply.name);
    spool_scan(&spool);
    again = upload(&spool, "some.tar", "C1", text_span(&tar));
    assert_true(again.ok && again.again);
    assert_string_equal(again.name, reply.name);
    spool_scan(&spool);
    assert_int_equal(prequeue_tally(spool.prequeue).admitted, 1);
    assert_int_equal(spool_count(&spool, BASE_REJECT), 0);
    spool_assert_projected(&spool);
    spool_end(&spool);
}

static void assert_submitter(struct spool *spool, const char *id, uid_t uid) {
    char actor[32];
    struct job job = spool_job(spool, id);
    snprintf(actor, sizeof(actor), "uid:%lu", (unsigned long)uid);
    assert_int_equal(job.uid, uid);
    if (!span_is(job.actor, actor))
        fail_msg("%s was submitted by '%.*s'", id, (int)job.actor.len,
                 job.actor.p);
}

static void an_uploaded_set_belongs_to_the_caller(void **state) {
    CLEANUP(text_clear) struct text tar = TEXT_INIT;
    struct spool spool;
    uid_t other = geteuid() + 4711;
    (void)state;
    spool_begin(&spool);
    spool_tar(&tar, "BF", "", "f");
    assert_true(upload_by(&spool, other, "", "C1", text_span(&tar)).ok);
    spool_restart(&spool); /* the submitter is not forgotten */
    /* Its caller may send it again, and nobody else. */
    assert_true(upload_by(&spool, other, "", "C1", text_span(&tar)).ok);
    struct reply reply = upload(&spool, "", "C1", text_span(&tar));
    assert_int_equal(reply.kind, ERR_REFUSED);
    assert_non_null(strstr(reply.text, "duplicate-csid: a marker of uid:"));
    spool_scan(&spool);
    assert_submitter(&spool, "C1", other);
    assert_int_equal(spool_count(&spool, BASE_TMP), 0);
    assert_true(upload(&spool, "", "C2", text_span(&tar)).ok);
    spool_scan(&spool);
    assert_submitter(&spool, "C2", geteuid());
    spool_end(&spool);
}

static void marker_of(struct spool *spool, const char *name, uid_t uid) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct access_owner by = {.uid = uid};
    marker_format(span_of(name), &by, &text);
    spool_write(spool, BASE_PREQUEUE, name, text_span(&text));
}

static void a_damaged_marker_is_not_one_of_its_owner(void **state) {
    static const char *const parts[] = {"##submitted\n",
                                        "##submitted\nformat 1\nname "};
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    for (size_t i = 0; i < COUNT(parts); i++) {
        char id[8];
        snprintf(id, sizeof(id), "C%zu", i);
        const char *name = spool_put_set(&spool, id, "DC", "", "f");
        spool_write(&spool, BASE_PREQUEUE, name, span_of(parts[i]));
        spool_scan(&spool);
        assert_rejected(&spool, name, "job-file");
    }
    /* The marker of another set, as after a rename. */
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct access_owner by = {.uid = 4711};
    const char *name = spool_put_set(&spool, "C9", "DC", "", "f");
    marker_format(span_of(spool_name("C8", "DC")), &by, &text);
    spool_write(&spool, BASE_PREQUEUE, name, text_span(&text));
    spool_scan(&spool);
    assert_rejected(&spool, name, "job-file");
    spool_end(&spool);
}

static void
a_set_with_the_note_of_an_earlier_program_is_rejected(void **state) {
    char note[300];
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    const char *name = spool_put_set(&spool, "C1", "DC", "", "f");
    snprintf(note, sizeof(note), "by+%s", name);
    spool_write(&spool, BASE_TMP, note, SPAN("x"));
    spool_scan(&spool);
    assert_rejected(&spool, name, "old-note");
    spool_end(&spool);
}

/* Whoever made the second name may not be the owner of the file. A cut leaves
 * one in tmp/. */
static void a_marker_with_a_name_elsewhere_is_rejected(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    const char *name = spool_put_set(&spool, "C1", "DC", "", "f");
    int prequeue = spool.base->dirs[BASE_PREQUEUE];
    int tmp = spool.base->dirs[BASE_TMP];
    assert_int_equal(linkat(prequeue, name, tmp, "second", 0), 0);
    spool_scan(&spool);
    assert_submitter(&spool, "C1", geteuid());
    name = spool_put_set(&spool, "C2", "DC", "", "f");
    assert_int_equal(linkat(prequeue, name, spool.base->fd, "second", 0), 0);
    assert_int_equal(linkat(prequeue, name, tmp, "third", 0), 0);
    spool_scan(&spool);
    assert_rejected(&spool, name, "linked");
    spool_end(&spool);
}

/* Somebody who guesses an id could otherwise make the set theirs. */
static void a_marker_of_somebody_else_takes_over_no_set(void **state) {
    CLEANUP(text_clear) struct text tar = TEXT_INIT;
    uid_t other = geteuid() + 4711;
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    spool_tar(&tar, "DC", "", "f");
    const char *name = spool_name("C1", "DC");
    marker_of(&spool, name, other);
    struct reply reply = upload(&spool, name, "", text_span(&tar));
    assert_int_equal(reply.kind, ERR_REFUSED);
    assert_non_null(strstr(reply.text, "duplicate-csid: a marker of uid:"));
    assert_int_equal(spool_count(&spool, BASE_DATA), 0);
    /* Another name, with the class of another set. */
    marker_of(&spool, spool_name("C2", "EM"), other);
    assert_true(upload(&spool, "", "C2", text_span(&tar)).ok);
    spool_scan(&spool);
    assert_submitter(&spool, "C2", geteuid());
    /* With data it is a set: the same id is taken. */
    name = spool_put_set(&spool, "C3", "DC", "", "f");
    marker_of(&spool, name, other);
    reply = upload(&spool, "", "C3", text_span(&tar));
    assert_int_equal(reply.kind, ERR_REFUSED);
    spool_scan(&spool);
    assert_submitter(&spool, "C3", other);
    spool_end(&spool);
}

static void a_missing_id_is_derived_from_the_content(void **state) {
    CLEANUP(text_clear) struct text tar = TEXT_INIT;
    CLEANUP(text_clear) struct text other = TEXT_INIT;
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    spool_tar(&tar, "DC", "", "f");
    spool_tar(&other, "DC", "", "g");
    struct reply one = upload(&spool, "", "", text_span(&tar));
    struct reply two = upload(&spool, "x", "", text_span(&tar));
    struct reply three = upload(&spool, "", "", text_span(&other));
    assert_true(one.ok && two.ok && three.ok);
    assert_int_equal(one.id[0], 'j');
    assert_int_equal(strlen(one.id), 17);
    assert_string_equal(one.id, two.id);
    assert_string_not_equal(one.id, three.id);
    const char *name = spool_name("N1", "DC"); /* a full name is kept */
    struct reply named = upload(&spool, name, "", text_span(&tar));
    assert_true(named.ok);
    assert_string_equal(named.name, name);
    spool_scan(&spool);
    assert_int_equal(prequeue_tally(spool.prequeue).admitted, 3);
    spool_end(&spool);
}

static void a_bad_uploaded_set_is_rejected_and_leaves_nothing(void **state) {
    CLEANUP(text_clear) struct text tar = TEXT_INIT;
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    struct reply reply =
        upload(&spool, "x", "C1", SPAN("this is no tar archive at all"));
    assert_false(reply.ok);
    assert_int_equal(reply.kind, ERR_REFUSED);
    assert_memory_equal(reply.text, "not-tar: ", 9);
    spool_tar(&tar, "DC", "##supersedes\nC0\n", "f");
    reply = upload(&spool, "x", "C1", text_span(&tar));
    assert_int_equal(reply.kind, ERR_REFUSED);
    assert_non_null(strstr(reply.text, "bad-supersedes"));
    tar.len = 0;
    spool_tar(&tar, "DC", "", "f");
    assert_true(upload(&spool, "x", "C1", text_span(&tar)).ok);
    tar.len = 0;
    spool_tar(&tar, "DC", "", "g");
    for (int i = 0; i < 2; i++) { /* before and after the admission of C1 */
        reply = upload(&spool, "x", "C1", text_span(&tar));
        assert_int_equal(reply.kind, ERR_REFUSED);
        assert_non_null(strstr(reply.text, "duplicate-csid"));
        spool_scan(&spool);
    }
    assert_int_equal(spool_count(&spool, BASE_DATA), 1);
    assert_int_equal(spool_count(&spool, BASE_REJECT), 0);
    spool_end(&spool);
}

static void an_invalid_id_is_refused_before_the_upload(void **state) {
    struct spool spool;
    struct upload *upload;
    struct err err = {0};
    struct origin origin = {0};
    (void)state;
    spool_begin(&spool);
    assert_false(upload_open(spool.base, SPAN(""), SPAN("../x"), &origin,
                             &upload, &err));
    assert_int_equal(err.kind, ERR_DATA);
    assert_int_equal(spool_count(&spool, BASE_TMP), 0);
    assert_true(
        upload_open(spool.base, SPAN(""), SPAN("ok"), &origin, &upload, &err));
    assert_true(upload_write(upload, SPAN("abc"), &err));
    upload_abort(upload);
    assert_int_equal(spool_count(&spool, BASE_TMP), 0);
    spool_end(&spool);
}

static bool disk_is_full;
static ssize_t perhaps_write(int fd, const void *bytes, size_t count) {
    if (disk_is_full) {
        errno = ENOSPC;
        return -1;
    }
    return write(fd, bytes, count);
}

static void a_full_disk_is_a_temporary_error(void **state) {
    const struct disk *whole = disk;
    struct disk small = *whole;
    struct spool spool;
    struct upload *upload;
    struct err err = {0};
    struct origin origin = {0};
    (void)state;
    spool_begin(&spool);
    small.write = perhaps_write;
    assert_true(
        upload_open(spool.base, SPAN(""), SPAN("ok"), &origin, &upload, &err));
    disk = &small;
    disk_is_full = true;
    assert_false(upload_write(upload, SPAN("abc"), &err));
    assert_int_equal(err.kind, ERR_TEMPORARY);
    upload_abort(upload);
    disk = whole;
    /* A dropped set waits until there is space. */
    spool_write(&spool, BASE_PREQUEUE, "junk", SPAN("x"));
    disk = &small;
    assert_false(prequeue_scan(spool.prequeue, spool.now, &spool.next, &err));
    assert_int_equal(err.kind, ERR_TEMPORARY);
    assert_true(spool_has(&spool, BASE_PREQUEUE, "junk"));
    disk_is_full = false;
    disk = whole;
    spool_scan(&spool);
    assert_rejected(&spool, "junk", "bad-name");
    spool_end(&spool);
}

static void put_creates_data_and_marker(void **state) {
    CLEANUP(text_clear) struct text tar = TEXT_INIT;
    struct spool spool;
    struct err err = {0};
    (void)state;
    spool_begin(&spool);
    spool_tar(&tar, "DC", "", "f");
    spool_write(&spool, BASE_ARCHIVE, "in", text_span(&tar));
    CLEANUP(fd_close)
    int fd = openat(spool.base->dirs[BASE_ARCHIVE], "in", O_RDONLY);
    const char *name = spool_name("C1", "DC");
    assert_true(upload_put(spool.base, fd, span_of(name), &err));
    assert_true(spool_has(&spool, BASE_PREQUEUE, name));
    assert_true(spool_has(&spool, BASE_DATA, name));
    assert_int_equal(spool_count(&spool, BASE_TMP), 0);
    spool_scan(&spool);
    assert_true(spool_knows(&spool, "C1"));
    assert_int_equal(lseek(fd, 1, SEEK_SET), 1); /* so the content differs */
    assert_false(upload_put(spool.base, fd, span_of(name), &err));
    assert_int_equal(err.kind, ERR_REFUSED);
    assert_false(upload_put(spool.base, fd, SPAN("../evil"), &err));
    assert_int_equal(err.kind, ERR_REFUSED);
    assert_int_equal(spool_count(&spool, BASE_TMP), 0);
    spool_end(&spool);
}

static void a_command_runs_a_pass_if_no_role_runs(void **state) {
    struct spool spool;
    struct err err = {0};
    int role = -1;
    (void)state;
    spool_begin(&spool);
    spool_put_set(&spool, "C1", "DC", "", "f");
    assert_true(base_take_role(spool.base, "prequeue", LOCK_PID_KEEP, &role, &err));
    assert_true(prequeue_pass_alone(spool.base, NULL, spool.now, &err));
    assert_false(spool_knows(&spool, "C1")); /* left to the running role */
    base_give_role(spool.base, "prequeue", &role);
    assert_true(prequeue_pass_alone(spool.base, NULL, spool.now, &err));
    assert_true(spool_knows(&spool, "C1"));
    assert_int_equal(spool_count(&spool, BASE_PREQUEUE), 0);
    spool_run_until_idle(&spool);
    spool_assert_projected(&spool);
    spool_end(&spool);
}

int main(int argc, char **argv) {
    SPOOL_MAIN(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dropped_set_is_admitted),
        cmocka_unit_test(many_sets_are_admitted_in_one_scan),
        cmocka_unit_test(a_marker_waits_for_its_data_and_then_gives_up),
        cmocka_unit_test(a_name_from_the_future_waits_and_is_then_refused),
        cmocka_unit_test(a_job_file_submits_an_unknown_set),
        cmocka_unit_test(an_incomplete_job_file_is_waited_for),
        cmocka_unit_test(the_same_set_again_changes_nothing),
        cmocka_unit_test(an_id_is_never_used_again),
        cmocka_unit_test(the_first_of_two_sets_with_one_id_is_admitted),
        cmocka_unit_test(unsupported_features_are_rejected_with_a_reason),
        cmocka_unit_test(an_unknown_target_and_a_wrong_class_are_refused),
        cmocka_unit_test(a_refusal_is_an_event),
        cmocka_unit_test(an_uploaded_set_is_durable_and_admitted),
        cmocka_unit_test(an_uploaded_set_is_checked_once_unless_it_changes),
        cmocka_unit_test(an_uploaded_set_belongs_to_the_caller),
        cmocka_unit_test(a_damaged_marker_is_not_one_of_its_owner),
        cmocka_unit_test(a_set_with_the_note_of_an_earlier_program_is_rejected),
        cmocka_unit_test(a_marker_with_a_name_elsewhere_is_rejected),
        cmocka_unit_test(a_marker_of_somebody_else_takes_over_no_set),
        cmocka_unit_test(a_missing_id_is_derived_from_the_content),
        cmocka_unit_test(a_bad_uploaded_set_is_rejected_and_leaves_nothing),
        cmocka_unit_test(an_invalid_id_is_refused_before_the_upload),
        cmocka_unit_test(a_full_disk_is_a_temporary_error),
        cmocka_unit_test(put_creates_data_and_marker),
        cmocka_unit_test(a_command_runs_a_pass_if_no_role_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
