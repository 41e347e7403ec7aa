/* Tells stories about a train: what is reported, and what it proposes. Trees
 * are readable: the tip is "t", a set merged onto it "t.1", another one onto
 * that "t.1.2". Merges, stops of runs, failures and departures are answered at
 * once; runs and landings end when the test says so. Everything proposed is
 * written down, and read by expect(). */
#ifndef POINTSMAN_TESTS_SUPPORT_TRAIN_STORY_H
#define POINTSMAN_TESTS_SUPPORT_TRAIN_STORY_H

#include "support/test.h"

#include "core/train.h"

enum { STORY_SETS = 700 };

static struct {
    struct train *train;
    struct train_config config;
    struct arena arena;
    struct text log;
    struct wall now;
    unsigned slots, busy;
    /* The set whose merge onto a tree that contains the other one fails. */
    uint64_t conflict_of, conflict_with;
    struct train_record records[STORY_SETS]; /* by set; 0: the tip */
    struct text recorded_tree; /* only for trees that begin so, if any */
    uint64_t running[64];
    unsigned commits, merges;
    char tip[64];
    uint64_t landing[STORY_SETS];
    size_t landing_count;
    char landing_tree[2000];
    bool manual_stops; /* the test ends a run that is stopped */
    bool refuse;       /* failures and departures are not committed */
} story;

PRINTF_LIKE(1, 2)
static inline void note(const char *format, ...) {
    va_list args;

    if (story.log.len > 0)
        text_adds(&story.log, ", ");
    va_start(args, format);
    text_addv(&story.log, format, args);
    va_end(args);
}

static inline bool contains(const char *tree, uint64_t num) {
    char word[32], text[2100];

    snprintf(word, sizeof(word), ".%u.", (unsigned)num);
    snprintf(text, sizeof(text), "%s.", tree);
    return strstr(text, word) != NULL;
}

static inline void story_merge(const struct train_effect *effect) {
    const char *base = arena_string(&story.arena, effect->tree);

    story.merges++;
    for (size_t i = 0; i < effect->step_count; i++) {
        uint64_t num = effect->steps[i].num;
        const char *tree =
            arena_printf(&story.arena, "%s.%u", base, (unsigned)num);
        bool conflict =
            num == story.conflict_of && contains(base, story.conflict_with);

        train_merged(story.train, num,
                     conflict ? TRAIN_MERGED_CONFLICT : TRAIN_MERGED_TREE,
                     conflict ? SPAN("a.c (C1)") : span_of(tree));
        if (!conflict && !effect->steps[i].aside)
            base = tree;
    }
    train_merge_ended(story.train, TRAIN_MERGE_DONE);
}

static inline void run_gone(uint64_t num) {
    unsigned i = 0;

    while (i < story.busy && story.running[i] != num)
        i++;
    assert_true(i < story.busy);
    memmove(&story.running[i], &story.running[i + 1],
            (story.busy - i - 1) * sizeof(story.running[0]));
    story.busy--;
}

static inline void story_land(const struct train_effect *effect) {
    note("land");
    story.landing_count = effect->unit_count;
    for (size_t i = 0; i < effect->unit_count; i++) {
        story.landing[i] = effect->units[i].num;
        text_addf(&story.log, " %u", (unsigned)effect->units[i].num);
        snprintf(story.landing_tree, sizeof(story.landing_tree), "%.*s",
                 (int)effect->units[i].tree.len, effect->units[i].tree.p);
    }
}

static inline void story_effect(const struct train_effect *effect) {
    unsigned num = (unsigned)effect->num;

    switch (effect->kind) {
    case TRAIN_MERGE:
        story_merge(effect);
        break;
    case TRAIN_STOP:
        note("stop %u", num);
        if (story.manual_stops)
            break;
        run_gone(num);
        train_run_ended(story.train, num, TRAIN_RUN_STOPPED, (struct span){0},
                        (struct span){0}, story.now);
        break;
    case TRAIN_LAND:
        story_land(effect);
        break;
    case TRAIN_STOP_LANDING:
        note("stop landing");
        break;
    case TRAIN_FAIL:
    case TRAIN_LEAVE:
        note("%s %u %.*s", effect->kind == TRAIN_FAIL ? "fail" : "leave", num,
             (int)effect->reason.len, effect->reason.p);
        if (!story.refuse)
            train_leave(story.train, num,
                        effect->kind == TRAIN_FAIL ? TRAIN_LEFT_ENDED
                                                   : TRAIN_LEFT_ALIVE);
        break;
    }
}

