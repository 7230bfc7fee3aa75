/* JSON files: valid ones, and errors with their messages. */
#include "support/support.h"

#include <float.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <clformer/log.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

static char path[256];

static int choose_path(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "%s/settings.json", support_temporary_folder());
    return 0;
}

static clf_status load(struct clf__json *json, const char *text)
{
    static const struct clf__json_limits limits = {1000000, 1000};
    assert_ok(clf__file_write(path, text, strlen(text)));
    return clf__json_load(json, path, limits);
}

static void test_typed_reads(void **state)
{
    (void)state;
    struct clf__json json;
    assert_ok(load(&json, "{\"int\": -7, \"real\": 0.5, \"yes\": true, \"no\": false, \"text\": \"h\\u00e9\","
                          " \"nothing\": null, \"list\": [1]}"));
    int number = 99;
    assert_ok(clf__json_int(&json, "int", -10, 10, &number));
    assert_int_equal(number, -7);
    assert_ok(clf__json_int(&json, "int", -7, -7, &number));
    double real = 9;
    assert_ok(clf__json_double(&json, "real", 0.5, 1, &real));
    assert_true(real == 0.5);
    assert_ok(clf__json_double(&json, "int", -10, 10, &real));
    assert_true(real == -7);
    int flag = 9;
    assert_ok(clf__json_bool(&json, "yes", &flag));
    assert_int_equal(flag, 1);
    assert_ok(clf__json_bool(&json, "no", &flag));
    assert_int_equal(flag, 0);
    const char *text = "default";
    assert_ok(clf__json_string(&json, "text", &text));
    assert_string_equal(text, "h\u00e9");
    assert_true(clf__json_has(&json, "list"));
    assert_false(clf__json_has(&json, "nothing"));
    assert_false(clf__json_has(&json, "missing"));
    clf__json_free(&json);
    clf__json_free(&json); /* a freed one is empty */
}

static void test_defaults_stay(void **state)
{
    (void)state;
    struct clf__json json;
    assert_ok(load(&json, "{\"nothing\": null}"));
    static const char *const keys[] = {"nothing", "missing"};
    for (int i = 0; i < 2; i++) {
        int number = 99, flag = 7;
        double real = 2.5;
        const char *text = "default";
        assert_ok(clf__json_int(&json, keys[i], 0, 1, &number));
        assert_ok(clf__json_bool(&json, keys[i], &flag));
        assert_ok(clf__json_double(&json, keys[i], 0, 1, &real));
        assert_ok(clf__json_string(&json, keys[i], &text));
        assert_int_equal(number, 99);
        assert_int_equal(flag, 7);
        assert_true(real == 2.5);
        assert_string_equal(text, "default");
    }
    clf__json_free(&json);
}

static void test_wrong_types_and_ranges_name_file_and_key(void **state)
{
    (void)state;
    struct clf__json json;
    assert_ok(load(&json, "{\"text\": \"5\", \"real\": 5.0, \"int\": 5, \"list\": []}"));
    int number = 99;
    double real = 99;
    const char *text = "default";
    assert_fails(clf__json_int(&json, "text", 0, 9, &number), CLF_FORMAT, "\"text\" must be an integer");
    assert_fails(clf__json_int(&json, "real", 0, 9, &number), CLF_FORMAT, "\"real\" must be an integer");
    assert_fails(clf__json_int(&json, "int", 6, 9, &number), CLF_FORMAT, "\"int\" is 5 but must be 6 to 9");
    assert_fails(clf__json_int(&json, "int", 0, 4, &number), CLF_FORMAT, path);
    assert_int_equal(number, 99);
    assert_fails(clf__json_double(&json, "list", 0, 9, &real), CLF_FORMAT, "\"list\" must be a number");
    assert_fails(clf__json_double(&json, "real", 0, 4.5, &real), CLF_FORMAT, "\"real\" is 5");
    assert_true(real == 99);
    assert_fails(clf__json_bool(&json, "int", &number), CLF_FORMAT, "\"int\" must be true or false");
    assert_fails(clf__json_string(&json, "int", &text), CLF_FORMAT, "\"int\" must be a string");
    assert_string_equal(text, "default");
    clf__json_free(&json);
}

