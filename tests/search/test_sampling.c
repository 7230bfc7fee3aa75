/* Chi-squared tests that samples have the distribution of transformers' `generate` (sampling_cases.json and
 * its generator are in tests/fixtures/search), and depend only on the documented inputs. */
#include <jansson.h>
#include <stdio.h>

#include "search/toy.h"

enum { SAMPLES = 128, ROUNDS = 40, SETS = 3000, MOST = TOY_VOCABULARY };

/* Possible outcomes, and their counts. */
struct tally {
    double probabilities[MOST * MOST];
    int counts[MOST * MOST];
    int total;
};

/* Returns the chi-squared value with `degrees` degrees of freedom that is exceeded once in 30,000 times
 * (Wilson, Hilferty 1931). */
static double critical_value(int degrees)
{
    double part = 2.0 / (9.0 * degrees), root = 1.0 - part + 4.0 * sqrt(part);
    return degrees * root * root * root;
}

/* Returns whether the counts fit; outcomes expected less than 5 times are merged. */
static int fits(const struct tally *tally, const char *name, size_t number)
{
    double chi = 0.0, rest_expected = 0.0;
    int bins = 0, rest = 0;
    for (int i = 0; i < MOST * MOST; i++) {
        double expected = tally->probabilities[i] * tally->total;
        if (expected == 0.0 && tally->counts[i] > 0) {
            print_error("%s %zu: what cannot come came %d times\n", name, number, tally->counts[i]);
            return 0;
        }
        if (expected >= 5.0) {
            chi += (tally->counts[i] - expected) * (tally->counts[i] - expected) / expected;
            bins++;
        } else {
            rest_expected += expected;
            rest += tally->counts[i];
        }
    }
    if (rest_expected >= 5.0) {
        chi += (rest - rest_expected) * (rest - rest_expected) / rest_expected;
        bins++;
    }
    if (bins > 1 && !(chi < critical_value(bins - 1))) {
        print_error("%s %zu: chi-squared is %.1f of %d degrees of freedom\n", name, number, chi, bins - 1);
        return 0;
    }
    return 1;
}

/* Converts the scores of listed ids to probabilities; unlisted ids cannot occur. */
static void read_scores(double *scores, double *probabilities, const json_t *list)
{
    double sum = 0.0;
    for (int id = 0; id < MOST; id++) {
        scores[id] = -INFINITY;
        probabilities[id] = 0.0;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *pair = json_array_get(list, i);
        int id = (int)json_integer_value(json_array_get(pair, 0));
        assert_in_range(id, 0, MOST - 1);
        scores[id] = json_number_value(json_array_get(pair, 1));
        sum += exp(scores[id]);
    }
    for (int id = 0; id < MOST; id++) {
        probabilities[id] = exp(scores[id]) / sum;
    }
}

static void read_share(float *out, const json_t *options, const char *key)
{
    const json_t *value = json_object_get(options, key);
    *out = value != NULL ? (float)json_number_value(value) : *out;
}

struct listed {
    struct clf__search_options options;
    int32_t suppressed[MOST];
    int seed, spread, end_bonus, shift;
};

static int integer(const json_t *object, const char *key)
{
    return (int)json_integer_value(json_object_get(object, key));
}

static void read_case(struct listed *listed, const json_t *object)
{
    const json_t *options = json_object_get(object, "options");
    const json_t *k = json_object_get(options, "top_k"),
                 *suppressed = json_object_get(options, "suppress_tokens");
    int beams = integer(object, "beams");
    listed->options = toy_options(integer(object, "vocabulary"), beams, beams > 1 ? beams : SAMPLES, 1);
    listed->seed = integer(object, "source");
    listed->spread = integer(object, "spread");
    listed->end_bonus = integer(object, "end_bonus");
    listed->shift = integer(object, "shift");
    struct clf__sampling *sampling = &listed->options.sampling;
    sampling->is_on = 1;
    sampling->top_k = k != NULL ? (int)json_integer_value(k) : 50;
    read_share(&sampling->temperature, options, "temperature");
    read_share(&sampling->top_p, options, "top_p");
    read_share(&sampling->min_p, options, "min_p");
    read_share(&sampling->typical_p, options, "typical_p");
    read_share(&sampling->epsilon_cutoff, options, "epsilon_cutoff");
    read_share(&sampling->eta_cutoff, options, "eta_cutoff");
    read_share(&listed->options.repetition_penalty, options, "repetition_penalty");
    listed->options.renormalize = json_is_true(json_object_get(options, "renormalize_logits"));
    for (size_t i = 0; i < json_array_size(suppressed); i++) {
        listed->suppressed[i] = (int32_t)json_integer_value(json_array_get(suppressed, i));
    }
    listed->options.suppressed = listed->suppressed;
    listed->options.suppressed_count = (int)json_array_size(suppressed);
}

