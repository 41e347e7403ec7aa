#include "support/test.h"

#include "lib/text.h"
#include "changes/policy_config.h"
#include "core/schedules.h"
#include "schedules/schedule_config.h"
#include "serve/tables.h"
#include "wire/config.h"
#include "wire/ini.h"
#include "wire/words.h"

static void clear(struct config *config) {
    config_clear(config);
}

static void assert_read(struct config *config, const char *text) {
    struct err err = {0};
    if (!config_read(config, span_of(text), "pointsman.conf", &err) ||
        !config_finish(config, &err))
        fail_msg("%s", err.text);
}

static void assert_refused(const char *text, const char *sentence) {
    CLEANUP(clear) struct config config;
    struct err err = {0};
    config_init(&config);
    if (config_read(&config, span_of(text), "pointsman.conf", &err) &&
        config_finish(&config, &err))
        fail_msg("accepted: %s", text);
    assert_int_equal(err.kind, ERR_CONFIG);
    assert_string_equal(err.text, sentence);
}

static void what_only_a_shell_understands_is_found(void **state) {
    (void)state;
    static const struct {
        const char *line, *part; /* NULL: nothing */
    } cases[] = {
        {"make && make test", "&&"},
        {"make || true", "||"},
        {"make; make test", "make;"},
        {"make ; make test", ";"},
        {"server& client", "server&"},
        {"make | tee log", "|"},
        {"make >log", ">log"},
        {"make 2>&1", "2>&1"},
        {"cat <in", "<in"},
        {"echo $HOME", "$HOME"},
        {"echo \"a ${HOME}\"", "\"a ${HOME}\""},
        {"echo `date`", "`date`"},
        {"test \"$(ls)\"", "\"$(ls)\""},
        {"CC=clang make", "CC=clang"},
        {"make CC=clang", NULL},
        {"sh -c 'make && make $X; `x` >y'", NULL},
        {"echo \"&&\" '>' \\; \\$X \"\\$X\"", NULL},
        {"curl http://x/?a=1&b=2", NULL},
        {"expr 1 + 2 '' \"\"", NULL},
        {"price 3$ $ $1", NULL},
        {"", NULL},
        {"  \t", NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct span part;
        bool found = words_find_shell(span_of(cases[i].line), &part);
        if (found != (cases[i].part != NULL) ||
            (found && !span_is(part, cases[i].part)))
            fail_msg("'%s': %s", cases[i].line,
                     found ? "another part" : "not found");
    }
}

static void quotes_group_words(void **state) {
    (void)state;
    static const struct {
        const char *line;
        size_t count;
        const char *words[4];
    } cases[] = {
        {"", 0, {NULL}},
        {"  a  b\tc ", 3, {"a", "b", "c"}},
        {"sh -c 'echo \"$X\"; b'", 3, {"sh", "-c", "echo \"$X\"; b"}},
        {"a\\ b \"c \\\" \\x\" ''", 3, {"a b", "c \" \\x", ""}},
        {"a'b'\"c\"d", 1, {"abcd"}},
        {"$X *|&#", 2, {"$X", "*|&#"}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct arena arena = ARENA_INIT;
        char **words;
        size_t count;
        assert_true(
            words_split(span_of(cases[i].line), &arena, &words, &count, NULL));
        assert_int_equal(count, cases[i].count);
        for (size_t w = 0; w < count; w++)
            assert_string_equal(words[w], cases[i].words[w]);
        assert_null(words[count]);
        CLEANUP(text_clear) struct text joined = TEXT_INIT;
        char **again;
        size_t again_count;
        for (size_t w = 0; w < count; w++) {
            text_addc(&joined, ' ');
            word_quote(span_of(words[w]), &joined);
        }
        assert_true(words_split(text_span(&joined), &arena, &again,
                                &again_count, NULL));
        assert_int_equal(again_count, count);
        for (size_t w = 0; w < count; w++)
            assert_string_equal(words[w], again[w]);
        arena_clear(&arena);
    }
}

static void open_quotes_are_refused(void **state) {
    (void)state;
    static const char *const lines[] = {"a 'b", "a \"b", "a \"b\\\"", "a\\"};
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct arena arena = ARENA_INIT;
        char **words;
        size_t count;
        struct err err = {0};
        assert_false(
            words_split(span_of(lines[i]), &arena, &words, &count, &err));
        assert_int_equal(err.kind, ERR_DATA);
        arena_clear(&arena);
    }
}

static void defaults_are_as_documented(void **state) {
    (void)state;
    CLEANUP(clear) struct config config;
    config_init(&config);
    assert_read(&config, "[target \"main\"]\ngit = ../p.git\n");
    assert_int_equal(config.queue.concurrency, 4);
    assert_int_equal(config.queue.wait_for_job_s, 300);
    assert_int_equal(config.queue.wait_for_dep_s, 3600);
    assert_int_equal(config.queue.max_temp, 20);
    assert_int_equal(config.queue.age_step_s, 0);
    assert_int_equal(config.queue.closure, CLOSURE_DEPS);
    assert_true(span_is(config.serve.listen, "127.0.0.1:8750"));
    const struct config_target *target = config_target(&config, SPAN("main"));
    assert_non_null(target);
    assert_true(span_is(target->branch, "main"));
    assert_int_equal(target->blind, BLIND_UNCHANGED);
    assert_int_equal(target->lanes, 1);
    assert_int_equal(target->timeout_s, 3600);
    assert_null(config_target(&config, SPAN("other")));
    struct set_limits limits = config_set_limits(&config, target);
    assert_true(limits.unpacked_bytes == UINT64_C(2) << 30);
    assert_int_equal(limits.members, 100000);
    assert_int_equal(limits.path.path_bytes, 4095);
    assert_false(limits.symlinks);
}

static void a_path_is_never_longer_than_linux_accepts(void **state) {
    (void)state;
    CLEANUP(clear) struct config config;
    config_init(&config);
    assert_read(&config, "[queue]\nmax-path = 4096\n");
    assert_int_equal(config_set_limits(&config, NULL).path.path_bytes, 4095);
    assert_true(config_read(&config, SPAN("[queue]\nmax-path = 100\n"),
                            "conf.d/a.conf", NULL));
    assert_int_equal(config_set_limits(&config, NULL).path.path_bytes, 100);
}

static void the_later_file_and_the_later_key_win(void **state) {
    (void)state;
    CLEANUP(clear) struct config config;
    config_init(&config);
    assert_read(&config, "# first\n[queue]\r\nconcurrency=2\nage-step = 1h\n"
                         "[target \"site\"]\ncommand = /bin/apply 'a b' c\n"
                         "[queue]\nconcurrency = 3\n");
    assert_true(config_read(&config,
                            SPAN("[queue]\nage-step = off\nmax-unpacked = 1M"
                                 "\n[target \"site\"]\nlanes = 2\n"),
                            "conf.d/a.conf", NULL));
    assert_int_equal(config.queue.concurrency, 3);
    assert_int_equal(config.queue.age_step_s, 0);
    assert_int_equal(config.queue.max_unpacked_bytes, 1 << 20);
    assert_int_equal(config.target_count, 1);
    assert_int_equal(config.targets[0].lanes, 2);
    assert_int_equal(config.targets[0].command.count, 3);
    assert_string_equal(config.targets[0].command.words[1], "a b");
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    config_format(&config, &out);
    assert_non_null(strstr(out.p, "concurrency = 3 "));
    assert_non_null(strstr(out.p, "  pointsman.conf:8\n"));
    assert_non_null(strstr(out.p, "  conf.d/a.conf:5\n"));
    assert_non_null(strstr(out.p, "max-unpacked = 1M "));
    assert_non_null(strstr(out.p, "  default\n"));
}

static void errors_name_file_and_line_and_suggest_the_right_key(void **state) {
    (void)state;
    assert_refused("[queue]\n\nconcurency = 3\n",
                   "pointsman.conf:3: unknown key 'concurency', did you mean "
                   "'concurrency'?");
    assert_refused("[target \"t\"]\ncheck = make\n",
                   "pointsman.conf:2: unknown key 'check', did you mean "
                   "'check.NAME'?");
    assert_refused("[target \"t\"]\nchecks.unit = make\n",
                   "pointsman.conf:2: unknown key 'checks.unit', did you mean "
                   "'check.NAME'?");
    assert_refused("[qeue]\n", "pointsman.conf:1: unknown section 'qeue', "
                               "did you mean 'queue'?");
    assert_refused("[fleet]\n", "pointsman.conf:1: section [fleet] is not "
                                "available in this version");
    assert_refused("[serve]\nheartbeat = 3\n",
                   "pointsman.conf:2: key 'heartbeat' is not available in "
                   "this version");
    assert_refused("[queue]\nconcurrency = 0\n",
                   "pointsman.conf:2: concurrency = '0' is out of range, 1 to "
                   "4096");
    assert_refused("[queue]\nconcurrency = many\n",
                   "pointsman.conf:2: concurrency = 'many' is not a number");
    assert_refused("[queue]\nconcurrency = 4 # four\n",
                   "pointsman.conf:2: concurrency = '4 # four' is not a "
                   "number; a comment needs a line of its own");
    assert_refused("[queue]\npoll = 10 # often\n",
                   "pointsman.conf:2: poll = '10 # often' is not a duration "
                   "such as 90, 15m, 2h; a comment needs a line of its own");
    assert_refused(
        "[queue]\nclosure = all\n",
        "pointsman.conf:2: closure = 'all' is not one of deps|deps+files");
    assert_refused("a = b\n",
                   "pointsman.conf:1: there must be a section before key 'a'");
    assert_refused("[queue\n",
                   "pointsman.conf:1: no ']' at the end of '[queue'");
    assert_refused("[queue]\nhello\n",
                   "pointsman.conf:2: neither section, 'key = value' nor "
                   "comment: 'hello'");
    assert_refused("[queue \"x\"]\n",
                   "pointsman.conf:1: section [queue] takes no label");
    assert_refused("[target]\ngit = x\n",
                   "pointsman.conf:1: a target needs a name: [target "
                   "\"main\"]");
    assert_refused(
        "[target \"a..b\"]\n",
        "pointsman.conf:1: target 'a..b' is not a valid name for a git branch");
    assert_refused("[target \"m\"]\n", "pointsman.conf:1: target 'm' has "
                                       "neither 'git' nor 'command'");
    assert_refused("[target \"m\"]\ngit = x\ncommand = y\n",
                   "pointsman.conf:3: target 'm' has both 'git' and "
                   "'command'");
    assert_refused("[target \"m\"]\ncommand = y\ncheck.a = z\n",
                   "pointsman.conf:3: target 'm' can have checks only with "
                   "'git'");
    assert_refused("[target \"m\"]\ngit = x\ncheck.a = 'z\n",
                   "pointsman.conf:3: check: unterminated ' in ''z'");
    assert_refused("[queue]\nx\x01 = 3\n",
                   "pointsman.conf:2: control byte in 'x\\x01 = 3'");
}

/* If they were accepted, a set might pass without the approval it needs. */
static void policies_that_cannot_work_are_refused(void **state) {
    (void)state;
    CLEANUP(clear) struct config config;
    assert_refused("[approval \"a\"]\nclass = EM,XX\n",
                   "pointsman.conf:2: unknown class 'XX'; the classes are RB, "
                   "EM, BF and DC");
    assert_refused("[approval \"a\"]\nrole = operator,boss\n",
                   "pointsman.conf:2: role 'boss': operator, uid:N, "
                   "user:NAME, person:NAME and @GROUP are roles");
    assert_refused("[approval \"a\"]\ncount = 1\nrole = uid:bob\n",
                   "pointsman.conf:3: role 'uid:bob': operator, uid:N, "
                   "user:NAME, person:NAME and @GROUP are roles");
    assert_refused("[approval \"a\"]\ntarget = man\n",
                   "pointsman.conf:2: target 'man': no such section [target "
                   "\"man\"]");
    assert_refused(
        "[approval \"a\"]\npath = /prod/**\n",
        "pointsman.conf:2: path '/prod/**': paths of sets have no leading or "
        "trailing slash; prod/** matches everything below a directory");
    assert_refused(
        "[approval \"a\"]\npath = prod/\n",
        "pointsman.conf:2: path 'prod/': paths of sets have no leading or "
        "trailing slash; prod/** matches everything below a directory");
    static const char *const dots[] = {"./prod", "prod/../x", "..", "**/."};
    for (size_t i = 0; i < COUNT(dots); i++) {
        char text[128], refusal[256];
        snprintf(text, sizeof(text), "[approval \"a\"]\npath = %s\n", dots[i]);
        snprintf(
            refusal, sizeof(refusal),
            "pointsman.conf:2: path '%s': paths of sets have no component '.' "
            "or '..'; they begin at the root of the tree, as prod/** does",
            dots[i]);
        assert_refused(text, refusal);
    }
    assert_refused("[approval \"a\"]\npath = prod//*.sql\n",
                   "pointsman.conf:2: path 'prod//*.sql': paths of sets have "
                   "no empty component; write a/b, or a/**/b for any depth");
    assert_refused("[approval \"a\"]\npath = sub/.GIT/hooks/**\n",
                   "pointsman.conf:2: path 'sub/.GIT/hooks/**': sets cannot "
                   "name anything in .git");
    config_init(&config);
    assert_read(&config, "[approval \"b\"]\npath = .g?t/**/..*\n");
    config_clear(&config);
    config_init(&config);
    assert_read(&config, "[approval \"a\"]\ntarget = m\npath = prod/**\n"
                         "role = operator, uid:7,user:bob@example.org\n"
                         "[target \"m\"]\ngit = x\n");
    assert_non_null(policy_config_at(&config, 0));
    assert_null(policy_config_at(&config, 1));
}

static void
policies_that_contradict_or_can_never_be_met_are_refused(void **state) {
    (void)state;
    assert_refused("[approval \"a\"]\nlate = yes\nunapproved = refuse\n",
                   "pointsman.conf:1: policy 'a' contradicts itself: with "
                   "unapproved = refuse nothing is late");
    assert_refused("[approval \"a\"]\nlate = yes\npath = b, a\n"
                   "[approval \"b\"]\nunapproved = refuse\npath = a\n"
                   "path = b\n",
                   "pointsman.conf:1: policies 'a' (late = yes) and 'b' "
                   "(unapproved = refuse, pointsman.conf:4) apply to the same "
                   "sets and contradict each other");
    assert_refused("[approval \"a\"]\ncount = 2\nrole = uid:7, uid:7\n",
                   "pointsman.conf:1: policy 'a' can never be met: count = 2, "
                   "but its role names 1 person");
    assert_refused("[approval \"a\"]\ncount = 2\nrole = uid:7, user:w@x\n"
                   "[person \"w\"]\naccounts = 7\nprincipals = w@x\n",
                   "pointsman.conf:1: policy 'a' can never be met: count = 2, "
                   "but its role names 1 person");
    assert_refused("[approval \"a\"]\nsigned = yes\nrole = operator, uid:7\n",
                   "pointsman.conf:1: policy 'a' can never be met: count = 1, "
                   "but its role names 0 people who can sign");
    assert_refused("[approval \"a\"]\nrole = operator\n"
                   "unapproved = refuse\n",
                   "pointsman.conf:1: policy 'a' can never be met: operators "
                   "approve sets that have been submitted, and unapproved = "
                   "refuse admits only sets that come with their approval");
    assert_refused("[approval \"a\"]\nrole = uid:07\n",
                   "pointsman.conf:2: role 'uid:07': operator, uid:N, "
                   "user:NAME, person:NAME and @GROUP are roles");
    assert_refused("[approval \"a\"]\nrole = person:w\n",
                   "pointsman.conf:2: role 'person:w': no such section "
                   "[person \"w\"]");
}

static void lists_are_separated_by_commas_or_lines(void **state) {
    (void)state;
    CLEANUP(clear) struct config config;
    config_init(&config);
    assert_read(&config, "[approval \"a\"]\npath = prod/** , \"a,b/\\\"c\"\n"
                         "class = EM\nclass = BF\n"
                         "path = \"x[1]\"\n");
    const struct config_approval *approval = policy_config_at(&config, 0);
    assert_int_equal(approval->paths.count, 3);
    assert_true(span_is(approval->paths.items[0].text, "prod/**"));
    assert_true(span_is(approval->paths.items[1].text, "a,b/\"c"));
    assert_true(span_is(approval->paths.items[2].text, "x[1]"));
    assert_true(
        span_is(approval->paths.text, "prod/** , \"a,b/\\\"c\", \"x[1]\""));
    assert_int_equal(approval->classes.count, 2);
    assert_read(&config, "[approval \"a\"]\npath =\n");
    assert_int_equal(approval->paths.count, 0);
    static const char *const faults[][2] = {
        {"a,,b", "an item of the list is empty"},
        {"a,", "an item of the list is empty"},
        {"\"\"", "an item of the list is empty"},
        {"\"a", "a closing quote is missing"},
        {"\"a\" b", "there must be a comma between two items"},
        {"a\"b\"", "an item that contains a quote is written in quotes, "
                   "\"a\\\"b\""},
    };
    for (size_t i = 0; i < COUNT(faults); i++) {
        char text[128], refusal[256];
        snprintf(text, sizeof(text), "[approval \"a\"]\npath = %s\n",
                 faults[i][0]);
        snprintf(refusal, sizeof(refusal), "pointsman.conf:2: path = '%s': %s",
                 faults[i][0], faults[i][1]);
        assert_refused(text, refusal);
    }
    static const char *const foreign[] = {"src/{a",
                                          "src/[ab].c",
                                          "!prod/**",
                                          "a\\b",
                                          "prod/** # the site",
                                          "prod/** ; the site",
                                          "prod/** site/**",
                                          "prod/**;site/**"};
    for (size_t i = 0; i < COUNT(foreign); i++) {
        char text[128], refusal[256];
        snprintf(text, sizeof(text), "[approval \"a\"]\npath = %s\n",
                 foreign[i]);
        snprintf(refusal, sizeof(refusal),
                 "pointsman.conf:2: path '%s': a pattern has only *, ** and ?, "
                 "and no comment behind it; commas separate patterns; a name "
                 "that contains [ ] { } \\ # ; or a blank or begins with ! is "
                 "written in quotes",
                 foreign[i]);
        assert_refused(text, refusal);
    }
    assert_read(&config, "[approval \"a\"]\npath = \"a b\", \"c#;d\"\n");
}

static void a_name_belongs_to_one_person(void **state) {
    (void)state;
    CLEANUP(clear) struct config config;
    static const char key[] =
        "SHA256:aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeee";
    char text[512], refusal[512];
    config_init(&config);
    snprintf(text, sizeof(text),
             "[person \"will\"]\naccounts = will, 1000\n"
             "principals = will@x.org\nkeys = %s\n",
             key);
    assert_read(&config, text);
    assert_refused("[person \"w\"]\naccounts = a\n[person \"w\"]\n",
                   "pointsman.conf:3: person 'w' is defined twice; the first "
                   "is at pointsman.conf:1");
    assert_refused("[person \"w\"]\naccounts = a\n"
                   "[person \"v\"]\naccounts = b, a\n",
                   "pointsman.conf:4: account 'a' of person 'v' is listed for "
                   "another person too");
    assert_refused("[person \"w\"]\nprincipals = a@x, a@x\n",
                   "pointsman.conf:2: principal 'a@x' of person 'w' is listed "
                   "twice");
    assert_refused("[person \"w\"]\nprincipals = a@x\n"
                   "[person \"v\"]\nprincipals = A@X\n",
                   "pointsman.conf:4: principal 'A@X' of person 'v' is listed "
                   "for another person too");
    snprintf(text, sizeof(text),
             "[person \"w\"]\nkeys = %s\n[person \"v\"]\nkeys = %s\n", key,
             key);
    snprintf(refusal, sizeof(refusal),
             "pointsman.conf:4: key '%s' of person 'v' is listed for another "
             "person too",
             key);
    assert_refused(text, refusal);
    assert_refused("[person \"w\"]\nkeys = ssh-ed25519\n",
                   "pointsman.conf:2: key 'ssh-ed25519': a key is written as "
                   "SHA256:... (ssh-keygen -lf KEY.pub)");
    assert_refused("[person \"w\"]\n",
                   "pointsman.conf:1: person 'w' has no accounts, principals "
                   "or keys");
    assert_refused("[person]\naccounts = a\n",
                   "pointsman.conf:1: a person needs a name of letters, digits "
                   "and . _ @ + : / -: [person \"alice\"]");
}

static void checks_keep_their_order_and_can_be_cleared(void **state) {
    (void)state;
    CLEANUP(clear) struct config config;
    config_init(&config);
    assert_read(&config, "[target \"m\"]\ngit = x\ncheck.unit = make check\n"
                         "check.lint = lint\ncheck.unit = make -k check\n"
                         "check.lint =\n");
    const struct config_target *target = config_target(&config, SPAN("m"));
    assert_int_equal(target->check_count, 1);
    assert_true(span_is(target->checks[0].name, "unit"));
    assert_int_equal(target->checks[0].command.count, 3);
}

static void a_branch_is_named_without_refs_heads(void **state) {
    (void)state;
    assert_refused("[target \"m\"]\ngit = a.git\nbranch = refs/heads/main\n",
                   "pointsman.conf:3: branch = 'refs/heads/main' is not the "
                   "name of a branch; write it without refs/heads/, such as "
                   "'main'");
    assert_refused("[target \"m\"]\ngit = a.git\nbranch = HEAD\n",
                   "pointsman.conf:3: branch = 'HEAD' is not the name of a "
                   "branch; write it without refs/heads/, such as 'main'");
}

static void a_written_target_is_read_back(void **state) {
    (void)state;
    CLEANUP(clear) struct config config, again;
    config_init(&config);
    config_init(&again);
    assert_read(&config, "[target \"m\"]\ngit = ../x y.git\nlanes = 2\n"
                         "blind = allow\ncheck.unit = sh -c 'a b'\n");
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    config_target_write(&config, &config.targets[0], &out);
    assert_non_null(strstr(out.p, "\nuser =\n"));
    assert_null(strstr(out.p, "revert"));
    assert_read(&again, text_string(&out));
    assert_true(span_is(again.targets[0].git, "../x y.git"));
    assert_int_equal(again.targets[0].lanes, 2);
    assert_int_equal(again.targets[0].blind, BLIND_ALLOW);
    assert_int_equal(again.targets[0].checks[0].command.count, 3);
}

static void two_targets_are_two_branches(void **state) {
    (void)state;
    CLEANUP(clear) struct config config;
    config_init(&config);
    assert_read(&config, "[target \"m\"]\ngit = a.git\n"
                         "[target \"n\"]\ngit = a.git\nbranch = n\n"
                         "[target \"c\"]\ncommand = true\n"
                         "[target \"d\"]\ncommand = true\n");
    assert_refused("[target \"m\"]\ngit = a.git\n"
                   "[target \"n\"]\nbranch = main\ngit = a.git\n",
                   "pointsman.conf:5: targets 'm' and 'n' are the same branch "
                   "'main' of one repository, so each would land what the "
                   "other one has not checked; remove one of them");
}

static void a_merge_train_is_configured_by_its_target(void **state) {
    (void)state;
    CLEANUP(clear) struct config config;
    config_init(&config);
    assert_read(&config, "[target \"m\"]\ngit = a.git\nlanes = 4\n"
                         "check.unit = make\ncheck.net = make net\n"
                         "remember = tree\nvolatile = net\n"
                         "environment = cc --version\n"
                         "interrupt = EM, BF\nland-max = 8\n"
                         "[target \"n\"]\ngit = n.git\nfollow = no\n");
    const struct config_target *target = &config.targets[0];
    assert_int_equal(target->remember, 2);
    assert_int_equal(target->follow, 1);
    assert_int_equal(config.targets[1].follow, 0);
    assert_int_equal(target->is_volatile.count, 1);
    assert_int_equal(target->land_max, 8);
    assert_true(span_is(target->environment.text, "cc --version"));
    assert_int_equal(target->remember_for_s, 604800);
    assert_int_equal(config_target_interrupt(target),
                     1u << CLASS_EM | 1u << CLASS_BF);
}

static void contradictions_about_merge_trains_are_refused(void **state) {
    (void)state;
    assert_refused("[target \"m\"]\ngit = a.git\ninterrupt = RB\n",
                   "pointsman.conf:3: interrupt = 'RB' is neither 'none' nor a "
                   "list of the classes EM, BF and DC, such as EM,BF");
    assert_refused("[target \"m\"]\ngit = a.git\ncheck.unit = make\n"
                   "volatile = net\n",
                   "pointsman.conf:4: volatile: target 'm' has no check 'net'");
    assert_refused("[target \"m\"]\ncommand = deploy\nremember = off\n",
                   "pointsman.conf:3: target 'm' has a key that applies only "
                   "to targets with 'git'");
}

static void a_key_can_be_set_by_name(void **state) {
    (void)state;
    CLEANUP(clear) struct config config;
    struct err err = {0};
    config_init(&config);
    assert_true(config_set(&config, SPAN("queue"), SPAN(""), SPAN("grace"),
                           SPAN("2m"), "settings", 0, &err));
    assert_int_equal(config.queue.grace_s, 120);
    assert_false(config_set(&config, SPAN("queue"), SPAN(""), SPAN("grade"),
                            SPAN("2m"), "settings", 0, &err));
    assert_string_equal(err.text, "settings: unknown key 'grade', did you "
                                  "mean 'grace'?");
}

static void schedules_are_named_sections(void **state) {
    struct config config;
    struct err err = {0};
    (void)state;
    config_init(&config);
    assert_true(config_read(&config,
                            SPAN("[schedule \"nightly\"]\n"
                                 "item = 30 2 * * *\n"
                                 "run = make 'a b'\n"
                                 "overlap = queue\njitter = 2m\n"
                                 "[schedule \"other\"]\nitem = {}\n"
                                 "[schedule \"nightly\"]\npaused = on\n"),
                            "f", &err));
    assert_null(schedule_config_at(&config, 2));
    const struct config_schedule *nightly =
        schedule_config_find(&config, SPAN("nightly"));
    assert_ptr_equal(nightly, schedule_config_at(&config, 0));
    assert_true(span_is(nightly->item, "30 2 * * *"));
    assert_int_equal(nightly->run.count, 2);
    assert_string_equal(nightly->run.words[1], "a b");
    assert_int_equal(nightly->overlap, OVERLAP_QUEUE);
    assert_int_equal(nightly->missed, MISSED_RUN);
    assert_int_equal(nightly->jitter_s, 120);
    assert_int_equal(nightly->paused % 2, 1);
    assert_false(config_finish(&config, &err));
    assert_string_equal(err.text, "f:6: schedule 'other' has no 'run'");
    config_clear(&config);
}

static void a_schedule_needs_a_name_that_can_start_a_job_id(void **state) {
    static const char *const bad[] = {"[schedule]\n", "[schedule \"a b\"]\n",
                                      "[schedule \"a_b\"]\n",
                                      "[schedule \"-a\"]\n"};
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct config config;
        struct err err = {0};
        config_init(&config);
        assert_false(config_read(&config, span_of(bad[i]), "f", &err));
        assert_int_equal(err.kind, ERR_CONFIG);
        assert_non_null(strstr(err.text, "is not a valid name for a schedule"));
        config_clear(&config);
    }
}

