#include "wire/filter.h"

#include <stdlib.h>

enum value_kind {
    VALUE_STATE,
    VALUE_KIND,
    VALUE_CLASS,
    VALUE_TEXT,
    VALUE_FLAG,
    VALUE_DURATION
};

static const struct {
    const char *word;
    enum value_kind kind;
} fields[FILTER_FIELDS] = {
#define FILTER_FIELD(name, word, kind, meaning) {word, VALUE_##kind},
#include "wire/filter.def"
#undef FILTER_FIELD
};

static const struct {
    const char *word;
    unsigned states; /* bits */
} states[] = {
#define JOB_STATE(name, letter, word, dir, group, traits) \
    {word, STATE_BIT(STATE_##name)},
#include "core/life.def"
#undef JOB_STATE
    {"open", STATES_LIVE}, {"final", STATES_FINAL}};

struct reader {
    struct span text;
    enum filter_of of;
    size_t at;
    struct arena *arena;
    struct filter_term *terms;
    size_t count, cap;
    struct err *err;
};

static void reader_clear(struct reader *reader) {
    free(reader->terms);
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool more(const struct reader *reader) {
    return reader->at < reader->text.len;
}

static char here(const struct reader *reader) {
    return more(reader) ? reader->text.p[reader->at] : '\0';
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool refuse(struct reader *reader, size_t at, const char *format, ...)
    PRINTF_LIKE(3, 4);
static bool refuse(struct reader *reader, size_t at, const char *format, ...) {
    va_list args;
    va_start(args, format);
    err_vset(reader->err, ERR_USAGE, format, args);
    va_end(args);
    return err_wrap(reader->err, "filter, at byte %zu", at + 1);
}

enum { WORDS_SHOWN = 16 }; /* of those that are known */

static bool refuse_word(struct reader *reader, size_t at, const char *what,
                        struct span word, const char *const *known,
                        size_t count) {
    CLEANUP(text_free_string) char *copy = span_string(word);
    const char *near = text_nearest(copy, known, count);
    if (near)
        return refuse(reader, at, "unknown %s '%s', did you mean '%s'?", what,
                      copy, near);
    CLEANUP(text_clear) struct text all = TEXT_INIT;
    for (size_t i = 0; i < count && count <= WORDS_SHOWN; i++)
        text_addf(&all, "%s%s", i > 0 ? ", " : "; use ", known[i]);
    return refuse(reader, at, "unknown %s '%s'%s", what, copy,
                  text_string(&all));
}

/* Takes a value up to a blank, or to a comma if `list`; "..." protects both.
 * *ret_quoted says whether there were quotes. */
static bool take_value(struct reader *reader, bool list, struct span *ret_value,
                       bool *ret_quoted) {
    CLEANUP(text_clear) struct text value = TEXT_INIT;
    size_t begin = reader->at;
    bool quoted = false;
    *ret_quoted = false;
    for (; more(reader); reader->at++) {
        char c = here(reader);
        if (!quoted && (is_blank(c) || (list && c == ',')))
            break;
        if (c == '"') {
            quoted = !quoted;
            *ret_quoted = true;
            continue;
        }
        if (quoted && c == '\\' && reader->at + 1 < reader->text.len &&
            strchr("\"\\", reader->text.p[reader->at + 1]))
            c = reader->text.p[++reader->at];
        text_addc(&value, c);
    }
    if (quoted)
        return refuse(reader, begin, "unterminated \"");
    *ret_value = arena_span(reader->arena, text_span(&value));
    return true;
}

/* There is room for a power of two. */
static void add_value(struct reader *reader, struct filter_term *term,
                      struct span value) {
    size_t count = term->value_count;
    if ((count & (count - 1)) == 0) {
        struct span *grown =
            arena_alloc(reader->arena, (2 * count + 1) * sizeof *grown);
        if (count > 0)
            memcpy(grown, term->values, count * sizeof *grown);
        term->values = grown;
    }
    term->values[term->value_count++] = value;
}

char filter_task_state(enum task_status status) {
    return (char)('a' + status);
}

/* A state is given by its word, its letter, or a word for several. */
static unsigned states_of(struct span word) {
    for (unsigned state = 0; state < JOB_STATES; state++)
        if (word.len == 1 &&
            lower(word.p[0]) == lower(job_state_letter((enum job_state)state)))
            return STATE_BIT(state);
    for (size_t i = 0; i < COUNT(states); i++)
        if (span_is(word, states[i].word))
            return states[i].states;
    return 0;
}

static bool take_task_state(struct reader *reader, size_t at,
                            struct span *value) {
    const char *known[TASK_STATUSES];
    enum task_status status;
    for (unsigned i = 0; i < TASK_STATUSES; i++)
        known[i] = job_task_status_word((enum task_status)i);
    if (!job_task_status_parse(*value, &status))
        return refuse_word(reader, at, "state of a task", *value, known,
                           COUNT(known));
    char letter = filter_task_state(status);
    *value = arena_span(reader->arena, span_make(&letter, 1));
    return true;
}

static bool take_state(struct reader *reader, size_t at, struct span *value) {
    CLEANUP(text_clear) struct text letters = TEXT_INIT;
    unsigned found = states_of(*value);
    for (unsigned state = 0; state < JOB_STATES; state++)
        if (found & STATE_BIT(state))
            text_addc(&letters, job_state_letter((enum job_state)state));
    if (found != 0) {
        *value = arena_span(reader->arena, text_span(&letters));
        return true;
    }
    const char *known[COUNT(states)];
    for (size_t i = 0; i < COUNT(states); i++)
        known[i] = states[i].word;
    return refuse_word(reader, at, "state", *value, known, COUNT(known));
}

/* An unknown word would match nothing, and a misspelt one must not mean "none":
 * the words of kinds and classes are as fixed as those of states. */
static bool check_word(struct reader *reader, size_t at,
                       enum filter_field field, struct span value) {
    static const char *const kinds[] = {
#define JOB_KIND(name, word, traits) word,
#include "core/life.def"
#undef JOB_KIND
    };
    static const char *const classes[] = {
#define JOB_CLASS(name, word, meaning, traits) word,
#include "core/life.def"
#undef JOB_CLASS
    };
    bool kind = fields[field].kind == VALUE_KIND;
    const char *const *known = kind ? kinds : classes;
    size_t count = kind ? COUNT(kinds) : COUNT(classes);
    if (memchr(value.p, '*', value.len) != NULL)
        return true;
    for (size_t i = 0; i < count; i++)
        if (span_is(value, known[i]))
            return true;
    return refuse_word(reader, at, kind ? "kind" : "class", value, known,
                       count);
}

enum {
    FILTER_BYTES = 64 << 10,
    VALUES_MOST = 256 /* each is compared with many jobs */
};

static bool take_values(struct reader *reader, struct filter_term *term) {
    for (;;) {
        struct span value;
        bool quoted;
        size_t at = reader->at;
        if (!take_value(reader, true, &value, &quoted))
            return false;
        if (!value.len && !quoted)
            return refuse(reader, at, "a value is missing");
        if (fields[term->field].kind == VALUE_STATE &&
            !(reader->of == FILTER_JOBS ? take_state(reader, at, &value)
                                        : take_task_state(reader, at, &value)))
            return false;
        if ((fields[term->field].kind == VALUE_KIND ||
             fields[term->field].kind == VALUE_CLASS) &&
            term->op == FILTER_IS &&
            !check_word(reader, at, term->field, value))
            return false;
        if (reader->of == FILTER_JOBS && term->value_count == VALUES_MOST)
            return refuse(reader, at, "more than %d values", VALUES_MOST);
        add_value(reader, term, value);
        if (here(reader) != ',')
            return true;
        reader->at++;
    }
}

static bool take_flag(struct reader *reader, struct filter_term *term) {
    static const char *const yes[] = {"yes", "true", "on"};
    static const char *const no[] = {"no", "false", "off"};
    struct span value;
    bool quoted;
    size_t at = reader->at;
    if (!take_value(reader, false, &value, &quoted))
        return false;
    for (size_t i = 0; i < COUNT(yes); i++) {
        if (span_is(value, yes[i]) || span_is(value, no[i])) {
            term->flag = span_is(value, yes[i]);
            return true;
        }
    }
    return refuse(reader, at, "'%.*s' is neither yes nor no", (int)value.len,
                  value.p ? value.p : "");
}

static bool take_duration(struct reader *reader, struct filter_term *term) {
    struct span value;
    bool quoted;
    size_t at = reader->at;
    if (!take_value(reader, false, &value, &quoted))
        return false;
    if (duration_parse(value, &term->ms))
        return true;
    return refuse(reader, at, "'%.*s' is not a duration such as 90s, 15m, 2h",
                  (int)value.len, value.p ? value.p : "");
}

static bool is_known(const struct reader *reader, int field) {
    return reader->of == FILTER_JOBS || field == FILTER_STATE ||
           field == FILTER_NODE;
}

static bool find_field(struct reader *reader, size_t at, struct span word,
                       enum filter_field *ret_field) {
    const char *known[FILTER_WORD];
    size_t count = 0;
    for (int f = 0; f < FILTER_WORD; f++) {
        if (!is_known(reader, f))
            continue;
        known[count++] = fields[f].word;
        if (span_is(word, fields[f].word)) {
            *ret_field = (enum filter_field)f;
            return true;
        }
    }
    return refuse_word(reader, at, "field", word, known, count);
}

static bool find_op(struct reader *reader, struct filter_term *term,
                    char sign) {
    bool duration = fields[term->field].kind == VALUE_DURATION;
    bool text = fields[term->field].kind == VALUE_TEXT;
    bool fine = duration ? sign == '<' || sign == '>'
                         : sign == ':' || sign == '=' || (text && sign == '~');
    term->op = sign == '~'   ? FILTER_HAS
               : sign == '>' ? FILTER_MORE
               : sign == '<' ? FILTER_LESS
                             : FILTER_IS;
    if (fine)
        return true;
    return refuse(reader, reader->at, "after '%s' comes %s, not '%c'",
                  fields[term->field].word,
                  duration ? "'<' or '>'"
                  : text   ? "':' or '~'"
                           : "':'",
                  sign);
}

static bool is_sign(const struct reader *reader, size_t len, char c) {
    if (reader->of == FILTER_JOBS)
        return c != '\0' && strchr(":=~<>", c) != NULL;
    return c == ':' ||
           (c == '~' && span_is(span_make(reader->text.p + reader->at, len),
                                fields[FILTER_NODE].word));
}

/* FIELD SIGN VALUE: *ret_len is the length of FIELD; false: a bare word. */
static bool has_field(const struct reader *reader, size_t *ret_len) {
    size_t len = 0;
    while (reader->at + len < reader->text.len) {
        char c = reader->text.p[reader->at + len];
        if (is_sign(reader, len, c)) {
            *ret_len = len;
            return len > 0;
        }
        if (lower(c) < 'a' || lower(c) > 'z')
            return false;
        len++;
    }
    return false;
}

static bool take_bare(struct reader *reader, struct filter_term *term) {
    struct span value;
    bool quoted;
    size_t at = reader->at;
    term->field = FILTER_WORD;
    if (reader->of == FILTER_TASKS)
        return take_values(reader, term);
    if (!take_value(reader, false, &value, &quoted))
        return false;
    if (!value.len)
        return refuse(reader, at, "a word is missing");
    add_value(reader, term, value);
    return true;
}

/* A node may be called "-". */
static bool is_negated(const struct reader *reader) {
    size_t next = reader->at + 1;
    return here(reader) == '-' &&
           (reader->of == FILTER_JOBS ||
            (next < reader->text.len && !is_blank(reader->text.p[next])));
}

static bool take_term(struct reader *reader, struct filter_term *term) {
    size_t len;
    if (is_negated(reader)) {
        term->negate = true;
        reader->at++;
    }
    if (!has_field(reader, &len))
        return take_bare(reader, term);
    if (!find_field(reader, reader->at,
                    span_make(reader->text.p + reader->at, len), &term->field))
        return false;
    reader->at += len;
    if (!find_op(reader, term, here(reader)))
        return false;
    reader->at++;
    switch (fields[term->field].kind) {
    case VALUE_FLAG:
        return take_flag(reader, term);
    case VALUE_DURATION:
        return take_duration(reader, term);
    case VALUE_STATE:
    case VALUE_KIND:
    case VALUE_CLASS:
    case VALUE_TEXT:
        break;
    }
    return take_values(reader, term);
}

static bool add_term(struct reader *reader, struct filter_term term) {
    if (reader->count == reader->cap) {
        reader->cap = reader->cap ? 2 * reader->cap : 8;
        reader->terms =
            mem_grow(reader->terms, reader->cap, sizeof *reader->terms);
    }
    reader->terms[reader->count++] = term;
    return true;
}

bool filter_parse(struct span text, enum filter_of of, struct arena *arena,
                  struct filter *ret_filter, struct err *err) {
    CLEANUP(reader_clear)
    struct reader reader = {.text = text, .of = of, .arena = arena, .err = err};
    *ret_filter = (struct filter){0};
    if (text.len > FILTER_BYTES)
        return err_set(err, ERR_USAGE, "filter of more than %d bytes",
                       FILTER_BYTES);
    for (;;) {
        struct filter_term term = {0};
        while (more(&reader) && is_blank(here(&reader)))
            reader.at++;
        if (!more(&reader))
            break;
        if (!take_term(&reader, &term))
            return false;
        add_term(&reader, term);
    }
    ret_filter->terms =
        arena_alloc(arena, (reader.count + 1) * sizeof *ret_filter->terms);
    if (reader.count)
        memcpy(ret_filter->terms, reader.terms,
               reader.count * sizeof *reader.terms);
    ret_filter->count = reader.count;
    return true;
}

/* `*` matches any bytes. Backtracks only to the last star, so it never takes
 * more than pattern x text steps. */
static bool glob_match(struct span pattern, struct span text) {
    size_t p = 0, t = 0, star = SIZE_MAX, from = 0;
    while (t < text.len) {
        if (p < pattern.len && pattern.p[p] == '*') {
            star = p++;
            from = t;
        } else if (p < pattern.len && pattern.p[p] == text.p[t]) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++from;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.p[p] == '*')
        p++;
    return p == pattern.len;
}

static bool text_has(struct span text, struct span part) {
    for (size_t i = 0; i + part.len <= text.len; i++) {
        size_t k = 0;
        while (k < part.len && lower(text.p[i + k]) == lower(part.p[k]))
            k++;
        if (k == part.len)
            return true;
    }
    return false;
}

static bool value_match(const struct filter_term *term, struct span value,
                        struct span text) {
    return term->op == FILTER_HAS ? text_has(text, value)
                                  : glob_match(value, text);
}

static bool any_value(const struct filter_term *term, struct span text) {
    for (size_t i = 0; i < term->value_count; i++)
        if (value_match(term, term->values[i], text))
            return true;
    return false;
}

static bool any_touch(const struct filter_term *term,
                      const struct filter_facts *facts) {
    for (size_t i = 0; i < facts->touch_count; i++)
        if (any_value(term, facts->touches[i]))
            return true;
    return false;
}

static bool any_state(const struct filter_term *term, char state) {
    for (size_t i = 0; i < term->value_count; i++)
        if (memchr(term->values[i].p, state, term->values[i].len))
            return true;
    return false;
}

static bool word_match(struct span word, const struct filter_facts *facts) {
    bool begins =
        facts->id.len >= word.len && !memcmp(facts->id.p, word.p, word.len);
    if (begins || text_has(facts->arg, word))
        return true;
    return memchr(word.p, '*', word.len) && glob_match(word, facts->id);
}

static bool any_word(const struct filter_term *term,
                     const struct filter_facts *facts) {
    for (size_t i = 0; i < term->value_count; i++)
        if (word_match(term->values[i], facts))
            return true;
    return false;
}

static bool duration_match(const struct filter_term *term, struct wall begin,
                           struct wall now) {
    int64_t ms = wall_ms_since(now, begin);
    return term->op == FILTER_MORE ? ms > term->ms : ms < term->ms;
}

static bool term_match(const struct filter_term *term,
                       const struct filter_facts *facts, struct wall now) {
    switch (term->field) {
    case FILTER_STATE:
        return any_state(term, facts->state);
    case FILTER_KIND:
        return any_value(term, facts->kind);
    case FILTER_CLASS:
        return any_value(term, facts->class);
    case FILTER_TARGET:
        return any_value(term, facts->target);
    case FILTER_ID:
        return any_value(term, facts->id);
    case FILTER_NODE:
        return any_value(term, facts->node);
    case FILTER_REASON:
        return any_value(term, facts->reason);
    case FILTER_ARG:
        return any_value(term, facts->arg);
    case FILTER_TOUCHES:
        return any_touch(term, facts);
    case FILTER_HELD:
        return term->flag == facts->held;
    case FILTER_OWED:
        return term->flag == facts->owed;
    case FILTER_OVERDUE:
        return term->flag == facts->overdue;
    case FILTER_AGE:
        return duration_match(term, facts->admitted, now);
    case FILTER_SINCE:
        return duration_match(term, facts->since, now);
    case FILTER_WORD:
        return any_word(term, facts);
    case FILTER_FIELDS:
        break;
    }
    return false;
}

bool filter_match(const struct filter *filter, const struct filter_facts *facts,
                  struct wall now) {
    for (size_t i = 0; i < filter->count; i++)
        if (term_match(&filter->terms[i], facts, now) ==
            filter->terms[i].negate)
            return false;
    return true;
}

void filter_states(const struct filter *filter,
                   char ret_states[JOB_STATES + 1]) {
    size_t count = 0;
    for (unsigned s = 0; s < JOB_STATES; s++) {
        char letter = job_state_letter((enum job_state)s);
        bool possible = true;
        for (size_t i = 0; i < filter->count; i++) {
            const struct filter_term *term = &filter->terms[i];
            if (term->field == FILTER_STATE &&
                any_state(term, letter) == term->negate)
                possible = false;
        }
        if (possible)
            ret_states[count++] = letter;
    }
    ret_states[count] = '\0';
}
