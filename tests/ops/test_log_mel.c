/* Log-mel frames against sums in double. */
#include "math/ops/log_mel.h"

#include <math.h>
#include <stdlib.h>

#include "reference/log_mel.h"
#include "support/support.h"
#include "support/views.h"

/* relative to a frame's largest amplitude: much smaller values have few digits */
static const double rounding = 5e-8;

/* Tones of two amplitudes and some noise. */
static float *make_samples(int count)
{
    struct support_random random = {(uint64_t)count};
    float *samples = support_array((size_t)count + 1, sizeof *samples);
    for (int i = 0; i < count; i++) {
        double t = i / (double)CLF__LOG_MEL_RATE;
        samples[i] = (float)(0.5 * sin(2 * 3.14159 * 440 * t) + 0.1 * sin(2 * 3.14159 * 3100.5 * t)) +
                     0.02f * support_uniform(&random);
    }
    return samples;
}

static void check(struct clf_device *device, int bands, int count, int first, int frames)
{
    const float *samples = make_samples(count);
    double *filters = support_array((size_t)bands * CLF__LOG_MEL_BINS, sizeof *filters);
    double *expected = support_array((size_t)bands, sizeof *expected);
    struct clf__log_mel log_mel;
    assert_ok(clf__log_mel_create(&log_mel, device, bands));
    clf__log_mel_filters(filters, bands);
    struct support_view in = support_view(device, 1, count, samples);
    struct support_view out = support_view(device, frames, bands, NULL);
    struct support_view peaks = support_view(device, 1, frames, NULL);
    assert_ok(clf__log_mel_forward(out.tensor, peaks.tensor, in.tensor, first, &log_mel));
    const float *actual = support_read(out.tensor), *peak = support_read(peaks.tensor);
    for (int t = 0; t < frames; t++) {
        double largest = -INFINITY;
        reference_log_mel(expected, samples, count, (long)first + (long)t * CLF__LOG_MEL_HOP, filters, bands);
        for (int m = 0; m < bands; m++) {
            largest = fmax(largest, (double)actual[t * bands + m]);
        }
        for (int m = 0; m < bands; m++) {
            double difference = fabs((double)actual[t * bands + m] - expected[m]);
            if (!(difference <= 2e-5 + rounding * pow(10, (largest - expected[m]) / 2))) {
                fail_msg("frame %d of %d samples, band %d of %d: %.9g, not %.9g", t, count, m, bands,
                         (double)actual[t * bands + m], expected[m]);
            }
        }
        assert_true((double)peak[t] == largest);
    }
    support_view_check(&out);
    support_view_check(&peaks);
    clf__log_mel_free(&log_mel);
}

static void test_frames(void **state)
{
    (void)state;
    FOR_EACH_VARIANT(device)
    {
        check(device, 80, 2000, 0, 12);
        check(device, 128, 1600, 160, 9);
        check(device, 7, 641, -37, 6);
        check(device, 65, 399, 200, 2);
        check(device, 1, 1, 0, 2);
        check(device, 3, 2, 5, 1);
        check(device, 512, 401, 0, 1);
    }
}

/* A frame has equal bits in a part of a recording, with 200 samples around it. */
static void test_tokens(void **state)
{
    (void)state;
    enum { SAMPLES = 4000, FRAMES = 25, BANDS = 80, FROM = 9, SOME = 7 };
    const float *samples = make_samples(SAMPLES);
    FOR_EACH_VARIANT(device)
    {
        struct clf__log_mel log_mel;
        assert_ok(clf__log_mel_create(&log_mel, device, BANDS));
        struct clf__tensor whole = support_tensor(device, CLF__F32, FRAMES, BANDS, NULL);
        struct clf__tensor some = support_tensor(device, CLF__F32, SOME, BANDS, NULL);
        struct clf__tensor peaks = support_tensor(device, CLF__F32, 1, FRAMES, NULL);
        int count = 400 + (SOME - 1) * CLF__LOG_MEL_HOP;
        assert_ok(clf__log_mel_forward(whole, peaks, support_tensor(device, CLF__F32, 1, SAMPLES, samples), 0,
                                       &log_mel));
        assert_ok(clf__log_mel_forward(
            some, clf__tensor_columns(peaks, 0, SOME),
            support_tensor(device, CLF__F32, 1, count, samples + FROM * CLF__LOG_MEL_HOP - 200), 200,
            &log_mel));
        assert_memory_equal(support_read(some), support_read(whole) + FROM * BANDS,
                            (size_t)SOME * BANDS * sizeof(float));
        clf__log_mel_free(&log_mel);
    }
}

/* Silence is at the floor, and NaN stays in its frame. */
static void test_silence_and_nan(void **state)
{
    (void)state;
    enum { SAMPLES = 3200, FRAMES = 20, BANDS = 80 };
    float *samples = support_array(SAMPLES, sizeof *samples);
    samples[1600] = NAN;
    FOR_EACH_VARIANT(device)
    {
        struct clf__log_mel log_mel;
        assert_ok(clf__log_mel_create(&log_mel, device, BANDS));
        struct clf__tensor y = support_tensor(device, CLF__F32, FRAMES, BANDS, NULL);
        struct clf__tensor peaks = support_tensor(device, CLF__F32, 1, FRAMES, NULL);
        assert_ok(clf__log_mel_forward(y, peaks, support_tensor(device, CLF__F32, 1, SAMPLES, samples), 0,
                                       &log_mel));
        const float *actual = support_read(y);
        for (int t = 0; t < FRAMES; t++) {
            int is_near = abs(t * CLF__LOG_MEL_HOP - 1600) < 200;
            for (int m = 0; m < BANDS; m++) {
                float value = actual[t * BANDS + m];
                assert_true(is_near ? isnan(value) : fabsf(value + 10) <= 1e-6f);
            }
        }
        clf__log_mel_free(&log_mel);
    }
}

static void test_scale(void **state)
{
    (void)state;
    static const int widths[] = {1, 16, 80, 65, 128};
    FOR_EACH_VARIANT(device)
    {
        for (int i = 0; i < 5; i++) {
            enum { ROWS = 5 };
            struct support_random random = {3};
            size_t count = ROWS * (size_t)widths[i];
            float *values = support_uniform_array(&random, count, 10);
            values[2] = NAN;
            struct support_view y = support_view(device, ROWS, widths[i], values);
            assert_ok(clf__log_mel_scale(y.tensor, -1.5f));
            const float *actual = support_read(y.tensor);
            for (size_t n = 0; n < count; n++) {
                float expected = ((values[n] < -1.5f ? -1.5f : values[n]) + 4) / 4;
                assert_true(n == 2 ? isnan(actual[n]) : actual[n] == expected);
            }
            support_view_check(&y);
        }
    }
}

/* Number of non-zero values in openai-whisper's filters of 80 and 128 bands. */
static void test_filters(void **state)
{
    (void)state;
    double filters[128 * CLF__LOG_MEL_BINS];
    int counts[2] = {0, 0};
    static const int bands[] = {80, 128}, nonzeros[] = {391, 394};
    for (int i = 0; i < 2; i++) {
        clf__log_mel_filters(filters, bands[i]);
        for (int n = 0; n < bands[i] * CLF__LOG_MEL_BINS; n++) {
            counts[i] += filters[n] > 0;
        }
        assert_int_equal(counts[i], nonzeros[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_frames, support_teardown),
        cmocka_unit_test_teardown(test_tokens, support_teardown),
        cmocka_unit_test_teardown(test_silence_and_nan, support_teardown),
        cmocka_unit_test_teardown(test_scale, support_teardown),
        cmocka_unit_test_teardown(test_filters, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
