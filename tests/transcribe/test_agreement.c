/* LocalAgreement-2 with scripted hypotheses: which words are final, and the prompt. */
#include "transcribe/agreement.h"

#include <string.h>

#include "base/memory.h"
#include "support/process.h"

/* Adds words of half a second that start at `start`, separated by spaces; "|" begins a segment. */
static struct clf__live_words words_of(double start, const char *text)
{
    struct clf__live_words words = {0};
    int begins = 1;
    for (const char *at = text; *at != '\0';) {
        int length = (int)strcspn(at, " ");
        if (*at == '|') {
            begins = 1;
        } else {
            struct clf_word word = {
                .text = process_format(" %.*s", length, at), .start = start, .end = start + 0.5};
            assert_ok(clf__live_words_add(&words, &word, begins));
            start += 0.5;
            begins = 0;
        }
        at += length + strspn(at + length, " ");
    }
    return words;
}

static const char *text_of(const struct clf__live_words *words)
{
    const char *text = "";
    for (int i = 0; i < words->count; i++) {
        text = process_format("%s%s", text, words->data[i].word.text);
    }
    return text;
}

static void add(struct clf__agreement *agreement, double start, const char *text)
{
    struct clf__live_words words = words_of(start, text);
    assert_ok(clf__agreement_add(agreement, &words));
    assert_int_equal(words.count, 0);
    clf__live_words_free(&words);
}

/* The common prefix of two hypotheses is final and never changes. */
static void test_agreement(void **state)
{
    (void)state;
    struct clf__agreement agreement = {0};
    add(&agreement, 0, "I have a dream");
    assert_string_equal(text_of(&agreement.committed), "");
    add(&agreement, 0, "I have the dream that");
    assert_string_equal(text_of(&agreement.committed), " I have");
    assert_string_equal(text_of(&agreement.unstable), " the dream that");
    add(&agreement, 0, "We had the dream that one"); /* final words are kept, whatever replaces them */
    assert_string_equal(text_of(&agreement.committed), " I have the dream that");
    assert_string_equal(text_of(&agreement.unstable), " one");
    add(&agreement, 0, "");
    assert_string_equal(text_of(&agreement.committed), " I have the dream that");
    assert_string_equal(text_of(&agreement.unstable), "");
    add(&agreement, 2.5, "one day");
    add(&agreement, 2.5, "one day this");
    assert_string_equal(text_of(&agreement.committed), " I have the dream that one day");
    assert_true(agreement.end == 3.5);
    clf__agreement_free(&agreement);
}

/* Words that repeat the last final words are dropped, by their times or, near the end, by their texts. */
static void test_repeated(void **state)
{
    (void)state;
    struct clf__agreement agreement = {0};
    add(&agreement, 0, "a b c d");
    add(&agreement, 0, "a b c d");
    assert_string_equal(text_of(&agreement.committed), " a b c d");
    assert_ok(clf__agreement_pass(&agreement, 0.5));
    assert_string_equal(text_of(&agreement.committed), " b c d");
    assert_string_equal(text_of(&agreement.passed), " a");
    add(&agreement, 1.95, "c d e f"); /* shifted by a second */
    add(&agreement, 1.92, "d e f");   /* one word repeats */
    assert_string_equal(text_of(&agreement.committed), " b c d e f");
    assert_string_equal(text_of(&agreement.unstable), "");
    add(&agreement, 9, "f g"); /* far from the last final word: a repetition in the recording */
    add(&agreement, 9, "f g");
    assert_string_equal(text_of(&agreement.committed), " b c d e f f g");
    clf__agreement_free(&agreement);
}

/* A hypothesis may move the times of final words, and change their punctuation: the word after them is kept,
 * even if it begins before their end. */
static void test_moved(void **state)
{
    (void)state;
    struct clf__agreement agreement = {0};
    add(&agreement, 0, "ask not what you");
    add(&agreement, 0, "ask not");
    assert_string_equal(text_of(&agreement.committed), " ask not");
    add(&agreement, -0.3, "Ask not, what your country");
    assert_string_equal(text_of(&agreement.unstable), " what your country");
    add(&agreement, 0.8, "not what your country");
    assert_string_equal(text_of(&agreement.committed), " ask not what your country");
    add(&agreement, 1.6, "your country your country can");
    assert_string_equal(text_of(&agreement.unstable), " your country can");
    clf__agreement_free(&agreement);
}

/* The prompt has the last whole words of at most 200 characters whose audio was dropped. */
static void test_prompt(void **state)
{
    (void)state;
    struct clf__agreement agreement = {0};
    char *prompt;
    for (int i = 0; i < 30; i++) {
        const char *word = i % 2 ? "über€uber" : "123456789"; /* ten characters with the space */
        for (int k = 0; k < 2; k++) {
            add(&agreement, i, word);
        }
        assert_ok(clf__agreement_pass(&agreement, i));
        assert_ok(clf__agreement_prompt(&prompt, &agreement));
        int words = i < 20 ? i : 20;
        assert_int_equal(process_count(prompt, " "), words);
        assert_int_equal(process_count(prompt, "€"), words / 2);
        clf__free(prompt);
    }
    clf__agreement_free(&agreement);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_agreement, support_teardown),
        cmocka_unit_test_teardown(test_repeated, support_teardown),
        cmocka_unit_test_teardown(test_moved, support_teardown),
        cmocka_unit_test_teardown(test_prompt, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
