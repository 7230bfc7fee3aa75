/* New models: written files are read back unchanged; weights have each architecture's initialisation; no
 * partial files stay. */
#include "support/support.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/config/architectures/architecture.h"
#include "model/config/config.h"
#include "model/config/write.h"
#include "model/save.h"

enum { SEED = 5 };

/* A description with a small model's sizes; `further` adds keys and ends with NULL. */
static struct clf__model_description describe(const char *preset, const char *const *further)
{
    static const char *const sizes[] = {"d_model=64",
                                        "encoder_layers=2",
                                        "decoder_layers=1",
                                        "encoder_ffn_dim=96",
                                        "decoder_ffn_dim=96",
                                        "encoder_attention_heads=4",
                                        "dropout=0.25",
                                        "decoder_attention_heads=4",
                                        "max_position_embeddings=40",
                                        NULL};
    struct clf__model_description description = {.preset = preset,
                                                 .source_vocabulary = 90,
                                                 .target_vocabulary = 90,
                                                 .sizes = sizes,
                                                 .choices = further};
    struct clf__config config;
    for (int id = CLF__MARIAN; id <= CLF__ILLUSTRATED; id++) {
        if (strcmp(clf__architecture_word((enum clf__architecture_id)id), preset) == 0) {
            clf__config_preset(&config, (enum clf__architecture_id)id);
        }
    }
    int is_marian = config.architecture == CLF__MARIAN;
    description.pad_id = is_marian ? 89 : config.pad_id;
    description.start_id = config.start_id;
    description.end_id = config.end_id;
    description.source_vocabulary = config.feature_size > 0 ? 0 : 90;
    while (further && further[description.choice_count]) {
        description.choice_count++;
    }
    return description;
}

static const char *const presets[] = {"marian", "paper", "jadore", "annotated", "speech", "illustrated"};
enum { PRESETS = sizeof presets / sizeof *presets };

static void load(struct clf__config *config, struct clf__parameters **parameters, const char *folder)
{
    assert_ok(clf__config_load(config, folder));
    assert_ok(clf__parameters_load(parameters, config, folder));
}

static int entries(const char *folder)
{
    struct clf__names names;
    assert_ok(clf__folder_list(&names, folder));
    int count = names.count;
    clf__names_free(&names);
    return count;
}

/* Mean and deviation of a parameter, and its bounds. */
struct statistics {
    double mean, deviation, least, most;
};

static struct statistics judge(const struct clf__parameters *parameters, const struct clf__parameter *item)
{
    size_t count = (size_t)item->rows * (size_t)item->columns, used = 0;
    float *values = support_array(count, sizeof *values);
    assert_ok(clf__parameters_read(parameters, item->name, values));
    struct statistics about = {.least = INFINITY, .most = -INFINITY};
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        if ((int)(i / (size_t)item->columns) == item->initial.zero_row) {
            assert_true(values[i] == 0);
            continue;
        }
        sum += values[i];
        squares += (double)values[i] * values[i];
        about.least = fmin(about.least, values[i]);
        about.most = fmax(about.most, values[i]);
        used++;
    }
    about.mean = sum / (double)used;
    about.deviation = sqrt(squares / (double)used - about.mean * about.mean);
    return about;
}

/* Within five standard errors of the requested distribution. */
static void check_initial(const struct clf__parameters *parameters, const struct clf__parameter *item)
{
    struct statistics about = judge(parameters, item);
    double size = item->initial.size, count = (double)item->rows * item->columns;
    switch (item->initial.kind) {
    case CLF__INITIAL_CONSTANT:
        assert_true(about.least == size && about.most == size);
        break;
    case CLF__INITIAL_UNIFORM:
        assert_true(about.least >= -size && about.most <= size && about.most > 0 && about.least < 0);
        assert_true(fabs(about.mean) < 5 * size / sqrt(3 * count));
        assert_true(fabs(about.deviation - size / sqrt(3)) < 5 * size / sqrt(count));
        break;
    case CLF__INITIAL_NORMAL:
        assert_true(fabs(about.mean) < 5 * size / sqrt(count));
        assert_true(fabs(about.deviation - size) < 5 * size / sqrt(count));
        assert_true(about.most < 6 * size && about.least > -6 * size);
        break;
    case CLF__INITIAL_SINUSOIDS: /* the squares of a sine and its cosine sum to 1 */
        assert_true(about.least >= -1 && about.most == 1);
        assert_true(fabs(about.deviation * about.deviation + about.mean * about.mean - 0.5) < 1e-6);
        break;
    }
}

