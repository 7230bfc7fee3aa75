/* Equal ids and scores, bit for bit, at every instruction set level of the device in the CPU variant, and for
 * single and batched lines with matrix instructions in the GPU variant. */
#include <string.h>

#include <clformer/clformer.h>

#include "base/memory.h"
#include "runtime/device/device.h"
#include "runtime/tuning/levels.h"
#include "support/support.h"

enum { LINES = 9 };

static const char *const texts[LINES] = {
    "Je suis étudiant.",
    "Il fait froid.",
    "Où est la gare la plus proche de l'hôtel ?",
    "Elle a acheté du pain, du fromage et deux bouteilles de vin rouge.",
    "Nous ne savons pas encore quand le train arrivera, mais nous attendrons sur le quai.",
    "Merci !",
    "Les enfants jouent dans le jardin pendant que leurs parents préparent le dîner.",
    "Ce livre est trop long.",
    "Demain, j'irai à Paris pour voir mes amis.",
};

static struct clf_device *open_level(clf_variant variant, clf_instructions level)
{
    struct clf_device_options options;
    clf_device_options_init(&options);
    options.variant = variant;
    options.gemm = CLF_GEMM_NATIVE;
    options.instructions = level;
    struct clf_device *device = NULL;
    clf_status status = clf_device_open(&device, NULL, &options);
    assert_true(status == CLF_OK || status == CLF_UNSUPPORTED);
    return device;
}

/* Lines first .. first + count - 1. */
static struct clf_translation *translate(struct clf_device *device, clf_precision precision, int first,
                                         int count)
{
    struct clf_line lines[LINES];
    for (int i = 0; i < count; i++) {
        lines[i] = (struct clf_line){texts[first + i], strlen(texts[first + i])};
    }
    struct clf_model_options model_options;
    clf_model_options_init(&model_options);
    model_options.precision = precision;
    struct clf_translate_options options;
    struct clf_model *model;
    struct clf_translator *translator;
    struct clf_translation *translations;
    assert_ok(clf_model_load(&model, device, CLF_SOURCE_FOLDER "/tools/models/fr-en-small", &model_options));
    clf_translate_options_init(&options, model);
    assert_ok(clf_translator_create(&translator, model, &options));
    assert_ok(clf_translate(&translations, translator, lines, (size_t)count));
    clf_translator_free(translator);
    clf_model_free(model);
    return translations;
}

static void check_same(const struct clf_translation *one, const struct clf_translation *other, int count)
{
    for (int i = 0; i < count; i++) {
        const struct clf_hypothesis *a = one[i].hypotheses, *b = other[i].hypotheses;
        assert_int_equal(a->count, b->count);
        assert_memory_equal(a->ids, b->ids, (size_t)a->count * sizeof *a->ids);
        assert_memory_equal(&a->score, &b->score, sizeof a->score);
    }
}

static void check_precision(clf_precision precision)
{
    int count = support_small() ? 3 : LINES, compared = 0;
    struct clf_translation *first = NULL;
    for (int i = CLF_INSTRUCTIONS_PORTABLE; clf__level_words[i] != NULL; i++) {
        struct clf_device *device = open_level(CLF_VARIANT_CPU, (clf_instructions)i);
        if (device == NULL) {
            continue;
        }
        struct clf_translation *translations = translate(device, precision, 0, count);
        if (first == NULL) {
            first = translations;
        } else {
            check_same(first, translations, count);
            clf_translations_free(translations, count);
            compared++;
        }
        clf_device_close(device);
    }
    clf_translations_free(first, count);
    if (compared == 0) {
        skip(); /* the device supports only the portable level */
    }
}

static void fp32_has_the_same_bits(void **state)
{
    (void)state;
    check_precision(CLF_PRECISION_FP32);
}

static void int8_has_the_same_bits(void **state)
{
    (void)state;
    check_precision(CLF_PRECISION_INT8);
}

/* Six lines with four beams exceed one tile of the instructions and are multiplied by large tiles on a device
 * of one unit; two lines by the kernel for few rows. */
static void matrix_instructions_keep_bits(void **state)
{
    (void)state;
    enum { ALL = 6 };
    if (support_last_variant() == CLF_VARIANT_CPU) {
        skip();
    }
    struct clf_device *device = open_level(CLF_VARIANT_GPU, CLF_INSTRUCTIONS_EMULATED);
    device->caps.compute_units = 1;
    struct clf_translation *all = translate(device, CLF_PRECISION_FP16, 0, ALL);
    device->caps.compute_units = 1000;
    for (int i = 0; i < ALL; i += ALL - 1) {
        struct clf_translation *alone = translate(device, CLF_PRECISION_FP16, i, 1);
        check_same(all + i, alone, 1);
        clf_translations_free(alone, 1);
    }
    clf_translations_free(all, ALL);
    clf_device_close(device);
}

static void rebuild_options(struct clf_device *device)
{
    clf__free(device->build_options);
    assert_ok(clf__caps_build_options(&device->build_options, &device->list->devices[device->info->index],
                                      &device->caps));
}

static void check_same_on(struct clf_device *devices[2], clf_precision precision)
{
    enum { ALL = 2 };
    struct clf_translation *translations[2];
    for (int i = 0; i < 2; i++) {
        translations[i] = translate(devices[i], precision, 0, ALL);
        clf_device_close(devices[i]);
    }
    check_same(translations[0], translations[1], ALL);
    clf_translations_free(translations[0], ALL);
    clf_translations_free(translations[1], ALL);
}

/* int8 GEMM without the matrix instructions that the other precisions use. */
static void plain_int8_keeps_bits(void **state)
{
    (void)state;
    if (support_last_variant() == CLF_VARIANT_CPU) {
        skip();
    }
    struct clf_device *devices[2];
    for (int i = 0; i < 2; i++) {
        devices[i] = open_level(CLF_VARIANT_GPU, CLF_INSTRUCTIONS_EMULATED);
        devices[i]->caps.is_int8_plain = i;
        rebuild_options(devices[i]);
    }
    check_same_on(devices, CLF_PRECISION_INT8);
}

/* At a level whose matrix instructions lack bf16, bf16 is computed as on a device without such instructions.
 */
static void level_without_bf16(void **state)
{
    (void)state;
    if (support_last_variant() == CLF_VARIANT_CPU) {
        skip();
    }
    struct clf_device *devices[2] = {open_level(CLF_VARIANT_GPU, CLF_INSTRUCTIONS_EMULATED),
                                     open_level(CLF_VARIANT_GPU, CLF_INSTRUCTIONS_PORTABLE)};
    struct clf__level level = *devices[0]->caps.level;
    level.matrix.has_bf16 = 0;
    devices[0]->caps.level = &level;
    rebuild_options(devices[0]);
    check_same_on(devices, CLF_PRECISION_BF16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fp32_has_the_same_bits),
        cmocka_unit_test(int8_has_the_same_bits),
        cmocka_unit_test(matrix_instructions_keep_bits),
        cmocka_unit_test(plain_int8_keeps_bits),
        cmocka_unit_test(level_without_bf16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
