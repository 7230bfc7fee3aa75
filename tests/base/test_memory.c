/* The allocator: zeroed memory, overflow, injected failures, threads. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "support/support.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"

/* AddressSanitizer aborts on a huge request unless NULL is allowed. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

static int reset(void **state)
{
    (void)state;
    clf__memory_fail_at(0);
    return 0;
}

static void test_allocations_are_zeroed(void **state)
{
    (void)state;
    for (int round = 0; round < 8; round++) {
        uint32_t *numbers = NULL;
        assert_ok(clf__allocate(&numbers, 1000, sizeof *numbers));
        for (int i = 0; i < 1000; i++) {
            assert_int_equal(numbers[i], 0);
        }
        memset(numbers, 0xAB, 1000 * sizeof *numbers);
        clf__free(numbers);
    }
    clf__free(NULL);
}

static void test_zero_bytes_give_a_pointer(void **state)
{
    (void)state;
    char *nothing = NULL;
    assert_ok(clf__allocate(&nothing, 0, 8));
    assert_non_null(nothing);
    assert_ok(clf__resize(&nothing, 0, 0));
    assert_non_null(nothing);
    clf__free(nothing);
}

static void test_overflow_is_out_of_memory(void **state)
{
    (void)state;
    int here;
    int *numbers = &here;
    assert_fails(clf__allocate(&numbers, SIZE_MAX / 2, 3), CLF_OUT_OF_MEMORY, "not enough host memory");
    assert_null(numbers);
    assert_fails(clf__allocate(&numbers, SIZE_MAX / 64, 8), CLF_OUT_OF_MEMORY, " x 8 bytes");
    assert_ok(clf__allocate(&numbers, 4, sizeof *numbers));
    numbers[3] = 17;
    int *before = numbers;
    assert_fails(clf__resize(&numbers, SIZE_MAX, 2), CLF_OUT_OF_MEMORY, "not enough host memory");
    assert_ptr_equal(numbers, before);
    assert_int_equal(numbers[3], 17);
    clf__free(numbers);
}

/* Growing lists keep their items and at least double their capacity; a failure changes nothing. */
static void test_lists_grow(void **state)
{
    (void)state;
    int *numbers = NULL, capacity = 0, grown = 0;
    for (int count = 0; count < 10000; count++) {
        int before = capacity;
        assert_ok(clf__grow(&numbers, count, &capacity, sizeof *numbers));
        assert_true(count < capacity && (capacity == before || capacity >= 2 * before));
        grown += capacity != before;
        numbers[count] = count;
    }
    assert_true(grown > 1 && grown < 16);
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(numbers[i], i);
    }
    int before = capacity, *where = numbers;
    clf__memory_fail_at(1);
    assert_fails(clf__grow(&numbers, capacity, &capacity, sizeof *numbers), CLF_OUT_OF_MEMORY,
                 "not enough host memory");
    clf__memory_fail_at(0);
    assert_int_equal(capacity, before);
    assert_ptr_equal(numbers, where);
    capacity = INT_MAX;
    assert_fails(clf__grow(&numbers, INT_MAX, &capacity, 1), CLF_OUT_OF_MEMORY,
                 "has reached its maximum size");
    assert_int_equal(capacity, INT_MAX);
    clf__free(numbers);
}

static void test_texts_grow(void **state)
{
    (void)state;
    char *text = NULL, *where;
    size_t capacity = 0;
    int grown = 0;
    for (size_t size = 1; size < 10000; size += 7) {
        size_t before = capacity;
        assert_ok(clf__grow_to(&text, size, &capacity, 1));
        assert_true(size <= capacity);
        grown += capacity != before;
        text[size - 1] = (char)size;
    }
    assert_true(grown > 1 && grown < 16);
    assert_int_equal(text[7], (char)8);
    size_t before = capacity;
    where = text;
    assert_fails(clf__grow_to(&text, SIZE_MAX, &capacity, 1), CLF_OUT_OF_MEMORY, "not enough host memory");
    assert_fails(clf__grow_to(&text, SIZE_MAX / 2 + 1, &capacity, 8), CLF_OUT_OF_MEMORY,
                 "not enough host memory");
    assert_int_equal(capacity, before);
    assert_ptr_equal(text, where);
    assert_ok(clf__grow_to(&text, 0, &capacity, 1)); /* capacity 0 is valid */
    assert_ptr_equal(text, where);
    clf__free(text);
}

static void test_resize_keeps_contents(void **state)
{
    (void)state;
    int *numbers = NULL;
    for (int count = 1; count <= 1000; count++) {
        assert_ok(clf__resize(&numbers, (size_t)count, sizeof *numbers));
        numbers[count - 1] = count;
    }
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(numbers[i], i + 1);
    }
    clf__free(numbers);
}

