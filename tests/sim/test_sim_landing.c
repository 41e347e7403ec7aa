/* The simulator of landing: the real program on a real repository, with a model
 * of what the branch holds. Sets are made from older and newer states of the
 * branch, alone or in groups; others push meanwhile; attempts are repeated and
 * killed at random calls of git. After each attempt the judge compares the
 * commits of the branch, their sets and all files with the model: each set has
 * landed once or not at all, in the order of the attempts, a group in one step,
 * and only if nothing it changes was changed since its base.
 *
 *     test_sim_landing                    as a test: seeds 1 to 4
 *     test_sim_landing --seeds FROM TO    a campaign, or one seed again */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "lib/random.h"
#include "support/landing.h"

enum { SEEDS = 4, STEPS = 14, PATHS = 5, SETS_MAX = 40, GROUP_MAX = 3 };
enum { ABSENT = 0, UNTOUCHED = -1 };

/* Names that a careless caller of git would quote, split or resolve. */
static const char *const paths[PATHS] = {"a", "b c", "d/\xc3\xa4 \"x\"", "d/-e",
                                         "main"};

struct version {        /* of the branch */
    int content[PATHS]; /* a number that is the file's text, or ABSENT */
    int set;            /* index, or -1: somebody pushed */
    char commit[72];
};

struct model_set {
    char id[16];
    int content[PATHS]; /* or UNTOUCHED */
    char text[PATHS][16];
    char sections[128];
    size_t base; /* index of a version */
    size_t group[GROUP_MAX];
    size_t group_count;
    bool landed;
    struct set set;
};

static struct version versions[200];
static struct {
    struct random random;
    uint64_t seed;
    unsigned step;
    size_t version_count;
    struct model_set sets[SETS_MAX];
    size_t set_count;
    int numbers; /* the last content */
    unsigned landed, conflicts, kills, again;
} world;

static uint64_t draw(uint64_t below) {
    return random_below(&world.random, below);
}

static bool chance(unsigned percent) {
    return draw(100) < percent;
}

static void judge_fail(const char *format, ...) PRINTF_LIKE(1, 2);
static void judge_fail(const char *format, ...) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    va_list args;
    va_start(args, format);
    text_addv(&text, format, args);
    va_end(args);
    fail_msg("seed %" PRIu64 ", step %u: %s", world.seed, world.step,
             text_string(&text));
}

static struct version *last_version(void) {
    return &versions[world.version_count - 1];
}

static struct version *add_version(int set) {
    assert_true(world.version_count < COUNT(versions));
    versions[world.version_count] = *last_version();
    world.version_count++;
    last_version()->set = set;
    return last_version();
}

/* ---- users --------------------------------------------------------------- */

static void push(void) {
    size_t path = (size_t)draw(PATHS);
    struct version *version = add_version(-1);
    version->content[path] = ++world.numbers;
    sh("cd clone; git pull -q origin main 2>/dev/null; mkdir -p d\n"
       "echo %d >'%s'; git add -A; git commit -q -m push\n"
       "git push -q origin main",
       version->content[path], paths[path]);
    snprintf(version->commit, sizeof(version->commit), "%s", tip());
}

static void fill(struct model_set *set, const struct version *base, size_t path,
                 size_t *files, size_t *deleted) {
    if (base->content[path] != ABSENT && chance(20)) {
        set->content[path] = ABSENT;
        set->set.deleted[(*deleted)++] = paths[path];
        return;
    }
    int number = ++world.numbers;
    char *text = set->text[path];
    set->content[path] = number;
    snprintf(text, sizeof(set->text[path]), "%d\n", number);
    set->set.files[(*files)++] =
        (struct set_file){.path = paths[path], .content = text};
}

/* At most `most` paths; of a group, no two sets touch the same path. */
static void set_new(size_t base, size_t most, bool used[PATHS]) {
    size_t files = 0, deleted = 0;
    assert_true(world.set_count < SETS_MAX);
    struct model_set *set = &world.sets[world.set_count++];
    *set = (struct model_set){.base = base};
    snprintf(set->id, sizeof(set->id), "C%zu", world.set_count);
    snprintf(set->sections, sizeof(set->sections), "##base\n%s\n",
             versions[base].commit);
    set->set.id = set->id;
    set->set.class = "DC";
    set->set.sections = set->sections;
    for (size_t path = 0; path < PATHS; path++)
        set->content[path] = UNTOUCHED;
    for (size_t i = 0; i < most; i++) {
        size_t path = (size_t)draw(PATHS);
        while (i == 0 && used[path])
            path = (path + 1) % PATHS;
        if (!used[path])
            fill(set, &versions[base], path, &files, &deleted);
        used[path] = true;
    }
}

