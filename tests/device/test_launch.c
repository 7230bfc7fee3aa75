/* Kernels with each kind of argument, and buffers. */
#include <math.h>
#include <string.h>

#include "device/buffer.h"
#include "device/launch.h"
#include "support/support.h"

static void test_opens(void **state)
{
    (void)state;
    FOR_EACH_FORM(device)
    {
        assert_ok(clf__device_finish(device));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_opens, support_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
