#include "lib/pattern_inner.h"

#include <ctype.h>
#include <stdlib.h>

enum { DEPTH_MAX = 100, REPEAT_MAX = 1000 };

/* ---- from text to steps -------------------------------------------------- */

struct parser {
    struct pattern *pattern;
    struct span text;
    size_t at;
    unsigned depth;
    bool fold_case;
    struct err *err;
};

/* A piece has one way in, and one way out that still leads to NONE. */
struct piece {
    uint32_t in, out;
};

static bool fail(struct parser *parser, const char *what) {
    return err_set(parser->err, ERR_USAGE,
                   "'%.*s' is not a regular expression: %s at character %zu",
                   (int)(parser->text.len > 200 ? 200 : parser->text.len),
                   parser->text.len > 0 ? parser->text.p : "", what,
                   parser->at + 1);
}

static void bytes_add(struct step_bytes *bytes, unsigned char c) {
    bytes->bits[c / 64] |= UINT64_C(1) << (c % 64);
}

static void bytes_turn(struct step_bytes *bytes) {
    for (int i = 0; i < 4; i++)
        bytes->bits[i] = ~bytes->bits[i];
    bytes->bits[0] &= ~(UINT64_C(1) << '\n');
}

static void bytes_fold(struct step_bytes *bytes) {
    for (unsigned c = 'a'; c <= 'z'; c++)
        if (step_takes(bytes, c) || step_takes(bytes, c - 32)) {
            bytes_add(bytes, (unsigned char)c);
            bytes_add(bytes, (unsigned char)(c - 32));
        }
}

static bool add(struct parser *parser, const struct step *step,
                uint32_t *ret_step) {
    struct pattern *pattern = parser->pattern;
    if (pattern->count == PATTERN_STEPS_MAX)
        return fail(parser, "too large");
    pattern->steps =
        mem_grow(pattern->steps, pattern->count + 1, sizeof *pattern->steps);
    *ret_step = pattern->count;
    pattern->steps[pattern->count++] = *step;
    return true;
}

static bool add_bytes(struct parser *parser, struct step_bytes bytes,
                      struct piece *ret) {
    if (parser->fold_case)
        bytes_fold(&bytes);
    struct step step = {STEP_BYTES, bytes, NONE, NONE};
    if (!add(parser, &step, &ret->in))
        return false;
    ret->out = ret->in;
    return true;
}

/* A step with two ways on; if the second is NONE, only the first counts. */
static bool add_split(struct parser *parser, uint32_t next, uint32_t other,
                      uint32_t *ret) {
    struct step step = {.kind = STEP_SPLIT, .next = next, .other = other};
    return add(parser, &step, ret);
}

static void lead(struct parser *parser, uint32_t from, uint32_t to) {
    parser->pattern->steps[from].next = to;
}

static bool is_over(const struct parser *parser) {
    return parser->at == parser->text.len;
}

static char look(const struct parser *parser) {
    return is_over(parser) ? '\0' : parser->text.p[parser->at];
}

