/* NaN and infinity: the line or recording fails with the likely cause, and the others succeed. */
#include <jansson.h>
#include <string.h>

#include "base/little_endian.h"
#include "support/process.h"

#define TEXT_MODEL "models/bart-text"
#define SHORT_LINE "Je suis."
#define LONG_LINE  "Je suis. Je suis. Je suis. Je suis. Je suis. Je suis. Je suis. Je suis."

enum { LENGTH_BYTES = 8 };

/* Sets a tensor's values to NaN from fraction `from` to fraction `to`, in a model with floats of 2 or 4
 * bytes. */
static void spoil(const char *folder, const char *tensor, double from, double to)
{
    size_t size;
    char *bytes = process_read(folder, "model.safetensors", &size);
    size_t header = (size_t)clf__read_64((const uint8_t *)bytes);
    json_t *root = json_loadb(bytes + LENGTH_BYTES, header, 0, NULL);
    json_int_t begin, end;
    assert_int_equal(json_unpack(json_object_get(root, tensor), "{s[II]}", "data_offsets", &begin, &end), 0);
    json_decref(root);
    size_t first = (size_t)(from * (double)(end - begin)) / 4 * 4,
           last = (size_t)(to * (double)(end - begin)) / 4 * 4;
    memset(bytes + LENGTH_BYTES + header + begin + first, 0xff, last - first);
    process_write(folder, "model.safetensors", bytes, size);
}

static const char *spoiled(const char *tensor, double from, double to)
{
    const char *folder = process_model_copy(support_fixture(TEXT_MODEL));
    spoil(folder, tensor, from, to);
    return folder;
}

static const char *const ways[] = {
    "--beam 1",
    "--beam 4",
    "--beam 4 --early-stopping never",
    "--beam 4 --n-best 1 --length-penalty 0",
    "--beam 4 --beam-groups 2 --diversity-penalty 0.5",
    "--beam 1 --sample",
    "--beam 4 --sample",
    "--beam 1 --repetition-penalty 1.3",
    "--beam 4 --coverage-penalty 0.3",
    "--beam 1 --stream",
};
enum { WAYS = sizeof ways / sizeof *ways };

/* The encoder's positions are NaN in the range that only the long line reaches. */
static void test_other_lines_are_translated(void **state)
{
    (void)state;
    const char *folder = spoiled("model.encoder.embed_positions.weight", 0.3, 1);
    for (int i = 0; i < WAYS; i += support_small() ? 3 : 1) {
        const char *call = process_format("translate -q --max-length 12 -m %s %s", folder, ways[i]);
        struct process_result one = run_clformer(SHORT_LINE "\n", call);
        assert_int_equal(one.status, 0);
        assert_true(one.output_size > 1);
        struct process_result all = run_clformer(SHORT_LINE "\n" LONG_LINE "\n" SHORT_LINE "\n", call);
        assert_int_equal(all.status, 1);
        assert_string_equal(all.output, process_format("%s\n%s", one.output, one.output));
        assert_int_equal(process_count(all.errors, "\n"), 1);
        assert_non_null(strstr(all.errors, "line 2: the model computed NaN or infinity (the weights"));
    }
}

/* The decoder's positions are NaN from the middle of the translation on: it is never reported as complete. */
static void test_a_translation_that_breaks_off(void **state)
{
    (void)state;
    const char *folder = spoiled("model.decoder.embed_positions.weight", 0.12, 1);
    for (int i = 0; i + 1 < WAYS; i += support_small() ? 3 : 1) { /* --stream has shown a part by then */
        struct process_result result = run_clformer(
            SHORT_LINE "\n", process_format("translate -q --max-length 20 -m %s %s", folder, ways[i]));
        assert_int_equal(result.status, 1);
        assert_string_equal(result.output, "\n");
        assert_non_null(strstr(result.errors, "line 1: the model computed NaN or infinity"));
    }
    struct process_result json =
        run_clformer(SHORT_LINE "\n", process_format("translate -q --json --max-length 20 -m %s", folder));
    assert_int_equal(json.status, 1);
    assert_non_null(strstr(json.output, "\"text\":\"\""));
    assert_non_null(strstr(json.output, "\"error\":\"the model computed NaN or infinity"));
}

