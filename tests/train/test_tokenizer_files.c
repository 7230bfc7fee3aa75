/* Tokenizer files of new models: words, characters and subwords, trained and given, with the special tokens
 * of each preset; the tokenizer can read them. */
#include "train/files.h"

#include "base/memory.h"
#include "model/config/config.h"
#include "text/tokenizers/tokenizer.h"
#include "train/tokenizer_files.h"

struct made {
    const char *folder;
    struct clf__model_description description;
    struct clf__tokenizer *tokenizer;
};

static clf_status make(struct made *made, const struct clf__settings *making)
{
    made->folder = support_temporary_folder();
    made->description = (struct clf__model_description){.preset = ""};
    return clf__tokenizer_files_make(&made->description, made->folder, making, NULL, NULL);
}

/* Loads the result, with a source framed by the end token. */
static void load(struct made *made)
{
    const struct clf__model_description *description = &made->description;
    struct clf__tokenizer_options options = {
        .source_vocabulary = description->source_vocabulary,
        .target_vocabulary = description->target_vocabulary,
        .separate = description->separate_vocabularies,
        .source_start_id = -1,
        .source_end_id = description->source_vocabulary > 0 ? description->end_id : -1,
        .pad_id = description->pad_id,
        .start_id = description->start_id,
        .end_id = description->end_id,
    };
    assert_ok(clf__tokenizer_load(&made->tokenizer, made->folder, &options));
}

static void make_and_load(struct made *made, const struct clf__settings *making)
{
    assert_ok(make(made, making));
    load(made);
}

/* Checks the target's tokens from `first` on, separated by spaces. */
static void assert_tokens(const struct made *made, int first, const char *expected)
{
    char text[512] = "";
    for (int id = first; id < made->description.target_vocabulary; id++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s", id > first ? " " : "",
                 clf__tokenizer_target_token(made->tokenizer, id));
    }
    assert_string_equal(text, expected);
}

/* Words by frequency, then by bytes: the 3, a 3, b 2, the rest once. */
static const char *const source_text = "the a b\nthe \xc3\xa9 a\r\n";
static const char *const target_text = "the a b\nz <unk> y\n";

static void test_words(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    static const struct {
        enum clf__architecture_id architecture;
        int size, pad_id, start_id, end_id;
        const char *tokens;
    } cases[] = {
        {CLF__PAPER, 0, 1, 0, 2, "<s> <pad> </s> <unk> a the b y z \xc3\xa9"},
        {CLF__PAPER, 7, 1, 0, 2, "<s> <pad> </s> <unk> a the b"},
        {CLF__ILLUSTRATED, 0, 1, 0, 2, "<s> <pad> </s> <unk> a the b y z \xc3\xa9"},
        {CLF__JADORE, 0, 1, 2, 3, "<unk> <pad> <s> </s> a the b y z \xc3\xa9"},
        {CLF__ANNOTATED, 0, 2, 0, 1, "<s> </s> <pad> <unk> a the b y z \xc3\xa9"},
        {CLF__MARIAN, 0, 8, -1, 0, "</s> <unk> a the b y z \xc3\xa9 <pad>"},
        {CLF__MARIAN, 5, 4, -1, 0, "</s> <unk> a the <pad>"},
    };
    struct clf__settings making = {.tokens = 1};
    making.train =
        train_on(write_text(folder, "source", source_text), write_text(folder, "target", target_text));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made made;
        making.preset = cases[i].architecture;
        making.vocabulary = cases[i].size;
        make_and_load(&made, &making);
        assert_int_equal(made.description.source_vocabulary, made.description.target_vocabulary);
        assert_int_equal(made.description.pad_id, cases[i].pad_id);
        assert_int_equal(made.description.start_id, cases[i].start_id);
        assert_int_equal(made.description.end_id, cases[i].end_id);
        assert_false(made.description.separate_vocabularies);
        assert_tokens(&made, 0, cases[i].tokens);
        clf__tokenizer_free(made.tokenizer);
    }
}

