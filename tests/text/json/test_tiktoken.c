/* Files of tokens and ranks: fixtures/formats/openai/tokens.json contains tiktoken's results for two of
 * them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/file.h"
#include "base/memory.h"
#include "model/folder.h"
#include "support/support.h"
#include "text/tokenizers/json/tiktoken.h"
#include "text/tokenizers/speech.h"

enum { IDS = 1774, TOKENS = 262 };

static clf_status open_file(struct clf__tokenizer **out, const char *folder, const char *name, int ids)
{
    const struct clf__tokenizer_options options = {.target_vocabulary = ids,
                                                   .source_start_id = -1,
                                                   .source_end_id = -1,
                                                   .pad_id = -1,
                                                   .start_id = -1,
                                                   .end_id = -1};
    return clf__tokenizer_load_tiktoken(out, folder, name, &options);
}

static void check_case(const struct clf__tokenizer *tokenizer, const json_t *one)
{
    const json_t *expected = json_object_get(one, "ids");
    const char *text = json_string_value(json_object_get(one, "text"));
    struct clf__ids ids = {0};
    char *joined;
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, text, strlen(text), 1, 0));
    assert_int_equal(ids.count, json_array_size(expected));
    for (int i = 0; i < ids.count; i++) {
        assert_int_equal(ids.data[i], json_integer_value(json_array_get(expected, (size_t)i)));
    }
    assert_ok(clf__tokenizer_decode(tokenizer, &joined, ids.data, ids.count, 0));
    assert_string_equal(joined, text);
    clf__free(joined);
    clf__ids_free(&ids);
}

static void test_texts(void **state)
{
    (void)state;
    json_t *files = json_load_file(support_fixture("formats/openai/tokens.json"), 0, NULL), *file;
    size_t n;
    assert_int_equal(json_array_size(files), 2);
    json_array_foreach(files, n, file)
    {
        struct clf__tokenizer *tokenizer;
        json_t *one;
        size_t i;
        assert_ok(open_file(&tokenizer, support_fixture("formats/openai"),
                            json_string_value(json_object_get(file, "file")),
                            (int)json_integer_value(json_object_get(file, "ids"))));
        json_array_foreach(json_object_get(file, "cases"), i, one)
        {
            check_case(tokenizer, one);
        }
        assert_true(i > 20);
        clf__tokenizer_free(tokenizer);
    }
    json_decref(files);
}

static void check_specials(const char *name, int ids, int first, int languages, const char *last)
{
    struct clf__tokenizer *tokenizer;
    struct clf__speech_tokens tokens;
    const char *folder = support_fixture("formats/openai");
    assert_ok(open_file(&tokenizer, folder, name, ids));
    assert_ok(clf__speech_tokens_find(&tokens, tokenizer, folder));
    assert_true(tokens.end == first && tokens.start == first + 1 && tokens.languages == languages);
    const int behind = first + 2 + languages;
    assert_true(tokens.translate == behind && tokens.transcribe == behind + 1 &&
                tokens.start_of_lm == behind + 2 && tokens.start_of_previous == behind + 3 &&
                tokens.no_speech == behind + 4 && tokens.no_timestamps == behind + 5 &&
                tokens.timestamp_begin == behind + 6);
    assert_string_equal(clf__tokenizer_target_token(tokenizer, behind - 1), last);
    assert_string_equal(clf__tokenizer_target_token(tokenizer, tokens.timestamp_begin + 57), "<|1.14|>");
    assert_string_equal(clf__tokenizer_target_token(tokenizer, ids - 1), "<|30.00|>");
    assert_int_equal(clf__speech_language_id(&tokens, tokenizer, "en"), tokens.start + 1);
    clf__tokenizer_free(tokenizer);
}

static void test_specials(void **state)
{
    (void)state;
    check_specials("gpt2.tiktoken", IDS, TOKENS, 3, "<|de|>");
    check_specials("overlaps.tiktoken", 265 + 99 + 1509, 265, 99, "<|su|>");
    check_specials("overlaps.tiktoken", 265 + 100 + 1509, 265, 100, "<|yue|>");
}

/* The fixture with the bytes from one line to another replaced; line NULL: from the end. */
static const char *spoil(const char *line, size_t length, const char *text)
{
    const char *folder = support_temporary_folder();
    char *bytes, *path, *made;
    size_t size;
    assert_ok(clf__file_read(&bytes, &size, support_fixture("formats/openai/gpt2.tiktoken"), 1 << 20));
    char *at = line != NULL ? strstr(bytes, line) : bytes + size;
    assert_non_null(at);
    assert_ok(clf__format(&made, "%.*s%s%s", (int)(at - bytes), bytes, text, at + length));
    assert_ok(clf__path_join(&path, folder, "gpt2.tiktoken"));
    assert_ok(clf__file_write(path, made, strlen(made)));
    clf__free(path);
    clf__free(made);
    clf__free(bytes);
    return folder;
}

