/* Folders of other engines with converted weights: equal texts, ids and scores, bit for bit. */
#include <stdio.h>
#include <string.h>

#include <clformer/clformer.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/weights/weights.h"
#include "support/support.h"

enum { LINES = 4, LONGEST = 512 };

static const clf_precision precisions[] = {CLF_PRECISION_INT8, CLF_PRECISION_BF16, CLF_PRECISION_FP32};
enum { PRECISIONS = sizeof precisions / sizeof *precisions };

static const char *fixture(const char *format, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "formats/%s/%s", format, name);
    const char *found = support_fixture(path);
    return strcpy(support_array(strlen(found) + 1, 1), found);
}

static char *path_in(const char *folder, const char *name)
{
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = support_array(size, 1);
    snprintf(path, size, "%s/%s", folder, name);
    return path;
}

/* A new folder, all of them in one. */
static const char *new_folder(void)
{
    static char root[LONGEST];
    static int count;
    char name[16];
    if (root[0] == '\0') {
        snprintf(root, sizeof root, "%s", support_temporary_folder());
    }
    snprintf(name, sizeof name, "%d", ++count);
    const char *folder = path_in(root, name);
    assert_ok(clf__folder_create(folder));
    return folder;
}

static const char *new_path(const char *name)
{
    return path_in(new_folder(), name);
}

static struct clf_model *load(const char *folder, clf_precision precision)
{
    struct clf_model *model;
    struct clf_model_options options;
    clf_model_options_init(&options);
    options.precision = precision;
    assert_ok(clf_model_load(&model, support_device(CLF_VARIANT_AUTO), folder, &options));
    return model;
}

/* Tokens of the target's vocabulary, which are text on either side. */
static struct clf_line line_of(const struct clf_model *model, int number)
{
    char *text = support_array(LONGEST, 1);
    size_t used = 0;
    int vocabulary = clf_model_describe(model)->target_vocabulary;
    for (int i = 0; i <= 2 * number; i++) {
        int id = (7 * number + 5 * i + 6) % vocabulary;
        used += (size_t)snprintf(text + used, LONGEST - used, "%s ", clf_model_token(model, id));
    }
    return (struct clf_line){text, used - 1};
}

struct results {
    struct clf_translation *greedy, *beams;
    struct clf_score *scores;
};

static struct clf_translation *translate(struct clf_model *model, struct clf_line *lines, int beams)
{
    struct clf_translate_options options;
    struct clf_translator *translator;
    struct clf_translation *translations;
    clf_translate_options_init(&options, model);
    options.subwords = beams > 1;
    options.beam = options.n_best = beams;
    options.max_length = 12;
    assert_ok(clf_translator_create(&translator, model, &options));
    assert_ok(clf_translate(&translations, translator, lines, LINES));
    clf_translator_free(translator);
    return translations;
}

static struct results run(struct clf_model *model)
{
    struct results results;
    struct clf_line lines[LINES];
    struct clf_translator *translator;
    struct clf_translate_options options;
    for (int i = 0; i < LINES; i++) {
        lines[i] = line_of(model, i);
    }
    results.greedy = translate(model, lines, 1);
    results.beams = translate(model, lines, 3);
    clf_translate_options_init(&options, model);
    options.subwords = 1;
    assert_ok(clf_translator_create(&translator, model, &options));
    assert_ok(clf_score(&results.scores, translator, lines, lines, LINES));
    clf_translator_free(translator);
    return results;
}

static void free_results(struct results *results)
{
    clf_translations_free(results->greedy, LINES);
    clf_translations_free(results->beams, LINES);
    clf_scores_free(results->scores, LINES);
}

static void check_same(const struct clf_translation *a, const struct clf_translation *b)
{
    for (int i = 0; i < LINES; i++) {
        assert_int_equal(a[i].count, b[i].count);
        assert_true(a[i].count > 0);
        for (int n = 0; n < a[i].count; n++) {
            const struct clf_hypothesis *one = &a[i].hypotheses[n], *other = &b[i].hypotheses[n];
            assert_string_equal(one->text, other->text);
            assert_int_equal(one->count, other->count);
            assert_memory_equal(one->ids, other->ids, (size_t)one->count * sizeof *one->ids);
            assert_memory_equal(&one->score, &other->score, sizeof one->score);
            assert_memory_equal(&one->log_probability, &other->log_probability, sizeof(double));
        }
    }
}

static void check_results(const struct results *actual, const struct results *expected)
{
    check_same(actual->greedy, expected->greedy);
    check_same(actual->beams, expected->beams);
    for (int i = 0; i < LINES; i++) {
        assert_int_equal(actual->scores[i].count, expected->scores[i].count);
        assert_memory_equal(&actual->scores[i].log_probability, &expected->scores[i].log_probability,
                            sizeof(double));
    }
}