static size_t group_new(void) {
    bool used[PATHS] = {false};
    size_t first = world.set_count, count = 1;
    size_t base = world.version_count - 1;
    if (chance(50))
        base = (size_t)draw(world.version_count);
    if (chance(30))
        count = 1 + (size_t)draw(GROUP_MAX);
    for (size_t i = 0; i < count; i++)
        set_new(base, count > 1 ? 1 : 3, used);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++)
            world.sets[first + i].group[world.sets[first + i].group_count++] =
                first + k;
    return first;
}

/* ---- the model ----------------------------------------------------------- */

static bool fits(const struct model_set *set) {
    const struct version *base = &versions[set->base];
    for (size_t path = 0; path < PATHS; path++) {
        int wanted = set->content[path], is = last_version()->content[path];
        if (wanted != UNTOUCHED && is != base->content[path] && is != wanted)
            return false;
    }
    return true;
}

static void model_land(const struct model_set *first) {
    for (size_t i = 0; i < first->group_count; i++) {
        struct model_set *set = &world.sets[first->group[i]];
        struct version *version = add_version((int)first->group[i]);
        set->landed = true;
        world.landed++;
        for (size_t path = 0; path < PATHS; path++)
            if (set->content[path] != UNTOUCHED)
                version->content[path] = set->content[path];
        snprintf(version->commit, sizeof(version->commit), "%s",
                 sh("git -C target.git rev-parse main~%zu",
                    first->group_count - 1 - i));
    }
}

static const char *expected(const struct model_set *first) {
    if (first->landed)
        return "already-landed ";
    for (size_t i = 0; i < first->group_count; i++)
        if (!fits(&world.sets[first->group[i]]))
            return "conflict ";
    return "done ";
}

/* ---- attempts ------------------------------------------------------------ */

/* A git that kills the whole attempt at its call `point`: before it does
 * anything, or when it is done. */
static const char *killing_git(unsigned point, bool after) {
    sh("rm -f calls; mkdir -p fake; cat >fake/git <<'END'\n"
       "#!/bin/sh\n"
       "n=$(cat '%s/calls' 2>/dev/null || echo 0); n=$((n + 1))\n"
       "echo $n >'%s/calls'\n"
       "end() { kill -9 -$PPID; kill -9 $$; }\n"
       "[ $n -eq %u ] && [ %d = 0 ] && end\n"
       "'%s' \"$@\"; status=$?\n"
       "[ $n -eq %u ] && end\n"
       "exit $status\nEND\n"
       "chmod +x fake/git",
       test_dir(), test_dir(), point, after, sh("command -v git"), point);
    return sh("echo \"$PWD/fake\"");
}

