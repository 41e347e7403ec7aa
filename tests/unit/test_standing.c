/* The configuration of nodes with a definition, as the pass takes them. */
#include "nodes/standing.h"

#include "serve/tables.h"
#include "support/test.h"

static struct config config;
static struct node_settings settings;
static struct err err;
static struct text errors;

static const char usual[] =
    "[nodes]\nlevels = rack, host, shard\npolicy = long_tail\n"
    "worker-selector = busiest\norder = original\n"
    "backoff = 5, 10, fail\nkill-orphans-after = 2m\n"
    "[resource \"power\"]\nlevel = rack\nlimit = 9\ndefault = 0\n"
    "[resource \"connection\"]\nlevel = host\nlimit = 2\nnodes = h1=4, h2=0\n"
    "[resource \"disk\"]\nlevel = host\nlimit = 100\ndefault = 7\n"
    "[resource \"ram\"]\nlevel = worker\nlimit = 64\nweight = 3\n"
    "[worker-limits \"big\"]\nlimits = ram=256, slot=16\n"
    "[account \"ann\"]\nweight = 3\nlimit = 8\n";

static bool load(const char *text) {
    config_clear(&config);
    config_init(&config);
    return config_read(&config, span_of(text), "f", &err) &&
           config_finish(&config, &err);
}

static int setup(void **state) {
    (void)state;
    config_sections_use(serve_sections, serve_section_count);
    if (!load(usual))
        fail_msg("%s", err.text);
    node_settings_read(&config, &settings);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    config_clear(&config);
    text_clear(&errors);
    return 0;
}

/* "a" has the number 1, "b" 2, ... */
static bool find_letter(void *ctx, struct span name, uint64_t *ret_num) {
    (void)ctx;
    if (name.len != 1)
        return false;
    *ret_num = (uint64_t)(name.p[0] - 'a') + 1;
    return true;
}

static const struct standing_names letters = {find_letter, NULL};

static bool make(const char *definition, struct standing *ret) {
    struct standing_row row = {.num = 9,
                               .name = SPAN("job"),
                               .version = 4,
                               .definition = span_of(definition),
                               .enabled = true};

    text_reset(&errors);
    return standing_make_all(&row, &settings, &letters, ret, &errors);
}

static const char *wrong(const char *definition) {
    struct standing standing;

    assert_false(make(definition, &standing));
    return text_string(&errors);
}

static void the_configuration_becomes_numbers(void **state) {
    int64_t limits[NODE_RESOURCES_MOST], limit;
    unsigned level, resource;
    struct span node;
    uint32_t weight, most;
    bool is_worker;

    (void)state;
    assert_int_equal(settings.level_count, 4);
    assert_int_equal(settings.levels[2].resource_count, 2);
    assert_int_equal(settings.levels[2].limits[1], 100);
    assert_int_equal(settings.usual.of_level[2][1], 7);
    assert_int_equal(settings.usual.of_level[1][0], 0);
    assert_int_equal(settings.usual.of_worker[NODE_SLOT], 1);
    assert_int_equal(settings.worker_weights[1], 3);
    assert_int_equal(settings.policy, NODE_POLICY_LONG_TAIL);
    assert_int_equal(settings.selector, NODE_SELECTOR_BUSIEST);
    assert_int_equal(settings.order, NODE_ORDER_ORIGINAL);
    assert_int_equal(settings.kill_orphans_after_ms, 120000);
    assert_true(node_settings_resource(&settings, SPAN("disk"), &is_worker,
                                       &level, &resource));
    assert_true(!is_worker && level == 2 && resource == 1);
    assert_true(node_settings_resource(&settings, SPAN("slot"), &is_worker,
                                       &level, &resource));
    assert_true(is_worker && resource == NODE_SLOT);
    assert_false(node_settings_resource(&settings, SPAN("nix"), &is_worker,
                                        &level, &resource));
    node_settings_worker_limits(&settings, SPAN("small"), limits);
    assert_int_equal(limits[NODE_SLOT], 4);
    assert_int_equal(limits[1], 64);
    node_settings_worker_limits(&settings, SPAN("big"), limits);
    assert_int_equal(limits[NODE_SLOT], 16);
    assert_int_equal(limits[1], 256);
    assert_true(
        node_settings_limit_at(&settings, 1, &node, &level, &resource, &limit));
    assert_true(span_is(node, "h2") && level == 2 && resource == 0 &&
                limit == 0);
    assert_false(
        node_settings_limit_at(&settings, 2, &node, &level, &resource, &limit));
    assert_true(node_settings_account_at(&settings, 0, &node, &weight, &most));
    assert_true(span_is(node, "ann") && weight == 3 && most == 8);
    assert_false(node_settings_account_at(&settings, 1, &node, &weight, &most));
}

