/* Names, messages, threads, messages that are too long. */
#include "support/support.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/utf8.h"

static void test_every_status_has_a_name_and_a_meaning(void **state)
{
    (void)state;
    assert_string_equal(clf_status_name(CLF_OK), "OK");
    assert_string_equal(clf_status_name(CLF_OUT_OF_MEMORY), "OUT_OF_MEMORY");
    assert_string_equal(clf_status_name(CLF_INTERRUPTED), "INTERRUPTED");
    assert_string_equal(clf_status_name((clf_status)999), "UNKNOWN");
    for (int i = CLF_OK; i <= CLF_INTERRUPTED; i++) {
        assert_string_not_equal(clf_status_name((clf_status)i), "UNKNOWN");
        assert_true(strlen(clf_status_meaning((clf_status)i)) > 3);
    }
    assert_string_equal(clf_status_meaning(CLF_TEXT), "a line of text cannot be used");
    assert_true(strlen(clf_status_meaning((clf_status)-1)) > 3);
}

static void test_a_failure_is_one_line(void **state)
{
    (void)state;
    assert_int_equal(clf__fail(CLF_FORMAT, "%s: %d bytes", "a.json", 7), CLF_FORMAT);
    assert_string_equal(clf_last_error(), "a.json: 7 bytes");
    assert_int_equal(clf__fail_in(CLF_FORMAT, "model %s", "m"), CLF_FORMAT);
    assert_string_equal(clf_last_error(), "model m: a.json: 7 bytes");
    /* The old message as an argument of the next. */
    assert_int_equal(clf__fail(CLF_DEVICE, "again: %s", clf_last_error()), CLF_DEVICE);
    assert_string_equal(clf_last_error(), "again: model m: a.json: 7 bytes");
}

static void test_a_failure_is_kept(void **state)
{
    (void)state;
    struct clf__failure first = clf__failure_keep(clf__fail(CLF_FILE, "the first"));
    clf__fail(CLF_FORMAT, "cleaning up");
    assert_int_equal(clf__failure_again(&first), CLF_FILE);
    assert_string_equal(clf_last_error(), "the first");
    struct clf__failure none = clf__failure_keep(CLF_OK);
    assert_int_equal(clf__failure_again(&none), CLF_OK);
    assert_string_equal(clf_last_error(), "the first");
}

static clf_status fails_at_once(int *reached)
{
    CLF__TRY(clf__fail(CLF_TEXT, "first"));
    *reached = 1;
    return CLF_OK;
}

static void test_try_returns_the_status(void **state)
{
    (void)state;
    int reached = 0;
    assert_int_equal(fails_at_once(&reached), CLF_TEXT);
    assert_int_equal(reached, 0);
}

static void test_a_long_sentence_is_cut_on_a_code_point(void **state)
{
    (void)state;
    /* Every length around the limit, with two-byte code points at either parity. */
    for (int lead = 0; lead < 2; lead++) {
        for (int count = 1000; count < 1040; count++) {
            char text[4096] = "x";
            size_t used = (size_t)lead;
            for (int i = 0; i < count; i++) {
                memcpy(text + used, "\u00e9", 2);
                used += 2;
            }
            text[used] = '\0';
            clf__fail(CLF_TEXT, "%s", text);
            const char *sentence = clf_last_error();
            size_t length = strlen(sentence);
            assert_int_equal(clf__utf8_valid_prefix(sentence, length), length);
            if (length < used) {
                assert_string_equal(sentence + length - 3, "...");
                assert_memory_equal(sentence, text, length - 3);
            } else {
                assert_string_equal(sentence, text);
            }
            assert_true(length >= 2000);
        }
    }
    /* A context before a message that already fills the buffer. */
    clf__fail_in(CLF_TEXT, "in a place");
    assert_memory_equal(clf_last_error(), "in a place: ", 12);
    assert_non_null(strstr(clf_last_error(), "..."));
    char context[4000];
    memset(context, 'c', sizeof context - 1);
    context[sizeof context - 1] = '\0';
    clf__fail_in(CLF_TEXT, "%s", context);
    assert_string_equal(clf_last_error() + strlen(clf_last_error()) - 4, "c...");
}

static void *fail_in_thread(void *argument)
{
    const char **seen = argument;
    seen[0] = strlen(clf_last_error()) == 0 ? "empty" : "not empty";
    clf__fail(CLF_TEXT, "from the thread");
    seen[1] = strcmp(clf_last_error(), "from the thread") == 0 ? "own" : "foreign";
    return NULL;
}

static void test_each_thread_has_its_own_sentence(void **state)
{
    (void)state;
    clf__fail(CLF_TEXT, "from the test");
    const char *seen[2] = {0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, fail_in_thread, seen), 0);
    pthread_join(thread, NULL);
    assert_string_equal(seen[0], "empty");
    assert_string_equal(seen[1], "own");
    assert_string_equal(clf_last_error(), "from the test");
}

static void test_failing_allocates_nothing(void **state)
{
    (void)state;
    clf__memory_fail_at(0);
    clf__fail(CLF_OUT_OF_MEMORY, "%s %d", "no memory", 1);
    clf__fail_in(CLF_OUT_OF_MEMORY, "here");
    assert_int_equal(clf__memory_count(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_status_has_a_name_and_a_meaning),
        cmocka_unit_test(test_a_failure_is_one_line),
        cmocka_unit_test(test_a_failure_is_kept),
        cmocka_unit_test(test_try_returns_the_status),
        cmocka_unit_test(test_a_long_sentence_is_cut_on_a_code_point),
        cmocka_unit_test(test_each_thread_has_its_own_sentence),
        cmocka_unit_test(test_failing_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
