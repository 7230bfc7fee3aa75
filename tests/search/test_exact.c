/* With enough beams for every hypothesis, beam search finds all of them, in order of score. */
#include <stdio.h>

#include "search/toy.h"

enum { VOCABULARY = 3, LENGTH = 4, MOST = 81 /* VOCABULARY^LENGTH */ };

struct entry {
    int32_t ids[LENGTH];
    int length;
    double score, log_probability;
    double coverage[TOY_PLACES];
};

struct enumeration {
    const struct clf__search_options *options;
    const struct toy *toy;
    int seed;
    struct entry entries[MOST];
    int count;
};

/* Returns whether the options ban the id after the tokens. */
static int is_banned(const struct clf__search_options *options, const int32_t *ids, int length, int32_t id)
{
    for (int i = 0; i < options->suppressed_count; i++) {
        if (options->suppressed[i] == id) {
            return 1;
        }
    }
    for (int i = 0; i < options->bad_word_count; i++) {
        /* This test has bad words of two ids. */
        const int32_t *word = options->bad_words + 2 * i;
        int32_t last = length > 0 ? ids[length - 1] : options->start_id;
        if (word[0] == last && word[1] == id) {
            return 1;
        }
    }
    return id == options->end_id && length + 1 < options->min_length;
}

/* Returns the only allowed next token, or -1. */
static int forced_id(const struct clf__search_options *options, int length)
{
    if (length + 1 == options->max_length && options->forced_last >= 0) {
        return options->forced_last;
    }
    return length < options->prefix_count ? options->prefix[length] : -1;
}

static double coverage_penalty(const struct clf__search_options *options, const double *coverage)
{
    double sum = 0.0;
    for (int i = 0; i < TOY_PLACES; i++) {
        sum += coverage[i] > 0.0 ? log(fmin(coverage[i], 1.0)) : 0.0;
    }
    return options->coverage_penalty * sum;
}

static double divided_score(const struct clf__search_options *options, double sum, int length)
{
    switch (options->length_rule) {
    case CLF__LENGTH_HUGGINGFACE:
        return sum / pow(length, options->length_penalty);
    case CLF__LENGTH_GNMT:
        return sum / pow((5 + length) / 6.0, options->length_penalty);
    default:
        return sum;
    }
}

/* Adds all continuations of a partial hypothesis. */
static void enumerate(struct enumeration *all, struct entry made, double sum, uint32_t state)
{
    const struct clf__search_options *options = all->options;
    float logits[VOCABULARY], attention[TOY_PLACES];
    toy_logits(logits, all->toy, state);
    toy_attention(attention, all->seed, state);
    for (int i = 0; made.length >= options->coverage_start && i < TOY_PLACES; i++) {
        made.coverage[i] += (double)attention[i];
    }
    double total = 0.0, left = 0.0;
    int forced = forced_id(options, made.length);
    for (int id = 0; id < VOCABULARY; id++) {
        total += exp((double)logits[id]);
        left += is_banned(options, made.ids, made.length, id) ? 0.0 : exp((double)logits[id]);
    }
    for (int id = 0; id < VOCABULARY; id++) {
        if (forced >= 0 ? id != forced : is_banned(options, made.ids, made.length, id)) {
            continue;
        }
        struct entry longer = made;
        longer.ids[longer.length++] = id;
        double longer_sum = sum;
        if (forced < 0) {
            longer.log_probability += (double)logits[id] - log(left);
            longer_sum += (double)logits[id] - log(options->renormalize ? left : total);
        }
        if (id == options->end_id || longer.length == options->max_length) {
            longer.score = divided_score(options, longer_sum, longer.length) +
                           coverage_penalty(options, longer.coverage);
            assert_true(all->count < MOST);
            all->entries[all->count++] = longer;
        } else {
            enumerate(all, longer, longer_sum, toy_follow(state, id));
        }
    }
}

static int by_score(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;
    return (left->score < right->score) - (left->score > right->score);
}

