/* Models written in their loaded form: smaller, with equal numbers. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include <clformer/clformer.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/weights/weights.h"
#include "support/support.h"

static const char *const lines[] = {"w3 w9 w5 w7", "w8", "w6 w6 w4 w10 w11 w12 w5"};
enum { LINES = 3 };

/* Greedy and with beams, with scores. */
static void translate(struct clf_translation **out, struct clf_model *model)
{
    struct clf_line sources[LINES];
    struct clf_translate_options options;
    struct clf_translator *translator;
    for (int i = 0; i < LINES; i++) {
        sources[i] = (struct clf_line){lines[i], strlen(lines[i])};
    }
    clf_translate_options_init(&options, model);
    options.subwords = 1;
    options.beam = options.n_best = 3;
    options.max_length = 12;
    assert_ok(clf_translator_create(&translator, model, &options));
    assert_ok(clf_translate(out, translator, sources, LINES));
    clf_translator_free(translator);
}

static void load(struct clf_model **out, const char *folder, clf_precision precision)
{
    struct clf_model_options options;
    clf_model_options_init(&options);
    options.precision = precision;
    assert_ok(clf_model_load(out, support_device(CLF_VARIANT_AUTO), folder, &options));
}

static void check_same(const struct clf_translation *a, const struct clf_translation *b)
{
    for (int i = 0; i < LINES; i++) {
        assert_int_equal(a[i].count, b[i].count);
        assert_true(a[i].count > 0);
        for (int n = 0; n < a[i].count; n++) {
            assert_string_equal(a[i].hypotheses[n].text, b[i].hypotheses[n].text);
            assert_memory_equal(&a[i].hypotheses[n].score, &b[i].hypotheses[n].score, sizeof(float));
        }
    }
}

/* The model in a precision, and its conversion to it, with explicit and default precision. */
static void check_model(const char *name, clf_precision precision)
{
    char from[256];
    snprintf(from, sizeof from, "%s", support_fixture(name));
    const char *to = support_temporary_path("converted");
    struct clf_model *original, *converted;
    struct clf_translation *expected, *actual;
    assert_ok(clf_convert(to, from, precision));
    load(&original, from, precision);
    translate(&expected, original);
    const clf_precision asked[] = {precision, CLF_PRECISION_AUTO};
    for (int i = 0; i < 2; i++) {
        load(&converted, to, asked[i]);
        assert_int_equal(clf_model_describe(converted)->precision, precision);
        translate(&actual, converted);
        check_same(actual, expected);
        clf_translations_free(actual, LINES);
        clf_model_free(converted);
    }
    clf_translations_free(expected, LINES);
    clf_model_free(original);
    support_free_all();
}

static void test_same_numbers(void **state)
{
    (void)state;
    static const char *const names[] = {
        "models/marian-odd",       "models/bart", "models/t5-gated", "models/marian-separate",
        "models/clformer-learned", "models/fsmt", "models/longt5"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (clf_precision precision = CLF_PRECISION_FP32; precision <= CLF_PRECISION_INT8; precision++) {
            if (i == 0 || precision == CLF_PRECISION_INT8) {
                check_model(names[i], precision);
            }
        }
    }
}

/* Matrices are int8, other weights fp32. */
static void test_stored(void **state)
{
    (void)state;
    const char *to = support_temporary_path("int8");
    struct clf__weights *weights;
    char from[256];
    snprintf(from, sizeof from, "%s", support_fixture("models/marian-odd"));
    assert_ok(clf_convert(to, from, CLF_PRECISION_INT8));
    assert_ok(clf__weights_open(&weights, to));
    int int8 = 0;
    for (int i = 0; i < clf__weights_count(weights); i++) {
        const struct clf__stored_tensor *tensor = clf__weights_at(weights, i);
        int is_int8 = clf__stored_tensor_is_int8(tensor);
        assert_true(is_int8 || tensor->type == CLF__STORED_F32);
        assert_int_equal(is_int8, tensor->dimensions == 2 && tensor->shape[0] > 1);
        int8 += is_int8;
    }
    assert_true(int8 > 10);
    clf__weights_close(weights);
    assert_fails(clf_convert(to, from, CLF_PRECISION_INT8), CLF_FILE, "already exists");
    assert_fails(clf_convert("x", from, (clf_precision)9), CLF_BAD_ARGUMENT, "precision 9 is unknown");
    assert_fails(clf_convert(NULL, from, CLF_PRECISION_INT8), CLF_BAD_ARGUMENT, "output folder: is NULL");
    assert_fails(clf_convert("x", "/no/such/model", CLF_PRECISION_INT8), CLF_FILE, "/no/such/model");
}

/* CTranslate2's int8 stays int8 unless another precision is requested. */
static void test_ctranslate2(void **state)
{
    (void)state;
    struct clf_model *model;
    load(&model, support_fixture("formats/ctranslate2/post-norm"), CLF_PRECISION_AUTO);
    assert_int_equal(clf_model_describe(model)->precision, CLF_PRECISION_INT8);
    clf_model_free(model);
    load(&model, support_fixture("formats/ctranslate2/pre-norm"), CLF_PRECISION_AUTO);
    assert_int_equal(clf_model_describe(model)->precision, CLF_PRECISION_FP32);
    clf_model_free(model);
}

/* A failed conversion leaves no folder, wherever it fails. */
static void test_failures_leave_nothing(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    char above[512], to[520], from[256];
    snprintf(from, sizeof from, "%s", support_fixture("models/marian"));
    snprintf(above, sizeof above, "%s/made", folder);
    snprintf(to, sizeof to, "%s/deep", above);
    clf__memory_fail_at(0);
    assert_ok(clf_convert(to, from, CLF_PRECISION_INT8));
    uint64_t count = clf__memory_count();
    assert_ok(clf__folder_remove(above));
    for (uint64_t n = 1; n < count; n += 1 + count / 50) {
        clf__memory_fail_at(n);
        clf_status status = clf_convert(to, from, CLF_PRECISION_INT8);
        clf__memory_fail_at(0);
        assert_int_equal(status, CLF_OUT_OF_MEMORY);
        assert_false(clf__folder_exists(above));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_same_numbers, support_teardown),
        cmocka_unit_test_teardown(test_stored, support_teardown),
        cmocka_unit_test_teardown(test_ctranslate2, support_teardown),
        cmocka_unit_test_teardown(test_failures_leave_nothing, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
