/* Ids and text equal transformers' MarianTokenizer on all recorded lines: the 500 lines of the demo model and
 * the unusual lines of the small folders in tests/fixtures/text. */
#include "support/support.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "text/tokenizers/tokenizer.h"

static const struct clf__tokenizer_options demo_options = {
    .source_vocabulary = 4000,
    .target_vocabulary = 4000,
    .source_start_id = -1,
    .source_end_id = 0,
    .pad_id = 3999,
    .start_id = 3999,
    .end_id = 0,
};

static struct clf__tokenizer *load(const char *folder, struct clf__tokenizer_options options)
{
    struct clf__tokenizer *tokenizer;
    assert_ok(clf__tokenizer_load(&tokenizer, folder, &options));
    return tokenizer;
}

/* Calls `check` with each line of a fixture, without its newline; returns the number of lines. */
static int for_each_line(const char *name, void (*check)(struct clf__tokenizer *, char *line, int number),
                         struct clf__tokenizer *tokenizer)
{
    char *text;
    size_t size;
    assert_ok(clf__file_read(&text, &size, support_fixture(name), 1 << 24));
    int number = 0;
    for (char *line = text; line < text + size;) {
        char *end = strchr(line, '\n');
        assert_non_null(end);
        *end = '\0';
        check(tokenizer, line, ++number);
        line = end + 1;
    }
    clf__free(text);
    return number;
}

static void check_ids(const struct clf__ids *ids, const json_t *expected, const char *text)
{
    int same = ids->count == (int)json_array_size(expected);
    for (int i = 0; same && i < ids->count; i++) {
        same = ids->data[i] == json_integer_value(json_array_get(expected, (size_t)i));
    }
    if (!same) {
        fail_msg("other ids than recorded for: %s", text);
    }
}

static void check_decoded(const struct clf__tokenizer *tokenizer, const json_t *ids, const char *expected)
{
    int count = (int)json_array_size(ids);
    int32_t *list = support_array((size_t)count + 1, sizeof *list);
    for (int i = 0; i < count; i++) {
        list[i] = (int32_t)json_integer_value(json_array_get(ids, (size_t)i));
    }
    char *text;
    assert_ok(clf__tokenizer_decode(tokenizer, &text, list, count, 0));
    assert_string_equal(text, expected);
    clf__free(text);
    support_free_all();
}

static json_t *recorded_ids[1000]; /* of the demo's source lines */

static void keep_source_ids(struct clf__tokenizer *tokenizer, char *line, int number)
{
    (void)tokenizer;
    recorded_ids[number - 1] = json_loads(line, 0, NULL);
}

static void check_source_line(struct clf__tokenizer *tokenizer, char *line, int number)
{
    struct clf__ids ids = {0};
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, line, strlen(line), 0, 0));
    check_ids(&ids, json_object_get(recorded_ids[number - 1], "ids"), line);
    clf__ids_free(&ids);
}

static void check_hypothesis(const struct clf__tokenizer *tokenizer, const json_t *hypothesis)
{
    check_decoded(tokenizer, json_object_get(hypothesis, "ids"),
                  json_string_value(json_object_get(hypothesis, "text")));
}

/* A line is one hypothesis or a list of them. */
static void check_target_line(struct clf__tokenizer *tokenizer, char *line, int number)
{
    (void)number;
    json_t *row = json_loads(line, 0, NULL);
    assert_non_null(row);
    if (json_is_object(row)) {
        check_hypothesis(tokenizer, row);
    }
    for (size_t i = 0; i < json_array_size(row); i++) {
        check_hypothesis(tokenizer, json_array_get(row, i));
    }
    json_decref(row);
}