static void test_new_models(void **state)
{
    (void)state;
    for (int i = 0; i < PRESETS; i++) {
        const char *folder = support_temporary_folder();
        struct clf__model_description description = describe(presets[i], NULL);
        assert_ok(clf__model_describe(folder, &description));
        assert_int_equal(entries(folder), 2);
        assert_ok(clf__model_initialise(folder, SEED, NULL, NULL));
        assert_int_equal(entries(folder), 3);
        struct clf__config config;
        struct clf__parameters *parameters;
        load(&config, &parameters, folder);
        assert_string_equal(clf__architecture_word(config.architecture), presets[i]);
        assert_int_equal(config.d_model, 64);
        assert_int_equal(config.encoder_layers, 2);
        assert_int_equal(config.target_vocabulary, 90);
        assert_int_equal(config.pad_id, description.pad_id);
        assert_int_equal(config.end_id, description.end_id);
        assert_int_equal(config.decoder_start_id, i == 0 ? 89 : description.start_id);
        assert_true(config.dropout == 0.25f);
        const struct clf__parameter_list *list = clf__parameters_list(parameters);
        for (int k = 0; k < list->count; k++) {
            assert_non_null(clf__parameters_stored(parameters, list->items[k].name));
            check_initial(parameters, &list->items[k]);
        }
        clf__parameters_free(parameters);
        clf__config_free(&config);
        support_free_all();
    }
}

static char *read_weights(const char *folder, size_t *size)
{
    char *path, *bytes;
    assert_ok(clf__path_join(&path, folder, "model.safetensors"));
    assert_ok(clf__file_read(&bytes, size, path, 1 << 24));
    clf__free(path);
    return bytes;
}

static void test_the_seed_decides(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    struct clf__model_description description = describe("paper", NULL);
    assert_ok(clf__model_describe(folder, &description));
    static const uint64_t seeds[] = {1, 1, 2, 1ull << 32};
    char *bytes[4];
    size_t sizes[4];
    for (int i = 0; i < 4; i++) {
        assert_ok(clf__model_initialise(folder, seeds[i], NULL, NULL));
        bytes[i] = read_weights(folder, &sizes[i]);
        assert_int_equal(sizes[i], sizes[0]);
    }
    assert_memory_equal(bytes[0], bytes[1], sizes[0]);
    assert_memory_not_equal(bytes[0], bytes[2], sizes[0]);
    assert_memory_not_equal(bytes[0], bytes[3], sizes[0]);
    for (int i = 0; i < 4; i++) {
        clf__free(bytes[i]);
    }
}

/* Choices are written to the file they belong to. */
static void test_choices(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    static const char *const choices[] = {"normalize_before=true", "norm=\"rms\"",  "num_beams=7",
                                          "length_rule=none",      "max_length=12", NULL};
    struct clf__model_description description = describe("paper", choices);
    assert_ok(clf__model_describe(folder, &description));
    struct clf__config config;
    assert_ok(clf__config_load(&config, folder));
    assert_true(config.norm_first);
    assert_int_equal(config.norm, CLF__NORM_RMS);
    assert_int_equal(config.generation.beams, 7);
    assert_int_equal(config.generation.length_rule, CLF__LENGTH_NONE);
    assert_int_equal(config.generation.max_length, 11);
    clf__config_free(&config);
}

