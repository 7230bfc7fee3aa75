/* Gradients lie in few pieces of memory, which ranks add up. */
#include <math.h>

#include "device/caps.h"
#include "opencl/testing.h"
#include "support/support.h"
#include "support/training_fixture.h"

enum { MOST_CHUNKS = 64 };

struct twins {
    size_t counts[MOST_CHUNKS]; /* floats of each call */
    int calls;
};

/* Two ranks whose numbers are the same. */
static clf_status add_twin(const struct clf__communicator *communicator, float *values, size_t count)
{
    struct twins *twins = communicator->context;
    assert_true(twins->calls < MOST_CHUNKS);
    twins->counts[twins->calls++] = count;
    for (size_t i = 0; i < count; i++) {
        values[i] += values[i];
    }
    return CLF_OK;
}

struct subject {
    struct clf__transformer *transformer;
    struct clf__training *training;
    float **gradients; /* one array a parameter */
    int64_t count;     /* of numbers that are trained, shared ones once */
};

static float *read_gradient(const struct subject *subject, int index)
{
    const struct clf__parameter *item = &clf__training_parameters(subject->training)->items[index];
    float *values = support_array((size_t)item->rows * (size_t)item->columns, sizeof *values);
    assert_ok(clf__training_read(subject->training, CLF__GRADIENTS, index, values));
    return values;
}

/* With the gradients of one batch, in buffers of at most so many bytes. */
static struct subject open_subject(struct clf_device *device, const struct training_fixture *fixture,
                                   uint64_t max_buffer_bytes)
{
    struct subject subject = {.count = 0};
    struct clf__caps *caps = (struct clf__caps *)clf__device_caps(device), before = *caps;
    struct clf__training_limits limits = training_fixture_limits(fixture);
    const struct clf__training_options options = {.seed = 1, .smoothing = fixture->smoothing};
    struct clf__training_loss loss;
    assert_ok(clf__transformer_load(&subject.transformer, device, fixture->folder, CLF_PRECISION_FP32));
    caps->max_buffer_bytes = max_buffer_bytes;
    assert_ok(clf__training_create(&subject.training, subject.transformer, &limits, &options));
    *caps = before;
    assert_ok(clf__training_backward(subject.training, &fixture->batches[0], 1.0f, 0, &loss));
    const struct clf__parameter_list *list = clf__training_parameters(subject.training);
    subject.gradients = support_array((size_t)list->count, sizeof *subject.gradients);
    for (int i = 0; i < list->count; i++) {
        const struct clf__parameter *item = &list->items[i];
        subject.gradients[i] = read_gradient(&subject, i);
        subject.count += item->is_trained ? (int64_t)item->rows * item->columns : 0;
    }
    return subject;
}

static void close_subject(const struct subject *subject)
{
    clf__training_free(subject->training);
    clf__transformer_free(subject->transformer);
}

/* Every gradient is `scale` times what it is in `other`. */
static void check_gradients(const struct subject *subject, const struct subject *other, float scale)
{
    const struct clf__parameter_list *list = clf__training_parameters(subject->training);
    for (int i = 0; i < list->count; i++) {
        const float *values = read_gradient(subject, i);
        for (int k = 0; k < list->items[i].rows * list->items[i].columns; k++) {
            assert_true(values[k] == scale * other->gradients[i][k]);
        }
    }
}

/* Each number is added up once, wherever a piece ends, and the norm is that of the sums; forgetting them
 * leaves nothing. */
static void check_sums(const struct subject *subject, const struct subject *other, int least_calls)
{
    struct twins twins = {.calls = 0};
    const struct clf__communicator two = {.size = 2, .context = &twins, .sum_floats = add_twin};
    double norm, sum;
    int64_t count = 0;
    assert_ok(clf__training_gradient_norm(subject->training, &norm));
    assert_ok(clf__training_sum_gradients(subject->training, &two));
    assert_ok(clf__training_gradient_norm(subject->training, &sum));
    assert_true(norm > 0 && sum == 2 * norm);
    for (int i = 0; i < twins.calls; i++) {
        count += (int64_t)twins.counts[i];
    }
    assert_true(twins.calls >= least_calls && count >= subject->count);
    check_gradients(subject, other, 2);
    assert_ok(clf__training_clear(subject->training));
    assert_ok(clf__training_gradient_norm(subject->training, &norm));
    assert_true(norm == 0);
}

static void test_sums(void **state)
{
    (void)state;
    static const char *const names[] = {"marian", "jadore", "relative"};
    enum { SMALL = 1 << 15 };
    struct clf_device *device = support_device(CLF_FORM_AUTO);
    for (size_t i = 0; i < (support_small() ? 1 : sizeof names / sizeof *names); i++) {
        struct training_fixture fixture = training_fixture_load(names[i]);
        struct subject whole = open_subject(device, &fixture, clf__device_caps(device)->max_buffer_bytes);
        struct subject parted = open_subject(device, &fixture, SMALL);
        check_gradients(&parted, &whole, 1);
        check_sums(&whole, &whole, 1);
        check_sums(&parted, &whole, 2);
        close_subject(&parted);
        close_subject(&whole);
    }
}

/* One rank alone asks nothing of the device. */
static void test_alone(void **state)
{
    (void)state;
    struct clf_device *device = support_device(CLF_FORM_AUTO);
    struct training_fixture fixture = training_fixture_load("paper");
    struct subject subject = open_subject(device, &fixture, clf__device_caps(device)->max_buffer_bytes);
    clf__device_fail_at(0);
    assert_ok(clf__training_sum_gradients(subject.training, &clf__communicator_null));
    assert_int_equal(clf__device_call_count(), 0);
    check_gradients(&subject, &subject, 1);
    assert_int_equal(clf__communicator_null.agree(&clf__communicator_null, CLF_FILE), CLF_FILE);
    close_subject(&subject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_sums, support_teardown),
        cmocka_unit_test_teardown(test_alone, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