static void test_bad_files_name_file_and_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } rows[] = {
        {"", "is empty"},
        {"   ", "line 1"},
        {"{\n\"a\": }", "line 2"},
        {"{\"a\": 1", "line 1"},
        {"{\"a\": 1} x", "line 1"},
        {"[1]", "not a JSON object"},
        {"{\"a\": \"\xff\"}", "line 1"},
        {"{\"a\": NaNs}", "line 1"},
        {"{NaN: 1}", "line 1"},
        {"{\"a\": 1e999}", "line 1"},
        {"not json at all", "line 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct clf__json json;
        assert_fails(load(&json, rows[i].text), CLF_FORMAT, rows[i].part);
        assert_non_null(strstr(clf_last_error(), path));
        assert_null(json.root);
        clf__json_free(&json);
    }
    static const struct clf__json_limits small = {16, 4};
    struct clf__json json;
    assert_fails(clf__json_load(&json, "/no/such.json", small), CLF_FILE, "/no/such.json");
    assert_ok(clf__file_write(path, "{\"a\": 1234567890}", 17));
    assert_fails(clf__json_load(&json, path, small), CLF_FORMAT, "more than the limit of 16");
}

static void test_a_deep_file_is_refused(void **state)
{
    (void)state;
    char *text = support_array(100001, 1);
    memset(text, '[', 100000);
    struct clf__json json;
    assert_fails(load(&json, text), CLF_FORMAT, path);
    json_t *value;
    memset(text + 100, ']', 100);
    assert_ok(clf__json_parse(&value, text, 200, "x.json", clf__json_settings));
    json_decref(value);
    memcpy(text, "\n\n[[[", 5);
    memset(text + 100, '[', 3);
    assert_fails(clf__json_parse(&value, text, 200, "x.json", clf__json_settings), CLF_FORMAT,
                 "x.json: line 3: invalid JSON: nesting deeper than 100");
    assert_null(value);
}

static void test_integers_beyond_64_bits(void **state)
{
    (void)state;
    /* transformers' "no limit"; integers beside it stay integers. */
    struct clf__json json;
    assert_ok(load(&json, "{\"limit\": 1000000000000000019884624838656, \"ids\": [1, -2, {\"x\": 3}, 2.5],"
                          " \"size\": 512, \"real\": 0.25}"));
    double limit = 0;
    assert_ok(clf__json_double(&json, "limit", 0, DBL_MAX, &limit));
    assert_true(limit == 1e30);
    int number = 0;
    assert_fails(clf__json_int(&json, "limit", 0, INT_MAX, &number), CLF_FORMAT, "\"limit\"");
    assert_ok(clf__json_int(&json, "size", 0, INT_MAX, &number));
    assert_int_equal(number, 512);
    const json_t *ids = json_object_get(json.root, "ids");
    assert_int_equal(json_integer_value(json_array_get(ids, 0)), 1);
    assert_int_equal(json_integer_value(json_array_get(ids, 1)), -2);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(ids, 2), "x")), 3);
    assert_true(json_is_real(json_array_get(ids, 3)));
    assert_true(json_is_real(json_object_get(json.root, "real")));
    clf__json_free(&json);
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    struct clf__json json;
    assert_ok(load(&json, "{\"a\": 1}"));
    clf__json_free(&json);
    clf__memory_fail_at(0);
    assert_ok(clf__json_load(&json, path, clf__json_settings));
    uint64_t allocations = clf__memory_count();
    clf__json_free(&json);
    assert_true(allocations >= 2);
    for (uint64_t n = 1; n <= allocations; n++) {
        clf__memory_fail_at(n);
        assert_fails(clf__json_load(&json, path, clf__json_settings), CLF_OUT_OF_MEMORY, "");
        assert_null(json.root);
    }
    json_t *value;
    clf__memory_fail_at(1); /* the memory estimate for jansson */
    assert_fails(clf__json_parse(&value, "[]", 2, "x.json", clf__json_settings), CLF_OUT_OF_MEMORY,
                 "x.json: not enough host memory to read it");
    assert_null(value);
    clf__memory_fail_at(0);
}

static void test_strings_and_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text, *value;
    } strings[] = {
        {"\"\"", ""},
        {"\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"", "a\"\\/\b\f\n\r\tz"},
        {"\"\\u0041\\u00e9\\u00E9\\u2581\\ud83d\\ude00\"", "A\u00e9\u00e9\u2581\U0001F600"},
        {"\"h\u00e9\U0001F600\"", "h\u00e9\U0001F600"},
    };
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        json_t *value;
        assert_ok(clf__json_word(&value, strings[i].text));
        assert_string_equal(json_string_value(value), strings[i].value);
        json_decref(value);
    }
    static const struct {
        const char *text;
        double value;
        int is_whole;
    } numbers[] = {{"0", 0, 1},         {"-0", 0, 1},     {"-12", -12, 1},
                   {"1.5", 1.5, 0},     {"1e3", 1000, 0}, {"-1.25E-2", -0.0125, 0},
                   {"5.0", 5, 0},       {"1e-400", 0, 0}, {"9223372036854775808", 9223372036854775808.0, 0},
                   {" \t\r\n7 ", 7, 1}, {"1E+2", 100, 0}, {"9007199254740992", 9007199254740992, 1}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        json_t *value;
        assert_ok(clf__json_word(&value, numbers[i].text));
        assert_true(json_is_number(value) && json_number_value(value) == numbers[i].value);
        assert_int_equal(json_is_integer(value), numbers[i].is_whole);
        json_decref(value);
    }
}

