/* Whisper's tokens: fixtures/speech/speech.json contains the results of openai-whisper's rules and Python
 * with the tokenizer of fixtures/speech/tiny. */
#include "text/tokenizers/speech_words.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/memory.h"
#include "support/support.h"

static struct clf__tokenizer *load(const char *fixture)
{
    struct clf__tokenizer *tokenizer;
    struct clf__tokenizer_options options = {.target_vocabulary = 1774,
                                             .source_start_id = -1,
                                             .source_end_id = -1,
                                             .pad_id = 262,
                                             .start_id = 262,
                                             .end_id = 262};
    assert_ok(clf__tokenizer_load(&tokenizer, support_fixture(fixture), &options));
    return tokenizer;
}

static json_t *load_expected(void)
{
    json_t *json = json_load_file(support_fixture("speech/speech.json"), 0, NULL);
    assert_non_null(json);
    return json;
}

static int integer_of(const json_t *json, const char *key)
{
    return (int)json_integer_value(json_object_get(json, key));
}

static int compare(const void *a, const void *b)
{
    return *(const int32_t *)a - *(const int32_t *)b;
}

/* The ids, sorted and without duplicates, equal a list. */
static void check_ids(struct clf__ids *ids, const json_t *list)
{
    size_t at = 0;
    qsort(ids->data, (size_t)ids->count, sizeof *ids->data, compare);
    for (int i = 0; i < ids->count; i++) {
        if (i == 0 || ids->data[i] != ids->data[i - 1]) {
            assert_int_equal(ids->data[i], json_integer_value(json_array_get(list, at++)));
        }
    }
    assert_int_equal(at, json_array_size(list));
}

static void test_tokens(void **state)
{
    (void)state;
    struct clf__tokenizer *tokenizer = load("speech/tiny");
    json_t *expected = load_expected();
    struct clf__speech_tokens tokens;
    char *code;
    assert_ok(clf__speech_tokens_find(&tokens, tokenizer, "tiny"));
    int start = integer_of(expected, "start"), no_speech = integer_of(expected, "no_speech");
    assert_int_equal(tokens.end, integer_of(expected, "end"));
    assert_int_equal(tokens.start, start);
    assert_int_equal(tokens.no_speech, no_speech);
    assert_int_equal(tokens.timestamp_begin, no_speech + 2);
    assert_int_equal(tokens.languages, integer_of(expected, "languages"));
    assert_int_equal(clf__speech_language_id(&tokens, tokenizer, "pt"), start + 2);
    assert_int_equal(clf__speech_language_id(&tokens, tokenizer, "translate"), -1);
    assert_int_equal(clf__speech_language_id(&tokens, tokenizer, "xx"), -1);
    assert_int_equal(clf__speech_language_id(&tokens, tokenizer, "a language of a longer name"), -1);
    assert_ok(clf__speech_language_code(&code, tokenizer, start + 3));
    assert_string_equal(code, "de");
    clf__free(code);
    json_decref(expected);
    clf__tokenizer_free(tokenizer);
}

static void test_text(void **state)
{
    (void)state;
    struct clf__tokenizer *tokenizer = load("speech/tiny");
    json_t *expected = load_expected();
    const json_t *texts = json_object_get(expected, "texts");
    struct clf__speech_tokens tokens;
    assert_ok(clf__speech_tokens_find(&tokens, tokenizer, "tiny"));
    assert_true(json_array_size(texts) > 0);
    for (size_t i = 0; i < json_array_size(texts); i++) {
        const json_t *one = json_array_get(texts, i), *list = json_object_get(one, "ids");
        int32_t ids[64];
        char *text;
        int count = (int)json_array_size(list);
        for (int n = 0; n < count; n++) {
            ids[n] = (int32_t)json_integer_value(json_array_get(list, (size_t)n));
        }
        assert_ok(clf__speech_text(&text, &tokens, tokenizer, ids, count));
        assert_string_equal(text, json_string_value(json_object_get(one, "text")));
        clf__free(text);
    }
    struct clf__ids unspoken = {0}, prompt = {0};
    assert_ok(clf__speech_unspoken(&unspoken, tokenizer));
    check_ids(&unspoken, json_object_get(expected, "unspoken"));
    assert_ok(clf__speech_encode(&prompt, tokenizer, " the heath"));
    const json_t *list = json_object_get(expected, "prompt");
    assert_int_equal(prompt.count, json_array_size(list));
    for (int i = 0; i < prompt.count; i++) {
        assert_int_equal(prompt.data[i], json_integer_value(json_array_get(list, (size_t)i)));
    }
    clf__ids_free(&unspoken);
    clf__ids_free(&prompt);
    json_decref(expected);
    clf__tokenizer_free(tokenizer);
}

