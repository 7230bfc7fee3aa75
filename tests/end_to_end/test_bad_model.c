/* Damaged or inconsistent model folders are rejected with one message that names the problem. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/process.h"

static struct process_result load(const char *folder)
{
    return run_clformer("a\n", process_format("translate -m %s", folder));
}

static const char *tiny(void)
{
    return process_model_copy(support_fixture("models/marian"));
}

static void test_missing_folder(void **state)
{
    (void)state;
    struct process_result result = load("/no/such/model");
    assert_refused(result, 1, "/no/such/model");
    result = load("/etc/passwd");
    assert_refused(result, 1, "/etc/passwd");
    result = run_clformer(NULL, "inspect /no/such/model");
    assert_refused(result, 1, "/no/such/model");
    result = load(support_temporary_folder());
    assert_refused(result, 1, "config.json");
}

/* A file of the model instead of its folder, for every verb that takes a folder. */
static void test_file_for_folder(void **state)
{
    (void)state;
    struct process_result result = load(DEMO_MODEL "/model.safetensors");
    assert_refused(result, 1,
                   "model.safetensors: a file, not a model folder; use the folder " DEMO_MODEL "\n");
    result = run_clformer(NULL, "inspect " DEMO_MODEL "/config.json");
    assert_refused(result, 1, "use the folder " DEMO_MODEL "\n");
    const char *folder = support_temporary_folder();
    result = run_clformer(NULL, process_format("average " DEMO_MODEL "/vocab.json -o %s/mean", folder));
    assert_refused(result, 1, "use the folder " DEMO_MODEL "\n");
    process_write(folder, "pairs", "a\tb\n", 4);
    result = run_clformer(NULL, process_format("train --from " DEMO_MODEL "/config.json --train %s/pairs -o "
                                               "%s/model",
                                               folder, folder));
    assert_refused(result, 1, "use the folder " DEMO_MODEL "\n");
    result = load("/etc/passwd");
    assert_refused(result, 1, "/etc/passwd: a file, not a model folder; use a folder with config.json");
}

/* A clone without git-lfs has a short text in place of each large file. */
static void test_git_lfs_pointers(void **state)
{
    (void)state;
    static const char pointer[] = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 9\n";
    static const char *const names[] = {"model.safetensors", "config.json", "source.spm",
                                        "target.spm",        "vocab.json",  "generation_config.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *folder = process_model_copy(DEMO_MODEL);
        process_write(folder, names[i], pointer, sizeof pointer - 1);
        struct process_result result = load(folder);
        assert_refused(
            result, 1,
            process_format(
                "%s/%s: is a Git LFS pointer, not the file itself; run `git lfs pull` in its folder\n",
                folder, names[i]));
    }
}

/* Foreign formats are named, with what is known about them. */
static void test_other_formats(void **state)
{
    (void)state;
    const char *folder = tiny();
    static const char bert[] =
        "{\"model_type\": \"bert\", \"architectures\": [\"BertModel\"], \"hidden\": 8}";
    process_write(folder, "config.json", bert, sizeof bert - 1);
    struct process_result result = load(folder);
    assert_refused(result, 1, "\"model_type\" is \"bert\", an encoder-only model; use a model");
    result = run_clformer(NULL, process_format("inspect %s", folder));
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.output,
                           "\nModel type    bert\nClasses       [\"BertModel\"]\nParameters    23149 in "));
    assert_non_null(strstr(result.output, "\n  model.shared.weight "));
    assert_null(strstr(result.output, "minimum"));
    assert_int_equal(process_count(result.errors, "\"model_type\" is \"bert\""), 1);
    result = run_clformer(NULL, process_format("inspect --json %s", folder));
    assert_int_equal(result.status, 1);
    assert_non_null(strstr(result.output, "\"cannot_run\":\""));
    folder = support_temporary_folder();
    process_write(folder, "model.bin", "\6", 1);
    process_write(folder, "config.json", "{\"bos_token\": \"<s>\"}", 20);
    process_write(folder, "shared_vocabulary.json", "[]", 2);
    result = load(folder);
    assert_refused(result, 1, "model.bin: the list of variables is truncated");
}

static void test_broken_config(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "{", "[]", "not JSON", "{}", "{\"model_type\": \"bert\"}", "{\"model_type\": 3}", "\xff\xfe"};
    const char *folder = tiny();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        process_write(folder, "config.json", texts[i], strlen(texts[i]));
        struct process_result result = load(folder);
        assert_refused(result, 1, "config.json");
    }
}

