/* Views on tensors, and the arena that owns their buffers. */
#include <string.h>

#include "math/tensor/tensor.h"
#include "runtime/device/caps.h"
#include "support/support.h"

static struct clf_device *device(void)
{
    return support_device(CLF_VARIANT_AUTO);
}

/* A (rows, columns) tensor with values 0, 1, 2, ... */
static struct clf__tensor counted(int rows, int columns)
{
    float *values = support_array((size_t)rows * (size_t)columns, sizeof *values);
    for (int i = 0; i < rows * columns; i++) {
        values[i] = (float)i;
    }
    return support_tensor(device(), CLF__F32, rows, columns, values);
}

static void test_views_read_their_part(void **state)
{
    (void)state;
    struct clf__tensor whole = counted(5, 4);
    struct clf__tensor part = clf__tensor_columns(clf__tensor_rows(whole, 1, 3), 1, 2);
    assert_int_equal(part.rows, 3);
    assert_int_equal(part.columns, 2);
    const float *values = support_read(part);
    const float expected[] = {5, 6, 9, 10, 13, 14};
    assert_memory_equal(values, expected, sizeof expected);
    struct clf__matrix matrix = clf__tensor_matrix(part);
    assert_ptr_equal(matrix.buffer, whole.buffer);
    assert_int_equal(matrix.offset, 5);
    assert_int_equal(matrix.stride, 4);
}

static void test_views_write_their_part(void **state)
{
    (void)state;
    struct clf__tensor whole = counted(3, 3);
    const float values[] = {-1, -2, -3, -4};
    assert_ok(clf__tensor_write(clf__tensor_columns(clf__tensor_rows(whole, 1, 2), 1, 2), values));
    const float expected[] = {0, 1, 2, 3, -1, -2, 6, -3, -4};
    assert_memory_equal(support_read(whole), expected, sizeof expected);
}

/* In the first half of the memory, at even indices. */
static void test_views_in_bf16_lie_close_together(void **state)
{
    (void)state;
    struct clf__tensor whole = counted(4, 7);
    struct clf__tensor view =
        clf__tensor_as(clf__tensor_columns(clf__tensor_rows(whole, 1, 3), 0, 5), CLF__BF16);
    assert_int_equal(view.type, CLF__BF16);
    assert_int_equal(view.offset, 2 * 7);
    assert_int_equal(view.stride, 6);
    assert_int_equal(view.columns, 5);
    const uint16_t values[3 * 5] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    assert_ok(clf__tensor_write(view, values));
    const uint16_t *all = (const uint16_t *)support_read(whole);
    for (int i = 0; i < 15; i++) {
        assert_int_equal(all[14 + i / 5 * 6 + i % 5], values[i]);
    }
}

static void test_empty_views_move_nothing(void **state)
{
    (void)state;
    struct clf__tensor whole = counted(2, 2);
    assert_ok(clf__tensor_write(clf__tensor_rows(whole, 1, 0), NULL));
    assert_ok(clf__tensor_read(clf__tensor_columns(whole, 2, 0), NULL));
    const float expected[] = {0, 1, 2, 3};
    assert_memory_equal(support_read(whole), expected, sizeof expected);
}

static void test_arena_allocates_what_was_reserved(void **state)
{
    (void)state;
    struct clf__arena arena;
    struct clf__tensor a, b, half, empty;
    clf__arena_init(&arena, device());
    assert_ok(clf__arena_reserve(&arena, &a, CLF__F32, 3, 5, "a"));
    assert_ok(clf__arena_reserve(&arena, &b, CLF__I32, 1, 7, "b"));
    assert_ok(clf__arena_reserve(&arena, &half, CLF__BF16, 3, 6, "half"));
    assert_ok(clf__arena_reserve(&arena, &empty, CLF__F32, 0, 9, "empty"));
    assert_null(a.buffer);
    assert_int_equal(arena.bytes, (15 + 7 + 9 + 9) * 4);
    assert_ok(clf__arena_allocate(&arena));
    assert_int_equal(clf__buffer_bytes(a.buffer), 15 * 4);
    assert_int_equal(clf__buffer_bytes(b.buffer), 7 * 4);
    assert_int_equal(clf__buffer_bytes(half.buffer), 3 * 6 * 2);
    assert_int_equal(clf__buffer_bytes(empty.buffer), 9 * 4);
    assert_int_equal(a.rows, 3);
    assert_int_equal(a.stride, 5);
    assert_int_equal(b.type, CLF__I32);
    clf__arena_free(&arena);
    assert_int_equal(arena.count, 0);
    assert_int_equal(arena.bytes, 0);
}

