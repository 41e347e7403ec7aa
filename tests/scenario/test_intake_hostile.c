/* Hostile files in prequeue/ and data/: the daemon survives, the file goes to
 * reject/ with a readable reason, and nothing is written outside the base. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/random.h"
#include "support/spool.h"
#include "support/tarball.h"

static const char meta_of_f[] = "##movetype\nDC\n##target\nmain\n"
                                "##files\nf\n";

/* Returns the line with the reason. */
static const char *why_of(struct spool *spool, const char *name) {
    char why[300];
    snprintf(why, sizeof(why), "%.220s.why", name);
    if (!spool_has(spool, BASE_REJECT, why))
        fail_msg("'%s' was not rejected", name);
    return spool_text(spool, BASE_REJECT, why);
}

static void assert_word(struct spool *spool, const char *name,
                        const char *words) {
    const char *line = why_of(spool, name);
    struct span rest = span_of(words), word, got;
    struct span text = span_of(line);
    assert_true(span_cut(&text, ':', &got));
    while (span_cut(&rest, ' ', &word))
        if (span_equal(word, got))
            return;
    fail_msg("'%s' was rejected with '%s', expected '%s'", name, line, words);
}

static void still_works(struct spool *spool) {
    static int count;
    char id[32];
    snprintf(id, sizeof(id), "good-%d", count++);
    spool_admit(spool, id, "f");
    assert_int_equal(spool_count(spool, BASE_PREQUEUE), 0);
    assert_int_equal(spool_count(spool, BASE_TMP), 0);
    spool_assert_projected(spool);
}

/* ---- tarballs -------------------------------------------------------- */

typedef void maker(struct text *tar);

static void make_file(struct text *tar, const char *name) {
    tarball_file(tar, "meta", meta_of_f);
    tarball_file(tar, name, "x");
    tarball_end(tar);
}
static void dot_dot(struct text *tar) {
    make_file(tar, "lroot/../../evil");
}
static void absolute(struct text *tar) {
    make_file(tar, "/tmp/pointsman-evil");
}
static void dot_git(struct text *tar) {
    make_file(tar, "lroot/.GIT/config");
}
static void git_tilde(struct text *tar) {
    make_file(tar, "lroot/git~1/config");
}
static void outside(struct text *tar) {
    make_file(tar, "etc/passwd");
}
static void line_feed(struct text *tar) {
    make_file(tar, "lroot/a\nb");
}
static void link_of(struct text *tar, char type) {
    tarball_file(tar, "meta", meta_of_f);
    tarball_header(tar, "lroot/f", type, 0, 0644, "/etc/passwd");
    tarball_end(tar);
}
static void hard_link(struct text *tar) {
    link_of(tar, '1');
}
static void symbolic_link(struct text *tar) {
    link_of(tar, '2');
}
static void char_device(struct text *tar) {
    link_of(tar, '3');
}
static void block_device(struct text *tar) {
    link_of(tar, '4');
}
static void fifo(struct text *tar) {
    link_of(tar, '6');
}
static void through_a_link(struct text *tar) {
    tarball_file(tar, "meta",
                 "##movetype\nDC\n##target\nmain\n"
                 "##files\nd\nd/f\n");
    tarball_header(tar, "lroot/d", '2', 0, 0644, "sub");
    tarball_file(tar, "lroot/d/f", "x");
    tarball_end(tar);
}
static void twice(struct text *tar) {
    tarball_file(tar, "meta", meta_of_f);
    tarball_file(tar, "lroot/f", "x");
    tarball_file(tar, "lroot/f", "y");
    tarball_end(tar);
}
static void two_metas(struct text *tar) {
    tarball_file(tar, "meta", meta_of_f);
    tarball_file(tar, "meta", meta_of_f);
    tarball_file(tar, "lroot/f", "x");
    tarball_end(tar);
}
static void no_meta(struct text *tar) {
    tarball_file(tar, "lroot/f", "x");
    tarball_end(tar);
}
static void cut(struct text *tar) {
    make_file(tar, "lroot/f");
    tar->len = 1024 + 100;
}
static void cut_in_the_middle(struct text *tar) {
    tarball_file(tar, "meta", meta_of_f);
    tarball_header(tar, "lroot/f", '0', 1 << 20, 0644, NULL);
    text_adds(tar, "only this");
}
static void trailing_garbage(struct text *tar) {
    make_file(tar, "lroot/f");
    for (int i = 0; i < 100; i++)
        text_adds(tar, "something else follows here, which no tar is");
}
static void claims_a_larger_size(struct text *tar) {
    tarball_header(tar, "meta", '0', (size_t)7 << 30, 0644, NULL);
    tarball_content(tar, meta_of_f, strlen(meta_of_f));
    tarball_end(tar);
}
static void huge_meta(struct text *tar) {
    CLEANUP(text_clear) struct text meta = TEXT_INIT;
    text_adds(&meta, meta_of_f);
    text_adds(&meta, "##message\n");
    while (meta.len <= 1 << 20)
        text_adds(&meta, "All work and no play makes a dull meta.\n");
    tarball_header(tar, "meta", '0', meta.len, 0644, NULL);
    tarball_content(tar, meta.p, meta.len);
    tarball_file(tar, "lroot/f", "x");
    tarball_end(tar);
}
static void binary_meta(struct text *tar) {
    char bytes[512];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 37);
    tarball_header(tar, "meta", '0', sizeof(bytes), 0644, NULL);
    tarball_content(tar, bytes, sizeof(bytes));
    tarball_file(tar, "lroot/f", "x");
    tarball_end(tar);
}
static void files_differ(struct text *tar) {
    make_file(tar, "lroot/g");
}
static void without_files(struct text *tar) {
    tarball_file(tar, "meta", "##movetype\nDC\n##target\nmain\n");
    tarball_end(tar);
}
static void too_deep(struct text *tar) {
    CLEANUP(text_clear) struct text path = TEXT_INIT;
    text_adds(&path, "lroot");
    for (int i = 0; i < 70; i++)
        text_adds(&path, "/d");
    tarball_file(tar, "meta", meta_of_f);
    tarball_pax(tar, "path", text_span(&path));
    tarball_file(tar, "lroot/x", "x");
    tarball_end(tar);
}
static void empty(struct text *tar) {
    (void)tar;
}
static void noise(struct text *tar) {
    struct random random;
    random_init(&random, 7);
    for (int i = 0; i < 20000; i++)
        text_addc(tar, (char)random_below(&random, UINT64_MAX));
}
static void empty_gzip(struct text *tar) {
    text_add(tar, "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", 10);
}
static void xz_header_only(struct text *tar) {
    text_add(tar,
             "\xfd"
             "7zXZ\x00\x00\x04\xe6\xd6\xb4\x46",
             12);
}
static void zeros(struct text *tar) {
    static const char block[4096];
    for (int i = 0; i < 16; i++)
        text_add(tar, block, sizeof(block));
}

