/* Speculative decoding: with any draft model, translations and scores are those without it, bit for bit; a
 * draft that agrees saves steps. */
#include <clformer/clformer.h>

#include "base/memory.h"
#include "model/model.h"
#include "model/transformer.h"
#include "runtime/device/buffer.h"
#include "runtime/opencl/testing.h"
#include "translate/demo.h"

enum { WORDS_LINES = 3, MOST_LINES = 5 };
static const char *const words[WORDS_LINES] = {"w2 w3 w4 w5 w6 w7", "w9 w8 w20", "w11 w2"};

/* Lines, their prefixes, and the options of a translator. */
struct work {
    const char *const *texts;
    const char *prefix; /* of each line; NULL: none */
    int count;
    struct clf_translate_options options;
};

static struct clf_model *load(struct clf_device *device, const char *name)
{
    struct clf_model *model;
    assert_ok(clf_model_load(&model, device, support_fixture(name), NULL));
    return model;
}

static clf_status try_work(struct clf_translation **out, struct clf_stage_times *times,
                           struct clf_model *model, struct clf_model *draft, const struct work *work)
{
    struct clf_line lines[MOST_LINES], prefixes[MOST_LINES];
    struct clf_translate_options options = work->options;
    struct clf_translator *translator;
    options.draft = draft;
    for (int i = 0; i < work->count; i++) {
        lines[i] = (struct clf_line){work->texts[i], strlen(work->texts[i])};
        prefixes[i] = (struct clf_line){work->prefix, work->prefix != NULL ? strlen(work->prefix) : 0};
    }
    CLF__TRY(clf_translator_create(&translator, model, &options));
    clf_status status =
        clf_translate_prefixed(out, translator, lines, work->prefix != NULL ? prefixes : NULL, work->count);
    *times = *clf_translator_times(translator);
    clf_translator_free(translator);
    return status;
}

/* Translates with and without a draft model; returns the times with it, after checking that the results
 * are equal. */
static struct clf_stage_times check_same(struct clf_model *model, struct clf_model *draft,
                                         const struct work *work)
{
    struct clf_translation *plain, *drafted;
    struct clf_stage_times before, times;
    assert_ok(try_work(&plain, &before, model, NULL, work));
    assert_ok(try_work(&drafted, &times, model, draft, work));
    int without_step = 0; /* a forced last token needs no step */
    for (int i = 0; i < work->count; i++) {
        assert_true(plain[i].count > 0);
        without_step +=
            work->options.forced_last >= 0 && plain[i].hypotheses[0].count == work->options.max_length;
        assert_same(&plain[i], &drafted[i]);
    }
    assert_int_equal(before.proposed, 0);
    assert_int_equal(times.target_tokens, before.target_tokens);
    assert_int_equal(times.steps + times.accepted + without_step, times.target_tokens);
    assert_int_equal(times.step_rows, times.steps + times.proposed);
    clf_translations_free(plain, work->count);
    clf_translations_free(drafted, work->count);
    return times;
}

static struct work new_work(const struct clf_model *model, int is_demo)
{
    struct work work = {.texts = is_demo ? texts : words, .count = is_demo ? LINES : WORDS_LINES};
    clf_translate_options_init(&work.options, model);
    work.options.beam = work.options.n_best = 1;
    work.options.subwords = !is_demo;
    work.options.max_length = 24;
    return work;
}

/* The demo model as its own draft: all tokens are accepted; with another precision, most of them. */
static void check_demo(struct clf_device *device)
{
    struct clf_model *model = load_in(CLF_PRECISION_FP32, device);
    struct clf_model *other = load_in(CLF_PRECISION_INT8, device);
    struct work work = new_work(model, 1);
    work.count = support_small() ? 3 : LINES;
    struct clf_stage_times times = check_same(model, model, &work);
    assert_true(times.accepted > 0 && times.accepted == times.proposed);
    assert_true(times.steps * 2 < times.target_tokens);
    times = check_same(model, other, &work);
    assert_true(times.accepted * 2 > times.proposed);
    times = check_same(other, model, &work);
    assert_true(times.accepted * 2 > times.proposed);
    clf_model_free(other);
    clf_model_free(model);
}

/* Options that change scores or force tokens. */
static void check_options(struct clf_model *model, struct clf_model *draft)
{
    struct work work = new_work(model, 0);
    check_same(model, draft, &work);
    work.options.min_length = 8;
    work.options.no_repeat_ngram_size = 2;
    check_same(model, draft, &work);
    work.options.repetition_penalty = 1.7;
    work.options.encoder_repetition_penalty = 1.2;
    work.options.length_decay_start = 5;
    work.options.length_decay_factor = 1.1;
    check_same(model, draft, &work);
    static const int32_t suppressed[] = {4, 5, 12};
    work.options.suppressed = suppressed;
    work.options.suppressed_count = 3;
    work.options.renormalize = 1;
    work.options.forced_first = 9;
    work.options.forced_last = 0;
    check_same(model, draft, &work);
    work.options.forced_first = -1;
    work.prefix = "w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13"; /* longer than a step of the draft */
    check_same(model, draft, &work);
    work.options.max_length = 13;
    check_same(model, draft, &work);
    work.prefix = NULL;
    work.options.min_length = 0;
    work.options.max_length = 1;
    check_same(model, draft, &work);
}