static void test_what_cannot_be_chosen(void **state)
{
    (void)state;
    static const struct {
        const char *preset, *word, *part;
        clf_status status;
    } cases[] = {
        {"paper", "d_modle=3", "\"d_modle\" is not a key", CLF_BAD_ARGUMENT},
        {"paper", "vocab_size=3", "\"vocab_size\" is not a key", CLF_BAD_ARGUMENT},
        {"marian", "norm=\"rms\"", "cannot be set, because the preset marian", CLF_BAD_ARGUMENT},
        {"paper", "norm=\"batch\"", "supported: layer, rms, std", CLF_UNSUPPORTED},
        {"paper", "d_model=0", "\"d_model\" is 0", CLF_FORMAT},
        {"annotated", "feature_size=7", "either frames", CLF_BAD_ARGUMENT},
        {"marian", "share_encoder_decoder_embeddings=false", "requires shared embeddings", CLF_BAD_ARGUMENT},
        {"medieval", "d_model=3", "unknown preset \"medieval\"", CLF_BAD_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clf__model_description description = {
            .preset = cases[i].preset,
            .source_vocabulary = 30,
            .target_vocabulary = 30,
            .pad_id = 1,
            .start_id = 0,
            .end_id = 2,
            .choices = &cases[i].word,
            .choice_count = 1,
        };
        assert_fails(clf__model_describe(support_temporary_folder(), &description), cases[i].status,
                     cases[i].part);
    }
}

static void test_separate_vocabularies(void **state)
{
    (void)state;
    static const char *const sharing[] = {"share_encoder_decoder_embeddings=true", NULL};
    for (int i = 0; i < 2; i++) {
        const char *folder = support_temporary_folder();
        struct clf__model_description description = describe(presets[i], NULL);
        description.separate_vocabularies = 1;
        description.target_vocabulary = 92;
        assert_ok(clf__model_describe(folder, &description));
        struct clf__config config;
        assert_ok(clf__config_load(&config, folder));
        assert_true(config.separate_vocabularies && !config.share_source_target);
        assert_int_equal(config.source_vocabulary, 90);
        assert_int_equal(config.target_vocabulary, 92);
        clf__config_free(&config);
        description = describe(presets[i], sharing);
        description.separate_vocabularies = 1;
        assert_fails(clf__model_describe(folder, &description), CLF_BAD_ARGUMENT, "cannot share");
    }
}

/* A tokenizer without a limit gets the model's. */
static void test_the_tokenizers_limit(void **state)
{
    (void)state;
    static const char *const texts[][2] = {{"{\"unk_token\": \"<unk>\"}", "\"model_max_length\": 40"},
                                           {"{\"model_max_length\": 9}", "\"model_max_length\": 9"}};
    for (int i = 0; i < 2; i++) {
        const char *folder = support_temporary_folder();
        char *path, *text;
        size_t size;
        assert_ok(clf__path_join(&path, folder, "tokenizer_config.json"));
        assert_ok(clf__file_write(path, texts[i][0], strlen(texts[i][0])));
        struct clf__model_description description = describe("paper", NULL);
        assert_ok(clf__model_describe(folder, &description));
        assert_ok(clf__file_read(&text, &size, path, 1000));
        assert_non_null(strstr(text, texts[i][1]));
        clf__free(text);
        clf__free(path);
    }
}

struct counted {
    const struct clf__parameter_list *list;
    int calls[3];
    int failing; /* the call that fails, or 0 */
    int done;
};

static clf_status give_index(void *user, int index, float *target)
{
    struct counted *counted = user;
    counted->calls[index]++;
    if (++counted->done == counted->failing) {
        return clf__fail(CLF_DEVICE, "the device is gone");
    }
    for (int i = 0; i < counted->list->items[index].rows * counted->list->items[index].columns; i++) {
        target[i] = (float)(100 * index + i);
    }
    return CLF_OK;
}

static struct clf__parameter three_items[] = {{.name = "model.b.weight", .rows = 2, .columns = 3},
                                              {.name = "model.a.bias", .rows = 1, .columns = 5},
                                              {.name = "final_logits_bias", .rows = 1, .columns = 4}};
static const struct clf__parameter_list three = {three_items, 3};

static void test_the_file(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    char *path;
    assert_ok(clf__path_join(&path, folder, "model.safetensors"));
    struct counted counted = {.list = &three};
    assert_ok(clf__parameters_save(path, &three, ".first_moment", CLF__PRECISION_FP32, give_index, &counted));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(counted.calls[i], 1);
    }
    struct clf__weights *weights;
    assert_ok(clf__weights_open(&weights, folder));
    assert_int_equal(clf__weights_count(weights), 3);
    static const struct {
        const char *name;
        int dimensions, index, count;
    } expected[] = {{"final_logits_bias.first_moment", 2, 2, 4},
                    {"model.a.bias.first_moment", 1, 1, 5},
                    {"model.b.weight.first_moment", 2, 0, 6}};
    uint64_t next = 0;
    for (int i = 0; i < 3; i++) {
        const struct clf__stored_tensor *tensor = clf__weights_find(weights, expected[i].name);
        assert_non_null(tensor);
        assert_int_equal(tensor->dimensions, expected[i].dimensions);
        assert_true(next == 0 || tensor->offset == next); /* in the order of names */
        next = tensor->offset + tensor->size;
        float values[6];
        assert_ok(clf__stored_tensor_read(tensor, values));
        for (int k = 0; k < expected[i].count; k++) {
            assert_true(values[k] == (float)(100 * expected[i].index + k));
        }
    }
    const struct clf__stored_tensor *first = clf__weights_find(weights, expected[0].name);
    assert_int_equal(first->offset % 8, 0);
    clf__weights_close(weights);
    clf__free(path);
}

