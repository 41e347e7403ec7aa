#include "serve/log_filter.h"

bool log_filter_init(struct log_filter *filter, struct span expression,
                     bool fold_case, struct err *err) {
    *filter = (struct log_filter){.part = TEXT_INIT};
    return expression.p == NULL ||
           pattern_new(expression, fold_case, &filter->pattern, err);
}

void log_filter_clear(struct log_filter *filter) {
    pattern_free(filter->pattern);
    filter->pattern = NULL;
    text_clear(&filter->part);
}

/* With its LF, if it has one. */
static void show(struct log_filter *filter, struct span line,
                 struct text *out) {
    struct span text = line;
    if (span_ends(text, "\n"))
        text.len--;
    if (span_ends(text, "\r"))
        text.len--;
    if (pattern_finds(filter->pattern, text))
        text_addspan(out, line);
}

static void end_part(struct log_filter *filter, struct text *out) {
    if (filter->part.len == 0)
        return;
    show(filter, text_span(&filter->part), out);
    text_reset(&filter->part);
}

void log_filter_add(struct log_filter *filter, struct span piece,
                    struct text *out) {
    if (filter->pattern == NULL) {
        text_addspan(out, piece);
        return;
    }
    while (piece.len > 0) {
        const char *feed = memchr(piece.p, '\n', piece.len);
        size_t bytes = feed == NULL ? piece.len : (size_t)(feed - piece.p) + 1;
        struct span line = span_make(piece.p, bytes);
        piece = span_make(piece.p + bytes, piece.len - bytes);
        if (feed != NULL && filter->part.len == 0) {
            show(filter, line, out);
            continue;
        }
        text_addspan(&filter->part, line);
        if (feed != NULL || filter->part.len >= LOG_LINE_BYTES)
            end_part(filter, out);
    }
}

void log_filter_end(struct log_filter *filter, struct text *out) {
    end_part(filter, out);
}
