/* OpenAI models: equal to the folder of origin bit for bit, conversion, and one error message for a
 * damaged file or tokenizer. */
#include <string.h>

#include <clformer/clformer.h>

#include "model/config/config.h"
#include "model/folder.h"
#include "model/formats/format.h"
#include "model/formats/openai_heads.h"
#include "model/parameters.h"
#include "support/process.h"
#include "support/support.h"
#include "text/tokenizers/tokenizer.h"

/* A new folder with the model in it, optionally with its tokenizer's file. */
static const char *copy(int has_tokens)
{
    static const char *const names[] = {"small.pt", "gpt2.tiktoken"};
    const char *folder = support_temporary_folder();
    for (int i = 0; i < 1 + has_tokens; i++) {
        char source[4096];
        snprintf(source, sizeof source, "%s/%s", support_fixture("formats/openai"), names[i]);
        assert_ok(clf__file_copy(folder_path(folder, names[i]), source));
    }
    return folder;
}

static const char *weights_in(const char *folder)
{
    return process_format("%s/small.pt", folder);
}

static const char *twin(void)
{
    return support_fixture("formats/openai/twin");
}

static struct clf__parameters *load(struct clf__config *config, const char *path)
{
    struct clf__parameters *parameters;
    assert_ok(clf__format_read_config(config, path));
    assert_ok(clf__parameters_load(&parameters, config, path));
    return parameters;
}

static void test_weights(void **state)
{
    (void)state;
    struct clf__config config, expected_config;
    struct clf__parameters *found = load(&config, weights_in(copy(1)));
    struct clf__parameters *expected = load(&expected_config, twin());
    const struct clf__parameter_list *list = clf__parameters_list(expected);
    assert_int_equal(list->count, clf__parameters_list(found)->count);
    for (int i = 0; i < list->count; i++) {
        size_t count = (size_t)list->items[i].rows * (size_t)list->items[i].columns;
        float *values = support_array(count, sizeof *values), *wanted = support_array(count, sizeof *wanted);
        assert_ok(clf__parameters_read(found, list->items[i].name, values));
        assert_ok(clf__parameters_read(expected, list->items[i].name, wanted));
        assert_memory_equal(values, wanted, count * sizeof *values);
    }
    clf__parameters_free(found);
    clf__parameters_free(expected);
    assert_true(config.architecture == expected_config.architecture &&
                config.precision == CLF__PRECISION_FP32);
    assert_int_equal(config.end_id, expected_config.end_id);
    assert_int_equal(config.decoder_start_id, expected_config.decoder_start_id);
    assert_int_equal(config.encoder_max_positions, 1500);
    assert_int_equal(config.decoder_max_positions, 448);
    clf__config_free(&config);
    clf__config_free(&expected_config);
}

enum { COUNT = 3 * CLF_AUDIO_RATE };

/* A tone that rises. */
static struct clf_transcript *transcribe(const char *path, clf_precision precision)
{
    static float samples[COUNT];
    struct clf_model_options options;
    clf_model_options_init(&options);
    struct clf_transcribe_options how;
    struct clf_model *model;
    struct clf_transcriber *transcriber;
    struct clf_audio *audio;
    struct clf_transcript *transcript;
    for (int i = 0; i < COUNT; i++) {
        samples[i] = 0.3F * (float)((long long)i * i / 900 % 200 - 100) / 100.0F;
    }
    options.precision = precision;
    clf_transcribe_options_init(&how);
    how.no_speech_threshold = 1;
    how.temperature_count = 0;
    how.initial_prompt = "the heath - it";
    assert_ok(clf_model_load(&model, support_device(CLF_VARIANT_AUTO), path, &options));
    assert_ok(clf_transcriber_create(&transcriber, model, &how));
    assert_ok(clf_audio_open_samples(&audio, samples, COUNT));
    assert_ok(clf_transcribe(&transcript, transcriber, audio));
    clf_audio_free(audio);
    clf_transcriber_free(transcriber);
    clf_model_free(model);
    return transcript;
}

static void assert_same(struct clf_transcript *found, struct clf_transcript *expected)
{
    assert_string_equal(found->text, expected->text);
    assert_int_equal(found->count, expected->count);
    assert_true(found->count > 0);
    for (int i = 0; i < found->count; i++) {
        const struct clf_segment *one = &found->segments[i], *other = &expected->segments[i];
        assert_int_equal(one->token_count, other->token_count);
        assert_memory_equal(one->tokens, other->tokens, (size_t)one->token_count * sizeof *one->tokens);
        assert_true(one->avg_logprob == other->avg_logprob && one->start == other->start);
    }
    clf_transcript_free(found);
    clf_transcript_free(expected);
}

static void test_transcripts(void **state)
{
    (void)state;
    const char *path = weights_in(copy(1)), *folder = twin();
    static const clf_precision precisions[] = {CLF_PRECISION_FP32, CLF_PRECISION_INT8};
    for (int i = 0; i < 2; i++) {
        assert_same(transcribe(path, precisions[i]), transcribe(folder, precisions[i]));
    }
}

/* Converted to another precision, it gives the results of the original loaded in it, and so does that folder
   converted again. */