static void test_two_vocabularies(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    struct clf__settings making = {.tokens = 1, .separate_vocabularies = 1};
    making.train =
        train_on(write_text(folder, "table", "the a b\tthe a b\nthe \xc3\xa9 a\tz <unk> y\ntorn\n"), NULL);
    static const enum clf__architecture_id architectures[] = {CLF__PAPER, CLF__MARIAN};
    for (int i = 0; i < 2; i++) {
        struct made made;
        making.preset = architectures[i];
        make_and_load(&made, &making);
        int special = i == 0 ? 4 : 3;
        assert_true(made.description.separate_vocabularies);
        assert_int_equal(made.description.source_vocabulary, special + 4);
        assert_int_equal(made.description.target_vocabulary, special + 5);
        assert_int_equal(made.description.pad_id, i == 0 ? 1 : 2);
        assert_tokens(&made, special, "a b the y z");
        assert_string_equal(clf__tokenizer_source_token(made.tokenizer, special), "a");
        assert_string_equal(clf__tokenizer_source_token(made.tokenizer, special + 1), "the");
        clf__tokenizer_free(made.tokenizer);
    }
}

static void test_given_vocabularies(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    struct clf__settings making = {.preset = CLF__PAPER, .tokens = 1};
    making.train = train_twice(write_text(folder, "text", "x\n"));
    making.source_vocabulary = write_text(folder, "dict.txt",
                                          "z 12\n\u2581"
                                          "a 7\r\nthe\n\n\u2581"
                                          "a 3\n");
    struct made made;
    make_and_load(&made, &making);
    assert_tokens(&made, 0,
                  "<s> <pad> </s> <unk> z \u2581"
                  "a the");
    clf__tokenizer_free(made.tokenizer);
    /* JSON keeps its ids. */
    making.source_vocabulary =
        write_text(folder, "words.json", "{\"w\": 1, \"<s>\": 3, \"</s>\": 0, \"<pad>\": 2}");
    make_and_load(&made, &making);
    assert_tokens(&made, 0, "</s> w <pad> <s>");
    assert_int_equal(made.description.start_id, 3);
    assert_int_equal(made.description.end_id, 0);
    clf__tokenizer_free(made.tokenizer);
    making.separate_vocabularies = 1;
    making.target_vocabulary =
        write_text(folder, "other.json", "{\"w\": 0, \"<s>\": 3, \"</s>\": 1, \"<pad>\": 2}");
    assert_fails(make(&made, &making), CLF_FORMAT, "have different ids");
    making.separate_vocabularies = 0;
    making.source_vocabulary = write_text(folder, "without.json", "{\"w\": 0, \"<pad>\": 1, \"</s>\": 2}");
    assert_fails(make(&made, &making), CLF_FORMAT, "without.json: the token \"<s>\" is missing");
    making.source_vocabulary = write_text(folder, "bad.txt", "a\n\xff\n");
    assert_fails(make(&made, &making), CLF_FORMAT,
                 "bad.txt: line 2: invalid UTF-8 at byte offset 0; convert the text, for example with iconv "
                 "-f WINDOWS-1252 -t UTF-8");
    making.source_vocabulary = path_in(folder, "none.txt");
    assert_fails(make(&made, &making), CLF_FILE, "none.txt");
    making.tokens = 0;
    assert_fails(make(&made, &making), CLF_BAD_ARGUMENT,
                 "source-vocabulary and target-vocabulary: require tokens or a speech model; remove them");
}

static void test_characters(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    struct clf__settings making = {.preset = CLF__SPEECH};
    making.train = train_on(write_text(folder, "table",
                                       "one.npy\tab  \xc3\xa9"
                                       "a\ntwo.npy\t a b \n"),
                            NULL);
    struct made made;
    make_and_load(&made, &making);
    assert_int_equal(made.description.source_vocabulary, 0);
    assert_tokens(&made, 0, "<s> <pad> </s> <unk> a b | \xc3\xa9");
    struct clf__ids ids = {0};
    assert_ok(clf__tokenizer_encode(made.tokenizer, &ids, "b  a\xc3\xa9x ", 7, 1, 0));
    static const int32_t expected[] = {5, 6, 4, 7, 3, 2};
    assert_int_equal(ids.count, 6);
    assert_memory_equal(ids.data, expected, sizeof expected);
    char *text;
    assert_ok(clf__tokenizer_decode(made.tokenizer, &text, ids.data, ids.count, 0));
    assert_string_equal(text, "b a\xc3\xa9<unk>");
    clf__free(text);
    assert_ok(clf__tokenizer_encode(made.tokenizer, &ids, "a | b", 5, 1, 1));
    assert_int_equal(ids.count, 4);
    clf__ids_free(&ids);
    clf__tokenizer_free(made.tokenizer);
    making.separate_vocabularies = 1;
    assert_fails(make(&made, &making), CLF_BAD_ARGUMENT,
                 "separate-vocabularies: cannot be used with a speech model; remove it");
    /* Tokenized transcripts. */
    making.separate_vocabularies = 0;
    making.tokens = 1;
    make_and_load(&made, &making);
    assert_tokens(&made, 0,
                  "<s> <pad> </s> <unk> a ab b \xc3\xa9"
                  "a");
    clf__tokenizer_free(made.tokenizer);
}

