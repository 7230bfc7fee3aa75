/* Device and host memory of training. */
#include <limits.h>
#include <stdio.h>

#include "base/memory.h"
#include "model/config/config.h"
#include "model/folder.h"
#include "model/save.h"
#include "runtime/device/buffer.h"
#include "runtime/device/caps.h"
#include "runtime/device/dry_run.h"
#include "runtime/opencl/testing.h"
#include "support/support.h"
#include "support/training_fixture.h"

/* A model whose weights share slabs on a CPU, except some that are too small and one that is too large. */
static struct training_fixture make_large(struct training_copies *copies)
{
    struct training_fixture fixture = {
        .smoothing = {.hidden_class = -1},
        .scales = {1.0f, 1.0f},
        .adam = {.rate = 1e-3f, .beta1 = 0.9f, .beta2 = 0.98f, .epsilon = 1e-9f, .gradient_scale = 1.0f}};
    const char *folder = support_temporary_folder();
    folder_write_text(
        folder, "config.json",
        "{\"model_type\": \"clformer\", \"preset\": \"paper\", \"vocab_size\": 8000, \"d_model\": 288,"
        " \"encoder_layers\": 1, \"decoder_layers\": 1, \"encoder_attention_heads\": 4,"
        " \"decoder_attention_heads\": 4, \"encoder_ffn_dim\": 1152, \"decoder_ffn_dim\": 1152,"
        " \"max_position_embeddings\": 16, \"dropout\": 0.1}");
    assert_ok(clf__model_initialise(folder, 3, NULL, NULL));
    snprintf(fixture.folder, sizeof fixture.folder, "%s", folder);
    struct clf__config config;
    struct support_random random = {9};
    assert_ok(clf__config_load(&config, folder));
    fixture.batches[0] = fixture.batches[1] = training_copies_make(copies, &config, &random);
    clf__config_free(&config);
    return fixture;
}

/* A dry run predicts the memory exactly, and no update uses more; after the first two, which build programs,
 * the host allocates nothing either. */
static void check_memory(struct clf_device *device, const struct training_fixture *fixture,
                         enum clf__precision products)
{
    struct clf__training_limits limits = training_fixture_limits(fixture);
    const struct clf__training_options options = {
        .gemm_precision = products, .seed = 1, .smoothing = fixture->smoothing, .keeps_padding = 1};
    struct clf__transformer *transformer;
    struct clf__training *training;
    assert_ok(clf__transformer_load(&transformer, device, fixture->folder, CLF_PRECISION_FP32));
    assert_ok(clf__transformer_ensure_positions(transformer, limits.source_length, limits.target_length));
    struct clf__dry_run dry_run;
    clf__dry_run_begin(&dry_run, device);
    uint64_t before = clf__device_free_bytes(device);
    assert_ok(clf__training_create(&training, transformer, &limits, &options));
    clf__training_free(training);
    assert_true(clf__device_free_bytes(device) <= before);
    uint64_t planned = clf__dry_run_end(&dry_run);
    assert_true(planned > 0 && clf__device_free_bytes(device) == before);
    assert_ok(clf__training_create(&training, transformer, &limits, &options));
    assert_int_equal(before - clf__device_free_bytes(device), planned);
    uint64_t allocations = 0;
    for (int step = 1; step <= 4; step++) {
        clf__memory_fail_at(0);
        training_fixture_step(training, fixture, step);
        allocations += step > 2 ? clf__memory_count() : 0;
    }
    if (clf__device_caps(device)->gemm == CLF_GEMM_NATIVE) { /* CLBlast gets arrays from the host */
        assert_int_equal(allocations, 0);
    }
    assert_int_equal(before - clf__device_free_bytes(device), planned);
    clf__training_free(training);
    clf__transformer_free(transformer);
}

