#include "wire/revoked_keys.h"

#include <stdint.h>

enum { SECTION_KEYS = 2, SECTION_SHA256 = 5, SHA256_BYTES = 32 };

static const struct span magic = {"SSHKRL\n\0", 8};

static bool damaged(struct revoked_keys *keys) {
    keys->is_damaged = true;
    return false;
}

static bool skip(struct span *rest, size_t bytes) {
    if (rest->len < bytes)
        return false;
    *rest = span_make(rest->p + bytes, rest->len - bytes);
    return true;
}

/* Four bytes of length, and as many bytes. */
static bool take_string(struct span *rest, struct span *ret) {
    const unsigned char *p = (const unsigned char *)rest->p;
    if (rest->len < 4)
        return false;
    uint32_t len = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
                   (uint32_t)p[2] << 8 | (uint32_t)p[3];
    if (rest->len - 4 < len)
        return false;
    *ret = span_make(rest->p + 4, len);
    return skip(rest, 4 + (size_t)len);
}

/* Version of the format, version and date of the list, flags, a reserved string
 * and a comment. */
static bool krl_begin(struct revoked_keys *keys) {
    struct span ignored;
    return skip(&keys->rest, magic.len + 4 + 8 + 8 + 8) &&
           take_string(&keys->rest, &ignored) &&
           take_string(&keys->rest, &ignored);
}

static bool krl_next(struct revoked_keys *keys, struct revoked_key *ret_key) {
    while (keys->section.len == 0) {
        if (keys->rest.len == 0)
            return false;
        keys->kind = (unsigned char)keys->rest.p[0];
        if (!skip(&keys->rest, 1) || !take_string(&keys->rest, &keys->section))
            return damaged(keys);
        if (keys->kind != SECTION_KEYS && keys->kind != SECTION_SHA256)
            keys->section = SPAN("");
    }
    if (!take_string(&keys->section, &ret_key->bytes))
        return damaged(keys);
    ret_key->how = keys->kind == SECTION_KEYS ? REVOKED_BLOB : REVOKED_SHA256;
    return ret_key->how == REVOKED_BLOB || ret_key->bytes.len == SHA256_BYTES ||
           damaged(keys);
}

/* "[OPTIONS] TYPE KEY [COMMENT]" */
static bool line_next(struct revoked_keys *keys, struct revoked_key *ret_key) {
    struct span line, word;
    while (span_cut(&keys->rest, '\n', &line)) {
        line = span_trim(line);
        if (span_starts(line, "#"))
            continue;
        while (span_cut(&line, ' ', &word))
            if (span_starts(word, "AAAA")) {
                *ret_key = (struct revoked_key){REVOKED_BASE64, word};
                return true;
            }
    }
    return false;
}

bool revoked_keys_next(struct revoked_keys *keys, struct revoked_key *ret_key) {
    if (!keys->begun) {
        keys->begun = true;
        keys->is_krl = keys->rest.len >= magic.len &&
                       memcmp(keys->rest.p, magic.p, magic.len) == 0;
        if (keys->is_krl && !krl_begin(keys))
            return damaged(keys);
    }
    return keys->is_krl ? krl_next(keys, ret_key) : line_next(keys, ret_key);
}
