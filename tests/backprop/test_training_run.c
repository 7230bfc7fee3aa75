/* Training as a whole: dropout, reproducibility, reading and writing, and learning a task. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "model/folder.h"
#include "model/save.h"
#include "runtime/opencl/testing.h"
#include "support/support.h"
#include "support/training_fixture.h"

struct subject {
    struct clf__transformer *transformer;
    struct clf__training *training;
};

static struct subject open_folder(struct clf_device *device, const char *folder,
                                  const struct clf__training_limits *limits,
                                  const struct clf__training_options *options)
{
    struct subject subject;
    assert_ok(clf__transformer_load(&subject.transformer, device, folder, CLF_PRECISION_FP32));
    assert_ok(clf__training_create(&subject.training, subject.transformer, limits, options));
    return subject;
}

/* A fixture's model with every dropout enabled. */
static struct subject open_fixture(struct clf_device *device, const struct training_fixture *fixture)
{
    struct clf__training_limits limits = training_fixture_limits(fixture);
    const struct clf__training_options options = {.seed = 1, .smoothing = fixture->smoothing};
    struct subject subject = open_folder(device, fixture->folder, &limits, &options);
    struct clf__config *config = &subject.transformer->config;
    config->dropout = 0.2f;
    config->embedding_dropout = 0.25f;
    config->attention_dropout = 0.3f;
    config->activation_dropout = 0.15f;
    return subject;
}

static void close_subject(struct subject *subject)
{
    clf__training_free(subject->training);
    clf__transformer_free(subject->transformer);
}

static size_t count_of(const struct clf__parameter *item)
{
    return (size_t)item->rows * (size_t)item->columns;
}

static float *read_parameter(const struct subject *subject, enum clf__training_values which, int index)
{
    const struct clf__parameter *item = &clf__training_parameters(subject->training)->items[index];
    float *values = support_array(count_of(item), sizeof *values);
    assert_ok(clf__training_read(subject->training, which, index, values));
    return values;
}

static double loss_of(const struct subject *subject, const struct training_fixture *fixture, uint32_t pass)
{
    struct clf__training_loss loss;
    assert_ok(
        clf__training_backward(subject->training, &fixture->batches[0], fixture->scales[0], pass, &loss));
    return loss.loss * fixture->scales[0];
}

/* Finite differences across ReLU's kink would be wrong. */
static void make_smooth(struct clf__transformer *transformer)
{
    for (int i = 0; i < transformer->encoder.layer_count; i++) {
        transformer->encoder.layers[i].feed_forward.activation = CLF__SILU;
    }
    for (int i = 0; i < transformer->decoder.layer_count; i++) {
        transformer->decoder.layers[i].feed_forward.activation = CLF__SILU;
    }
}

/* (loss(w + step g) - loss(w - step g)) / 2 step, g of length 1. */
static double slope_of(const struct subject *subject, const struct training_fixture *fixture, int index,
                       const float *values, const float *gradient, double norm, double step)
{
    size_t count = count_of(&clf__training_parameters(subject->training)->items[index]);
    float *moved = support_array(count, sizeof *moved);
    double slope = 0;
    for (int side = -1; side <= 1; side += 2) {
        for (size_t k = 0; k < count; k++) {
            moved[k] = (float)(values[k] + side * step * gradient[k] / norm);
        }
        assert_ok(clf__training_write(subject->training, CLF__VALUES, index, moved));
        slope += side * loss_of(subject, fixture, 7) / (2 * step);
    }
    assert_ok(clf__training_write(subject->training, CLF__VALUES, index, values));
    return slope;
}

/* Along each parameter's gradient g the loss must rise by |g|, with the masks of one pass and dropout at
 * every position of the model. */
