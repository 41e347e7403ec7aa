#include "support/tarball.h"
#include "support/test.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/arena.h"
#include "wire/set_check.h"
#include "wire/set_tar.h"

#define META_OF(files) "##movetype\nDC\n##target\nmain\n##files\n" files

static struct arena arena;
static struct text tar;
static struct set_limits limits;
static struct set_check check;

static int setup(void **state) {
    (void)state;
    limits = SET_LIMITS;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    arena_clear(&arena);
    text_clear(&tar);
    return 0;
}

static int descriptor_of(struct span bytes) {
    int fd = memfd_create("tarball", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes.p, bytes.len), bytes.len);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static void check_bytes(struct span bytes) {
    struct err err = {0};
    int fd = descriptor_of(bytes);
    if (!set_tar_check(fd, &limits, &arena, &check, &err))
        fail_msg("%s", err.text);
    close(fd);
    assert_int_equal(check.size, bytes.len);
    assert_int_equal(strlen(check.sha256), 64);
}

static void assert_accepted(void) {
    check_bytes(text_span(&tar));
    if (check.why.kind)
        fail_msg("%s: %s", refusal_word(check.why.kind), check.why.text);
}

static void assert_bytes_refused(struct span bytes, enum refusal_kind kind,
                                 const char *words) {
    check_bytes(bytes);
    if (check.why.kind != kind || !strstr(check.why.text, words))
        fail_msg("'%s: %s' instead of '%s: %s'", refusal_word(check.why.kind),
                 check.why.text, refusal_word(kind), words);
}

static void assert_refused(enum refusal_kind kind, const char *words) {
    assert_bytes_refused(text_span(&tar), kind, words);
}

/* Begins a set; the test adds its members. */
static void begin(const char *meta) {
    text_reset(&tar);
    tarball_file(&tar, "meta", meta);
}

static void assert_member_refused(const char *name, char type,
                                  enum refusal_kind kind, const char *words) {
    begin(META_OF("a\n"));
    tarball_file(&tar, "lroot/a", "A");
    tarball_header(&tar, name, type, 0, 0644, "a");
    tarball_end(&tar);
    assert_refused(kind, words);
}

static void compress_with(int (*filter)(struct archive *), struct text *out) {
    struct archive *archive = archive_write_new();
    struct archive_entry *entry = archive_entry_new();
    size_t cap = tar.len + (1 << 20), used = 0;
    char *memory = mem_alloc(cap);
    archive_write_set_format_raw(archive);
    filter(archive);
    archive_write_open_memory(archive, memory, cap, &used);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_write_header(archive, entry);
    archive_write_data(archive, tar.p, tar.len);
    archive_entry_free(entry);
    assert_int_equal(archive_write_close(archive), ARCHIVE_OK);
    archive_write_free(archive);
    text_add(out, memory, used);
    free(memory);
}

static void put_valid_set(void) {
    begin(META_OF("b/c\na\n"));
    tarball_header(&tar, "lroot/", '5', 0, 0755, NULL);
    tarball_header(&tar, "lroot/b", '5', 0, 0755, NULL);
    tarball_header(&tar, "lroot/b/c", '0', 3, 06755, NULL);
    tarball_content(&tar, "cc\n", 3);
    tarball_file(&tar, "lroot/a", "");
    tarball_end(&tar);
}

static void members_of_a_valid_set_are_listed(void **state) {
    (void)state;
    text_reset(&tar);
    put_valid_set();
    assert_accepted();
    assert_int_equal(check.member_count, 2);
    assert_true(span_is(check.members[0].path, "a"));
    assert_int_equal(check.members[0].size, 0);
    assert_false(check.members[0].executable);
    assert_true(span_is(check.members[1].path, "b/c"));
    assert_int_equal(check.members[1].size, 3);
    assert_true(check.members[1].executable);
    assert_int_equal(check.meta.movetype, SET_DC);
}

static void the_sum_is_a_sha256(void **state) {
    (void)state;
    assert_bytes_refused(SPAN("abc"), REFUSAL_NOT_TAR, "");
    assert_string_equal(check.sha256, "ba7816bf8f01cfea414140de5dae2223"
                                      "b00361a396177a9cb410ff61f20015ad");
}

