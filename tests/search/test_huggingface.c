/* Search gives the results of transformers' `generate`, token for token, on toy models (cases.json and its
 * generator are in tests/fixtures/search). */
#include <jansson.h>
#include <stdio.h>

#include "search/toy.h"

enum { MOST = 64 };

struct listed {
    struct clf__search_options options;
    int32_t prefix, prompt[MOST];
    int seeds[MOST];
    int32_t other_ends[MOST], suppressed[MOST], bad_words[MOST], bad_word_offsets[MOST];
    int32_t biased[MOST], biased_offsets[MOST];
    float biases[MOST];
};

static int integer(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    assert_true(json_is_integer(value));
    return (int)json_integer_value(value);
}

static int read_ids(int32_t *out, const json_t *array, int start)
{
    size_t count = json_array_size(array);
    assert_true(start + (int)count < MOST);
    for (size_t i = 0; i < count; i++) {
        out[start + (int)i] = (int32_t)json_integer_value(json_array_get(array, i));
    }
    return start + (int)count;
}

static enum clf__early_stopping early_stopping(const char *name)
{
    if (strcmp(name, "never") == 0) {
        return CLF__STOP_NEVER;
    }
    return strcmp(name, "true") == 0 ? CLF__STOP_TRUE : CLF__STOP_FALSE;
}

static enum clf__length_rule length_rule(const char *name)
{
    if (strcmp(name, "gnmt") == 0) {
        return CLF__LENGTH_GNMT;
    }
    return strcmp(name, "none") == 0 ? CLF__LENGTH_NONE : CLF__LENGTH_HUGGINGFACE;
}

static void read_case(struct listed *listed, const json_t *object)
{
    struct clf__search_options *options = &listed->options;
    *options = toy_options(integer(object, "vocabulary"), integer(object, "beams"), integer(object, "n_best"),
                           integer(object, "max_length"));
    options->min_length = integer(object, "min_length");
    options->length_rule = length_rule(json_string_value(json_object_get(object, "length_rule")));
    options->length_penalty = json_number_value(json_object_get(object, "length_penalty"));
    options->early_stopping = early_stopping(json_string_value(json_object_get(object, "early_stopping")));
    options->renormalize = integer(object, "renormalize");
    listed->prefix = integer(object, "forced_first");
    options->prefix = &listed->prefix;
    options->prefix_count = listed->prefix >= 0;
    const json_t *prompt = json_object_get(object, "prompt");
    if (prompt != NULL) {
        options->prefix = listed->prompt;
        options->prefix_count = read_ids(listed->prompt, prompt, 0);
        options->prefix_is_prompt = 1;
        options->max_length += options->prefix_count;
        options->min_length += integer(object, "min_new_tokens") ? options->prefix_count : 0;
    }
    options->forced_last = integer(object, "forced_last");
    options->suppressed = listed->suppressed;
    options->suppressed_count = read_ids(listed->suppressed, json_object_get(object, "suppressed"), 0);
    options->other_end_ids = listed->other_ends;
    options->other_end_count = read_ids(listed->other_ends, json_object_get(object, "other_ends"), 0);
    const json_t *repetition = json_object_get(object, "repetition_penalty");
    options->repetition_penalty = repetition != NULL ? (float)json_number_value(repetition) : 1.0f;
    const json_t *groups = json_object_get(object, "groups");
    options->groups = groups != NULL ? (int)json_integer_value(groups) : 1;
    options->diversity_penalty = (float)json_number_value(json_object_get(object, "diversity_penalty"));
    const json_t *decay = json_object_get(object, "exponential_decay_length_penalty");
    if (decay != NULL) {
        options->decay_start = (int)json_integer_value(json_array_get(decay, 0));
        options->decay_factor = (float)json_number_value(json_array_get(decay, 1));
    }
    const json_t *words = json_object_get(object, "bad_words");
    options->bad_words = listed->bad_words;
    options->bad_word_offsets = listed->bad_word_offsets;
    options->bad_word_count = (int)json_array_size(words);
    listed->bad_word_offsets[0] = 0;
    for (int i = 0; i < options->bad_word_count; i++) {
        listed->bad_word_offsets[i + 1] =
            read_ids(listed->bad_words, json_array_get(words, (size_t)i), listed->bad_word_offsets[i]);
    }
}

static void read_biased(struct listed *listed, const json_t *pairs)
{
    struct clf__search_options *options = &listed->options;
    options->biased = listed->biased;
    options->biased_offsets = listed->biased_offsets;
    options->biases = listed->biases;
    options->biased_count = (int)json_array_size(pairs);
    listed->biased_offsets[0] = 0;
    for (int i = 0; i < options->biased_count; i++) {
        const json_t *pair = json_array_get(pairs, (size_t)i);
        listed->biased_offsets[i + 1] =
            read_ids(listed->biased, json_array_get(pair, 0), listed->biased_offsets[i]);
        listed->biases[i] = (float)json_number_value(json_array_get(pair, 1));
    }
}