static const struct {
    const char *id;
    maker *make;
    const char *words;
} tarballs[] = {
    {"dot-dot", dot_dot, "bad-path"},
    {"absolute", absolute, "bad-path outside"},
    {"dot-git", dot_git, "dot-git"},
    {"git-tilde", git_tilde, "dot-git"},
    {"outside", outside, "outside"},
    {"line-feed", line_feed, "bad-path"},
    {"hard-link", hard_link, "member-type"},
    {"symbolic-link", symbolic_link, "symlink"},
    {"char-device", char_device, "member-type"},
    {"block-device", block_device, "member-type"},
    {"fifo", fifo, "member-type"},
    {"through-a-link", through_a_link, "symlink path-clash"},
    {"twice", twice, "duplicate"},
    {"two-metas", two_metas, "duplicate"},
    {"no-meta", no_meta, "no-meta"},
    {"cut", cut, "cut"},
    {"cut2", cut_in_the_middle, "cut"},
    {"garbage", trailing_garbage, "garbage"},
    {"lies", claims_a_larger_size, "cut too-big"},
    {"huge-meta", huge_meta, "too-big"},
    {"binary-meta", binary_meta, "meta-text"},
    {"differ", files_differ, "files-mismatch"},
    {"nothing", without_files, "empty"},
    {"deep", too_deep, "bad-path too-big"},
    {"empty", empty, "not-tar cut no-meta"},
    {"noise", noise, "not-tar corrupt"},
    {"gzip", empty_gzip, "cut not-tar corrupt"},
    {"xz", xz_header_only, "cut not-tar corrupt"},
    {"zeros", zeros, "not-tar no-meta garbage"},
};

static void every_hostile_tarball_is_rejected_with_its_reason(void **state) {
    const char *names[COUNT(tarballs)];
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    for (size_t i = 0; i < COUNT(tarballs); i++) {
        CLEANUP(text_clear) struct text tar = TEXT_INIT;
        tarballs[i].make(&tar);
        names[i] = mem_string(spool_name(tarballs[i].id, "DC"));
        spool_put(&spool, names[i], text_span(&tar));
    }
    spool_scan(&spool);
    for (size_t i = 0; i < COUNT(tarballs); i++) {
        assert_word(&spool, names[i], tarballs[i].words);
        assert_false(spool_has(&spool, BASE_DATA, names[i]));
        assert_true(spool_has(&spool, BASE_REJECT, names[i]));
        free((void *)(uintptr_t)names[i]);
    }
    assert_int_equal(access("/tmp/pointsman-evil", F_OK), -1);
    assert_int_equal(spool_count(&spool, BASE_QUEUE), 0);
    still_works(&spool);
    spool_end(&spool);
}

