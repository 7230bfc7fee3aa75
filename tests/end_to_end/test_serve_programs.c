/* `clformer serve`: curl, client libraries and the requests of other programs, by
 * end_to_end/clients/check_clients.py. */
#include <signal.h>
#include <stdlib.h>

#include "support/http.h"

static struct http_server server;

/* tools/test installs the packages, for all legs. */
#define PACKAGES CLF_SOURCE_FOLDER "/build/clients"

static void test_programs(void **state)
{
    (void)state;
#if defined CLF_HAS_SERVER && defined CLF_HAS_AUDIO
    if (system("{ command -v curl && command -v python3 && test -e '" PACKAGES
               "/requirements.txt'; } >/dev/null") != 0) {
        print_message(
            "curl, python3 or %s is missing; tools/test --setup-only installs them if there is a network\n",
            PACKAGES);
        skip();
    }
    const char *speech = support_fixture("speech/tiny");
    server = http_start(process_format("-m " DEMO_MODEL " -m %s --wyoming 0", speech));
    process_set_environment();
    print_message("%s", process_shell(process_format(
                            "PYTHONPATH='" PACKAGES "' python3 -B -W ignore '" CLF_SOURCE_FOLDER
                            "/tests/end_to_end/clients/check_clients.py' %d %d '" CLF_BUILD_FOLDER
                            "/clformer' '" DEMO_MODEL "' '%s' 2>&1",
                            server.port, server.wyoming_port, speech)));
    int status = http_stop(&server, SIGTERM);
    server.process.child = 0;
    assert_int_equal(status, 0);
#else
    print_message("built without libmicrohttpd or libsndfile\n");
    skip();
#endif
}

static int end(void **state)
{
    http_kill(&server);
    return support_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_programs, end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