static void test_what_is_no_json(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        " ",
                                        "01",
                                        "-",
                                        "1.",
                                        ".5",
                                        "1e",
                                        "+1",
                                        "0x1",
                                        "1e999",
                                        "-1e999",
                                        "tru",
                                        "nul",
                                        "'a'",
                                        "\"a",
                                        "\"\\\"",
                                        "\"\\x\"",
                                        "\"\n\"",
                                        "\"\\u12\"",
                                        "\"\\u12g4\"",
                                        "[",
                                        "[1",
                                        "[1,",
                                        "[1,]",
                                        "[,]",
                                        "[1 2]",
                                        "]",
                                        "{",
                                        "{\"a\"",
                                        "{\"a\":",
                                        "{\"a\": 1,}",
                                        "{a: 1}",
                                        "{1: 1}",
                                        "{\"a\" 1}",
                                        "{\"a\": 1 \"b\": 2}",
                                        "[1}",
                                        "1 1",
                                        "[] []",
                                        "// a\n1",
                                        "\"\xC0\xAF\"",
                                        "\"\xED\xA0\x80\"",
                                        "\xEF\xBB\xBF{}",
                                        "NaN1",
                                        "\"\\u000\"",
                                        "\"\\ud83d",
                                        "\"\\ud83d\\"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *value;
        assert_fails(clf__json_parse(&value, texts[i], strlen(texts[i]), "x.json", clf__json_settings),
                     CLF_FORMAT, "x.json: line ");
        assert_null(value);
        assert_ok(clf__json_word(&value, texts[i]));
        assert_null(value);
    }
}