/* The named classes, by the C library's names. */
static bool add_class(struct step_bytes *bytes, struct span name) {
    static const struct {
        const char *name;
        int (*is)(int c);
    } classes[] = {
        {"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank},
        {"cntrl", iscntrl}, {"digit", isdigit}, {"graph", isgraph},
        {"lower", islower}, {"print", isprint}, {"punct", ispunct},
        {"space", isspace}, {"upper", isupper}, {"xdigit", isxdigit}};
    for (size_t i = 0; i < COUNT(classes); i++) {
        if (!span_is(name, classes[i].name))
            continue;
        for (int c = 0; c < 128; c++)
            if (c != '\n' && classes[i].is(c) != 0)
                bytes_add(bytes, (unsigned char)c);
        return true;
    }
    return false;
}

/* The character after a backslash. */
static void escaped(char c, struct step_bytes *bytes) {
    struct step_bytes some = {0};
    switch (c) {
    case 'd':
    case 'D':
        add_class(&some, SPAN("digit"));
        break;
    case 's':
    case 'S':
        add_class(&some, SPAN("space"));
        break;
    case 'w':
    case 'W':
        add_class(&some, SPAN("alnum"));
        bytes_add(&some, '_');
        break;
    case 't':
        bytes_add(&some, '\t');
        break;
    case 'e':
        bytes_add(&some, '\033');
        break;
    default:
        bytes_add(&some, (unsigned char)c);
        break;
    }
    if (c == 'D' || c == 'S' || c == 'W')
        bytes_turn(&some);
    for (int i = 0; i < 4; i++)
        bytes->bits[i] |= some.bits[i];
}

/* [:name:] within brackets. */
static bool read_class(struct parser *parser, struct step_bytes *bytes) {
    struct span rest = span_make(parser->text.p + parser->at + 2,
                                 parser->text.len - parser->at - 2);
    for (size_t i = 0; i + 1 < rest.len; i++) {
        if (rest.p[i] != ':' || rest.p[i + 1] != ']')
            continue;
        if (!add_class(bytes, span_make(rest.p, i)))
            break;
        parser->at += i + 4;
        return true;
    }
    return fail(parser, "unknown character class");
}

static bool read_range(struct parser *parser, struct step_bytes *bytes) {
    unsigned char from = (unsigned char)parser->text.p[parser->at++];
    unsigned char to = from;
    if (from == '\\' && !is_over(parser)) {
        escaped(parser->text.p[parser->at++], bytes);
        return true;
    }
    if (look(parser) == '-' && parser->at + 1 < parser->text.len &&
        parser->text.p[parser->at + 1] != ']') {
        to = (unsigned char)parser->text.p[parser->at + 1];
        parser->at += 2;
    }
    if (to < from)
        return fail(parser, "a range whose end is before its start");
    for (unsigned c = from; c <= to; c++)
        bytes_add(bytes, (unsigned char)c);
    return true;
}

static bool read_brackets(struct parser *parser, struct piece *ret) {
    struct step_bytes bytes = {0};
    bool turned = look(parser) == '^';
    parser->at += turned;
    size_t first = parser->at;
    while (look(parser) != ']' || parser->at == first) {
        if (is_over(parser))
            return fail(parser, "a '[' without its ']'");
        bool class = look(parser) == '[' && parser->at + 1 < parser->text.len &&
                     parser->text.p[parser->at + 1] == ':';
        if (!(class ? read_class : read_range)(parser, &bytes))
            return false;
    }
    parser->at++;
    if (parser->fold_case)
        bytes_fold(&bytes);
    if (turned)
        bytes_turn(&bytes);
    return add_bytes(parser, bytes, ret);
}

static bool read_ways(struct parser *parser, struct piece *ret);

static bool read_group(struct parser *parser, struct piece *ret) {
    if (++parser->depth > DEPTH_MAX)
        return fail(parser, "parentheses nested too deeply");
    if (!read_ways(parser, ret))
        return false;
    if (look(parser) != ')')
        return fail(parser, "a '(' without its ')'");
    parser->at++;
    parser->depth--;
    return true;
}

static bool add_anchor(struct parser *parser, enum step_kind kind,
                       struct piece *ret) {
    struct step step = {.kind = kind, .next = NONE, .other = NONE};
    if (!add(parser, &step, &ret->in))
        return false;
    ret->out = ret->in;
    return true;
}

static bool read_atom(struct parser *parser, struct piece *ret) {
    struct step_bytes bytes = {0};
    char c = parser->text.p[parser->at++];
    switch (c) {
    case '(':
        return read_group(parser, ret);
    case '[':
        return read_brackets(parser, ret);
    case '^':
        return add_anchor(parser, STEP_BEGIN, ret);
    case '$':
        return add_anchor(parser, STEP_END, ret);
    case '.':
        bytes_turn(&bytes);
        return add_bytes(parser, bytes, ret);
    case '*':
    case '+':
    case '?':
    case '{':
        parser->at--;
        return fail(parser, "nothing to repeat");
    case '\\':
        if (is_over(parser))
            return fail(parser, "nothing after a backslash");
        if (look(parser) >= '1' && look(parser) <= '9')
            return fail(parser, "a back reference, which is not supported,");
        escaped(parser->text.p[parser->at++], &bytes);
        return add_bytes(parser, bytes, ret);
    default:
        bytes_add(&bytes, (unsigned char)c);
        return add_bytes(parser, bytes, ret);
    }
}

/* How often to repeat: {n}, {n,}, {n,m}. */
struct times {
    unsigned least, most; /* most: UINT_MAX = no limit */
};

#define FOR_EVER UINT32_MAX

static bool read_number(struct parser *parser, unsigned *ret) {
    unsigned number = 0;
    size_t first = parser->at;
    while (isdigit((unsigned char)look(parser)) && number <= REPEAT_MAX)
        number = number * 10 + (unsigned)(parser->text.p[parser->at++] - '0');
    *ret = number;
    return parser->at > first && number <= REPEAT_MAX;
}

static bool read_times(struct parser *parser, struct times *ret) {
    char c = look(parser);
    *ret = (struct times){c == '+', c == '?' ? 1 : FOR_EVER};
    parser->at++;
    if (c != '{')
        return true;
    if (!read_number(parser, &ret->least))
        return fail(parser, "not a number of times up to 1000");
    ret->most = ret->least;
    if (look(parser) == ',') {
        parser->at++;
        ret->most = FOR_EVER;
        if (look(parser) != '}' && !read_number(parser, &ret->most))
            return fail(parser, "not a number of times up to 1000");
    }
    if (look(parser) != '}' || ret->most < ret->least)
        return fail(parser, "not a number of times");
    parser->at++;
    return true;
}

/* An empty piece: a split with only one way. */
static bool add_empty(struct parser *parser, struct piece *ret) {
    if (!add_split(parser, NONE, NONE, &ret->in))
        return false;
    ret->out = ret->in;
    return true;
}

static void join(struct parser *parser, struct piece *whole,
                 struct piece part) {
    lead(parser, whole->out, part.in);
    whole->out = part.out;
}

/* x* : split to x and on; x leads back. */
static bool make_star(struct parser *parser, struct piece part,
                      struct piece *ret) {
    uint32_t split, on;
    if (!add_split(parser, NONE, NONE, &on) ||
        !add_split(parser, on, part.in, &split))
        return false;
    lead(parser, part.out, split);
    *ret = (struct piece){split, on};
    return true;
}

/* x? : split to x and on; x leads on. */
static bool make_maybe(struct parser *parser, struct piece part,
                       struct piece *ret) {
    uint32_t split, on;
    if (!add_split(parser, NONE, NONE, &on) ||
        !add_split(parser, on, part.in, &split))
        return false;
    lead(parser, part.out, on);
    *ret = (struct piece){split, on};
    return true;
}

/* Adds one more round: required, repeated any number of times, or optional. */
static bool add_round(struct parser *parser, struct times times, unsigned round,
                      struct piece part, struct piece *whole) {
    struct piece made = part;
    bool ok = round < times.least      ? true
              : times.most == FOR_EVER ? make_star(parser, part, &made)
                                       : make_maybe(parser, part, &made);
    if (ok)
        join(parser, whole, made);
    return ok;
}

/* For each round after the first the atom is parsed again: each time it uses
 * steps, so that their limit also bounds the work. */
static bool repeat(struct parser *parser, size_t atom, struct times times,
                   struct piece first, struct piece *whole) {
    size_t behind = parser->at;
    unsigned rounds = times.most == FOR_EVER ? times.least + 1 : times.most;
    struct piece part = first;
    if (!add_empty(parser, whole))
        return false;
    for (unsigned i = 0; i < rounds; i++) {
        parser->at = atom;
        if ((i > 0 && !read_atom(parser, &part)) ||
            !add_round(parser, times, i, part, whole))
            return false;
    }
    parser->at = behind;
    return true;
}

static bool is_times(char c) {
    return c == '*' || c == '+' || c == '?' || c == '{';
}

static bool read_repeated(struct parser *parser, struct piece *ret) {
    size_t atom = parser->at;
    struct times times;
    struct piece first;
    if (!read_atom(parser, &first))
        return false;
    *ret = first;
    if (!is_times(look(parser)))
        return true;
    if (!read_times(parser, &times))
        return false;
    if (is_times(look(parser)))
        return fail(parser, "repeated twice");
    return repeat(parser, atom, times, first, ret);
}

static bool read_row(struct parser *parser, struct piece *ret) {
    if (!add_empty(parser, ret))
        return false;
    while (!is_over(parser) && look(parser) != '|' &&
           (look(parser) != ')' || parser->depth == 0)) {
        struct piece part;
        if (!read_repeated(parser, &part))
            return false;
        join(parser, ret, part);
    }
    return true;
}

static bool read_ways(struct parser *parser, struct piece *ret) {
    if (!read_row(parser, ret))
        return false;
    while (look(parser) == '|') {
        struct piece other;
        uint32_t split, on;
        parser->at++;
        if (!read_row(parser, &other) ||
            !add_split(parser, ret->in, other.in, &split) ||
            !add_split(parser, NONE, NONE, &on))
            return false;
        lead(parser, ret->out, on);
        lead(parser, other.out, on);
        *ret = (struct piece){split, on};
    }
    return true;
}

bool pattern_new(struct span text, bool fold_case, struct pattern **ret_pattern,
                 struct err *err) {
    struct pattern *pattern = mem_alloc(sizeof *pattern);
    struct parser parser = {
        .pattern = pattern, .text = text, .fold_case = fold_case, .err = err};
    struct piece whole;
    struct step found = {.kind = STEP_FOUND, .next = NONE, .other = NONE};
    uint32_t last;
    bool ok = text.len <= PATTERN_BYTES_MAX
                  ? read_ways(&parser, &whole) && add(&parser, &found, &last)
                  : fail(&parser, "too long");
    if (!ok) {
        pattern_free(pattern);
        return false;
    }
    lead(&parser, whole.out, last);
    pattern->first = whole.in;
    pattern->start = -1;
    pattern->mark = mem_alloc(pattern->count * sizeof *pattern->mark);
    pattern->list = mem_alloc(pattern->count * sizeof *pattern->list);
    pattern->stack =
        mem_alloc((2 * pattern->count + 2) * sizeof *pattern->stack);
    *ret_pattern = pattern;
    return true;
}
