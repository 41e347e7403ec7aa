/* Nouns: a capability adds its own tables, statements and operations, and the
 * registry treats them like jobs. The noun of this test is a toy with a
 * colour. */
#include "contract/store_rig.h"

#include <sqlite3.h>

#include "serve/tables.h"
#include "store/schema.h"

/* ---- the noun ------------------------------------------------------------ */

enum { GET, ADD, PAINT, FAIL, COUNT_TOYS, JOBS };

static const char *const toy_statements[] = {
    [GET] = "SELECT colour, price FROM toy WHERE name = ?1",
    [ADD] = "INSERT INTO toy (name, colour, price) VALUES (?1, ?2, ?3)",
    [PAINT] = "UPDATE toy SET colour = ?3 WHERE name = ?1 AND colour = ?2",
    [FAIL] = "INSERT INTO toy (name, colour, price) VALUES (?1, NULL, 0)",
    [COUNT_TOYS] = "SELECT count(*) FROM toy",
    [JOBS] = "SELECT " STORE_JOB_COLUMNS ", '' FROM job j "
             "JOIN submission s ON s.num = j.num ORDER BY j.num",
};

/* The second step needs the first and came with a later version. */
static const struct store_step toy_steps[] = {
    {1001, "CREATE TABLE toy (name TEXT PRIMARY KEY, colour TEXT NOT NULL)"},
    {1002, "ALTER TABLE toy ADD COLUMN price INTEGER NOT NULL DEFAULT 3"},
    {0, NULL},
};
static const struct store_step old_toy_steps[] = {
    {1001, "CREATE TABLE toy (name TEXT PRIMARY KEY, colour TEXT NOT NULL)"},
    {0, NULL},
};

static bool toy_exists(struct store *store, bool *ret_any, struct err *err);

static const struct store_noun toy_noun = {
    .name = "toy",
    .steps = toy_steps,
    .statements = toy_statements,
    .statement_count = COUNT(toy_statements),
    .is_irreplaceable = toy_exists,
};
static const struct store_noun old_toy_noun = {.name = "toy",
                                               .steps = old_toy_steps};

static bool toy_find(struct store *store, const char *name, struct arena *arena,
                     struct span *ret_colour, int64_t *ret_price) {
    CLEANUP(store_query_end) struct store_query query = {0};
    bool found;
    assert_true(store_query_begin(&query, store_tables(store), &toy_noun, GET,
                                  STORE_VALUES(store_text(span_of(name))),
                                  NULL));
    assert_true(store_query_next(&query, &found, NULL));
    if (found) {
        *ret_colour = store_query_text(&query, 0, arena);
        *ret_price = store_query_number(&query, 1);
    }
    return found;
}

static bool toy_exists(struct store *store, bool *ret_any, struct err *err) {
    CLEANUP(store_query_end) struct store_query query = {0};
    bool row;
    if (!store_query_begin(&query, store_tables(store), &toy_noun, COUNT_TOYS,
                           NULL, 0, err) ||
        !store_query_next(&query, &row, err))
        return false;
    *ret_any = store_query_number(&query, 0) > 0;
    return true;
}

struct toy {
    struct span name, from, colour;
    int64_t price;
};

static bool add_toy(struct store_operation *operation, void *args,
                    struct err *err) {
    const struct toy *toy = args;
    return store_run(operation->tables, &toy_noun, ADD,
                     STORE_VALUES(store_text(toy->name),
                                  store_text(toy->colour),
                                  store_number(toy->price)),
                     NULL, err) &&
           store_operation_event(operation, EVENT_SETTING, toy->name,
                                 SPAN("added"), toy->colour, err);
}

/* Paints the toy only if it has the expected colour. */
static bool paint_toy(struct store_operation *operation, void *args,
                      struct err *err) {
    const struct toy *toy = args;
    uint64_t changed;
    if (!store_run(operation->tables, &toy_noun, PAINT,
                   STORE_VALUES(store_text(toy->name), store_text(toy->from),
                                store_text(toy->colour)),
                   &changed, err))
        return false;
    if (changed != 1) {
        operation->result = STORE_CONFLICT;
        return true;
    }
    return store_operation_event(operation, EVENT_SETTING, toy->name,
                                 SPAN("painted"), toy->colour, err);
}