static void check_slopes(struct clf_device *device, const struct training_fixture *fixture)
{
    const double step = 0.01;
    struct subject subject = open_fixture(device, fixture);
    make_smooth(subject.transformer);
    const struct clf__parameter_list *list = clf__training_parameters(subject.training);
    double loss = loss_of(&subject, fixture, 7);
    float **gradients = support_array((size_t)list->count, sizeof *gradients);
    for (int i = 0; i < list->count; i++) {
        gradients[i] = read_parameter(&subject, CLF__GRADIENTS, i);
    }
    for (int i = 0; i < list->count; i++) {
        double norm = 0;
        for (size_t k = 0; k < count_of(&list->items[i]); k++) {
            norm += pow(gradients[i][k], 2);
        }
        norm = sqrt(norm);
        if (norm < 1e-4 * loss) {
            continue; /* lost in the rounding of the loss */
        }
        const float *values = read_parameter(&subject, CLF__VALUES, i);
        double near = slope_of(&subject, fixture, i, values, gradients[i], norm, step);
        double far = slope_of(&subject, fixture, i, values, gradients[i], norm, 2 * step);
        double slope = (4 * near - far) / 3;
        if (!(fabs(slope - norm) <= 0.01 * norm + 2e-4 * loss)) {
            fail_msg("%s: %s rises by %g, not %g", fixture->folder, list->items[i].name, slope, norm);
        }
    }
    close_subject(&subject);
}

static void test_gradients_with_dropout(void **state)
{
    (void)state;
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    static const char *const names[] = {"annotated", "jadore", "learned"};
    for (size_t i = 0; i < (support_small() ? 1 : sizeof names / sizeof *names); i++) {
        struct training_fixture fixture = training_fixture_load(names[i]);
        check_slopes(device, &fixture);
        support_free_all();
    }
}

/* Rows of some KiB, with a stride larger than their width. */
static void test_gradients_of_wide_rows(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    folder_write_text(
        folder, "config.json",
        "{\"model_type\": \"clformer\", \"preset\": \"paper\", \"vocab_size\": 300, \"d_model\": 256,"
        " \"encoder_layers\": 1, \"decoder_layers\": 1, \"encoder_attention_heads\": 4,"
        " \"decoder_attention_heads\": 4, \"encoder_ffn_dim\": 512, \"decoder_ffn_dim\": 288,"
        " \"max_position_embeddings\": 16}");
    assert_ok(clf__model_initialise(folder, 5, NULL, NULL));
    struct training_fixture fixture = {
        .smoothing = {.smoothing = 0.1f, .share = 0.1f / 299, .hidden_class = -1},
        .scales = {1.0f / COPIES_ROWS}};
    snprintf(fixture.folder, sizeof fixture.folder, "%s", folder);
    struct clf__transformer *transformer;
    assert_ok(
        clf__transformer_load(&transformer, support_device(CLF_VARIANT_AUTO), folder, CLF_PRECISION_FP32));
    struct support_random random = {6};
    struct training_copies copies = {.first = {0}};
    for (int i = 0; i < TRAINING_BATCHES; i++) {
        fixture.batches[i] = training_copies_make(&copies, &transformer->config, &random);
    }
    clf__transformer_free(transformer);
    check_slopes(support_device(CLF_VARIANT_AUTO), &fixture);
}

/* Each architecture has dropout only at its own positions. */
static void test_places_of_dropout(void **state)
{
    (void)state;
    struct training_fixture fixture = training_fixture_load("speech");
    struct subject subject = open_fixture(support_device(CLF_VARIANT_AUTO), &fixture);
    struct clf__config *config = &subject.transformer->config;
    struct clf__training_loss without;
    assert_ok(clf__training_evaluate(subject.training, &fixture.batches[0], &without));
    double plain = without.loss * fixture.scales[0];
    assert_true(fabs(loss_of(&subject, &fixture, 1) - plain) > 1e-3 * plain);
    assert_true(loss_of(&subject, &fixture, 1) == loss_of(&subject, &fixture, 1));
    assert_true(loss_of(&subject, &fixture, 1) != loss_of(&subject, &fixture, 2));
    float *const rates[] = {&config->dropout, &config->embedding_dropout, &config->attention_dropout,
                            &config->activation_dropout};
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 4; k++) {
            *rates[k] = i == k ? 0.3f : 0.0f;
        }
        assert_true(fabs(loss_of(&subject, &fixture, 1) - plain) > 1e-4 * plain);
    }
    *rates[3] = 0.0f;
    assert_true(loss_of(&subject, &fixture, 1) == plain);
    close_subject(&subject);
}

