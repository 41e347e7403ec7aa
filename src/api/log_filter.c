#include "api/log_filter.h"

#include "lib/time.h"
#include "api/log_origin.h"
#include "wire/line_index.h"

static const char *const stream_words[STAMP_STREAMS] = {[STAMP_OUT] = "out",
                                                        [STAMP_ERR] = "err",
                                                        [STAMP_OURS] =
                                                            "pointsman",
                                                        [STAMP_UNKNOWN] = "-"};

bool log_stream_parse(struct span word, enum stamp_stream *ret_stream) {
    for (enum stamp_stream i = STAMP_OUT; i <= STAMP_ERR; i++)
        if (span_is(word, stream_words[i])) {
            *ret_stream = i;
            return true;
        }
    return false;
}

bool log_lines_parse(struct span text, uint64_t *ret_skip,
                     uint64_t *ret_lines) {
    struct span from_text;
    uint64_t from, to = UINT64_MAX;
    if (!span_cut(&text, '-', &from_text) || !span_u64(from_text, &from) ||
        from == 0)
        return false;
    if (text.p == NULL)
        to = from;
    else if (text.len > 0 && (!span_u64(text, &to) || to < from))
        return false;
    *ret_skip = from - 1;
    *ret_lines = to == UINT64_MAX ? UINT64_MAX : to - from + 1;
    return true;
}

bool log_filter_search(struct log_filter *filter, struct span expression,
                       bool fold_case, struct err *err) {
    return expression.p == NULL ||
           pattern_new(expression, fold_case, &filter->pattern, err);
}

void log_filter_clear(struct log_filter *filter) {
    pattern_free(filter->pattern);
    filter->pattern = NULL;
    for (size_t i = 0; i < STAMP_STREAMS; i++)
        text_clear(&filter->parts[i].text);
}

void log_frame_add(struct text *out, unsigned kind, struct span piece) {
    uint32_t bytes = (uint32_t)piece.len;
    const unsigned char head[LOG_FRAME_HEAD] = {(unsigned char)kind,
                                                0,
                                                0,
                                                0,
                                                (unsigned char)(bytes >> 24),
                                                (unsigned char)(bytes >> 16),
                                                (unsigned char)(bytes >> 8),
                                                (unsigned char)bytes};
    text_add(out, head, sizeof(head));
    text_addspan(out, piece);
}

static void put_times(struct text *out, const struct stamp *from) {
    char at[WALL_TEXT_BYTES];
    bool known = from->stream != STAMP_UNKNOWN;
    wall_format(wall_add_ms((struct wall){0}, from->ms), at);
    text_addf(out, "%s %s ", known ? at : "-", stream_words[from->stream]);
}

/* Lines stand by themselves, with something before them. */
static bool has_heads(const struct log_filter *filter) {
    return filter->form == LOG_TIMES || filter->label.p != NULL;
}

static void put_line(const struct log_filter *filter, struct text *out,
                     const struct stamp *from, struct span line) {
    if (filter->form == LOG_TIMES)
        put_times(out, from);
    if (filter->label.p != NULL) {
        text_addspan(out, filter->label);
        text_adds(out, ": ");
    }
    text_addspan(out, line);
    if (!span_ends(line, "\n"))
        text_addc(out, '\n');
}

static void put(const struct log_filter *filter, const struct stamp *from,
                struct span piece, struct text *out) {
    CLEANUP(text_clear) struct text line = TEXT_INIT;
    if (has_heads(filter)) {
        put_line(filter, filter->framed ? &line : out, from, piece);
        piece = text_span(&line);
    }
    if (filter->framed)
        log_frame_add(out, from->stream, piece);
    else if (!has_heads(filter))
        text_addspan(out, piece);
}

void log_filter_note(const struct log_filter *filter, struct wall at,
                     struct span sentence, struct text *out) {
    CLEANUP(text_clear) struct text mark = TEXT_INIT;
    const struct stamp ours = {.stream = STAMP_OURS,
                               .ms = wall_ms_since(at, (struct wall){0})};
    text_addf(&mark, "[pointsman: %.*s]\n", (int)sentence.len, sentence.p);
    if (filter->framed) {
        log_frame_add(out, LOG_FRAME_NOTE, sentence);
    } else if (has_heads(filter)) {
        put_line(filter, out, &ours, text_span(&mark));
    } else {
        text_addc(out, '\n');
        text_addspan(out, text_span(&mark));
    }
}

/* Shows the line with its LF, if it has one. */
static void show(struct log_filter *filter, const struct stamp *from,
                 struct span line, struct text *out) {
    struct span text = line;
    if (span_ends(text, "\n"))
        text.len--;
    if (span_ends(text, "\r"))
        text.len--;
    /* Marks made by Pointsman begin a line of their own. */
    if (from->stream == STAMP_OURS && text.len == 0)
        return;
    if (filter->pattern == NULL || pattern_finds(filter->pattern, text))
        put(filter, from, line, out);
}

static void end_part(struct log_filter *filter, enum stamp_stream stream,
                     struct text *out) {
    struct log_part *part = &filter->parts[stream];
    struct stamp from = {.stream = stream, .ms = part->ms};
    if (part->text.len == 0)
        return;
    show(filter, &from, text_span(&part->text), out);
    text_reset(&part->text);
}

static void add_lines(struct log_filter *filter, const struct stamp *from,
                      struct span piece, struct text *out) {
    struct log_part *part = &filter->parts[from->stream];
    while (piece.len > 0) {
        const char *feed = memchr(piece.p, '\n', piece.len);
        size_t bytes = feed == NULL ? piece.len : (size_t)(feed - piece.p) + 1;
        struct span line = span_make(piece.p, bytes);
        piece = span_make(piece.p + bytes, piece.len - bytes);
        if (feed != NULL && part->text.len == 0) {
            show(filter, from, line, out);
            continue;
        }
        if (part->text.len == 0)
            part->ms = from->ms;
        text_addspan(&part->text, line);
        if (feed != NULL || part->text.len >= LOG_LINE_BYTES)
            end_part(filter, from->stream, out);
    }
}

static struct span skip_lines(struct log_filter *filter, struct span piece) {
    size_t skip = lines_skip(piece, filter->skip);
    for (size_t i = 0; i < skip; i++)
        filter->skip -= piece.p[i] == '\n';
    return span_make(piece.p + skip, piece.len - skip);
}

void log_filter_add(struct log_filter *filter, const struct stamp *from,
                    struct span piece, struct text *out) {
    if (filter->one_stream && log_origin_shown(from->stream) != filter->stream)
        return;
    if (filter->skip > 0)
        piece = skip_lines(filter, piece);
    if (piece.len == 0)
        return;
    if (filter->pattern == NULL && !has_heads(filter))
        put(filter, from, piece, out);
    else
        add_lines(filter, from, piece, out);
}

void log_filter_end(struct log_filter *filter, struct text *out) {
    for (enum stamp_stream i = STAMP_OUT; i < STAMP_STREAMS; i++)
        end_part(filter, i, out);
}
