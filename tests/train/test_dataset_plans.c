/* Plans of batches: complete, within the budget, equal for equal seeds, with little padding. */
#include "train/letters.h"

#include "base/memory.h"

enum { PAIRS = 300, LONGEST = 40 };

/* Many pairs of random lengths; the source of pair i begins with i in letters. */
static void load_many(struct loaded *loaded)
{
    const char *folder = support_temporary_folder();
    struct support_random random = {7};
    load_tokenizer(loaded, CLF__PAPER, folder);
    char *texts[2] = {support_array(PAIRS * (LONGEST + 1) * 2, 1),
                      support_array(PAIRS * (LONGEST + 1) * 2, 1)};
    for (int side = 0; side < 2; side++) {
        char *end = texts[side];
        for (int i = 0; i < PAIRS; i++) {
            int number = i;
            for (int k = 6 + support_integer(&random, LONGEST - 8); k > 0; k--, number /= 4) {
                *end++ = (char)('a' + number % 4);
                *end++ = k > 1 ? ' ' : '\n';
            }
        }
    }
    loaded->options.source_path = write_text(folder, "source", texts[0]);
    loaded->options.target_path = write_text(folder, "target", texts[1]);
    loaded->options.max_source_length = loaded->options.max_target_length = LONGEST;
    assert_ok(load(loaded));
    assert_int_equal(loaded->report.pairs, PAIRS);
}

static int number_of(const int32_t *ids)
{
    int number = 0;
    for (int k = 4; k >= 0; k--) {
        number = 4 * number + ids[k] - 4;
    }
    return number;
}

/* Returns the pairs of each batch in order, and checks that each occurs once and that batches stay within the
   budget. */
static int *read_plan(struct loaded *loaded, const struct clf__batching *batching)
{
    int *order = support_array(PAIRS, sizeof *order), place = 0;
    char seen[PAIRS] = {0};
    struct clf__training_limits limits;
    clf__dataset_limits(&limits, loaded->dataset, batching);
    for (int b = 0; b < clf__dataset_batches(loaded->dataset); b++) {
        struct clf__training_batch batch;
        assert_ok(clf__dataset_batch(loaded->dataset, b, &batch));
        int count = batch.sources.count, longest = 0;
        const int *firsts[2] = {batch.sources.first, batch.inputs.first};
        for (int i = 0; i < count; i++) {
            int number = number_of(batch.sources.ids + batch.sources.first[i]);
            assert_int_equal(number_of(batch.labels + batch.inputs.first[i]), number);
            assert_in_range(number, 0, PAIRS - 1);
            assert_int_equal(seen[number]++, 0);
            order[place++] = number;
            for (int side = 0; side < 2; side++) {
                int length = firsts[side][i + 1] - firsts[side][i];
                longest = length > longest ? length : longest;
                assert_true(length <= (side == 0 ? limits.source_length : limits.target_length));
            }
        }
        int sources = batch.sources.first[count], inputs = batch.inputs.first[count];
        int tokens = batching->count_padding ? count * longest : sources > inputs ? sources : inputs;
        assert_true(count == 1 || tokens <= batching->tokens);
        assert_true(batching->max_pairs == 0 || count <= batching->max_pairs);
        assert_true(count <= limits.sequences && sources <= limits.source_tokens &&
                    inputs <= limits.target_tokens);
    }
    assert_int_equal(place, PAIRS);
    return order;
}

static void test_plans(void **state)
{
    (void)state;
    static const struct clf__batching cases[] = {
        {.tokens = 200, .count_padding = 1}, {.tokens = 200},
        {.tokens = 200, .max_pairs = 3},     {.tokens = 10},
        {.tokens = 10, .count_padding = 1},  {.tokens = 1 << 30, .count_padding = 1},
    };
    struct loaded loaded;
    load_many(&loaded);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const struct {
            uint64_t seed;
            int epoch;
        } rounds[] = {{1, 0}, {1, 0}, {1, 1}, {2, 0}};
        int *orders[4];
        for (int k = 0; k < 4; k++) {
            assert_ok(clf__dataset_plan(loaded.dataset, &cases[i], rounds[k].seed, rounds[k].epoch));
            orders[k] = read_plan(&loaded, &cases[i]);
        }
        assert_memory_equal(orders[0], orders[1], PAIRS * sizeof **orders);
        assert_memory_not_equal(orders[0], orders[2], PAIRS * sizeof **orders);
        assert_memory_not_equal(orders[0], orders[3], PAIRS * sizeof **orders);
        assert_ok(clf__dataset_plan(loaded.dataset, &cases[i], 1, -1));
        int *first = read_plan(&loaded, &cases[i]);
        assert_ok(clf__dataset_plan(loaded.dataset, &cases[i], 2, -1));
        assert_memory_equal(first, read_plan(&loaded, &cases[i]), PAIRS * sizeof *first);
    }
    unload(&loaded);
}

/* Pairs of a batch have similar lengths: little padding despite random order. */
static void test_little_padding(void **state)
{
    (void)state;
    struct loaded loaded;
    load_many(&loaded);
    static const struct clf__batching batching = {.tokens = 250, .count_padding = 1};
    assert_ok(clf__dataset_plan(loaded.dataset, &batching, 3, 0));
    int64_t real = 0, padded = 0;
    for (int b = 0; b < clf__dataset_batches(loaded.dataset); b++) {
        struct clf__training_batch batch;
        assert_ok(clf__dataset_batch(loaded.dataset, b, &batch));
        int longest = 0;
        for (int i = 0; i < batch.sources.count; i++) {
            int length = batch.sources.first[i + 1] - batch.sources.first[i];
            longest = length > longest ? length : longest;
        }
        real += batch.sources.first[batch.sources.count];
        padded += (int64_t)longest * batch.sources.count;
    }
    assert_true((double)padded < 1.1 * (double)real);
    unload(&loaded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_plans, support_teardown),
        cmocka_unit_test_teardown(test_little_padding, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