/* A failing reader, out of memory, a full disk: only the old file stays. */
static void test_nothing_half_written(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    char *path, *before;
    size_t size;
    assert_ok(clf__path_join(&path, folder, "model.safetensors"));
    struct counted counted = {.list = &three};
    assert_ok(clf__parameters_save(path, &three, NULL, CLF__PRECISION_FP32, give_index, &counted));
    before = read_weights(folder, &size);
    counted = (struct counted){.list = &three, .failing = 2};
    assert_fails(clf__parameters_save(path, &three, "x", CLF__PRECISION_FP32, give_index, &counted),
                 CLF_DEVICE, "is gone");
    clf__memory_fail_at(0);
    counted.failing = 0;
    assert_ok(clf__parameters_save(path, &three, NULL, CLF__PRECISION_FP32, give_index, &counted));
    uint64_t total = clf__memory_count();
    for (uint64_t n = 1; n < total; n++) { /* the last one is after the rename */
        clf__memory_fail_at(n);
        assert_fails(clf__parameters_save(path, &three, "x", CLF__PRECISION_FP32, give_index, &counted),
                     CLF_OUT_OF_MEMORY, "");
    }
    clf__memory_fail_at(0);
    struct rlimit all, little = {.rlim_cur = size - 20};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
    little.rlim_max = all.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    clf_status status = clf__parameters_save(path, &three, "x", CLF__PRECISION_FP32, give_index, &counted);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    assert_fails(status, CLF_FILE, "model.safetensors: cannot be written");
    size_t after_size;
    char *after = read_weights(folder, &after_size);
    assert_int_equal(after_size, size);
    assert_memory_equal(after, before, size);
    assert_int_equal(entries(folder), 1);
    clf__free(after);
    clf__free(before);
    clf__free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_new_models, support_teardown),
        cmocka_unit_test_teardown(test_the_seed_decides, support_teardown),
        cmocka_unit_test_teardown(test_choices, support_teardown),
        cmocka_unit_test_teardown(test_what_cannot_be_chosen, support_teardown),
        cmocka_unit_test_teardown(test_separate_vocabularies, support_teardown),
        cmocka_unit_test_teardown(test_the_tokenizers_limit, support_teardown),
        cmocka_unit_test_teardown(test_the_file, support_teardown),
        cmocka_unit_test_teardown(test_nothing_half_written, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