/* The demo's sentences, a few hundred of each language. */
static struct clf__settings text_making(char *source, char *target)
{
    strcpy(source, support_fixture("fr-en-small/source.fr"));
    strcpy(target, support_fixture("fr-en-small/reference.en"));
    return (struct clf__settings){.preset = CLF__MARIAN,
                                  .train = train_on(source, target),
                                  .vocabulary = 300,
                                  .source_language = "fr",
                                  .target_language = "en"};
}

static char *read_file(const char *folder, const char *name, size_t *size)
{
    char *bytes;
    assert_ok(clf__file_read(&bytes, size, path_in(folder, name), 1 << 24));
    return bytes;
}

static void assert_same_file(const char *folder, const char *name, const char *other, const char *other_name,
                             int is_same)
{
    size_t size, other_size;
    char *bytes = read_file(folder, name, &size), *others = read_file(other, other_name, &other_size);
    assert_int_equal(size == other_size && memcmp(bytes, others, size) == 0, is_same);
    clf__free(bytes);
    clf__free(others);
}

static void assert_round_trip(const struct made *made, const char *text)
{
    struct clf__ids ids = {0};
    char *again;
    assert_ok(clf__tokenizer_encode(made->tokenizer, &ids, text, strlen(text), 1, 0));
    assert_true(ids.count > 2 && ids.count < (int)strlen(text));
    assert_ok(clf__tokenizer_decode(made->tokenizer, &again, ids.data, ids.count, 0));
    assert_string_equal(again, text);
    clf__free(again);
    clf__ids_free(&ids);
}

static void test_tokens(void **state)
{
    (void)state;
    char source[512], target[512];
    struct clf__settings making = text_making(source, target);
    struct made made, again;
    make_and_load(&made, &making);
    assert_int_equal(made.description.source_vocabulary, 300);
    assert_int_equal(made.description.target_vocabulary, 300);
    assert_int_equal(made.description.pad_id, 299);
    assert_int_equal(made.description.end_id, 0);
    assert_int_equal(made.description.start_id, -1);
    assert_string_equal(clf__tokenizer_target_token(made.tokenizer, 0), "</s>");
    assert_string_equal(clf__tokenizer_target_token(made.tokenizer, 1), "<unk>");
    assert_string_equal(clf__tokenizer_target_token(made.tokenizer, 299), "<pad>");
    assert_round_trip(&made, "The cat is asleep on the table.");
    assert_round_trip(&made, "Le chat dort sur la table.");
    clf__tokenizer_free(made.tokenizer);
    assert_same_file(made.folder, "source.spm", made.folder, "target.spm", 1);
    /* The same text gives the same files. */
    assert_ok(make(&again, &making));
    static const char *const files[] = {"source.spm", "vocab.json", "tokenizer_config.json"};
    for (int i = 0; i < 3; i++) {
        assert_same_file(made.folder, files[i], again.folder, files[i], 1);
    }
    struct clf__names names;
    assert_ok(clf__folder_list(&names, made.folder));
    assert_int_equal(names.count, 4);
    clf__names_free(&names);
}

