/* collide COUNT PREFIX: prints COUNT keys, one per line, that collide in an
 * unseeded map if the program looks up PREFIX followed by the key. In PREFIX, @
 * stands for a zero byte. PREFIX is padded to a multiple of 8 bytes; the
 * padding is printed before each key. */
#include "support/collide.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    char front[64] = "", key[COLLIDE_BYTES + 1];
    size_t begin, bytes;
    uint64_t draw = 0;

    if (argc != 3 || strlen(argv[2]) > sizeof front - 8)
        return 2;
    memcpy(front, argv[2], strlen(argv[2]));
    for (begin = bytes = strlen(argv[2]); bytes % 8 != 0; bytes++)
        front[bytes] = '0';
    for (size_t i = 0; i < begin; i++)
        front[i] = front[i] == '@' ? '\0' : front[i];
    for (long count = strtol(argv[1], NULL, 10); count > 0; count--) {
        collide_next(front, bytes, &draw, key);
        printf("%.*s%s\n", (int)(bytes - begin), front + begin, key);
    }
    return 0;
}