static void assert_same(const struct subject *a, const struct subject *b)
{
    const struct clf__parameter_list *list = clf__training_parameters(a->training);
    for (int which = CLF__VALUES; which <= CLF__SECOND_MOMENTS; which++) {
        for (int i = 0; i < list->count; i++) {
            const float *left = read_parameter(a, (enum clf__training_values)which, i);
            const float *right = read_parameter(b, (enum clf__training_values)which, i);
            assert_memory_equal(left, right, count_of(&list->items[i]) * sizeof *left);
        }
    }
}

/* Repeated runs give equal bits; so does a run resumed from another one's state. */
static void test_repeats(void **state)
{
    (void)state;
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    struct training_fixture fixture = training_fixture_load("annotated");
    struct subject once = open_fixture(device, &fixture), again = open_fixture(device, &fixture);
    struct subject later = open_fixture(device, &fixture);
    for (int step = 1; step <= 2; step++) {
        training_fixture_step(once.training, &fixture, step);
        training_fixture_step(again.training, &fixture, step);
    }
    assert_same(&once, &again);
    const struct clf__parameter_list *list = clf__training_parameters(once.training);
    for (int which = CLF__VALUES; which <= CLF__SECOND_MOMENTS; which++) {
        for (int i = 0; i < list->count; i++) {
            const float *values = read_parameter(&once, (enum clf__training_values)which, i);
            assert_ok(clf__training_write(later.training, (enum clf__training_values)which, i, values));
        }
    }
    for (int step = 3; step <= 4; step++) {
        training_fixture_step(once.training, &fixture, step);
        training_fixture_step(later.training, &fixture, step);
    }
    assert_same(&once, &later);
    close_subject(&once);
    close_subject(&again);
    close_subject(&later);
}

static void test_norm_and_clear(void **state)
{
    (void)state;
    struct training_fixture fixture = training_fixture_load("learned");
    struct subject subject = open_fixture(support_device(CLF_VARIANT_AUTO), &fixture);
    const struct clf__parameter_list *list = clf__training_parameters(subject.training);
    loss_of(&subject, &fixture, 1);
    double sum = 0, norm;
    for (int i = 0; i < list->count; i++) {
        const float *gradient = read_parameter(&subject, CLF__GRADIENTS, i);
        for (size_t k = 0; k < count_of(&list->items[i]); k++) {
            sum += pow(gradient[k], 2);
        }
    }
    assert_ok(clf__training_gradient_norm(subject.training, &norm));
    assert_true(sum > 0 && fabs(norm - sqrt(sum)) <= 1e-6 * norm);
    assert_ok(clf__training_clear(subject.training));
    assert_ok(clf__training_gradient_norm(subject.training, &norm));
    assert_true(norm == 0);
    close_subject(&subject);
}

/* Weight decay applies only to matrices. */
static void test_decay(void **state)
{
    (void)state;
    struct training_fixture fixture = training_fixture_load("annotated");
    struct subject subject = open_fixture(support_device(CLF_VARIANT_AUTO), &fixture);
    const struct clf__parameter_list *list = clf__training_parameters(subject.training);
    float **before = support_array((size_t)list->count, sizeof *before);
    for (int i = 0; i < list->count; i++) {
        before[i] = read_parameter(&subject, CLF__VALUES, i);
    }
    struct clf__adam adam = training_fixture_adam(&fixture, 1);
    adam.rate = 0.5f;
    adam.decay = 0.5f;
    assert_ok(clf__training_update(subject.training, &adam));
    for (int i = 0; i < list->count; i++) {
        const float *after = read_parameter(&subject, CLF__VALUES, i);
        for (size_t k = 0; k < count_of(&list->items[i]); k++) {
            assert_true(after[k] == before[i][k] * (list->items[i].decays ? 0.75f : 1.0f));
        }
    }
    close_subject(&subject);
}

static clf_status create(struct clf__training **out, struct clf__transformer *transformer,
                         const struct training_fixture *fixture)
{
    struct clf__training_limits limits = training_fixture_limits(fixture);
    const struct clf__training_options options = {.smoothing = fixture->smoothing};
    return clf__training_create(out, transformer, &limits, &options);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    struct training_fixture fixture = training_fixture_load("relative");
    struct clf__transformer *transformer;
    struct clf__training *training;
    assert_ok(clf__transformer_load(&transformer, support_device(CLF_VARIANT_AUTO), fixture.folder,
                                    CLF_PRECISION_FP32));
    FOR_EACH_FAILING_ALLOCATION(create(&training, transformer, &fixture), clf__training_free(training));
    clf__transformer_free(transformer);
}