static inline void story_answer(void) {
    struct train_question question;

    while (train_next_question(story.train, &question)) {
        struct span tree = arena_span(&story.arena, question.tree);
        bool known = story.recorded_tree.len == 0 ||
                     span_starts(tree, text_string(&story.recorded_tree));
        struct train_record nothing = {0};

        train_record(story.train, question.num, tree,
                     known ? &story.records[question.num] : &nothing,
                     story.now);
    }
}

/* Carries out everything that is proposed now. */
static inline void go_on(void) {
    struct train_effect *effects;
    struct train_run run;
    size_t count;
    uint64_t num;

    do {
        story_answer();
        count = train_scan(story.train, story.now, &story.arena, &effects);
        for (size_t i = 0; i < count; i++)
            story_effect(&effects[i]);
    } while (count > 0);
    while (train_next_run(story.train, story.now, &run)) {
        if (story.busy == story.slots) {
            if (!train_spare(story.train,
                             run.interrupts ? TRAIN_CLAIM_INTERRUPT
                                            : TRAIN_CLAIM_RUN,
                             &num))
                break;
            note("spare %u", (unsigned)num);
            run_gone(num);
            train_run_ended(story.train, num, TRAIN_RUN_STOPPED,
                            (struct span){0}, (struct span){0}, story.now);
            continue;
        }
        note("run %u %.*s", (unsigned)run.num, (int)run.tree.len, run.tree.p);
        story.running[story.busy++] = run.num;
        train_run_begun(story.train, run.num, story.now);
    }
}

/* Everything proposed since the last call. */
static inline void expect(const char *what) {
    go_on();
    assert_string_equal(text_string(&story.log), what);
    text_reset(&story.log);
}

static inline void story_config(void) {
    train_set_config(story.train, &story.config);
}

/* A train whose tip "t" has passed. */
static inline void story_begin(unsigned lanes) {
    memset(&story, 0, sizeof(story));
    story.slots = 64;
    story.now = wall_from_s(1000);
    story.config = (struct train_config){.checks = true,
                                         .lanes = lanes,
                                         .interrupt = 1u << CLASS_EM,
                                         .follow = true,
                                         .land_max = 64,
                                         .remember = TRAIN_REMEMBER_SET};
    story.records[0].passed = wall_from_s(1);
    snprintf(story.tip, sizeof(story.tip), "t");
    story.train = train_new(SPAN("main"), &story.config);
    train_tip(story.train, SPAN("c0"), SPAN("t"));
}

static inline void story_end(void) {
    train_free(story.train);
    text_clear(&story.log);
    text_clear(&story.recorded_tree);
    arena_clear(&story.arena);
}

static inline bool joins_behind(uint64_t num, enum job_class job_class,
                                uint64_t followed, bool dependency) {
    struct train_set set = {
        num, span_of(arena_printf(&story.arena, "C%u", (unsigned)num))};
    struct train_follow follow = {followed, dependency};
    struct train_entry entry = {.num = num,
                                .job_class = job_class,
                                .sets = &set,
                                .set_count = 1,
                                .follows = &follow,
                                .follow_count = followed > 0};

    return train_join(story.train, &entry);
}

static inline void joins(uint64_t num, enum job_class job_class) {
    assert_true(joins_behind(num, job_class, 0, false));
}

/* Sets 1 to `last` of class DC. */
static inline void join_all(unsigned last) {
    for (unsigned num = 1; num <= last; num++)
        joins(num, CLASS_DC);
}

static inline void ends(uint64_t num, enum train_run_end end) {
    run_gone(num);
    train_run_ended(story.train, num, end,
                    end == TRAIN_RUN_FAILED ? SPAN("check-failed")
                                            : (struct span){0},
                    end == TRAIN_RUN_FAILED ? SPAN("check 'unit' failed")
                                            : (struct span){0},
                    story.now);
}

static inline void passes(uint64_t num) {
    ends(num, TRAIN_RUN_PASSED);
}

static inline void fails(uint64_t num) {
    ends(num, TRAIN_RUN_FAILED);
}

static inline void landing_ends(enum train_landing_end end) {
    struct span commit =
        span_of(arena_printf(&story.arena, "c%u", ++story.commits));

    train_landing_ended(story.train, end, commit);
}

static inline void lands(void) {
    landing_ends(TRAIN_LANDED);
}

static inline void pushed(const char *tree) {
    train_tip(story.train,
              span_of(arena_printf(&story.arena, "c%u", ++story.commits)),
              span_of(tree));
}

static inline enum train_state state_of(uint64_t num) {
    struct train_place place;

    assert_true(train_find(story.train, num, &story.arena, &place));
    return place.state;
}

static inline size_t position_of(uint64_t num) {
    struct train_place place;

    assert_true(train_find(story.train, num, &story.arena, &place));
    return place.position;
}

#endif