/* Rows of some KiB are an odd number of cache lines apart, whatever their type; others are contiguous. */
static void test_swept_arena_spreads_rows(void **state)
{
    (void)state;
    enum { ROWS = 40 };
    static const struct {
        enum clf__type type;
        int columns, stride;
    } cases[] = {{CLF__F32, 240, 240}, {CLF__F32, 256, 272},  {CLF__F32, 272, 272},  {CLF__F32, 273, 304},
                 {CLF__F32, 512, 528}, {CLF__BF16, 512, 544}, {CLF__F32, 2048, 2064}};
    enum { COUNT = sizeof cases / sizeof *cases };
    struct clf__arena arena;
    struct clf__tensor tensors[COUNT], row;
    uint64_t bytes = 2048 * sizeof(float);
    clf__arena_init(&arena, device());
    arena.is_swept = 1;
    for (int i = 0; i < COUNT; i++) {
        assert_ok(clf__arena_reserve(&arena, &tensors[i], cases[i].type, ROWS, cases[i].columns, "rows"));
        bytes += (uint64_t)ROWS * (uint64_t)cases[i].stride * clf__type_bytes(cases[i].type);
    }
    assert_ok(clf__arena_reserve(&arena, &row, CLF__F32, 1, 2048, "a row"));
    assert_int_equal(arena.bytes, bytes);
    assert_ok(clf__arena_allocate(&arena));
    for (int i = 0; i < COUNT; i++) {
        struct clf__tensor *tensor = &tensors[i];
        assert_int_equal(tensor->columns, cases[i].columns);
        assert_int_equal(tensor->stride, cases[i].stride);
        assert_int_equal(clf__buffer_bytes(tensor->buffer),
                         (size_t)ROWS * (size_t)cases[i].stride * clf__type_bytes(cases[i].type));
    }
    assert_int_equal(row.stride, 2048);
    clf__arena_free(&arena);
}

static void test_arena_refuses_what_does_not_fit(void **state)
{
    (void)state;
    struct clf__arena arena;
    struct clf__tensor tensors[64];
    clf__arena_init(&arena, device());
    uint64_t memory = clf__device_caps(device())->memory_bytes;
    int count = 0;
    for (uint64_t reserved = 0; reserved <= memory && count < 64; count++) {
        assert_ok(clf__arena_reserve(&arena, &tensors[count], CLF__F32, 1 << 14, 1 << 14, "a part"));
        reserved += UINT64_C(1) << 30;
    }
    if (arena.bytes <= memory) {
        clf__arena_free(&arena);
        skip(); /* a device of more than 64 GiB */
    }
    assert_fails(clf__arena_allocate(&arena), CLF_DEVICE_MEMORY, "bytes");
    clf__arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_views_read_their_part, support_teardown),
        cmocka_unit_test_teardown(test_views_write_their_part, support_teardown),
        cmocka_unit_test_teardown(test_views_in_bf16_lie_close_together, support_teardown),
        cmocka_unit_test_teardown(test_empty_views_move_nothing, support_teardown),
        cmocka_unit_test_teardown(test_arena_allocates_what_was_reserved, support_teardown),
        cmocka_unit_test_teardown(test_swept_arena_spreads_rows, support_teardown),
        cmocka_unit_test_teardown(test_arena_refuses_what_does_not_fit, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