static clf_status one_update(struct clf__transformer *transformer, const struct training_fixture *fixture)
{
    struct clf__training *training;
    struct clf__training_loss loss;
    double norm;
    const struct clf__adam adam = training_fixture_adam(fixture, 1);
    CLF__TRY(create(&training, transformer, fixture));
    clf_status status = clf__training_backward(training, &fixture->batches[0], 1.0f, 1, &loss);
    if (status == CLF_OK) {
        status = clf__training_gradient_norm(training, &norm);
    }
    if (status == CLF_OK) {
        status = clf__training_update(training, &adam);
    }
    clf__training_free(training);
    return status;
}

/* Single OpenCL calls of an update fail: it returns the error, and the next update works. */
static void test_failing_calls(void **state)
{
    (void)state;
    enum { TURNS = 60 };
    struct training_fixture fixture = training_fixture_load("relative");
    struct clf__transformer *transformer;
    assert_ok(clf__transformer_load(&transformer, support_device(CLF_VARIANT_AUTO), fixture.folder,
                                    CLF_PRECISION_FP32));
    assert_ok(one_update(transformer, &fixture));
    clf__device_fail_at(0);
    assert_ok(one_update(transformer, &fixture));
    uint64_t calls = clf__device_call_count();
    assert_true(calls > TURNS);
    for (uint64_t n = 1; n <= calls; n += calls / TURNS) {
        clf__device_fail_at(n);
        clf_status status = one_update(transformer, &fixture);
        clf__device_fail_at(0);
        assert_true(status != CLF_OK && strlen(clf_last_error()) > 10);
    }
    assert_ok(one_update(transformer, &fixture));
    clf__transformer_free(transformer);
}

enum { LONG_PAIRS = 3, LONG_LENGTH = 40, LONG_ROWS = LONG_PAIRS * LONG_LENGTH };

/* Gradients of a batch with sequences first .. first + count - 1. */
static double add_gradients(const struct subject *subject, const int32_t *ids, int first, int count)
{
    int starts[LONG_PAIRS + 1] = {0};
    for (int b = 0; b < count; b++) {
        starts[b + 1] = (b + 1) * LONG_LENGTH;
    }
    const int32_t *own = ids + first * LONG_LENGTH;
    const struct clf__sequences sequences = {.count = count, .first = starts, .ids = own};
    const struct clf__training_batch batch = {.sources = sequences, .inputs = sequences, .labels = own};
    struct clf__training_loss loss;
    assert_ok(clf__training_backward(subject->training, &batch, 1.0f, 1, &loss));
    assert_int_equal(loss.labels, count * LONG_LENGTH);
    return loss.loss;
}

/* With a large vocabulary the rows of a batch need several chunks of logits: results equal those of single
 * sequences in one chunk each. */
static void test_chunks_of_logits(void **state)
{
    (void)state;
    enum { VOCABULARY = 600000 };
    const char *folder = support_temporary_folder();
    folder_write_text(
        folder, "config.json",
        "{\"model_type\": \"clformer\", \"preset\": \"paper\", \"vocab_size\": 600000, \"d_model\": 4,"
        " \"encoder_layers\": 1, \"decoder_layers\": 1, \"encoder_attention_heads\": 1,"
        " \"decoder_attention_heads\": 1, \"encoder_ffn_dim\": 4, \"decoder_ffn_dim\": 4,"
        " \"max_position_embeddings\": 64, \"dropout\": 0}");
    assert_ok(clf__model_initialise(folder, 3, NULL, NULL));
    const struct clf__training_limits limits = {LONG_PAIRS, LONG_ROWS, LONG_ROWS, LONG_LENGTH, LONG_LENGTH};
    const struct clf__training_options options = {
        .smoothing = {.smoothing = 0.1f, .share = 0.1f / (VOCABULARY - 1), .hidden_class = -1}};
    struct subject subject = open_folder(support_device(CLF_VARIANT_AUTO), folder, &limits, &options);
    struct support_random random = {4};
    int32_t ids[LONG_ROWS];
    for (int i = 0; i < LONG_ROWS; i++) {
        ids[i] = 4 + support_integer(&random, VOCABULARY - 4);
    }
    const struct clf__parameter_list *list = clf__training_parameters(subject.training);
    float **together = support_array((size_t)list->count, sizeof *together);
    double loss = add_gradients(&subject, ids, 0, LONG_PAIRS);
    for (int i = 0; i < list->count; i++) {
        together[i] = read_parameter(&subject, CLF__GRADIENTS, i);
    }
    assert_ok(clf__training_clear(subject.training));
    for (int b = 0; b < LONG_PAIRS; b++) {
        loss -= add_gradients(&subject, ids, b, 1);
    }
    assert_true(fabs(loss) < 1e-3);
    for (int i = 0; i < list->count; i++) {
        size_t count = count_of(&list->items[i]);
        const float *apart = read_parameter(&subject, CLF__GRADIENTS, i);
        double *expected = support_array(count, sizeof *expected);
        for (size_t k = 0; k < count; k++) {
            expected[k] = apart[k];
        }
        assert_close(together[i], expected, count, 1e-5);
    }
    close_subject(&subject);
}