static void meta_may_be_the_last_member(void **state) {
    (void)state;
    text_reset(&tar);
    tarball_file(&tar, "lroot/a", "A");
    tarball_file(&tar, "meta", META_OF("a\n"));
    tarball_end(&tar);
    assert_accepted();
}

static void compressed_sets_are_accepted(void **state) {
    (void)state;
    static int (*const filters[])(struct archive *) = {
        archive_write_add_filter_gzip, archive_write_add_filter_xz,
        archive_write_add_filter_zstd};
    put_valid_set();
    for (size_t i = 0; i < COUNT(filters); i++) {
        CLEANUP(text_clear) struct text packed = TEXT_INIT;
        compress_with(filters[i], &packed);
        check_bytes(text_span(&packed));
        if (check.why.kind)
            fail_msg("filter %zu: %s", i, check.why.text);
        assert_int_equal(check.member_count, 2);
        /* The same file with bytes after its end, and truncated. */
        text_adds(&packed, "garbage");
        check_bytes(text_span(&packed));
        assert_true(check.why.kind == REFUSAL_GARBAGE ||
                    check.why.kind == REFUSAL_CORRUPT);
        packed.len -= strlen("garbage") + 20;
        check_bytes(text_span(&packed));
        assert_true(check.why.kind == REFUSAL_CUT ||
                    check.why.kind == REFUSAL_CORRUPT);
    }
}

/* libarchive does not check them. */
static void the_sums_of_gzip_are_checked(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text packed = TEXT_INIT;
    put_valid_set();
    compress_with(archive_write_add_filter_gzip, &packed);
    for (size_t back = 1; back <= 8; back++) {
        packed.p[packed.len - back] ^= 1;
        assert_bytes_refused(text_span(&packed), REFUSAL_CORRUPT, "damaged");
        packed.p[packed.len - back] ^= 1;
    }
    check_bytes(text_span(&packed));
    assert_int_equal(check.why.kind, REFUSAL_NONE);
}

static void other_compressions_and_formats_are_refused(void **state) {
    (void)state;
    put_valid_set();
    CLEANUP(text_clear) struct text packed = TEXT_INIT;
    CLEANUP(text_clear) struct text twice = TEXT_INIT;
    compress_with(archive_write_add_filter_bzip2, &packed);
    assert_bytes_refused(text_span(&packed), REFUSAL_NOT_TAR, "not a tar");
    text_reset(&packed);
    compress_with(archive_write_add_filter_gzip, &packed);
    text_reset(&tar);
    text_addspan(&tar, text_span(&packed));
    compress_with(archive_write_add_filter_gzip, &twice);
    assert_bytes_refused(text_span(&twice), REFUSAL_NOT_TAR, "twice");
    assert_bytes_refused(SPAN(""), REFUSAL_NOT_TAR, "empty");
    assert_bytes_refused(SPAN("hello, world\n"), REFUSAL_NOT_TAR, "");
    assert_bytes_refused(SPAN("PK\003\004 and so on"), REFUSAL_NOT_TAR, "");
}

static void a_truncated_set_is_refused(void **state) {
    (void)state;
    put_valid_set();
    for (size_t bytes = 0; bytes < tar.len; bytes += 128) {
        check_bytes(span_make(tar.p, bytes));
        if (!check.why.kind)
            fail_msg("accepted when truncated to %zu bytes", bytes);
    }
    /* A set truncated between two members does not look damaged. */
    put_valid_set();
    assert_bytes_refused(span_make(tar.p, tar.len - 1024), REFUSAL_CUT,
                         "the archive is truncated");
    /* A last file full of zeros is not the end of the archive. */
    begin(META_OF("z\n"));
    static const char zeros[4096];
    tarball_header(&tar, "lroot/z", '0', sizeof zeros, 0644, NULL);
    tarball_content(&tar, zeros, sizeof zeros);
    assert_refused(REFUSAL_CUT, "the archive is truncated");
    tarball_end(&tar);
    assert_accepted();
}

static void garbage_after_the_end_is_refused(void **state) {
    (void)state;
    static const char zeros[10240];
    put_valid_set();
    text_add(&tar, zeros, sizeof zeros);
    assert_accepted();
    text_addc(&tar, 'x');
    assert_refused(REFUSAL_GARBAGE, "data after the end");
    /* libarchive would stop at a single block of zeros before a member. */
    begin(META_OF("a\n"));
    tarball_file(&tar, "lroot/a", "A");
    text_add(&tar, zeros, 512);
    tarball_file(&tar, "lroot/b", "B");
    tarball_end(&tar);
    assert_refused(REFUSAL_GARBAGE, "data after the end");
}

