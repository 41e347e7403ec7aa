#include "core/job.h"

#include <stddef.h>

#include "lib/attr.h"
#include "core/reason.h"

static const char *const kind_words[] = {
#define JOB_KIND(name, word, traits) word,
#include "core/life.def"
#undef JOB_KIND
};

static const unsigned kind_traits[] = {
#define JOB_KIND(name, word, traits) traits,
#include "core/life.def"
#undef JOB_KIND
};

static const char *const class_words[] = {
#define JOB_CLASS(name, word, meaning, traits) word,
#include "core/life.def"
#undef JOB_CLASS
};

static const unsigned class_traits[] = {
#define JOB_CLASS(name, word, meaning, traits) traits,
#include "core/life.def"
#undef JOB_CLASS
};

static const struct {
    char letter;
    const char *word, *dir, *group;
} states[] = {
#define JOB_STATE(name, letter, word, dir, group, traits) \
    {letter, word, dir, group},
#include "core/life.def"
#undef JOB_STATE
};

static const struct {
    char from, to;
    const char *reasons;
} steps[] = {
#define JOB_STEP(from, to, reasons) {from, to, reasons},
#include "core/life.def"
#undef JOB_STEP
};

static const struct {
    unsigned bit;
    const char *word;
} holds_of[] = {
#define JOB_HOLD(name, bit, word, lifter) {1u << (bit), word},
#include "core/life.def"
#undef JOB_HOLD
};

static const char *const status_words[] = {
#define TASK_STATUS(name, word) word,
#include "core/life.def"
#undef TASK_STATUS
};

static const char *const edge_words[] = {
#define EDGE_KIND(name, word) word,
#include "core/life.def"
#undef EDGE_KIND
};

static const char *const event_words[] = {
#define EVENT_KIND(name, word, traits) word,
#include "core/life.def"
#undef EVENT_KIND
};

static const unsigned event_traits[] = {
#define EVENT_KIND(name, word, traits) traits,
#include "core/life.def"
#undef EVENT_KIND
};

/* The index of `word` in `words`, or count. */
static size_t word_find(const char *const *words, size_t count,
                        struct span word) {
    size_t i = 0;
    while (i < count && !span_is(word, words[i]))
        i++;
    return i;
}

const char *job_kind_word(enum job_kind kind) {
    return kind < JOB_KINDS ? kind_words[kind] : "unknown";
}

bool job_kind_parse(struct span word, enum job_kind *ret_kind) {
    size_t i = word_find(kind_words, COUNT(kind_words), word);
    if (i == COUNT(kind_words))
        return false;
    *ret_kind = (enum job_kind)i;
    return true;
}

bool job_kind_has(enum job_kind kind, enum job_trait trait) {
    return kind < JOB_KINDS && (kind_traits[kind] & trait) != 0;
}

unsigned job_kinds_with(enum job_trait trait) {
    unsigned kinds = 0;
    for (unsigned kind = 0; kind < JOB_KINDS; kind++)
        if (kind_traits[kind] & trait)
            kinds |= 1u << kind;
    return kinds;
}

unsigned job_classes_with(enum job_trait trait) {
    unsigned classes = 0;
    for (unsigned i = 0; i < JOB_CLASSES; i++)
        if (class_traits[i] & trait)
            classes |= 1u << i;
    return classes;
}

bool job_has(const struct job *job, enum job_trait trait) {
    return job_kind_has(job->kind, trait) ||
           (job_kind_has(job->kind, JOB_LANDS) &&
            job->job_class < JOB_CLASSES &&
            (class_traits[job->job_class] & trait) != 0);
}

const char *job_class_word(enum job_class job_class) {
    return job_class < JOB_CLASSES ? class_words[job_class] : "unknown";
}

bool job_class_parse(struct span word, enum job_class *ret_class) {
    size_t i = word_find(class_words, COUNT(class_words), word);
    if (i == COUNT(class_words))
        return false;
    *ret_class = (enum job_class)i;
    return true;
}

char job_state_letter(enum job_state state) {
    return *job_state_letter_span(state).p;
}

struct span job_state_letter_span(enum job_state state) {
    return state < JOB_STATES ? span_make(&states[state].letter, 1) : SPAN("-");
}

const char *job_state_word(enum job_state state) {
    return state < JOB_STATES ? states[state].word : "none";
}

bool job_state_parse(struct span word, enum job_state *ret_state) {
    for (size_t i = 0; i < COUNT(states); i++) {
        if (span_is(word, states[i].word)) {
            *ret_state = (enum job_state)i;
            return true;
        }
    }
    return false;
}

const char *job_state_dir(enum job_state state) {
    return state < JOB_STATES ? states[state].dir : "";
}

const char *job_state_group(enum job_state state) {
    return state < JOB_STATES ? states[state].group : "";
}

bool job_state_of_letter(char letter, enum job_state *ret_state) {
    for (size_t i = 0; i < COUNT(states); i++) {
        if (states[i].letter == letter) {
            *ret_state = (enum job_state)i;
            return true;
        }
    }
    return false;
}