/* ---- a section that a capability adds ------------------------------------ */

struct config_lamp {
    int64_t watts;
    struct config_origin watts_origin;
};

static const struct config_key lamp_keys[] = {
    CONFIG_ROW(struct config_lamp, "watts", INT, watts, "40", 1, 100, NULL,
               "how bright it is"),
};

static const struct config_section lamp_section = {
    .name = "lamp",
    .keys = lamp_keys,
    .key_count = COUNT(lamp_keys),
    .bytes = sizeof(struct config_lamp),
};

static void an_added_section_is_read_and_shown_like_the_others(void **state) {
    static const struct config_section *const added[] = {&schedule_section,
                                                         &lamp_section};
    struct config config, other;
    struct err err = {0};
    struct text shown = TEXT_INIT;
    (void)state;
    config_sections_use(added, COUNT(added));
    config_init(&config);
    config_init(&other);
    const struct config_lamp *lamp = config_added(&config, &lamp_section, 0);
    assert_int_equal(lamp->watts, 40);
    assert_null(config_added(&config, &lamp_section, 1));
    assert_true(config_read(&config, SPAN("[lamp]\nwatts = 60\n"), "f", &err));
    lamp = config_added(&config, &lamp_section, 0);
    assert_int_equal(lamp->watts, 60);
    assert_int_equal(lamp->watts_origin.line, 2);
    lamp = config_added(&other, &lamp_section, 0);
    assert_int_equal(lamp->watts, 40);
    config_format(&config, &shown);
    assert_non_null(strstr(text_string(&shown), "\n[lamp]\nwatts = 60 "));
    text_clear(&shown);
    assert_false(config_read(&config, SPAN("[lamp]\nwatts = 0\n"), "f", &err));
    assert_false(config_read(&config, SPAN("[lamp \"a\"]\n"), "f", &err));
    config_clear(&config);
    config_clear(&other);
    config_sections_use(serve_sections, serve_section_count);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_are_named_sections),
        cmocka_unit_test(a_schedule_needs_a_name_that_can_start_a_job_id),
        cmocka_unit_test(quotes_group_words),
        cmocka_unit_test(what_only_a_shell_understands_is_found),
        cmocka_unit_test(open_quotes_are_refused),
        cmocka_unit_test(defaults_are_as_documented),
        cmocka_unit_test(a_path_is_never_longer_than_linux_accepts),
        cmocka_unit_test(the_later_file_and_the_later_key_win),
        cmocka_unit_test(errors_name_file_and_line_and_suggest_the_right_key),
        cmocka_unit_test(policies_that_cannot_work_are_refused),
        cmocka_unit_test(
            policies_that_contradict_or_can_never_be_met_are_refused),
        cmocka_unit_test(lists_are_separated_by_commas_or_lines),
        cmocka_unit_test(a_name_belongs_to_one_person),
        cmocka_unit_test(checks_keep_their_order_and_can_be_cleared),
        cmocka_unit_test(a_branch_is_named_without_refs_heads),
        cmocka_unit_test(a_written_target_is_read_back),
        cmocka_unit_test(two_targets_are_two_branches),
        cmocka_unit_test(a_merge_train_is_configured_by_its_target),
        cmocka_unit_test(contradictions_about_merge_trains_are_refused),
        cmocka_unit_test(a_key_can_be_set_by_name),
        cmocka_unit_test(an_added_section_is_read_and_shown_like_the_others),
    };
    config_sections_use(serve_sections, serve_section_count);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
