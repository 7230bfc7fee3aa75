/* Gradients are stored in few buckets, which are read by the host during the backward pass and all-reduced
 * over ranks. */
#include <math.h>

#include "model/backprop/internal.h"
#include "model/backprop/sums.h"
#include "runtime/device/caps.h"
#include "runtime/opencl/testing.h"
#include "support/process.h"
#include "support/support.h"
#include "support/training_fixture.h"

enum { MOST_CHUNKS = 64 };

struct twins {
    size_t counts[MOST_CHUNKS]; /* floats of each call */
    int calls, finished;
};

/* Simulates two ranks with equal numbers. */
static clf_status begin_twin(const struct clf__communicator *communicator, int ticket, float *values,
                             size_t count)
{
    struct twins *twins = communicator->context;
    (void)ticket;
    assert_true(twins->calls < MOST_CHUNKS);
    twins->counts[twins->calls++] = count;
    for (size_t i = 0; i < count; i++) {
        values[i] += values[i];
    }
    return CLF_OK;
}

static clf_status finish_twin(const struct clf__communicator *communicator, int ticket)
{
    struct twins *twins = communicator->context;
    twins->finished++;
    return clf__communicator_null.finish(communicator, ticket);
}

static struct clf__communicator make_twins(struct twins *twins)
{
    struct clf__communicator two = clf__communicator_null;
    two.size = 2;
    two.context = twins;
    two.begin_sum = begin_twin;
    two.finish = finish_twin;
    return two;
}

struct subject {
    struct clf__transformer *transformer;
    struct clf__training *training;
    const struct training_fixture *fixture;
    float **gradients; /* one array per parameter */
    int64_t count;     /* number of trained values, shared ones once */
};

static float *read_gradient(const struct subject *subject, int index)
{
    const struct clf__parameter *item = &clf__training_parameters(subject->training)->items[index];
    float *values = support_array((size_t)item->rows * (size_t)item->columns, sizeof *values);
    assert_ok(clf__training_read(subject->training, CLF__GRADIENTS, index, values));
    return values;
}

