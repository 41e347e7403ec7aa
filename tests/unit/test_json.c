#include "lib/json.h"

#include "support/test.h"

static void the_writer_places_commas_and_quotes(void **state) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct json j;

    (void)state;
    json_open(&j, &text);
    json_object(&j);
    json_key(&j, "id");
    json_string(&j, "C7");
    json_key(&j, "none");
    json_string(&j, NULL);
    json_key(&j, "list");
    json_array(&j);
    json_i64(&j, INT64_MIN);
    json_u64_string(&j, UINT64_MAX);
    json_bool(&j, true);
    json_bool(&j, false);
    json_array(&j);
    json_end(&j);
    json_object(&j);
    json_end(&j);
    json_end(&j);
    json_key(&j, "raw");
    json_raw(&j, SPAN("{\"a\":1}"));
    json_end(&j);
    assert_string_equal(text.p,
                        "{\"id\":\"C7\",\"none\":null,\"list\":"
                        "[-9223372036854775808,\"18446744073709551615\","
                        "true,false,[],{}],\"raw\":{\"a\":1}}");
}

static void strings_are_escaped_and_invalid_bytes_replaced(void **state) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct json j;

    (void)state;
    json_open(&j, &text);
    json_span(&j, SPAN("q\"b\\n\n\t\r\b\f\x01\0\x1f/\x7f\xc3\xa9|\xff\xc3"));
    assert_string_equal(text.p,
                        "\"q\\\"b\\\\n\\n\\t\\r\\b\\f\\u0001\\u0000\\u001f/"
                        "\x7f\xc3\xa9|\xef\xbf\xbd\xef\xbf\xbd\"");
    text_reset(&text);
    json_open(&j, &text);
    json_span(&j, (struct span){0});
    assert_string_equal(text.p, "\"\"");
}

static void values_may_be_nested_64_levels_deep(void **state) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct json_value value;
    struct err err = {0};
    struct json j;

    (void)state;
    json_open(&j, &text);
    for (int i = 0; i < JSON_DEPTH; i++)
        i % 2 == 0 ? json_array(&j) : (json_object(&j), json_key(&j, "k"));
    json_i64(&j, 1);
    for (int i = 0; i < JSON_DEPTH; i++)
        json_end(&j);
    assert_true(json_parse(text_span(&text), &value, &err));
    text_reset(&text);
    for (int i = 0; i <= JSON_DEPTH; i++)
        text_addc(&text, '[');
    for (int i = 0; i <= JSON_DEPTH; i++)
        text_addc(&text, ']');
    assert_false(json_parse(text_span(&text), &value, &err));
    assert_string_equal(err.text, "bad JSON at byte 64: nested too deeply");
}

static void valid_json_is_accepted(void **state) {
    static const struct {
        const char *text;
        enum json_type type;
    } cases[] = {
        {"null", JSON_NULL},
        {" true\n", JSON_TRUE},
        {"false", JSON_FALSE},
        {"0", JSON_NUMBER},
        {"-0", JSON_NUMBER},
        {"-1.5e+3", JSON_NUMBER},
        {"1E9", JSON_NUMBER},
        {"\"\"", JSON_STRING},
        {"[]", JSON_ARRAY},
        {"[ 1 , 2 ]", JSON_ARRAY},
        {"{}", JSON_OBJECT},
        {"{ }", JSON_OBJECT},
        {"\t{\"a\" : [ {} ] , \"b\":null}\r\n", JSON_OBJECT},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\uD83D\\ude82\"", JSON_STRING},
        {"{\"a\":{\"a\":1},\"b\":{\"a\":1}}", JSON_OBJECT},
    };
    struct json_value value;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct err err = {0};

        if (!json_parse(span_of(cases[i].text), &value, &err))
            fail_msg("%s: %s", cases[i].text, err.text);
        assert_int_equal(value.type, cases[i].type);
        assert_true(span_equal(value.raw, span_trim(span_of(cases[i].text))));
    }
}

