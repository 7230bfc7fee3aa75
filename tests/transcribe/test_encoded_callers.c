/* Encoded windows: calls from several threads, several devices, and failed allocations. */
#include <pthread.h>

#include "transcribe/encoded_windows.h"

/* Threads that encode, generate and detect at the same time. */
struct caller {
    struct clf_engine *engine;
    const struct clf__speech_tokens *tokens;
    const float *features;
    const struct clf_window_result *expected;
    int is_equal;
};

static void *call(void *argument)
{
    struct caller *caller = argument;
    struct clf_windows *windows = NULL;
    struct clf_window_result *result = NULL;
    const int32_t ids[] = {caller->tokens->start + 1, caller->tokens->start + 2};
    float found[2];
    caller->is_equal =
        clf_windows_encode(&windows, caller->engine, caller->features, 1, BANDS, FRAMES) == CLF_OK &&
        clf_windows_languages(found, windows, ids, 2) == CLF_OK &&
        generate(&result, windows, caller->tokens, 1, 0) == CLF_OK &&
        result->texts[0].score == caller->expected->texts[0].score;
    clf_window_results_free(result, 1);
    clf_windows_free(windows);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    enum { CALLERS = 4 };
    struct clf_model *model = load_model();
    struct clf_engine *engine = make_engine(model, 2);
    struct clf__speech_tokens tokens = tokens_of(model);
    float *features = make_features(model, make_window_samples(), 1);
    struct clf_windows *windows;
    struct clf_window_result *expected;
    assert_ok(clf_windows_encode(&windows, engine, features, 1, BANDS, FRAMES));
    assert_ok(generate(&expected, windows, &tokens, 1, 0));
    struct caller callers[CALLERS];
    pthread_t threads[CALLERS];
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){engine, &tokens, features, expected, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(callers[i].is_equal);
    }
    clf_window_results_free(expected, 1);
    clf_windows_free(windows);
    clf_engine_free(engine);
    clf_model_free(model);
}

/* Windows that one device has encoded are decoded on another one. */
static void test_devices(void **state)
{
    (void)state;
    struct clf_model *models[2] = {load_model(), NULL};
    struct clf_device *device;
    struct clf_engine *one = make_engine(models[0], 1), *both;
    struct clf__speech_tokens tokens = tokens_of(models[0]);
    float *features = make_features(models[0], make_window_samples(), WINDOWS);
    struct clf_windows *windows, *other;
    struct clf_window_result *expected, *found;
    struct clf_engine_options options;
    assert_ok(clf_device_open(&device, NULL, NULL));
    assert_ok(clf_model_load(&models[1], device, tiny(), NULL));
    clf_engine_options_init(&options);
    options.batch_windows = 1;
    assert_ok(clf_engine_create(&both, models, 2, &options));
    assert_ok(clf_windows_encode(&windows, one, features, WINDOWS, BANDS, FRAMES));
    assert_ok(generate(&expected, windows, &tokens, WINDOWS, 0));
    assert_ok(clf_windows_encode(&other, both, features, WINDOWS, BANDS, FRAMES));
    for (int i = 0; i < 2; i++) {
        assert_ok(generate(&found, other, &tokens, WINDOWS, 0));
        assert_same_results(expected, found, WINDOWS);
        clf_window_results_free(found, WINDOWS);
    }
    /* Each window is on the first device, so that the second one reads it through the host. */
    size_t size = (size_t)WINDOWS * (FRAMES / 2) * 8;
    float *rows = support_array(size, sizeof *rows);
    assert_ok(clf_windows_read(rows, windows));
    clf_windows_free(other);
    assert_ok(clf_windows_from_host(&other, both, rows, WINDOWS, FRAMES / 2, 8));
    assert_ok(generate(&found, other, &tokens, WINDOWS, 0));
    assert_same_results(expected, found, WINDOWS);
    clf_window_results_free(found, WINDOWS);
    clf_window_results_free(expected, WINDOWS);
    clf_windows_free(windows);
    clf_windows_free(other);
    clf_engine_free(one);
    clf_engine_free(both);
    clf_model_free(models[0]);
    clf_model_free(models[1]);
    clf_device_close(device);
}

/* Every allocation may fail, and the call can be repeated. */
static void test_no_memory(void **state)
{
    (void)state;
    struct clf_model *model = load_model();
    struct clf_engine *engine = make_engine(model, 1);
    struct clf__speech_tokens tokens = tokens_of(model);
    float *features = make_features(model, make_window_samples(), 1);
    const int32_t start[] = {tokens.start}, text[] = {40, 41};
    uint64_t step = support_small() ? 5 : 1, failures = 0;
    clf_status status = CLF_OUT_OF_MEMORY;
    for (uint64_t n = 1; status != CLF_OK; n += step, failures++) {
        struct clf_windows *windows = NULL;
        struct clf_window_result *result = NULL;
        struct clf_window_alignment *alignment = NULL;
        clf__memory_fail_at(n);
        status = clf_windows_encode(&windows, engine, features, 1, BANDS, FRAMES);
        status = status == CLF_OK ? generate(&result, windows, &tokens, 1, 0) : status;
        status = status == CLF_OK ? clf_windows_align(&alignment, windows, &(struct clf_ids){start, 1},
                                                      &(struct clf_ids){text, 2}, (const int[]){50}, 7)
                                  : status;
        clf__memory_fail_at(0);
        assert_true(status == CLF_OK || status == CLF_OUT_OF_MEMORY);
        clf_window_alignments_free(alignment, 1);
        clf_window_results_free(result, 1);
        clf_windows_free(windows);
    }
    assert_true(failures * step > 30);
    clf_engine_free(engine);
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_threads, support_teardown),
        cmocka_unit_test_teardown(test_devices, support_teardown),
        cmocka_unit_test_teardown(test_no_memory, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
