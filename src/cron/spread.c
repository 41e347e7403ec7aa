/* Numbers that spread jobs over time. They depend only on their arguments,
 * so that a restart, or another machine, finds the same. */
#include <pointsman/cron.h>

static uint64_t mix(uint64_t hash) {
    hash = (hash ^ hash >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ hash >> 27) * UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 31;
}

uint32_t cron_stable_offset(const char *name, uint64_t seed, uint32_t span) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ seed;

    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    /* The low bits of the product alone would not be evenly distributed. */
    return span == 0 ? 0 : (uint32_t)(mix(hash) % span);
}

uint32_t cron_random_delay(const char *name, uint64_t seed, int64_t at,
                           uint32_t span) {
    /* Neighbouring instants must not have neighbouring seeds. */
    return cron_stable_offset(
        name, seed ^ mix((uint64_t)at + UINT64_C(0x9e3779b97f4a7c15)), span);
}
