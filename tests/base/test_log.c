/* The hook gets whole messages. */
#include "support/support.h"

#include <string.h>

#include "base/log.h"
#include "base/memory.h"

struct seen {
    int count;
    clf_log_level level;
    char message[4096];
};

static void remember(clf_log_level level, const char *message, void *user)
{
    struct seen *seen = user;
    seen->count++;
    seen->level = level;
    strncpy(seen->message, message, sizeof seen->message - 1);
}

static void test_messages_reach_the_hook(void **state)
{
    (void)state;
    struct seen seen = {0};
    clf_log_set(remember, &seen);
    clf__log(CLF_LOG_INFO, "%s is number %d", "gpu", 3);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.level, CLF_LOG_INFO);
    assert_string_equal(seen.message, "gpu is number 3");
    clf_log_set(NULL, NULL);
    clf__log(CLF_LOG_WARNING, "nobody hears");
    assert_int_equal(seen.count, 1);
}

static void test_long_messages_are_whole(void **state)
{
    (void)state;
    struct seen seen = {0};
    clf_log_set(remember, &seen);
    char text[3000];
    memset(text, 'x', sizeof text);
    for (size_t length = 500; length < 525; length++) {
        text[length] = '\0';
        clf__log(CLF_LOG_DEBUG, "%s", text);
        assert_string_equal(seen.message, text);
        text[length] = 'x';
    }
    text[sizeof text - 1] = '\0';
    clf__log(CLF_LOG_DEBUG, "%s", text);
    assert_string_equal(seen.message, text);
    /* Without memory the message is truncated. */
    clf__memory_fail_at(1);
    memset(seen.message, 0, sizeof seen.message);
    clf__log(CLF_LOG_DEBUG, "%s", text);
    clf__memory_fail_at(0);
    assert_true(strlen(seen.message) > 100 && strlen(seen.message) < sizeof text - 1);
    clf_log_set(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_reach_the_hook),
        cmocka_unit_test(test_long_messages_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
