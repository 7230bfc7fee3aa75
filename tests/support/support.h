/* What the tests share: devices of each form, tensors, random numbers, comparisons. */
#ifndef CLF_TESTS_SUPPORT_H
#define CLF_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <clformer/device.h>

#include "tensor/tensor.h"

/* Fails the test with clf_last_error() when a call does not give CLF_OK. */
#define assert_ok(expression) support_assert_ok((expression), #expression, __FILE__, __LINE__)
void support_assert_ok(clf_status status, const char *expression, const char *file, int line);

/* Fails unless the call gives `status` and clf_last_error() holds `part`. */
#define assert_fails(expression, status, part)                                                               \
    support_assert_fails((expression), (status), (part), #expression, __FILE__, __LINE__)
void support_assert_fails(clf_status actual, clf_status expected, const char *part, const char *expression,
                          const char *file, int line);

/* As cmocka's own; then what was compiled is kept where tests share it, which is too late in an exit handler:
 * some drivers have ended by then. */
#undef cmocka_run_group_tests
#define cmocka_run_group_tests(tests, set_up, tear_down)                                                     \
    support_end(_cmocka_run_group_tests(#tests, tests, sizeof(tests) / sizeof *(tests), set_up, tear_down))
int support_end(int failures);

/* The device under test ($CLFORMER_DEVICE, else the default) in one form, opened once and kept. The
 * other choices come from the environment as everywhere. */
struct clf_device *support_device(clf_form form);
/* The same with a provider. */
struct clf_device *support_device_with(clf_form form, clf_gemm gemm, clf_attention attention);

/* The native provider and fused attention at an instruction set level. */
struct clf_device *support_device_at(clf_form form, clf_instructions instructions);

/* The same with the device's own matrix instructions, or emulated ones if it has none. */
struct clf_device *support_matrix_device(void);

/* The forms that a test goes through: both, unless $CLFORMER_FORM names one. */
int support_first_form(void);
int support_last_form(void);

/* A body that runs once a form. */
#define FOR_EACH_FORM(device)                                                                                \
    for (int support_form = support_first_form(); support_form <= support_last_form(); support_form++)       \
        for (struct clf_device *device = support_device((clf_form)support_form); device; device = NULL)

/* True where the device under test is slow or tiny (Oclgrind, rusticl: $CLFORMER_TEST_SMALL is set): take
 * small sizes. */
int support_small(void);

/* Deterministic numbers: uniform in [-1, 1), and integers in [0, bound). */
struct support_random {
    uint64_t state;
};
float support_uniform(struct support_random *random);
int support_integer(struct support_random *random, int bound);
/* An array of uniform numbers times scale; freed by support_free_all(). */
float *support_uniform_array(struct support_random *random, size_t count, float scale);

/* Zeroed host memory; freed, as the tensors below, by support_free_all(), to be called in each test's
 * teardown. */
void *support_array(size_t count, size_t size);

/* A tensor of exactly its size: filled from `values`, or with NaN (F32, F16) and INT32_MIN (I32) where NULL.
 * Values of F16 are floats, here and when they are read. */
struct clf__tensor support_tensor(struct clf_device *device, enum clf__type type, int rows, int columns,
                                  const void *values);
/* Its contents. */
float *support_read(struct clf__tensor tensor);
/* The floats that halves of these are. */
float *support_round_halves(const float *values, size_t count);
int32_t *support_read_integers(struct clf__tensor tensor);

/* ||actual - expected|| / ||expected|| <= tolerance (and no NaN in actual); says where the largest difference
 * is. */
#define assert_close(actual, expected, count, tolerance)                                                     \
    support_assert_close((actual), (expected), (count), (tolerance), __FILE__, __LINE__)
void support_assert_close(const float *actual, const double *expected, size_t count, double tolerance,
                          const char *file, int line);

void support_free_all(void);
int support_teardown(void **state); /* cmocka's form of it */

/* How often a kernel was launched on a device that profiles, since it was opened or its profile was reset. */
int64_t support_launches(struct clf_device *device, const char *kernel);

/* <source>/tests/fixtures/<name>; borrowed until the next call. */
const char *support_fixture(const char *name);
/* A fresh temporary folder, removed with all it holds at exit. */
const char *support_temporary_folder(void);
/* A path in a fresh one; freed by support_free_all(). */
char *support_temporary_path(const char *name);

/* Word number i of 65,536 that have the same FNV-1a hash of 32 bits. */
void support_colliding_word(char word[81], int i);

#endif