static void a_definition_is_made_for_the_pass(void **state) {
    struct standing standing;
    const struct node_job_spec *spec = &standing.spec;

    (void)state;
    assert_true(make("{\"level\":\"host\",\"owner\":\"ann\",\"priority\":2.5,"
                     "\"class\":\"BF\",\"max_running\":6,"
                     "\"resources\":{\"power\":3,\"ram\":16},"
                     "\"filters\":{\"rack\":{\"tags\":[\"z\",\"a\"]},"
                     "\"host\":{\"whitelist\":[\"h2\",\"h1\"],"
                     "\"blacklist_regex\":\"9$\",\"fraction\":0.5},"
                     "\"worker\":{\"whitelist_regex\":\"^big\"}},"
                     "\"backoff\":[15,60,\"repeat\"],\"depends_on\":[\"b\"],"
                     "\"after_all_nodes_of\":[\"c\",\"d\"],"
                     "\"host_level\":\"host\",\"kill_orphans_after\":0,"
                     "\"command\":[\"x\"],\"timeout\":9}",
                     &standing));
    assert_int_equal(spec->num, 9);
    assert_int_equal(standing.version, 4);
    assert_int_equal(spec->job_class, CLASS_BF);
    assert_true(span_is(spec->account, "ann"));
    assert_true(spec->enabled);
    assert_int_equal(spec->level, 2);
    assert_int_equal(spec->priority, 2500);
    assert_int_equal(spec->max_running, 6);
    assert_int_equal(spec->demand.of_level[1][0], 3);
    assert_int_equal(spec->demand.of_level[2][0], 1);
    assert_int_equal(spec->demand.of_level[2][1], 7);
    assert_int_equal(spec->demand.of_worker[1], 16);
    assert_true(span_is(spec->filters[1].tags[0], "a"));
    assert_true(span_is(spec->filters[2].names[1], "h2"));
    assert_int_equal(spec->filters[2].fraction, 500000);
    assert_true(spec->filters[2].salt != 0);
    assert_true(pattern_finds(spec->filters[2].refuses, SPAN("h19")));
    assert_true(
        node_filter_accepts(&spec->worker_filter, SPAN("big7"), SPAN("")));
    assert_false(
        node_filter_accepts(&spec->worker_filter, SPAN("h1"), SPAN("")));
    assert_true(spec->follows_host && spec->host_level == 2);
    assert_int_equal(spec->depends_count, 1);
    assert_int_equal(spec->depends_on[0], 2);
    assert_int_equal(spec->after_count, 2);
    assert_int_equal(spec->after_nodes_of[1], 4);
    assert_int_equal(spec->rules.limits.backoff_count, 2);
    assert_int_equal(spec->rules.limits.backoff_s[1], 60);
    assert_int_equal(spec->rules.limits.retries, STANDING_RETRIES);
    assert_false(spec->rules.limits.backoff_fails);
    assert_int_equal(spec->kill_orphans_after_ms, 0);
    assert_true(
        span_is(standing.submission,
                "{\"command\":[\"x\"],\"class\":\"BF\",\"timeout\":9}"));
    standing_clear(&standing);
}

static void what_is_not_said_comes_from_the_configuration(void **state) {
    struct standing standing;
    const struct node_job_spec *spec = &standing.spec;

    (void)state;
    assert_true(make("{\"command\":[\"x\"]}", &standing));
    assert_int_equal(spec->level, 3);
    assert_int_equal(spec->rules.limits.retries, 2);
    assert_int_equal(spec->rules.limits.backoff_s[1], 10);
    assert_true(spec->rules.limits.backoff_fails);
    assert_int_equal(spec->kill_orphans_after_ms, 120000);
    assert_int_equal(spec->order, NODE_ORDER_ORIGINAL);
    assert_true(node_filter_is_open(&spec->filters[3]));
    standing_clear(&standing);
}

