/* `clformer serve`: its web page in headless Chromium, by end_to_end/page/check_page.py, which saves
 * screenshots in build/page. */
#include <signal.h>
#include <stdlib.h>

#include "support/http.h"

static struct http_server server;

static void test_page(void **state)
{
    (void)state;
#ifdef CLF_HAS_SERVER
    if (system("{ command -v chromium && command -v chromedriver && command -v python3; } >/dev/null") != 0) {
        print_message("chromium, chromedriver or python3 is not installed (Debian: chromium-driver)\n");
        skip();
    }
    server = http_start("-m " DEMO_MODEL);
    print_message("%s", process_shell(process_format(
                            "python3 -B '" CLF_SOURCE_FOLDER
                            "/tests/end_to_end/page/check_page.py' %d '" CLF_BUILD_FOLDER "/page' 2>&1",
                            server.port)));
    int status = http_stop(&server, SIGTERM);
    server.process.child = 0;
    assert_int_equal(status, 0);
#else
    print_message("built without libmicrohttpd\n");
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
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_page, end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
