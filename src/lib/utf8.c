#include "lib/utf8.h"

size_t utf8_character(const char *start, const char *end) {
    const unsigned char *p = (const unsigned char *)start;
    unsigned char low = 0x80, high = 0xbf;
    size_t len;

    if (start == end)
        return 0;
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if ((size_t)(end - start) < len)
        return 0;
    /* No overlong forms, no surrogates, nothing above U+10FFFF. */
    if (p[0] == 0xe0)
        low = 0xa0;
    else if (p[0] == 0xed)
        high = 0x9f;
    else if (p[0] == 0xf0)
        low = 0x90;
    else if (p[0] == 0xf4)
        high = 0x8f;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return len;
}