/* A valid tarball with one changed byte is either admitted or rejected. */
static void a_single_changed_byte_does_no_harm(void **state) {
    CLEANUP(text_clear) struct text tar = TEXT_INIT;
    struct spool spool;
    struct random random;
    char id[32];
    (void)state;
    spool_begin(&spool);
    random_init(&random, 42);
    spool_tar(&tar, "DC", "##message\nx\n", "f");
    for (int i = 0; i < 40; i++) {
        size_t at = random_below(&random, 2048);
        char old = tar.p[at];
        tar.p[at] = (char)random_below(&random, UINT64_MAX);
        snprintf(id, sizeof(id), "B%d", i);
        spool_put(&spool, spool_name(id, "DC"), text_span(&tar));
        tar.p[at] = old;
    }
    spool_scan(&spool);
    struct prequeue_tally tally = prequeue_tally(spool.prequeue);
    assert_int_equal(tally.admitted + tally.rejected, 40);
    still_works(&spool);
    spool_end(&spool);
}

/* ---- entries --------------------------------------------------------- */

static void odd_entries_in_prequeue_are_rejected(void **state) {
    struct spool spool;
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char longest[256];
    (void)state;
    spool_begin(&spool);
    int dir = spool.base->dirs[BASE_PREQUEUE];
    memset(longest, 'x', 255);
    longest[255] = '\0';
    static const char *const names[] = {"C1",
                                        ".hidden",
                                        "-rf",
                                        "a b",
                                        "new\nline",
                                        "\x1b[2J",
                                        "\xff\xfe",
                                        "C1_@zz_1_h_DC",
                                        "C_1_@400000006553f12200000000_1_h_DC",
                                        "C1_@400000006553f12200000000_1_h_ZZ"};
    for (size_t i = 0; i < COUNT(names); i++)
        spool_write(&spool, BASE_PREQUEUE, names[i], SPAN(""));
    assert_int_equal(close(openat(dir, longest, O_CREAT | O_WRONLY, 0600)), 0);
    assert_int_equal(mkdirat(dir, "directory", 0700), 0);
    assert_int_equal(mkdirat(dir, "directory/inside", 0700), 0);
    assert_int_equal(mkfifoat(dir, "pipe", 0600), 0);
    assert_int_equal(symlinkat("/etc/passwd", dir, "link"), 0);
    const char *linked = spool_name("L1", "DC");
    assert_int_equal(symlinkat("/etc/passwd", dir, linked), 0);
    snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/socket", dir);
    CLEANUP(fd_close) int sock = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(sock, (struct sockaddr *)&at, sizeof(at)), 0);
    spool_scan(&spool);
    for (size_t i = 0; i < COUNT(names); i++)
        assert_word(&spool, names[i], "bad-name");
    assert_word(&spool, longest, "bad-name");
    assert_word(&spool, "directory", "not-a-file");
    assert_word(&spool, "pipe", "not-a-file");
    assert_word(&spool, "link", "not-a-file");
    assert_word(&spool, linked, "not-a-file");
    assert_word(&spool, "socket", "not-a-file");
    assert_null(strchr(why_of(&spool, "\x1b[2J"), '\x1b'));
    assert_null(strstr(why_of(&spool, "new\nline"), "new\n"));
    still_works(&spool);
    spool_end(&spool);
}

static void a_name_rejected_twice_keeps_both_files(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    for (int i = 0; i < 3; i++) {
        spool_write(&spool, BASE_PREQUEUE, "junk", SPAN("x"));
        spool_scan(&spool);
    }
    assert_true(spool_has(&spool, BASE_REJECT, "junk"));
    assert_true(spool_has(&spool, BASE_REJECT, "junk.1"));
    assert_true(spool_has(&spool, BASE_REJECT, "junk.2.why"));
    spool_end(&spool);
}

