/* Public keys and certificates of OpenSSH (PROTOCOL.certkeys) and signatures
 * made with them (PROTOCOL.sshsig), in bytes. Nothing is verified here:
 * ssh-keygen does that; this tells which keys were named. */
#ifndef POINTSMAN_WIRE_SSH_KEY_H
#define POINTSMAN_WIRE_SSH_KEY_H

#include <stdbool.h>

#include "lib/text.h"

/* Takes four bytes of length and as many bytes from the front of `rest`. False:
 * there are fewer; nothing is taken. */
bool ssh_string_take(struct span *rest, struct span *ret_string);

struct ssh_key {
    struct span type;      /* as in a list: "ssh-ed25519" */
    struct span authority; /* of a certificate: the key of the authority that
                              signed it; empty: a plain key */
};
/* `blob`: the bytes of a key or certificate. `plain`, which must be empty, gets
 * the bytes of the key alone, without what a certificate says about it. The
 * spans point into `blob`. False: it is neither. */
bool ssh_key_parse(struct span blob, struct ssh_key *ret_key,
                   struct text *plain);
/* The bytes of the key or certificate that made the signature, in `signature`.
 * False: it is none. */
bool ssh_signature_key(struct span signature, struct span *ret_blob);

#endif
