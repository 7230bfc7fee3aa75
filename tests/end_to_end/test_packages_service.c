/* clformer.service: the server translates under the restrictions of the unit, and the restrictions hold. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/http.h"

#define PACKAGES CLF_SOURCE_FOLDER "/tests/end_to_end/packages"

/* Returns the words that run a program under the restrictions, or skips the test. */
static const char *restricted(const char *visible)
{
    static const char needed[] = "command -v bwrap systemd-analyze >/dev/null && test $(id -u) = 0 && "
                                 "/usr/bin/python3 -c 'import seccomp' 2>/dev/null";
    if (system(needed) != 0) {
        print_message("needs root, bubblewrap, systemd-analyze and python3-seccomp\n");
        skip();
    }
    const char *vendors = getenv("OCL_ICD_VENDORS");
    return process_format("%s/restricted %s/tools/package/debian/clformer.service %s %s%s %s --", PACKAGES,
                          CLF_SOURCE_FOLDER, support_temporary_folder(),
                          vendors != NULL && access(vendors, F_OK) == 0 ? "vendors=" : "",
                          vendors != NULL && access(vendors, F_OK) == 0 ? vendors : "", visible);
}

/* A program cannot do what the unit forbids, and can do what a driver needs. */
static void test_restrictions(void **state)
{
    (void)state;
    const char *expected = "65534 0077\n"
                           "CapBnd 0000000000000000\nNoNewPrivs 1\nSeccomp 2\n"
                           "write /etc: no\nwrite /usr: no\nwrite /sys/kernel: no\nwrite /var/lib: no\n"
                           "write /tmp: yes\nwrite /var/lib/clformer: yes\nwrite /var/cache/clformer: yes\n"
                           "write /var/log/clformer: yes\n"
                           "/home: 0 files\n/root: 0 files\n"
                           "AF_INET: yes\nAF_INET6: yes\nAF_UNIX: yes\nAF_NETLINK: no\nAF_PACKET: no\n"
                           "namespaces: no\nset-user-id: no\nhost name: no\nother processes: no\n"
                           "executable memory: yes\npinned threads: no\n";
    char *command =
        process_format("%s /usr/bin/python3 /mnt/attempts", restricted("attempts=" PACKAGES "/attempts"));
    assert_string_equal(process_shell(command), expected);
}

#ifdef CLF_HAS_SERVER
static struct http_answer answer;
static struct http_server server;

static void test_server(void **state)
{
    (void)state;
    const char *visible = "clformer=" CLF_BUILD_FOLDER "/clformer model=" DEMO_MODEL;
    struct process process = {.launcher = restricted(visible), .program = "/mnt/clformer"};
    server = http_start_by(&process, "-m fr-en:/mnt/model");
    http_request(&answer, server.port, "POST /translate", JSON_TYPE,
                 "{\"q\":\"Je suis étudiant\",\"source\":\"fr\",\"target\":\"en\"}");
    assert_int_equal(answer.status, 200);
    assert_non_null(strstr(answer.body, "\"translatedText\":\"I'm a student.\""));
}

/* bubblewrap does not pass SIGTERM on. */
static int stop_server(void **state)
{
    http_kill(&server);
    return support_teardown(state);
}
#else
static void test_server(void **state)
{
    (void)state;
    skip(); /* built without libmicrohttpd */
}

static int stop_server(void **state)
{
    return support_teardown(state);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_restrictions, support_teardown),
        cmocka_unit_test_teardown(test_server, stop_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