static void test_the_demo_model(void **state)
{
    (void)state;
    struct clf__tokenizer *tokenizer = load(CLF_SOURCE_FOLDER "/tools/models/fr-en-small", demo_options);
    assert_int_equal(clf__tokenizer_max_length(tokenizer), 256);
    assert_int_equal(for_each_line("fr-en-small/source_ids.jsonl", keep_source_ids, NULL), 500);
    assert_int_equal(for_each_line("fr-en-small/source.fr", check_source_line, tokenizer), 500);
    for (int i = 0; i < 500; i++) {
        json_decref(recorded_ids[i]);
    }
    assert_int_equal(for_each_line("fr-en-small/greedy.jsonl", check_target_line, tokenizer), 500);
    assert_int_equal(for_each_line("fr-en-small/beam4.jsonl", check_target_line, tokenizer), 500);
    const char *n_best = "fr-en-small/beam5_nbest3_penalty0.6_first100.jsonl";
    assert_int_equal(for_each_line(n_best, check_target_line, tokenizer), 100);
    clf__tokenizer_free(tokenizer);
}

static int encoded_rows, decoded_rows;

static void check_odd_row(struct clf__tokenizer *tokenizer, char *line, int number)
{
    (void)number;
    json_t *row = json_loads(line, 0, NULL);
    assert_non_null(row);
    const char *text = json_string_value(json_object_get(row, "text"));
    if (text) {
        struct clf__ids ids = {0};
        assert_ok(clf__tokenizer_encode(tokenizer, &ids, text, strlen(text), 0, 0));
        check_ids(&ids, json_object_get(row, "source_ids"), text);
        assert_ok(clf__tokenizer_encode(tokenizer, &ids, text, strlen(text), 1, 0));
        check_ids(&ids, json_object_get(row, "target_ids"), text);
        clf__ids_free(&ids);
        encoded_rows++;
    } else {
        check_decoded(tokenizer, json_object_get(row, "ids"),
                      json_string_value(json_object_get(row, "decoded")));
        decoded_rows++;
    }
    json_decref(row);
}

/* Returns the size of a fixture's vocabulary file. */
static int vocabulary_size(const char *name)
{
    json_t *vocabulary = json_load_file(support_fixture(name), 0, NULL);
    int size = (int)json_object_size(vocabulary);
    json_decref(vocabulary);
    return size;
}

static void test_odd_lines_with_one_vocabulary(void **state)
{
    (void)state;
    struct clf__tokenizer_options options = demo_options;
    int size = vocabulary_size("text/shared/vocab.json");
    options.source_vocabulary = options.target_vocabulary = size;
    options.pad_id = options.start_id = size - 1;
    struct clf__tokenizer *tokenizer = load(support_fixture("text/shared"), options);
    assert_int_equal(clf__tokenizer_max_length(tokenizer), 512);
    encoded_rows = decoded_rows = 0;
    for_each_line("text/shared/expected.jsonl", check_odd_row, tokenizer);
    assert_true(encoded_rows >= 30 && decoded_rows >= 60);
    clf__tokenizer_free(tokenizer);
}

static void test_odd_lines_with_two_vocabularies(void **state)
{
    (void)state;
    struct clf__tokenizer_options options = demo_options;
    options.source_vocabulary = vocabulary_size("text/separate/vocab.json");
    options.target_vocabulary = vocabulary_size("text/separate/target_vocab.json");
    assert_int_not_equal(options.source_vocabulary, options.target_vocabulary);
    options.separate = 1;
    options.pad_id = options.start_id = options.target_vocabulary - 1;
    struct clf__tokenizer *tokenizer = load(support_fixture("text/separate"), options);
    assert_int_equal(clf__tokenizer_max_length(tokenizer), 0); /* written as 10^30: no limit */
    encoded_rows = decoded_rows = 0;
    for_each_line("text/separate/expected.jsonl", check_odd_row, tokenizer);
    assert_true(encoded_rows >= 30 && decoded_rows >= 60);
    clf__tokenizer_free(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_demo_model),
        cmocka_unit_test(test_odd_lines_with_one_vocabulary),
        cmocka_unit_test(test_odd_lines_with_two_vocabularies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
