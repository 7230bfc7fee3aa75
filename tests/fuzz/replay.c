/* Runs a fuzz target on every file of its corpus, and on truncated copies of each, so that earlier findings
 * stay tested. */
#include "support/support.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The target gets a block of exactly `size` bytes, so that AddressSanitizer detects a read beyond it. */
static void run(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void replay_file(const char *path)
{
    print_message("%s\n", path); /* printed before a crash */
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size_t size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(size > 0 ? size : 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, size, file), size);
    fclose(file);
    for (int eighths = 0; eighths <= 8; eighths++) {
        run(bytes, size * (size_t)eighths / 8);
    }
    free(bytes);
}

static void test_corpus(void **state)
{
    (void)state;
    glob_t files;
    assert_int_equal(glob(CLF_CORPUS "/*", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        replay_file(files.gl_pathv[i]);
    }
    globfree(&files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_corpus)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
