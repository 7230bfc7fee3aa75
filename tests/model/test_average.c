/* The mean of models: of fixtures and of new ones; errors name differences; the folder is written
 * atomically. */
#include "support/support.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <clformer/train.h>

#include "base/file.h"
#include "base/half.h"
#include "base/memory.h"
#include "model/config/config.h"
#include "model/config/write.h"
#include "model/save.h"

static char *path_in(const char *folder, const char *name)
{
    char *path = support_array(strlen(folder) + strlen(name) + 2, 1);
    sprintf(path, "%s/%s", folder, name);
    return path;
}

static void write_text(const char *folder, const char *name, const char *text)
{
    assert_ok(clf__file_write(path_in(folder, name), text, strlen(text)));
}

/* A small new model from one seed, with a tokenizer file and the other files of a checkpoint. */
static const char *make_model(uint64_t seed, const char *key, const char *value)
{
    static const char *const sizes[] = {"d_model=8",
                                        "encoder_layers=1",
                                        "decoder_layers=1",
                                        "encoder_attention_heads=2",
                                        "decoder_attention_heads=2",
                                        NULL};
    char word[80];
    snprintf(word, sizeof word, "%s=%s", key, value);
    struct clf__model_description description = {.preset = "paper",
                                                 .source_vocabulary = 7,
                                                 .target_vocabulary = 7,
                                                 .pad_id = 1,
                                                 .start_id = 0,
                                                 .end_id = 2,
                                                 .sizes = sizes,
                                                 .choices = (const char *const[]){word},
                                                 .choice_count = 1};
    const char *folder = support_temporary_folder();
    assert_ok(clf__model_describe(folder, &description));
    assert_ok(clf__model_initialise(folder, seed, NULL, NULL));
    write_text(folder, "vocab.json", "{}");
    write_text(folder, "state.json", "{}");
    write_text(folder, "optimizer.safetensors", "moments");
    write_text(folder, "half.tmp", "");
    assert_ok(clf__folder_create(path_in(folder, "checkpoints")));
    return folder;
}

static void load(struct clf__parameters **out, const char *folder)
{
    struct clf__config config;
    assert_ok(clf__config_load(&config, folder));
    assert_ok(clf__parameters_load(out, &config, folder));
    clf__config_free(&config);
}

enum { MODELS = 3, MOST = 20000 };

static void check_means(const char *output, const char *const *folders)
{
    struct clf__parameters *models[MODELS], *mean;
    float *values[MODELS], *means = support_array(MOST, sizeof *means);
    load(&mean, output);
    for (int i = 0; i < MODELS; i++) {
        load(&models[i], folders[i]);
        values[i] = support_array(MOST, sizeof **values);
    }
    const struct clf__parameter_list *list = clf__parameters_list(mean);
    for (int p = 0; p < list->count; p++) {
        size_t count = (size_t)list->items[p].rows * (size_t)list->items[p].columns;
        assert_true(count <= MOST);
        assert_ok(clf__parameters_read(mean, list->items[p].name, means));
        for (int i = 0; i < MODELS; i++) {
            assert_ok(clf__parameters_read(models[i], list->items[p].name, values[i]));
        }
        for (size_t k = 0; k < count; k++) {
            assert_true(means[k] == (float)(((double)values[0][k] + values[1][k] + values[2][k]) / 3));
        }
    }
    clf__parameters_free(mean);
    for (int i = 0; i < MODELS; i++) {
        clf__parameters_free(models[i]);
    }
}

static int entries(const char *folder)
{
    struct clf__names names;
    assert_ok(clf__folder_list(&names, folder));
    int count = names.count;
    clf__names_free(&names);
    return count;
}

static void test_means(void **state)
{
    (void)state;
    const char *folders[MODELS];
    for (int i = 0; i < MODELS; i++) {
        folders[i] = make_model((uint64_t)i, "dropout", i == 1 ? "0.3" : "0.1"); /* no matter here */
    }
    const char *parent = support_temporary_folder();
    static const char *const names[] = {"mean", "mean2/", "mean3//"};
    for (int i = 0; i < 3; i++) {
        char *output = path_in(parent, names[i]);
        assert_ok(clf_average(output, folders, MODELS, CLF_PRECISION_FP32));
        check_means(output, folders);
        assert_int_equal(entries(output), 4); /* config, generation, vocabulary, weights */
        assert_int_equal(entries(parent), i + 1);
    }
    assert_fails(clf_average(path_in(parent, "mean"), folders, MODELS, CLF_PRECISION_FP32), CLF_FILE,
                 "already exists");
    char *alone = path_in(parent, "alone");
    assert_ok(clf_average(alone, folders, 1, CLF_PRECISION_FP32));
    size_t sizes[2];
    char *bytes[2];
    const char *sources[] = {alone, folders[0]};
    for (int i = 0; i < 2; i++) {
        assert_ok(clf__file_read(&bytes[i], &sizes[i], path_in(sources[i], "model.safetensors"), 1 << 24));
    }
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(bytes[0], bytes[1], sizes[0]);
    clf__free(bytes[0]);
    clf__free(bytes[1]);
}

