#include "os/sum.h"

#include <errno.h>
#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct sum {
    struct sha256_ctx state;
};

static void put_hex(const unsigned char digest[SUM_BYTES],
                    char ret[SUM_TEXT_BYTES]) {
    static const char hex[] = "0123456789abcdef";
    for (int i = 0; i < SUM_BYTES; i++) {
        ret[2 * i] = hex[digest[i] >> 4];
        ret[2 * i + 1] = hex[digest[i] & 15];
    }
    ret[2 * SUM_BYTES] = '\0';
}

static void digest_bytes(struct span bytes, unsigned char ret[SUM_BYTES]) {
    struct sum sum;
    sha256_init(&sum.state);
    sum_add(&sum, bytes);
    sha256_digest(&sum.state, SUM_BYTES, ret);
}

void sum_bytes(struct span bytes, char ret[SUM_TEXT_BYTES]) {
    unsigned char digest[SUM_BYTES];
    digest_bytes(bytes, digest);
    put_hex(digest, ret);
}

void sum_ssh_digest(const unsigned char *digest, char ret[SUM_SSH_KEY_BYTES]) {
    char digits[BASE64_ENCODE_RAW_LENGTH(SUM_BYTES)];
    base64_encode_raw(digits, SUM_BYTES, digest);
    /* Without the padding. */
    snprintf(ret, SUM_SSH_KEY_BYTES, "SHA256:%.*s", (int)sizeof(digits) - 1,
             digits);
}

void sum_ssh_blob(struct span key, char ret[SUM_SSH_KEY_BYTES]) {
    unsigned char digest[SUM_BYTES];
    digest_bytes(key, digest);
    sum_ssh_digest(digest, ret);
}

bool sum_base64(struct span base64, struct text *out) {
    struct base64_decode_ctx state;
    size_t len = BASE64_DECODE_LENGTH(base64.len);
    uint8_t *bytes = mem_alloc(len + 1);
    base64_decode_init(&state);
    bool ok = base64_decode_update(&state, &len, bytes, base64.len, base64.p) &&
              base64_decode_final(&state);
    if (ok)
        text_add(out, bytes, len);
    free(bytes);
    return ok;
}

struct sum *sum_new(void) {
    struct sum *sum = mem_alloc(sizeof(*sum));
    sha256_init(&sum->state);
    return sum;
}

void sum_add(struct sum *sum, struct span bytes) {
    if (bytes.len > 0)
        sha256_update(&sum->state, bytes.len, (const uint8_t *)bytes.p);
}

void sum_end(struct sum *sum, char ret[SUM_TEXT_BYTES]) {
    unsigned char digest[SUM_BYTES];
    sha256_digest(&sum->state, SUM_BYTES, digest);
    free(sum);
    put_hex(digest, ret);
}

bool sum_file(int fd, char ret[SUM_TEXT_BYTES], uint64_t *ret_bytes,
              struct err *err) {
    char *bytes = mem_alloc(128 * 1024);
    struct sum *sum = sum_new();
    off_t at = 0;
    ssize_t got;
    do {
        got = pread(fd, bytes, 128 * 1024, at);
        if (got > 0) {
            sum_add(sum, span_make(bytes, (size_t)got));
            at += got;
        }
    } while (got > 0 || (got < 0 && errno == EINTR));
    int sys = errno;
    sum_end(sum, ret);
    free(bytes);
    *ret_bytes = (uint64_t)at;
    return got == 0 || err_errno(err, sys, "cannot read");
}

void sum_format_id(const unsigned char ten[10], char ret[ID_TEXT_BYTES]) {
    static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
    unsigned bits = 0, have = 0;
    size_t out = 0;
    ret[out++] = 'j';
    for (int i = 0; i < 10; i++) {
        bits = bits << 8 | ten[i];
        for (have += 8; have >= 5; have -= 5)
            ret[out++] = digits[bits >> (have - 5) & 31];
    }
    ret[out] = '\0';
}