static void odd_entries_in_data_are_rejected(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    int data = spool.base->dirs[BASE_DATA];
    const char *dir = spool_name("D1", "DC"), *link = spool_name("D2", "DC"),
               *pipe = spool_name("D3", "DC"), *huge = spool_name("D4", "DC");
    assert_int_equal(mkdirat(data, dir, 0700), 0);
    assert_int_equal(symlinkat("/etc/passwd", data, link), 0);
    assert_int_equal(mkfifoat(data, pipe, 0600), 0);
    spool_write(&spool, BASE_PREQUEUE, dir, SPAN(""));
    spool_write(&spool, BASE_PREQUEUE, link, SPAN(""));
    spool_write(&spool, BASE_PREQUEUE, pipe, SPAN(""));
    spool_put(&spool, huge, SPAN(""));
    CLEANUP(fd_close) int fd = openat(data, huge, O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, INT64_C(1) << 40), 0);
    spool_scan(&spool);
    assert_word(&spool, huge, "too-big");
    assert_word(&spool, dir, "bad-data");
    assert_word(&spool, pipe, "bad-data");
    assert_word(&spool, link, "bad-data");
    still_works(&spool);
    spool_end(&spool);
}

static void junk_job_files_are_rejected(void **state) {
    CLEANUP(text_clear) struct text huge = TEXT_INIT;
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    const char *junk = spool_name("J1", "DC"), *big = spool_name("J2", "DC"),
               *other = spool_name("J3", "DC");
    spool_write(&spool, BASE_PREQUEUE, junk, SPAN("\x7f\x45\x4c\x46 junk"));
    while (huge.len <= 4 << 20)
        text_adds(&huge, "##x\nyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\n");
    spool_write(&spool, BASE_PREQUEUE, big, text_span(&huge));
    spool_admit(&spool, "C1", "f");
    struct job job = spool_job(&spool, "C1");
    char name[256];
    snprintf(name, sizeof(name), "%.*s", (int)job.name.len, job.name.p);
    spool_write(&spool, BASE_PREQUEUE, other,
                span_of(spool_text(&spool, BASE_QUEUE, name)));
    spool_scan(&spool);
    assert_word(&spool, junk, "job-file");
    assert_word(&spool, big, "job-file");
    assert_word(&spool, other, "job-file");
    still_works(&spool);
    spool_end(&spool);
}

/* ---- the checker ----------------------------------------------------- */

static char *script(const char *text) {
    static int count;
    static char path[4096];
    snprintf(path, sizeof(path), "%s/checker%d", test_dir(), count++);
    int fd = open(path, O_CREAT | O_WRONLY, 0700);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    return path;
}

struct verdict {
    bool came, ok;
    enum refusal_kind kind;
};

static void on_verdict(void *ctx, bool ok, const struct set_check *check,
                       const struct err *err) {
    struct verdict *verdict = ctx;
    (void)err;
    verdict->came = true;
    verdict->ok = ok;
    verdict->kind = ok ? check->why.kind : REFUSAL_NONE;
}

static struct verdict check_with(struct spool *spool, const char *program) {
    struct verdict verdict = {0};
    struct checker *checker = checker_new(spool->base, NULL, program);
    CLEANUP(fd_close) int fd = open("/dev/null", O_RDONLY);
    checker_check(checker, fd, on_verdict, &verdict);
    assert_true(verdict.came);
    checker_free(checker);
    return verdict;
}

static void each_failure_of_the_checker_is_a_verdict(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    static const char *const bad[] = {
        "#!/bin/sh\nkill -SEGV $$\n", "#!/bin/sh\nkill -KILL $$\n",
        "#!/bin/sh\nexit 1\n",        "#!/bin/sh\nexit 0\n",
        "#!/bin/sh\necho nonsense\n",
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct verdict verdict = check_with(&spool, script(bad[i]));
        assert_true(verdict.ok);
        assert_int_equal(verdict.kind, REFUSAL_INVALID);
    }
    struct verdict later = check_with(&spool, script("#!/bin/sh\nexit 75\n"));
    assert_false(later.ok);
    later = check_with(&spool, "/no/such/program");
    assert_false(later.ok);
    spool_end(&spool);
}

static void a_checker_that_hangs_is_killed(void **state) {
    struct spool spool;
    (void)state;
    spool_begin(&spool);
    spool.base->config.queue.check_cpu_s = 0; /* no time at all */
    struct verdict verdict =
        check_with(&spool, script("#!/bin/sh\nexec sleep 1000\n"));
    assert_true(verdict.ok);
    assert_int_equal(verdict.kind, REFUSAL_INVALID);
    spool_end(&spool);
}

int main(int argc, char **argv) {
    SPOOL_MAIN(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_hostile_tarball_is_rejected_with_its_reason),
        cmocka_unit_test(a_single_changed_byte_does_no_harm),
        cmocka_unit_test(odd_entries_in_prequeue_are_rejected),
        cmocka_unit_test(a_name_rejected_twice_keeps_both_files),
        cmocka_unit_test(odd_entries_in_data_are_rejected),
        cmocka_unit_test(junk_job_files_are_rejected),
        cmocka_unit_test(each_failure_of_the_checker_is_a_verdict),
        cmocka_unit_test(a_checker_that_hangs_is_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