/* From random weights and with dropout, copying digits is learned: -log p of a label falls from chance to a
 * fraction. */
static void test_copying_is_learned(void **state)
{
    (void)state;
    enum { STEPS = 250, SMALL_STEPS = 20 };
    const char *folder = support_temporary_folder();
    folder_write_text(
        folder, "config.json",
        "{\"model_type\": \"clformer\", \"preset\": \"paper\", \"vocab_size\": 12, \"d_model\": 32,"
        " \"encoder_layers\": 1, \"decoder_layers\": 1, \"encoder_attention_heads\": 2,"
        " \"decoder_attention_heads\": 2, \"encoder_ffn_dim\": 64, \"decoder_ffn_dim\": 64,"
        " \"max_position_embeddings\": 16, \"dropout\": 0.02}");
    assert_ok(clf__model_initialise(folder, 3, NULL, NULL));
    const struct clf__training_limits limits = {COPIES_PAIRS, COPIES_ROWS, COPIES_ROWS, COPIES_LENGTH,
                                                COPIES_LENGTH};
    const struct clf__training_options options = {.seed = 2, .smoothing = {.hidden_class = -1}};
    struct subject subject = open_folder(support_device(CLF_VARIANT_AUTO), folder, &limits, &options);
    const struct training_fixture fixture = {
        .adam = {.rate = 3e-3f, .beta1 = 0.9f, .beta2 = 0.98f, .epsilon = 1e-9f, .gradient_scale = 1.0f}};
    struct support_random random = {9};
    struct training_copies copies = {.first = {0}};
    struct clf__training_loss loss;
    int steps = support_small() ? SMALL_STEPS : STEPS;
    double first = 0;
    for (int step = 1; step <= steps; step++) {
        struct clf__training_batch batch =
            training_copies_make(&copies, &subject.transformer->config, &random);
        assert_ok(
            clf__training_backward(subject.training, &batch, 1.0f / (COPIES_ROWS), (uint32_t)step, &loss));
        first = step == 1 ? loss.nll : first;
        const struct clf__adam adam = training_fixture_adam(&fixture, step);
        assert_ok(clf__training_update(subject.training, &adam));
    }
    struct clf__training_batch batch = training_copies_make(&copies, &subject.transformer->config, &random);
    assert_ok(clf__training_evaluate(subject.training, &batch, &loss));
    print_message("-log p of a label: %.3f, then %.3f\n", first / (COPIES_ROWS),
                  loss.nll / (double)loss.labels);
    assert_true(loss.nll < first * (support_small() ? 0.9 : 0.1));
    close_subject(&subject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_gradients_with_dropout, support_teardown),
        cmocka_unit_test_teardown(test_gradients_of_wide_rows, support_teardown),
        cmocka_unit_test_teardown(test_places_of_dropout, support_teardown),
        cmocka_unit_test_teardown(test_repeats, support_teardown),
        cmocka_unit_test_teardown(test_norm_and_clear, support_teardown),
        cmocka_unit_test_teardown(test_decay, support_teardown),
        cmocka_unit_test_teardown(test_failing_allocations, support_teardown),
        cmocka_unit_test_teardown(test_failing_calls, support_teardown),
        cmocka_unit_test_teardown(test_chunks_of_logits, support_teardown),
        cmocka_unit_test_teardown(test_copying_is_learned, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