static void test_config_sizes(void **state)
{
    (void)state;
    static const char *const keys[] = {"d_model",         "encoder_layers", "decoder_attention_heads",
                                       "encoder_ffn_dim", "vocab_size",     "max_position_embeddings"};
    const char *folder = tiny();
    json_t *config = json_load_file(process_format("%s/config.json", folder), 0, NULL);
    assert_non_null(config);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        json_t *values = json_pack("[i, i, s, I, f]", 0, -1, "12", (json_int_t)1000000000000, 1.5);
        for (size_t i = 0; i < json_array_size(values); i++) {
            if (k % 3 != i % 3 && i > 1) {
                continue; /* each kind of value with some keys */
            }
            json_t *changed = json_copy(config);
            json_object_set(changed, keys[k], json_array_get(values, i));
            char *text = json_dumps(changed, 0);
            process_write(folder, "config.json", text, strlen(text));
            free(text);
            json_decref(changed);
            struct process_result result = load(folder);
            assert_refused(result, 1, process_format("config.json: \"%s\"", keys[k]));
        }
        json_decref(values);
    }
    json_decref(config);
}

/* The parts of a safetensors file. */
struct parts {
    json_t *header;
    const char *data;
    size_t data_size;
};

static struct parts take_apart(const char *folder)
{
    size_t size;
    char *bytes = process_read(folder, "model.safetensors", &size);
    uint64_t length = 0;
    for (int i = 7; i >= 0; i--) {
        length = length << 8 | (unsigned char)bytes[i];
    }
    struct parts parts = {json_loadb(bytes + 8, (size_t)length, 0, NULL), bytes + 8 + length,
                          size - 8 - (size_t)length};
    assert_non_null(parts.header);
    return parts;
}

static void put_together(const char *folder, const struct parts *parts)
{
    char *header = json_dumps(parts->header, JSON_COMPACT);
    size_t length = strlen(header), size = 8 + length + parts->data_size;
    char *bytes = support_array(size, 1);
    for (int i = 0; i < 8; i++) {
        bytes[i] = (char)(length >> 8 * i & 255);
    }
    memcpy(bytes + 8, header, length);
    memcpy(bytes + 8 + length, parts->data, parts->data_size);
    process_write(folder, "model.safetensors", bytes, size);
    free(header);
}

static void test_truncated(void **state)
{
    (void)state;
    const char *folder = tiny();
    size_t size;
    char *bytes = process_read(folder, "model.safetensors", &size);
    size_t header = 8 + ((size_t)(unsigned char)bytes[0] | (size_t)(unsigned char)bytes[1] << 8 |
                         (size_t)(unsigned char)bytes[2] << 16);
    const size_t lengths[] = {0,          1,      7,          8,        9,        100,
                              header - 1, header, header + 1, size / 2, size - 4, size - 1};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        process_write(folder, "model.safetensors", bytes, lengths[i]);
        struct process_result result = load(folder);
        assert_refused(result, 1, "model.safetensors");
    }
    process_remove(folder, "model.safetensors");
    struct process_result result = load(folder);
    assert_refused(result, 1, "model.safetensors");
}

static void test_header_length_lies(void **state)
{
    (void)state;
    const char *folder = tiny();
    size_t size;
    char *bytes = process_read(folder, "model.safetensors", &size);
    const uint64_t lies[] = {0, 1, (uint64_t)size - 8, (uint64_t)size, UINT64_C(1) << 40, UINT64_MAX};
    for (size_t k = 0; k < sizeof lies / sizeof *lies; k++) {
        for (int i = 0; i < 8; i++) {
            bytes[i] = (char)(lies[k] >> 8 * i & 255);
        }
        process_write(folder, "model.safetensors", bytes, size);
        struct process_result result = load(folder);
        assert_refused(result, 1, "model.safetensors");
    }
}

/* The model with one tensor's entry changed; `change` is JSON merged into it. */
static void refuse_tensor(const char *name, const char *change)
{
    const char *folder = tiny();
    struct parts parts = take_apart(folder);
    json_t *entry = json_object_get(parts.header, name), *changes = json_loads(change, 0, NULL);
    assert_non_null(entry);
    assert_non_null(changes);
    json_object_update(entry, changes);
    put_together(folder, &parts);
    json_decref(changes);
    json_decref(parts.header);
    struct process_result result = load(folder);
    assert_refused(result, 1, name);
}

#define FC1 "model.encoder.layers.0.fc1.weight"

static void test_tensor_lies(void **state)
{
    (void)state;
    refuse_tensor(FC1, "{\"data_offsets\": [4, 0]}");
    refuse_tensor(FC1, "{\"data_offsets\": [-4, 4]}");
    refuse_tensor(FC1, "{\"data_offsets\": [0, 1000000000]}");
    refuse_tensor(FC1, "{\"data_offsets\": [\"0\", 4]}");
    refuse_tensor(FC1, "{\"data_offsets\": [0]}");
    refuse_tensor(FC1, "{\"shape\": [3, 3]}");
    refuse_tensor(FC1, "{\"shape\": [-1, 3]}");
    refuse_tensor(FC1, "{\"shape\": [4611686018427387904, 4611686018427387904]}");
    refuse_tensor(FC1, "{\"shape\": \"large\"}");
    refuse_tensor(FC1, "{\"shape\": [1, 1, 1, 1, 1, 1, 1, 1, 1]}");
    refuse_tensor(FC1, "{\"dtype\": \"F13\"}");
    refuse_tensor(FC1, "{\"dtype\": \"I32\"}");
    refuse_tensor(FC1, "{\"dtype\": \"F16\"}");
    refuse_tensor(FC1, "{\"dtype\": 7}");
}