static void check_words(struct clf_device *device)
{
    struct clf_model *model = load(device, "models/marian"), *random = load(device, "models/marian-old");
    struct work work = new_work(model, 0);
    struct clf_stage_times times = check_same(model, random, &work);
    assert_true(times.proposed > 0);
    assert_true(times.accepted * 10 <= times.proposed);
    check_options(model, model);
    check_options(model, random);
    /* A draft that is too short for the lines or for their translations. */
    random->info.max_source_length = 4;
    check_same(model, random, &work);
    random->info.max_target_length = 5;
    check_same(model, random, &work);
    clf_model_free(random);
    struct clf_model *short_self = load(device, "models/marian");
    short_self->info.max_target_length = 10;
    times = check_same(model, short_self, &work);
    assert_true(times.accepted > 0 && times.steps > 24 - 10);
    clf_model_free(short_self);
    clf_model_free(model);
}

static void test_same(void **state)
{
    (void)state;
    for (int variant = support_first_variant(); variant <= support_last_variant(); variant++) {
        struct clf_device *device =
            support_device_with((clf_variant)variant, CLF_GEMM_NATIVE, CLF_ATTENTION_AUTO);
        check_demo(device);
        check_words(device);
        support_free_all();
    }
}

static void assert_refused(struct clf_model *model, struct clf_model *draft,
                           const struct clf_translate_options *options, const char *message)
{
    struct clf_translate_options own = *options;
    struct clf_translator *translator;
    own.draft = draft;
    assert_int_equal(clf_translator_create(&translator, model, &own), CLF_BAD_ARGUMENT);
    assert_null(translator);
    assert_non_null(strstr(clf_last_error(), message));
}

static int ignore_token(int line, const struct clf_generated_token *token, void *payload)
{
    (void)line, (void)token, (void)payload;
    return 0;
}

static void test_refused(void **state)
{
    (void)state;
    struct clf_device *device = support_device(CLF_VARIANT_AUTO);
    struct clf_model *model = load(device, "models/marian"), *other = load(device, "models/marian-untied");
    const struct clf_translate_options good = new_work(model, 0).options;
    struct clf_translate_options options = good;
    assert_refused(model, other, &good, "the draft model has another vocabulary than");
    clf_model_free(other);
    other = load(device, "models/speech");
    assert_refused(model, other, &good, "models/speech: a draft model requires models that read text");
    clf_model_free(other);
    struct clf_device *second = support_open_profiled(CLF_VARIANT_AUTO, CLF_INSTRUCTIONS_AUTO);
    other = load(second, "models/marian");
    assert_refused(model, other, &good, "is on another device than");
    clf_model_free(other);
    clf_device_close(second);
    options.beam = 2;
    assert_refused(model, model, &options, "a draft model cannot be combined with a beam above 1");
    options = good;
    options.sample = 1;
    assert_refused(model, model, &options, "sampling");
    options = good;
    options.alternatives = 2;
    assert_refused(model, model, &options, "alternatives");
    options = good;
    options.coverage_penalty = 0.5;
    assert_refused(model, model, &options, "a coverage penalty");
    options = good;
    options.generated = ignore_token;
    assert_refused(model, model, &options, "the hook `generated`");
    struct clf__mixer *mixer = &model->transformer->decoder.layers[0].mixer;
    const struct clf__mixer own = *mixer;
    mixer->kind = &clf__ssru_mixer;
    assert_refused(model, model, &good, "requires self-attention in the decoder");
    *mixer = own;
    struct clf_engine *engine;
    struct clf_translator *translator;
    options = good;
    options.draft = model;
    assert_ok(clf_engine_create(&engine, &model, 1, NULL));
    assert_int_equal(clf_translator_create_shared(&translator, engine, &options), CLF_BAD_ARGUMENT);
    assert_non_null(strstr(clf_last_error(), "shares an engine cannot use a draft model"));
    clf_engine_free(engine);
    clf_model_free(model);
}

/* Each allocation, or each OpenCL call, fails once: an error or the right result, and nothing leaks. */
static void check_failures(struct clf_model *model, struct clf_model *draft, void (*fail_at)(uint64_t),
                           uint64_t (*count)(void))
{
    struct work work = new_work(model, 0);
    struct clf_translation *expected, *actual;
    struct clf_stage_times times;
    struct clf_device *device = model->transformer->device;
    work.count = 1;
    work.options.max_length = 6;
    assert_ok(try_work(&expected, &times, model, draft, &work)); /* compiles the kernels */
    fail_at(0);
    assert_ok(try_work(&actual, &times, model, draft, &work));
    clf_translations_free(actual, 1);
    uint64_t total = count(), bytes = clf__device_free_bytes(device), failures = 0, tried = 0;
    for (uint64_t n = 1; n <= total; n += support_small() ? 1 + total / 60 : 1) {
        fail_at(n);
        clf_status status = try_work(&actual, &times, model, draft, &work);
        fail_at(0);
        tried++;
        failures += status != CLF_OK;
        if (status == CLF_OK) {
            assert_same(expected, actual);
            clf_translations_free(actual, 1);
        } else {
            assert_true(strlen(clf_last_error()) > 10);
        }
        assert_true(clf__device_free_bytes(device) == bytes);
    }
    assert_true(failures > tried / 2);
    clf_translations_free(expected, 1);
}

static void test_failures(void **state)
{
    (void)state;
    struct clf_device *device = support_device_with(CLF_VARIANT_CPU, CLF_GEMM_NATIVE, CLF_ATTENTION_FUSED);
    struct clf_model *model = load(device, "models/marian"), *draft = load(device, "models/marian-old");
    check_failures(model, draft, clf__memory_fail_at, clf__memory_count);
    check_failures(model, draft, clf__device_fail_at, clf__device_call_count);
    clf_model_free(draft);
    clf_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_same, support_teardown),
        cmocka_unit_test_teardown(test_refused, support_teardown),
        cmocka_unit_test_teardown(test_failures, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
