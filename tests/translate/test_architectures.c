/* Every architecture of Hugging Face on random models: the ids of generate(), greedy and with beams. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include <clformer/clformer.h>

#include "support/support.h"

enum { LONGEST = 2048 };

/* Writes ids as words of vocab.json, in the format of `tokens`. */
static struct clf_line write_words(const json_t *ids)
{
    char *text = support_array(LONGEST, 1);
    size_t used = 0;
    for (size_t i = 0; i < json_array_size(ids); i++) {
        used += (size_t)snprintf(text + used, LONGEST - used, "w%d ",
                                 (int)json_integer_value(json_array_get(ids, i)));
        assert_true(used < LONGEST);
    }
    return (struct clf_line){text, used};
}

static void read_real(double *out, const json_t *json, const char *key)
{
    const json_t *value = json_object_get(json, key);
    *out = value != NULL ? json_number_value(value) : *out;
}

static void choose(struct clf_translate_options *options, const struct clf_model *model, const json_t *json)
{
    clf_translate_options_init(options, model);
    const json_t *n_best = json_object_get(json, "num_return_sequences"),
                 *penalty = json_object_get(json, "length_penalty");
    options->subwords = 1;
    options->beam = (int)json_integer_value(json_object_get(json, "num_beams"));
    options->n_best = n_best ? (int)json_integer_value(n_best) : 1;
    const json_t *groups = json_object_get(json, "num_beam_groups");
    options->beam_groups = groups ? (int)json_integer_value(groups) : 1;
    read_real(&options->diversity_penalty, json, "diversity_penalty");
    options->length_penalty = penalty ? json_real_value(penalty) : options->length_penalty;
    options->no_repeat_ngram_size = (int)json_integer_value(json_object_get(json, "no_repeat_ngram_size"));
    options->encoder_no_repeat_ngram_size =
        (int)json_integer_value(json_object_get(json, "encoder_no_repeat_ngram_size"));
    read_real(&options->repetition_penalty, json, "repetition_penalty");
    read_real(&options->encoder_repetition_penalty, json, "encoder_repetition_penalty");
    const json_t *decay = json_object_get(json, "exponential_decay_length_penalty");
    if (decay != NULL) {
        options->length_decay_start = (int)json_integer_value(json_array_get(decay, 0));
        options->length_decay_factor = json_number_value(json_array_get(decay, 1));
    }
    const json_t *k = json_object_get(json, "top_k");
    options->top_k = k != NULL ? (int)json_integer_value(k) : options->top_k;
    options->sample = json_is_true(json_object_get(json, "do_sample"));
    read_real(&options->temperature, json, "temperature");
    if (json_is_true(json_object_get(json, "early_stopping"))) {
        options->early_stopping = CLF_STOP_TRUE;
    }
}

static void check_line(const struct clf_translation *actual, const json_t *expected, int beam,
                       const char *name, size_t line)
{
    double most = 1e-5;
    assert_int_equal(actual->status, CLF_OK);
    assert_int_equal(actual->count, json_array_size(expected));
    for (int n = 0; n < actual->count; n++) {
        const struct clf_hypothesis *one = &actual->hypotheses[n];
        const json_t *wanted = json_array_get(expected, (size_t)n), *ids = json_object_get(wanted, "ids");
        double score = json_real_value(json_object_get(wanted, "score"));
        int same = one->count == (int)json_array_size(ids);
        for (int i = 0; same && i < one->count; i++) {
            same = one->ids[i] == json_integer_value(json_array_get(ids, (size_t)i));
        }
        /* Greedy sums grow with the length; beam scores are divided by it. */
        double scale = beam > 1 ? 1.0 : fmax(1.0, fabs(score));
        if (!same || !(fabs((double)one->score - score) <= most * scale)) {
            fail_msg("%s, line %zu, hypothesis %d of %d beams: \"%s\" with score %.6f, expected %.6f", name,
                     line + 1, n + 1, beam, one->text, (double)one->score, score);
        }
    }
}

