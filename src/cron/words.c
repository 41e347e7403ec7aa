#include "cron/words.h"

#include <stdarg.h>
#include <stdio.h>

void words_init(struct words *words, char *buffer, size_t bytes) {
    *words = (struct words){buffer, bytes, 0};
    if (bytes > 0)
        buffer[0] = '\0';
}

void words_add(struct words *words, const char *format, ...) {
    size_t room = words->len < words->room ? words->room - words->len : 0;
    va_list args;
    int len;

    va_start(args, format);
    len =
        vsnprintf(room > 0 ? words->p + words->len : NULL, room, format, args);
    va_end(args);
    if (len > 0)
        words->len += (size_t)len;
}

void words_comma(struct words *words, size_t index, size_t count) {
    if (index == 0)
        return;
    words_add(words, index + 1 == count ? " and " : ", ");
}