static struct toy toy_of(const struct listed *listed)
{
    struct toy toy = toy_for(&listed->options, 1, &listed->seed);
    toy.spread = listed->spread;
    toy.end_bonus = listed->end_bonus;
    toy.shift = listed->shift;
    return toy;
}

static json_t *load_cases(json_t **root)
{
    *root = json_load_file(support_fixture("search/sampling_cases.json"), 0, NULL);
    assert_non_null(*root);
    return json_object_get(*root, "cases");
}

/* --- Independent samples. --- */

/* Number of a pair of tokens; a single token that ends the hypothesis is paired with itself. */
static int number_of(const struct clf__hypothesis *one)
{
    return one->ids[0] * MOST + one->ids[one->length - 1];
}

static void expect_samples(struct tally *tally, double *logs, const json_t *object)
{
    double scores[MOST], first[MOST], second[MOST];
    const json_t *list = json_object_get(object, "second");
    memset(tally, 0, sizeof *tally);
    read_scores(scores, first, json_object_get(object, "first"));
    for (size_t i = 0, id = 0; id < MOST; id++) {
        if (first[id] == 0.0) {
            continue;
        }
        const json_t *behind = json_array_get(list, i++);
        if (json_array_size(behind) == 0) {
            tally->probabilities[id * MOST + id] += first[id];
            continue;
        }
        read_scores(scores, second, behind);
        for (size_t k = 0; k < MOST; k++) {
            tally->probabilities[id * MOST + k] += first[id] * second[k];
        }
    }
    for (int i = 0; i < MOST * MOST; i++) {
        logs[i] = log(tally->probabilities[i]);
    }
}

static int samples_fit(const json_t *object, size_t number)
{
    static struct tally tally;
    static double logs[MOST * MOST];
    struct listed listed;
    read_case(&listed, object);
    expect_samples(&tally, logs, object);
    listed.options.max_length = json_object_get(object, "second") != NULL ? 2 : 1;
    int off = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct toy_result result;
        listed.options.sampling.seed = (uint64_t)round << 33 | number;
        struct toy toy = toy_of(&listed);
        assert_ok(toy_search(&result, &toy, 1));
        for (int i = 0; i < SAMPLES; i++) {
            const struct clf__hypothesis *one = &result.hypotheses[i];
            assert_in_range(one->length, 1, listed.options.max_length);
            int which = number_of(one);
            tally.counts[which]++;
            tally.total++;
            off += !(fabs(one->log_probability - logs[which]) <= 1e-5);
            assert_true(one->score == (float)one->log_probability);
        }
        toy_result_free(&result);
    }
    if (off > 0) {
        print_error("sample case %zu: %d log-probabilities are off\n", number, off);
    }
    return fits(&tally, "sample case", number) && off == 0;
}

static void test_samples(void **state)
{
    (void)state;
    json_t *root, *cases = load_cases(&root);
    size_t fitting = 0, count = 0;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        if (integer(json_array_get(cases, i), "beams") == 1) {
            fitting += (size_t)samples_fit(json_array_get(cases, i), i);
            count++;
        }
    }
    print_message("%zu of %zu distributions are transformers'\n", fitting, count);
    assert_true(count >= 60);
    assert_int_equal(fitting, count);
    json_decref(root);
}

/* --- Beams: two draws of four without replacement are kept if nothing may follow. --- */

static int sets_fit(const json_t *object, size_t number)
{
    static struct tally tally;
    double scores[MOST], first[MOST];
    struct listed listed;
    memset(&tally, 0, sizeof tally);
    read_case(&listed, object);
    read_scores(scores, first, json_object_get(object, "first"));
    for (int a = 0; a < MOST; a++) {
        for (int b = 0; b < MOST; b++) {
            if (a != b && first[a] > 0.0) { /* the best comes first */
                int comes_first = scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
                tally.probabilities[comes_first ? a * MOST + b : b * MOST + a] +=
                    first[a] * first[b] / (1.0 - first[a]);
            }
        }
    }
    int off = 0;
    for (int round = 0; round < SETS; round++) {
        struct toy_result result;
        listed.options.sampling.seed = (uint64_t)round * 0x10001u + number;
        struct toy toy = toy_of(&listed);
        assert_ok(toy_search(&result, &toy, 1));
        const struct clf__hypothesis *two = result.hypotheses;
        assert_true(two[0].length == 1 && two[1].length == 1);
        tally.counts[two[0].ids[0] * MOST + two[1].ids[0]]++;
        tally.total++;
        for (int i = 0; i < 2; i++) {
            off += !(fabs((double)two[i].score - scores[two[i].ids[0]]) <= 1e-5);
            off += !(fabs(two[i].log_probability - log(first[two[i].ids[0]])) <= 1e-5);
        }
        toy_result_free(&result);
    }
    if (off > 0) {
        print_error("beam case %zu: %d scores are off\n", number, off);
    }
    return fits(&tally, "beam case", number) && off == 0;
}