static void invalid_json_is_refused_with_its_position(void **state) {
    static const struct {
        const char *text;
        size_t at;
    } cases[] = {
        {"", 0},
        {" ", 1},
        {"nul", 0},
        {"nullx", 4},
        {"True", 0},
        {"01", 1},
        {"-", 1},
        {"+1", 0},
        {"1.", 2},
        {".5", 0},
        {"1e", 2},
        {"1e+", 3},
        {"[1,]", 3},
        {"[1 2]", 3},
        {"[", 1},
        {"[1", 2},
        {"]", 0},
        {"{", 1},
        {"{\"a\"}", 4},
        {"{\"a\":}", 5},
        {"{\"a\":1,}", 7},
        {"{a:1}", 1},
        {"{\"a\":1 \"b\":2}", 7},
        {"\"", 1},
        {"\"\\\"", 3},
        {"\"\\x\"", 2},
        {"\"\\u12g4\"", 2},
        {"\"\\u12", 2},
        {"\"a\tb\"", 2},
        {"\"\xff\"", 1},
        {"\"\xc3\"", 1},
        {"\"\xed\xa0\x80\"", 1},
        {"\"\\ud800\"", 7},
        {"\"\\udc00\"", 2},
        {"\"\\ud800\\u0041\"", 7},
        {"1 2", 2},
        {"NaN", 0},
        {"Infinity", 0},
        {"'a'", 0},
        {"/**/1", 0},
        {"\xef\xbb\xbf{}", 0},
        {"[1,[2,{\"a\":[tru]}]]", 12},
        {"{\"a\":1,\"a\":2}", 13},
        {"[{\"a\":1,\"\\u0061\":2}]", 19},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct json_value value = {.type = JSON_TRUE};
        struct err err = {0};
        char place[40];

        if (json_parse(span_of(cases[i].text), &value, &err))
            fail_msg("accepted: %s", cases[i].text);
        assert_int_equal(err.kind, ERR_DATA);
        assert_int_equal(value.type, JSON_NULL);
        snprintf(place, sizeof(place), "bad JSON at byte %zu: ", cases[i].at);
        if (strncmp(err.text, place, strlen(place)) != 0)
            fail_msg("%s: wanted byte %zu: %s", cases[i].text, cases[i].at,
                     err.text);
    }
}

static void a_nul_byte_does_not_end_the_input(void **state) {
    struct json_value value;

    (void)state;
    assert_false(json_parse(SPAN("1\0"), &value, NULL));
    assert_false(json_parse(SPAN("\"a\0b\""), &value, NULL));
    assert_false(json_parse(SPAN("\"\\\0\""), &value, NULL));
    assert_false(json_parse((struct span){0}, &value, NULL));
}

static void members_are_found_by_their_decoded_keys(void **state) {
    struct json_value object, value;
    struct arena arena = ARENA_INIT;
    struct span string;
    int64_t number;
    bool yes;

    (void)state;
    assert_true(json_parse(SPAN("{\"a\":{\"b\":\"}]\\\"\"},\"n\\u0061me\":"
                                "\"\\u20ac\\n\", \"n\" : -12 ,\"t\":true,"
                                "\"z\":\"\\u0000\",\"f\":1.0}"),
                           &object, NULL));
    assert_true(json_member(object, "a", &value));
    assert_true(span_is(value.raw, "{\"b\":\"}]\\\"\"}"));
    assert_true(json_member(object, "name", &value));
    assert_true(json_get_string(value, &arena, &string));
    assert_true(span_is(string, "\xe2\x82\xac\n"));
    assert_false(json_get_i64(value, &number));
    assert_true(json_member(object, "n", &value));
    assert_true(json_get_i64(value, &number));
    assert_int_equal(number, -12);
    assert_false(json_get_bool(value, &yes));
    assert_true(json_member(object, "t", &value));
    assert_true(json_get_bool(value, &yes) && yes);
    assert_false(json_get_string(value, &arena, &string));
    assert_true(json_member(object, "z", &value));
    assert_false(json_get_string(value, &arena, &string));
    assert_true(json_member(object, "f", &value));
    assert_false(json_get_i64(value, &number));
    assert_false(json_member(object, "b", &value));
    assert_int_equal(value.type, JSON_NULL);
    arena_clear(&arena);
}