bool job_state_is_final(enum job_state state) {
    return state < JOB_STATES && (STATE_BIT(state) & STATES_FINAL) != 0;
}

const char *job_task_status_word(enum task_status status) {
    return status < TASK_STATUSES ? status_words[status] : "unknown";
}

bool job_task_status_parse(struct span word, enum task_status *ret_status) {
    size_t i = word_find(status_words, COUNT(status_words), word);
    if (i == COUNT(status_words))
        return false;
    *ret_status = (enum task_status)i;
    return true;
}

const char *job_edge_kind_word(enum edge_kind kind) {
    return kind < EDGE_KINDS ? edge_words[kind] : "unknown";
}

bool job_edge_kind_parse(struct span word, enum edge_kind *ret_kind) {
    size_t i = word_find(edge_words, COUNT(edge_words), word);
    if (i == COUNT(edge_words))
        return false;
    *ret_kind = (enum edge_kind)i;
    return true;
}

bool job_edge_is_dependency(enum edge_kind kind) {
    return kind == EDGE_DEPENDENCY || kind == EDGE_AFTER_ANY ||
           kind == EDGE_AFTER_FAILED || kind == EDGE_AFTER_SHARE;
}

const char *job_event_kind_word(enum event_kind kind) {
    return kind < EVENT_KINDS ? event_words[kind] : "unknown";
}

bool job_event_kind_parse(struct span word, enum event_kind *ret_kind) {
    size_t i = word_find(event_words, COUNT(event_words), word);
    if (i == COUNT(event_words))
        return false;
    *ret_kind = (enum event_kind)i;
    return true;
}

bool job_event_kind_has(enum event_kind kind, enum event_trait trait) {
    return kind < EVENT_KINDS && (event_traits[kind] & trait) != 0;
}

const char *job_hold_word(enum job_hold one_bit) {
    for (size_t i = 0; i < COUNT(holds_of); i++)
        if (holds_of[i].bit == (unsigned)one_bit)
            return holds_of[i].word;
    return "unknown";
}

void job_holds_format(unsigned holds, struct text *out) {
    const char *between = "";
    for (size_t i = 0; i < COUNT(holds_of); i++) {
        if (!(holds & holds_of[i].bit))
            continue;
        text_adds(out, between);
        text_adds(out, holds_of[i].word);
        between = ", ";
    }
}

/* True if a word of the list, which may end in '*', matches `reason`. */
static bool reasons_have(const char *list, struct span reason) {
    struct span rest = span_of(list), word;
    while (span_cut(&rest, ' ', &word)) {
        if (word.len > 0 && word.p[word.len - 1] == '*') {
            size_t len = word.len - 1;
            if (reason.len > len && memcmp(reason.p, word.p, len) == 0)
                return true;
        } else if (span_equal(word, reason)) {
            return true;
        }
    }
    return false;
}

void job_copy(struct arena *arena, const struct job *job, struct job *ret_job) {
    *ret_job = *job;
    struct span *spans[] = {
        &ret_job->id,     &ret_job->key,   &ret_job->rank,
        &ret_job->target, &ret_job->name,  &ret_job->reason,
        &ret_job->detail, &ret_job->actor, &ret_job->cause,
        &ret_job->sum,    &ret_job->spec,  &ret_job->rolled_back_by,
        &ret_job->seen,
    };
    for (size_t i = 0; i < COUNT(spans); i++)
        *spans[i] = spans[i]->len ? arena_span(arena, *spans[i]) : SPAN("");
}

bool job_shares_group(const struct job *job, const struct job *other) {
    return span_equal(job->target, other->target) &&
           span_equal(job->actor, other->actor);
}

bool job_begins(const struct job *job) {
    return (job->flags & JOB_BEGINS) != 0 && job->attempt == 0;
}

struct span job_rank(const struct job *job) {
    return job->rank.len > 0 ? job->rank : job->key;
}

bool job_step_is_legal(enum job_state from, enum job_state to,
                       struct span reason) {
    char from_letter = job_state_letter(from), to_letter = job_state_letter(to);
    for (size_t i = 0; i < COUNT(steps); i++)
        if (steps[i].from == from_letter && steps[i].to == to_letter &&
            reasons_have(steps[i].reasons, reason))
            return true;
    return false;
}

#define SINGLETON "singleton\n"

struct span job_singleton_path(struct span key, struct span actor,
                               struct arena *arena) {
    return span_of(arena_printf(arena, SINGLETON "%.*s\n%.*s", (int)actor.len,
                                actor.p, (int)key.len, key.p));
}

bool job_singleton_key(struct span path, struct span *ret_key) {
    size_t head = strlen(SINGLETON);
    struct span rest, actor;
    if (!span_starts(path, SINGLETON))
        return false;
    rest = span_make(path.p + head, path.len - head);
    (void)span_cut(&rest, '\n', &actor);
    *ret_key = rest;
    return true;
}