static void members_of_other_types_are_refused(void **state) {
    (void)state;
    static const char types[] = "1346";
    for (size_t i = 0; i + 1 < sizeof types; i++)
        assert_member_refused("lroot/b", types[i], REFUSAL_MEMBER_TYPE,
                              "lroot/b");
    assert_member_refused("meta", '5', REFUSAL_MEMBER_TYPE, "meta");
    assert_member_refused("lroot", '0', REFUSAL_MEMBER_TYPE, "lroot");
}

static void hostile_names_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *name;
        enum refusal_kind kind;
    } cases[] = {
        {"/etc/passwd", REFUSAL_BAD_PATH},
        {"lroot/../../x", REFUSAL_BAD_PATH},
        {"../x", REFUSAL_BAD_PATH},
        {"lroot/./x", REFUSAL_BAD_PATH},
        {"lroot//x", REFUSAL_BAD_PATH},
        {"./lroot/x", REFUSAL_BAD_PATH},
        {".", REFUSAL_BAD_PATH},
        {"lroot/a\nb", REFUSAL_BAD_PATH},
        {"lroot/.git/config", REFUSAL_DOT_GIT},
        {"lroot/x/.GiT", REFUSAL_DOT_GIT},
        {"lroot/.git./x", REFUSAL_DOT_GIT},
        {"lroot/GIT~1/x", REFUSAL_DOT_GIT},
        {"README", REFUSAL_OUTSIDE},
        {"lroot2/x", REFUSAL_OUTSIDE},
        {"metadata", REFUSAL_OUTSIDE},
        {"meta", REFUSAL_DUPLICATE},
        {"lroot/a", REFUSAL_DUPLICATE},
        {"lroot/a/b", REFUSAL_PATH_CLASH},
        {"lroot/new", REFUSAL_FILES_MISMATCH},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_member_refused(cases[i].name, '0', cases[i].kind, "");
}

static void long_names_are_checked_as_well(void **state) {
    (void)state;
    begin(META_OF("a\n"));
    tarball_pax(&tar, "path", SPAN("lroot/../x"));
    tarball_file(&tar, "lroot/a", "A");
    tarball_end(&tar);
    assert_refused(REFUSAL_BAD_PATH, "lroot/../x");
    begin(META_OF("f\xc3\xbcr\n"));
    tarball_pax(&tar, "path", SPAN("lroot/f\xc3\xbcr"));
    tarball_file(&tar, "lroot/a", "A");
    tarball_end(&tar);
    assert_accepted();
    begin(META_OF("a\n"));
    tarball_header(&tar, "././@LongLink", 'L', 12, 0644, NULL);
    tarball_content(&tar, "/etc/passwd", 12);
    tarball_file(&tar, "lroot/a", "A");
    tarball_end(&tar);
    assert_refused(REFUSAL_BAD_PATH, "/etc/passwd");
}

static void a_nul_byte_in_a_name_is_refused(void **state) {
    (void)state;
    begin(META_OF("a\n"));
    tarball_pax(&tar, "path", span_make("lroot/a\0b", 9));
    tarball_file(&tar, "lroot/a", "A");
    tarball_end(&tar);
    assert_refused(REFUSAL_BAD_PATH, "NUL");
    begin(META_OF("big\na\n"));
    tarball_header(&tar, "lroot/big", '0', 300000, 0644, NULL);
    for (int i = 0; i < 300032 / 512; i++)
        tarball_header(&tar, "lroot/data", 'x', 1, 0644, NULL);
    tarball_header(&tar, "././@LongLink", 'L', 10, 0644, NULL);
    tarball_content(&tar, "lroot/a\0b", 10);
    tarball_file(&tar, "lroot/a", "A");
    tarball_end(&tar);
    assert_refused(REFUSAL_BAD_PATH, "NUL");
    begin(META_OF("a\n"));
    tarball_pax(&tar, "SCHILY.xattr.x", span_make("a\0b", 3));
    tarball_file(&tar, "lroot/a", "A");
    tarball_end(&tar);
    assert_accepted();
}

