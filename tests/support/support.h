/* Shared test functions: devices in each kernel variant, tensors, random numbers, comparisons. */
#ifndef CLF_TESTS_SUPPORT_H
#define CLF_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <clformer/device.h>

#include "math/tensor/tensor.h"

/* Fails with clf_last_error() unless the call returns CLF_OK. */
#define assert_ok(expression) support_assert_ok((expression), #expression, __FILE__, __LINE__)
void support_assert_ok(clf_status status, const char *expression, const char *file, int line);

/* Fails unless the call returns `status` and clf_last_error() contains `part`. */
#define assert_fails(expression, status, part)                                                               \
    support_assert_fails((expression), (status), (part), #expression, __FILE__, __LINE__)
void support_assert_fails(clf_status actual, clf_status expected, const char *part, const char *expression,
                          const char *file, int line);

/* Like cmocka's macro, but saves compiled kernels if tests share them. An exit handler would be too late,
 * because some drivers have shut down by then. */
#undef cmocka_run_group_tests
#define cmocka_run_group_tests(tests, set_up, tear_down)                                                     \
    support_end(_cmocka_run_group_tests(#tests, tests, sizeof(tests) / sizeof *(tests), set_up, tear_down))
int support_end(int failures);

/* Returns the device under test ($CLFORMER_DEVICE, or the default) in one kernel variant. It is opened once
 * and stays open. Other options come from the environment. */
struct clf_device *support_device(clf_variant variant);
/* Like support_device(), with a GEMM backend and an attention algorithm. */
struct clf_device *support_device_with(clf_variant variant, clf_gemm gemm, clf_attention attention);

/* Returns a device with native GEMM and fused attention at an instruction set level. */
struct clf_device *support_device_at(clf_variant variant, clf_instructions instructions);

/* Returns a device that uses its matrix instructions, or emulated ones if it has none. */
struct clf_device *support_matrix_device(void);

/* Range of kernel variants to test: both, unless $CLFORMER_VARIANT names one. */
int support_first_variant(void);
int support_last_variant(void);

/* Runs the loop body once per kernel variant. */
#define FOR_EACH_VARIANT(device)                                                                             \
    for (int support_variant = support_first_variant(); support_variant <= support_last_variant();           \
         support_variant++)                                                                                  \
        for (struct clf_device *device = support_device((clf_variant)support_variant); device; device = NULL)

/* Returns true if $CLFORMER_TEST_SMALL is set: in the short tier, and on slow implementations such as
 * Oclgrind. Tests then use fewer and smaller sizes. */
int support_small(void);

/* A generator of deterministic numbers: uniform in [-1, 1), and integers in [0, bound). */
struct support_random {
    uint64_t state;
};
float support_uniform(struct support_random *random);
int support_integer(struct support_random *random, int bound);
/* Returns an array of uniform numbers times scale; freed by support_free_all(). */
float *support_uniform_array(struct support_random *random, size_t count, float scale);

/* Returns zeroed host memory; like the tensors below, it is freed by support_free_all() in each test's
 * teardown. */
void *support_array(size_t count, size_t size);

/* Creates a tensor that fills its buffer, with `values`, or, if NULL, with NaN (F32, F16) or INT32_MIN (I32).
 * F16 values are passed and read as floats. */
struct clf__tensor support_tensor(struct clf_device *device, enum clf__type type, int rows, int columns,
                                  const void *values);
/* Returns the contents of a tensor; freed by support_free_all(). */
float *support_read(struct clf__tensor tensor);
/* Returns the values rounded to half precision, as floats. */
float *support_round_halves(const float *values, size_t count);
int32_t *support_read_integers(struct clf__tensor tensor);

/* Fails unless ||actual - expected|| / ||expected|| <= tolerance and no actual value is NaN; reports the
 * largest difference. */
#define assert_close(actual, expected, count, tolerance)                                                     \
    support_assert_close((actual), (expected), (count), (tolerance), __FILE__, __LINE__)
void support_assert_close(const float *actual, const double *expected, size_t count, double tolerance,
                          const char *file, int line);

void support_free_all(void);
int support_teardown(void **state); /* support_free_all() as a cmocka teardown */

/* Opens a device that counts launches, with native GEMM; the caller closes it. */
struct clf_device *support_open_profiled(clf_variant variant, clf_instructions instructions);
/* Makes a device that was just opened one without device-scope atomics. is_fenced: it has passed the trial of
 * open/barrier_choice.h. */
void support_hide_atomics(struct clf_device *device, int is_fenced);
/* Returns the number of launches of a kernel, or of all if it is NULL, since a profiling device was opened or
 * its profile was reset. */
int64_t support_launches(struct clf_device *device, const char *kernel);

/* Returns <source>/tests/fixtures/<name>; borrowed until the next call. */
const char *support_fixture(const char *name);
/* Returns the names of the folders in tests/fixtures/<folder> that contain `file`, in alphabetical order;
 * NULL-terminated, borrowed until the next call. */
const char *const *support_fixture_folders(const char *folder, const char *file);
/* Returns a new temporary folder, removed with its contents at exit. */
const char *support_temporary_folder(void);
/* Returns a path in a new temporary folder; freed by support_free_all(). */
char *support_temporary_path(const char *name);

/* Writes word `i` of 65,536 words with the same 32-bit FNV-1a hash. */
void support_colliding_word(char word[81], int i);

#endif