static void test_memory(void **state)
{
    (void)state;
    struct training_copies copies = {.first = {0}};
    struct training_fixture large = make_large(&copies);
    FOR_EACH_VARIANT(device)
    {
        const char *const *name = support_fixture_folders("training", "expected.json");
        for (; *name != NULL; name++) {
            struct training_fixture fixture = training_fixture_load(*name);
            check_memory(device, &fixture, CLF__PRECISION_FP32);
            check_memory(device, &fixture, CLF__PRECISION_BF16);
            if (support_small()) {
                return;
            }
        }
        check_memory(device, &large, CLF__PRECISION_FP32);
        check_memory(device, &large, CLF__PRECISION_BF16);
    }
}

/* Sizes beyond the device's memory are rejected, in a dry run too. */
static void test_too_large(void **state)
{
    (void)state;
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    struct training_fixture fixture = training_fixture_load("marian");
    struct clf__training_limits limits = training_fixture_limits(&fixture);
    const struct clf__training_options options = {.smoothing = fixture.smoothing};
    struct clf__transformer *transformer;
    struct clf__training *training;
    struct clf__dry_run dry_run;
    assert_ok(clf__transformer_load(&transformer, device, fixture.folder, CLF_PRECISION_FP32));
    limits.target_tokens = limits.source_tokens = 1 << 26;
    assert_fails(clf__training_create(&training, transformer, &limits, &options), CLF_DEVICE_MEMORY, "");
    clf__dry_run_begin(&dry_run, device);
    assert_fails(clf__training_create(&training, transformer, &limits, &options), CLF_DEVICE_MEMORY, "");
    clf__dry_run_end(&dry_run);
    clf__transformer_free(transformer);
}

/* A weight whose size overflows an int is rejected although no parameter is too large: the layers of a small
 * model with such a weight, in a dry run on a device with enough memory. */
static void test_too_many_values(void **state)
{
    (void)state;
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    struct clf__caps *caps = (struct clf__caps *)clf__device_caps(device), before = *caps;
    struct training_fixture fixture = training_fixture_load("marian");
    struct clf__training_limits limits = training_fixture_limits(&fixture);
    const struct clf__training_options options = {.smoothing = fixture.smoothing};
    struct clf__transformer *transformer;
    struct clf__training *training = NULL;
    struct clf__dry_run dry_run;
    assert_ok(clf__transformer_load(&transformer, device, fixture.folder, CLF_PRECISION_FP32));
    struct clf__linear *input = &transformer->encoder.layers[0].mixer.attention.input;
    struct clf__weight *weight = input->weight;
    int outputs = clf__weight_outputs(weight);
    assert_ok(clf__transformer_ensure_positions(transformer, limits.source_length, limits.target_length));
    clf__dry_run_begin(&dry_run, device);
    caps->memory_bytes = caps->usable_bytes = caps->max_buffer_bytes = (uint64_t)1 << 50;
    assert_ok(clf__weight_create_zero(&input->weight, device, outputs, INT_MAX / outputs + 1, "too much"));
    assert_fails(clf__training_create(&training, transformer, &limits, &options), CLF_UNSUPPORTED,
                 "q_proj.weight has ");
    clf__weight_free(input->weight);
    input->weight = weight;
    *caps = before;
    clf__dry_run_end(&dry_run);
    assert_ok(clf__training_create(&training, transformer, &limits, &options));
    clf__training_free(training);
    clf__transformer_free(transformer);
}

/* CLBlast copies operands, forward and backward. */
static void test_memory_of_clblast(void **state)
{
    (void)state;
    struct training_copies copies = {.first = {0}};
    struct training_fixture large = make_large(&copies);
    struct clf_device *device = support_device_with(CLF_VARIANT_AUTO, CLF_GEMM_CLBLAST, CLF_ATTENTION_AUTO);
    check_memory(device, &large, CLF__PRECISION_FP32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_memory, support_teardown),
        cmocka_unit_test_teardown(test_too_large, support_teardown),
        cmocka_unit_test_teardown(test_too_many_values, support_teardown),
        cmocka_unit_test_teardown(test_memory_of_clblast, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
