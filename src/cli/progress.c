#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/console.h"
#include "os/terminal.h"

bool progress_is_wanted(void) {
    return !console_quiet() && terminal_redraws(STDERR_FILENO);
}

/* Cuts at whole characters, assuming one column each. */
static void add_cut(struct text *out, struct span text, unsigned columns) {
    while (text.len > 0 && columns-- > 0) {
        size_t bytes = span_printable(text);
        if (bytes == 0)
            text_addc(out, '?');
        else
            text_add(out, text.p, bytes);
        bytes = bytes == 0 ? 1 : bytes;
        text = span_make(text.p + bytes, text.len - bytes);
    }
}

/* " 40% linking", without control characters that would move the cursor. */
static void format(struct span line, unsigned columns, struct text *out) {
    struct span rest = span_trim(line), word;
    struct span all = rest;
    char percent[16] = "";
    uint64_t done;
    if (span_cut(&rest, ' ', &word) && span_ends(word, "%"))
        word.len--;
    if (span_u64(word, &done) && done <= 100) {
        (void)snprintf(percent, sizeof(percent), "%3u%%", (unsigned)done);
        all = span_trim(rest);
    }
    add_cut(out, span_of(percent), columns);
    if (all.len == 0 || columns < 6)
        return;
    if (percent[0] != '\0')
        text_addc(out, ' ');
    add_cut(out, all, columns - (percent[0] != '\0' ? 5 : 0));
}

/* The last column stays free: some terminals start a new line after it. */
static void draw(struct progress *progress) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    if (progress->within || progress->line.len == 0 || !progress_is_wanted())
        return;
    format(text_span(&progress->line), terminal_width(STDERR_FILENO) - 1,
           &text);
    (void)fprintf(stderr, "\r%s\033[K", text_string(&text));
    (void)fflush(stderr);
    progress->drawn = true;
}

void progress_hide(struct progress *progress) {
    if (!progress->drawn)
        return;
    (void)fputs("\r\033[K", stderr);
    (void)fflush(stderr);
    progress->drawn = false;
}

void progress_show(struct progress *progress, struct span written) {
    if (written.len > 0)
        progress->within = !span_ends(written, "\n");
    draw(progress);
}

void progress_set(struct progress *progress, struct span line) {
    text_reset(&progress->line);
    text_addspan(&progress->line, line);
    draw(progress);
}

void progress_clear(struct progress *progress) {
    progress_hide(progress);
    text_clear(&progress->line);
}