static void check_alignment(const struct clf_translation *actual, const json_t *expected, const char *name)
{
    for (int n = 0; n < actual->count; n++) {
        const struct clf_hypothesis *one = &actual->hypotheses[n];
        const json_t *links = json_object_get(json_array_get(expected, (size_t)n), "alignment");
        assert_int_equal(json_array_size(links), one->count);
        for (int i = 0; i < one->count; i++) {
            const json_t *link = json_array_get(links, (size_t)i);
            if (json_is_integer(link) && json_integer_value(link) != one->alignment[i]) {
                fail_msg("%s, hypothesis %d: token %d is aligned with %d, expected %d", name, n + 1, i,
                         one->alignment[i], (int)json_integer_value(link));
            }
        }
    }
}

static void check_record(struct clf_model *model, const json_t *record, const char *name)
{
    const json_t *sources = json_object_get(record, "sources"), *outputs = json_object_get(record, "outputs");
    size_t count = json_array_size(sources);
    struct clf_line *lines = support_array(count, sizeof *lines);
    for (size_t i = 0; i < count; i++) {
        lines[i] = write_words(json_array_get(sources, i));
    }
    struct clf_translate_options options;
    choose(&options, model, json_object_get(record, "options"));
    const json_t *layer = json_object_get(record, "alignment_layer");
    options.alignment_layer = (int)json_integer_value(layer);
    struct clf_translator *translator;
    struct clf_translation *translations;
    assert_ok(clf_translator_create(&translator, model, &options));
    const json_t *prefixes = json_object_get(record, "prefixes");
    struct clf_line *given = prefixes != NULL ? support_array(count, sizeof *given) : NULL;
    for (size_t i = 0; prefixes != NULL && i < count; i++) {
        given[i] = write_words(json_array_get(prefixes, i));
    }
    assert_ok(clf_translate_prefixed(&translations, translator, lines, given, (int)count));
    for (size_t i = 0; i < count; i++) {
        check_line(&translations[i], json_array_get(outputs, i), options.beam, name, i);
        if (layer != NULL) {
            check_alignment(&translations[i], json_array_get(outputs, i), name);
        } else if (translations[i].count > 0) {
            assert_null(translations[i].hypotheses[0].alignment);
        }
    }
    clf_translations_free(translations, (int)count);
    clf_translator_free(translator);
}

static void check_folder(struct clf_device *device, const char *name, const char *file)
{
    char path[512];
    snprintf(path, sizeof path, "models/%s/%s", name, file);
    json_t *records = json_load_file(support_fixture(path), 0, NULL);
    snprintf(path, sizeof path, "models/%s", name);
    struct clf_model *model;
    assert_ok(clf_model_load(&model, device, support_fixture(path), NULL));
    assert_true(json_array_size(records) > 0);
    for (size_t i = 0; i < json_array_size(records); i++) {
        check_record(model, json_array_get(records, i), name);
    }
    json_decref(records);
    clf_model_free(model);
    support_free_all();
}

static void check_folders(const char *file, int least)
{
    const char *const *names = support_fixture_folders("models", file);
    int checked = 0;
    for (int i = 0; names[i] != NULL; i++) {
        if (support_small() && strchr(names[i], '-')) {
            continue;
        }
        print_message("%s\n", names[i]);
        check_folder(support_device(CLF_VARIANT_AUTO), names[i], file);
        checked++;
    }
    assert_true(checked >= least);
}

static void test_generated(void **state)
{
    (void)state;
    check_folders("generated.json", support_small() ? 4 : 7);
}

/* Further options besides beams and lengths. */
static void test_decoding(void **state)
{
    (void)state;
    check_folders("decoding.json", support_small() ? 4 : 7);
}

/* Groups of beams, as in transformers 4. */
static void test_groups(void **state)
{
    (void)state;
    check_folders("groups.json", 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_generated, support_teardown),
                                       cmocka_unit_test_teardown(test_decoding, support_teardown),
                                       cmocka_unit_test_teardown(test_groups, support_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
