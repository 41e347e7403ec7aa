#include "wire/set_check.h"

#include <stdlib.h>

enum {
    FLAG_EXECUTABLE = 1,
    FLAG_SYMLINK = 2,
    HEAD_BYTES = 4096,
    MEMBER_BYTES = 1 + 8 + 4 + 4
};

static const char magic[4] = "PCK1";

static int member_order(const void *a, const void *b) {
    return path_compare(((const struct set_member *)a)->path,
                        ((const struct set_member *)b)->path);
}

static bool refuse_difference(struct set_check *check, struct span path,
                              bool in_meta) {
    return refusal_set(&check->why, REFUSAL_FILES_MISMATCH,
                       in_meta ? "'%.*s' is listed in ##files, but not in "
                                 "the archive's lroot/"
                               : "'%.*s' is in the archive's lroot/, but not "
                                 "listed in ##files",
                       (int)path.len, path.p);
}

bool set_check_agree(struct set_check *check) {
    const struct lines *files = &check->meta.files;
    struct set_member *members = check->members;
    if (check->meta.movetype == SET_RB)
        check->member_count = 0;
    if (check->member_count)
        qsort(members, check->member_count, sizeof *members, member_order);
    for (size_t f = 0, m = 0; f < files->count || m < check->member_count;
         f++, m++) {
        if (m == check->member_count)
            return refuse_difference(check, files->items[f], true);
        if (f == files->count)
            return refuse_difference(check, members[m].path, false);
        int order = path_compare(files->items[f], members[m].path);
        if (order)
            return refuse_difference(
                check, order < 0 ? files->items[f] : members[m].path,
                order < 0);
    }
    return true;
}

uint64_t set_check_bytes_max(const struct set_limits *limits) {
    return HEAD_BYTES + limits->meta_bytes + limits->members * MEMBER_BYTES +
           SET_PATHS_BYTES;
}

static void put_number(struct text *out, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++)
        text_addc(out, (char)(value >> (8 * i)));
}

static void put_span(struct text *out, struct span span) {
    put_number(out, span.len, 4);
    text_addspan(out, span);
}

static void put_member(struct text *out, const struct set_member *member) {
    put_number(out,
               (member->executable ? FLAG_EXECUTABLE : 0) |
                   (member->symlink ? FLAG_SYMLINK : 0),
               1);
    put_number(out, member->size, 8);
    put_span(out, member->path);
    put_span(out, member->link);
}

void set_check_encode(const struct set_check *check, struct text *out) {
    bool refused = check->why.kind != REFUSAL_NONE;
    text_add(out, magic, sizeof magic);
    put_span(out, span_of(refusal_word(check->why.kind)));
    put_span(out, span_of(check->why.text));
    put_span(out, span_of(check->sha256));
    put_number(out, check->size, 8);
    put_number(out, check->unpacked_bytes, 8);
    put_span(out, refused ? (struct span){0} : check->meta_text);
    put_number(out, refused ? 0 : check->member_count, 4);
    for (size_t i = 0; !refused && i < check->member_count; i++)
        put_member(out, &check->members[i]);
}

/* The bytes left to decode; after the first missing byte there are none. */
struct rest {
    const unsigned char *p;
    size_t len;
    bool broken;
};

static uint64_t take_number(struct rest *rest, size_t bytes) {
    uint64_t value = 0;
    if (rest->len < bytes) {
        rest->broken = true;
        return 0;
    }
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)rest->p[i] << (8 * i);
    rest->p += bytes;
    rest->len -= bytes;
    return value;
}

static struct span take_span(struct rest *rest, struct arena *arena,
                             uint64_t most) {
    uint64_t len = take_number(rest, 4);
    if (len > most || len > rest->len) {
        rest->broken = true;
        return (struct span){0};
    }
    struct span span =
        arena_span(arena, span_make((const char *)rest->p, (size_t)len));
    rest->p += len;
    rest->len -= (size_t)len;
    return span;
}

static bool take_head(struct rest *rest, struct arena *arena,
                      struct set_check *check) {
    if (rest->len < sizeof magic || memcmp(rest->p, magic, sizeof magic))
        return false;
    rest->p += sizeof magic;
    rest->len -= sizeof magic;
    struct span word = take_span(rest, arena, 64);
    struct span text = take_span(rest, arena, ERR_TEXT_BYTES - 1);
    struct span sum = take_span(rest, arena, SHA256_HEX_BYTES - 1);
    check->size = take_number(rest, 8);
    check->unpacked_bytes = take_number(rest, 8);
    if (rest->broken || sum.len != SHA256_HEX_BYTES - 1)
        return false;
    for (size_t i = 0; i < sum.len; i++)
        if (!sum.p[i] || !strchr("0123456789abcdef", sum.p[i]))
            return false;
    memcpy(check->sha256, sum.p, sum.len);
    if (!word.len)
        return !text.len;
    enum refusal_kind kind;
    if (!refusal_find(word, &kind))
        return false;
    refusal_set(&check->why, kind, "%.*s", (int)text.len, text.p ? text.p : "");
    return true;
}

static bool member_is_valid(const struct set_member *member,
                            const struct set_limits *limits,
                            struct refusal *why) {
    if (!path_check(member->path, &limits->path, why))
        return false;
    if (!member->symlink)
        return !member->link.len;
    return limits->symlinks && !member->executable && !member->size &&
           path_link_check(member->path, member->link, &limits->path, why);
}

static bool take_members(struct rest *rest, const struct set_limits *limits,
                         struct arena *arena, struct set_check *check) {
    struct refusal why = {0};
    uint64_t count = take_number(rest, 4);
    if (rest->broken || count > limits->members ||
        count > rest->len / MEMBER_BYTES)
        return false;
    check->members =
        arena_alloc(arena, (size_t)(count + 1) * sizeof *check->members);
    for (size_t i = 0; i < count; i++) {
        struct set_member *member = &check->members[i];
        uint64_t flags = take_number(rest, 1);
        if (flags > (FLAG_EXECUTABLE | FLAG_SYMLINK))
            return false;
        member->executable = flags & FLAG_EXECUTABLE;
        member->symlink = flags & FLAG_SYMLINK;
        member->size = take_number(rest, 8);
        member->path = take_span(rest, arena, limits->path.path_bytes);
        member->link = take_span(rest, arena, limits->path.path_bytes);
        if (rest->broken || member->size > limits->unpacked_bytes ||
            !member_is_valid(member, limits, &why))
            return false;
        check->member_count++;
    }
    return true;
}

bool set_check_decode(struct span bytes, const struct set_limits *limits,
                      struct arena *arena, struct set_check *ret_check,
                      struct err *err) {
    struct rest rest = {(const unsigned char *)bytes.p, bytes.len, false};
    struct refusal why = {0};
    *ret_check = (struct set_check){0};
    bool fine = take_head(&rest, arena, ret_check);
    bool refused = ret_check->why.kind != REFUSAL_NONE;
    if (fine) {
        ret_check->meta_text = take_span(&rest, arena, limits->meta_bytes);
        fine = take_members(&rest, limits, arena, ret_check);
    }
    fine = fine && !rest.broken && !rest.len;
    if (fine && refused)
        fine = !ret_check->meta_text.len && !ret_check->member_count;
    else if (fine)
        fine = meta_parse(ret_check->meta_text, &limits->path, arena,
                          &ret_check->meta, &why) &&
               set_check_agree(ret_check);
    if (fine)
        return true;
    *ret_check = (struct set_check){0};
    return err_set(err, ERR_DATA, "the answer of the checker is invalid");
}
