/* Errors for damaged or unusual tokenizer.json files: one message with the file, the section and the part. */
#include "support/tokenizer_fixture.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { ROWS = 8 };
static const struct clf__tokenizer_options options = {ROWS, ROWS, 0, -1, -1, -1, -1, -1, NULL};

#define BPE(more)            "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}" more "}}"
#define UNIGRAM(vocab, more) "{\"model\": {\"type\": \"Unigram\", \"vocab\": " vocab "}" more "}"
#define LEVEL(more)          "{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 0, \"b\": 1}}" more "}"
#define ADDED(tokens)        LEVEL(", \"added_tokens\": " tokens)
#define TEMPLATE(more)       LEVEL(", \"post_processor\": {\"type\": \"TemplateProcessing\", " more "}")

static const struct row {
    const char *text;
    clf_status status;
    const char *said;
} rows[] = {
    {"", CLF_FORMAT, "tokenizer.json: is empty"},
    {"{\"model\": {", CLF_FORMAT, "tokenizer.json: line 1: invalid JSON"},
    {"[]", CLF_FORMAT, "tokenizer.json: is not a JSON object"},
    {"{\"version\": \"2.0\"}", CLF_UNSUPPORTED, "\"version\" is not \"1.0\""},
    {"{\"more\": 1}", CLF_UNSUPPORTED, "has the option \"more\", which is not supported"},
    {"{\"model\": 5}", CLF_FORMAT, "tokenizer.json: \"model\": is not an object"},
    {"{\"model\": {\"type\": 5}}", CLF_FORMAT, "\"model\": \"type\" is not a string"},
    {"{\"model\": {\"type\": \"Magic\"}}", CLF_UNSUPPORTED,
     "\"model\": \"Magic\" is not supported; use a tokenizer with Unigram, BPE, WordPiece or WordLevel"},
    {"{\"model\": {\"type\": \"BPE\", \"fun\": 1}}", CLF_UNSUPPORTED,
     "\"model\", BPE: has the option \"fun\""},
    {"{\"model\": {\"type\": \"BPE\", \"vocab\": []}}", CLF_FORMAT,
     "\"model\", BPE: \"vocab\" is not an object of 1 to"},
    {"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": \"x\"}}}", CLF_FORMAT,
     "the id of \"a\" is not an integer"},
    {"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": -1}}}", CLF_FORMAT, "the id of \"a\" is -1, not in"},
    {"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 99999999}}}", CLF_FORMAT,
     "the id of \"a\" is 99999999"},
    {"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 1, \"b\": 1}}}", CLF_FORMAT,
     "\"a\" and \"b\" have the same id 1"},
    {"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 8}}}", CLF_FORMAT, "has no list \"merges\""},
    {"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 9}}}", CLF_FORMAT,
     "ids up to 9 for only 1 tokens, but config.json has a vocabulary of 8"},
    {BPE(""), CLF_FORMAT, "has no list \"merges\""},
    {BPE(", \"merges\": true"), CLF_FORMAT, "has no list \"merges\""},
    {BPE(", \"merges\": [5]"), CLF_FORMAT, "\"merges\": row 0 is not a pair of tokens"},
    {BPE(", \"merges\": [\"ab\"]"), CLF_FORMAT, "\"merges\": row 0 is not a pair of tokens"},
    {BPE(", \"merges\": [\"a b\", [\"a\"]]"), CLF_FORMAT, "\"merges\": row 1 is not a pair of tokens"},
    {BPE(", \"merges\": [\"a b\", \"a c\"]"), CLF_FORMAT,
     "\"merges\": row 1 needs the token \"c\", which \"vocab\" does not contain"},
    {BPE(", \"merges\": [\"b a\"]"), CLF_FORMAT, "needs the token \"ba\""},
    {BPE(", \"merges\": [], \"dropout\": 0.1"), CLF_UNSUPPORTED, "\"dropout\" is set"},
    {BPE(", \"merges\": [], \"fuse_unk\": \"no\""), CLF_FORMAT, "\"fuse_unk\" is neither true nor false"},
    {BPE(", \"merges\": [], \"unk_token\": \"<unk>\""), CLF_FORMAT,
     "\"unk_token\" is \"<unk>\", which \"vocab\" does not contain"},
    {UNIGRAM("{}", ""), CLF_FORMAT, "\"model\", Unigram: \"vocab\" is not a list of 1 to"},
    {UNIGRAM("[[\"a\", 0], [\"b\"]]", ""), CLF_FORMAT, "\"vocab\": row 1 is not [token, score]"},
    {UNIGRAM("[[\"a\", \"0\"]]", ""), CLF_FORMAT, "\"vocab\": row 0 is not [token, score]"},
    {"{\"model\": {\"type\": \"Unigram\", \"unk_id\": 1, \"vocab\": [[\"a\", 0]]}}", CLF_FORMAT,
     "\"unk_id\" is not an integer from 0 to 0"},
    {"{\"model\": {\"type\": \"WordPiece\", \"vocab\": {\"a\": 0}}}", CLF_FORMAT,
     "\"model\", WordPiece: has no \"unk_token\""},
    {ADDED("5"), CLF_FORMAT, "\"added_tokens\": is not a list"},
    {ADDED("[5]"), CLF_FORMAT, "\"added_tokens\": a token has no id or no content"},
    {ADDED("[{\"id\": 3, \"content\": \"\"}]"), CLF_FORMAT, "a token has no id or no content"},
    {ADDED("[{\"id\": 0, \"content\": \"x\"}]"), CLF_FORMAT, "a token has the id of another token (\"x\")"},
    {ADDED("[{\"id\": 11, \"content\": \"x\"}]"), CLF_FORMAT, "ids up to 11 for only 3 tokens"},
    {ADDED("[{\"id\": -8, \"content\": \"x\"}]"), CLF_FORMAT, "a token has no id or no content"},
    {LEVEL(", \"decoder\": []"), CLF_FORMAT, "\"decoder\": is not an object"},
    {LEVEL(", \"post_processor\": {\"type\": \"Magic\"}"), CLF_UNSUPPORTED,
     "\"post_processor\", Magic: this part is not supported"},
    {LEVEL(", \"post_processor\": {\"type\": \"BertProcessing\", \"cls\": [\"a\", 0]}"), CLF_FORMAT,
     "\"post_processor\", BertProcessing: contains an id that is not a non-negative integer"},
    {LEVEL(", \"post_processor\": {\"type\": \"BertProcessing\", \"cls\": [\"a\", 0], \"sep\": [\"b\", 8]}"),
     CLF_FORMAT, "\"post_processor\": contains an id that has no token"},
    {TEMPLATE("\"single\": []"), CLF_FORMAT, "\"single\" contains no text \"A\""},
    {TEMPLATE("\"single\": [{\"Sequence\": {\"id\": \"B\"}}]"), CLF_UNSUPPORTED, "is not one text \"A\""},
    {TEMPLATE("\"single\": [{\"SpecialToken\": {\"id\": \"x\"}}]"), CLF_FORMAT,
     "\"special_tokens\" has no ids for \"x\""},
    {TEMPLATE("\"special_tokens\": {\"x\": {\"ids\": [0, 1, 0]}}, "
              "\"single\": [{\"SpecialToken\": {\"id\": \"x\"}}, {\"Sequence\": {\"id\": \"A\"}}]"),
     CLF_UNSUPPORTED, "adds more than 2 tokens on one side of a text"},
    {"{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"\xff\": 0}}}", CLF_FORMAT,
     "unable to decode byte 0xff"},
};