static bool fail_toy(struct store_operation *operation, void *args,
                     struct err *err) {
    const struct toy *toy = args;
    return store_run(operation->tables, &toy_noun, FAIL,
                     STORE_VALUES(store_text(toy->name)), NULL, err);
}

static unsigned toy_add(struct store_batch *batch, store_operate *operate,
                        struct toy toy) {
    struct arena *arena = store_batch_arena(batch);
    struct toy *args = arena_alloc(arena, sizeof(*args));
    args->name = arena_span(arena, toy.name);
    args->from = arena_span(arena, toy.from);
    args->colour = arena_span(arena, toy.colour);
    args->price = toy.price;
    return store_operation_add(batch, operate, args);
}

static enum store_result toy_write(struct rig *rig, store_operate *operate,
                                   struct toy toy) {
    struct store_batch *batch = rig_batch(rig);
    toy_add(batch, operate, toy);
    return rig_write(batch);
}

static const struct toy car = {
    .name = {"car", 3}, .colour = {"red", 3}, .price = INT64_MIN};

static const char *colour_of(struct rig *rig, const char *name) {
    struct span colour;
    int64_t price;
    if (!toy_find(rig->store, name, &rig->arena, &colour, &price))
        return "none";
    return arena_string(&rig->arena, colour);
}

/* ---- operations ---------------------------------------------------------- */

static void an_operation_is_committed_with_its_event(void **state) {
    struct rig *rig = *state;
    struct span colour;
    int64_t price;
    assert_string_equal(colour_of(rig, "car"), "none");
    assert_int_equal(toy_write(rig, add_toy, car), STORE_DONE);
    assert_string_equal(rig_events(rig, 0), "setting car - - added");
    rig_reopen(rig);
    assert_true(toy_find(rig->store, "car", &rig->arena, &colour, &price));
    assert_span(colour, "red");
    assert_true(price == INT64_MIN);
}

static void an_operation_that_changes_no_row_is_a_conflict(void **state) {
    struct rig *rig = *state;
    struct toy paint = {
        .name = car.name, .from = SPAN("green"), .colour = SPAN("blue")};
    toy_write(rig, add_toy, car);
    assert_int_equal(toy_write(rig, paint_toy, paint), STORE_CONFLICT);
    assert_string_equal(colour_of(rig, "car"), "red");
    paint.from = car.colour;
    assert_int_equal(toy_write(rig, paint_toy, paint), STORE_DONE);
    assert_string_equal(colour_of(rig, "car"), "blue");
    assert_string_equal(rig_events(rig, 1), "setting car - - painted");
}

/* Jobs and toys in one atomic batch: all are written or none. */
static void an_atomic_batch_may_contain_nouns_and_jobs(void **state) {
    struct rig *rig = *state;
    struct job job = rig_command("a", "a");
    struct toy paint = {.name = car.name, .from = SPAN("green")};
    struct store_batch *batch = rig_batch(rig);
    store_batch_atomic(batch);
    toy_add(batch, add_toy, car);
    store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    toy_add(batch, paint_toy, paint);
    assert_int_equal(rig_write(batch), STORE_CONFLICT);
    assert_string_equal(colour_of(rig, "car"), "none");
    assert_string_equal(rig_events(rig, 0), "");
    batch = rig_batch(rig);
    store_batch_atomic(batch);
    toy_add(batch, add_toy, car);
    store_admit(batch, &job, NULL, 0, NULL, 0, NULL, 0);
    assert_int_equal(rig_write(batch), STORE_DONE);
    assert_string_equal(colour_of(rig, "car"), "red");
    assert_string_equal(rig_events(rig, 0),
                        "setting car - - added; move a - P admitted");
}

struct seen {
    struct rig *rig;
    struct text text;
};

static void on_event(void *ctx, const struct store_event *event) {
    struct seen *seen = ctx;
    text_addspan(&seen->text, event->reason);
    text_addf(&seen->text, " %s; ", colour_of(seen->rig, "car"));
}