static void test_copies(void **state)
{
    (void)state;
    char *copy = NULL;
    assert_ok(clf__copy_string(&copy, "word"));
    assert_string_equal(copy, "word");
    clf__free(copy);
    assert_ok(clf__copy_bytes(&copy, "a\0bc", 3));
    assert_memory_equal(copy, "a\0b", 4);
    clf__free(copy);
    assert_ok(clf__copy_bytes(&copy, NULL, 0));
    assert_string_equal(copy, "");
    clf__free(copy);
    assert_ok(clf__format(&copy, "%s/%d%s", "folder", 12, ""));
    assert_string_equal(copy, "folder/12");
    clf__free(copy);
    char wide[3000];
    memset(wide, 'w', sizeof wide - 1);
    wide[sizeof wide - 1] = '\0';
    assert_ok(clf__format(&copy, "<%s>", wide));
    assert_int_equal(strlen(copy), sizeof wide + 1);
    clf__free(copy);
}

static void test_the_nth_allocation_fails(void **state)
{
    (void)state;
    clf__memory_fail_at(3);
    char *blocks[4] = {0};
    assert_ok(clf__allocate(&blocks[0], 1, 1));
    assert_ok(clf__copy_string(&blocks[1], "x"));
    assert_int_equal(clf__memory_count(), 2);
    assert_fails(clf__allocate(&blocks[2], 1, 1), CLF_OUT_OF_MEMORY, "not enough host memory");
    assert_null(blocks[2]);
    assert_ok(clf__resize(&blocks[0], 100, 1));
    assert_int_equal(clf__memory_count(), 4);
    clf__memory_fail_at(1);
    assert_fails(clf__resize(&blocks[0], 200, 1), CLF_OUT_OF_MEMORY, "200 x 1");
    assert_non_null(blocks[0]);
    clf__memory_fail_at(1);
    assert_fails(clf__format(&blocks[3], "x"), CLF_OUT_OF_MEMORY, "not enough host memory");
    assert_null(blocks[3]);
    clf__memory_fail_at(0);
    assert_ok(clf__copy_string(&blocks[3], "x"));
    for (int i = 0; i < 4; i++) {
        clf__free(blocks[i]);
    }
}

enum { THREADS = 4, TURNS = 2000 };

static void *allocate_often(void *argument)
{
    int *failures = argument;
    for (int i = 0; i < TURNS; i++) {
        char *block;
        *failures += clf__allocate(&block, 1, 1) != CLF_OK;
        clf__free(block);
    }
    return NULL;
}

static void test_threads_are_counted_together(void **state)
{
    (void)state;
    clf__memory_fail_at(THREADS * TURNS / 2);
    pthread_t threads[THREADS];
    int failures[THREADS] = {0};
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, allocate_often, &failures[i]), 0);
    }
    int all = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        all += failures[i];
    }
    assert_int_equal(clf__memory_count(), THREADS * TURNS);
    assert_int_equal(all, 1);
}

/* Returns whether the mapping of an address is marked for large pages; -1 if the system does not tell. */
static int is_marked(const void *address)
{
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[4096], flags[2048];
    uintptr_t first = 0, end = 0, at = (uintptr_t)address;
    int marked = -1;
    while (file != NULL && marked < 0 && fgets(line, sizeof line, file) != NULL) {
        uintptr_t from, to;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2) {
            first = from;
            end = to;
        } else if (at >= first && at < end && sscanf(line, "VmFlags: %2047[^\n]", flags) == 1) {
            marked = strstr(flags, "hg") != NULL;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return marked;
}

/* Two neighbours that begin and end inside pages: one mapping, which large pages may span. */
static void test_large_pages_are_preferred(void **state)
{
    (void)state;
    enum { BYTES = 8 << 20, HALF = BYTES / 2 + 100 };
    char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    if (is_marked(memory) < 0 || access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) {
        munmap(memory, BYTES);
        skip();
    }
    assert_int_equal(is_marked(memory), 0);
    clf__prefer_large_pages(memory + 100, HALF - 100);
    clf__prefer_large_pages(memory + HALF, BYTES - HALF - 100);
    for (size_t i = 0; i < BYTES; i += BYTES / 64) {
        assert_int_equal(is_marked(memory + i), 1);
    }
    assert_int_equal(is_marked(memory + BYTES - 1), 1);
    munmap(memory, BYTES);
}

static void test_available(void **state)
{
    (void)state;
    uint64_t available = clf__available_memory(), least = (uint64_t)1 << 20;
    assert_true(available > least && available % 1024 == 0);
    assert_true(available <= (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_allocations_are_zeroed, reset),
        cmocka_unit_test_teardown(test_zero_bytes_give_a_pointer, reset),
        cmocka_unit_test_teardown(test_overflow_is_out_of_memory, reset),
        cmocka_unit_test_teardown(test_lists_grow, reset),
        cmocka_unit_test_teardown(test_texts_grow, reset),
        cmocka_unit_test_teardown(test_resize_keeps_contents, reset),
        cmocka_unit_test_teardown(test_copies, reset),
        cmocka_unit_test_teardown(test_the_nth_allocation_fails, reset),
        cmocka_unit_test_teardown(test_threads_are_counted_together, reset),
        cmocka_unit_test_teardown(test_large_pages_are_preferred, reset),
        cmocka_unit_test_teardown(test_available, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