static void expect_bad(const char *line, const char *text, const char *part)
{
    struct clf__tokenizer *tokenizer;
    const char *folder = spoil(line, line != NULL ? strlen(line) : 0, text);
    assert_fails(open_file(&tokenizer, folder, "gpt2.tiktoken", IDS), CLF_FORMAT, part);
    assert_null(tokenizer);
    assert_non_null(strstr(clf_last_error(), folder));
}

static void test_bad(void **state)
{
    (void)state;
    expect_bad("IQ== 0\n", "IQ==0\n", "line 1 is not a token, a space and its rank");
    expect_bad("IQ== 0\n", "\n", "line 1 is not a token");
    expect_bad("IQ== 0\n", "IQ== 1\n", "line 1 does not have its line index");
    expect_bad("Ig== 1\n", "Ig== 01\n", "line 2 does not have its line index");
    expect_bad("Ig== 1\n", "Ig== 1\r\n", "line 2 does not have its line index");
    expect_bad("Ig== 1\n", "Ig==  1\n", "line 2 does not have its line index");
    expect_bad("Ig== 1\n", "Ig= 1\n", "line 2 has no token in base64");
    expect_bad("Ig== 1\n", "Ih== 1\n", "line 2 has no token in base64"); /* bits beyond its byte */
    expect_bad("Ig== 1\n", "I!== 1\n", "line 2 has no token in base64");
    expect_bad("Ig== 1\n", " 1\n", "line 2 has no token in base64");
    expect_bad("Ig== 1\n", "IQ== 1\n", "line 2 repeats an earlier token");
    expect_bad("Ig== 1\n", "IiI= 1\n", "no token for the byte 0x22");
    expect_bad(NULL, "YWE= 262", "line 263 is truncated");
    expect_bad(NULL, "YWE= 262\nYWI= 263\nYWM= 264\n",
               "265 tokens, which does not match a model with 1774 ids");
}

/* A truncated file has fewer tokens, or a shorter last one: a complete line is accepted as it is. */
static void test_cut(void **state)
{
    (void)state;
    char *bytes, *path;
    size_t size;
    int count, taken = 0;
    const char *folder = support_temporary_folder();
    assert_ok(clf__file_read(&bytes, &size, support_fixture("formats/openai/gpt2.tiktoken"), 1 << 20));
    assert_ok(clf__path_join(&path, folder, "cut.tiktoken"));
    for (size_t n = 0; n < size; n++) {
        folder_write(folder, "cut.tiktoken", bytes, n);
        clf_status status = clf__tiktoken_count(&count, path, IDS);
        if (status == CLF_OK) {
            assert_true(n > 0 && bytes[n - 1] == '\n' && count >= 256);
            taken++;
        } else {
            assert_true(status == CLF_FORMAT && strstr(clf_last_error(), path) != NULL);
        }
    }
    assert_int_equal(taken, TOKENS - 256);
    clf__free(path);
    clf__free(bytes);
}

/* The last line of multilingual.tiktoken is a token of no bytes, whose id never results from text. */
static void test_empty_token(void **state)
{
    (void)state;
    struct clf__tokenizer *tokenizer;
    const char *folder = spoil(NULL, 0, "= 262\n");
    assert_ok(open_file(&tokenizer, folder, "gpt2.tiktoken", IDS));
    assert_int_equal(clf__tokenizer_target_id(tokenizer, "<|endoftext|>"), TOKENS + 1);
    clf__tokenizer_free(tokenizer);
}

static void test_no_memory(void **state)
{
    (void)state;
    struct clf__tokenizer *tokenizer = NULL;
    int failures = 0;
    for (uint64_t n = 1; tokenizer == NULL; n++, failures++) {
        clf__memory_fail_at(n);
        clf_status status = open_file(&tokenizer, support_fixture("formats/openai"), "gpt2.tiktoken", IDS);
        clf__memory_fail_at(0);
        assert_true(status == CLF_OK || status == CLF_OUT_OF_MEMORY);
    }
    assert_true(failures > 9);
    clf__tokenizer_free(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_texts, support_teardown),
        cmocka_unit_test_teardown(test_specials, support_teardown),
        cmocka_unit_test_teardown(test_bad, support_teardown),
        cmocka_unit_test_teardown(test_cut, support_teardown),
        cmocka_unit_test_teardown(test_empty_token, support_teardown),
        cmocka_unit_test_teardown(test_no_memory, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
