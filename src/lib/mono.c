#include "lib/time.h"

struct mono mono_add_ms(struct mono mono, int64_t ms) {
    return (struct mono){duration_add(mono.ns, ms)};
}

int64_t mono_ms_since(struct mono later, struct mono earlier) {
    return duration_between(later.ns, earlier.ns);
}
