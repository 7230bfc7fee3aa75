/* `clformer serve` under load, by bench/load: twice as many requests as it can answer. */
#include <stdlib.h>
#include <string.h>

#include "support/process.h"

#ifdef CLF_HAS_SERVER

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BUILD "--sanitized"
#else
#define BUILD ""
#endif

static const char *load(const char *flags)
{
    if (system("command -v python3 >/dev/null") != 0) {
        print_message("python3 is not installed\n");
        skip();
    }
    process_set_environment();
    return process_format("python3 -B '" CLF_SOURCE_FOLDER "/bench/load' --clformer '" CLF_BUILD_FOLDER
                          "/clformer' " BUILD " %s 2>&1",
                          flags);
}

static void test_load(void **state)
{
    (void)state;
    print_message("%s", process_shell(load(support_small() ? "--seconds 3" : "--seconds 10")));
}

/* A server that refuses requests fails the check. */
static void test_refusals(void **state)
{
    (void)state;
    const char *output =
        process_shell(process_format("! %s", load("--seconds 0.6 --rate 200 --flags '--req-limit 5'")));
    assert_non_null(strstr(output, "requests were answered with status 429"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_load, support_teardown),
        cmocka_unit_test_teardown(test_refusals, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 0;
}

#endif