/* A single logit is NaN, in the last vocabulary row, which is neither in the line nor the best. */
static void test_one_logit(void **state)
{
    (void)state;
    const char *folder = spoiled("model.shared.weight", 330.0 / 331, 1);
    for (int i = 0; i < WAYS; i += support_small() ? 3 : 1) {
        struct process_result result = run_clformer(
            SHORT_LINE "\n", process_format("translate -q --max-length 12 -m %s %s", folder, ways[i]));
        assert_int_equal(result.status, 1);
        assert_string_equal(result.output, "\n");
        assert_non_null(strstr(result.errors, "line 1: the model computed NaN or infinity"));
    }
}

/* With a given target, attention is computed once, without a search. */
static void test_attention_and_scores(void **state)
{
    (void)state;
    const char *folder = spoiled("model.encoder.embed_positions.weight", 0.3, 1);
    process_write(folder, "source", SHORT_LINE "\n" LONG_LINE "\n", strlen(SHORT_LINE "\n" LONG_LINE "\n"));
    process_write(folder, "target", "Je\nJe\n", 6);
    struct process_result result =
        run_clformer(NULL, process_format("score -q -m %s %s/source %s/target", folder, folder, folder));
    assert_int_equal(result.status, 1);
    assert_int_equal(process_count(result.output, "\n"), 2);
    assert_non_null(strstr(result.errors, "line 2: the model computed NaN or infinity"));
    assert_null(strstr(result.errors, "line 1"));
    static const char long_words[] =
        "Je\x1fsuis.\x1fJe\x1fsuis.\x1fJe\x1fsuis.\x1fJe\x1fsuis.\x1fJe\x1fsuis.\x1fJe\x1fsuis.";
    result = run_clformer(
        NULL, process_format("attend -m %s -o %s/page.html %s --target Je", folder, folder, long_words));
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.errors, "the model computed NaN or infinity"));
    result =
        run_clformer(NULL, process_format("attend -m %s -o %s/page.html Je --target Je", folder, folder));
    assert_int_equal(result.status, 0);
}

/* Every recording fails by itself, with its name and its time. */
static void test_recordings(void **state)
{
    (void)state;
    enum { SAMPLES = 32000 };
    static int16_t samples[SAMPLES];
    const char *folder = process_model_copy(support_fixture("speech/tiny"));
    for (int i = 0; i < SAMPLES; i++) {
        samples[i] = (int16_t)(400 * (i % 40 - 20));
    }
    process_write(folder, "a.raw", samples, sizeof samples);
    process_write(folder, "b.raw", samples, sizeof samples);
    const char *call =
        process_format("transcribe -q --raw 16000 -m %s %s/a.raw %s/b.raw", folder, folder, folder);
    static const char *const flags[] = {"--language en --beam 1 --temperature 0",
                                        "--language en --beam 3 --temperature 0",
                                        "--language en --temperature 0.5 --best-of 2", ""};
    assert_int_equal(run_clformer(NULL, call).status, 0);
    spoil(folder, "model.decoder.embed_positions.weight", 4.0 / 448, 1);
    for (int i = 0; i < 4; i++) {
        struct process_result result = run_clformer(NULL, process_format("%s %s", call, flags[i]));
        assert_int_equal(result.status, 1);
        assert_int_equal(process_count(result.errors, "at 0.00 s: the model computed NaN or infinity"), 2);
        assert_non_null(strstr(result.errors, "/a.raw: at 0.00 s"));
        assert_non_null(strstr(result.errors, "/b.raw: at 0.00 s"));
    }
    spoil(folder, "model.decoder.embed_positions.weight", 0, 1); /* the language detection step too */
    struct process_result result = run_clformer(NULL, call);
    assert_int_equal(result.status, 1);
    assert_int_equal(process_count(result.errors, "at 0.00 s: the model computed NaN or infinity"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_other_lines_are_translated, support_teardown),
        cmocka_unit_test_teardown(test_a_translation_that_breaks_off, support_teardown),
        cmocka_unit_test_teardown(test_one_logit, support_teardown),
        cmocka_unit_test_teardown(test_attention_and_scores, support_teardown),
        cmocka_unit_test_teardown(test_recordings, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
