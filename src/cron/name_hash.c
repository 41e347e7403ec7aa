#include "cron/name_hash.h"

#include <string.h>
#include <sys/random.h>

struct name_secret name_secret_draw(void) {
    struct name_secret secret;

    /* Early in a boot there may be no randomness yet. */
    if (getrandom(&secret, sizeof(secret), GRND_NONBLOCK) != sizeof(secret))
        secret = (struct name_secret){UINT64_C(0xa0761d6478bd642f),
                                      UINT64_C(0xe7037ed1a0b428db)};
    secret.factor |= 1;
    return secret;
}

static uint64_t mix(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t name_hash(const struct name_secret *secret, const char *name) {
    size_t bytes = strlen(name);
    uint64_t hash = secret->begin ^ bytes;

    while (bytes > 0) {
        uint64_t word = 0;
        size_t part = bytes < sizeof(word) ? bytes : sizeof(word);
        memcpy(&word, name, part);
        hash = mix(hash ^ word, secret->factor);
        name += part;
        bytes -= part;
    }
    return mix(hash, secret->factor);
}
