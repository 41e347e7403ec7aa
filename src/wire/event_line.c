#include "wire/event_line.h"

#include "core/event_facts.h"
#include "core/job.h"
#include "wire/set_name.h"

static const char more[] = "...";

enum { EVENT_FACTS_WORD_BYTES = 3000 };

/* Like text_addescaped, but also escapes blanks, which would end a word. */
static void add_word(struct text *out, struct span word) {
    CLEANUP(text_clear) struct text escaped = TEXT_INIT;
    text_addescaped(&escaped, word);
    for (size_t i = 0; i < escaped.len; i++) {
        if (escaped.p[i] == ' ')
            text_adds(out, "\\x20");
        else
            text_addc(out, escaped.p[i]);
    }
    if (!escaped.len)
        text_addc(out, '-');
}

/* Length of the character or escape at p. */
static size_t piece_bytes(const char *p) {
    if (p[0] == '\\')
        return p[1] == 'x' ? 4 : 2;
    size_t len = 1;
    while (((unsigned char)p[len] & 0xc0) == 0x80)
        len++;
    return len;
}

/* Cuts the bytes added since `begin` to `most`, between two characters or
 * escapes, and marks the cut. */
static void cut_to(struct text *out, size_t begin, size_t most) {
    if (out->len - begin <= most)
        return;
    size_t end = begin, room = begin + most - strlen(more);
    while (end + piece_bytes(out->p + end) <= room)
        end += piece_bytes(out->p + end);
    out->len = end;
    text_adds(out, more);
}

/* Facts so long that they leave no room for a reason are not ours. */
static void add_facts(struct text *out, struct span facts) {
    size_t begin = out->len;
    if (facts.len == 0)
        return;
    text_addc(out, ' ');
    add_word(out, facts);
    if (out->len - begin > EVENT_FACTS_WORD_BYTES)
        out->len = begin;
}

void event_line_format(const struct event_line *event, struct text *out) {
    size_t begin = out->len;
    char tai[TAI_TEXT_BYTES];
    text_addf(out, "%s %llu %c %c ", tai_format(event->tai, tai),
              (unsigned long long)event->seq, event->from, event->to);
    size_t actor = out->len;
    add_word(out, event->actor);
    cut_to(out, actor, 256);
    text_addf(out, " %llu", (unsigned long long)event->attempt);
    add_facts(out, event->facts);
    if (event->reason.len) {
        text_addc(out, ' ');
        text_addescaped(out, event->reason);
    }
    cut_to(out, begin, EVENT_LINE_BYTES - 1);
    text_addc(out, '\n');
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reverses text_addescaped. False: an escape that it does not produce. */
static bool unescape(struct span text, struct arena *arena,
                     struct span *ret_text) {
    char *to = arena_alloc(arena, text.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.p[i] != '\\') {
            to[len++] = text.p[i];
            continue;
        }
        if (++i == text.len)
            return false;
        static const char plain[][2] = {
            {'\\', '\\'}, {'n', '\n'}, {'t', '\t'}, {'r', '\r'}};
        size_t k = 0;
        while (k < COUNT(plain) && plain[k][0] != text.p[i])
            k++;
        if (k < COUNT(plain)) {
            to[len++] = plain[k][1];
            continue;
        }
        if (text.p[i] != 'x' || i + 2 >= text.len ||
            hex_digit(text.p[i + 1]) < 0 || hex_digit(text.p[i + 2]) < 0)
            return false;
        to[len++] =
            (char)(hex_digit(text.p[i + 1]) * 16 + hex_digit(text.p[i + 2]));
        i += 2;
    }
    *ret_text = span_make(to, len);
    return true;
}

static bool refuse(struct err *err, const char *what, struct span line) {
    return err_set(err, ERR_DATA, "%s in log line '%.*s'", what, (int)line.len,
                   line.p ? line.p : "");
}

static bool take_state(struct span word, char *ret_state) {
    enum job_state state;
    if (word.len != 1 ||
        (word.p[0] != '-' && !job_state_of_letter(word.p[0], &state)))
        return false;
    *ret_state = word.p[0];
    return true;
}

bool event_line_parse(struct span line, struct arena *arena,
                      struct event_line *ret_event, struct err *err) {
    struct span word[6], rest = line, facts;
    struct event_facts parsed;
    *ret_event = (struct event_line){0};
    if (line.len >= EVENT_LINE_BYTES)
        return refuse(err, "more than 4096 bytes", line);
    for (size_t i = 0; i < COUNT(word); i++)
        if (!span_cut(&rest, ' ', &word[i]))
            return refuse(err, "too few words", line);
    if (!tai_parse(word[0], &ret_event->tai))
        return refuse(err, "no time", line);
    if (!span_u64(word[1], &ret_event->seq))
        return refuse(err, "no sequence number", line);
    if (!take_state(word[2], &ret_event->from) ||
        !take_state(word[3], &ret_event->to))
        return refuse(err, "no state", line);
    if (!span_is(word[4], "-") && !unescape(word[4], arena, &ret_event->actor))
        return refuse(err, "no actor", line);
    if (!span_u64(word[5], &ret_event->attempt))
        return refuse(err, "no attempt", line);
    if (rest.len && rest.p[0] == '{' &&
        (!span_cut(&rest, ' ', &facts) ||
         !unescape(facts, arena, &ret_event->facts) ||
         !event_facts_parse(ret_event->facts, arena, &parsed)))
        return refuse(err, "no facts", line);
    if (rest.p && !unescape(rest, arena, &ret_event->reason))
        return refuse(err, "no reason", line);
    return true;
}

void event_head_format(struct span csid, const struct lines *dependencies,
                       struct text *out) {
    size_t begin = out->len, room = EVENT_LINE_BYTES - 1 - sizeof more;
    text_addspan(out, csid);
    for (size_t i = 0; i < dependencies->count; i++) {
        struct span id = dependencies->items[i];
        if (out->len - begin + 1 + id.len > room) {
            text_addf(out, " %s", more);
            break;
        }
        text_addc(out, ' ');
        text_addspan(out, id);
    }
    text_addc(out, '\n');
}

bool event_head_parse(struct span line, struct arena *arena,
                      struct span *ret_csid, struct lines *ret_dependencies,
                      struct err *err) {
    struct span rest = line, word;
    size_t count = 0;
    *ret_csid = (struct span){0};
    *ret_dependencies = (struct lines){0};
    if (line.len >= EVENT_LINE_BYTES)
        return refuse(err, "more than 4096 bytes", line);
    for (size_t i = 0; i < line.len; i++)
        count += line.p[i] == ' ';
    ret_dependencies->items =
        arena_alloc(arena, (count + 1) * sizeof *ret_dependencies->items);
    if (!span_cut(&rest, ' ', &word) || !set_csid_is_valid(word))
        return refuse(err, "no id", line);
    *ret_csid = word;
    while (span_cut(&rest, ' ', &word)) {
        if (!rest.p && span_is(word, more))
            break;
        if (!set_csid_is_valid(word))
            return refuse(err, "no id", line);
        ret_dependencies->items[ret_dependencies->count++] = word;
    }
    return true;
}