static void test_bad_files(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct clf__tokenizer *tokenizer = NULL;
        tokenizer_write(folder, "tokenizer.json", rows[i].text);
        clf_status status = clf__tokenizer_load(&tokenizer, folder, &options);
        if (status != rows[i].status || strstr(clf_last_error(), rows[i].said) == NULL ||
            strstr(clf_last_error(), "tokenizer.json: ") == NULL) {
            fail_msg("%s: status %d, %s", rows[i].text, (int)status, clf_last_error());
        }
        clf__tokenizer_free(tokenizer);
    }
}

/* Tokens that the class needs but the file lacks; a folder that contradicts the file. */
static void test_folders_that_disagree(void **state)
{
    (void)state;
    static const struct {
        const char *config, *text;
        clf_status status;
        const char *said;
    } pairs[] = {
        {"{\"tokenizer_class\": \"T5Tokenizer\"}", LEVEL(""), CLF_UNSUPPORTED,
         "tokenizer.json: \"model\" is WordLevel, but T5Tokenizer reads Unigram; set \"tokenizer_class\""},
        {"{\"tokenizer_class\": \"T5Tokenizer\"}", UNIGRAM("[[\"a\", 0]]", ""), CLF_FORMAT,
         "\"unk_id\" is not an integer from 0 to 0"},
        {"{\"tokenizer_class\": \"PegasusTokenizer\"}", UNIGRAM("[[\"<unk>\", 0], [\"<unk>\", -1]]", ""),
         CLF_FORMAT, "\"vocab\" has no \"<unk>\" with score 0"},
        {"{\"added_tokens_decoder\": {\"x\": {\"content\": \"a\"}}}", LEVEL(""), CLF_FORMAT,
         "tokenizer_config.json: \"added_tokens_decoder\" contains \"x\", which is not an id with a token"},
        {"{\"added_tokens_decoder\": {\"0\": {\"content\": \"x\"}}}", LEVEL(""), CLF_FORMAT,
         "assigns id 0 to \"x\", but tokenizer.json assigns that id to \"a\""},
    };
    const char *folder = support_temporary_folder();
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct clf__tokenizer *tokenizer;
        tokenizer_write(folder, "tokenizer.json", pairs[i].text);
        tokenizer_write(folder, "tokenizer_config.json", pairs[i].config);
        assert_fails(clf__tokenizer_load(&tokenizer, folder, &options), pairs[i].status, pairs[i].said);
    }
}

