/* Word timestamps: fixtures/speech/timing.json contains the results of openai/whisper's timing.py for
 * attention, and for words in segments. */
#include <math.h>
#include <string.h>

#include <jansson.h>

#include "base/memory.h"
#include "support/support.h"
#include "transcribe/alignment.h"
#include "transcribe/internal.h"

static const char PREPENDED[] = "\"'“¿([{-", APPENDED[] = "\"'.。,，!！?？:：”)]}、";

static json_t *load(const char *key, json_t **root)
{
    *root = json_load_file(support_fixture("speech/timing.json"), 0, NULL);
    assert_non_null(*root);
    return json_object_get(*root, key);
}

static int integer_of(const json_t *object, const char *key)
{
    return (int)json_integer_value(json_object_get(object, key));
}

static double number_at(const json_t *array, int i)
{
    return json_number_value(json_array_get(array, (size_t)i));
}

static void check_alignment(const json_t *one)
{
    int rows = integer_of(one, "rows"), stride = integer_of(one, "stride");
    int columns = integer_of(one, "columns"), heads = integer_of(one, "heads"), each = rows * stride;
    const json_t *weights = json_object_get(one, "weights"), *matrix = json_object_get(one, "matrix");
    float *own = support_array((size_t)(heads * each), sizeof *own);
    float *sum = support_array((size_t)(rows * columns), sizeof *sum);
    int first[16];
    for (int i = 0; i < heads * each; i++) {
        own[i] = (float)number_at(weights, i);
    }
    for (int h = 0; h < heads; h++) {
        assert_ok(clf__alignment_add_head(sum, own + h * each, rows, stride, columns, CLF__MEDIAN_REACH));
    }
    for (int i = 0; i < rows * columns; i++) {
        sum[i] /= (float)heads;
        assert_true(fabs((double)sum[i] - number_at(matrix, i)) < 1e-4);
    }
    assert_ok(clf__alignment_warp(first, NULL, sum, rows, columns));
    for (int r = 0; r < rows; r++) {
        assert_int_equal(first[r], number_at(json_object_get(one, "first"), r));
    }
}

static void test_alignment(void **state)
{
    (void)state;
    json_t *root, *list = load("aligned", &root);
    assert_true(json_array_size(list) > 0);
    for (size_t i = 0; i < json_array_size(list); i++) {
        check_alignment(json_array_get(list, i));
    }
    json_decref(root);
}

/* Equal rows, and no columns at all, give no information and no failure. */
static void test_nothing_seen(void **state)
{
    (void)state;
    float weights[] = {0, 0, 0, 0, 0, 0}, sum[6] = {0};
    int first[3] = {7, 7, 7};
    assert_ok(clf__alignment_add_head(sum, weights, 3, 2, 2, CLF__MEDIAN_REACH));
    assert_true(sum[0] == 0.0F && sum[5] == 0.0F);
    assert_ok(clf__alignment_warp(first, NULL, sum, 3, 2));
    assert_true(first[0] == 0 && first[1] <= 1 && first[2] <= 1);
    assert_ok(clf__alignment_add_head(sum, weights, 3, 2, 0, CLF__MEDIAN_REACH));
    assert_ok(clf__alignment_warp(first, NULL, sum, 3, 0));
    assert_true(first[0] == 0 && first[1] == 0 && first[2] == 0);
}

static void make_words(struct clf__timed_words *words, const json_t *list)
{
    *words = (struct clf__timed_words){0};
    assert_ok(clf__allocate(&words->data, json_array_size(list), sizeof *words->data));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        struct clf__timed_word *word = &words->data[words->count++];
        assert_ok(clf__copy_string(&word->text, json_string_value(json_array_get(one, 0))));
        word->ids = (int)number_at(one, 1);
        word->start = number_at(one, 2);
        word->end = number_at(one, 3);
    }
}

static void check_segment(struct clf_segment *segment, const json_t *expected)
{
    const json_t *words = json_object_get(expected, "words");
    assert_true(fabs(segment->start - json_number_value(json_object_get(expected, "start"))) < 1e-9);
    assert_true(fabs(segment->end - json_number_value(json_object_get(expected, "end"))) < 1e-9);
    assert_int_equal(segment->word_count, json_array_size(words));
    for (int i = 0; i < segment->word_count; i++) {
        const json_t *word = json_array_get(words, (size_t)i);
        assert_string_equal(segment->words[i].text, json_string_value(json_array_get(word, 0)));
        assert_true(fabs(segment->words[i].start - number_at(word, 1)) < 1e-9);
        assert_true(fabs(segment->words[i].end - number_at(word, 2)) < 1e-9);
        clf__free(segment->words[i].text);
    }
    clf__free(segment->words);
}

static void test_shared(void **state)
{
    (void)state;
    json_t *root, *list = load("shared", &root);
    assert_true(json_array_size(list) > 0);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i), *given = json_object_get(one, "segments");
        struct clf_segment segments[4] = {{0}};
        struct clf__timed_words words;
        int ids[4], count = (int)json_array_size(given);
        for (int k = 0; k < count; k++) {
            const json_t *segment = json_array_get(given, (size_t)k);
            segments[k].start = number_at(segment, 0);
            segments[k].end = number_at(segment, 1);
            ids[k] = (int)number_at(segment, 2);
        }
        make_words(&words, json_object_get(one, "words"));
        assert_ok(clf__timed_words_settle(&words, PREPENDED, APPENDED));
        assert_ok(clf__timed_words_share(segments, ids, count, &words,
                                         json_number_value(json_object_get(one, "offset")),
                                         json_number_value(json_object_get(one, "spoken"))));
        for (int k = 0; k < count; k++) {
            check_segment(&segments[k], json_array_get(json_object_get(one, "expected"), (size_t)k));
        }
        clf__timed_words_free(&words);
    }
    json_decref(root);
}

/* Two segments of one word each, the first one like a hallucination. */
static void test_invented(void **state)
{
    (void)state;
    struct clf_word odd = {" so", 12.0, 12.02, 0.05}, good = {" we", 20.0, 20.4, 0.9};
    struct clf_segment segments[] = {{.start = 12, .end = 12.02, .words = &odd, .word_count = 1},
                                     {.start = 20, .end = 20.4, .words = &good, .word_count = 1}};
    struct clf__window_times times = {.start = 10, .end = 40, .spoken = 10, .recording = 100, .silence = 3};
    int64_t seek = 4000;
    assert_true(clf__segment_is_anomaly(&segments[0]) && !clf__segment_is_anomaly(&segments[1]));
    times.silence = 1; /* it is decoded once more from its start */
    assert_int_equal(clf__segments_keep(segments, 2, &times, &seek), -1);
    assert_int_equal(seek, 1200);
    times.silence = 2.5; /* 2 s after the window's start, with words 8 s after it: no silence before */
    assert_int_equal(clf__segments_keep(segments, 2, &times, &seek), 2);
    times.spoken = 9;
    assert_int_equal(clf__segments_keep(segments, 2, &times, &seek), 0);
    assert_int_equal(seek, 1200);
    times.recording = 14; /* less than that is left after it */
    assert_int_equal(clf__segments_keep(segments, 2, &times, &seek), 0);
    assert_int_equal(seek, 1400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_alignment, support_teardown),
        cmocka_unit_test_teardown(test_nothing_seen, support_teardown),
        cmocka_unit_test_teardown(test_shared, support_teardown),
        cmocka_unit_test_teardown(test_invented, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