/* Weights of other types, in shards, with other names: every readable format can be averaged. */
static void test_folders_of_others(void **state)
{
    (void)state;
    static const char *const models[] = {"models/marian-float16", "models/marian-shards",
                                         "models/jadore-prj-output", "models/annotated",
                                         "models/speech-all-names"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char folder[512];
        strcpy(folder, support_fixture(models[i]));
        const char *const folders[] = {folder, folder, folder};
        char *output = path_in(support_temporary_folder(), "mean");
        assert_ok(clf_average(output, folders, MODELS, CLF_PRECISION_FP32));
        check_means(output, folders);
        assert_false(clf__file_exists(path_in(output, "model.safetensors.index.json")));
        char *config;
        size_t size;
        assert_ok(clf__file_read(&config, &size, path_in(output, "config.json"), 1 << 16));
        /* Half-precision models are averaged to fp32. */
        assert_null(strstr(config, "float16"));
        assert_int_equal(strstr(config, "\"dtype\": \"float32\"") != NULL, i < 2);
        clf__free(config);
    }
}

/* The values of one model, read from a folder of halves, equal rounded fp32 values. */
static void check_rounded(const char *folder, const char *exact, clf_precision precision)
{
    struct clf__parameters *halves, *floats;
    load(&halves, folder);
    load(&floats, exact);
    const struct clf__parameter_list *list = clf__parameters_list(floats);
    float *half = support_array(MOST, sizeof *half), *whole = support_array(MOST, sizeof *whole);
    int rounded = 0;
    for (int p = 0; p < list->count; p++) {
        assert_ok(clf__parameters_read(halves, list->items[p].name, half));
        assert_ok(clf__parameters_read(floats, list->items[p].name, whole));
        for (int k = 0; k < list->items[p].rows * list->items[p].columns; k++) {
            float expected = precision == CLF_PRECISION_FP16 ? clf__float_of_fp16(clf__fp16_of(whole[k]))
                                                             : clf__float_of_bf16(clf__bf16_of(whole[k]));
            assert_memory_equal(&half[k], &expected, sizeof expected);
            rounded += half[k] != whole[k];
        }
    }
    assert_true(rounded > 100);
    clf__parameters_free(halves);
    clf__parameters_free(floats);
}

static void test_precisions(void **state)
{
    (void)state;
    const char *folder = make_model(1, "dropout", "0.1");
    char saying[512]; /* config.json declares the type */
    strcpy(saying, support_fixture("models/marian-float16"));
    const char *const tellers[] = {saying};
    static const char *const types[] = {NULL, "\"float16\"", "\"bfloat16\""};
    for (clf_precision precision = CLF_PRECISION_FP16; precision <= CLF_PRECISION_BF16; precision++) {
        char *output = path_in(support_temporary_folder(), "halves");
        assert_ok(clf_average(output, &folder, 1, precision));
        check_rounded(output, folder, precision);
        output = path_in(support_temporary_folder(), "halves");
        assert_ok(clf_average(output, tellers, 1, precision));
        char *config;
        size_t size;
        assert_ok(clf__file_read(&config, &size, path_in(output, "config.json"), 1 << 16));
        assert_non_null(strstr(config, types[precision - CLF_PRECISION_FP32]));
        clf__free(config);
    }
    char *none = path_in(support_temporary_folder(), "none");
    assert_fails(clf_average(none, &folder, 1, CLF_PRECISION_INT8), CLF_UNSUPPORTED, "fp32, fp16 or bf16");
    assert_fails(clf_average(none, &folder, 1, (clf_precision)-1), CLF_UNSUPPORTED, "fp32, fp16 or bf16");
    assert_false(clf__folder_exists(none));
}

/* A clf__parameter_reader of numbers too large for halves. */
static clf_status give_large(void *user, int index, float *target)
{
    const struct clf__parameter_list *list = user;
    for (int k = 0; k < list->items[index].rows * list->items[index].columns; k++) {
        target[k] = 65520.0f;
    }
    return CLF_OK;
}