static void on_done(void *ctx, struct store_batch *batch, bool ok,
                    const struct err *err) {
    struct seen *seen = ctx;
    (void)err;
    text_addf(&seen->text, "done %d %d", ok, store_batch_result(batch, 0));
}

/* Listeners are called before the completion; both see the committed rows. */
static void the_caller_is_notified_after_the_commit(void **state) {
    struct rig *rig = *state;
    struct seen seen = {.rig = rig};
    store_listen(rig->store, on_event, &seen);
    struct store_batch *batch = rig_batch(rig);
    toy_add(batch, add_toy, car);
    store_submit(batch, on_done, &seen);
    assert_string_equal(text_string(&seen.text), "");
    assert_true(store_drain(rig->store, NULL));
    assert_string_equal(text_string(&seen.text), "added red; done 1 0");
    text_clear(&seen.text);
}

/* If the database refuses a row, the whole transaction fails. */
static void a_failed_statement_undoes_its_transaction(void **state) {
    struct rig *rig = *state;
    struct store_batch *batch = rig_batch(rig);
    struct err err;
    toy_add(batch, add_toy, car);
    toy_add(batch, fail_toy, car);
    assert_false(store_write(batch, &err));
    assert_non_null(strstr(err.text, "constraint"));
    store_batch_free(batch);
    assert_string_equal(colour_of(rig, "car"), "none");
}

static void a_statement_of_a_noun_can_read_jobs(void **state) {
    struct rig *rig = *state;
    struct job first = rig_command("a", "a"), second = rig_change("b", "b");
    CLEANUP(store_query_end) struct store_query query = {0};
    struct job *jobs;
    size_t count;
    rig_admit(rig, &first);
    rig_admit(rig, &second);
    assert_true(store_query_begin(&query, store_tables(rig->store), &toy_noun,
                                  JOBS, NULL, 0, NULL));
    assert_true(
        store_query_jobs(&query, &rig->arena, &jobs, &count, &rig->err));
    assert_string_equal(rig_ids(rig, jobs, count), "a b");
    assert_span(jobs[1].target, "main");
}

static void nouns_report_whether_they_hold_irreplaceable_rows(void **state) {
    struct rig *rig = *state;
    bool any;
    assert_true(store_nouns_irreplaceable(rig->store, &any, NULL));
    assert_false(any);
    toy_write(rig, add_toy, car);
    assert_true(store_nouns_irreplaceable(rig->store, &any, NULL));
    assert_true(any);
}

/* ---- steps --------------------------------------------------------------- */

static void use(const struct store_noun *noun) {
    static const struct store_noun *nouns[1];
    nouns[0] = noun;
    store_nouns_use(nouns, noun != NULL);
}

static int setup_toys(void **state) {
    (void)state;
    use(&toy_noun);
    return 0;
}

/* The registry is older than the noun, and then older than its second step. */
static void the_schema_steps_of_nouns_are_applied(void **state) {
    (void)state;
    CLEANUP(text_free_string) char *path = rig_new_path();
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct store_options options = {.read_only = true};
    struct span colour;
    struct store *store;
    struct err err;
    int64_t price;
    sqlite3 *db;
    use(NULL);
    store_close(rig_open(path, false));
    use(&old_toy_noun);
    assert_false(store_sqlite_open(path, &options, &store, &err));
    assert_int_equal(err.kind, ERR_REFUSED);
    store_close(rig_open(path, false));
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "INSERT INTO toy VALUES ('car', 'red')",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    use(&toy_noun);
    store = rig_open(path, false);
    assert_int_equal(store_version(store), 1002);
    assert_true(toy_find(store, "car", &arena, &colour, &price));
    assert_int_equal(price, 3);
    store_close(store);
    /* A program without the noun refuses to open such a registry. */
    use(NULL);
    assert_false(store_sqlite_open(path, NULL, &store, &err));
    assert_int_equal(err.kind, ERR_DATA);
    assert_non_null(strstr(err.text, "has schema step 1001, which this program "
                                     "does not know"));
    use(&toy_noun);
}