/* Loaded in its precision explicitly and by default, and converted again. */
static void check_converted(const char *folder, clf_precision precision, const struct results *expected)
{
    const char *once = new_path("once"), *twice = new_path("twice");
    assert_ok(clf_convert(once, folder, precision));
    assert_ok(clf_convert(twice, once, precision));
    const struct {
        const char *folder;
        clf_precision asked;
    } rows[] = {{once, precision}, {once, CLF_PRECISION_AUTO}, {twice, CLF_PRECISION_AUTO}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct clf_model *model = load(rows[i].folder, rows[i].asked);
        assert_int_equal(clf_model_describe(model)->precision, precision);
        struct results actual = run(model);
        check_results(&actual, expected);
        free_results(&actual);
        clf_model_free(model);
    }
}

/* In the first `count` precisions. */
static void check_folder(const char *folder, int count)
{
    for (int p = 0; p < count; p++) {
        struct clf_model *model = load(folder, precisions[p]);
        struct results expected = run(model);
        clf_model_free(model);
        check_converted(folder, precisions[p], &expected);
        free_results(&expected);
    }
    support_free_all();
}

/* The first folder in every precision, the others in int8: most of the time is compiling their kernels. */
static void check_folders(const char *format, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i += support_small() ? 3 : 1) {
        check_folder(fixture(format, names[i]), i == 0 ? PRECISIONS : 1);
    }
}

static void test_ctranslate2(void **state)
{
    (void)state;
    static const char *const names[] = {
        "post-norm", "pre-norm",  "t5",        "embedding-norm", "gated",          "version-1",
        "version-2", "version-3", "version-4", "version-5",      "version-1-int16"};
    check_folders("ctranslate2", names, sizeof names / sizeof *names);
}

static void test_ctranslate2_with_text(void **state)
{
    (void)state;
    static const char *const names[] = {"t5", "bart", "nllb", "m2m100"};
    check_folders("ctranslate2-text", names, sizeof names / sizeof *names);
}

static void test_marian(void **state)
{
    (void)state;
    static const char *const names[] = {"ssru-fork",    "ssru-first",   "ssru-two",     "self-float",
                                        "self-npz",     "self-halves",  "average-last", "average-first",
                                        "average-deep", "average-gates"};
    check_folders("marian", names, sizeof names / sizeof *names);
}

static void copy(const char *folder, const char *name, const char *from)
{
    char *last = path_in(folder, name);
    *strrchr(last, '/') = '\0';
    assert_ok(clf__folder_create(last));
    assert_ok(clf__file_copy(path_in(folder, name), from));
}

static const char *make_argos(void)
{
    static const char *const kept[] = {"config.json", "shared_vocabulary.json", "model.bin"};
    static const char metadata[] = "{\"from_code\": \"fr\", \"to_code\": \"en\"}";
    const char *folder = new_path("translate-fr_en"), *model = fixture("ctranslate2", "post-norm");
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        copy(path_in(folder, "model"), kept[i], path_in(model, kept[i]));
    }
    copy(folder, "sentencepiece.model", support_fixture("text/t5/spiece.model"));
    assert_ok(clf__file_write(path_in(folder, "metadata.json"), metadata, strlen(metadata)));
    return folder;
}

static void test_argos(void **state)
{
    (void)state;
    const char *converted = new_path("converted"), *folder = make_argos();
    assert_ok(clf_convert(converted, folder, CLF_PRECISION_INT8));
    char *json;
    assert_ok(clf_inspect(&json, converted));
    assert_non_null(strstr(json, "\"format\":\"Argos Translate\""));
    clf_string_free(json);
    assert_false(clf__file_exists(path_in(converted, "model/model.bin")));
    check_folder(make_argos(), 1);
}

static const char config_of_two[] = "models: [../weights/model.npz]\n"
                                    "vocabs: [../source/words.yml, ../target/words.yml]\n"
                                    "beam-size: 3\nnormalize: 0.6\n";

/* Files that a configuration names elsewhere, two with the same name: all are copied inside. */
static void test_files_elsewhere(void **state)
{
    (void)state;
    const char *from = fixture("marian", "self-npz"), *root = new_folder();
    const char *folder = path_in(root, "model"), *converted = new_path("converted");
    copy(root, "weights/model.npz", path_in(from, "model.xx.npz"));
    copy(root, "source/words.yml", path_in(from, "vocab.yml"));
    copy(root, "target/words.yml", path_in(from, "vocab.yml"));
    copy(root, "model/README", path_in(from, "config.yml"));
    assert_ok(clf__file_write(path_in(folder, "config.yml"), config_of_two, strlen(config_of_two)));
    struct clf_model *model = load(folder, CLF_PRECISION_INT8);
    struct results expected = run(model), actual;
    clf_model_free(model);
    assert_ok(clf_convert(converted, folder, CLF_PRECISION_INT8));
    assert_ok(clf__folder_remove(path_in(root, "weights")));
    assert_ok(clf__folder_remove(path_in(root, "source")));
    assert_ok(clf__folder_remove(path_in(root, "target")));
    assert_true(clf__file_exists(path_in(converted, "words.yml")));
    assert_true(clf__file_exists(path_in(converted, "other.words.yml")));
    assert_true(clf__file_exists(path_in(converted, "README")));
    model = load(converted, CLF_PRECISION_AUTO);
    struct clf_translate_options options;
    clf_translate_options_init(&options, model);
    assert_int_equal(options.beam, 3);
    actual = run(model);
    check_results(&actual, &expected);
    clf_model_free(model);
    free_results(&expected);
    free_results(&actual);
}