static void check(const struct clf__search_options *options, int seed)
{
    struct toy toy = toy_for(options, 1, &seed);
    struct enumeration all = {.options = options, .toy = &toy, .seed = seed};
    enumerate(&all, (struct entry){0}, 0.0, toy_follow(toy_follow(0, seed), options->start_id));
    qsort(all.entries, (size_t)all.count, sizeof *all.entries, by_score);
    struct toy_result result;
    assert_ok(toy_search(&result, &toy, 1));
    for (int i = 0; i < options->n_best; i++) {
        const struct clf__hypothesis *found = &result.hypotheses[i];
        if (i >= all.count) {
            assert_int_equal(found->length, 0);
            continue;
        }
        const struct entry *best = &all.entries[i];
        assert_int_equal(found->length, best->length);
        assert_memory_equal(found->ids, best->ids, (size_t)best->length * sizeof *best->ids);
        assert_true(fabs(found->score - best->score) <= 1e-5 * fmax(1.0, fabs(best->score)));
        assert_true(fabs(found->log_probability - best->log_probability) <= 1e-5);
    }
    toy_result_free(&result);
}

static void test_finds_all_hypotheses(void **state)
{
    (void)state;
    static const double penalties[] = {0.0, -1.0, 0.6, 1.0, 2.0}, coverages[] = {0.2, 3.0, -1.0};
    static const int32_t bad_words[] = {2, 0, TOY_START, 2};
    static const int32_t offsets[] = {0, 2, 4}, prefix[] = {2, 1, 1, 2};
    for (int round = 0; round < 360; round++) {
        struct clf__search_options options = toy_options(VOCABULARY, MOST, MOST, 1 + round % LENGTH);
        options.length_rule = (enum clf__length_rule)(round % 3);
        options.early_stopping = (enum clf__early_stopping)(round / 3 % 3);
        options.length_penalty = penalties[round % 5];
        options.renormalize = round / 4 % 2;
        options.min_length = round / 7 % 2 * (round % LENGTH);
        options.bad_words = bad_words;
        options.bad_word_offsets = offsets;
        options.bad_word_count = round / 5 % 3;
        options.prefix = prefix;
        options.prefix_count = round / 11 % (options.max_length + 1);
        options.forced_last = round / 13 % 3 - 1;
        options.coverage_penalty = round % 2 == 0 ? 0.0 : coverages[round / 2 % 3];
        options.coverage_start = round / 17 % 2 * options.prefix_count;
        check(&options, round);
    }
}

/* Every id but one is suppressed. */
static void test_one_way_only(void **state)
{
    (void)state;
    static const int32_t suppressed[] = {TOY_END, 2};
    struct clf__search_options options = toy_options(VOCABULARY, 5, 5, LENGTH);
    options.suppressed = suppressed;
    options.suppressed_count = 2;
    options.renormalize = 1;
    check(&options, 1);
    options.renormalize = 0;
    check(&options, 2);
}

/* Equal scores: the better beam first, then the lower id. All logits are equal here. */
static void fill_level(struct clf__step *step)
{
    for (int row = 0; row < step->rows; row++) {
        for (int rank = 0; rank < step->candidates; rank++) {
            step->values[row * step->candidates + rank] = 0.0f;
            step->ids[row * step->candidates + rank] = rank;
        }
        float *statistics = step->statistics + 4 * row;
        statistics[0] = statistics[2] = 0.0f;
        statistics[1] = statistics[3] = logf(5.0f);
    }
}

static void test_ties(void **state)
{
    (void)state;
    static const int32_t first[] = {0, 0}, second[] = {0, 1};
    struct clf__search_options options = toy_options(5, 2, 2, 2);
    options.end_id = 4;
    struct clf__search_limits limits = clf__search_limits_for(&options, 1);
    struct clf__search *search;
    struct clf__search_result result;
    assert_ok(clf__search_create(&search, &limits));
    assert_ok(clf__search_add(search, 0, &options, 7));
    while (!clf__search_take(search, &result)) {
        fill_level(clf__search_prepare(search));
        clf__search_advance(search);
    }
    assert_int_equal(result.tag, 7);
    assert_int_equal(result.count, 2);
    assert_int_equal(result.hypotheses[0].length, 2);
    assert_memory_equal(result.hypotheses[0].ids, first, sizeof first);
    assert_int_equal(result.hypotheses[1].length, 2);
    assert_memory_equal(result.hypotheses[1].ids, second, sizeof second);
    clf__search_free(search);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_all_hypotheses),
        cmocka_unit_test(test_one_way_only),
        cmocka_unit_test(test_ties),
    };
    return cmocka_run_group_tests_name("search/exact", tests, NULL, NULL);
}