static void links_are_refused_unless_allowed(void **state) {
    (void)state;
    begin(META_OF("d/l\n"));
    tarball_header(&tar, "lroot/d/l", '2', 0, 0777, "../x");
    tarball_end(&tar);
    assert_refused(REFUSAL_SYMLINK, "does not allow");
    limits.symlinks = true;
    assert_accepted();
    assert_true(check.members[0].symlink);
    assert_true(span_is(check.members[0].link, "../x"));
    begin(META_OF("l\n"));
    tarball_header(&tar, "lroot/l", '2', 0, 0777, "/etc/passwd");
    tarball_end(&tar);
    assert_refused(REFUSAL_SYMLINK, "/etc/passwd");
    begin(META_OF("l\nl/x\n"));
    tarball_header(&tar, "lroot/l", '2', 0, 0777, "d");
    tarball_file(&tar, "lroot/l/x", "X");
    tarball_end(&tar);
    assert_refused(REFUSAL_SYMLINK, "through the symbolic link");
}

static void limits_of_size_and_number_are_enforced(void **state) {
    (void)state;
    char big[3000];
    memset(big, 'x', sizeof big);
    put_valid_set();
    limits.members = 4;
    assert_refused(REFUSAL_TOO_BIG, "more than 4 members");
    limits.members = 5;
    assert_accepted();
    limits.unpacked_bytes = tar.len;
    assert_accepted();
    limits.unpacked_bytes = tar.len - 1;
    assert_refused(REFUSAL_TOO_BIG, "unpacks to more");
    limits = SET_LIMITS;
    limits.meta_bytes = 10;
    assert_refused(REFUSAL_TOO_BIG, "'meta'");
}

static void a_decompression_bomb_is_refused(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text packed = TEXT_INIT;
    char *zeros = mem_alloc(4 << 20);
    begin(META_OF("z\n"));
    tarball_header(&tar, "lroot/z", '0', 4 << 20, 0644, NULL);
    tarball_content(&tar, zeros, 4 << 20);
    tarball_end(&tar);
    free(zeros);
    compress_with(archive_write_add_filter_gzip, &packed);
    check_bytes(text_span(&packed));
    assert_int_equal(check.why.kind, REFUSAL_NONE);
    limits.ratio_from_bytes = 1 << 20;
    assert_bytes_refused(text_span(&packed), REFUSAL_BOMB, "unpack to");
}

static void meta_is_required_and_must_list_the_files(void **state) {
    (void)state;
    text_reset(&tar);
    tarball_file(&tar, "lroot/a", "A");
    tarball_end(&tar);
    assert_refused(REFUSAL_NO_META, "no member 'meta'");
    begin(META_OF("a\nb\n"));
    tarball_file(&tar, "lroot/a", "A");
    tarball_end(&tar);
    assert_refused(REFUSAL_FILES_MISMATCH, "'b' is listed");
    begin("junk");
    tarball_end(&tar);
    assert_refused(REFUSAL_META_TEXT, "junk");
}

static void a_rollback_needs_no_files(void **state) {
    (void)state;
    begin("##movetype\nRB\n##target\nmain\n##dependencies\nC1\n");
    tarball_end(&tar);
    assert_accepted();
    assert_int_equal(check.member_count, 0);
}

struct visit {
    struct text seen;
    int left; /* calls until a failure; negative: never fails */
};

static bool visit_count(struct visit *visit, struct err *err) {
    if (visit->left-- != 0)
        return true;
    return err_set(err, ERR_TEMPORARY, "enough");
}

static bool on_begin(void *context, const struct set_member *member,
                     struct err *err) {
    struct visit *visit = context;
    text_addf(&visit->seen, "[%.*s%s%s ", (int)member->path.len, member->path.p,
              member->executable ? "*" : "", member->symlink ? "@" : "");
    return visit_count(visit, err);
}

static bool on_content(void *context, const void *p, size_t bytes,
                       struct err *err) {
    struct visit *visit = context;
    text_add(&visit->seen, p, bytes);
    return visit_count(visit, err);
}

static bool on_end(void *context, struct err *err) {
    struct visit *visit = context;
    text_addc(&visit->seen, ']');
    return visit_count(visit, err);
}