static void test_convert(void **state)
{
    (void)state;
    const char *path = weights_in(copy(1)), *to = support_temporary_path("converted"),
               *again = support_temporary_path("again");
    assert_ok(clf_convert(to, path, CLF_PRECISION_INT8));
    assert_same(transcribe(to, CLF_PRECISION_AUTO), transcribe(path, CLF_PRECISION_INT8));
    assert_ok(clf_convert(again, to, CLF_PRECISION_INT8));
    assert_same(transcribe(again, CLF_PRECISION_AUTO), transcribe(path, CLF_PRECISION_INT8));
}

static void test_inspect(void **state)
{
    (void)state;
    char *json;
    assert_ok(clf_inspect(&json, weights_in(copy(1))));
    assert_non_null(strstr(json, "\"format\":\"OpenAI\""));
    assert_non_null(strstr(json, "encoder.blocks.0.attn.query.weight"));
    clf_string_free(json);
}

static void expect_refused(const char *path, clf_status status, const char *part)
{
    struct clf__config config;
    assert_fails(clf__format_read_config(&config, path), status, part);
}

static void test_no_tokens(void **state)
{
    (void)state;
    expect_refused(weights_in(copy(0)), CLF_FILE, "gpt2.tiktoken is not in the same folder; copy it from");
}

static void expect_patched(const char *after, const char *old, const char *new, const char *part)
{
    const char *folder = copy(1);
    folder_patch(folder, "small.pt", after, old, new);
    expect_refused(weights_in(folder), CLF_FORMAT, part);
}

static void test_dims(void **state)
{
    (void)state;
    expect_patched(NULL, "n_mels", "n_mals", "\"n_mels\" in \"dims\" is missing");
    expect_patched(NULL, "dims", "dimz", "is missing, so the file is not an OpenAI Whisper model");
    expect_patched("n_text_state", "K\x08", "K\x09",
                   "\"n_text_state\" in \"dims\" differs from \"n_audio_state\"");
    expect_patched("n_vocab", "M\xee\x06", "M\x10\x06",
                   "262 tokens, which does not match a model with 1552 ids");
    expect_patched("n_vocab", "\xee\x06", "\x30\x02", "does not match a model with 560 ids");
}

/* More layers than there are tensors. */
static void test_layers(void **state)
{
    (void)state;
    const char *folder = copy(1);
    struct clf__config config;
    struct clf__parameters *parameters;
    folder_patch(folder, "small.pt", "n_text_layer", "K\x01", "K\xff");
    assert_ok(clf__format_read_config(&config, weights_in(folder)));
    assert_fails(clf__parameters_load(&parameters, &config, weights_in(folder)), CLF_FORMAT,
                 "small.pt: tensor \"model.decoder.layers.1.");
    clf__config_free(&config);
}

/* Heads for word timestamps, as in openai/whisper for each model. */
static void test_heads(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int layers, heads, vocabulary, count, layer, head; /* layer, head: of the last one */
    } cases[] = {
        {"tiny.en.pt", 4, 6, 51864, 8, 3, 4},
        {"whisper/base.pt", 6, 8, 51865, 8, 5, 6},
        {"turbo.pt", 4, 20, 51866, 6, 3, 14},
        {"models/large-v1.pt", 32, 20, 51865, 9, 23, 15},
        {"large-v1/large-v2.pt", 32, 20, 51865, 23, 27, 15},
        {"large-v1/mine.pt", 32, 20, 51865, 0, 0, 0},
        {"small.pt", 1, 2, 1774, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *heads =
            clf__openai_heads(cases[i].path, cases[i].layers, cases[i].heads, cases[i].vocabulary);
        assert_int_equal(json_array_size(heads), cases[i].count);
        json_t *last = json_array_get(heads, json_array_size(heads) - 1);
        for (size_t n = 0; n < json_array_size(heads); n++) {
            json_t *one = json_array_get(heads, n);
            assert_true(json_integer_value(json_array_get(one, 0)) < cases[i].layers);
            assert_true(json_integer_value(json_array_get(one, 1)) < cases[i].heads);
        }
        assert_int_equal(json_integer_value(json_array_get(last, 0)), cases[i].layer);
        assert_int_equal(json_integer_value(json_array_get(last, 1)), cases[i].head);
        json_decref(heads);
    }
}

/* Truncated anywhere, it gives an error with its name. */
static void test_cut(void **state)
{
    (void)state;
    const char *folder = copy(1), *path = weights_in(folder);
    char *bytes;
    size_t size;
    assert_ok(clf__file_read(&bytes, &size, path, 1 << 24));
    for (size_t part = 0; part < 64; part++) {
        struct clf__config config;
        folder_write(folder, "small.pt", bytes, size * part / 64);
        clf_status status = clf__format_read_config(&config, path);
        assert_fails(status, CLF_FORMAT, path);
    }
    clf__free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_weights, support_teardown),
        cmocka_unit_test_teardown(test_transcripts, support_teardown),
        cmocka_unit_test_teardown(test_convert, support_teardown),
        cmocka_unit_test_teardown(test_inspect, support_teardown),
        cmocka_unit_test_teardown(test_no_tokens, support_teardown),
        cmocka_unit_test_teardown(test_dims, support_teardown),
        cmocka_unit_test_teardown(test_layers, support_teardown),
        cmocka_unit_test_teardown(test_heads, support_teardown),
        cmocka_unit_test_teardown(test_cut, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