static void test_tokens_of_each_side(void **state)
{
    (void)state;
    char source[512], target[512];
    struct clf__settings making = text_making(source, target);
    making.preset = CLF__PAPER;
    making.separate_vocabularies = 1;
    struct made made;
    make_and_load(&made, &making);
    assert_int_equal(made.description.source_vocabulary, 300);
    assert_int_equal(made.description.target_vocabulary, 300);
    assert_int_equal(made.description.start_id, 0);
    assert_true(made.description.separate_vocabularies);
    assert_same_file(made.folder, "source.spm", made.folder, "target.spm", 0);
    assert_same_file(made.folder, "vocab.json", made.folder, "target_vocab.json", 0);
    assert_true(clf__tokenizer_target_id(made.tokenizer, "\u2581the") > 3);
    assert_round_trip(&made, "The cat is asleep on the table.");
    clf__tokenizer_free(made.tokenizer);
}

/* SentencePiece errors are reported in terms of the requested vocabulary; text without a word gives an error
 * instead of ending the process. */
static void test_text_without_tokens(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    static const struct {
        const char *text, *part;
        int size;
        enum clf__architecture_id architecture;
    } cases[] = {
        {"ab\n", "a vocabulary of 300 tokens; use at most 6", 300, CLF__MARIAN},
        {"ab\n", "a vocabulary of 300 tokens; use at most 7", 300, CLF__PAPER},
        {"abcdef\n", "a vocabulary of 5 tokens is too small for the characters of the text; use at least 10",
         5, CLF__MARIAN},
        {"", "no text to train on", 300, CLF__MARIAN},
        {"\n \n", "no text to train on", 300, CLF__MARIAN},
        {"\u3000\u200b\u2581\n\u2585\n\xff\n",
         "/text, line 3: invalid UTF-8 at byte offset 0; convert the text, for example with iconv -f "
         "WINDOWS-1252 -t UTF-8",
         300, CLF__MARIAN},
        {"ab\n\xe9\n",
         "/text, line 2: invalid UTF-8 at byte offset 0; convert the text, for example with iconv -f "
         "WINDOWS-1252 -t UTF-8",
         300, CLF__MARIAN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct clf__settings making = {.preset = cases[i].architecture, .vocabulary = cases[i].size};
        making.train = train_twice(write_text(folder, "text", cases[i].text));
        struct made made;
        assert_fails(make(&made, &making), CLF_TEXT, cases[i].part);
        assert_non_null(strstr(clf_last_error(), making.train.items[0]));
        assert_false(clf__file_exists(path_in(made.folder, "source.spm")));
    }
}

static void test_no_room(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    struct clf__settings making = {.preset = CLF__PAPER, .tokens = 1, .vocabulary = 4};
    making.train = train_twice(write_text(folder, "text", " \n"));
    struct made made;
    assert_fails(make(&made, &making), CLF_BAD_ARGUMENT, "vocabulary: 4 has no room");
    making.vocabulary = 0;
    assert_fails(make(&made, &making), CLF_TEXT, "no text for a vocabulary");
}

/* Every allocation fails once. */
static void test_no_memory(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder();
    struct clf__settings making = {.preset = CLF__PAPER, .tokens = 1, .separate_vocabularies = 1};
    making.train = train_on(write_text(folder, "table", "the a b\tthe a b\n"), NULL);
    making.source_vocabulary =
        write_text(folder, "words.json", "{\"w\": 3, \"<s>\": 0, \"</s>\": 2, \"<pad>\": 1}");
    clf_status status = CLF_OUT_OF_MEMORY;
    for (uint64_t n = 1; status != CLF_OK; n++) {
        struct made made;
        assert_true(n < 200);
        made.folder = folder;
        clf__memory_fail_at(n);
        status = clf__tokenizer_files_make(&made.description, folder, &making, NULL, NULL);
        clf__memory_fail_at(0);
        assert_true(status == CLF_OK || status == CLF_OUT_OF_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_words, support_teardown),
        cmocka_unit_test_teardown(test_two_vocabularies, support_teardown),
        cmocka_unit_test_teardown(test_given_vocabularies, support_teardown),
        cmocka_unit_test_teardown(test_characters, support_teardown),
        cmocka_unit_test_teardown(test_tokens, support_teardown),
        cmocka_unit_test_teardown(test_tokens_of_each_side, support_teardown),
        cmocka_unit_test_teardown(test_text_without_tokens, support_teardown),
        cmocka_unit_test_teardown(test_no_room, support_teardown),
        cmocka_unit_test_teardown(test_no_memory, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
