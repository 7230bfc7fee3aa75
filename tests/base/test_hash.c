/* Hashes: published values, and no collisions that a file could provoke. */
#include "support/support.h"

#include <string.h>

#include "base/hash.h"

/* The vectors of the paper's reference implementation: key 00 01 .. 0f, messages of the bytes 0, 1, 2, ... */
static void test_published_values(void **state)
{
    (void)state;
    static const uint64_t key[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
    static const struct {
        size_t size;
        uint64_t hash;
    } rows[] = {
        {0, 0x726fdb47dd0e0e31}, {1, 0x74f839c593dc67fd}, {8, 0x93f5f5799a932462}, {15, 0xa129ca6149be45e5}};
    uint8_t message[16];
    for (int i = 0; i < 16; i++) {
        message[i] = (uint8_t)i;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(clf__siphash(key, message, rows[i].size) == rows[i].hash);
    }
}

static void test_the_key_of_the_process(void **state)
{
    (void)state;
    static const uint64_t zero[2] = {0, 0};
    assert_true(clf__hash("token", 5) == clf__hash("token", 5));
    assert_true(clf__hash("token", 5) != clf__hash("tokens", 6));
    assert_true(clf__hash("token", 5) != clf__siphash(zero, "token", 5));
}

/* Values from the authors' list, in one part and in two. */
static void test_fnv(void **state)
{
    (void)state;
    assert_true(clf__fnv(CLF__FNV_BEGIN, "a", 1) == 0xaf63dc4c8601ec8c);
    assert_true(clf__fnv(CLF__FNV_BEGIN, "foobar", 6) == 0x85944171f73967e8);
    assert_true(clf__fnv(clf__fnv(CLF__FNV_BEGIN, "foo", 3), "bar", 3) == 0x85944171f73967e8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_values),
        cmocka_unit_test(test_the_key_of_the_process),
        cmocka_unit_test(test_fnv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
