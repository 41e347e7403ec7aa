#include "wire/ssh_key.h"

#include <stdint.h>

/* How many strings make up the key itself, behind its type. */
static const struct kind {
    const char *type, *certificate;
    unsigned strings;
} kinds[] = {
    {"ssh-ed25519", "ssh-ed25519-cert-v01@openssh.com", 1},
    {"ssh-rsa", "ssh-rsa-cert-v01@openssh.com", 2},
    {"ecdsa-sha2-nistp256", "ecdsa-sha2-nistp256-cert-v01@openssh.com", 2},
    {"ecdsa-sha2-nistp384", "ecdsa-sha2-nistp384-cert-v01@openssh.com", 2},
    {"ecdsa-sha2-nistp521", "ecdsa-sha2-nistp521-cert-v01@openssh.com", 2},
    {"sk-ssh-ed25519@openssh.com", "sk-ssh-ed25519-cert-v01@openssh.com", 2},
    {"sk-ecdsa-sha2-nistp256@openssh.com",
     "sk-ecdsa-sha2-nistp256-cert-v01@openssh.com", 3},
    {"ssh-dss", "ssh-dss-cert-v01@openssh.com", 4},
};

static bool skip(struct span *rest, size_t bytes) {
    if (rest->len < bytes)
        return false;
    *rest = span_make(rest->p + bytes, rest->len - bytes);
    return true;
}

bool ssh_string_take(struct span *rest, struct span *ret_string) {
    const unsigned char *p = (const unsigned char *)rest->p;
    if (rest->len < 4)
        return false;
    uint32_t len = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
                   (uint32_t)p[2] << 8 | (uint32_t)p[3];
    if (rest->len - 4 < len)
        return false;
    *ret_string = span_make(rest->p + 4, len);
    return skip(rest, 4 + (size_t)len);
}

static bool skip_strings(struct span *rest, unsigned count) {
    struct span ignored;
    for (unsigned i = 0; i < count; i++)
        if (!ssh_string_take(rest, &ignored))
            return false;
    return true;
}

static void add_string(struct text *text, struct span string) {
    uint32_t len = (uint32_t)string.len;
    char bytes[4] = {(char)(len >> 24), (char)(len >> 16), (char)(len >> 8),
                     (char)len};
    text_add(text, bytes, sizeof(bytes));
    text_addspan(text, string);
}

/* Behind the type: a nonce, the key, the serial number, who it is for, names,
 * both ends of its validity, options, extensions, a reserved string, the key of
 * the authority and its signature. */
static bool parse_certificate(struct span rest, const struct kind *kind,
                              struct ssh_key *ret_key, struct text *plain) {
    struct span key;
    if (!skip_strings(&rest, 1))
        return false;
    key = rest;
    if (!skip_strings(&rest, kind->strings))
        return false;
    add_string(plain, span_of(kind->type));
    text_add(plain, key.p, key.len - rest.len);
    return skip(&rest, 8 + 4) && skip_strings(&rest, 2) && skip(&rest, 8 + 8) &&
           skip_strings(&rest, 3) &&
           ssh_string_take(&rest, &ret_key->authority) &&
           ret_key->authority.len > 0 && skip_strings(&rest, 1) &&
           rest.len == 0;
}

bool ssh_key_parse(struct span blob, struct ssh_key *ret_key,
                   struct text *plain) {
    struct span rest = blob;
    *ret_key = (struct ssh_key){0};
    if (!ssh_string_take(&rest, &ret_key->type) || rest.len == 0)
        return false;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (span_is(ret_key->type, kinds[i].certificate))
            return parse_certificate(rest, &kinds[i], ret_key, plain);
        if (span_is(ret_key->type, kinds[i].type) &&
            (!skip_strings(&rest, kinds[i].strings) || rest.len > 0))
            return false;
    }
    text_addspan(plain, blob);
    return !span_ends(ret_key->type, "-cert-v01@openssh.com");
}

bool ssh_signature_key(struct span signature, struct span *ret_blob) {
    static const char magic[] = "SSHSIG";
    struct span rest = signature;
    return span_starts(rest, magic) && skip(&rest, sizeof(magic) - 1 + 4) &&
           ssh_string_take(&rest, ret_blob);
}