/* Returns whether a source's hypotheses equal the expected ones; reports differences. */
static int equals(const struct clf__hypothesis *actual, const json_t *expected, int n_best, size_t number,
                  int source)
{
    for (int i = 0; i < n_best; i++) {
        const json_t *one = json_array_get(expected, (size_t)i);
        if (one == NULL) {
            if (actual[i].length != 0) {
                print_error("case %zu, source %d: hypothesis %d is one too many\n", number, source, i);
                return 0;
            }
            continue;
        }
        int32_t ids[MOST];
        int length = read_ids(ids, json_object_get(one, "ids"), 0);
        double score = json_number_value(json_object_get(one, "score"));
        double log_probability = json_number_value(json_object_get(one, "log_probability"));
        if (actual[i].length != length || memcmp(actual[i].ids, ids, (size_t)length * sizeof *ids) != 0 ||
            /* A length penalty of -1 gives large scores, whose last bits differ; decay and biases too. */
            !(fabs(actual[i].score - score) <= 1e-5 * fmax(1.0, fabs(score) / 8.0)) ||
            !(fabs(actual[i].log_probability - log_probability) <=
              1e-5 * fmax(1.0, fabs(log_probability) / 10.0))) {
            print_error("case %zu, source %d, hypothesis %d: length %d for %d, score %.7f for %.7f, "
                        "log-probability %.7f for %.7f\n",
                        number, source, i, actual[i].length, length, (double)actual[i].score, score,
                        actual[i].log_probability, log_probability);
            return 0;
        }
    }
    return 1;
}

/* The sources of a case, `slots` at a time; with fewer slots than sources, admitted at random times, with
 * steps prepared ahead. */
static int search_equals(const json_t *object, const struct listed *listed, int sources, int slots,
                         size_t number)
{
    struct toy toy = toy_for(&listed->options, sources, listed->seeds);
    toy.spread = integer(object, "spread");
    toy.end_bonus = integer(object, "end_bonus");
    toy.shift = (int)json_integer_value(json_object_get(object, "shift"));
    toy.admit_at_times = slots < sources ? (uint32_t)number + 1 : 0;
    toy.ahead = slots < sources;
    struct toy_result result;
    assert_ok(toy_search(&result, &toy, slots));
    int equal = 1;
    /* transformers also runs the model for forced tokens. */
    if (slots == sources && listed->options.prefix_count == 0 && listed->options.forced_last < 0 &&
        toy.calls != integer(object, "steps")) {
        print_error("case %zu: %d steps for %d\n", number, toy.calls, integer(object, "steps"));
        equal = 0;
    }
    for (int i = 0; i < sources; i++) {
        const json_t *expected = json_array_get(json_object_get(object, "expected"), (size_t)i);
        assert_non_null(expected);
        equal &= equals(result.hypotheses + i * result.n_best, expected, result.n_best, number, i);
    }
    toy_result_free(&result);
    return equal;
}

static int case_equals(const json_t *object, size_t number)
{
    struct listed listed;
    read_case(&listed, object);
    read_biased(&listed, json_object_get(object, "sequence_bias"));
    int32_t seeds[MOST];
    int sources = read_ids(seeds, json_object_get(object, "sources"), 0);
    for (int i = 0; i < sources; i++) {
        listed.seeds[i] = seeds[i];
    }
    int equal = search_equals(object, &listed, sources, sources, number);
    if (sources > 1) {
        equal &= search_equals(object, &listed, sources, 1 + (int)number % (sources - 1), number);
    }
    return equal;
}

static void check_file(const char *name, size_t least)
{
    json_error_t error;
    json_t *root = json_load_file(support_fixture(name), 0, &error);
    assert_non_null(root);
    const json_t *cases = json_object_get(root, "cases");
    size_t count = json_array_size(cases), equal = 0;
    assert_true(count >= least);
    for (size_t i = 0; i < count; i++) {
        equal += (size_t)case_equals(json_array_get(cases, i), i);
    }
    print_message("%zu of %zu cases equal transformers'\n", equal, count);
    assert_int_equal(equal, count);
    json_decref(root);
}

static void test_equals_transformers(void **state)
{
    (void)state;
    check_file("search/cases.json", 1200);
}

/* Further options of generation_config.json. */
static void test_features(void **state)
{
    (void)state;
    check_file("search/feature_cases.json", 960);
}

/* Groups of beams, as in transformers 4. */
static void test_groups(void **state)
{
    (void)state;
    check_file("search/group_cases.json", 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_equals_transformers),
                                       cmocka_unit_test(test_features), cmocka_unit_test(test_groups)};
    return cmocka_run_group_tests_name("search/huggingface", tests, NULL, NULL);
}
