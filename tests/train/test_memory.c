/* The memory estimate at the start of a run against actual use. */
#include "support/digits.h"

#include <string.h>

#include "base/memory.h"
#include "runtime/device/device.h"

static struct clf_device *open_device(int variant, clf_gemm gemm)
{
    struct clf_device *device;
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.variant = (clf_variant)variant;
    options.gemm = gemm;
    options.use_program_cache = 0; /* PoCL compiles a kernel again to cache it */
    assert_ok(clf_device_open(&device, NULL, &options));
    return device;
}

/* The estimate is at least the peak, and at most a tenth more. */
static void check_plan(int variant, clf_gemm gemm)
{
    struct clf_device *device = open_device(variant, gemm);
    struct clf_train_hooks hooks = digits_hooks(task.logs);
    memset(task.logs, 0, sizeof *task.logs);
    assert_ok(clf_train(device, task.recipe, digits_output(), &hooks));
    assert_int_equal(task.logs->validation_count, 1);
    uint64_t planned = task.logs->start.device_bytes, peak = device->peak_bytes;
    if (planned < peak || planned > peak + peak / 10) {
        fail_msg("%.1f MiB are planned, %.1f are taken", (double)planned / 1048576, (double)peak / 1048576);
    }
    clf_device_close(device);
}

static void check_plans(clf_gemm gemm)
{
    digits_set(task.recipe, "max-updates", "3");
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        check_plan(variant, gemm);
    }
}

static void test_fp32(void **state)
{
    (void)state;
    check_plans(CLF_GEMM_NATIVE);
}

static void test_bf16(void **state)
{
    (void)state;
    digits_set(task.recipe, "precision", "bf16");
    check_plans(CLF_GEMM_NATIVE);
}

static void set_config(const char *const *pairs, int count)
{
    assert_ok(clf_recipe_set(task.recipe, "config", pairs, count));
}

/* Training needs most of the memory: weights that share slabs, and large batches. */
static void test_wide(void **state)
{
    (void)state;
    static const char *const wide[] = {
        "d_model=192",      "encoder_ffn_dim=768",       "decoder_ffn_dim=768",
        "encoder_layers=3", "encoder_attention_heads=6", "decoder_attention_heads=6"};
    set_config(wide, 6);
    digits_set(task.recipe, "batch-tokens", "2000");
    digits_set(task.recipe, "precision", "bf16");
    check_plans(CLF_GEMM_NATIVE);
}

/* CLBlast copies operands, also in validation. */
static void test_clblast(void **state)
{
    (void)state;
    static const char *const wide[] = {"d_model=192",
                                       "encoder_ffn_dim=768",
                                       "decoder_ffn_dim=768",
                                       "max_position_embeddings=1000",
                                       "encoder_attention_heads=6",
                                       "decoder_attention_heads=6"};
    set_config(wide, 6);
    digits_set(task.recipe, "beam", "6");
    check_plans(CLF_GEMM_CLBLAST);
}

/* Validation needs most of the memory: a wide beam. */
static void test_beam(void **state)
{
    (void)state;
    digits_set(task.recipe, "preset", "annotated");
    digits_set(task.recipe, "schedule", "constant");
    digits_set(task.recipe, "beam", "12");
    check_plans(CLF_GEMM_NATIVE);
}

/* Validation computes only the loss, without translations. */
static void test_loss_alone(void **state)
{
    (void)state;
    digits_set(task.recipe, "bleu", "none");
    digits_set(task.recipe, "samples", "0");
    check_plans(CLF_GEMM_NATIVE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, digits_setup, digits_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_fp32),    TEST(test_bf16), TEST(test_wide),
        TEST(test_clblast), TEST(test_beam), TEST(test_loss_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
