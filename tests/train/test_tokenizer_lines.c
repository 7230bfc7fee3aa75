/* Vocabulary training: long lines, and the file named in errors. */
#include "train/files.h"

#include <clformer/log.h>

#include "base/memory.h"
#include "model/config/config.h"
#include "text/tokenizers/segmenters/train_sentencepiece.h"
#include "train/tokenizer_files.h"

static char messages[4096];

static void keep_message(clf_log_level level, const char *message, void *user)
{
    (void)user;
    if (level <= CLF_LOG_NOTICE) {
        size_t used = strlen(messages);
        snprintf(messages + used, sizeof messages - used, "%s\n", message);
    }
}

static clf_status make_asking(const char **folder, const struct clf__settings *making,
                              int (*interrupted)(void *user), void *user)
{
    struct clf__model_description description = {.preset = ""};
    *folder = support_temporary_folder();
    messages[0] = '\0';
    clf_log_set(keep_message, NULL);
    clf_status status = clf__tokenizer_files_make(&description, *folder, making, interrupted, user);
    clf_log_set(NULL, NULL);
    return status;
}

static clf_status make(const char **folder, const struct clf__settings *making)
{
    return make_asking(folder, making, NULL, NULL);
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

/* Words in one long line count as in short lines. */
static void test_long_lines_are_cut(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder(), *whole, *cut;
    const char *lines[] = {repeat("hallo ", 1000), repeat("Katze und Hund ", 500), repeat("das ", 1048)};
    struct clf__settings making = {.preset = CLF__MARIAN, .vocabulary = 25};
    making.train =
        train_twice(write_text(folder, "one", join(join(lines[0], lines[1], "\n"), lines[2], "\n")));
    assert_ok(make(&whole, &making));
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
    making.train = train_twice(write_text(folder, "broken", broken));
    assert_ok(make(&cut, &making));
    assert_same_model(whole, cut);
}

/* Text without spaces, as in Chinese, counts as in lines split between its characters. */
static void test_long_stretches_are_cut(void **state)
{
    (void)state;
    enum { COUNT = 3000, BYTES = 3, FIT = CLF__SENTENCE_BYTES / BYTES * BYTES };
    static const char *const characters[] = {"\u732b", "\u72d7", "\u574f", "\u5728"};
    const char *folder = support_temporary_folder(), *whole, *cut;
    char *line = support_array(COUNT + 1, BYTES), *broken = support_array(COUNT + 1, BYTES + 1);
    struct support_random random = {5};
    size_t used = 0;
    for (size_t i = 0; i < COUNT; i++) {
        memcpy(line + BYTES * i, characters[support_integer(&random, 4)], BYTES);
        memcpy(broken + used, line + BYTES * i, BYTES);
        used += BYTES;
        if ((i + 1) * BYTES % FIT == 0) {
            broken[used++] = '\n';
        }
    }
    struct clf__settings making = {.preset = CLF__MARIAN, .vocabulary = 25};
    making.train = train_twice(write_text(folder, "whole", join(line, "\n", "")));
    assert_ok(make(&whole, &making));
    making.train = train_twice(write_text(folder, "broken", join(broken, "\n", "")));
    assert_ok(make(&cut, &making));
    assert_same_model(whole, cut);
}

/* A word that is too long does not hide the words around it. */
static void test_a_word_that_is_too_long(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder(), *made;
    const char *word = repeat("abcdefgh", CLF__SENTENCE_BYTES / 8 + 1);
    struct clf__settings making = {.preset = CLF__MARIAN, .vocabulary = 18};
    making.train = train_twice(write_text(folder, "with", join("qui ", word, " qui qui\n")));
    assert_ok(make(&made, &making));
    char *bytes;
    size_t size;
    assert_ok(clf__file_read(&bytes, &size, path_in(made, "vocab.json"), 1 << 24));
    assert_true(strchr(bytes, 'q') && strstr(bytes, "ab")); /* a part of the word, and a word beside it */
    clf__free(bytes);
}

/* An interruption is honoured while the text is read and during training; nothing is left. */
struct asked {
    int calls, turn;
};

static int is_turn(void *user)
{
    struct asked *asked = user;
    return ++asked->calls >= asked->turn;
}

static void test_interrupted(void **state)
{
    (void)state;
    enum { LINES = 500, LINE_BYTES = 120 };
    const char *folder = support_temporary_folder(), *made;
    char *text = support_array(LINES, LINE_BYTES);
    struct support_random random = {3};
    for (int i = 0; i < LINES * LINE_BYTES; i++) {
        int letter = support_integer(&random, 20);
        text[i] = (char)(i % LINE_BYTES == LINE_BYTES - 1 ? '\n' : letter > 15 ? ' ' : 'a' + letter);
    }
    text[LINES * LINE_BYTES - 1] = '\0';
    char *path = write_text(folder, "text", text);
    for (int turn = 1; turn <= 2; turn++) {
        struct asked asked = {0, turn};
        struct clf__settings making = {
            .preset = CLF__MARIAN, .vocabulary = 300, .train = train_on(path, path)};
        clf_status status = make_asking(&made, &making, is_turn, &asked);
        if (turn == 1 || asked.calls > 1) { /* otherwise training finished before the next check */
            assert_int_equal(status, CLF_INTERRUPTED);
            assert_int_equal(asked.calls, turn);
            assert_false(clf__file_exists(path_in(made, "source.spm")));
        }
    }
    /* the abandoned thread does not block the next call */
    struct clf__settings making = {.preset = CLF__MARIAN, .vocabulary = 12};
    making.train = train_twice(write_text(folder, "small", "the cat sat there\n"));
    assert_ok(make(&made, &making));
}

static int give_for_ever(void *user, const char **text, size_t *size)
{
    *text = user;
    *size = strlen(user);
    return 1;
}

static void begin_again(void *user)
{
    (void)user;
}

static int at_once(void *user)
{
    (void)user;
    return 1;
}

/* Endless text, of words and of nothing: the reader stops, and keeps nothing of the caller's. */
static void test_interrupted_while_reading(void **state)
{
    (void)state;
    char *lines[] = {"the cat sat there", "", " "};
    for (int i = 0; i < 3; i++) {
        const char *output = path_in(support_temporary_folder(), "made.spm");
        struct clf__sentencepiece_training training = {.next = give_for_ever,
                                                       .rewind = begin_again,
                                                       .user = lines[i],
                                                       .pieces = 20,
                                                       .output = output,
                                                       .interrupted = at_once};
        assert_fails(clf__sentencepiece_train(&training), CLF_INTERRUPTED, "interrupted");
        assert_false(clf__file_exists(output));
    }
}

/* A word of exactly the maximum size is accepted. */
static void test_the_longest_word(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder(), *made;
    const char *word = repeat("abcdefgh", CLF__SENTENCE_BYTES / 8);
    struct clf__settings making = {.preset = CLF__MARIAN, .vocabulary = 12};
    making.train = train_twice(write_text(folder, "text", join(word, " ", join(word, "\n", ""))));
    assert_ok(make(&made, &making));
}

static void test_the_file_at_fault_is_named(void **state)
{
    (void)state;
    const char *folder = support_temporary_folder(), *made;
    char *text = write_text(folder, "text", "the cat sat\n"), *blank = write_text(folder, "blank", " \n");
    char *pair = join(text, " and ", text);
    struct clf__settings making = {.preset = CLF__PAPER, .vocabulary = 12};
    making.train = train_on(text, text);
    assert_ok(make(&made, &making));
    assert_non_null(strstr(messages, join(pair, ": learning a vocabulary of 12 tokens", "")));
    making.separate_vocabularies = 1;
    assert_ok(make(&made, &making));
    assert_null(strstr(messages, " and "));
    making.train = train_on(text, blank);
    assert_fails(make(&made, &making), CLF_TEXT, join(blank, ": there is no text to train on", ""));
    assert_non_null(strstr(messages, join(text, ": learning", "")));
    assert_non_null(strstr(messages, join(blank, ": learning", "")));
    making.tokens = 1;
    making.vocabulary = 0;
    assert_fails(make(&made, &making), CLF_TEXT, join(blank, ": has no text for a vocabulary", ""));
    making.separate_vocabularies = 0;
    making.source_vocabulary = blank;
    assert_fails(make(&made, &making), CLF_TEXT, join(blank, ": has no tokens for a vocabulary", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_long_lines_are_cut, support_teardown),
        cmocka_unit_test_teardown(test_long_stretches_are_cut, support_teardown),
        cmocka_unit_test_teardown(test_a_word_that_is_too_long, support_teardown),
        cmocka_unit_test_teardown(test_interrupted, support_teardown),
        cmocka_unit_test_teardown(test_interrupted_while_reading, support_teardown),
        cmocka_unit_test_teardown(test_the_longest_word, support_teardown),
        cmocka_unit_test_teardown(test_the_file_at_fault_is_named, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
