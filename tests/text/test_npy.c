/* Frames in NumPy files: valid ones from numpy.save, and invalid ones. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "audio/npy.h"
#include "base/file.h"
#include "base/memory.h"
#include "support/support.h"

enum { COLUMNS = 3 };

/* Writes a file with this dictionary, padded as by NumPy, and these values. */
static const char *write_npy(const char *dictionary, const float *values, size_t count)
{
    static char path[512];
    unsigned char bytes[512] = "\x93NUMPY\x01";
    size_t length = strlen(dictionary);
    size_t header = (10 + length + 1 + 63) / 64 * 64 - 10;
    snprintf(path, sizeof path, "%s/frames.npy", support_temporary_folder());
    bytes[8] = (unsigned char)(header & 255);
    bytes[9] = (unsigned char)(header >> 8);
    memset(bytes + 10, ' ', header);
    memcpy(bytes + 10, dictionary, length);
    bytes[10 + header - 1] = '\n';
    if (count > 0) {
        memcpy(bytes + 10 + header, values, count * sizeof *values);
    }
    assert_ok(clf__file_write(path, bytes, 10 + header + count * sizeof *values));
    return path;
}

static const float values[] = {1, 2, 3, -4, 5.5f, 6};
static const char good[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";

static void test_reads_frames(void **state)
{
    (void)state;
    float *frames;
    int rows;
    assert_ok(clf__npy_read(&frames, &rows, write_npy(good, values, 6), COLUMNS));
    assert_int_equal(rows, 2);
    assert_memory_equal(frames, values, sizeof values);
    clf__free(frames);
}

static void test_refuses_other_files(void **state)
{
    (void)state;
    static const struct {
        const char *dictionary, *part;
    } cases[] = {
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", "float32"},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }", "float32"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", "Fortran"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }", "shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }", "shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), }", "shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }", "frames"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 3), }", "frames"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 3), }",
         "more than 715827882 frames;"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 3), }",
         "frames; divide the recording"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 3), }", "truncated"},
        {"{'descr': '<f4', 'shape': (2, 3), }", "Fortran"},
        {"", "float32"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float *frames;
        int rows;
        const char *path = write_npy(cases[i].dictionary, values, 6);
        assert_fails(clf__npy_read(&frames, &rows, path, COLUMNS), CLF_FORMAT, cases[i].part);
        assert_non_null(strstr(clf_last_error(), path));
    }
}

/* The end of a file of unknown version is undefined. */
static void test_refuses_other_versions(void **state)
{
    (void)state;
    static const char versions[] = {0, 4, 9, (char)255};
    const char *path = write_npy(good, values, 6);
    char *bytes;
    size_t size;
    assert_ok(clf__file_read(&bytes, &size, path, 1 << 16));
    for (size_t i = 0; i < sizeof versions; i++) {
        bytes[6] = versions[i];
        assert_ok(clf__file_write(path, bytes, size));
        float *frames;
        int rows;
        char part[64];
        snprintf(part, sizeof part, "version %d of the .npy format is not supported, only 1 to 3",
                 (uint8_t)versions[i]);
        assert_fails(clf__npy_read(&frames, &rows, path, COLUMNS), CLF_FORMAT, part);
    }
    clf__free(bytes);
}

static void test_refuses_values_that_are_no_numbers(void **state)
{
    (void)state;
    const float odd[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        float spoilt[] = {1, 2, 3, 4, 5, odd[i]}, *frames;
        int rows;
        assert_fails(clf__npy_read(&frames, &rows, write_npy(good, spoilt, 6), COLUMNS), CLF_FORMAT,
                     "frame 2 contains NaN or infinity");
    }
}

/* Truncated anywhere, a file is rejected and never read beyond its end. */
static void test_refuses_every_truncation(void **state)
{
    (void)state;
    char *bytes;
    size_t size;
    assert_ok(clf__file_read(&bytes, &size, write_npy(good, values, 6), 4096));
    char path[512];
    snprintf(path, sizeof path, "%s/cut.npy", support_temporary_folder());
    for (size_t kept = 0; kept < size; kept++) {
        float *frames;
        int rows;
        assert_ok(clf__file_write(path, bytes, kept));
        assert_fails(clf__npy_read(&frames, &rows, path, COLUMNS), CLF_FORMAT, path);
    }
    clf__free(bytes);
    float *frames;
    int rows;
    assert_fails(clf__npy_read(&frames, &rows, "/nonexistent/frames.npy", COLUMNS), CLF_FILE,
                 "/nonexistent/frames.npy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_reads_frames, support_teardown),
        cmocka_unit_test_teardown(test_refuses_other_files, support_teardown),
        cmocka_unit_test_teardown(test_refuses_other_versions, support_teardown),
        cmocka_unit_test_teardown(test_refuses_values_that_are_no_numbers, support_teardown),
        cmocka_unit_test_teardown(test_refuses_every_truncation, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