/* Opens a subject with the gradients of one batch, in buffers of at most `most` bytes. */
static struct subject open_subject(struct clf_device *device, const struct training_fixture *fixture,
                                   uint64_t max_buffer_bytes, const struct clf__communicator *ranks)
{
    struct subject subject = {.fixture = fixture};
    struct clf__caps *caps = (struct clf__caps *)clf__device_caps(device), before = *caps;
    struct clf__training_limits limits = training_fixture_limits(fixture);
    const struct clf__training_options options = {
        .seed = 1, .smoothing = fixture->smoothing, .communicator = ranks};
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

/* Checks that every gradient is `scale` times its value in `other`. */
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

/* Computes the gradients of the same batch again and all-reduces them. */
static void add_up(const struct subject *subject, const struct clf__gradient_sums_options *options)
{
    struct clf__gradient_sums *sums;
    struct clf__training_loss loss;
    const struct clf__training_batch *batch = &subject->fixture->batches[0];
    assert_ok(clf__training_clear(subject->training));
    assert_ok(clf__gradient_sums_create(&sums, subject->training, options));
    assert_ok(
        clf__training_backward_begin(subject->training, batch, 1.0f, 0, clf__gradient_sums_borrow(sums)));
    assert_ok(clf__gradient_sums_finish(sums, 0, 1));
    assert_ok(clf__training_backward_end(subject->training, &loss));
    assert_true(loss.loss > 0);
    clf__gradient_sums_free(sums);
}

/* Each value is summed once, wherever a bucket ends, and the norm is computed from the sums; dropping them
 * leaves nothing. */
static void check_sums(const struct subject *subject, const struct subject *other, struct twins *twins,
                       int least_calls)
{
    const struct clf__gradient_sums_options options = {.most = 2, .is_any_order = 1};
    double norm, sum;
    int64_t count = 0;
    assert_ok(clf__training_gradient_norm(subject->training, &norm));
    *twins = (struct twins){.calls = 0};
    add_up(subject, &options);
    assert_ok(clf__training_gradient_norm(subject->training, &sum));
    assert_true(norm > 0 && sum == 2 * norm);
    for (int i = 0; i < twins->calls; i++) {
        count += (int64_t)twins->counts[i];
    }
    assert_true(twins->calls >= least_calls && count >= subject->count && twins->finished >= twins->calls);
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
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    for (size_t i = 0; i < (support_small() ? 1 : sizeof names / sizeof *names); i++) {
        struct training_fixture fixture = training_fixture_load(names[i]);
        uint64_t largest = clf__device_caps(device)->max_buffer_bytes;
        struct twins twins;
        const struct clf__communicator two = make_twins(&twins);
        struct subject whole = open_subject(device, &fixture, largest, &two);
        struct subject parted = open_subject(device, &fixture, SMALL, &two);
        check_gradients(&parted, &whole, 1);
        check_sums(&whole, &whole, &twins, 1);
        check_sums(&parted, &whole, &twins, 2);
        close_subject(&parted);
        close_subject(&whole);
    }
}

/* A single rank reduces nothing; in bf16 its gradients are rounded as they would be with more ranks. */
static void test_alone(void **state)
{
    (void)state;
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    struct training_fixture fixture = training_fixture_load("paper");
    struct subject subject = open_subject(device, &fixture, clf__device_caps(device)->max_buffer_bytes, NULL);
    struct clf__gradient_sums *sums;
    struct clf__gradient_sums_options options = {.most = 2};
    assert_ok(clf__gradient_sums_create(&sums, subject.training, &options));
    clf__device_fail_at(0);
    assert_false(clf__gradient_sums_borrow(sums));
    assert_ok(clf__gradient_sums_finish(sums, 0, 1));
    assert_int_equal(clf__device_call_count(), 0);
    clf__gradient_sums_free(sums);
    add_up(&subject, &options);
    check_gradients(&subject, &subject, 1);
    options.is_bf16 = 1;
    add_up(&subject, &options);
    for (int i = 0; i < clf__training_parameters(subject.training)->count; i++) {
        const struct clf__parameter *item = &clf__training_parameters(subject.training)->items[i];
        clf__tree_round(subject.gradients[i], (size_t)item->rows * (size_t)item->columns);
    }
    check_gradients(&subject, &subject, 1);
    assert_int_equal(clf__communicator_null.agree(&clf__communicator_null, CLF_FILE), CLF_FILE);
    close_subject(&subject);
}

/* Buckets of layers from the top down, and their parts and shares, cover every gradient once, and split
 * arrays only where Adam allows it. */
static void check_cover(const struct subject *subject, int size)
{
    const struct clf__gradient_buckets *buckets = &subject->training->buckets;
    size_t length = clf__pool_floats(&subject->training->gradients.pool), total = 0;
    char *seen = support_array(length, 1);
    for (int i = 0; i < buckets->count; i++) {
        const struct clf__bucket *bucket = &buckets->items[i];
        size_t end = bucket->place, sum = 0;
        assert_true(i == 0 || bucket->range >= buckets->items[i - 1].range);
        for (size_t k = 0; k < bucket->count; k++) {
            assert_int_equal(seen[bucket->place + k]++, 0);
        }
        for (int rank = 0; rank < size; rank++) {
            sum += bucket->shares[rank];
            end += bucket->shares[rank];
            for (int t = 0; t < subject->training->trained_count; t++) {
                const struct clf__trained *trained = &subject->training->trained[t];
                size_t count = (size_t)trained->arrays[CLF__GRADIENTS].columns;
                int is_inside = end > trained->place && end < trained->place + count;
                assert_true(!is_inside || (end - trained->place) % CLF__ADAM_BLOCK == 0);
            }
        }
        assert_int_equal(sum, bucket->count);
        total += sum;
    }
    assert_int_equal(total, length);
}

static void test_every_gradient_is_mapped(void **state)
{
    (void)state;
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    struct training_fixture fixture = training_fixture_load("marian");
    for (int size = 1; size <= 7; size += 3) {
        struct clf__communicator ranks = clf__communicator_null;
        ranks.size = size;
        struct subject subject =
            open_subject(device, &fixture, clf__device_caps(device)->max_buffer_bytes, &ranks);
        check_cover(&subject, size);
        close_subject(&subject);
    }
}

/* Each layer of a model is reduced as soon as it is complete, the decoder's last one first. */
static void test_layers_are_mapped_from_the_top(void **state)
{
    (void)state;
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    struct training_fixture fixture = training_fixture_load("marian");
    struct clf__communicator ranks = clf__communicator_null;
    ranks.size = 2;
    snprintf(fixture.folder, sizeof fixture.folder, "%s", DEMO_MODEL); /* whose layers are large enough */
    struct subject subject =
        open_subject(device, &fixture, clf__device_caps(device)->max_buffer_bytes, &ranks);
    const struct clf__gradient_buckets *buckets = &subject.training->buckets;
    const struct clf__config *config = &subject.transformer->config;
    int last = -1;
    for (int i = 0; i < buckets->range_count; i++) {
        assert_true(buckets->stages[i] == last || buckets->stages[i] == last + 1);
        last = buckets->stages[i];
    }
    assert_int_equal(last, config->decoder_layers + config->encoder_layers);
    close_subject(&subject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_sums, support_teardown),
        cmocka_unit_test_teardown(test_alone, support_teardown),
        cmocka_unit_test_teardown(test_every_gradient_is_mapped, support_teardown),
        cmocka_unit_test_teardown(test_layers_are_mapped_from_the_top, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
