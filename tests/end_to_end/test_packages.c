/* tools/package: the source archive is reproducible and can be configured; the service is restricted. */
#include <stdlib.h>
#include <sys/wait.h>

#include "support/process.h"
#include "support/support.h"

static int run(const char *script)
{
    process_set_environment();
    int status = system(script);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_source_archive(void **state)
{
    (void)state;
    static const char script[] =
        "set -e; place=$(mktemp -d); trap 'rm -rf \"$place\"' EXIT; cd \"$place\"; mkdir one two\n"
        "one=$('" CLF_SOURCE_FOLDER "/tools/package/make_source' one)\n"
        "two=$('" CLF_SOURCE_FOLDER "/tools/package/make_source' two)\n"
        "cmp \"$one\" \"$two\"\n"
        "tar -xf \"$one\"; cd clformer-*; test -f lib/README.md; test ! -e build\n"
        "cmake -S . -B build -DCLF_TESTS=OFF >/dev/null\n"
        /* without git, the archive makes itself again */
        "mkdir again; mv build \"$place/build\"; three=$(tools/package/make_source again); "
        "mv \"$three\" \"$place\"; rmdir again; four=$(tools/package/make_source \"$place/two\"); "
        "cmp \"$four\" \"$one\"\n";
    assert_int_equal(run(script), 0);
}

static void test_service(void **state)
{
    (void)state;
    if (run("command -v systemd-analyze >/dev/null") != 0) {
        print_message("systemd-analyze is not installed\n");
        skip();
    }
    assert_int_equal(run("systemd-analyze security --offline=yes --threshold=20 "
                         "'" CLF_SOURCE_FOLDER "/tools/package/debian/clformer.service' >/dev/null"),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_source_archive),
        cmocka_unit_test(test_service),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
