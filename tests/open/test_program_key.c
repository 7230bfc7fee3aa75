/* Several open devices: if the driver confuses kernels of several queues, their programs are compiled
 * separately, and kernels with growing launches run in all of them. */
#include <pthread.h>
#include <string.h>

#include "math/ops/activation.h"
#include "runtime/device/device.h"
#include "runtime/device/queue.h"
#include "runtime/opencl/quirks.h"
#include "support/support.h"
#include "support/threads.h"

enum { DEVICES = 4, ROWS = 1024, COLUMNS = 8 };

static struct clf_device *open_one(void)
{
    struct clf_device *device;
    assert_ok(clf_device_open(&device, NULL, NULL));
    return device;
}

static void assert_program_key(const struct clf_device *device, int number)
{
    int is_told = strstr(device->build_options, "-DPROGRAM_KEY=") != NULL;
    assert_int_equal(device->caps.program_key, clf__quirk_mixes_up_kernels(device->info) ? number : 0);
    assert_int_equal(is_told, device->caps.program_key > 0);
}

/* The first device uses the programs of a single device; later ones take the lowest free number. */
static void test_numbers(void **state)
{
    (void)state;
    struct clf_device *devices[3];
    for (int i = 0; i < 3; i++) {
        devices[i] = open_one();
        assert_program_key(devices[i], i);
    }
    for (int i = 1; i >= 0; i--) {
        clf_device_close(devices[i]);
    }
    for (int i = 0; i < 2; i++) {
        devices[i] = open_one();
        assert_program_key(devices[i], i);
    }
    for (int i = 0; i < 3; i++) {
        clf_device_close(devices[i]);
    }
    devices[0] = open_one();
    assert_program_key(devices[0], 0);
    clf_device_close(devices[0]);
}

struct runner {
    struct clf_device *device;
    struct clf__arena arena;
    struct clf__tensor x;
    enum clf__activation kind;
    int grows;
    clf_status status;
    pthread_t thread;
};

static int is_over; /* the growing one is finished */

static clf_status run_rows(const struct runner *runner, int rows)
{
    struct clf__tensor x = clf__tensor_rows(runner->x, 0, rows);
    CLF__TRY(clf__activation_forward(x, x, runner->kind));
    return clf__device_finish(runner->device);
}

static void *run(void *user)
{
    struct runner *runner = user;
    for (int i = 1; i < ROWS && runner->grows && runner->status == CLF_OK; i++) {
        runner->status = run_rows(runner, i);
    }
    while (!runner->grows && runner->status == CLF_OK && !__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        runner->status = run_rows(runner, 1);
    }
    if (runner->grows) {
        __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

/* Each kind of activation is a separate program, whose first launches are small in all queues. */
static void run_all(struct runner *runners, enum clf__activation kind)
{
    is_over = 0;
    for (int i = 0; i < DEVICES; i++) {
        runners[i].kind = kind;
        assert_ok(run_rows(&runners[i], 1));
    }
    for (int i = 0; i < DEVICES; i++) {
        assert_int_equal(pthread_create(&runners[i].thread, NULL, run, &runners[i]), 0);
    }
    for (int i = 0; i < DEVICES; i++) {
        assert_int_equal(pthread_join(runners[i].thread, NULL), 0);
        assert_ok(runners[i].status);
    }
}

/* One device runs a kernel over more and more rows, the others over one: PoCL 3.1 aborts if these are one
 * program. */
static void test_growing_launches(void **state)
{
    (void)state;
    static const enum clf__activation kinds[] = {CLF__RELU, CLF__GELU_ERF, CLF__GELU_TANH, CLF__SILU};
    struct runner runners[DEVICES];
    memset(runners, 0, sizeof runners);
    for (int i = 0; i < DEVICES; i++) {
        runners[i].device = open_one();
        runners[i].grows = i == DEVICES - 1;
        clf__arena_init(&runners[i].arena, runners[i].device);
        assert_ok(clf__arena_reserve(&runners[i].arena, &runners[i].x, CLF__F32, ROWS, COLUMNS, "rows"));
        assert_ok(clf__arena_allocate(&runners[i].arena));
    }
    for (size_t i = 0; i < (support_small() ? 1 : sizeof kinds / sizeof *kinds); i++) {
        run_all(runners, kinds[i]);
    }
    for (int i = 0; i < DEVICES; i++) {
        clf__arena_free(&runners[i].arena);
        clf_device_close(runners[i].device);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numbers),
                                       cmocka_unit_test(test_growing_launches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