static void test_too_large_for_fp16(void **state)
{
    (void)state;
    const char *folder = make_model(1, "dropout", "0.1");
    struct clf__parameters *parameters;
    load(&parameters, folder);
    struct clf__parameter_list *list = (struct clf__parameter_list *)clf__parameters_list(parameters);
    assert_ok(clf__parameters_save(path_in(folder, "model.safetensors"), list, NULL, CLF__PRECISION_FP32,
                                   give_large, list));
    clf__parameters_free(parameters);
    const char *parent = support_temporary_folder();
    char *output = path_in(parent, "halves");
    assert_fails(clf_average(output, &folder, 1, CLF_PRECISION_FP16), CLF_UNSUPPORTED, "value 65520 exceeds");
    assert_int_equal(entries(parent), 0);
    assert_ok(clf_average(output, &folder, 1, CLF_PRECISION_BF16));
}

static void test_what_differs(void **state)
{
    (void)state;
    const char *folders[2] = {NULL, NULL};
    char *output = path_in(support_temporary_folder(), "mean");
    static const char *const keys[][3] = {{"activation_function", "\"relu\"", "\"gelu\""},
                                          {"encoder_ffn_dim", "8", "16"},
                                          {"norm", "\"layer\"", "\"rms\""}};
    for (int i = 0; i < 3; i++) {
        folders[0] = make_model(1, keys[i][0], keys[i][1]);
        folders[1] = make_model(1, keys[i][0], keys[i][2]);
        char wanted[64];
        snprintf(wanted, sizeof wanted, "have different values for \"%s\"", keys[i][0]);
        assert_fails(clf_average(output, folders, 2, CLF_PRECISION_FP32), CLF_FORMAT, wanted);
        assert_non_null(strstr(clf_last_error(), folders[1]));
    }
    folders[0] = make_model(1, "activation_function", "\"relu\"");
    folders[1] = make_model(2, "activation_function", "\"relu\"");
    write_text(folders[1], "vocab.json", "{ }");
    assert_fails(clf_average(output, folders, 2, CLF_PRECISION_FP32), CLF_FORMAT, "vocab.json differ");
    /* A broken link is not an optional file that both folders lack. */
    static const char *const names[] = {"source.spm", "tokenizer_config.json"};
    for (int i = 0; i < 2; i++) {
        folders[0] = folders[1] = make_model(1, "dropout", "0");
        assert_int_equal(symlink("nowhere", path_in(folders[0], names[i])), 0);
        assert_fails(clf_average(output, folders, 2, CLF_PRECISION_FP32), CLF_FILE, names[i]);
        assert_non_null(strstr(clf_last_error(), "is a symbolic link to a missing file"));
    }
    folders[1] = path_in(folders[0], "none");
    assert_fails(clf_average(output, folders, 2, CLF_PRECISION_FP32), CLF_FILE, "none: no such folder");
    folders[1] = folders[0] = support_fixture("formats/ctranslate2/post-norm");
    assert_fails(clf_average(output, folders, 2, CLF_PRECISION_FP32), CLF_UNSUPPORTED,
                 "post-norm: a CTranslate2 folder with converted weights");
    assert_fails(clf_average(output, folders, 0, CLF_PRECISION_FP32), CLF_BAD_ARGUMENT,
                 "no models to average");
    assert_false(clf__folder_exists(output));
}

/* Out of memory or disk space: nothing is left, and the first error is returned. */
static void test_nothing_half_written(void **state)
{
    (void)state;
    const char *folders[] = {make_model(1, "dropout", "0"), make_model(2, "dropout", "0")};
    const char *parent = support_temporary_folder();
    char *output = path_in(parent, "mean");
    clf_status status = CLF_OUT_OF_MEMORY;
    for (uint64_t n = 1; status != CLF_OK; n++) {
        assert_true(n < 2000);
        clf__memory_fail_at(n);
        status = clf_average(output, folders, 2, CLF_PRECISION_FP32);
        clf__memory_fail_at(0);
        if (status == CLF_OUT_OF_MEMORY && clf__folder_exists(output)) {
            clf__folder_remove(output); /* the last allocation, after the rename */
        } else if (status != CLF_OK) {
            assert_int_equal(status, CLF_OUT_OF_MEMORY);

            assert_int_equal(entries(parent), 0);
        }
    }
    clf__folder_remove(output);
    struct rlimit all, little = {.rlim_cur = 3000};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
    little.rlim_max = all.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    status = clf_average(output, folders, 2, CLF_PRECISION_FP32);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    assert_fails(status, CLF_FILE, "cannot be written");
    assert_int_equal(entries(parent), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_means, support_teardown),
        cmocka_unit_test_teardown(test_folders_of_others, support_teardown),
        cmocka_unit_test_teardown(test_precisions, support_teardown),
        cmocka_unit_test_teardown(test_too_large_for_fp16, support_teardown),
        cmocka_unit_test_teardown(test_what_differs, support_teardown),
        cmocka_unit_test_teardown(test_nothing_half_written, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