/* CTranslate2's int8 values are kept byte for byte; the factors are the reciprocals of its scales. */
static void test_bytes_are_kept(void **state)
{
    (void)state;
    struct clf__weights *before, *after;
    const char *folder = fixture("ctranslate2", "post-norm"), *to = new_path("int8");
    assert_ok(clf_convert(to, folder, CLF_PRECISION_INT8));
    assert_ok(clf__weights_open_file(&before, folder, "model.bin"));
    assert_ok(clf__weights_open_file(&after, to, "model.ctranslate2.safetensors"));
    const struct clf__stored_tensor *a =
        clf__weights_find(before, "encoder/layer_0/self_attention/linear_1/weight");
    const struct clf__stored_tensor *b =
        clf__weights_find(after, "model.encoder.layers.0.self_attn.out_proj.weight");
    assert_true(a != NULL && b != NULL && clf__stored_tensor_is_int8(a) && clf__stored_tensor_is_int8(b));
    assert_int_equal(a->size, b->size);
    size_t rows = (size_t)a->shape[0];
    int8_t *values[2] = {support_array(a->size, 1), support_array(b->size, 1)};
    float *factors[2] = {support_array(rows, sizeof(float)), support_array(rows, sizeof(float))};
    assert_ok(clf__stored_tensor_read_int8(a, values[0], factors[0]));
    assert_ok(clf__stored_tensor_read_int8(b, values[1], factors[1]));
    assert_memory_equal(values[0], values[1], a->size);
    assert_memory_equal(factors[0], factors[1], rows * sizeof(float));
    clf__weights_close(before);
    clf__weights_close(after);
}

/* Nothing is written, not under another name either. */
static void check_refused(const char *folder, clf_status status, const char *part)
{
    const char *parent = new_folder();
    struct clf__names names;
    assert_fails(clf_convert(path_in(parent, "new"), folder, CLF_PRECISION_INT8), status, part);
    assert_ok(clf__folder_list(&names, parent));
    assert_int_equal(names.count, 0);
    clf__names_free(&names);
}

/* A copy of a folder in which a file is missing (text NULL) or replaced. */
static const char *change(const char *from, const char *name, const char *text)
{
    struct clf__names names;
    const char *folder = new_folder();
    assert_ok(clf__folder_list(&names, from));
    for (int i = 0; i < names.count; i++) {
        if (strcmp(names.items[i], name) != 0) {
            copy(folder, names.items[i], path_in(from, names.items[i]));
        } else if (text != NULL) {
            assert_ok(clf__file_write(path_in(folder, name), text, strlen(text)));
        }
    }
    clf__names_free(&names);
    return folder;
}

static void test_refused(void **state)
{
    (void)state;
    const char *marian = fixture("marian", "ssru-fork"), *engine = fixture("ctranslate2", "post-norm");
    check_refused(change(marian, "vocab.xx.spm", NULL), CLF_FILE, "vocab.xx.spm");
    check_refused(change(marian, "lex.xx.s2t.bin", NULL), CLF_FILE, "lex.xx.s2t.bin");
    check_refused(change(marian, "lex.xx.s2t.bin", "no shortlist"), CLF_FORMAT, "lex.xx.s2t.bin");
    check_refused(change(marian, "model.xx.intgemm.bin", "no model"), CLF_FORMAT, "model.xx.intgemm.bin");
    check_refused(change(engine, "shared_vocabulary.json", "[]"), CLF_FORMAT, "shared_vocabulary.json");
    check_refused(change(engine, "config.json", "{"), CLF_FORMAT, "config.json");
    check_refused(change(engine, "model.bin", "no model"), CLF_FORMAT, "model.bin");
}

/* Damage to converted files gives an error. */
static void test_damaged(void **state)
{
    (void)state;
    static const char *const names[][2] = {{"ctranslate2", "model.ctranslate2.safetensors"},
                                           {"marian", "model.marian.safetensors"}};
    for (size_t i = 0; i < 2; i++) {
        const char *to = new_path("int8");
        struct clf_model *model;
        assert_ok(
            clf_convert(to, fixture(names[i][0], i == 0 ? "post-norm" : "ssru-fork"), CLF_PRECISION_INT8));
        assert_fails(
            clf_model_load(&model, support_device(CLF_VARIANT_AUTO), change(to, names[i][1], "short"), NULL),
            CLF_FORMAT, names[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_ctranslate2, support_teardown),
        cmocka_unit_test_teardown(test_ctranslate2_with_text, support_teardown),
        cmocka_unit_test_teardown(test_marian, support_teardown),
        cmocka_unit_test_teardown(test_argos, support_teardown),
        cmocka_unit_test_teardown(test_files_elsewhere, support_teardown),
        cmocka_unit_test_teardown(test_bytes_are_kept, support_teardown),
        cmocka_unit_test_teardown(test_refused, support_teardown),
        cmocka_unit_test_teardown(test_damaged, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
