/* What a vocabulary is learned from: long lines, and which file is named. */
#include "train/files.h"

#include <clformer/log.h>

#include "base/memory.h"
#include "text/train_sentencepiece.h"
#include "train/tokenizer_files.h"

static char messages[4096];

static void keep_message(void *user, clf_log_level level, const char *message)
{
    (void)user;
    if (level <= CLF_LOG_NOTICE) {
        size_t used = strlen(messages);
        snprintf(messages + used, sizeof messages - used, "%s\n", message);
    }
}

static clf_status make(const char **folder, const struct clf__tokenizer_making *making)
{
    struct clf__model_description description = {.preset = ""};
    *folder = support_temporary_folder();
    messages[0] = '\0';
    clf_log_set(keep_message, NULL);
    clf_status status = clf__tokenizer_files_make(&description, *folder, making);
    clf_log_set(NULL, NULL);
    return status;
}

static void assert_same_model(const char *folder, const char *other)
{
    char *bytes, *others;
    size_t size, other_size;
    assert_ok(clf__file_read(&bytes, &size, path_in(folder, "source.spm"), 1 << 24));
    assert_ok(clf__file_read(&others, &other_size, path_in(other, "source.spm"), 1 << 24));
    assert_int_equal(size, other_size);
    assert_memory_equal(bytes, others, size);
    clf__free(bytes);
    clf__free(others);
}

static char *repeat(const char *word, int count)
{
    size_t length = strlen(word);
    char *text = support_array(length * (size_t)count + 1, 1);
    for (int i = 0; i < count; i++) {
        memcpy(text + length * (size_t)i, word, length);
    }
    return text;
}

static char *join(const char *a, const char *b, const char *c)
{
    char *text = support_array(strlen(a) + strlen(b) + strlen(c) + 1, 1);
    sprintf(text, "%s%s%s", a, b, c);
    return text;
}

/* Words in one long line teach as they do in lines that are short enough. */
static void test_long_lines_are_cut(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder(), *whole, *cut;
    const char *lines[] = {repeat("hallo ", 1000), repeat("Katze und Hund ", 500), repeat("das ", 1048)};
    struct clf__tokenizer_making making = {.system = CLF__MARIAN, .size = 25};
    making.source_path = making.target_path =
        write_text(folder, "one", join(join(lines[0], lines[1], "\n"), lines[2], "\n"));
    assert_ok(make(&whole, &making));
    assert_null(strstr(messages, "learns nothing"));
    char *broken = join(join(lines[0], lines[1], "\n"), lines[2], "\n");
    size_t end = strlen(lines[0]) + strlen(lines[1]);
    for (size_t start = 0; end - start > CLF__SENTENCE_BYTES;) {
        size_t at = start + CLF__SENTENCE_BYTES;
        while (broken[at] != ' ') {
            at--;
        }
        broken[at] = '\n';
        start = at + 1;
    }
    making.source_path = making.target_path = write_text(folder, "broken", broken);
    assert_ok(make(&cut, &making));
    assert_same_model(whole, cut);
}

/* Counted, and the words beside it still teach. */
static void test_words_that_are_too_long(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder(), *with, *without;
    const char *word = repeat("abcdefgh", CLF__SENTENCE_BYTES / 8 + 1);
    const char *others = "the cat sat there\n";
    struct clf__tokenizer_making making = {.system = CLF__MARIAN, .size = 12};
    making.source_path = making.target_path =
        write_text(folder, "with", join("the ", word, " cat sat there\n"));
    assert_ok(make(&with, &making));
    assert_non_null(strstr(messages, "learns nothing from 2 words of more than 4192 bytes"));
    making.source_path = making.target_path = write_text(folder, "without", others);
    assert_ok(make(&without, &making));
    assert_null(strstr(messages, "learns nothing"));
    making.source_path = making.target_path = write_text(folder, "alone", join(word, "\n", ""));
    assert_fails(make(&with, &making), CLF_TEXT, "lines of more than 4192 bytes have no space");
}

/* A word of exactly as many bytes as there may be is not too long. */
static void test_the_longest_word(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder(), *made;
    const char *word = repeat("abcdefgh", CLF__SENTENCE_BYTES / 8);
    struct clf__tokenizer_making making = {.system = CLF__MARIAN, .size = 12};
    making.source_path = making.target_path =
        write_text(folder, "text", join(word, " ", join(word, "\n", "")));
    assert_ok(make(&made, &making));
    assert_null(strstr(messages, "learns nothing"));
}

static void test_the_file_at_fault_is_named(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder(), *made;
    char *text = write_text(folder, "text", "the cat sat\n"), *blank = write_text(folder, "blank", " \n");
    char *pair = join(text, " and ", text);
    struct clf__tokenizer_making making = {.system = CLF__PAPER, .size = 12, .source_path = text};
    making.target_path = text;
    assert_ok(make(&made, &making));
    assert_non_null(strstr(messages, join(pair, ": learning a vocabulary of 12 pieces", "")));
    making.separate = 1;
    assert_ok(make(&made, &making));
    assert_null(strstr(messages, " and "));
    making.target_path = blank;
    assert_fails(make(&made, &making), CLF_TEXT, join(blank, ": there is no text to learn pieces from", ""));
    assert_non_null(strstr(messages, join(text, ": learning", "")));
    assert_non_null(strstr(messages, join(blank, ": learning", "")));
    making.pieces = 1;
    making.size = 0;
    assert_fails(make(&made, &making), CLF_TEXT, join(blank, ": there is no text for a vocabulary", ""));
    making.separate = 0;
    making.source_vocabulary = blank;
    assert_fails(make(&made, &making), CLF_TEXT, join(blank, ": there is no piece in it", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_long_lines_are_cut, support_teardown),
        cmocka_unit_test_teardown(test_words_that_are_too_long, support_teardown),
        cmocka_unit_test_teardown(test_the_longest_word, support_teardown),
        cmocka_unit_test_teardown(test_the_file_at_fault_is_named, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