static void only_an_object_is_searched_for_a_member(void **state) {
    static const char *const others[] = {"", "[\"a\"]", "1", "{\"a\":1"};
    struct json_value value;
    struct err err = {0};

    (void)state;
    assert_true(json_find(SPAN(" {\"b\":2, \"a\":1} "), "a", &value));
    assert_true(span_is(value.raw, "1"));
    assert_false(json_find(SPAN("{\"a\":1}"), "b", &value));
    assert_int_equal(value.type, JSON_NULL);
    assert_true(json_parse_object(SPAN("{}"), &value, &err));
    for (size_t i = 0; i < COUNT(others); i++) {
        assert_false(json_find(span_of(others[i]), "a", &value));
        assert_int_equal(value.type, JSON_NULL);
        assert_false(json_parse_object(span_of(others[i]), &value, &err));
        assert_int_equal(err.kind, ERR_DATA);
    }
}

static void iteration_returns_each_member_once(void **state) {
    static const char *const raws[] = {"1", "\"a,]\"", "[2,[3]]", "{}", "null"};
    struct arena arena = ARENA_INIT;
    struct json_value array, value;
    size_t cursor = 0, count = 0;
    struct span key;

    (void)state;
    assert_true(
        json_parse(SPAN(" [1, \"a,]\" ,[2,[3]],{} , null ] "), &array, NULL));
    while (json_next(array, &cursor, &arena, NULL, &value))
        assert_true(count < COUNT(raws) && span_is(value.raw, raws[count++]));
    assert_int_equal(count, COUNT(raws));
    assert_true(json_parse(SPAN("{\"\\t\":1,\"\":2}"), &array, NULL));
    cursor = 0;
    assert_true(json_next(array, &cursor, &arena, &key, &value));
    assert_true(span_is(key, "\t") && span_is(value.raw, "1"));
    assert_true(json_next(array, &cursor, &arena, &key, &value));
    assert_true(span_is(key, "") && span_is(value.raw, "2"));
    assert_false(json_next(array, &cursor, &arena, &key, &value));
    assert_true(json_parse(SPAN("7"), &array, NULL));
    cursor = 0;
    assert_false(json_next(array, &cursor, &arena, NULL, &value));
    arena_clear(&arena);
}

static void an_object_may_have_ten_thousand_keys(void **state) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct json_value value;
    struct json j;

    (void)state;
    json_open(&j, &text);
    json_object(&j);
    for (int i = 0; i < 10000; i++) {
        char key[16];

        snprintf(key, sizeof(key), "k%d", i);
        json_key(&j, key);
        json_i64(&j, i);
    }
    json_end(&j);
    assert_true(json_parse(text_span(&text), &value, NULL));
    text.p[--text.len] = '\0';
    text_adds(&text, ",\"k4711\":0}");
    assert_false(json_parse(text_span(&text), &value, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_writer_places_commas_and_quotes),
        cmocka_unit_test(strings_are_escaped_and_invalid_bytes_replaced),
        cmocka_unit_test(values_may_be_nested_64_levels_deep),
        cmocka_unit_test(valid_json_is_accepted),
        cmocka_unit_test(invalid_json_is_refused_with_its_position),
        cmocka_unit_test(a_nul_byte_does_not_end_the_input),
        cmocka_unit_test(members_are_found_by_their_decoded_keys),
        cmocka_unit_test(only_an_object_is_searched_for_a_member),
        cmocka_unit_test(iteration_returns_each_member_once),
        cmocka_unit_test(an_object_may_have_ten_thousand_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
