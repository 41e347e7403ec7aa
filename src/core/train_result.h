/* Results of checks: what identifies one, and when a recorded pass may replace
 * a run (doc/design/train.md, M13 to M15). */
#ifndef POINTSMAN_CORE_TRAIN_RESULT_H
#define POINTSMAN_CORE_TRAIN_RESULT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/text.h"
#include "lib/time.h"

enum train_remember {
    TRAIN_REMEMBER_OFF, /* results count for one stay on the train only */
    TRAIN_REMEMBER_SET, /* ... and for the same sets later (default) */
    TRAIN_REMEMBER_TREE /* ... and for all sets that give the same tree */
};

struct train_check {
    struct span name;
    const struct span *words; /* of its command line */
    size_t word_count;
};

/* Everything that the verdict of a check is assumed to depend on. */
struct train_key {
    struct span target;
    const struct train_check *checks; /* all of them, in order */
    size_t check_count;
    struct span user;
    struct span environment; /* what the command `environment` printed */
    struct span path, lang, tz;
    struct span kernel, machine;
    struct span tree;
    enum train_remember remember;
    const struct span *ids; /* of the unit's sets in order; none: the tip of
                               the branch */
    size_t id_count;
};

/* Appends the bytes whose SHA-256 is the key of a result. Two keys have equal
 * bytes only if all their parts are equal; the ids are a part only with
 * TRAIN_REMEMBER_SET. */
void train_key_format(const struct train_key *key, struct text *out);

/* What the registry knows about one key. */
struct train_record {
    struct wall passed; /* its newest pass; 0: none */
    struct wall failed; /* its newest failure; 0: none */
};

/* True if the pass may replace a run now. `remember_for_ms`: how old a pass may
 * be; 0: any age. */
bool train_record_is_reusable(const struct train_record *record,
                              int64_t remember_for_ms, struct wall now);

#endif