static void test_beams(void **state)
{
    (void)state;
    json_t *root, *cases = load_cases(&root);
    size_t fitting = 0, count = 0;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        if (integer(json_array_get(cases, i), "beams") == 2) {
            fitting += (size_t)sets_fit(json_array_get(cases, i), i);
            count++;
        }
    }
    print_message("%zu of %zu distributions are transformers'\n", fitting, count);
    assert_true(count >= 40);
    assert_int_equal(fitting, count);
    json_decref(root);
}

/* --- Inputs that samples depend on. --- */

static int same(const struct clf__hypothesis *a, const struct clf__hypothesis *b)
{
    return a->length == b->length && memcmp(a->ids, b->ids, (size_t)a->length * sizeof *a->ids) == 0;
}

static void test_seeds(void **state)
{
    (void)state;
    static const int seeds[] = {4, 9, 4};
    enum { N = 16 };
    struct clf__search_options options = toy_options(24, 1, N, 12);
    options.sampling.is_on = 1;
    options.sampling.temperature = 3.0f;
    struct toy toy = toy_for(&options, 3, seeds);
    struct toy_result first, again, other;
    assert_ok(toy_search(&first, &toy, 3));
    toy = toy_for(&options, 3, seeds);
    assert_ok(toy_search(&again, &toy, 2));
    toy_assert_same(first.hypotheses, again.hypotheses, 3 * N);
    toy_assert_same(first.hypotheses, first.hypotheses + 2 * N, N); /* one identity */
    options.sampling.seed = 1;
    toy = toy_for(&options, 3, seeds);
    assert_ok(toy_search(&other, &toy, 3));
    for (int i = 0; i < 3 * N; i++) {
        assert_false(same(&first.hypotheses[i], &other.hypotheses[i]));
    }
    for (int i = 0; i < N; i++) {
        assert_false(i > 0 && same(&first.hypotheses[0], &first.hypotheses[i]));
    }
    toy_result_free(&first);
    toy_result_free(&again);
    toy_result_free(&other);
    /* Fewer samples are the first of more. */
    options.sampling.seed = 0;
    options.n_best = 3;
    toy = toy_for(&options, 3, seeds);
    struct toy_result fewer;
    assert_ok(toy_search(&fewer, &toy, 3));
    options.n_best = N;
    toy = toy_for(&options, 3, seeds);
    assert_ok(toy_search(&again, &toy, 3));
    toy_assert_same(fewer.hypotheses, again.hypotheses, 3);
    toy_result_free(&fewer);
    toy_result_free(&again);
}

/* Forced tokens are not drawn: samples share one row until they diverge, and all end with the forced
 * token. */
static void test_forced(void **state)
{
    (void)state;
    static const int seed = 21;
    static const int32_t prefix[] = {5, 7};
    for (int max_length = 2; max_length <= 6; max_length++) {
        struct clf__search_options options = toy_options(24, 1, 5, max_length);
        options.sampling.is_on = 1;
        options.prefix = prefix;
        options.prefix_count = 2;
        options.forced_last = 9;
        options.min_length = max_length;
        struct toy toy = toy_for(&options, 1, &seed);
        struct toy_result result;
        assert_ok(toy_search(&result, &toy, 1));
        for (int i = 0; i < 5; i++) {
            const struct clf__hypothesis *one = &result.hypotheses[i];
            assert_int_equal(one->length, max_length);
            assert_int_equal(one->ids[0], 5);
            assert_int_equal(one->ids[max_length - 1], 9);
            assert_true(max_length == 2 || one->ids[1] == 7);
            assert_true((one->log_probability == 0.0) == (max_length < 4));
        }
        toy_result_free(&result);
    }
}

/* NaN or infinity ends the search without a sample: toy_finish() checks the rest. */
static void test_nan(void **state)
{
    (void)state;
    static const int seed = 8;
    for (int beams = 1; beams <= 2; beams++) {
        for (int position = 0; position < 3; position++) {
            struct clf__search_options options = toy_options(24, beams, 2, 6);
            options.sampling.is_on = 1;
            options.min_length = 5;
            struct toy toy = toy_for(&options, 1, &seed);
            toy.nan_source = 0;
            toy.nan_position = position;
            struct toy_result result;
            assert_ok(toy_search(&result, &toy, 1));
            assert_int_equal(result.hypotheses[0].length, 0);
            toy_result_free(&result);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples), cmocka_unit_test(test_beams), cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_forced),  cmocka_unit_test(test_nan),
    };
    return cmocka_run_group_tests_name("search/sampling", tests, NULL, NULL);
}
