#include "store/event_pack.h"

enum { NUMBER_BYTES = 20, MARK_BYTES = 4 };

/* At least two numbers per job: printf would take longer than everything
 * else. */
static void add_number(struct text *out, uint64_t number) {
    char digits[NUMBER_BYTES], *at = digits + sizeof(digits);
    do
        *--at = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    text_add(out, at, (size_t)(digits + sizeof(digits) - at));
    text_addc(out, '\t');
}

static bool is_plain(struct span field) {
    for (size_t i = 0; i < field.len; i++)
        if (field.p[i] == '\t' || field.p[i] == '\n' || field.p[i] == '\\')
            return false;
    return true;
}

static void add_field(struct text *out, struct span field, char end) {
    if (is_plain(field)) {
        text_addspan(out, field);
        text_addc(out, end);
        return;
    }
    for (size_t i = 0; i < field.len; i++) {
        char c = field.p[i];
        if (c == '\t' || c == '\n' || c == '\\')
            text_addc(out, '\\');
        text_addc(out, c == '\t' ? 't' : c == '\n' ? 'n' : c);
    }
    text_addc(out, end);
}

static void mark_of(const unsigned char hash[CHAIN_BYTES],
                    char ret_mark[MARK_BYTES]) {
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < MARK_BYTES; i++)
        ret_mark[i] = digits[hash[i / 2] >> (i % 2 == 0 ? 4 : 0) & 15];
}

bool event_pack_fits(struct span mark, const unsigned char hash[CHAIN_BYTES]) {
    char digits[MARK_BYTES];
    mark_of(hash, digits);
    return span_equal(mark, span_make(digits, MARK_BYTES));
}

void event_pack_add(struct text *lines, const struct store_event *event,
                    uint64_t prev, const unsigned char hash[CHAIN_BYTES]) {
    char mark[MARK_BYTES];
    char states[] = {job_state_letter(event->from), '\t',
                     job_state_letter(event->to), '\t'};
    add_number(lines, event->seq);
    add_number(lines, (uint64_t)event->at.ns);
    text_adds(lines, job_event_kind_word(event->kind));
    text_addc(lines, '\t');
    add_number(lines, event->num);
    add_number(lines, prev);
    text_add(lines, states, sizeof(states));
    add_number(lines, event->attempt);
    add_field(lines, event->id, '\t');
    add_field(lines, event->actor, '\t');
    add_field(lines, event->reason, '\t');
    add_field(lines, event->detail, '\t');
    add_field(lines, event->facts, '\t');
    mark_of(hash, mark);
    text_add(lines, mark, MARK_BYTES);
    text_addc(lines, '\n');
}

/* ---- reading ------------------------------------------------------------ */

static bool take_number(struct span *line, uint64_t most, uint64_t *ret) {
    struct span field;
    return span_cut(line, '\t', &field) && span_u64(field, ret) && *ret <= most;
}

static bool take_state(struct span *line, enum job_state *ret) {
    struct span field;
    if (!span_cut(line, '\t', &field) || field.len != 1)
        return false;
    *ret = STATE_NONE;
    return field.p[0] == job_state_letter(STATE_NONE) ||
           job_state_of_letter(field.p[0], ret);
}

static bool take_kind(struct span *line, enum event_kind *ret) {
    struct span field;
    return span_cut(line, '\t', &field) && job_event_kind_parse(field, ret);
}

static bool unescape(struct span field, struct arena *arena, struct span *ret) {
    if (field.len == 0 || !memchr(field.p, '\\', field.len)) {
        *ret = field.len ? arena_span(arena, field) : SPAN("");
        return true;
    }
    char *to = arena_alloc(arena, field.len), *at = to;
    for (size_t i = 0; i < field.len; i++) {
        char c = field.p[i];
        if (c == '\\') {
            if (++i == field.len)
                return false;
            c = field.p[i];
            if (c != 't' && c != 'n' && c != '\\')
                return false;
            c = c == 't' ? '\t' : c == 'n' ? '\n' : c;
        }
        *at++ = c;
    }
    *ret = span_make(to, (size_t)(at - to));
    return true;
}

static bool take_field(struct span *line, struct arena *arena,
                       struct span *ret) {
    struct span field;
    return span_cut(line, '\t', &field) && unescape(field, arena, ret);
}

/* The rest of a line that does not end with its detail. */
static bool take_facts(struct span line, struct arena *arena, struct span *ret,
                       struct span *ret_mark) {
    struct event_facts facts;
    struct span field;
    bool is_marked = span_cut(&line, '\t', &field) && line.p != NULL;
    if (is_marked && line.len != MARK_BYTES)
        return false;
    if (is_marked)
        *ret_mark = arena_span(arena, line);
    if (is_marked && field.len == 0)
        return true;
    return field.len > 0 && unescape(field, arena, ret) &&
           event_facts_parse(*ret, arena, &facts);
}

bool event_pack_next(struct span *rest, struct arena *arena,
                     struct store_event *ret_event, uint64_t *ret_prev,
                     struct span *ret_mark) {
    struct store_event *event = ret_event;
    struct span line;
    uint64_t at, attempt;
    *event = (struct store_event){0};
    *ret_mark = (struct span){0};
    if (rest->len == 0 || !memchr(rest->p, '\n', rest->len) ||
        !span_cut(rest, '\n', &line))
        return false;
    if (!take_number(&line, INT64_MAX, &event->seq) ||
        !take_number(&line, UINT64_MAX, &at) ||
        !take_kind(&line, &event->kind) ||
        !take_number(&line, INT64_MAX, &event->num) ||
        !take_number(&line, INT64_MAX, ret_prev) ||
        !take_state(&line, &event->from) || !take_state(&line, &event->to) ||
        !take_number(&line, UINT32_MAX, &attempt))
        return false;
    event->at = (struct wall){(int64_t)at};
    event->attempt = (unsigned)attempt;
    return take_field(&line, arena, &event->id) &&
           take_field(&line, arena, &event->actor) &&
           take_field(&line, arena, &event->reason) &&
           take_field(&line, arena, &event->detail) &&
           (!line.p || take_facts(line, arena, &event->facts, ret_mark));
}
