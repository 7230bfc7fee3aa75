/* Losses, gradients and Adam steps of every architecture against PyTorch on the same weights and batches. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/support.h"
#include "support/training_fixture.h"

/* Tolerances of a GEMM precision against PyTorch, which computes in double. */
struct way {
    enum clf__precision products;
    double loss, gradients; /* relative */
    double key_bias;        /* absolute: the gradient of a key projection's bias */
};
static const struct way in_fp32 = {CLF__PRECISION_FP32, 1e-5, 1e-4, 1e-5};
static const struct way in_bf16 = {CLF__PRECISION_BF16, 1e-2, 0.1, 0.1};

struct subject {
    struct clf__transformer *transformer;
    struct clf__training *training;
};

static struct subject open_subject(struct clf_device *device, const struct training_fixture *fixture,
                                   const struct way *way)
{
    struct subject subject;
    struct clf__training_limits limits = training_fixture_limits(fixture);
    const struct clf__training_options options = {
        .gemm_precision = way->products, .seed = 1, .smoothing = fixture->smoothing};
    assert_ok(clf__transformer_load(&subject.transformer, device, fixture->folder, CLF_PRECISION_FP32));
    assert_ok(clf__training_create(&subject.training, subject.transformer, &limits, &options));
    return subject;
}

static void close_subject(struct subject *subject)
{
    clf__training_free(subject->training);
    clf__transformer_free(subject->transformer);
}

static void assert_near(double actual, double expected, double tolerance)
{
    if (!(fabs(actual - expected) <= tolerance * fabs(expected))) {
        fail_msg("%.9g is not %.9g", actual, expected);
    }
}

/* A key projection's bias shifts all scores of a query equally: its gradient is zero up to rounding, and its
 * Adam update is arbitrary. */
static int is_key_bias(const char *name)
{
    return strstr(name, ".k_proj.bias") != NULL;
}

/* Compares every parameter's `which` with the values in a fixture folder under the original names. */
static void check_parameters(const struct subject *subject, const struct training_fixture *fixture,
                             const char *folder, enum clf__training_values which, double tolerance,
                             double key_bias)
{
    char path[640];
    snprintf(path, sizeof path, "%s/%s", fixture->folder, folder);
    struct clf__parameters *expected;
    assert_ok(clf__parameters_load(&expected, &subject->transformer->config, path));
    const struct clf__parameter_list *list = clf__training_parameters(subject->training);
    for (int i = 0; i < list->count; i++) {
        const struct clf__parameter *item = &list->items[i];
        size_t count = (size_t)item->rows * (size_t)item->columns;
        float *actual = support_array(count, sizeof *actual), *wanted = support_array(count, sizeof *wanted);
        assert_ok(clf__training_read(subject->training, which, i, actual));
        if (!item->is_trained && which == CLF__GRADIENTS) {
            for (size_t k = 0; k < count; k++) {
                assert_true(actual[k] == 0.0f);
            }
            continue;
        }
        assert_ok(clf__parameters_read(expected, item->name, wanted));
        double difference = 0, norm = 0;
        for (size_t k = 0; k < count; k++) {
            difference += pow((double)actual[k] - wanted[k], 2);
            norm += pow(wanted[k], 2);
        }
        double error = sqrt(difference), bound = tolerance * sqrt(norm);
        if (is_key_bias(item->name)) {
            bound = key_bias;
        }
        if (!(error <= bound)) {
            fail_msg("%s: %s is off by %g of %g", fixture->folder, item->name, error, sqrt(norm));
        }
    }
    clf__parameters_free(expected);
}

static void check_gradients(struct clf_device *device, const struct training_fixture *fixture,
                            const struct way *way)
{
    struct subject subject = open_subject(device, fixture, way);
    struct clf__training_loss loss;
    for (int i = 0; i < TRAINING_BATCHES; i++) {
        assert_ok(clf__training_evaluate(subject.training, &fixture->batches[i], &loss));
        assert_near(loss.loss, fixture->losses[i], way->loss);
        assert_near(loss.nll, fixture->nlls[i], way->loss);
        assert_ok(clf__training_backward(subject.training, &fixture->batches[i], fixture->scales[i],
                                         (uint32_t)i, &loss));
        assert_near(loss.loss, fixture->losses[i], way->loss);
    }
    check_parameters(&subject, fixture, "gradients", CLF__GRADIENTS, way->gradients, way->key_bias);
    close_subject(&subject);
}

static void check_steps(struct clf_device *device, const struct training_fixture *fixture)
{
    struct subject subject = open_subject(device, fixture, &in_fp32);
    struct clf__training_loss loss;
    for (int step = 1; step <= TRAINING_STEPS; step++) {
        int i = (step - 1) % TRAINING_BATCHES;
        assert_ok(clf__training_backward(subject.training, &fixture->batches[i], fixture->scales[i],
                                         (uint32_t)step, &loss));
        assert_near(loss.loss, fixture->curve[step - 1], 1e-4);
        struct clf__adam adam = fixture->adam;
        adam.correction1 = 1 - pow(adam.beta1, step);
        adam.correction2 = 1 - pow(adam.beta2, step);
        assert_ok(clf__training_update(subject.training, &adam));
    }
    check_parameters(&subject, fixture, "trained", CLF__VALUES, 1e-3, INFINITY);
    close_subject(&subject);
}

static void check_all(struct clf_device *device, int step)
{
    const char *const *names = support_fixture_folders("training", "expected.json");
    for (int i = 0; names[i] != NULL; i += step) {
        print_message("%s\n", names[i]);
        struct training_fixture fixture = training_fixture_load(names[i]);
        check_gradients(device, &fixture, &in_fp32);
        check_steps(device, &fixture);
        support_free_all();
    }
}

static void test_variants(void **state)
{
    (void)state;
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        /* Other head widths need half a dozen more kernels: one variant runs all models, the other one of
         * each architecture. */
        int step = variant == support_first_variant() ? 1 : 2;
        check_all(support_device((clf_variant)variant), step);
    }
}

static void test_clblast(void **state)
{
    (void)state;
    struct clf_device *device = support_device_with(CLF_VARIANT_CPU, CLF_GEMM_CLBLAST, CLF_ATTENTION_AUTO);
    static const char *const names[] = {"annotated", "marian"};
    for (size_t i = 0; i < (support_small() ? 1 : sizeof names / sizeof *names); i++) {
        struct training_fixture fixture = training_fixture_load(names[i]);
        check_gradients(device, &fixture, &in_fp32);
        check_steps(device, &fixture);
    }
}

static void test_bf16(void **state)
{
    (void)state;
    struct clf_device *device = support_device_with(CLF_VARIANT_CPU, CLF_GEMM_NATIVE, CLF_ATTENTION_AUTO);
    static const char *const names[] = {"paper", "annotated", "marian-untied"};
    for (size_t i = 0; i < (support_small() ? 1 : sizeof names / sizeof *names); i++) {
        struct training_fixture fixture = training_fixture_load(names[i]);
        check_gradients(device, &fixture, &in_bf16);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_variants, support_teardown),
        cmocka_unit_test_teardown(test_clblast, support_teardown),
        cmocka_unit_test_teardown(test_bf16, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