/* Python's json module writes these texts, which jansson rejects. */
static void test_json_of_python(void **state)
{
    (void)state;
    static const struct {
        const char *text, *same; /* the same value in standard JSON */
    } rows[] = {
        {"\"\\u0000\"", "\"\ufdd0\""},
        {"\"a\\u0000\\u0000b\"", "\"a\ufdd0\ufdd0"
                                 "b\""},
        {"\"\\\\u0000\"", "\"\\\\u0000\""}, /* a backslash and letters */
        {"{\"\\u0000\": 1, \"\\u0000\\u0000\": 2, \"\": 3}", "{\"\ufdd0\": 1, \"\ufdd0\ufdd0\": 2, \"\": 3}"},
        {"\"\\ud83d\"", "\"\U0010f83d"
                        "\""},
        {"\"\\uD83Dx\"", "\"\U0010f83dx\""},
        {"\"\\ud83d\\u0041\"", "\"\U0010f83d"
                               "A\""},
        {"\"\\ude00\"", "\"\U0010fe00"
                        "\""},
        {"\"\\udfff\\ud800\"", "\"\U0010ffff\U0010f800\""},
        {"\"\\ud83d\\ud83d\\ude00\"", "\"\U0010f83d\U0001f600\""},
        {"\"\\ud83d\\ude00\\ude00\"", "\"\U0001f600\U0010fe00\""},
        {"\"\\ud83d\\\"\"", "\"\U0010f83d\\\"\""},
        {"[NaN, Infinity, -Infinity, \"NaN\", \"\\\"Infinity\"]",
         "[\"NaN\", 1.7e308, -1.7e308, \"NaN\", \"\\\"Infinity\"]"},
        {"{\"a\": 1, \"a\": 2}", "{\"a\": 2}"},
        {"{\"a\": {\"b\": 1, \"b\": 2}, \"c\": 3, \"a\": [1, 1e2]}", "{\"a\": [1, 1e2], \"c\": 3}"},
        {"{\"a\": 1, \"b\": 1000000000000000000000, \"a\": 2}", "{\"a\": 2, \"b\": 1000000000000000000000}"},
        {"{\"b\": 1000000000000000000000, \"a\": 1, \"a\": 2}", "{\"a\": 2, \"b\": 1000000000000000000000}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *value, *same;
        assert_ok(clf__json_parse(&value, rows[i].text, strlen(rows[i].text), "x.json", clf__json_settings));
        assert_ok(
            clf__json_parse_strict(&same, rows[i].same, strlen(rows[i].same), "x.json", clf__json_settings));
        if (!json_equal(value, same)) {
            fail_msg("row %zu: %s", i, rows[i].text);
        }
        json_decref(value);
        json_decref(same);
        if (strcmp(rows[i].text, rows[i].same) != 0) {
            assert_fails(clf__json_parse_strict(&value, rows[i].text, strlen(rows[i].text), "x.json",
                                                clf__json_settings),
                         CLF_FORMAT, "x.json: line 1");
        }
    }
}

static char logged[512];

static void keep_log(clf_log_level level, const char *message, void *user)
{
    (void)user;
    snprintf(logged, sizeof logged, "%d %s", (int)level, message);
}

static void test_equal_keys_are_logged(void **state)
{
    (void)state;
    struct clf__json json;
    int number = 0;
    clf_log_set(keep_log, NULL);
    assert_ok(load(&json, "{\"a\": 1,\n\n \"a\": 2}"));
    clf_log_set(NULL, NULL);
    assert_ok(clf__json_int(&json, "a", 0, 9, &number));
    assert_int_equal(number, 2);
    assert_non_null(strstr(logged, path));
    assert_non_null(strstr(logged, "line 3: duplicate object key"));
    assert_non_null(strstr(logged, "; the last value is used"));
    clf__json_free(&json);
    assert_fails(clf__json_load_strict(&json, path, clf__json_settings), CLF_FORMAT, "line 3");
}

static void test_nul_bytes_and_long_numbers(void **state)
{
    (void)state;
    json_t *value;
    static const char nul[][6] = {"[1,\0]", "[1\0 ]", "[\0 1]", "[1] \0", "\"a\0b\""};
    for (int i = 0; i < 5; i++) {
        assert_fails(clf__json_parse(&value, nul[i], 5, "x.json", clf__json_settings), CLF_FORMAT,
                     "x.json: line 1");
        assert_null(value);
    }
    char digits[1000];
    memset(digits, '1', sizeof digits);
    assert_fails(clf__json_parse(&value, digits, sizeof digits, "x.json", clf__json_settings), CLF_FORMAT,
                 "x.json: line 1");
}

/* An empty list takes fifty times its size in memory. */
static void test_more_values_than_expected(void **state)
{
    (void)state;
    static const struct clf__json_limits limits = {1000, 5};
    json_t *value;
    assert_ok(clf__json_parse(&value, "[[], {}, \"a\", 1]", 16, "x.json", limits));
    json_decref(value);
    static const char keys[] = "{\"a\": 1, \"b\" : {\"c\":null}, \"\\\":,\" : -5}"; /* which are no values */
    assert_ok(clf__json_parse(&value, keys, sizeof keys - 1, "x.json", limits));
    json_decref(value);
    assert_fails(clf__json_parse(&value, "[[], {}, \"a\", 1, 2]", 19, "x.json", limits), CLF_FORMAT,
                 "x.json: has more JSON values than the limit of 5 for such files");
    assert_null(value);
    enum { LISTS = 1000 };
    char text[3 * LISTS + 16] = "{\"a\": [[]";
    for (int i = 0; i < LISTS; i++) {
        strcat(text, ",[]");
    }
    strcat(text, "]}");
    struct clf__json json;
    assert_fails(load(&json, text), CLF_FORMAT,
                 "settings.json: has more JSON values than the limit of 1000 for such files");
    assert_null(json.root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_typed_reads),
        cmocka_unit_test(test_defaults_stay),
        cmocka_unit_test(test_wrong_types_and_ranges_name_file_and_key),
        cmocka_unit_test(test_bad_files_name_file_and_line),
        cmocka_unit_test_teardown(test_a_deep_file_is_refused, support_teardown),
        cmocka_unit_test(test_integers_beyond_64_bits),
        cmocka_unit_test(test_every_allocation_may_fail),
        cmocka_unit_test(test_strings_and_numbers),
        cmocka_unit_test(test_json_of_python),
        cmocka_unit_test(test_equal_keys_are_logged),
        cmocka_unit_test(test_what_is_no_json),
        cmocka_unit_test(test_nul_bytes_and_long_numbers),
        cmocka_unit_test(test_more_values_than_expected),
    };
    return cmocka_run_group_tests(tests, choose_path, NULL);
}