static void what_does_not_fit_the_configuration_is_refused(void **state) {
    (void)state;
    assert_string_equal(
        wrong("{\"level\":\"x\",\"resources\":{\"y\":1},"
              "\"filters\":{\"z\":{\"tags\":\"t\"},"
              "\"worker\":{\"tags\":\"t\"}},\"depends_on\":[\"nix\"],"
              "\"command\":[\"x\"]}"),
        "level: there is no level 'x'; [nodes] lists the levels\n"
        "resources: there is no resource 'y'; a section [resource \"y\"] would "
        "define it\n"
        "filters: there is no level 'z'; [nodes] lists the levels\n"
        "filters.worker.tags: workers have no tags\n"
        "depends_on: there is no standing job 'nix'\n");
    assert_string_equal(
        wrong("{\"level\":\"rack\",\"host_level\":\"host\","
              "\"command\":[\"x\"]}"),
        "host_level: level 'host' is below that of the tasks\n");
}

static void wrong_sections_are_refused(void **state) {
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"[nodes]\nbackoff = 5, 3, fail\n",
         "f:2: backoff is not a list in which each wait is longer than the one "
         "before"},
        {"[nodes]\nkill-orphans-after = soon\n",
         "f:2: kill-orphans-after = 'soon' is neither never nor a duration "
         "such as 90, 15m, 2h"},
        {"[resource \"r\"]\nlevel = x\nlimit = 1\n",
         "f:2: resource 'r': there is no level 'x'; [nodes] lists the levels"},
        {"[resource \"r\"]\nlevel = instance\n",
         "f:1: resource 'r' has no limit"},
        {"[resource \"r\"]\nlevel = instance\nlimit = -1\n",
         "f:3: limit = '-1' is out of range, 0 to 9007199254740992"},
        {"[resource \"r\"]\nlevel = instance\nlimit = 9007199254740993\n",
         "f:3: limit = '9007199254740993' is out of range, 0 to "
         "9007199254740992"},
        {"[resource \"r\"]\nlevel = instance\nlimit = 1\nnodes = a=1, a=2\n",
         "f:4: nodes: 'a' is there twice"},
        {"[resource \"r\"]\nlevel = instance\nlimit = 1\nnodes = a=-1\n",
         "f:4: nodes: 'a=-1' is not NAME=LIMIT with a limit from 0 to 2^53"},
        {"[resource \"r\"]\nlevel = worker\nlimit = 1\nnodes = a=1\n",
         "f:4: nodes: limits of single workers are in [worker-limits "
         "\"HOST\"]"},
        {"[resource \"r\"]\nlevel = instance\nlimit = 1\n[resource \"r\"]\n",
         "f:4: resource 'r' is defined twice; the first is at f:1"},
        {"[resource \"slot\"]\n", "f:1: resource 'slot': it is there already, "
                                  "and queue.concurrency is its limit"},
        {"[worker-limits \"h\"]\nlimits = ram=1\n",
         "f:2: limits: there is no resource 'ram' of level worker"},
        {"[account \"ann\"]\nweight = 0\n",
         "f:2: weight = '0' is out of range, 1 to 1000000"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_false(load(cases[i].text));
        assert_string_equal(err.text, cases[i].error);
    }
    assert_true(load(usual));
    node_settings_read(&config, &settings);
}

static void a_level_has_a_limited_number_of_resources(void **state) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;

    (void)state;
    for (unsigned i = 0; i <= NODE_RESOURCES_MOST; i++)
        text_addf(&text, "[resource \"r%u\"]\nlevel = instance\nlimit = 1\n",
                  i);
    assert_false(load(text_string(&text)));
    assert_string_equal(err.text, "f:50: resource 'r16': level 'instance' has "
                                  "more than 16 resources");
    assert_true(load(usual));
    node_settings_read(&config, &settings);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_configuration_becomes_numbers),
        cmocka_unit_test(a_definition_is_made_for_the_pass),
        cmocka_unit_test(what_is_not_said_comes_from_the_configuration),
        cmocka_unit_test(what_does_not_fit_the_configuration_is_refused),
        cmocka_unit_test(wrong_sections_are_refused),
        cmocka_unit_test(a_level_has_a_limited_number_of_resources),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