/* ---- the nouns of the program -------------------------------------------- */

/* Fails if the plan scans all jobs (`j`) or all submissions (`s`). */
static void check_plan(sqlite3 *db, const char *noun, const char *sql) {
    CLEANUP(text_clear) struct text explain = TEXT_INIT;
    sqlite3_stmt *stmt;
    text_addf(&explain, "EXPLAIN QUERY PLAN %s", sql);
    if (sqlite3_prepare_v2(db, text_string(&explain), -1, &stmt, NULL) !=
        SQLITE_OK)
        fail_msg("%s: %s: %s", noun, sql, sqlite3_errmsg(db));
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const char *plan = (const char *)sqlite3_column_text(stmt, 3);
        if (strncmp(plan, "SCAN ", 5) == 0 && strchr("js", plan[5]) &&
            (plan[6] == '\0' || plan[6] == ' '))
            fail_msg("%s: %s: %s", noun, sql, plan);
    }
    sqlite3_finalize(stmt);
}

/* Fails if a statement uses words of SQLite that PostgreSQL lacks. */
static void check_words(const char *noun, const char *sql) {
    static const char *const words[] = {
        "INSERT OR", "REPLACE INTO", "CROSS JOIN", "json_", "PRAGMA", "rowid"};
    for (size_t i = 0; i < COUNT(words); i++)
        if (strstr(sql, words[i]))
            fail_msg("%s: '%s' in %s", noun, words[i], sql);
}

static void statements_are_portable_and_never_scan_all_jobs(void **state) {
    (void)state;
    CLEANUP(text_free_string) char *path = rig_new_path();
    sqlite3 *db;
    size_t checked = 0;
    store_close(rig_open(path, false));
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    for (size_t i = 0; i < serve_noun_count; i++)
        for (size_t k = 0; k < serve_nouns[i]->statement_count; k++) {
            check_plan(db, serve_nouns[i]->name, serve_nouns[i]->statements[k]);
            check_words(serve_nouns[i]->name, serve_nouns[i]->statements[k]);
            checked++;
        }
    sqlite3_close(db);
    assert_true(checked > 5);
}

static void schema_steps_are_numbered_without_gaps(void **state) {
    (void)state;
    size_t count;
    const struct store_step **steps = store_steps(&count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(steps[i]->number, i + 1);
    free(steps);
}

#define TOY_TEST(test, backend) \
    { #test " (" #backend ")", test, toy_setup_##backend, rig_teardown, NULL }
#define TOY_TESTS(test)                                    \
    TOY_TEST(test, sqlite_memory), TOY_TEST(test, sqlite), \
        TOY_TEST(test, thread)

static int toy_setup_sqlite_memory(void **state) {
    return setup_toys(state) || rig_setup_sqlite_memory(state);
}

static int toy_setup_sqlite(void **state) {
    return setup_toys(state) || rig_setup_sqlite(state);
}

static int toy_setup_thread(void **state) {
    return setup_toys(state) || rig_setup_thread(state);
}

static int setup_program(void **state) {
    (void)state;
    store_nouns_use(serve_nouns, serve_noun_count);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TOY_TESTS(an_operation_is_committed_with_its_event),
        TOY_TESTS(an_operation_that_changes_no_row_is_a_conflict),
        TOY_TESTS(an_atomic_batch_may_contain_nouns_and_jobs),
        TOY_TESTS(the_caller_is_notified_after_the_commit),
        TOY_TESTS(a_failed_statement_undoes_its_transaction),
        TOY_TESTS(a_statement_of_a_noun_can_read_jobs),
        TOY_TESTS(nouns_report_whether_they_hold_irreplaceable_rows),
        cmocka_unit_test_setup(the_schema_steps_of_nouns_are_applied,
                               setup_toys),
        cmocka_unit_test_setup(statements_are_portable_and_never_scan_all_jobs,
                               setup_program),
        cmocka_unit_test_setup(schema_steps_are_numbered_without_gaps,
                               setup_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
