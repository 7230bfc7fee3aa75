/* Output of clf_inspect() for the small models. */
#include <clformer/inspect.h>

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "support/support.h"

static json_t *inspect(const char *folder)
{
    char *text;
    assert_ok(clf_inspect(&text, folder));
    json_t *model = json_loads(text, 0, NULL);
    assert_non_null(model);
    clf_string_free(text);
    return model;
}

static int says(const json_t *model, const char *part)
{
    const json_t *unusual = json_object_get(model, "unusual");
    int count = 0;
    for (size_t i = 0; i < json_array_size(unusual); i++) {
        count += strstr(json_string_value(json_array_get(unusual, i)), part) != NULL;
    }
    return count;
}

static long long integer(const json_t *model, const char *part, const char *key)
{
    const json_t *value = json_object_get(json_object_get(model, part), key);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static void test_demo_model(void **state)
{
    (void)state;
    json_t *model = inspect(CLF_SOURCE_FOLDER "/tools/models/fr-en-small");
    assert_string_equal(json_string_value(json_object_get(model, "architecture")), "marian");
    assert_int_equal(integer(model, "configuration", "d_model"), 192);
    assert_int_equal(integer(model, "configuration", "encoder_d_k"), 32);
    assert_int_equal(integer(model, "generation", "beam"), 4);
    assert_int_equal(integer(model, "generation", "max_length"), 255);
    assert_int_equal(integer(model, "tokenizer", "target_vocabulary_size"), 4000);
    assert_string_equal(json_string_value(json_object_get(json_object_get(model, "tokenizer"), "kind")),
                        "sentencepiece");
    const json_t *tensors = json_object_get(model, "tensors");
    long long parameters = 0, bytes = 0;
    for (size_t i = 0; i < json_array_size(tensors); i++) {
        const json_t *tensor = json_array_get(tensors, i), *shape = json_object_get(tensor, "shape");
        long long values = 1;
        for (size_t k = 0; k < json_array_size(shape); k++) {
            values *= json_integer_value(json_array_get(shape, k));
        }
        parameters += values;
        bytes += json_integer_value(json_object_get(tensor, "bytes"));
        double low = json_number_value(json_object_get(tensor, "minimum"));
        double high = json_number_value(json_object_get(tensor, "maximum"));
        double mean = json_number_value(json_object_get(tensor, "mean"));
        assert_true(low <= mean && mean <= high);
        assert_string_equal(json_string_value(json_object_get(tensor, "type")), "F16");
    }
    assert_int_equal(json_integer_value(json_object_get(model, "bytes")), bytes);
    assert_in_range(json_integer_value(json_object_get(model, "parameters")), parameters, parameters + 4000);
    json_decref(model);
}

static void test_every_architecture(void **state)
{
    (void)state;
    static const char *const names[] = {"paper", "jadore", "annotated", "speech", "illustrated", "marian"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *folder = names[i];
        char name[64];
        snprintf(name, sizeof name, "models/%s", strcmp(folder, "jadore") == 0 ? "jadore-emb" : folder);
        json_t *model = inspect(support_fixture(name));
        assert_string_equal(json_string_value(json_object_get(model, "architecture")), folder);
        assert_true(json_array_size(json_object_get(model, "tensors")) > 10);
        assert_int_equal(says(model, "activation_function"), 0); /* clformer folders have the preset's
                                                                    value */
        json_decref(model);
    }
}

/* Separate matrices do not imply two vocabularies. */
static void test_vocabularies(void **state)
{
    (void)state;
    static const struct {
        const char *folder;
        int separate;
    } cases[] = {{"models/jadore-prj-output", 0},
                 {"models/jadore-emb", 1},
                 {"models/paper-separate", 1},
                 {"models/marian-shared-untied", 0},
                 {"models/marian-untied", 1},
                 {"models/speech", 0},
                 {"models/marian", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *model = inspect(support_fixture(cases[i].folder));
        const json_t *tokenizer = json_object_get(model, "tokenizer");
        assert_int_equal(json_is_true(json_object_get(tokenizer, "separate_vocabularies")),
                         cases[i].separate);
        json_decref(model);
    }
}

/* An unsupported model is described from its files, with the error of loading it. */
static void test_unsupported(void **state)
{
    (void)state;
    static const char config[] = "{\"model_type\": \"bert\", \"d_model\": 24}";
    const char *folder = support_temporary_folder();
    char *path, *text;
    assert_ok(clf__path_join(&path, folder, "config.json"));
    assert_ok(clf__file_write(path, config, sizeof config - 1));
    clf__free(path);
    assert_ok(clf__path_join(&path, folder, "model.safetensors"));
    assert_ok(clf__file_copy(path, support_fixture("models/marian/model.safetensors")));
    clf__free(path);
    assert_fails(clf_inspect(&text, folder), CLF_UNSUPPORTED, "\"model_type\" is \"bert\"");
    assert_non_null(text);
    json_t *model = json_loads(text, 0, NULL);
    clf_string_free(text);
    assert_true(json_is_null(json_object_get(model, "architecture")));
    assert_string_equal(json_string_value(json_object_get(model, "model_type")), "bert");
    assert_int_equal(integer(model, "configuration", "d_model"), 24);
    assert_string_equal(json_string_value(json_object_get(model, "cannot_run")), clf_last_error());
    json_t *whole = inspect(support_fixture("models/marian"));
    assert_true(json_is_null(json_object_get(whole, "cannot_run")));
    assert_true(json_equal(json_object_get(model, "bytes"), json_object_get(whole, "bytes")));
    assert_true(json_array_size(json_object_get(model, "tensors")) > 10);
    json_decref(whole);
    json_decref(model);
    static const char *const paths[] = {"/no/such/model", "model", "./model", "../model", "a/b/c", "a/"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        assert_fails(clf_inspect(&text, paths[i]), CLF_FILE, "no such folder; use a folder with config.json");
    }
    assert_fails(clf_inspect(&text, "openai/whisper-tiny"), CLF_FILE,
                 "`hf download openai/whisper-tiny --local-dir whisper-tiny` and use whisper-tiny");
    assert_null(text);
}

static void test_odd_sizes_are_unusual(void **state)
{
    (void)state;
    json_t *model = inspect(support_fixture("models/marian-odd"));
    assert_int_equal(says(model, "not a multiple of 16"), 1);
    json_decref(model);
    model = inspect(CLF_SOURCE_FOLDER "/tools/models/fr-en-small");
    assert_int_equal(says(model, "multiple of"), 0);
    json_decref(model);
}

static void test_missing_folder(void **state)
{
    (void)state;
    char *text;
    assert_fails(clf_inspect(&text, "/no/such/folder"), CLF_FILE, "/no/such/folder");
    assert_null(text);
}

/* Every allocation fails once: an error, and no leak (checked by LeakSanitizer). */
static void test_no_memory(void **state)
{
    (void)state;
    clf_status status = CLF_OUT_OF_MEMORY;
    uint64_t turn = 0;
    while (status != CLF_OK) {
        char *text;
        clf__memory_fail_at(++turn);
        status = clf_inspect(&text, support_fixture("models/marian"));
        clf__memory_fail_at(0);
        if (status == CLF_OK) {
            clf_string_free(text);
        } else {
            assert_int_equal(status, CLF_OUT_OF_MEMORY);
            assert_null(text);
        }
    }
    assert_true(turn > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_demo_model),
        cmocka_unit_test(test_every_architecture),
        cmocka_unit_test(test_vocabularies),
        cmocka_unit_test(test_odd_sizes_are_unusual),
        cmocka_unit_test(test_missing_folder),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test_teardown(test_unsupported, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
