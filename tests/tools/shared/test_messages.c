/* The command's message about a failure, and about one caused by a signal. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"
#include "shared/command.h"
#include "support/support.h"

static char said[256];

/* Reports a compilation failure as `status`, and keeps the output. */
static int report(clf_status status)
{
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);
    assert_true(file != NULL && kept >= 0);
    clf__fail(status, "does not compile");
    assert_int_equal(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
    int result = report_failure(status);
    assert_int_equal(dup2(kept, STDERR_FILENO), STDERR_FILENO);
    close(kept);
    rewind(file);
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    fclose(file);
    return result;
}

/* LLVM, in PoCL, deletes the files that it is writing when a signal arrives; the compilation then fails
 * without a real cause. Reported once, however many calls fail. */
static void test_report(void **state)
{
    (void)state;
    assert_int_equal(report(CLF_DEVICE), EXIT_FAILED);
    assert_string_equal(said, "clformer: does not compile\n");
    assert_int_equal(report(CLF_BAD_ARGUMENT), EXIT_WRONG_CALL);
    signals_catch(1);
    raise(SIGTERM);
    assert_int_equal(report(CLF_DEVICE), EXIT_FAILED);
    assert_string_equal(said, "clformer: interrupted\n");
    assert_int_equal(report(CLF_DEVICE), EXIT_FAILED);
    assert_string_equal(said, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_report)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