static bool walk(struct visit *visit, struct err *err) {
    struct set_visitor visitor = {visit, on_begin, on_content, on_end};
    int fd = descriptor_of(text_span(&tar));
    bool ok = set_tar_walk(fd, &limits, &visitor, &arena, &check, err);
    close(fd);
    return ok;
}

static void the_visitor_gets_the_content(void **state) {
    (void)state;
    put_valid_set();
    struct visit visit = {.left = -1};
    struct err err = {0};
    assert_true(walk(&visit, &err));
    assert_int_equal(check.why.kind, REFUSAL_NONE);
    assert_string_equal(visit.seen.p, "[b/c* cc\n][a ]");
    text_clear(&visit.seen);
    for (int calls = 0; calls < 5; calls++) {
        visit = (struct visit){.left = calls};
        assert_false(walk(&visit, &err));
        assert_string_equal(err.text, "enough");
        text_clear(&visit.seen);
    }
}

static void a_read_error_is_not_a_refusal(void **state) {
    (void)state;
    struct err err = {0};
    int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_false(set_tar_check(fd, &limits, &arena, &check, &err));
    assert_non_null(strstr(err.text, "cannot read the tarball"));
    close(fd);
}

static void a_result_is_decoded_as_it_was_encoded(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text bytes = TEXT_INIT;
    struct set_check back;
    put_valid_set();
    assert_accepted();
    set_check_encode(&check, &bytes);
    assert_true(bytes.len <= set_check_bytes_max(&limits));
    assert_true(
        set_check_decode(text_span(&bytes), &limits, &arena, &back, NULL));
    assert_string_equal(back.sha256, check.sha256);
    assert_int_equal(back.size, check.size);
    assert_int_equal(back.member_count, 2);
    assert_true(back.members[1].executable);
    assert_true(span_is(back.meta.target, "main"));
    for (size_t len = 0; len < bytes.len; len++)
        assert_false(set_check_decode(span_make(bytes.p, len), &limits, &arena,
                                      &back, NULL));
    text_addc(&bytes, 'x');
    assert_false(
        set_check_decode(text_span(&bytes), &limits, &arena, &back, NULL));
}

static void a_refusal_is_decoded_as_it_was_encoded(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text bytes = TEXT_INIT;
    struct set_check back;
    assert_member_refused("README", '0', REFUSAL_OUTSIDE, "README");
    set_check_encode(&check, &bytes);
    assert_true(
        set_check_decode(text_span(&bytes), &limits, &arena, &back, NULL));
    assert_int_equal(back.why.kind, REFUSAL_OUTSIDE);
    assert_string_equal(back.why.text, check.why.text);
    assert_int_equal(back.member_count, 0);
}

static void a_result_with_a_forged_path_is_refused(void **state) {
    (void)state;
    CLEANUP(text_clear) struct text bytes = TEXT_INIT;
    struct set_check back;
    put_valid_set();
    assert_accepted();
    check.members[0].path = SPAN("../a");
    set_check_encode(&check, &bytes);
    assert_false(
        set_check_decode(text_span(&bytes), &limits, &arena, &back, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup(name, setup)
        TEST(members_of_a_valid_set_are_listed),
        TEST(the_sum_is_a_sha256),
        TEST(meta_may_be_the_last_member),
        TEST(compressed_sets_are_accepted),
        TEST(the_sums_of_gzip_are_checked),
        TEST(other_compressions_and_formats_are_refused),
        TEST(a_truncated_set_is_refused),
        TEST(garbage_after_the_end_is_refused),
        TEST(members_of_other_types_are_refused),
        TEST(hostile_names_are_refused),
        TEST(long_names_are_checked_as_well),
        TEST(a_nul_byte_in_a_name_is_refused),
        TEST(links_are_refused_unless_allowed),
        TEST(limits_of_size_and_number_are_enforced),
        TEST(a_decompression_bomb_is_refused),
        TEST(meta_is_required_and_must_list_the_files),
        TEST(a_rollback_needs_no_files),
        TEST(the_visitor_gets_the_content),
        TEST(a_read_error_is_not_a_refusal),
        TEST(a_result_is_decoded_as_it_was_encoded),
        TEST(a_refusal_is_decoded_as_it_was_encoded),
        TEST(a_result_with_a_forged_path_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
