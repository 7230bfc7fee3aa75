/* Runs a fuzz target on every file of its corpus, on truncated copies, and on random mutations: a short,
 * reproducible fuzzing run. */
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

static void read_file(uint8_t **bytes, size_t *size, const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    *bytes = malloc(*size > 0 ? *size : 1);
    assert_non_null(*bytes);
    assert_int_equal(fread(*bytes, 1, *size, file), *size);
    fclose(file);
}

/* Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators" (2014), figure 14. */
static uint64_t draw(uint64_t *state, uint64_t bound)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (z ^ (z >> 31)) % bound;
}

/* Changes up to eight bytes at one place: a flipped bit, a byte, a number at a limit of its type, a digit, or
 * a part of the file moved. Returns the new size, at most `size`. */
static size_t change(uint8_t *bytes, size_t size, uint64_t *state)
{
    static const uint8_t numbers[][8] = {{0},
                                         {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
                                         {0xff, 0xff, 0xff, 0x7f},
                                         {0, 0, 0, 0x80},
                                         {0, 0, 0, 0, 0, 0, 0, 0x80},
                                         {1}};
    size_t at = draw(state, size), length = 1 + draw(state, size - at < 8 ? size - at : 8);
    switch (draw(state, 7)) {
    case 0:
        bytes[at] ^= (uint8_t)(1U << draw(state, 8));
        break;
    case 1:
        bytes[at] = (uint8_t)draw(state, 256);
        break;
    case 2:
        memcpy(bytes + at, numbers[draw(state, sizeof numbers / sizeof *numbers)], length);
        break;
    case 3:
        memset(bytes + at, '0' + (int)draw(state, 10), length);
        break;
    case 4:
        bytes[at] = bytes[draw(state, size)];
        break;
    case 5:
        memmove(bytes + at, bytes + draw(state, size - length + 1), length);
        break;
    default:
        memmove(bytes + at, bytes + at + length, size - at - length);
        size -= length;
    }
    return size;
}

static void run_changed(const char *path, const uint8_t *bytes, size_t size)
{
    enum { CHANGES = 6 };
    int copies = support_small() ? 1000 : 10000;
    uint8_t *copy = malloc(size);
    assert_non_null(copy);
    for (int i = 0; i < copies; i++) {
        uint64_t state = (uint64_t)i << 32;
        size_t left = size;
        memcpy(copy, bytes, size);
        for (uint64_t k = 1 + draw(&state, CHANGES); k > 0 && left > 0; k--) {
            left = change(copy, left, &state);
        }
        print_message("%s, changed copy %d\n", path, i);
        run(copy, left);
    }
    free(copy);
}

static void replay_file(const char *path)
{
    enum { LARGE = 4096 }; /* bytes; takes milliseconds a run */
    uint8_t *bytes;
    size_t size;
    print_message("%s\n", path); /* a crash comes after its file's name */
    read_file(&bytes, &size, path);
    for (int eighths = 0; eighths <= 8; eighths++) {
        run(bytes, size * (size_t)eighths / 8);
    }
    if (size > 0 && (size < LARGE || !support_small())) {
        run_changed(path, bytes, size);
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
