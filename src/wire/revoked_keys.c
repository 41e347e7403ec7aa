#include "wire/revoked_keys.h"

#include "wire/ssh_key.h"

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

/* Version of the format, version and date of the list, flags, a reserved string
 * and a comment. */
static bool krl_begin(struct revoked_keys *keys) {
    struct span ignored;
    return skip(&keys->rest, magic.len + 4 + 8 + 8 + 8) &&
           ssh_string_take(&keys->rest, &ignored) &&
           ssh_string_take(&keys->rest, &ignored);
}

static bool krl_next(struct revoked_keys *keys, struct revoked_key *ret_key) {
    while (keys->section.len == 0) {
        if (keys->rest.len == 0)
            return false;
        keys->kind = (unsigned char)keys->rest.p[0];
        if (!skip(&keys->rest, 1) ||
            !ssh_string_take(&keys->rest, &keys->section))
            return damaged(keys);
        if (keys->kind != SECTION_KEYS && keys->kind != SECTION_SHA256)
            keys->section = SPAN("");
    }
    if (!ssh_string_take(&keys->section, &ret_key->bytes))
        return damaged(keys);
    ret_key->how = keys->kind == SECTION_KEYS ? REVOKED_BLOB : REVOKED_SHA256;
    return ret_key->how == REVOKED_BLOB || ret_key->bytes.len == SHA256_BYTES ||
           damaged(keys);
}

static struct span skip_blanks(struct span line) {
    while (line.len > 0 && (line.p[0] == ' ' || line.p[0] == '\t'))
        line = span_make(line.p + 1, line.len - 1);
    return line;
}

static struct span next_word(struct span *line) {
    struct span rest = skip_blanks(*line);
    size_t len = 0;
    while (len < rest.len && rest.p[len] != ' ' && rest.p[len] != '\t')
        len++;
    *line = span_make(rest.p + len, rest.len - len);
    return span_make(rest.p, len);
}

/* "TYPE KEY [COMMENT]" */
static bool line_next(struct revoked_keys *keys, struct revoked_key *ret_key) {
    struct span line;
    while (span_cut(&keys->rest, '\n', &line)) {
        line = skip_blanks(line);
        if (line.len == 0 || span_starts(line, "#"))
            continue;
        ret_key->how = REVOKED_BASE64;
        ret_key->type = next_word(&line);
        ret_key->bytes = next_word(&line);
        return ret_key->bytes.len > 0 || damaged(keys);
    }
    return false;
}

bool revoked_keys_next(struct revoked_keys *keys, struct revoked_key *ret_key) {
    *ret_key = (struct revoked_key){0};
    if (keys->is_damaged)
        return false;
    if (!keys->begun) {
        keys->begun = true;
        keys->is_krl = keys->rest.len >= magic.len &&
                       memcmp(keys->rest.p, magic.p, magic.len) == 0;
        if (keys->is_krl && !krl_begin(keys))
            return damaged(keys);
    }
    return keys->is_krl ? krl_next(keys, ret_key) : line_next(keys, ret_key);
}
