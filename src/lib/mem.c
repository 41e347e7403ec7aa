#include "lib/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/attr.h"

static NORETURN void out_of_memory(void) {
    static const char line[] = "pointsman: out of memory\n";

    if (write(STDERR_FILENO, line, sizeof(line) - 1) < 0) {
        /* There is nowhere to report it. */
    }
    _exit(75); /* temporary failure: the supervisor restarts us */
}

void *mem_alloc(size_t bytes) {
    void *p = calloc(1, bytes > 0 ? bytes : 1);

    if (p == NULL)
        out_of_memory();
    return p;
}

void *mem_grow(void *old, size_t count, size_t each) {
    size_t bytes;
    void *p;

    if (__builtin_mul_overflow(count, each, &bytes))
        out_of_memory();
    p = realloc(old, bytes > 0 ? bytes : 1);
    if (p == NULL)
        out_of_memory();
    return p;
}

char *mem_copy(const void *p, size_t bytes) {
    char *copy;

    if (bytes == SIZE_MAX)
        out_of_memory();
    copy = malloc(bytes + 1);
    if (copy == NULL)
        out_of_memory();
    if (bytes > 0)
        memcpy(copy, p, bytes);
    copy[bytes] = '\0';
    return copy;
}

char *mem_string(const char *string) {
    return string != NULL ? mem_copy(string, strlen(string)) : NULL;
}