/* A transposed matrix has the right number of bytes. */
static void test_wrong_shape(void **state)
{
    (void)state;
    const char *folder = tiny();
    struct parts parts = take_apart(folder);
    json_t *shape = json_object_get(json_object_get(parts.header, FC1), "shape");
    json_array_insert(shape, 0, json_array_get(shape, 1));
    json_array_remove(shape, 2);
    put_together(folder, &parts);
    json_decref(parts.header);
    struct process_result result = load(folder);
    assert_refused(result, 1, "\"" FC1 "\" has shape");
}

static void test_tensor_missing_or_unknown(void **state)
{
    (void)state;
    const char *folder = tiny();
    struct parts parts = take_apart(folder);
    json_t *entry = json_incref(json_object_get(parts.header, FC1));
    json_object_set(parts.header, "model.encoder.layers.0.fc9.weight", entry);
    json_object_del(parts.header, FC1);
    put_together(folder, &parts);
    struct process_result result = load(folder);
    assert_refused(result, 1, "\"" FC1 "\" is missing");
    json_object_del(parts.header, "model.encoder.layers.0.fc9.weight");
    json_object_set_new(parts.header, FC1, entry);
    char *more = support_array(parts.data_size + 4, 1);
    memcpy(more, parts.data, parts.data_size);
    json_object_set_new(parts.header, "model.extra",
                        json_pack("{s:s, s:[i], s:[I, I]}", "dtype", "F32", "shape", 1, "data_offsets",
                                  (json_int_t)parts.data_size, (json_int_t)parts.data_size + 4));
    parts.data = more;
    parts.data_size += 4;
    put_together(folder, &parts);
    json_decref(parts.header);
    result = load(folder);
    assert_refused(result, 1, "\"model.extra\" is not part");
}

static void refuse_file(const char *name, const char *bytes, size_t size)
{
    const char *folder = process_model_copy(DEMO_MODEL);
    if (bytes) {
        process_write(folder, name, bytes, size);
    } else {
        process_remove(folder, name);
    }
    struct process_result result = load(folder);
    assert_refused(result, 1, name);
}

static void test_tokenizer(void **state)
{
    (void)state;
    static const char *const names[] = {"source.spm", "target.spm", "vocab.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size;
        char *bytes = process_read(DEMO_MODEL, names[i], &size);
        refuse_file(names[i], NULL, 0);
        refuse_file(names[i], "", 0);
        refuse_file(names[i], "nonsense", 8);
        refuse_file(names[i], bytes, size / 2);
        support_free_all();
    }
    refuse_file("tokenizer_config.json", "{", 1);
    refuse_file("generation_config.json", "[1]", 3);
}

/* A vocabulary with one token less, one more, or a duplicate id. */
/* One token more or fewer than the model's rows is accepted. Two tokens with one id are not. */
static void test_vocabulary_disagrees(void **state)
{
    (void)state;
    json_t *vocabulary = json_load_file(DEMO_MODEL "/vocab.json", 0, NULL);
    for (int change = 0; change < 3; change++) {
        json_t *changed = json_copy(vocabulary);
        const char *token = json_object_iter_key(json_object_iter_at(changed, "<pad>"));
        assert_non_null(token);
        if (change == 0) {
            json_object_del(changed, "<pad>");
        } else {
            json_object_set_new(changed, change == 1 ? "one more" : "<pad>",
                                json_integer(change == 1 ? 4000 : 7));
        }
        char *text = json_dumps(changed, 0);
        if (change == 2) {
            refuse_file("vocab.json", text, strlen(text));
        } else {
            const char *folder = process_model_copy(DEMO_MODEL);
            process_write(folder, "vocab.json", text, strlen(text));
            struct process_result result = load(folder);
            assert_int_equal(result.status, 0);
            assert_true(result.output_size > 1);
        }
        free(text);
        json_decref(changed);
    }
    json_decref(vocabulary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_missing_folder, support_teardown),
        cmocka_unit_test_teardown(test_file_for_folder, support_teardown),
        cmocka_unit_test_teardown(test_git_lfs_pointers, support_teardown),
        cmocka_unit_test_teardown(test_other_formats, support_teardown),
        cmocka_unit_test_teardown(test_broken_config, support_teardown),
        cmocka_unit_test_teardown(test_config_sizes, support_teardown),
        cmocka_unit_test_teardown(test_truncated, support_teardown),
        cmocka_unit_test_teardown(test_header_length_lies, support_teardown),
        cmocka_unit_test_teardown(test_tensor_lies, support_teardown),
        cmocka_unit_test_teardown(test_wrong_shape, support_teardown),
        cmocka_unit_test_teardown(test_tensor_missing_or_unknown, support_teardown),
        cmocka_unit_test_teardown(test_tokenizer, support_teardown),
        cmocka_unit_test_teardown(test_vocabulary_disagrees, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
