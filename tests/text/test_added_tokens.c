/* Added tokens and languages give transformers' ids and text (tests/fixtures/text/make_added.py). */
#include "support/tokenizer_fixture.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"

/* A folder's framing, as in T5, BART, Blenderbot or Marian. */
static struct clf__tokenizer_options options_for(const char *folder, int rows)
{
    int is_t5 = strcmp(folder, "t5") == 0 || strcmp(folder, "pegasus") == 0;
    int is_plain = strncmp(folder, "blenderbot", strlen("blenderbot")) == 0;
    struct clf__tokenizer_options options = {rows, rows, 0,   strcmp(folder, "bart") == 0 ? 0 : -1, 2, 1,
                                             0,    2,    NULL};
    if (is_t5) {
        options.source_end_id = options.end_id = 1;
        options.pad_id = 0;
        options.start_id = -1;
    } else if (is_plain) {
        options.source_end_id = -1;
        options.pad_id = 0;
        options.start_id = 1;
    } else if (strcmp(folder, "shared") == 0) {
        options.source_end_id = options.end_id = 0;
        options.pad_id = options.start_id = 150;
    }
    return options;
}

/* Copies a fixture and replaces files with the row's files. */
static const char *make_folder(const json_t *row)
{
    static const char *const files[] = {"vocab.json",   "merges.txt", "sentencepiece.bpe.model",
                                        "spiece.model", "source.spm", "target.spm"};
    const char *folder = support_temporary_folder(), *name;
    json_t *value;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char from[400], to[400];
        snprintf(from, sizeof from, "%s/tests/fixtures/text/%s/%s", CLF_SOURCE_FOLDER,
                 json_string_value(json_object_get(row, "folder")), files[i]);
        snprintf(to, sizeof to, "%s/%s", folder, files[i]);
        if (clf__file_exists(from)) {
            assert_ok(clf__file_copy(to, from));
        }
    }
    json_object_foreach(json_object_get(row, "files"), name, value)
    {
        char *text = json_dumps(value, 0);
        tokenizer_write(folder, name, text);
        free(text);
    }
    return folder;
}

static void check_line(const struct clf__tokenizer *tokenizer, const json_t *line, const char *where)
{
    const char *text = json_string_value(json_object_get(line, "text"));
    const json_t *expected = json_object_get(line, "ids");
    struct clf__framing framing;
    struct clf__ids ids = {0};
    char *decoded;
    assert_ok(clf__tokenizer_frame(&framing, tokenizer, NULL, NULL));
    assert_ok(clf__tokenizer_encode_source(tokenizer, &framing, &ids, text, strlen(text), 0));
    int is_same = ids.count == (int)json_array_size(expected);
    for (int i = 0; is_same && i < ids.count; i++) {
        is_same = ids.data[i] == json_integer_value(json_array_get(expected, (size_t)i));
    }
    if (!is_same) {
        for (int i = 0; i < ids.count; i++) {
            print_message("%d ", (int)ids.data[i]);
        }
        fail_msg("%s: other ids than recorded for: %s", where, text);
    }
    assert_ok(clf__tokenizer_decode(tokenizer, &decoded, ids.data, ids.count, 0));
    if (strcmp(decoded, json_string_value(json_object_get(line, "decoded"))) != 0) {
        fail_msg("%s: \"%s\", recorded is \"%s\"", where, decoded,
                 json_string_value(json_object_get(line, "decoded")));
    }
    clf__free(decoded);
    clf__ids_free(&ids);
}

static void check_language(const struct clf__tokenizer *tokenizer, const char *token)
{
    struct clf__framing framing;
    int is_marked = strncmp(token, "__", 2) == 0;
    char code[32] = {0};
    size_t size = strlen(token);
    memcpy(code, token + 2 * is_marked, size - (size_t)(4 * is_marked));
    assert_ok(clf__tokenizer_frame(&framing, tokenizer, code, code));
    int32_t id = clf__tokenizer_target_id(tokenizer, token);
    assert_true(id >= 0);
    assert_true(framing.forced_first == id || framing.decoder_start == id);
    assert_true(framing.before[0] == id || framing.behind[1] == id);
}

static void test_transformers_ids(void **state)
{
    (void)state;
    json_t *rows = json_load_file(CLF_SOURCE_FOLDER "/tests/fixtures/text/added.json", 0, NULL), *row, *line;
    size_t index, number;
    assert_int_equal(json_array_size(rows), 20);
    json_array_foreach(rows, index, row)
    {
        char where[64];
        const char *name = json_string_value(json_object_get(row, "folder"));
        snprintf(where, sizeof where, "%s, %s", name, json_string_value(json_object_get(row, "kind")));
        struct clf__tokenizer_options options =
            options_for(name, 5 + (int)json_integer_value(json_object_get(row, "rows")));
        struct clf__tokenizer *tokenizer = tokenizer_load(make_folder(row), &options);
        json_array_foreach(json_object_get(row, "lines"), number, line)
        {
            check_line(tokenizer, line, where);
        }
        if (json_is_string(json_object_get(row, "language"))) {
            check_language(tokenizer, json_string_value(json_object_get(row, "language")));
        }
        clf__tokenizer_free(tokenizer);
    }
    json_decref(rows);
}

/* ByT5 has no files: recorded from ByT5Tokenizer() of transformers 5.23. */
static void test_bytes(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    const struct clf__tokenizer_options options = {384, 384, 0, -1, 1, 0, -1, 1, "T5Tokenizer"};
    static const int32_t broken[] = {198, 75, 3 + 0xc3, 3 + 0xa9, 259};
    struct clf__ids ids = {0};
    char *text;
    tokenizer_write(folder, "tokenizer_config.json", "{\"tokenizer_class\": \"ByT5Tokenizer\"}");
    struct clf__tokenizer *tokenizer = tokenizer_load(folder, &options);
    static const char line[] = "H\u00e9 <extra_id_0> x";
    struct clf__framing framing;
    assert_ok(clf__tokenizer_frame(&framing, tokenizer, NULL, NULL));
    assert_ok(clf__tokenizer_encode_source(tokenizer, &framing, &ids, line, sizeof line - 1, 0));
    assert_ids(ids, 75, 198, 172, 35, 259, 35, 123, 1);
    assert_ok(clf__tokenizer_decode(tokenizer, &text, broken, 5, 0));
    assert_string_equal(text, "H\u00e9");
    clf__free(text);
    clf__ids_free(&ids);
    clf__tokenizer_free(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_transformers_ids, support_teardown),
        cmocka_unit_test_teardown(test_bytes, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