static struct clf__tokenizer *load_text(const char *text)
{
    const char *folder = support_temporary_folder();
    tokenizer_write(folder, "tokenizer.json", text);
    return tokenizer_load(folder, &options);
}

static void check_ids(const struct clf__tokenizer *tokenizer, const char *line, int count,
                      const int32_t *expected)
{
    struct clf__ids ids = {0};
    assert_ok(clf__tokenizer_encode(tokenizer, &ids, line, strlen(line), 1, 0));
    assert_int_equal(ids.count, count);
    assert_memory_equal(ids.data, expected, (size_t)count * sizeof *expected);
    clf__ids_free(&ids);
}

/* Files from before model types; a text that cannot be encoded; an unknown word shown in text. */
static void test_small_files(void **state)
{
    (void)state;
    struct clf__ids ids = {0};
    char *text;
    struct clf__tokenizer *tokenizer = load_text("{\"model\": {\"vocab\": [[\"a\", -1.5], [\"aa\", -2]]}}");
    check_ids(tokenizer, "aaa", 2, (const int32_t[]){0, 1});
    assert_fails(clf__tokenizer_encode(tokenizer, &ids, "ab", 2, 1, 0), CLF_TEXT,
                 "\"b\" is not in the vocabulary, which has no unknown token");
    assert_string_equal(clf__tokenizer_target_token(tokenizer, 7), "<unused_7>");
    clf__tokenizer_free(tokenizer);
    tokenizer = load_text("{\"model\": {\"merges\": [\"a b\"], \"vocab\": {\"a\": 0, \"b\": 5, \"ab\": 2}}}");
    check_ids(tokenizer, "abzba", 3, (const int32_t[]){2, 5, 0});
    clf__tokenizer_free(tokenizer);
    tokenizer = load_text("{\"model\": {\"vocab\": {\"a\": 0, \"?\": 1}, \"unk_token\": \"?\"}, "
                          "\"pre_tokenizer\": {\"type\": \"Whitespace\"}}");
    check_ids(tokenizer, "a c", 2, (const int32_t[]){0, 1});
    assert_ok(clf__tokenizer_decode(tokenizer, &text, (const int32_t[]){0, 1}, 2, 0));
    assert_string_equal(text, "a ?");
    clf__free(text);
    clf__tokenizer_free(tokenizer);
    tokenizer = load_text(LEVEL(""));
    assert_fails(clf__tokenizer_encode(tokenizer, &ids, "c", 1, 1, 0), CLF_TEXT, "no unknown token");
    clf__tokenizer_free(tokenizer);
    clf__ids_free(&ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_folders_that_disagree),
        cmocka_unit_test(test_small_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
