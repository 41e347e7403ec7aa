/* Lists of revoked signing keys, as `ssh-keygen -Y verify -r` reads them: one
 * public key a line, or a KRL (PROTOCOL.krl of OpenSSH). Keys that a KRL
 * revokes by the serial number of a certificate or by a SHA-1 sum are skipped:
 * nothing here could recognise them. */
#ifndef POINTSMAN_WIRE_REVOKED_KEYS_H
#define POINTSMAN_WIRE_REVOKED_KEYS_H

#include <stdbool.h>

#include "lib/text.h"

enum revoked_how {
    REVOKED_BASE64, /* the key in base64 */
    REVOKED_BLOB,   /* the bytes of the key */
    REVOKED_SHA256  /* the 32 bytes of their SHA-256 */
};

struct revoked_key {
    enum revoked_how how;
    struct span bytes;
    struct span type; /* REVOKED_BASE64: what the line says, unchecked */
};

/* A position in a list; begin with the list as `rest`. */
struct revoked_keys {
    struct span rest, section;
    bool begun, is_krl, is_damaged;
    unsigned char kind; /* of the section */
};

/* The next key; false at the end, or with is_damaged where the list cannot be
 * read. */
bool revoked_keys_next(struct revoked_keys *keys, struct revoked_key *ret_key);

#endif