static void end_group(pid_t pid) {
    kill(-pid, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        continue;
}

static struct outcome try_once(const struct model_set *first,
                               const char *path) {
    struct attempt attempt = {.set = &first->set, .path = path};
    for (size_t i = 1; i < first->group_count; i++)
        attempt.others[i - 1] = &world.sets[first->group[i]].set;
    struct landing_child child = landing_spawn(&attempt);
    struct outcome outcome = land_wait(&child);
    end_group(child.pid);
    return outcome;
}

/* A lock that a killed git left behind may take a second attempt. */
static struct outcome try_until_verdict(const struct model_set *first) {
    struct outcome outcome;
    do
        outcome = try_once(first, NULL);
    while (strncmp(outcome.line, "temporary ", 10) == 0 &&
           strstr(outcome.line, "lock") != NULL);
    return outcome;
}

/* ---- the judge ----------------------------------------------------------- */

static size_t commit_count(void) {
    return strtoul(commits(), NULL, 10);
}

/* The sets of all commits, oldest first; "-" for one that was pushed. */
static void judge_order(void) {
    CLEANUP(text_clear) struct text wanted = TEXT_INIT;
    for (size_t i = 0; i < world.version_count; i++) {
        int set = versions[i].set;
        text_addf(&wanted, "%s[%s]", i > 0 ? "\n" : "",
                  set < 0 ? "" : world.sets[set].id);
    }
    const char *is = sh("git -C target.git log --reverse --first-parent "
                        "--format='[%%(trailers:key=CS-Id,valueonly,"
                        "separator=%%x2C)]' main");
    if (strcmp(is, text_string(&wanted)) != 0)
        judge_fail("the branch has\n%s\ninstead of\n%s", is,
                   text_string(&wanted));
}

static void judge_files(void) {
    CLEANUP(text_clear) struct text names = TEXT_INIT, wanted = TEXT_INIT;
    const struct version *version = last_version();
    for (size_t path = 0; path < PATHS; path++) {
        text_addf(&names, "main:%s\n", paths[path]);
        if (version->content[path] == ABSENT)
            text_addf(&wanted, "main:%s missing\n", paths[path]);
        else
            text_addf(&wanted, "blob\n%d\n\n", version->content[path]);
    }
    while (wanted.len > 0 && wanted.p[wanted.len - 1] == '\n')
        wanted.p[--wanted.len] = '\0';
    const char *is = sh("git -C target.git cat-file "
                        "--batch='%%(objecttype)' <<'END'\n%sEND",
                        text_string(&names));
    if (strcmp(is, text_string(&wanted)) != 0)
        judge_fail("the files are\n%s\ninstead of\n%s", is,
                   text_string(&wanted));
}

static void judge(void) {
    judge_order();
    judge_files();
}

/* Nobody knows how far it came, but half of it is not there. */
static void judge_killed(const struct model_set *first) {
    size_t before = world.version_count, now = commit_count();
    world.kills++;
    if (now == before)
        return;
    if (first->landed || strcmp(expected(first), "done ") != 0 ||
        now != before + first->group_count)
        judge_fail("%zu commits became %zu when %s was killed", before, now,
                   first->id);
    model_land(first);
}

static void judge_outcome(const struct model_set *first,
                          const struct outcome *outcome) {
    const char *wanted = expected(first);
    if (strncmp(outcome->line, wanted, strlen(wanted)) != 0)
        judge_fail("%s ended with '%s', not with '%s':\n%s", first->id,
                   outcome->line, wanted, outcome->output);
    world.conflicts += wanted[0] == 'c';
    world.again += wanted[0] == 'a';
    if (wanted[0] == 'd')
        model_land(first);
}

static void judge_clean(void) {
    sh("rm -f target.git/fast_import_crash_*");
    const char *left = sh("ls -A tmp; cd target.git; find . -name '*.lock'");
    if (left[0] != '\0')
        judge_fail("left behind: %s", left);
    sh("git -C target.git fsck --strict --no-dangling >&2");
}

/* ---- a seed -------------------------------------------------------------- */

static void begin(void) {
    landing_begin_empty("");
    sh("git clone -q target.git clone 2>/dev/null; cd clone\n"
       "git checkout -q -b main; mkdir d; echo 1 >a; echo 2 >'d/-e'\n"
       "git add -A; git commit -q -m begin; git push -q origin main");
    versions[0] = (struct version){.content = {1, 0, 0, 2, 0}, .set = -1};
    snprintf(versions[0].commit, sizeof(versions[0].commit), "%s", tip());
    world.version_count = 1;
    world.set_count = 0;
    world.numbers = 2;
}

static void step(void) {
    if (chance(25))
        push();
    size_t set = world.set_count > 0 && chance(40)
                     ? (size_t)draw(world.set_count)
                     : group_new();
    const struct model_set *first = &world.sets[world.sets[set].group[0]];
    if (chance(50)) {
        const char *path = killing_git(1 + (unsigned)draw(16), chance(50));
        struct outcome outcome = try_once(first, path);
        if (outcome.signal == SIGKILL)
            judge_killed(first);
        else
            judge_outcome(first, &outcome);
        judge();
    }
    struct outcome outcome = try_until_verdict(first);
    judge_outcome(first, &outcome);
    judge();
    judge_clean();
}

static void run(uint64_t seed) {
    world.seed = seed;
    random_init(&world.random, seed);
    begin();
    for (world.step = 0; world.step < STEPS; world.step++)
        step();
}

static uint64_t first_seed = 1, last_seed;

static void each_set_lands_once_in_order_or_not_at_all(void **state) {
    (void)state;
    prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
    for (uint64_t seed = first_seed; seed <= last_seed; seed++)
        run(seed);
    print_message("# %u landed, %u conflicts, %u again, %u kills\n",
                  world.landed, world.conflicts, world.again, world.kills);
}

/* Otherwise the judge had nothing to do. */
static void the_seeds_reach_what_is_judged(void **state) {
    (void)state;
    if (last_seed == first_seed)
        test_skip("there was one seed");
    assert_true(world.landed > 0 && world.conflicts > 0);
    assert_true(world.again > 0 && world.kills > 0);
}

int main(int argc, char **argv) {
    last_seed = test_cases(SEEDS);
    if (last_seed < 1)
        last_seed = 1;
    if (argc != 1 &&
        (argc != 4 || strcmp(argv[1], "--seeds") != 0 ||
         !span_u64(span_of(argv[2]), &first_seed) ||
         !span_u64(span_of(argv[3]), &last_seed) || last_seed < first_seed)) {
        fprintf(stderr, "usage: test_sim_landing [--seeds FROM TO]\n");
        return 64;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_set_lands_once_in_order_or_not_at_all),
        cmocka_unit_test(the_seeds_reach_what_is_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