static void test_other_tokenizer(void **state)
{
    (void)state;
    struct clf__tokenizer *tokenizer;
    struct clf__speech_tokens tokens;
    struct clf__tokenizer_options options = {.target_vocabulary = 41,
                                             .source_start_id = -1,
                                             .source_end_id = -1,
                                             .pad_id = 2,
                                             .start_id = 2,
                                             .end_id = 2};
    assert_ok(clf__tokenizer_load(&tokenizer, support_fixture("models/whisper"), &options));
    assert_fails(clf__speech_tokens_find(&tokens, tokenizer, "words"), CLF_UNSUPPORTED,
                 "words: not a Whisper tokenizer, because the token <|translate|> is missing");
    clf__tokenizer_free(tokenizer);
}

/* timing.json contains the results of openai/whisper's tokenizer.py for bytes, some of which are not
   characters. */
static void test_words(void **state)
{
    (void)state;
    struct clf__tokenizer *tokenizer = load("speech/tiny");
    struct clf__speech_tokens tokens;
    json_t *json = json_load_file(support_fixture("speech/timing.json"), 0, NULL);
    const json_t *cases = json_object_get(json, "split");
    assert_ok(clf__speech_tokens_find(&tokens, tokenizer, "tiny"));
    assert_true(json_array_size(cases) > 0);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *one = json_array_get(cases, i), *list = json_object_get(one, "ids");
        const json_t *expected = json_object_get(one, "words");
        struct clf__speech_words words;
        int32_t ids[64];
        int count = (int)json_array_size(list);
        for (int n = 0; n < count; n++) {
            ids[n] = (int32_t)json_integer_value(json_array_get(list, (size_t)n));
        }
        assert_ok(clf__speech_words_split(&words, &tokens, tokenizer, ids, count,
                                          json_is_true(json_object_get(one, "is_spaceless"))));
        assert_int_equal(words.count, json_array_size(expected));
        for (int n = 0; n < words.count; n++) {
            const json_t *word = json_array_get(expected, (size_t)n);
            assert_string_equal(words.data[n].text, json_string_value(json_array_get(word, 0)));
            assert_int_equal(words.data[n].ids, json_integer_value(json_array_get(word, 1)));
        }
        clf__speech_words_free(&words);
    }
    assert_true(clf__speech_is_spaceless("yue") && !clf__speech_is_spaceless("en"));
    json_decref(json);
    clf__tokenizer_free(tokenizer);
}

static void check_strip(const char *text, const char *expected)
{
    size_t size;
    const char *start = clf__speech_strip(&size, text);
    assert_int_equal(size, strlen(expected));
    assert_memory_equal(start, expected, size);
}

static void test_strip(void **state)
{
    (void)state;
    check_strip("", "");
    check_strip(" \t\n", "");
    check_strip("a", "a");
    check_strip(" \xe3\x80\x80\x1c a \xc2\xa0 b\xe2\x80\xa8\r", "a \xc2\xa0 b");
    check_strip("\xe2\x80\x8b"
                "a",
                "\xe2\x80\x8b"
                "a"); /* zero-width, but not white space */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_tokens, support_teardown),
        cmocka_unit_test_teardown(test_text, support_teardown),
        cmocka_unit_test_teardown(test_words, support_teardown),
        cmocka_unit_test_teardown(test_other_tokenizer, support_teardown),
        cmocka_unit_test_teardown(test_strip, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
